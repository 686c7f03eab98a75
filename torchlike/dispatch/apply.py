"""The dispatcher takes values out of tensors, records the op, wraps its outputs and links them to the graph. Every op passes here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .._core import attributes, dtypes
from .._core.attributes import Contents, Fields
from .._core.fields import move_to_storage
from .._core.modes import carries, modes
from .._core.node import ITSELF, OF_A_VIEW, Node, RuleFields, forward_trace, next_number
from .._core.sparse import SparseAval, SparseOperand, call as call_sparse
from .._core.storage import SavedResult, Storage
from .._core.strided import Strided
from .._core.tensor import Tensor, from_value
from .._core.views import DEFAULT, IN_INFERENCE, IN_NO_GRAD, ONE_OF_SEVERAL, View, ViewStep
from ..engine.aval import Aval, Meshed
from ..engine.disk.coded import NotKept, described
from ..engine.disk.traces import settings
from ..engine.interpreter import Traces
from ..engine.recorder import DynamicNumber, per_thread
from ..engine.trace import Operation
from ..engine.value import Value
from ..numerics.numbers import number_for
from .arguments import NUMPY_NUMBERS, are_integers, misfit, misfit_error
from .index_checks import pass_here
from .lowering import TENSOR, Lowered, Typing, check_arguments, lower, public
from .opdef import INDICES, NUMBER, OPERAND, Category, DtypeRule, Form, Op, Promote, Saves
from .pullback import NO_RULE_YET, ForwardOnly, MissingRule, Rule, no_tangent, rule_for

# Compiled, the names are those of C functions: see ``attributes.pxd``.
globals().update(made_tensor=attributes.new, made_storage=attributes.new_storage)
_NUMBERS = (float, int, bool, complex)


class OffMesh(Exception):
    """Raised where some tensors of an op lie on a mesh and others do not. The dispatcher then calls it with all of them there."""

    bring: Callable[
        [tuple[Any, ...]], tuple[Any, ...]
    ]  # the arguments there: set by ``moving.py``, which needs the dispatcher


class Dispatcher(Operation):
    """What the recorder records of an op: its declaration and its parameters. There is one for each op."""

    __slots__ = (
        "op",
        "view",
        "number_places",
        "real_places",
        "fitting_places",
        "computes",
        "checked",
        "by_element",
        "index_places",
        "_unchecked",
        "backward_name",
        "traces",
        "typings",
    )

    def __init__(self, op: Op) -> None:
        super().__init__()
        self.op = op
        self.name = op.name
        self.view = op.view
        # Which of its arguments may be numbers that become inputs of the program.
        roles, keep_scalar = zip(op.roles, op.parameters.names, strict=True), op.dtype_rule.keep_scalar
        self.number_places = [
            i for i, (role, name) in enumerate(roles) if role in (NUMBER, OPERAND) and name not in keep_scalar
        ]
        # Those whose dtype is that of the tensors, where these are real: a number with an imaginary part is refused then.
        self.real_places = frozenset(
            i for i, (role, name) in enumerate(zip(op.roles, op.parameters.names, strict=True))
            if role == NUMBER or name in op.dtype_rule.follow
        )  # fmt: skip
        self.fitting_places = frozenset(map(op.parameters.index.__getitem__, op.dtype_rule.must_fit))
        # Whether it is a view that shows something else than the elements that lie in the memory.
        self.computes = op.scatter_into_base is not None
        self.index_places = [i for i, role in enumerate(op.roles) if role == INDICES]
        # Whether it checks indices; a check that not every call needs is left to the program.
        self.checked = op.check is not None and op.check.needed is None and bool(self.index_places)
        promote = op.dtype_rule.promote
        self.by_element = not op.view and (callable(promote) or promote.elementwise)
        self.traces = Traces(op.name_on_disk)
        self.typings: dict[object, Typing] = {}
        self._unchecked: Dispatcher | None = None
        DISPATCHERS.append(self)

    @property
    def unchecked(self) -> Dispatcher:
        """The dispatcher of the same op without its check, for calls whose indices are known to be right."""
        if self._unchecked is None:
            self._unchecked = Dispatcher(replace(self.op, check=None))
        return self._unchecked

    def lower(self, args: tuple[object, ...], avals: tuple[Aval, ...]) -> Lowered:
        for aval in avals:
            if aval.__class__ is SparseAval:
                raise SparseOperand(f"no kernel is made for {aval}")
            if aval.placement.__class__ is Meshed and any(a.placement.home is not aval.placement.home for a in avals):
                raise OffMesh
        return lower(self.op, _without_tensors(args), avals, self.traces, self.typings)

    def static(self, args: tuple[object, ...]) -> tuple[Any, ...]:
        return static_of(args)

    def numbers(self, args: tuple[object, ...]) -> list[int]:
        """Which arguments are numbers that may become inputs of the program: those whose value no check has to see."""
        return [i for i in self.number_places if args[i].__class__ in _NUMBERS and not self._checked_by_value(i, args)]

    def _checked_by_value(self, place: int, args: tuple[Any, ...]) -> bool:
        """Whether a check might refuse or change a number: for its imaginary part, or for a dtype in which it does not fit."""
        number = args[place]
        kind = number.__class__
        if kind is int and not -(2**63) <= number < 2**63:
            return True
        if kind is not complex and (place not in self.fitting_places or kind is bool or number != number):
            return False
        tensors = [
            arg for arg, role in zip(args, self.op.roles, strict=True) if role == OPERAND and isinstance(arg, Tensor)
        ]
        if kind is complex:
            return place in self.real_places and not any(tensor.is_complex() for tensor in tensors)
        try:
            return number_for(number, tensors[0].dtype if tensors else dtypes.of_number(number)) != number
        except (RuntimeError, OverflowError):
            return True

    def layout(self, geometry: Strided, args: tuple[object, ...]) -> Any:
        """The layout of a view: the op's own function, run on a layout instead of an array."""
        by_position, by_name = self.op.parameters.split(args)
        return self.op.compute(geometry, *by_position[1:], **by_name)


def _kept_as(dispatcher: Dispatcher) -> str:
    name = dispatcher.op.name_on_disk()
    if not name:
        raise NotKept(f"the op {dispatcher.name}")
    return name


described[Dispatcher] = "op", _kept_as
DISPATCHERS: list[Dispatcher] = []
# Gives the result of an operation element by element the memory order of its operands, of which some are views: set by ``ops``, whose
# views that takes.
in_order_of: list[Callable[[Tensor, Sequence[Tensor]], object]] = []


def internal_dispatcher(
    compute: Callable[..., object],
    name: str,
    *,
    accepts: Category = Category.ALL,
    saves: Saves = Saves.NOTHING,
    several: bool = False,
    differentiable: bool | str | Callable[..., str] = True,
    backward: str | None = None,
) -> Dispatcher:
    """The dispatcher of an operation that no user calls by name: it has no public form, and its inputs keep their dtypes.

    Args:
        compute: takes and returns JAX arrays, as in `Op`.
        accepts, saves, several, differentiable, backward: the fields of `Op` and `DtypeRule` of these names.
    """
    return Dispatcher(
        Op(
            compute=compute,
            name=name,
            dtype_rule=DtypeRule(promote=Promote.NONE, accepts=accepts),
            forms=Form.NONE,
            samples=(),
            saves=saves,
            several=several,
            differentiable=differentiable,
            backward=backward,
        )
    )


def forget_kernels(setting: str, value: str) -> None:
    """Drops all kernels, because ops mean something else now.

    Args:
        setting, value: what has changed, "default dtype" say. Traces that are kept on disk hold for it.
    """
    settings[setting] = value
    for dispatcher in DISPATCHERS:
        dispatcher.kernels.clear()
        dispatcher.traces.clear()
        dispatcher.typings.clear()


def apply(dispatcher: Dispatcher, args: tuple[object, ...]) -> Any:
    """Records one op and returns its results. ``args``: one entry for each parameter of its ``compute``, in order."""
    values: list[Value] = []
    tensors: list[Tensor] = []
    static: list[Any] = []
    mask, viewed = 0, False
    result: Fields
    for arg in args:
        if isinstance(arg, Tensor):
            tensor: Fields = arg
            storage: Contents = tensor._storage
            whole = tensor._view is None and type(storage) is Storage and storage.host is None
            if whole:
                values.append(storage.value)
            else:
                values.append(arg._value())
                viewed = True
            if tensor._requires_grad:
                mask |= 1 << len(tensors)
            tensors.append(arg)
            static.append(TENSOR)
        else:
            # By class: bool is a subclass of int, and np.float64 of float, but their keys must differ.
            kind = arg.__class__
            if kind is float or kind is int or kind is bool or kind is complex:
                static.append(kind)
                # 0.0 and -0.0 are equal but not the same, NaN is the same but not equal
                static.append(arg if arg and arg == arg else repr(arg))
            elif kind is list or kind is tuple or (arg is not None and isinstance(arg, (list, tuple))):
                # Of every class: other lists have no hash, and ``torch.Size((1, 0))`` equals the key of ``[0]``.
                static.append(_take_sequence(arg, values, tensors))
                if len(tensors):
                    for i, one in enumerate(tensors):
                        if one._requires_grad:
                            mask |= 1 << i
            # Equal keys must mean equal arguments, and np.float64(1) equals 1. (To refuse it when the kernel is made took 73 us, not 15.)
            elif kind in NUMPY_NUMBERS:
                return apply(dispatcher, _plain(dispatcher, args))
            else:
                static.append(arg)
    try:
        recorded = dispatcher
        if dispatcher.checked and pass_here(dispatcher, tuple(static), args, values):
            recorded = dispatcher._unchecked or dispatcher.unchecked
        kernel, outs = per_thread.recorder.record(recorded, tuple(static), values, args)
    except SparseOperand as signal:
        return call_sparse(dispatcher.name, args, signal)
    except OffMesh:
        return apply(dispatcher, OffMesh.bring(args))
    # An argument is not hashable, or is a tensor where the operation wants a number. Only this slow way looks which.
    except TypeError:
        plain = _plain(dispatcher, args)
        if all(a is b for a, b in zip(plain, args, strict=True)):
            check_arguments(dispatcher.op, _without_tensors(args))
            raise
        return apply(dispatcher, plain)
    rule = None
    if mask and modes.grad_enabled:
        rule = kernel.rules.get(mask, NO_RULE_YET)  # `rule_for` does this too: here it costs no call
        if rule is NO_RULE_YET:
            rule = rule_for(kernel, mask)
    slow = modes.any_slow_mode
    if slow and modes.level is not None:
        return _with_tangents(dispatcher, args, kernel, tensors, values, outs, rule, tuple(static))
    if dispatcher.view:
        results = _views(dispatcher, kernel, tensors, values, outs, rule, tuple(static))
        return results[0] if kernel.wrap_outputs is None else kernel.wrap_outputs(results)
    if kernel.wrap_outputs is None:
        result = made_tensor(Tensor)  # pyright: ignore[reportUndefinedVariable]
        result._storage = storage = made_storage(Storage)  # pyright: ignore[reportUndefinedVariable]
        storage.value = outs[0]
        if rule is not None:
            result._grad_fn = link(rule, kernel, values, tensors, result)  # pyright: ignore[reportArgumentType]
            result._requires_grad = True
        elif slow and modes.inference:
            result._inference = True
        if viewed and dispatcher.by_element:
            in_order_of[0](result, tensors)  # pyright: ignore[reportArgumentType]
        return result
    return kernel.wrap_outputs(_results(kernel, tensors, values, outs, rule))


def _results(
    kernel: Lowered, tensors: list[Tensor], values: list[Value], outs: list[Value], rule: Rule | None
) -> list[Any]:
    """The results of an op, as tensors."""
    results = []
    for value in outs:
        output = from_value(value)
        results.append(output)
        if modes.inference:
            output._inference = True
    if rule is not None:
        node = link(rule, kernel, values, tensors, results[0])
        for i in rule.outputs:
            results[i]._set_history(node, i)
        for i in rule.saved_results:
            output = rule.outputs.index(i) if i in rule.outputs else None
            move_to_storage(results[i], SavedResult(outs[i], node, output))
    return results


def _with_tangents(
    dispatcher: Dispatcher,
    args: tuple[object, ...],
    kernel: Lowered,
    tensors: list[Tensor],
    values: list[Value],
    outs: list[Value],
    rule: Rule | None,
    static: tuple[object, ...],
) -> Any:
    """The results of an op where duals may be among its tensors: they get their tangents."""
    if dispatcher.view:
        results = _views(dispatcher, kernel, tensors, values, outs, rule, static)
        modes.level.carry_views(dispatcher, args, kernel, results)
    else:
        results = _results(kernel, tensors, values, outs, rule)
        modes.level.carry(kernel, tensors, values, results)
    return results[0] if kernel.wrap_outputs is None else kernel.wrap_outputs(results)


def link(rule: Rule, kernel: Lowered, values: list[Value], tensors: list[Tensor], result: Tensor | None) -> Node:
    """Makes the graph's node for one call of a kernel."""
    edges = []
    fields: RuleFields = rule
    tensor: Fields
    storage: Contents
    value: Value
    for i in fields.grad_inputs:
        tensor = tensors[i]
        producer = tensor._grad_fn
        if producer is not None:
            view = tensor._view
            if view is not None:
                view.has_node = True
            edges.append((producer, tensor._output_nr))
        else:
            # Read directly, since ``_edge`` is a Python call, and each parameter of each operation passes here.
            leaf = tensor._accumulator
            edges.append(tensors[i]._edge() if leaf is None else (leaf, 0))
    watched = []
    for i in fields.watched:
        if i >= len(tensors):  # a Python number that became an input
            continue
        tensor = tensors[i]
        if tensor._inference:
            raise RuntimeError(
                "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
                "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in "
                "autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
            )
        storage, view, producer, value = tensor._storage, tensor._view, tensor._grad_fn, values[i]
        if producer is not None and view is not None and view.base is not None:
            producer = OF_A_VIEW
        # The version is compared in the backward pass: a write in between would make the derivative one of other values.
        watched.append((storage, storage.version, value.aval, producer))
    node: Node = fields.node_class()
    node.rule = rule
    node.edges = tuple(edges)
    node.saved = fields.take(values)
    node.watched = watched
    node.avals = kernel.out_avals
    # The backward pass runs nodes in the reverse order of these numbers, as PyTorch does.
    node.sequence = next_number()
    if fields.watches_result and result is not None:
        # The derivative reads the result (of exp or sigmoid, for example), so a write to the result is an error as well.
        tensor = result
        storage = tensor._storage
        watched.append((storage, storage.version, kernel.out_avals[0], ITSELF))
    if modes.any_slow_mode:
        if modes.forward_only:
            node.rule = ForwardOnly(rule)
        if modes.anomaly:
            node.trace = forward_trace()
        if modes.saved_tensors_hooks and node.saved:
            _pack(node, tensors)
        if modes.level is not None:
            modes.level.keep_saved(node, rule, tensors)
    return node


def without_derivative(result: Tensor, inputs: Sequence[Tensor], missing: str, name: str = "") -> Tensor:
    """Notes that PyTorch has no derivative of a result that was computed outside of the graph: see ``MissingRule``."""
    if carries(*inputs):
        raise no_tangent(missing)
    tracked = [tensor for tensor in inputs if tensor._requires_grad] if modes.grad_enabled else []
    if tracked:
        rule = MissingRule(missing, name)
        node = rule.node_class.create(rule, tuple(tensor._edge() for tensor in tracked), (), (), (result._aval,))
        result._set_history(node, 0)
    return result


def _pack(node: Node, tensors: list[Tensor]) -> None:
    """Passes the tensors that the node saves through the user's pack hook. The backward pass calls the unpack hook to get them back.

    What the hook has packed is the hook's: later writes to the tensor that was saved are not looked for. So the hook gets a leaf that
    requires a gradient itself, and of another tensor what it holds now, with its history: the operation may write to it. Inputs beyond
    the tensors are Python numbers, which no hook sees.
    """
    pack, unpack = modes.saved_tensors_hooks[-1]
    assert node.saved is not None
    saved, by_hook = list[Any](node.saved), [number < len(tensors) for number in node.rule.saved]
    for place, (number, value) in enumerate(zip(node.rule.saved, node.saved, strict=True)):
        if not by_hook[place]:
            continue
        tensor, own = tensors[number], from_value(value)
        if tensor._tracked and modes.level is None and tensor._value() is value:
            if tensor.is_leaf:
                own = tensor
            else:
                own._set_history(*tensor._edge())
        result = packed(pack, own)
        saved[place] = from_value(value) if result is own else result
    node.saved = tuple(saved)
    # A closure, compiled, would hold ``pack`` and what it holds as well.
    node.unpack = partial(_unpacked, unpack, by_hook)
    node.watched = ()


def _unpacked(unpack: Callable[[Any], Tensor], by_hook: Sequence[bool], saved: Sequence[Any]) -> tuple[Value, ...]:
    return tuple([
        unpacked(unpack, each)._value() if hook else each for each, hook in zip(saved, by_hook, strict=True)
    ])  # fmt: skip


def unpacked(unpack: Callable[[Any], object], packed: object) -> Tensor:
    """What a user's hook has unpacked; PyTorch's error where that is no tensor."""
    tensor = unpack(packed)
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(tensor).__name__}"
        )
    return tensor


def packed(pack: Callable[[Tensor], object], tensor: Tensor) -> object:
    """What a user's hook has packed, within ``no_grad``.

    Raises:
        RuntimeError: the hook has written to the tensor.
    """
    version, before = tensor._storage.version, (modes.grad_enabled, modes.forward_only)
    modes.record(False)
    try:
        result = pack(tensor)
    finally:
        modes.grad_enabled, modes.forward_only = before
        modes.update()
    if tensor._storage.version != version:
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be modified by "
            "in-place operations as this can lead to unexpected side-effects. Please open an issue if you need to perform in-place "
            "operations on the input to a pack hook."
        )
    return result


def _views(
    dispatcher: Dispatcher,
    kernel: Lowered,
    tensors: list[Tensor],
    values: list[Value],
    outs: list[Value],
    rule: Rule | None,
    static: tuple[object, ...],
) -> list[Any]:
    source, starts = tensors[0], tuple(values[1:])
    node = None if not rule or source._inference else link(rule, kernel, values, tensors, None)
    is_tuple = kernel.wrap_outputs is not None
    results, steps = [], kernel.steps
    if starts or not steps:
        steps = [ViewStep(dispatcher, static, kernel.args, number, starts) for number in range(len(outs))]
        if not starts:  # the same for all calls
            kernel.steps = steps
    for number, value in enumerate(outs):
        result = view_of(source, steps[number], value, is_tuple)
        if node is not None:
            result._set_history(node, number)
        elif source._inference:
            result._inference = True
        results.append(result)
    return results


def view_of(source: Tensor, step: ViewStep, value: Value, several: bool = False) -> Tensor:
    """A view of the source: a tensor on its memory, one view step further. ``value``: what it holds now."""
    storage, parent = source._storage, source._view
    if parent is None:
        before: tuple[ViewStep, ...] = ()
        base, origin = None if source._inference else source, DEFAULT
    else:
        before, origin = parent.steps, parent.origin
        base = source if parent.base is None and not source._inference else parent.base
    if several:
        # PyTorch refuses in-place writes to one of several views while gradients are recorded.
        origin = ONE_OF_SEVERAL
    if not modes.grad_enabled:
        origin = IN_INFERENCE if modes.inference else IN_NO_GRAD
    result = made_tensor(Tensor)  # pyright: ignore[reportUndefinedVariable]
    result._storage = storage
    view = result._view = View((*before, step), value, storage.content_version, base, origin, storage.version)
    if parent is not None:
        view.above = parent.known
    return result


def static_of(args: tuple[object, ...]) -> tuple[object, ...]:
    """The static key of some arguments. It is the same as that of ``apply``, which is written for speed.

    It reads no tensor: the recorder asks for it in the middle of recording, and reading may flush.
    """
    static: list[object] = []
    for arg in _without_tensors(args):
        if type(arg) in _NUMBERS:
            static += [type(arg), arg if arg and arg == arg else repr(arg)]
        elif isinstance(arg, (list, tuple)):
            static.append(_take_sequence(arg, [], []))
        else:
            static.append(arg)
    return tuple(static)


def _take_sequence(arg: Any, values: list[Value], tensors: list[Tensor]) -> tuple[object, ...]:
    if are_integers(map(type, arg)):  # sizes and dimensions, as most sequences are
        return (len(arg), *arg)
    key: list[object] = [len(arg)]
    for element in arg:
        kind = element.__class__
        if kind is int or element is TENSOR:
            key.append(element)
        elif element is None or kind is str:
            key.append((kind, element))
        elif kind is tuple or isinstance(element, (list, tuple)):
            # As ``_without_tensors`` leaves it.
            key.append((list if kind is list else tuple, _take_sequence(element, values, tensors)))
        elif isinstance(element, Tensor):
            values.append(element._value())
            tensors.append(element)
            key.append(TENSOR)
        else:
            key.append((kind, element))
    return tuple(key)


def _without_tensors(args: tuple[object, ...]) -> tuple[object, ...]:
    return tuple([_stripped(arg) for arg in args])


def _stripped(arg: object) -> Any:
    if isinstance(arg, Tensor):
        return TENSOR
    if isinstance(arg, (list, tuple)):
        parts = [_stripped(a) for a in arg]
        return parts if type(arg) is list else tuple(parts)
    return arg


def _plain(dispatcher: Dispatcher, args: tuple[object, ...]) -> tuple[Any, ...]:
    """The arguments with 0-dim tensors and NumPy scalars turned into Python numbers where the op wants those."""

    def plain(arg: object, role: int) -> Any:
        if isinstance(arg, Tensor):
            return arg if role <= 1 else arg.item()
        if isinstance(arg, np.generic):
            # As an operand NumPy's True is 1.0 to PyTorch, and not Python's True.
            number = float(arg) if isinstance(arg, np.bool_) else arg.item()
            if isinstance(number, np.generic):  # of a long double this is the same again
                number = complex(number) if isinstance(number, np.complexfloating) else float(number)
            return number
        if isinstance(arg, (list, tuple)):
            new = [plain(a, role) for a in arg]
            if all(a is b for a, b in zip(new, arg, strict=True)):
                return arg
            return tuple(new) if isinstance(arg, tuple) else new
        return arg

    op = dispatcher.op
    for i, (arg, annotation) in enumerate(zip(args, op.parameters.annotations, strict=True)):
        if (
            isinstance(arg, (np.generic, np.ndarray, list, tuple, Tensor))
            and (words := misfit(annotation, arg)) is not None
        ):
            raise misfit_error(public(op.name), op.parameters.names[i], i + 1, words)
    return tuple(plain(a, r) for a, r in zip(args, op.roles, strict=True))


__all__ = [
    "DynamicNumber",
    "Dispatcher",
    "apply",
    "forget_kernels",
    "link",
    "packed",
    "static_of",
    "unpacked",
    "view_of",
]
