"""Autograd nodes: one recorded differentiable step, its edges to the steps before it, and what its pullback reads."""

from __future__ import annotations

import itertools
import re
import traceback
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from .modes import hooks, modes
from .size import tensor_meta

if TYPE_CHECKING:
    from ..engine.aval import Aval


__all__ = [
    "ITSELF",
    "OF_A_VIEW",
    "AccumulateGrad",
    "Edge",
    "ForwardLeaf",
    "LevelLeaf",
    "Node",
    "RuleFields",
    "node_class",
]

next_number = itertools.count().__next__

SECOND_BACKWARD = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). "
    "Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if "
    "you need to backward through the graph a second time or if you need to access saved tensors after calling backward."
)


# What hooks for a saved tensor of a node are refused for.
FREED = "Calling register_hooks on a saved tensor after it has been freed. " + SECOND_BACKWARD.partition("). ")[2]
HAS_HOOKS = "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks is allowed at a time."
IS_NONE = "Calling register_hooks on a saved tensor with value None is forbidden"


class RuleFields:
    """The fields of a rule, see ``dispatch/pullback.py``, that each call and each backward pass reads.

    Attributes:
        grad_inputs: the numbers of the inputs to differentiate with respect to.
        watched: the numbers of the inputs that PyTorch would have saved, in ascending order: a write to them in place must be noticed.
        watches_result: whether PyTorch would have saved the output.
        take: picks the saved inputs from a list of all.
        node_class: the class of the nodes.
        used_once: whether a second backward pass must fail because PyTorch's node saves something, although this one saves nothing.
    """

    __slots__ = ("grad_inputs", "watched", "watches_result", "take", "node_class", "used_once")

    grad_inputs: tuple[int, ...]
    watched: tuple[int, ...]
    watches_result: bool
    take: Callable[[Sequence[Any]], Sequence[Any]]
    node_class: type[Node]
    used_once: bool


class Node:
    """One step of the graph. Newer nodes have higher sequence numbers, and edges lead to older nodes only.

    Attributes:
        rule: the derivative (see ``dispatch/pullback.py``).
        edges: for each input that the rule differentiates ``(node, output number)``, or None.
        saved: the values that the pullback reads.
        watched: ``(storage, version, aval, producer)`` of each tensor that PyTorch would have saved. The backward pass raises if one of
            them has been written to since. The producer is ``ITSELF`` where the tensor is this node's own result, and ``OF_A_VIEW``
            where it is a view, which gets another node by the write; a number is that of this node's output.
    """

    # A program makes thousands of nodes a second, and few need more than the first fields: class attributes hold the other defaults.
    # Compiled, the fields that each backward pass reads lie in a C structure (``node.pxd``).
    rule: Any
    edges: tuple[Edge | None, ...]
    saved: Sequence[Any] | None  # None once freed
    watched: Any  # an empty tuple, or a list
    sequence: float  # newer nodes have higher ones
    avals: tuple[Aval | None, ...]  # of the outputs
    tensor_hooks: dict[int, dict[int, Callable[..., object]]] | None = None  # by output number, then by handle
    # Weak references to tensors that keep their gradient, by output number.
    retained: dict[int, weakref.ref[Any] | None] | None = None
    pre_hooks: dict[int, Callable[..., object]] | None = None
    post_hooks: dict[int, Callable[..., object]] | None = None
    hooked: bool  # whether one of the four fields above is set
    metadata_: dict[object, object] | None = None
    inner: tuple[tuple[Node | None, int], ...] | None = (
        None  # what ``next_functions`` shows where PyTorch has several nodes
    )
    trace: str | None = None  # where the forward ran, under detect_anomaly
    unpack: Callable[[Any], Any] | None  # turns what saved_tensors_hooks has packed into values

    @classmethod
    def create(
        cls,
        rule: object,
        edges: tuple[Any, ...],
        saved: tuple[object, ...],
        watched: tuple[object, ...],
        avals: tuple[Aval, ...],
    ) -> Self:
        node = cls()
        node.rule, node.edges, node.saved, node.watched, node.avals = rule, edges, saved, watched, avals
        node.sequence = next_number()
        return node

    def name(self) -> str:
        """The name PyTorch gives this node: ``AddBackward0``."""
        return self.rule.name

    @property
    def label(self) -> str:
        """The name without a namespace, as it is printed."""
        return self.name().rpartition("::")[2]

    @property
    def operation(self) -> str:
        """What the node is the backward of, as error messages call it."""
        return operation_of(self.rule)

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The edges to the next nodes: ``(node, output number)`` for each input, ``(None, 0)`` for an input without gradient."""
        tree = getattr(self.rule, "tree", None)
        if tree is None:
            return self.spread(self.edges, (None, 0))
        if self.inner is None:
            edges = dict(zip(self.rule.grad_inputs, self.edges, strict=True))
            self.inner = tuple(InnerNode.leading_to(entry, edges, self) for entry in tree)
        return self.inner

    def spread(self, entries: Sequence[object], nothing: object) -> tuple[Any, ...]:
        """Entries for the edges, spread over all inputs of PyTorch's node, with ``nothing`` for the others."""
        spread = getattr(self.rule, "spread", None)
        return tuple(nothing if e is None else e for e in entries) if spread is None else spread(entries, nothing)

    @property
    def places(self) -> Sequence[int]:
        """The places of the entries in ``spread``."""
        return getattr(self.rule, "places", None) or range(len(self.edges))

    @property
    def metadata(self) -> dict[Any, Any]:
        if self.metadata_ is None:
            self.metadata_ = {}
        return self.metadata_

    def release(self) -> None:
        """Drops the saved values. A second pass through this node then fails."""
        if self.saved or self.rule.used_once:
            self.saved = self.unpack = None
        self.watched = ()

    def register_hook(self, hook: Callable[..., object]) -> RemovableHandle:
        """Calls ``hook(grad_inputs, grad_outputs)`` after each pass through this node; what it returns replaces the former."""
        self.post_hooks = {} if self.post_hooks is None else self.post_hooks
        self.hooked = True
        return RemovableHandle(self.post_hooks, hook)

    def register_prehook(self, hook: Callable[..., object]) -> RemovableHandle:
        """Calls ``hook(grad_outputs)`` before each pass through this node; what it returns replaces them."""
        self.pre_hooks = {} if self.pre_hooks is None else self.pre_hooks
        self.hooked = True
        return RemovableHandle(self.pre_hooks, hook)

    def __call__(self, *gradients: object) -> Any:
        """The node's gradients for those of its outputs; one of them as it is, several as a tuple."""
        return hooks.call_node(self, *gradients)

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("_saved_", "_raw_saved_")):
            return hooks.saved(self, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *hooks.saved_names(self)})

    def __reduce_ex__(self, protocol: object) -> Any:
        raise TypeError(f"cannot pickle '{self.label}' object")

    def __repr__(self) -> str:
        return f"<{self.label} object at 0x{id(self):x}>"


if not hasattr(Node, "hooked"):  # interpreted
    Node.hooked, Node.unpack = False, None


_classes: weakref.WeakValueDictionary[str, type[Node]] = weakref.WeakValueDictionary()


def node_class(name: str) -> type[Node]:
    """The class of the nodes of one name, called as in PyTorch: programs that draw graphs read ``type(loss.grad_fn).__name__``."""
    cls = _classes.get(name)
    if cls is None:
        cls = _classes[name] = type(name.rpartition("::")[2], (Node,), {"__module__": "builtins"})
    return cls


Edge: TypeAlias = "tuple[Node, int]"  # a node (at a leaf its AccumulateGrad), and the number of its output


# Stands for the node in its own ``watched``: a node that referred to itself would live, with all that it saves, until the garbage
# collector runs.
ITSELF: Any = "the node itself"
OF_A_VIEW: Any = "the node that a view has after a write"


class _InnerRule:
    used_once = False

    def __init__(self, name: str) -> None:
        self.name = name


class InnerNode(Node):
    """A node that PyTorch has for a part of what is one node here, as ``next_functions`` shows it. No gradient passes it."""

    outer: str

    @classmethod
    def leading_to(cls, entry: Any, edges: dict[int, Edge | None], outer: Node) -> tuple[Node | None, int]:
        """The edge to an input of the outer node, or to a node that leads to several: ``(name, *entries)``."""
        if not isinstance(entry, tuple):
            return edges.get(entry) or (None, 0)
        name, *entries = entry
        led_to = [cls.leading_to(each, edges, outer) for each in entries]
        if not any(node is not None for node, _ in led_to):
            return None, 0
        kind = type(name, (cls,), {"__module__": "builtins"})
        inner = kind.create(_InnerRule(name), tuple(None if edge[0] is None else edge for edge in led_to), (), (), ())
        inner.sequence, inner.outer = outer.sequence - 0.5, outer.label
        return inner, 0

    def register_hook(self, hook: Callable[..., object]) -> RemovableHandle:
        """Raises: what PyTorch computes here is computed by the outer node."""
        raise NotImplementedError(f"torchlike computes {self.label} within {self.outer}: it calls no hooks there")

    register_prehook = register_hook


class LevelLeaf(Node):
    """Where an argument of a function enters a derivative of ``torch.func``: the gradient with respect to it is asked for here.

    To the function the argument is a leaf. Its one edge leads to the tensor outside, if that takes part in a graph.
    """


class ForwardLeaf(Node):
    """The same of a derivative that goes forwards. To its function the argument is no leaf."""


class _AccumulateRule:
    name = "torch::autograd::AccumulateGrad"
    used_once = False


class AccumulateGrad(Node):
    """The end of the graph at a leaf: adds what arrives to the leaf's ``grad``."""

    leaf: weakref.ref[Any]

    @classmethod
    def of(cls, leaf: object, aval: Aval) -> AccumulateGrad:
        node = cls.create(_AccumulateRule, (), (), (), (aval,))
        node.leaf = weakref.ref(leaf)
        return node

    @property
    def variable(self) -> Any:
        return self.leaf()

    def take_hooks(self, former: AccumulateGrad, on: bool) -> None:
        """Takes over the hooks of the leaf from its former node. The hooks of that node itself are not taken over."""
        self.tensor_hooks = former.tensor_hooks
        self.switch(on)

    def switch(self, on: bool) -> None:
        """Notes whether the leaf requires a gradient. If not, it turns the fast paths of the backward pass off, which do not ask this."""
        tables = self.tensor_hooks, self.retained, self.pre_hooks, self.post_hooks
        self.hooked = not on or any(table is not None for table in tables)


class RemovableHandle:
    """Undoes one registration of a hook: ``handle.remove()``, or leaving ``with handle:``."""

    _ids = itertools.count()

    def __init__(self, hooks: dict[Any, Any], hook: object) -> None:
        self.id = next(self._ids)
        self._hooks = hooks
        hooks[self.id] = hook

    def hooks_dict_ref(self) -> dict[Any, Any]:
        """The table that the hook is in."""
        return self._hooks

    def remove(self) -> None:
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def forward_trace() -> str:
    """The traceback of the current line, without the innermost frames, which are inside this package."""
    frames = traceback.extract_stack()
    while frames and frames[-1].filename.startswith(_INSIDE):
        frames.pop()
    return "".join(traceback.format_list(frames))


_PACKAGE = Path(__file__).parents[1]
_INSIDE = tuple(str(_PACKAGE / name) for name in ("_core", "dispatch", "ops", "autograd", "_namespace"))


def operation_of(rule: Any) -> str:
    """What the nodes of a rule are the backward of, as error messages call it."""
    return re.sub(r"Backward(?:0$|(?=\d*$))", "", rule.name)  # FillBackward2 is the backward of Fill2


def check_versions(node: Node) -> None:
    """Raises PyTorch's error if something the node needs was written to after it had been saved."""
    for storage, version, aval, producer in node.watched:
        if storage.version != version:
            if producer is OF_A_VIEW:
                raise modified(storage, version, aval, "AsStrided")
            if isinstance(producer, int):
                raise modified(storage, version, aval, operation_of(node.rule), producer)
            writer = node.rule if producer is ITSELF else storage.writer or (producer and producer.rule)
            raise modified(storage, version, aval, None if writer is None else operation_of(writer))


def modified(storage: Any, version: int, aval: Aval, writer: str | None, output: int = 0) -> RuntimeError:
    """The error for a saved tensor that was written to. ``writer``: the operation that made what it holds now."""
    name = tensor_meta(aval).dtype.scalar_name
    type_name = f"torch.{name}Tensor" if name in _LEGACY_NAMES else f"CPU{name}Type"
    source = "" if writer is None else f", which is output {output} of {writer},"
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{type_name} [{', '.join(map(str, aval.shape))}]]{source} is at version {storage.version}; expected version {version} "
        f"instead. Hint: {_GOOD_LUCK if modes.anomaly else _ENABLE}"
    )


_ENABLE = (
    "enable anomaly detection to find the operation that failed to compute its gradient, with "
    "torch.autograd.set_detect_anomaly(True, check_nan=False)."
)
_GOOD_LUCK = (
    "the backtrace further above shows the operation that failed to compute its gradient. The variable in question was changed in "
    "there or anywhere later. Good luck!"
)
# Nodes whose name PyTorch spells without a number.
_LEGACY_NAMES = {"Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double"}
