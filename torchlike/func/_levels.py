"""Derivatives in progress: the arguments of a function as leaves, the graph that the function makes of them, and what is left outside.

A derivative runs its function as the program would run it, and asks the graph that was recorded. So ``detach``, ``no_grad``, custom
functions and writes in place mean what they mean everywhere. All derivatives share one graph: the leaf of an inner one has an edge to
what it is an alias of, by which the outer ones go on.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any

from .. import ops
from .._core.attributes import next_period
from .._core.fields import node_of, output_number_of, root_of
from .._core.modes import modes, refuse_saved_tensor_hooks, same_tangent
from .._core.node import AccumulateGrad, ForwardLeaf, LevelLeaf, Node
from .._core.tensor import Tensor, alias
from ..autograd.crossings import same_for_all
from ..autograd.engine import gradients as gradients_of
from ..autograd.grad_mode import deriving, recording
from ..autograd.pushing import push
from ..dispatch.pullback import ForwardOnly

__all__ = ["Derivative"]


class _Alias:
    """The rule of a leaf, or of a result: what arrives is passed on."""

    name, saved, used_once = "AliasBackward0", (), False

    @staticmethod
    def step(node: Node, cotangents: dict[int, Any], create: bool) -> list[Any]:
        """The same gradient for the tensor that it is an alias of, if that takes part in a graph."""
        return [cotangents.get(0)] * len(node.edges)

    @staticmethod
    def push(node: Node, tangents: Sequence[Tensor | None]) -> dict[int, Any]:
        """The same change."""
        return {0: tangents[0]}


class _Cut(_Alias):
    """The rule of ``x.data`` within a derivative, and of what ``hide`` is given: a constant for this derivative, and for no other."""

    def __init__(self, derivative: Derivative) -> None:
        self.derivative = derivative

    def step(self, node: Node, cotangents: dict[int, Any], create: bool) -> list[Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return [None if self.derivative.asks else cotangents.get(0)]

    def push(self, node: Node, tangents: Sequence[Tensor | None]) -> dict[int, Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return {} if self.derivative.asks else {0: tangents[0]}


class _Asking(threading.local):
    """The derivative that asks the graph at present in this thread. None: the program itself."""

    derivative: Derivative | None = None

    @contextlib.contextmanager
    def by(self, derivative: Derivative) -> Iterator[None]:
        before, self.derivative = self.derivative, derivative
        try:
            yield
        finally:
            self.derivative = before


_asking = _Asking()


class Derivative:
    """One derivative in progress, within ``with``.

    Args:
        tensors: with respect to which; ``leaves`` are the tensors that stand for them.
        forwards: whether it goes forwards. Then ``no_grad`` does not hide anything from it, and the arguments may be written to.
    """

    def __init__(self, tensors: Iterable[Tensor], forwards: bool = False) -> None:
        if forwards and modes.duals is not None:
            raise RuntimeError("Nested forward mode AD is not supported at the moment")
        self.forwards = forwards
        self._period = next_period()
        self._outer = list(tensors)
        tensors = self._outer
        self.leaves = [self._leaf(tensor) for tensor in tensors]
        self.entries = [(node_of(leaf), 0) for leaf in self.leaves]  # a leaf that is written to has another node then
        self.nodes: set[object] = {node for node, _ in self.entries}

    def _leaf(self, tensor: Tensor) -> Tensor:
        if not (tensor.is_floating_point() or tensor.is_complex()):
            if self.forwards:
                raise ValueError(f"Expected primal to be floating point or complex, but got: {tensor.dtype}")
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if getattr(tensor, "_spec", None) is not None:  # its graph is of the pieces that this process keeps
            raise NotImplementedError("torchlike does not support torch.func of DTensors over several processes yet")
        if not self.forwards and modes.vmaps:  # each example has a gradient of its own
            tensor = same_for_all(tensor, [level for level in modes.vmaps if not level.shared])
        leaf = same_tangent(alias(tensor), tensor)
        edges = (
            (tensor._edge(),) if tensor._tracked else ()
        )  # also under ``no_grad``: what ``vjp`` returns may be called outside
        cls = ForwardLeaf if self.forwards else LevelLeaf
        node = cls.create(ForwardOnly(_Alias) if modes.forward_only else _Alias, edges, (), (), (leaf._aval,))
        leaf._set_history(node)
        return leaf

    def __enter__(self) -> Derivative:
        if modes.saved_tensors_hooks and not self.forwards:
            refuse_saved_tensor_hooks()
        self._before = modes.grad_enabled, modes.forward_only
        modes.derivatives = (*modes.derivatives, self)
        modes.forward_levels += self.forwards
        modes.record(not self.forwards or (modes.grad_enabled and not modes.forward_only))
        modes.update()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        modes.derivatives = modes.derivatives[:-1]
        modes.forward_levels -= self.forwards
        modes.grad_enabled, modes.forward_only = self._before
        modes.update()

    # ---- afterwards

    def gradients(
        self, outputs: Sequence[Tensor], seeds: Sequence[Tensor | None], in_progress: bool = False
    ) -> list[Tensor]:
        """The gradients of the outputs with respect to the arguments; zeros where nothing depends on one.

        Args:
            in_progress: whether users' ``backward`` runs within this derivative still.
        """
        pairs = [(out, seed) for out, seed in zip(outputs, seeds, strict=True) if out._tracked and self.leads_here(out)]
        if not pairs:
            return [ops.zeros_like(leaf.detach()) for leaf in self.leaves]  # pyright: ignore[reportAttributeAccessIssue]
        roots, along = zip(*pairs, strict=True)
        create = modes.grad_enabled and self.is_within([*roots, *[seed for seed in along if seed is not None]])
        # The seeds have the history that they have outside.
        with _asking.by(self), deriving((*modes.derivatives, self) if in_progress else modes.derivatives):
            gradients = gradients_of(
                roots, self.leaves, along, retain_graph=True, create_graph=create, allow_unused=True
            )
        return self.outside([
            ops.zeros_like(leaf.detach()) if gradient is None else gradient  # pyright: ignore[reportAttributeAccessIssue]
            for gradient, leaf in zip(gradients, self.leaves, strict=True)
        ])  # fmt: skip

    def changes(self, outputs: Sequence[Tensor], tangents: Sequence[Tensor]) -> list[Tensor | None]:
        """The changes of the outputs with those of the arguments; None for an output that depends on none."""
        arriving = dict(zip(self.entries, tangents, strict=True))
        create = modes.grad_enabled and self.is_within([*outputs, *tangents])
        with _asking.by(self), contextlib.nullcontext() if create else recording(False):
            changes = push(outputs, arriving)  # pyright: ignore[reportArgumentType]
        return self.outside(changes) if create else changes

    def data_of(self, tensor: Tensor, detached: Tensor) -> Tensor:
        """``tensor.data``, given the same without history: a constant for the innermost derivative that the tensor takes part in."""
        derivative = next((d for d in reversed(modes.derivatives) if d.leads_here(tensor)), None)
        if derivative is not None and derivative.is_within([tensor]):
            detached._set_history(derivative._cut(tensor))
        return detached

    def hide(self, tensor: Tensor) -> None:
        """Makes what a Function has returned within ``no_grad`` a constant for this derivative, and for no other.

        A derivative forwards is not switched off: only what the Function's ``jvp`` computes for it is not recorded.
        """
        if not (tensor._tracked and self.leads_here(tensor)):
            return
        if self.forwards:
            node_of(tensor).hidden_from = self  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue]
        elif self.is_within([tensor]):
            tensor._set_history(self._cut(tensor))
        else:
            tensor._drop_history()

    @property
    def asks(self) -> bool:
        """Whether it asks the graph at present."""
        return _asking.derivative is self

    def _cut(self, tensor: Tensor) -> Node:
        return Node.create(_Cut(self), (tensor._edge(),), (), (), (tensor._aval,))

    def outside(self, tensors: Sequence[Any]) -> list[Any]:
        """The tensors as they are returned: those that only this derivative made part of a graph are part of none."""
        return [self._outside(tensor) if isinstance(tensor, Tensor) else tensor for tensor in tensors]

    def _outside(self, tensor: Tensor) -> Tensor:
        if not tensor._tracked:
            return tensor
        if not (modes.grad_enabled and self.is_within([tensor])):
            return same_tangent(alias(tensor), tensor)
        if not modes.forward_only:
            return tensor
        result = same_tangent(alias(tensor), tensor)
        result._set_history(Node.create(ForwardOnly(_Alias), (tensor._edge(),), (), (), (tensor._aval,)))
        return result

    def is_within(self, tensors: Iterable[Tensor]) -> bool:
        """Whether a graph reaches leaves other than the arguments, or what these are outside: other derivatives need it too."""
        nodes, visited = [tensor._edge()[0] for tensor in tensors if tensor._tracked], set()
        while nodes:
            node = nodes.pop()
            if node in visited:
                continue
            visited.add(node)
            if isinstance(node, AccumulateGrad):
                return True
            if not node.edges and node not in self.nodes and _plain(node.rule) is _Alias:
                return True  # a leaf of another derivative
            nodes += [edge[0] for edge in node.edges if edge is not None]
        return False

    def reached_forwards(self, *tensors: Tensor) -> bool:
        """Whether this goes forwards, and one of the tensors was computed from the arguments."""
        return self.forwards and any(tensor._tracked and self.leads_here(tensor) for tensor in tensors)

    def leads_here(self, tensor: Tensor) -> bool:
        """Whether a tensor was computed from the arguments."""
        nodes, visited = [tensor._edge()[0]], set()
        while nodes:
            node = nodes.pop()
            if node in self.nodes:
                return True
            if node not in visited:
                visited.add(node)
                nodes += [edge[0] for edge in node.edges if edge is not None]
        return False

    def refuse_captured(self, tensor: Tensor) -> None:
        """Raises PyTorch's error for a write to a tensor from outside of what has a history. Arguments of ``jvp`` may be written to."""
        written = root_of(tensor)
        if written.made_in < self._period and all(written is not root_of(leaf) for leaf in self.leaves):
            raise RuntimeError(
                "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place operation that would "
                "mutate a captured Tensor. This is not supported; please rewrite the function being transformed to explicitly accept "
                "the mutated Tensor(s) as inputs."
            )

    def keep_writes(self) -> None:
        """Gives the tensors that are differentiated with respect to the history that writes to the arguments have made."""
        for tensor, leaf, entry in zip(self._outer, self.leaves, self.entries, strict=True):
            node = node_of(leaf)
            if node is not entry[0] and node is not None and self.is_within([leaf]):
                tensor._rewrite_history(node, output_number_of(leaf))


def _plain(rule: Any) -> Any:
    return rule.rule if isinstance(rule, ForwardOnly) else rule
