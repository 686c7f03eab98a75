"""Writes in place, into a storage or through a view, and updates the gradient history.

The functions that every write in place runs through use the private fields of tensors themselves: a training step has hundreds of such
writes, and each call of a reader takes longer than the field does. The others use ``_core.fields``.
"""

from __future__ import annotations

import functools
import operator
import weakref
from collections.abc import Callable
from typing import Any

from jax import Array

from .._core import dtypes
from .._core.fields import (
    inference_flag,
    node_of,
    output_number_of,
    requires_grad_flag,
    set_requires_grad,
    steps_of,
    storage_of,
    version_of,
    view_record,
)
from .._core.modes import modes
from .._core.node import Node
from .._core.sparse import SparseAval
from .._core.strided import Strided
from .._core.tensor import Tensor, from_value
from .._core.views import (
    DEFAULT,
    IN_FUNCTION,
    IN_INFERENCE,
    ONE_OF_SEVERAL,
    LaidOutStorage,
    LaidOutView,
    View,
    ViewStep,
)
from ..engine.aval import CPU, Aval, Meshed
from ..engine.interpreter import Traces
from ..engine.recorder import Operation, recorder
from ..engine.value import Value
from ..numerics.windows import FULL, TAKE, put_at_layout, put_by_layout, put_slices
from .apply import link
from .autocast import without_autocast
from .computation import Sized, without_sizes
from .levels import KeptHistory, check_argument, is_leaf, note_write
from .lowering import Lowered
from .moving import move, moved_value
from .on_host import write_window_on_host
from .opdef import STATIC, Saves
from .overlap import Inner, in_turn, last_of_each, refuse_inner_overlap
from .pullback import MissingRule, rule_for


def check_writable(tensor: Tensor) -> View | None:
    """Raises PyTorch's errors for tensors that must not be written to in place. Returns the record of a view."""
    view = tensor._view
    if tensor._inference:
        check_not_inference(tensor)
    if not modes.grad_enabled or modes.forward_only:
        return view
    base = None if view is None else view.base
    if view is not None and base is not None and node_of(base) is not None and not view.has_node:
        # A write to its base has brought a history, and the view has not been used since: PyTorch takes it for a leaf.
        if view.origin == DEFAULT and view.refused is None:
            raise RuntimeError(_LEAF)
    tracked = tensor._tracked
    if view is not None and base is not None and (tracked or base._requires_grad):
        if view.refused is not None:
            raise RuntimeError(view.refused.replace(_BY_ANOTHER, _BY_ITSELF))
        if view.origin != DEFAULT:
            raise RuntimeError(refusal(tensor, view.origin))
        if is_leaf(base._grad_fn):
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    if tracked and is_leaf(tensor._grad_fn):
        raise RuntimeError(_LEAF)
    if modes.forward_levels:
        check_argument(node_of(tensor))
    return view


def check_not_inference(tensor: Tensor) -> None:
    """Raises PyTorch's error for an inference tensor that is written to outside of inference mode."""
    if inference_flag(tensor) and not modes.inference:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal tensor "
            "before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
        )


_LEAF = "a leaf Variable that requires grad is being used in an in-place operation."
_BY_ITSELF, _BY_ANOTHER = "is being", "its base or another view of its base has been"


def refusal(tensor: Tensor, origin: int, by_another: bool = False) -> str:
    """Why a view must not be written to while gradients are recorded, or have a history after ``by_another`` tensor was written to."""
    block, where = ("inference", "in normal mode") if origin == IN_INFERENCE else ("no_grad", "with grad mode enabled")
    node, number = node_of(tensor), output_number_of(tensor)
    cause = _BY_ANOTHER if by_another else _BY_ITSELF
    if node is None:
        reason = f"A view was created in {block} mode and {cause} modified inplace {where}."
    elif origin in (ONE_OF_SEVERAL, IN_FUNCTION):
        reason = f"Output {number} of {node.operation} is a view and {cause} modified inplace."
    else:
        reason = (
            f"Output {number} of {node.operation} is a view of a view which was created in {block} mode and {cause} "
            f"modified inplace {where}."
        )
    if origin == ONE_OF_SEVERAL:
        why = (
            "This view is the output of a function that returns multiple views. Such functions do not allow the output views to "
            "be modified inplace. You should replace the inplace operation by an out-of-place one."
        )
    elif origin == IN_FUNCTION:
        why = (
            "This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to handle "
            "view+inplace would override the custom backward associated with the custom Function, leading to incorrect gradients. This "
            "behavior is forbidden. You can fix this by cloning the output of the custom Function."
        )
    else:
        block = "inference_mode" if origin == IN_INFERENCE else block
        why = (
            "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the "
            f"view and the inplace either both inside the {block} block (if you don't want the inplace to be tracked) or both "
            "outside (if you want the inplace to be tracked)."
        )
    return f"{reason} {why}"


def _in_dtype_of(tensor: Tensor, result: Tensor) -> Tensor:
    if not dtypes.can_cast(result.dtype, tensor.dtype):
        raise RuntimeError(
            f"result type {result.dtype.scalar_name} can't be cast to the desired output type {tensor.dtype.scalar_name}"
        )
    return result.to(tensor.dtype)


def write(
    tensor: Tensor,
    result: Tensor,
    keeps_history: bool = False,
    inner: Inner = Inner.NOWHERE,
    again: Callable[[Tensor], Tensor] | None = None,
) -> Tensor:
    """Writes ``result`` into ``tensor`` in place. Every in-place operation ends here.

    Args:
        keeps_history: a result without a gradient leaves the tensor its history, as PyTorch's logical functions do.
        inner: whether several of the tensor's elements may lie at one place of memory. Then the last one counts.
        again: the operation, if an element that comes after another one at its place starts from what that one has left.

    Raises:
        RuntimeError: the result has another shape, or a dtype that cannot be cast to the tensor's.
    """
    if result is tensor:
        return tensor
    aval, new = tensor._aval, result._aval
    if new is not aval:
        if new.shape != aval.shape:
            raise RuntimeError(
                f"output with shape {list(aval.shape)} doesn't match the broadcast shape {list(new.shape)}"
            )
        if new.dtype != aval.dtype:
            result = _in_dtype_of(tensor, result)
        if new.placement is not aval.placement:
            result = _beside(tensor, result)
        if new.__class__ is SparseAval and aval.__class__ is not SparseAval:
            result = result.to_dense()  # pyright: ignore[reportAttributeAccessIssue]
        elif aval.__class__ is SparseAval and new.__class__ is not SparseAval:
            raise RuntimeError("a dense result cannot be written into a sparse tensor")
    if modes.any_slow_mode and note_write(
        tensor, result, functools.partial(write, tensor, result, keeps_history, inner, again), keeps_history
    ):
        return tensor
    storage, view = tensor._storage, tensor._view
    if tensor._requires_grad and not (result._requires_grad or keeps_history) and modes.grad_enabled:
        if view is None or view.base is None:
            result = _write_with_history((), tensor, result)  # the new value does not depend on the old one
    if view is None:
        storage.write(result._value())
        if result._requires_grad:
            _adopt_history(tensor, result)
        return tensor
    if storage.__class__ is LaidOutStorage and _shown(tensor, storage, view, result):
        return tensor
    if write_window_on_host(tensor, result):
        return tensor
    new_value = result._value()
    geometry = tensor._geometry
    if geometry.overlaps:
        refuse_inner_overlap(geometry, inner)
        if again is not None:
            new_value = in_turn(geometry, tensor._value(), new_value, again)
    base = view.base
    if base is None:
        storage.write(write_through(view.steps, storage.read(), new_value))
        if result._requires_grad:
            _adopt_history(tensor, result)
        return tensor
    if not (modes.grad_enabled and (base._requires_grad or result._requires_grad)):
        storage.write(write_through(view.steps, storage.read(), new_value))
        return tensor
    base_steps = steps_of(base)  # a detached view may be the base of views itself
    steps = _steps_below(base, view.steps)
    if view.origin != DEFAULT:
        raise RuntimeError(refusal(tensor, view.origin))
    _go_round_hooks(tensor, result)
    new_base = _write_with_history(steps, base, result)
    several = new_value is not result._value()  # PyTorch's gradients know of one turn only
    value = write_through(steps, base._value(), new_value) if several else new_base._value()
    _adopt_history(base, new_base)
    storage.write(write_through(base_steps, storage.read(), value) if base_steps else value)
    view.has_node = True
    if tensor._retains_grad:
        tensor._value()  # it keeps the gradient of what it holds now, even if nobody uses it again
    return tensor


def _shown(tensor: Tensor, storage: Any, view: View, result: Tensor) -> bool:
    """Writes to all of a tensor whose memory has another order without a look at the memory; whether that can be done."""
    value = result._value()
    if (
        view.__class__ is not LaidOutView
        or view.base is not None
        or value.aval.__class__ is not Aval
        or storage.host is not None
    ):
        return False
    storage.show(value)
    if requires_grad_flag(result):
        _adopt_history(tensor, result)
    return True


def write_in_turn(
    tensor: Tensor, change: Callable[[Tensor], Tensor], inner: Inner, keeps_history: bool = False
) -> Tensor:
    """An operation in place on a view whose elements share places, which takes one element after the other, as PyTorch does.

    The gradients are PyTorch's too: each element passes on the gradient of its place, as if it had been the only one to change it. The
    place itself gets what the last of its elements passes on.

    Args:
        change: the operation, see ``again`` of ``write``.
    """
    refuse_inner_overlap(tensor._geometry, inner)
    if modes.any_slow_mode and modes.autocast:
        with without_autocast():
            return _write_in_turn(tensor, change, inner, keeps_history)
    return _write_in_turn(tensor, change, inner, keeps_history)


def _write_in_turn(tensor: Tensor, change: Callable[[Tensor], Tensor], inner: Inner, keeps_history: bool) -> Tensor:
    recorded = modes.grad_enabled and tensor._tracked
    result = change(last_of_each(tensor) if recorded else tensor)
    node = node_of(result)
    if node is not None and getattr(node.rule, "watches_result", False):
        raise NotImplementedError(
            f"torchlike has no gradient of {node.operation} in place on windows that overlap: its derivative would read the result, "
            "which depends on the order of the elements. Please clone() the tensor before performing the operation."
        )
    return write(tensor, result, keeps_history, inner, change)


def _go_round_hooks(tensor: Tensor, result: Tensor) -> None:
    """Lets the gradient of what a view held before a write pass by the hooks of the view's node.

    In PyTorch the node of the write is part of the base's history: it reads the view from there, and not by the view's own node.
    """
    node, writer, number = node_of(tensor), node_of(result), output_number_of(tensor)
    if node is None or writer is None or writer.edges[:1] != ((node, number),):
        return
    go_round_hooks(writer, 0)


def go_round_hooks(writer: Node, place: int) -> None:
    """The same for the edge at this place of the node of the write."""
    edge = writer.edges[place]
    if edge is None or not edge[0].hooked:
        return
    node, number = edge
    bare = type(node).create(node.rule, node.edges, tuple(node.saved or ()), tuple(node.watched), node.avals)  # pyright: ignore[reportArgumentType]
    bare.unpack = node.unpack
    bare.sequence = node.sequence - 0.5  # it lies between the same nodes
    writer.edges = (*writer.edges[:place], (bare, number), *writer.edges[place + 1 :])


def adopt_write(tensor: Tensor, writer: Node, number: int, place: int | None) -> None:
    """Makes a node the history of what was written into a tensor outside of the graph; of the part of its base that a view shows.

    Args:
        number: of the node's output.
        place: of the tensor among the node's edges; None if there is no such edge.
    """
    view = view_record(tensor)
    result = from_value(tensor._value())
    result._set_history(writer, number)
    if view is None or view.base is None:
        _adopt_history(tensor, result)
        return
    if view.origin != DEFAULT:
        raise RuntimeError(refusal(tensor, view.origin))
    if place is not None:
        go_round_hooks(writer, place)
    _adopt_history(view.base, _write_with_history(_steps_below(view.base, view.steps), view.base, result))
    view.has_node = True


def _beside(tensor: Tensor, result: Tensor) -> Tensor:
    """Moves a result to the device, or the layout on a mesh, of the tensor that it is written into.

    If only the result lies on a mesh, the tensor is moved to that mesh instead.
    """
    target_placement, result_placement = tensor._aval.placement, result._aval.placement
    if isinstance(target_placement, Meshed):
        return move(result, target_placement)
    if isinstance(result_placement, Meshed) and target_placement.platform == result_placement.platform:
        storage = storage_of(tensor)
        storage.value = moved_value(storage.read(), result_placement.home)
        # The values are the same, so the version that users and the graph see does not change; only views have to read again.
        storage.content_version += 1
        return result
    return result.to(tensor.device)  # pyright: ignore[reportAttributeAccessIssue]


def _steps_below(base: Tensor, steps: tuple[ViewStep, ...]) -> tuple[ViewStep, ...]:
    """The steps from a base to its view, given the steps from the storage to the view."""
    base_steps = steps_of(base)
    if steps[: len(base_steps)] != base_steps:
        raise NotImplementedError(
            "gradients through a view that is not made from its base are not supported yet: the base got another shape in place "
            "since (unsqueeze_, t_, ...), or as_strided looked beside a base that is itself a part of the memory"
        )
    return steps[len(base_steps) :]


def watch_in_place(tensor: Tensor, result: Tensor) -> None:
    """Corrects which storages the node of an in-place operation watches for later writes.

    The input is no longer watched, since the operation overwrites it and PyTorch keeps a copy. If the derivative reads the result,
    the tensor that the result is written to is watched in its place. A rule for a missing derivative gets the name of the in-place form.
    """
    node = result._grad_fn
    if node is None:
        return
    if not node.watched:
        if node.rule.__class__ is MissingRule:
            node.rule = node.rule.in_place()
        return
    storage = tensor._storage
    if node.rule.watched[:1] == (0,) and node.watched[0][0] is storage:
        del node.watched[0]
    elif node.watched[-1][0] is result._storage:
        _, _, aval, producer = node.watched.pop()
        # The write that follows counts the version up by one.
        node.watched.append((storage, storage.version + 1, aval, producer))


def into(input: Tensor, inplace: bool, result: Tensor) -> Tensor:
    """The result of a function with an argument ``inplace``, written into its input where that was asked for."""
    if not inplace:
        return result
    check_writable(input)
    watch_in_place(input, result)
    return write(input, result)


def _adopt_history(tensor: Tensor, result: Tensor) -> None:
    """Gives the tensor the history of what was written into it."""
    if tensor._retains_grad and tensor._grad_fn is not None and tensor._grad_fn.retained:
        _keep_gradient(tensor._grad_fn.retained.pop(tensor._output_nr, None), result)
    if modes.forward_only and requires_grad_flag(tensor):
        tensor._rewrite_history(KeptHistory.node(tensor, result), 0)
    else:
        tensor._rewrite_history(result._grad_fn, result._output_nr)
    node = result._grad_fn
    # The rule and not the node: a node that has saved its own result refers to the storage.
    tensor._storage.writer = None if node is None else node.rule


def _keep_gradient(retained: weakref.ref[Any] | None, result: Tensor) -> None:
    """Lets the tensor that keeps its gradient keep that of this result."""
    node = node_of(result)
    assert node is not None
    node.retained, node.hooked = {output_number_of(result): retained}, True


def refresh_history(tensor: Tensor) -> None:
    """Gives a view its new history after its base was written to: the base's history, and the view's steps on top."""
    view = view_record(tensor)
    assert view is not None
    base: Tensor = view.base
    former, number = node_of(tensor), output_number_of(tensor)
    if not requires_grad_flag(base) and former is None:  # the version stays: the base may want gradients later
        if view.refused is not None:
            view.refused = None
            set_requires_grad(tensor, False)
        return
    if view.origin != DEFAULT:  # here too, since the base may want no gradients any more
        view.refused = view.refused or refusal(tensor, view.origin, by_another=True)
        tensor._grad_fn, tensor._output_nr, tensor._requires_grad = None, 0, True
        return
    view.version = version_of(tensor)
    steps = _steps_below(base, view.steps)
    values = [base._value(), *_starts(steps)]
    kernel, outs = recorder().record(_reader(steps), (), values, ())
    had_node = view.has_node
    tensor._set_history(link(rule_for(kernel, 1), kernel, values, [base], None))
    view.has_node = had_node
    if tensor._retains_grad and former is not None and former.retained:
        _keep_gradient(former.retained.pop(number, None), tensor)
    view.value, view.content_version = outs[0], storage_of(tensor).content_version


class Through(Operation):
    """An operation along a chain of views: its function is ``compute(steps, *arrays)``."""

    saves = Saves.NOTHING
    differentiable = True

    def __init__(self, name: str, compute: Callable[..., object], steps: tuple[ViewStep, ...]) -> None:
        super().__init__()
        self.name = self.backward_name = name
        self.used_once = compute is put_through  # PyTorch's node keeps the node of what was written, and drops it
        self.compute, self.steps = compute, steps

    def static(self, args: tuple[object, ...]) -> tuple[Any, ...]:
        return ()

    def lower(self, args: tuple[object, ...], avals: tuple[Aval, ...]) -> Lowered:
        steps, sized, traced = self.steps, None, None
        if avals[0].placement is CPU:

            def build(args: list[Any]) -> Callable[..., tuple[Any, ...]]:
                own_steps = [
                    ViewStep(step.op, step.static, own_args, step.number, step.starts)
                    for step, own_args in zip(steps, args, strict=True)
                ]
                return self._function(tuple(own_steps))

            key = (self.compute, *[(step.op, step.number, bool(step.starts)) for step in steps])
            step_args = [step.args for step in steps]
            roles = [STATIC] * len(steps)
            others, sizes = without_sizes(step_args, roles, avals)
            sized = Sized(_TRACES, _TRACES.calls((*key, others)), sizes, step_args, roles, avals, build)
            traced, _ = sized.trace()
        return Lowered(self, (), self._function(steps), avals, avals[0].placement, traced=traced, sized=sized)

    def _function(self, steps: tuple[ViewStep, ...]) -> Callable[..., tuple[Any, ...]]:
        return lambda *arrays: (self.compute(steps, *arrays),)


# Of all chains of views, those that differ in sizes alone have one trace.
_TRACES = Traces(lambda: "chain of views")

# For how many chains of views the operations are kept. A program with more keeps making new chains, so all are dropped then.
MAX_CHAINS = 4096
_writers: dict[tuple[object, ...], Through] = {}
_readers: dict[tuple[object, ...], Through] = {}


def _writer(steps: tuple[ViewStep, ...]) -> Through:
    """``(whole, new, *starts) -> whole`` with the elements of a view replaced by ``new``."""
    return _operation_for(_writers, "torch::autograd::CopySlices", put_through, steps)


def _reader(steps: tuple[ViewStep, ...]) -> Through:
    """``(whole, *starts) -> view``: all steps in one node, as PyTorch does for a view whose base was written to."""
    return _operation_for(_readers, "AsStridedBackward0", read_through, steps)


def _operation_for(
    cache: dict[tuple[object, ...], Through], name: str, compute: Callable[..., object], steps: tuple[ViewStep, ...]
) -> Through:
    key = tuple(s.key for s in steps)
    operation = cache.get(key)
    if operation is None:
        if len(cache) >= MAX_CHAINS:
            cache.clear()
        operation = cache[key] = Through(name, compute, steps)
    return operation


def write_through(steps: tuple[ViewStep, ...], whole: Value, new: Value) -> Value:
    """The value of the whole with the view's part replaced."""
    if not steps:
        return new
    return recorder().record(_writer(steps), (), (whole, new, *_starts(steps)), ())[1][0]


def _starts(steps: tuple[ViewStep, ...]) -> list[Value]:
    return [value for step in steps for value in step.starts]


def _write_with_history(steps: tuple[ViewStep, ...], base: Tensor, result: Tensor) -> Tensor:
    values = [base._value(), result._value(), *_starts(steps)]
    kernel, outs = recorder().record(_writer(steps), (), values, ())
    mask = base._requires_grad | result._requires_grad << 1
    new_whole = from_value(outs[0])
    new_whole._set_history(link(rule_for(kernel, mask), kernel, values, [base, result], None))
    return new_whole


class _Chain:
    """A chain of views of an array: the array before each step, which is computed when it is asked for."""

    def __init__(self, steps: tuple[ViewStep, ...], whole: Any, starts: tuple[object, ...]) -> None:
        self.steps = steps
        queue = iter(starts)
        self.args: list[tuple[Any, ...]] = [
            (*step.args[:-1], next(queue)) if step.starts else step.args for step in steps
        ]
        self._arrays: list[Any] = [whole]

    def array(self, number: int) -> Any:
        """The array before the step of this number; after the last one, what the chain shows."""
        while len(self._arrays) <= number:
            step, args = self.steps[len(self._arrays) - 1], self.args[len(self._arrays) - 1]
            shown = step.op.layout(self._arrays[-1], args)
            self._arrays.append(shown[step.number] if isinstance(shown, (tuple, list)) else shown)
        return self._arrays[number]

    def put(self, new: Array) -> Array:
        """The whole array with the elements that the chain shows replaced by ``new``."""
        last = len(self.steps)
        while last:
            first = last - 1
            if self.steps[first].computes:
                new = self.steps[first].op.op.scatter_into_base(self.array(first), new, *self.steps[first].args[1:])
            else:
                while first and not self.steps[first - 1].computes:
                    first -= 1
                new = self._put_run(first, last, new)
            last = first
        return new

    def _put_run(self, first: int, last: int, new: Array) -> Array:
        """The same for steps that show elements as they lie in memory."""
        layouts, units = self._layouts(first, last)
        result = None if units else put_by_layout(self.array(first), layouts[-1], new)
        # If all steps together are one window of the memory, a single write does. Undoing step by step would copy the array for each step.
        if result is not None:
            return result
        # An element may lie in several windows of a step before the last. So the steps cannot be undone one by one: the windows that are
        # not written to would put the old element back.
        if any(layout.overlaps for layout in layouts[:-1]):
            moved = [units[k][at] * start for k in units for at, start in enumerate(self.args[k][-1])]
            shift = functools.reduce(operator.add, moved) if moved else None
            return put_at_layout(self.array(first), layouts[-1], new, shift)
        for number in reversed(range(first, last)):
            step, parent = self.steps[number], self.array(number)
            if step.starts:
                new = _scatter_window(parent, self.args[number], new)
            else:
                new = put_at_layout(parent, step.layout(Strided(parent.shape)), new)
        return new

    def _layouts(self, first: int, last: int) -> tuple[list[Strided], dict[int, list[int]]]:
        """The layouts after each of these steps; and for each whose starts are an array, by how much each start moves what it shows."""
        layout, layouts, units = Strided(self.array(first).shape), [], {}
        for number in range(first, last):
            step, before = self.steps[number], layout
            if not step.starts:
                layout = step.layout(before)
            else:
                count = self.args[number][-1].shape[0]
                places = [[int(at == own) for at in range(count)] for own in range(count)]
                layout = step.op.layout(before, (*step.args[:-1], [0] * count))
                shifted = [step.op.layout(before, (*step.args[:-1], place)) for place in places]
                units[number] = [other.offset - layout.offset for other in shifted]
            layouts.append(layout)
        return layouts, units


def read_through(steps: tuple[ViewStep, ...], whole: object, *starts: object) -> Any:
    """What a chain of views shows of an array. ``starts``: arrays for those steps whose place is an input of the program."""
    return _Chain(steps, whole, starts).array(len(steps))


def put_through(steps: tuple[ViewStep, ...], whole: Array, new: Array, *starts: Any) -> Array:
    """The array ``whole`` with the elements that a chain of views shows replaced by ``new``."""
    return _Chain(steps, whole, starts).put(new)


def _scatter_window(parent: Any, args: tuple[Any, ...], new: Array) -> Array:
    """Undoes one slicing step whose starts are an array: the parent array with the slice replaced by ``new``."""
    _, index, starts = args
    at, steps, sizes, number = [], [], [], 0
    indexed_dims = sum(entry is not None for entry in index)
    for entry in (*index, *[FULL] * (parent.ndim - indexed_dims)):
        if entry is None:
            continue
        if entry == FULL:
            length, step, start = parent.shape[len(at)], 1, 0
        else:
            length, step = (1, 1) if entry == TAKE else entry
            start, number = starts[number], number + 1
        at.append(start)
        steps.append(step)
        sizes.append(length)
    return put_slices(parent, at, steps, new.reshape(sizes))
