"""backward and grad: they visit the nodes of the graph, newest first, and record the pullback of each."""

from __future__ import annotations

import heapq
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

import numpy as np

from .._core.fields import (
    grad_of,
    output_number_of,
    post_accumulate_hooks_of,
    requires_grad_flag,
    storage_of,
    stored_value,
    view_record,
)
from .._core.modes import asks, hooks, modes, same_tangent
from .._core.node import SECOND_BACKWARD, AccumulateGrad, Edge, Node, check_versions
from .._core.sparse import FORMS, SparseValue, is_sparse
from .._core.tensor import Tensor, from_value
from .._core.torch_function import ALL_OFF, ask, overloaded_arguments, refuse_plainly, settings
from .._core.vmapped import levels_of
from ..dispatch.apply import link
from ..dispatch.pullback import Rule, rules_of_gradients
from ..dispatch.warned import warn
from ..engine.aval import Aval, MappedAval
from ..engine.recorder import recorder
from ..engine.value import Value
from ..ops.elementwise.pointwise import add
from ..ops.shape.joining import stack
from .crossings import same_for_all
from .edges import GradientEdge, as_tensors, has_edges
from .leaves import Leaf, in_order, read_often
from .replayed_backward import added, replay_backward
from .running_hooks import post_accumulate_hooks, post_hooks, pre_hooks, tensor_hooks

__all__ = ["backward", "grad", "gradients", "queue_callback"]

_new = object.__new__


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Adds the gradients of ``tensors`` to the ``grad`` of the graph's leaves.

    Args:
        tensors: tensors to differentiate.
        grad_tensors: the vector in the vector-Jacobian product, one for each tensor; None for one-element tensors.
        retain_graph: keep what the graph has saved, for another pass. Default: as ``create_graph``.
        create_graph: record the pass itself, for derivatives of higher order.
        inputs: accumulate into these tensors only.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> torch.autograd.backward((x * x).sum())
    >>> x.grad
    tensor([2., 4.])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.autograd.backward.html
    """
    if modes.derivatives or modes.vmaps:
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use functorch.grad or functorch.vjp instead or "
            "call backward() outside of functorch transforms."
        )
    waiting = after_backward.callbacks
    if not waiting or after_backward.within:
        _add_gradients(tensors, grad_tensors, retain_graph, create_graph, inputs)
        return
    after_backward.within = True  # a pass within a pass (of a checkpoint) does not end this one
    try:
        _add_gradients(tensors, grad_tensors, retain_graph, create_graph, inputs)
    finally:
        after_backward.within = False
    # A copy, because a callback may register another one, which belongs to the next pass.
    for callback in list(waiting):
        callback()


class _AfterBackward(threading.local):
    """The callbacks that run after a backward pass of this thread."""

    def __init__(self) -> None:
        self.callbacks: list[Callable[[], None]] = []
        self.within = False


after_backward = _AfterBackward()


def _add_gradients(tensors: Any, grad_tensors: Any, retain_graph: bool | None, create_graph: bool, inputs: Any) -> None:
    usual = grad_tensors is None and inputs is None and not create_graph and isinstance(tensors, Tensor)
    if usual and not (hooks.on and asks(tensors)):
        # The usual call. A pass like an earlier one is replayed as a whole.
        if _backward_from_scalar(tensors, bool(retain_graph)):
            return
    roots = as_tensors(tensors)
    kept = () if inputs is None else (inputs,) if isinstance(inputs, (Tensor, GradientEdge)) else inputs
    if inputs is not None:
        inputs = as_tensors(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    if create_graph:
        warn(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which "
            "can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to use "
            "this function, make sure to reset the .grad fields of your parameters to None after use to break the cycle and avoid "
            "the leak."
        )
    seeds = _seeds(roots, grad_tensors)
    for each in kept:
        if isinstance(each, Tensor):
            each.retain_grad()
    _run(roots, seeds, create_graph if retain_graph is None else retain_graph, create_graph, inputs, accumulate=True)


def _backward_from_scalar(root: Tensor, keep: bool) -> bool:
    """The backward pass from a real scalar, replayed or captured; False where neither is possible."""
    node = root.grad_fn
    if node is None or modes.anomaly or modes.duals is not None:
        return False
    aval = root._aval
    if aval.shape != () or aval.dtype.kind != "f" or aval.__class__ is not Aval:
        return False
    this_pass, replayed = replay_backward(node, output_number_of(root), aval, keep)
    if this_pass is None:
        return False
    if not replayed:
        this_pass.run(keep)
        this_pass.capture()
    return True


def tensor_backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Adds the gradients of this tensor to the ``grad`` of the graph's leaves: see ``torch.autograd.backward``.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> (x**2).backward()
    >>> x.grad
    tensor(6.)
    """
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of ``outputs`` with respect to ``inputs``, as a tuple; no ``grad`` is touched.

    Args:
        outputs, grad_outputs: as in ``backward``.
        inputs: tensors to differentiate with respect to.
        allow_unused: give None for an input the outputs do not depend on, rather than raise.
        is_grads_batched: each of ``grad_outputs`` has a first dimension more, and so has each gradient: one pass for each row.
        materialize_grads: give zeros instead of None.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> torch.autograd.grad(x**2, x)
    (tensor(6.),)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html
    """
    options: dict[str, Any] = {
        "grad_outputs": grad_outputs,
        "retain_graph": retain_graph,
        "create_graph": create_graph,
        "only_inputs": only_inputs,
        "allow_unused": allow_unused,
        "is_grads_batched": is_grads_batched,
        "materialize_grads": materialize_grads,
    }
    overloading = [] if settings.off else overloaded_arguments((outputs, inputs))
    if overloading or (settings.stack and settings.off != ALL_OFF):
        kinds, unanswered = tuple(map(type, overloading)), refuse_plainly("torch.autograd.grad")
        several = tuple(
            (each,) if isinstance(each, GradientEdge) or hasattr(each, "__torch_function__") else tuple(each)
            for each in (outputs, inputs)
        )
        options["allow_unused"] = materialize_grads if allow_unused is None else allow_unused
        return ask(grad, overloading, kinds, several, options, unanswered, python=True)
    return gradients(outputs, inputs, **options)


def gradients(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The same, where nobody overrides it."""
    if is_grads_batched:
        # PyTorch makes one pass under ``vmap``. Here the passes of all rows are recorded one after the other, and compiled together.
        _check_batched(as_tensors(outputs), as_tensors(grad_outputs))
        rows = zip(*(grads.unbind() for grads in as_tensors(grad_outputs)), strict=True)
        columns = [
            gradients(outputs, inputs, row, True, create_graph, only_inputs, allow_unused, False, materialize_grads)
            for row in rows
        ]
        return tuple(None if None in column else stack(column) for column in zip(*columns, strict=True))  # pyright: ignore[reportArgumentType]
    if materialize_grads:
        if allow_unused is False:
            raise ValueError(
                "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
            )
        if has_edges(inputs):
            raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
        allow_unused = True
    # Checked in PyTorch's order (outputs, then inputs), so that of two wrong arguments the same one is named.
    roots, targets = as_tensors(outputs), as_tensors(inputs)
    seeds = _seeds(roots, grad_outputs)
    if not targets:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    _check_wanted(targets)
    results = _run(
        roots, seeds, create_graph if retain_graph is None else retain_graph, create_graph, targets, accumulate=False
    )
    if not allow_unused and None in results:
        raise RuntimeError(
            f"The differentiated Tensor at index {results.index(None)} appears to not have been used in the graph. Set "
            "allow_unused=True if this is the desired behavior."
        )
    if materialize_grads:
        results = [
            _zeros_like(t)._require_grad(create_graph) if g is None else g
            for g, t in zip(results, targets, strict=True)
        ]
    return tuple(_of_its_kind(gradient, target) for gradient, target in zip(results, targets, strict=True))


def _of_its_kind(gradient: Tensor | None, target: Tensor) -> Tensor | None:
    """A gradient as a DTensor over several processes, where it is that of one: the engine computes with what this process stores."""
    as_its_kind = getattr(target, "_as_its_kind", None)
    return gradient if gradient is None or as_its_kind is None else as_its_kind(gradient)


def _check_batched(outputs: Sequence[Tensor], grad_outputs: Sequence[Tensor]) -> None:
    for number, (output, gradient) in enumerate(zip(outputs, grad_outputs, strict=False)):
        if gradient.shape[1:] != output.shape:  # PyTorch leaves out two dimensions of the one that it names
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The sizes of "
                f"the remaining dimensions are expected to match the shape of corresponding output, but a mismatch was detected: "
                f"grad_output[{number}] has a shape of {gradient.shape[2:]} and output[{number}] has a shape of {output.shape}. If you "
                "only want some tensors in `grad_output` to be considered batched, consider using vmap."
            )


def _check_wanted(tensors: tuple[Tensor, ...]) -> None:
    if not all(tensor.requires_grad for tensor in tensors):
        raise RuntimeError("One of the differentiated Tensors does not require grad")


def _zeros_like(tensor: Tensor) -> Tensor:
    aval = tensor._aval
    return from_value(Value.on_host(np.zeros(aval.shape, aval.dtype), aval.placement))


def _seeds(roots: tuple[Tensor, ...], grad_tensors: Sequence[Tensor] | None) -> list[Tensor]:
    """The cotangent that the pass begins with at each root."""
    grads = (None,) * len(roots) if grad_tensors is None else as_tensors(grad_tensors)
    if len(grads) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(grads)} gradients")
    seeds: list[Tensor] = []
    for number, (root, seed) in enumerate(zip(roots, grads, strict=True)):
        if root._aval.__class__ is MappedAval and root._tracked:
            # Each example has a cotangent of its own, so that gradients are summed over the examples where these share an input.
            seed = from_value(_unit_cotangent(_scalar(root))) if seed is None and root.numel() == 1 else seed
            if isinstance(seed, Tensor):
                seed = same_for_all(seed, levels_of(root._aval))
        if seed is None:
            if not root._tracked:
                raise RuntimeError(f"element {number} of tensors does not require grad and does not have a grad_fn")
            aval = root._aval
            if hooks.on and asks(root) and root.numel() == 1 and root.dtype.is_floating_point:
                seeds.append(hooks.operator("ones_like", "default", root))
                continue
            if aval.shape == () and aval.dtype.kind == "f":
                seeds.append(from_value(_unit_cotangent(aval)))
                continue
            if root.numel() != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            if not root.dtype.is_floating_point:
                raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {root.dtype}")
            seeds.append(from_value(_unit_cotangent(aval)))
            continue
        if not isinstance(seed, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(seed).__name__}")
        if seed.shape != root.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{number}] has a shape of {seed.shape} and output[{number}] has a shape of "
                f"{root.shape}."
            )
        if seed.dtype.is_complex != root.dtype.is_complex:
            raise RuntimeError(
                "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
                f"grad_output[{number}] has a dtype of {seed.dtype} and output[{number}] has a dtype of {root.dtype}."
            )
        if not root._tracked:
            raise RuntimeError(f"element {number} of tensors does not require grad and does not have a grad_fn")
        # PyTorch casts a seed of another precision silently, and refuses only a complex one for a real root.
        seeds.append(seed if seed.dtype is root.dtype else seed.to(root.dtype))
    return seeds


def _scalar(root: Tensor) -> Aval:
    if not root.dtype.is_floating_point:
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {root.dtype}")
    return root._aval.plain()


_ones: dict[object, Value] = {}


def _unit_cotangent(aval: Aval) -> Value:
    """The cotangent 1 of a scalar, kept on the device: every step of a loop needs it."""
    one = _ones.get(aval)
    if one is None:
        one = _ones[aval] = Value.on_host(np.ones(aval.shape, aval.dtype), aval.placement)
        # It is used again by each step, so no program may write a result over it.
        one.pin()
    return one


def _run(
    roots: Sequence[Tensor],
    seeds: Sequence[Tensor],
    keep: bool,
    create: bool,
    inputs: Sequence[Tensor] | None,
    accumulate: bool,
) -> list[Tensor | None]:
    """Runs a pass from the roots. Gradients are values on the way; with ``create`` they are tensors that have a history."""
    edges = [root._edge() for root in roots]
    mode_asks = asks(*roots, *seeds)
    dual = bool(modes.any_slow_mode and modes.level)
    run = _Pass(edges, keep, create or mode_asks or dual, accumulate)
    if mode_asks:
        run.step = partial(_seen_step, create)
    if inputs is not None:
        run.restrict(inputs)
    # Hooks and users' backward functions run within the pass. What they compute is recorded only if the pass itself is.
    before, forward_only = modes.grad_enabled, modes.forward_only
    modes.grad_enabled, modes.forward_only = create, False
    outer, modes.backward_pass = modes.backward_pass, run
    try:
        with nullcontext() if outer is None else _further_frames():
            run.begin(seeds)
            run.go()
        modes.grad_enabled, modes.forward_only = before, forward_only
        for callback in run.callbacks:  # one may queue another
            callback()
    finally:
        modes.grad_enabled, modes.forward_only, modes.backward_pass = before, forward_only, outer
    return run.gradients


FRAMES = 200  # of Python that a pass within a pass may need, besides those of the function that begins it


@contextmanager
def _further_frames() -> Iterator[None]:
    """Lets Python's stack become as much deeper as a pass within a pass needs: PyTorch's stack is not Python's, and has no such bound.

    Python's bound is one for all threads, so it is moved, and moved back, by a number of frames.
    """
    sys.setrecursionlimit(sys.getrecursionlimit() + FRAMES)
    try:
        yield
    finally:
        sys.setrecursionlimit(sys.getrecursionlimit() - FRAMES)


def queue_callback(callback: Callable[[], object]) -> None:
    """Has a function called when the backward pass that is running in this thread is done.

    Raises:
        RuntimeError: none is running.
    """
    if modes.backward_pass is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    modes.backward_pass.callbacks.append(callback)


class _Pass:
    """One pass over the graph, newest node first, which visits each leaf as soon as its gradient is complete."""

    __slots__ = (
        "roots", "keep", "create", "accumulate", "step", "plain", "runs", "required_nodes", "captures", "gradients", "arrived", "heap",
        "awaited", "complete", "callbacks", "__weakref__",
    )  # fmt: skip

    def __init__(self, roots: list[Edge], keep: bool, create: bool, accumulate: bool) -> None:
        self.roots, self.keep, self.create, self.accumulate = roots, keep, create, accumulate
        self.step = _watched_step if modes.anomaly else _step
        self.plain = (
            accumulate and not create and not modes.anomaly
        )  # so the fast paths apply, except at nodes with hooks
        self.runs: set[Node] | None = None  # the nodes that run; None where all do
        self.required_nodes: set[Node] = set()  # those, and the ones whose gradient is asked for
        self.captures: dict[Edge, list[int]] = {}  # by edge: the places in ``gradients`` for what comes along it
        self.gradients: list[Tensor | None] = []
        self.arrived: dict[Node, dict[int, Any]] = {}  # by output number
        # Newest first: no two nodes have the same number. Leaves are not in it.
        self.heap: list[tuple[float, Node]] = []
        # A leaf must be visited as soon as its gradient is complete. If something raises later in the pass, PyTorch has set exactly the
        # gradients of these leaves, and programs that catch the error see them.
        self.awaited = read_often([edge[0] for edge in roots])  # by leaf: how many gradients are still to come
        self.complete: list[Leaf] = []  # leaves with all their gradients, not visited yet
        self.callbacks: list[Callable[[], object]] = []  # what runs when the pass is done

    def restrict(self, inputs: Sequence[Tensor]) -> None:
        """Restricts the pass to the gradients of these tensors."""
        self.plain = False
        edges = [tensor._edge() for tensor in inputs]
        targets = {edge[0] for edge in edges}
        self.runs = _leading_to(targets, [edge[0] for edge in self.roots])
        self.required_nodes = self.runs | targets
        if self.accumulate:
            self.runs = self.runs | targets
            return
        self.gradients = [None] * len(inputs)
        for i, edge in enumerate(edges):
            self.captures.setdefault(edge, []).append(i)

    def reaches(self, nodes: Sequence[Node]) -> list[bool]:
        """Whether the pass brings each of these nodes a gradient."""
        nodes_to_run = (
            self.required_nodes if self.runs is not None or self.captures else _below([edge[0] for edge in self.roots])
        )
        return [node in nodes_to_run for node in nodes]

    def begin(self, seeds: Sequence[Tensor]) -> None:
        """Delivers the gradient of each root. If there are several, a root that leads to no requested tensor gets none."""
        if len(seeds) == 1:
            self.required_nodes.add(self.roots[0][0])
        for (node, number), seed in zip(self.roots, seeds, strict=True):
            self.deliver(node, number, _as_read(node, seed if self.create else seed._value()))
        if self.complete:
            self.visit_leaves(self.roots)

    def go(self) -> None:
        arrived, heap, awaited, complete, keep = self.arrived, self.heap, self.awaited, self.complete, self.keep
        plain = self.plain
        record, push, pop = recorder().record, heapq.heappush, heapq.heappop
        while heap:
            node = pop(heap)[1]
            cotangents = arrived.pop(node)
            if (
                plain
                and len(cotangents) == 1
                and node.rule.__class__ is Rule
                and not node.hooked
                and node.unpack is None
            ):
                # The same as ``visit``, written out for the usual case to save the calls.
                saved, rule = node.saved, node.rule
                if saved is None:
                    raise RuntimeError(SECOND_BACKWARD)
                for storage, version, _, _ in node.watched:
                    if storage.version != version:
                        check_versions(node)
                # Almost every node has one output with a gradient, so that its pullback is found without sorting the numbers.
                ((number, cotangent),) = cotangents.items()
                pullback = rule.pullbacks.get((number,)) or rule.pullback((number,))
                # The pullback is recorded like an operation of the user's, so that XLA compiles forward and backward pass into one program.
                grads = record(pullback, (), (*saved, cotangent), ())[1]
                if not keep:
                    node.release()
                for edge, gradient in zip(node.edges, grads):  # noqa: B905  (as long as the edges, by construction)
                    if edge is None:
                        continue
                    target, number = edge
                    if target in arrived or target in awaited:
                        self.deliver(target, number, gradient)
                    elif target.__class__ is AccumulateGrad:
                        complete.append((target, {0: gradient}))
                    else:
                        arrived[target] = {number: gradient}
                        push(heap, (-target.sequence, target))
            else:
                self.visit(node, cotangents)
            if complete:
                self.visit_leaves(node.edges, getattr(node.rule, "order", None))

    def deliver(self, node: Node, number: int, cotangent: Any) -> None:
        """Delivers a gradient to an output of a node. None means that there is none, and also counts as delivered."""
        # PyTorch drops gradients that lead to no requested tensor, together with the hooks on the way.
        if self.runs is not None and node not in self.required_nodes:
            return
        is_leaf = node.__class__ is AccumulateGrad
        cotangents = self.arrived.get(node)
        if cotangents is None:
            cotangents = self.arrived[node] = {}
            if not is_leaf:
                heapq.heappush(self.heap, (-node.sequence, node))
        if cotangent is not None:
            cotangents[number] = _sum(cotangents[number], cotangent, self.create) if number in cotangents else cotangent
        if is_leaf:
            self.awaited[node] = left = self.awaited.get(node, 1) - 1
            if not left:
                self.complete.append((node, self.arrived.pop(node)))

    def visit(self, node: Node, cotangents: dict[int, object]) -> None:
        """Runs a node with its hooks, and delivers its gradients to the nodes that its edges lead to."""
        create = self.create
        if not self.enter(node, cotangents):
            return
        if node.pre_hooks:
            pre_hooks(node, cotangents, create)
        grads = self.step(node, cotangents, create)
        if node.post_hooks:
            grads = post_hooks(node, self.computed(node, grads), cotangents, create)
        if not self.keep:
            node.release()
        for edge, gradient in zip(node.edges, grads, strict=True):
            if edge is not None:
                self.deliver(edge[0], edge[1], _as_read(edge[0], gradient))

    def computed(self, node: Node, grads: Sequence[object]) -> Sequence[Any]:
        """A node's gradients; None for gradients that lead to no requested tensor, since PyTorch does not compute them."""
        if self.runs is None or not isinstance(node.rule, Rule):
            return grads
        pairs = zip(node.edges, grads, strict=True)
        return [gradient if edge is not None and edge[0] in self.required_nodes else None for edge, gradient in pairs]

    def visit_leaves(self, edges: Sequence[Edge | None], order: Sequence[int] | None = None) -> None:
        """Visits the leaves that are complete.

        Args:
            edges: of the node that ran before.
            order: the numbers of the edges in the order in which PyTorch follows them, where it is another.
        """
        complete = self.complete
        if order is not None and len(complete) > 1:
            rank = {edge[0]: place for place, edge in enumerate(edges[i] for i in order) if edge is not None}
            complete = sorted(complete, key=lambda leaf: rank.get(leaf[0], -1))
        elif len(complete) > 2:  # of two, the first one is at the top of PyTorch's queue at once
            complete = in_order(complete, edges, self.arrived)
        for node, cotangents in complete:
            leaf = node.leaf()
            if (
                self.plain
                and not node.hooked
                and leaf is not None
                and grad_of(leaf) is None
                and post_accumulate_hooks_of(leaf) is None
                and cotangents
            ):
                leaf._grad = from_value(cotangents[0])  # the other branch would do the same, more slowly
            elif self.enter(node, cotangents):
                _accumulate(node, cotangents, self.create)
        self.complete.clear()

    def enter(self, node: Any, cotangents: dict[int, object]) -> bool:
        """Runs tensor hooks and captures gradients that are asked for. Returns whether the node itself is to run.

        For a node that runs, ``grad`` returns what has arrived there; for the others, what the hooks made of it.
        """
        runs = self.runs is None or node in self.runs
        if runs and self.captures:
            self.capture(node, cotangents)
        if node.hooked:
            if node.tensor_hooks is not None:
                tensor_hooks(node, cotangents, self.create)
            if node.retained is not None:
                _retain(node, cotangents, self.create)
        if not runs:
            self.capture(node, cotangents)
        return runs

    def capture(self, node: Node, cotangents: Mapping[int, object]) -> None:
        for number, cotangent in cotangents.items():
            for i in self.captures.get((node, number), ()):
                self.gradients[i] = _tensor(cotangent, self.create)


def _below(starts: list[Node]) -> set[Node]:
    """These nodes and all that their edges lead to."""
    visited: set[Node] = set()
    stack = list(starts)
    while stack:
        node = stack.pop()
        if node not in visited:
            visited.add(node)
            stack.extend(e[0] for e in node.edges if e is not None)
    return visited


def _leading_to(targets: set[Node], starts: list[Node]) -> set[Node]:
    """The nodes whose pullback has to run because their edges lead to a target, directly or through others."""
    useful: set[Node] = set()
    # Oldest first: edges lead to older nodes, so the targets of a node are decided before it.
    for node in sorted(_below(starts), key=lambda n: n.sequence):
        if any(e is not None and (e[0] in targets or e[0] in useful) for e in node.edges):
            useful.add(node)
    return useful


def _step(node: Node, cotangents: dict[int, object], create: bool) -> list[Value]:
    """The node's gradients: from its recorded pullback, or from the user's own backward."""
    if node.rule.__class__ is Rule:
        return _pull(node, cotangents, create)
    return node.rule.step(node, cotangents, create)


def _called(node: Node, *gradients: Tensor | None) -> object:
    """What a node computes when a program calls it with the gradients of its outputs: its own gradients."""
    if len(gradients) != len(node.avals):
        raise TypeError(f"expected {len(node.avals)} arguments, got {len(gradients)} instead")
    create = modes.grad_enabled
    arrived: dict[int, object] = {
        number: gradient if create else gradient._value()
        for number, gradient in enumerate(gradients)
        if gradient is not None
    }
    if isinstance(node, AccumulateGrad):
        _accumulate(node, arrived, create)
        return ()
    computed = [None if each is None else _tensor(each, create) for each in _step(node, arrived, create)]
    spread = node.spread(computed, None)
    return spread[0] if len(spread) == 1 else spread


hooks.call_node = _called


def _watched_step(node: Node, cotangents: dict[int, object], create: bool) -> Sequence[Any]:
    try:
        grads = _step(node, cotangents, create)
    except Exception:
        _tell_where(node)
        raise
    _look_for_anomalies(node, grads, create)
    return grads


def _pull(node: Node, cotangents: dict[int, Any], create: bool) -> list[Any]:
    """Records the node's pullback."""
    if node.saved is None:
        raise RuntimeError(SECOND_BACKWARD)
    if node.watched:
        check_versions(node)
    rule: Rule = node.rule
    saved = node.saved if node.unpack is None else node.unpack(node.saved)
    if not cotangents:
        return [None] * len(node.edges)
    numbers = tuple(sorted(cotangents))
    pullback = rule.pullback(numbers)
    ordered = [cotangents[n] for n in numbers]
    if not create:
        return recorder().record(pullback, (), (*saved, *ordered), ())[1]
    # The pullback is an op like any other. The tensors that it reads have the history that they had when the forward ran.
    tensors = [_saved_tensor(node, rule, i, value) for i, value in zip(rule.saved, saved, strict=True)] + ordered
    values = [t._value() for t in tensors]
    level = modes.level if modes.any_slow_mode else None
    if level is not None:
        level.restore_saved(node, rule.saved, tensors[: len(rule.saved)])
    kernel, outs = recorder().record(pullback, (), values, ())
    mask = sum(1 << i for i, t in enumerate(tensors) if requires_grad_flag(t))
    results = [from_value(v) for v in outs]
    if level is not None:
        level.carry(kernel, tensors, values, results, rules_of_gradients)
    if mask and modes.grad_enabled:
        for second in rules_of_gradients(kernel, mask):
            second_node = link(second, kernel, values, tensors, None)
            for number in second.outputs:
                results[number]._set_history(second_node, number)
    return results


hooks.pull = _pull


def _seen_step(create_graph: bool, node: Node, cotangents: dict[int, Any], create: bool) -> Sequence[Any]:
    """The node's gradients, by operators that a mode or a subclass sees. They are tensors also where no graph is made."""
    return hooks.step(node, cotangents, create_graph)


def _saved_tensor(node: Node, rule: Rule, i: int, value: Value) -> Tensor:
    tensor = from_value(value)
    if i in rule.grad_inputs:
        edge = node.edges[rule.grad_inputs.index(i)]
        if edge is not None:
            tensor._set_history(*edge)
    return tensor


def _look_for_anomalies(node: Node, grads: Sequence[object], create: bool) -> None:
    """Under anomaly detection: raises for the first gradient with a NaN in it, after a warning that says where the forward ran."""
    if not modes.anomaly_nan:
        return
    for number, gradient in enumerate(grads):
        if gradient is not None and np.isnan(_tensor(gradient, create)._array()).any():
            _tell_where(node)
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {number}th output.")


def _tell_where(node: Node) -> None:
    if node.trace is None:
        trace = "No forward pass information available. Enable detect anomaly during forward pass for more information."
    else:
        trace = f"Traceback of forward call that caused the error:\n{node.trace}"
    warn(f"Error detected in {node.name()}. {trace}")


def _as_read(node: Node, cotangent: Any) -> Any:
    """A gradient as a node can read it: the recorded pullbacks read dense ones."""
    if not isinstance(node.rule, Rule):
        return cotangent
    if cotangent.__class__ is SparseValue:
        return FORMS["to_dense"](from_value(cotangent))._value()
    return FORMS["to_dense"](cotangent) if isinstance(cotangent, Tensor) and is_sparse(cotangent) else cotangent


def _sum(a: Any, b: Any, create: bool) -> Any:
    if create:
        return _total(a, b)
    return _total(from_value(a), from_value(b))._value() if SparseValue.met else added(a, b)


def _total(a: Tensor, b: Tensor) -> Tensor:
    """The sum of two gradients; of a dense and a sparse one it is dense."""
    return add(b, a) if is_sparse(a) and not is_sparse(b) else add(a, b)


def _tensor(cotangent: Any, create: bool) -> Tensor:
    return cotangent if create else from_value(cotangent)


def _retain(node: Node, cotangents: dict[int, Any], create: bool) -> None:
    assert node.retained is not None
    for number, reference in node.retained.items():
        tensor = reference() if reference is not None else None
        if tensor is not None and number in cotangents:
            _add_to_grad(tensor, cotangents[number], create)
            if create and modes.any_slow_mode:
                same_tangent(tensor.grad, cotangents[number])


def _accumulate(node: AccumulateGrad, cotangents: dict[int, object], create: bool) -> None:
    leaf = node.leaf()
    if leaf is None:
        return
    if node.pre_hooks:
        pre_hooks(node, cotangents, create)
    before = grad_of(leaf)
    if (
        requires_grad_flag(leaf) and cotangents
    ):  # it may have been switched off since, and a hook may have taken the gradient away
        _add_to_grad(leaf, cotangents[0], create)
    first = grad_of(leaf) if before is None and cotangents and not create else None  # made of this gradient's memory
    post_accumulate_hooks(leaf)
    if node.post_hooks:
        post_hooks(node, [], cotangents, create, first)


def _add_to_grad(tensor: Tensor, cotangent: Any, create: bool) -> None:
    if hooks.on and asks(cotangent) and not modes.grad_enabled:
        hooks.accumulate(tensor, cotangent)
        return
    old = grad_of(tensor)
    if old is None:
        if create:
            tensor._grad = grad = from_value(cotangent._value())
            # A new tensor, because hooks or the caller may hold the cotangent, and ``grad`` is written in place by the next pass.
            grad._share_history(cotangent)
        else:
            tensor._grad = from_value(cotangent)
    # With a graph the old gradient may be part of it, so PyTorch puts a new tensor in its place instead of writing into it.
    elif create:
        tensor._grad = _total(old, cotangent)
    else:
        total = _total(old, from_value(cotangent))
        if is_sparse(old) is not is_sparse(total):
            tensor._grad = total
        elif view_record(old) is None:
            # In place, since the program may hold ``grad`` or a view of it and expects to see the sum.
            storage_of(old).write(stored_value(total))
        else:
            from ..dispatch.inplace import write

            write(old, total)
