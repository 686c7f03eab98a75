"""Makes the kernel for a call, once for each new signature: checks shapes and dtypes, promotes, and finds out what is returned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from .._core import devices, dtypes
from .._core.size import tensor_meta
from ..engine.aval import CPU, META, Aval, Placement, TracedAval
from ..engine.interpreter import Calls, Traced, Traces
from ..engine.kernel import Kernel
from ..engine.recorder import DynamicNumber
from ..numerics.numbers import check_width, number_for
from .arguments import ONE_NUMBER, misfit, misfit_error
from .computation import (
    TENSOR as TENSOR,
    Computation,
    Sized,
    convert as convert,
    count_tensors,
    with_every_size,
    without_sizes,
)
from .opdef import NUMBER, OPERAND, STATIC, Category, Op, Promote
from .type_names import type_name
from .unsigned import REFUSING, WIDE_UNSIGNED


class Lowered(Kernel):
    """A kernel of an op, with what the dispatcher needs to wrap its outputs."""

    __slots__ = ("op", "args", "wrap_outputs", "rules", "rules_of_gradients", "sized", "one", "steps")

    def __init__(
        self,
        op: Any,
        args: tuple[object, ...],
        fn: Callable[..., tuple[object, ...]] | None,
        in_avals: Sequence[Aval],
        placement: Placement | Sequence[Placement],
        make_error: Callable[[int], Exception] | None = None,
        wrap_outputs: Callable[[list[object]], object] | None = None,
        traced: Traced | None = None,
        sized: Sized | None = None,
    ) -> None:
        shows = getattr(
            op, "view", False
        )  # an operation that the engine makes of others, such as a pullback, is no view
        super().__init__(op.name, fn, in_avals, placement, make_error, traced, shows=shows)
        self.repeatable = getattr(op, "repeatable", False)
        self.op = op
        self.args = args  # the call's arguments, TENSOR standing for each tensor
        self.wrap_outputs = wrap_outputs  # None: the one output is the result
        # Derivative rules by the bit mask of inputs that require a gradient, filled in by ``rule_for``. None: no derivative.
        self.rules: dict[int, object] = {}
        # Of a pullback, those for its results, filled in by ``rules_of_gradients``.
        self.rules_of_gradients: dict[int, list[Any]] = {}
        self.sized = sized
        self.steps: Sequence[Any] = ()  # of a view: the ``ViewStep`` of each of its outputs
        self.one: Lowered | None = None  # of a call with mapped values: the kernel of one example

    def function(self) -> Callable[..., tuple[Any, ...]]:
        assert self.sized is not None
        return self.sized.function()  # pyright: ignore[reportReturnType]

    def like(self, in_avals: Sequence[Aval | TracedAval], out_avals: Sequence[Aval | TracedAval]) -> Self:
        same = super().like(in_avals, out_avals)
        same.rules, same.rules_of_gradients, same.one = {}, {}, self
        return same


class Typing(NamedTuple):
    """The dtypes and the placement of a call: see ``Computation``.

    ``computations``: what makes the function of a call from its arguments, without and with the op's check; ``calls``: those with such
    functions that NumPy computes. ``operands``: the numbers of the tensors that broadcast. ``converts``: it gets other arguments than
    were given.
    """

    compute_dtype: np.dtype | None
    result_dtype: np.dtype | None
    placement: Placement
    computations: tuple[Callable[[Sequence[object]], Computation], ...]
    calls: list[Calls | None]
    operands: list[int]
    converts: bool


# How many of them are kept for one operation. Calls with ever new numbers among their arguments each have one.
MAX_TYPINGS = 256


def lower(
    op: Op, args: tuple[object, ...], avals: tuple[Aval, ...], traces: Traces, typings: dict[object, Typing]
) -> Lowered:
    """Makes the kernel of ``op`` for a call.

    Args:
        args: the call's arguments, in which TENSOR stands for each tensor.
        avals: the avals of the tensors in order, and after them those of the numbers that are inputs of the program (``DynamicNumber``).
        traces: the op's traces that hold for other sizes too.
        typings: those of the op's earlier calls, by everything in a call but its sizes; this call's is added.
    """
    roles, rule, check = op.roles, op.dtype_rule, op.check
    others, sizes = without_sizes(args, roles, avals)
    typing = typings.get(others)
    # Types are checked, dtypes found, and numbers converted, once for all sizes. That cannot depend on a size: none is given there.
    sizeless: Any = None if typing is not None else with_every_size(1, args, roles, avals)
    given, converts = args, typing is None or typing.converts
    if typing is None:
        check_arguments(op, sizeless[0])
        refuse_as_number(op, args, lambda number: len(avals[number].shape) > 0)
    if converts:
        args = tuple(
            float(a) if isinstance(a, bool) and kind.startswith("float") else a
            for a, kind in zip(args, op.parameters.annotations, strict=True)
        )
    if op.validation.call is not None:
        op.validation.call(*described(args, avals, lambda aval: tensor_meta(aval).dtype))
    if op.validation.shapes is not None:
        op.validation.shapes(*described(args, avals, lambda aval: aval))
    if typing is not None:
        compute_dtype, result_dtype, placement, computations, calls, operands, _ = typing
    else:
        promote = rule.promote(*sizeless[0]) if callable(rule.promote) else rule.promote
        compute_dtype, result_dtype = _promoted(op, promote, *sizeless)
        of_roles = enumerate(_tensor_roles(args, roles, avals)) if promote.elementwise else ()
        operands = [n for n, (_, role) in of_roles if role == OPERAND]
    if converts:
        args = _converted(op, args, compute_dtype if compute_dtype is not None or not avals else avals[0].dtype)
    if len(operands) > 1:
        check_broadcast([avals[n].shape for n in operands])
    if typing is None:
        placement = _placement(sizeless[0], roles, sizeless[1])
        if len(typings) >= MAX_TYPINGS:
            typings.clear()
        # Partial functions, which are smaller than closures.
        make_plain, make_checked = [
            partial(Computation, op, compute_dtype, result_dtype, placement, checks) for checks in (False, True)
        ]
        computations = make_plain, make_checked
        calls = list[Calls | None]([None, None])
        # A number that is checked to fit is among the sizes where no tensor could replace it.
        converts = any(a is not b for a, b in zip(args, given, strict=True)) or any(
            roles[op.parameters.index[name]] == STATIC for name in rule.must_fit
        )
        typings[others] = Typing(compute_dtype, result_dtype, placement, computations, calls, operands, converts)
    make_error: Callable[[int], Exception] | None = None
    if check is not None and (check.needed is None or check.needed(compute_dtype, *args)):
        build = check.make_error
        make_error = lambda value: build(value, *args, avals=avals)  # noqa: E731

    checks = make_error is not None

    computation = computations[checks]
    if placement is CPU:
        own = calls[checks] = calls[checks] or traces.calls((compute_dtype, result_dtype, checks, others))
        sized = Sized(traces, own, sizes, args, roles, avals, computation)
        traced, kind = sized.trace()
        kernel = Lowered(op, args, None, avals, placement, make_error, traced=traced, sized=sized)
    else:
        fn = computation(args)
        kernel = Lowered(op, args, fn, avals, placement, make_error)
        kind = fn.kind  # known only after the computation has been traced
    kernel.checked_at_once = checks and check is not None and check.at_once and placement.platform == "cpu"
    if op.several or issubclass(kind, (tuple, list)):
        kernel.wrap_outputs = (lambda ts: kind(*ts)) if hasattr(kind, "_fields") else (tuple if kind is tuple else list)
    return kernel


def _converted(op: Op, args: tuple[Any, ...], dtype: Any) -> tuple[Any, ...]:
    """The arguments, their numbers as the operation takes them beside tensors of this dtype."""
    args = _wide_numbers(op, _real_numbers(op, args, dtype), dtype)
    return _fitting(op, args, dtype) if op.dtype_rule.must_fit else args


def _real_numbers(op: Op, args: tuple[Any, ...], compute_dtype: Any) -> tuple[Any, ...]:
    """The arguments, in which complex numbers that follow tensors of real numbers are real.

    Raises:
        RuntimeError: such a number, or a factor, has an imaginary part.
    """
    if compute_dtype is None or not any(isinstance(arg, complex) for arg in args):
        return args
    dtype = dtypes.from_numpy_dtype(compute_dtype)
    if dtype.category == dtypes.COMPLEX:
        return args
    real = list(args)
    for i, (arg, role, name) in enumerate(zip(args, op.roles, op.parameters.names, strict=True)):
        follows = name in op.dtype_rule.follow
        if isinstance(arg, complex) and (role == NUMBER or follows):
            if arg.imag:
                kind = dtypes.float32 if follows and dtype in dtypes.HALVES else dtype
                raise RuntimeError(f"value cannot be converted to type {dtypes.C_NAMES[kind.name]} without overflow")
            real[i] = arg.real
    return tuple(real)


def _wide_numbers(op: Op, args: tuple[Any, ...], compute_dtype: Any) -> tuple[Any, ...]:
    """The arguments, in which factors of more than 63 bits are floats beside floating-point tensors: NumPy and JAX take no such ints.

    Raises:
        RuntimeError: such a factor does not fit in the dtype.
    """
    wide = [i for i, arg in enumerate(args) if arg.__class__ is int and arg >= 2**63 and op.roles[i] == NUMBER]
    if not wide or compute_dtype is None:
        return args
    dtype, narrow = dtypes.from_numpy_dtype(compute_dtype), list(args)
    for i in wide:
        number = number_for(args[i], dtype)
        narrow[i] = float(number) if dtype.category >= dtypes.FLOAT else number
    return tuple(narrow)


def _fitting(op: Op, args: tuple[object, ...], compute_dtype: Any) -> tuple[Any, ...]:
    """The arguments, checked that the numbers of ``must_fit`` fit in the dtype; negative ones wrap around in unsigned dtypes."""
    dtype = dtypes.from_numpy_dtype(compute_dtype)
    fitting = list(args)
    for name in op.dtype_rule.must_fit:
        i = op.parameters.index[name]
        number = args[i]
        if isinstance(number, (int, float)) and not isinstance(number, bool):
            result = number_for(number, dtype, op.dtype_rule.saturate)
            # Only an int replaces the argument. A float is checked here, and the computation converts it, as PyTorch does.
            if type(number) is int and dtype.category == dtypes.INTEGER:
                fitting[i] = result
    return tuple(fitting)


def refuse_as_number(op: Op, args: tuple[object, ...], refused: Callable[[int], bool]) -> None:
    """Raises PyTorch's error where a tensor is given for a number and PyTorch takes it for none: with dimensions, or with a gradient.

    Args:
        refused: (number of the tensor among the call's tensors) -> whether PyTorch takes it for none.
    """
    number = 0
    for i, (arg, role) in enumerate(zip(args, op.roles, strict=True)):
        if role in (NUMBER, STATIC) and arg is TENSOR and refused(number):
            kind, *others = str(op.parameters.annotations[i]).split(" | ")
            if kind in ONE_NUMBER and others in ([], ["None"]):
                words = f"must be {ONE_NUMBER[kind]}, not Tensor"
                raise misfit_error(public(op.name), op.parameters.names[i], i + 1, words)
        number += count_tensors(arg)


def _tensor_roles(args: tuple[object, ...], roles: tuple[int, ...], avals: tuple[Aval, ...]) -> list[tuple[Aval, int]]:
    flat = [role for arg, role in zip(args, roles, strict=True) for _ in range(count_tensors(arg))]
    return list(zip(avals, flat, strict=False))


def _placement(args: tuple[object, ...], roles: tuple[int, ...], avals: tuple[Aval, ...]) -> Placement:
    """Where the op runs. Tensors without dimensions, and indices, follow the others; those must lie on one device."""
    placement_argument = next((a for a in args if isinstance(a, Placement)), None)  # of functions that make a tensor
    if placement_argument is not None:
        return placement_argument
    if any(a.placement is META for a in avals):
        return _meta_placement(args, roles, avals)
    # Each device once, in the order of the arguments, in which the error names them.
    homes = list(
        dict.fromkeys(a.placement.home for a, role in _tensor_roles(args, roles, avals) if role == OPERAND and a.shape)
    )
    if len(homes) > 1:
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{devices.of_placement(homes[0])} and {devices.of_placement(homes[1])}!"
        )
    return homes[0] if homes else avals[0].placement.home if avals else Placement("cpu", 0)


def _meta_placement(args: tuple[object, ...], roles: tuple[int, ...], avals: tuple[Aval, ...]) -> Placement:
    """Where an op runs if one of its inputs is on the meta device: on the meta device, or it raises.

    Only 0-dimensional inputs and indices may be on the CPU. PyTorch lets some operations through that then read memory which is not there.
    """
    expected: Placement | None = None
    for aval, role in _tensor_roles(args, roles, avals):
        own_placement = aval.placement
        if role != OPERAND or (own_placement is CPU and not aval.shape):
            continue
        if expected is None:
            expected = own_placement
        if own_placement is not expected:
            raise _elsewhere(own_placement, expected)
    for aval in avals:
        if expected is not None and aval.placement is META is not expected:
            raise _elsewhere(META, expected)
    return META


def _elsewhere(placement: Placement, expected: Placement) -> RuntimeError:
    return RuntimeError(
        f"Tensor on device {devices.of_placement(placement)} is not on the expected device {devices.of_placement(expected)}!"
    )


# ---- promotion


def result_type_of(tensors: list[Aval], numbers: Sequence[object]) -> dtypes.dtype:
    """PyTorch's promotion: tensors with dimensions decide, unless 0-dim ones or numbers are of a higher category."""
    by_rank: list[dtypes.dtype | None] = [None, None, None]  # with dimensions, without, Python numbers
    for aval in tensors:
        rank = 0 if aval.shape else 1
        common, own_dtype = by_rank[rank], tensor_meta(aval).dtype
        by_rank[rank] = own_dtype if common is None else dtypes.promote_types(common, own_dtype)
    for number in numbers:
        common, own_dtype = by_rank[2], _dtype_of_number(number)
        by_rank[2] = own_dtype if common is None else dtypes.promote_types(common, own_dtype)
    result: dtypes.dtype | None = None
    for candidate in by_rank:
        if candidate is None:
            continue
        if result is None:
            result = candidate
        elif candidate.category > result.category:
            # A complex number beside a float32 tensor gives complex64, beside a float64 one complex128.
            if candidate.category == dtypes.COMPLEX and result.category == dtypes.FLOAT:
                result = result.to_complex() if result.itemsize >= 4 else dtypes.complex64
            else:
                alike = candidate.category == result.category or candidate is dtypes.uint64
                result = dtypes.promote_types(result, candidate) if alike else candidate
    assert result is not None
    return result


def _dtype_of_number(number: object) -> dtypes.dtype:
    """The dtype of a Python number in promotion: PyTorch takes an int of more than 63 bits for one without a sign."""
    check_width(number)
    return dtypes.uint64 if isinstance(number, int) and number >= 2**63 else dtypes.of_number(number)


def check_arguments(op: Op, args: tuple[object, ...]) -> None:
    """Raises PyTorch's TypeError for the first argument that should be a tensor, or a number, and is not.

    Raises:
        OverflowError: a number is an int that no 64 bits hold.
    """
    parameters = op.parameters
    for i, (arg, annotation) in enumerate(zip(args, parameters.annotations, strict=True)):
        if arg is TENSOR or isinstance(arg, DynamicNumber):
            continue
        if annotation == "list[Array]" and isinstance(arg, (list, tuple)):
            for position, element in enumerate(arg):
                if element is not TENSOR:
                    raise TypeError(
                        f"expected Tensor as element {position} in argument {i}, but got {type(element).__name__}"
                    )
            continue
        if annotation in ("Array", "Indices") or (
            annotation == "Operand" and not isinstance(arg, (bool, int, float, complex))
        ):
            kind = "Tensor"
        elif annotation == "Number" and not isinstance(arg, (bool, int, float, complex)):
            kind = "Number"
        elif annotation in ("int", "float") and (arg is None or isinstance(arg, (str, list, tuple))):
            kind = annotation
        else:
            words = misfit(annotation, arg)
            if words is None:
                if isinstance(arg, np.generic) or _holds_numpys_numbers(arg):
                    # ``apply`` catches this and passes the number as Python's, so that equal keys mean equal arguments.
                    raise TypeError("a number of NumPy's")
                continue
            raise misfit_error(public(op.name), parameters.names[i], i + 1, words)
        raise misfit_error(public(op.name), parameters.names[i], i + 1, f"must be {kind}, not {type_name(arg)}")
    for arg, role in zip(args, op.roles, strict=True):
        if role in (NUMBER, OPERAND):
            check_width(arg)


def _holds_numpys_numbers(arg: object) -> bool:
    return isinstance(arg, (list, tuple)) and any(isinstance(element, np.generic) for element in arg)


def public(name: str) -> str:
    """The name that users see. Some ops begin with an underscore, since a function of the public name calls them."""
    return name.lstrip("_")


def described(args: Sequence[object], avals: Sequence[Aval], describe: Callable[[Aval], object]) -> list[Any]:
    """The arguments, with each tensor replaced by what is to be known of it."""
    remaining = iter(avals)
    return [_one_described(arg, remaining, describe) for arg in args]


def _one_described(arg: object, remaining: Iterator[Aval], describe: Callable[[Aval], object]) -> Any:
    if arg is TENSOR:
        return describe(next(remaining))
    return [_one_described(a, remaining, describe) for a in arg] if isinstance(arg, (list, tuple)) else arg


def _promoted(op: Op, promote: Promote, args: tuple[Any, ...], avals: tuple[Aval, ...]) -> tuple[Any, Any]:
    """The dtype to compute in and the dtype of the first output. None: the op keeps the dtypes as they are."""
    tensors, follow = (
        [aval for aval, role in _tensor_roles(args, op.roles, avals) if role == OPERAND],
        op.dtype_rule.follow,
    )
    numbers = [
        a.kind(1) if isinstance(a, DynamicNumber) else a
        for a, role, name in zip(args, op.roles, op.parameters.names, strict=True)
        if role == OPERAND and isinstance(a, (bool, int, float, complex, DynamicNumber)) and name not in follow
    ]
    if promote is Promote.NONE or not (tensors or (numbers and promote.elementwise)):
        for aval in tensors:
            _check_accepts(op, tensor_meta(aval).dtype)
        return None, None
    common = result_type_of(tensors, numbers)
    if promote.elementwise:
        _check_accepts(op, common)
        if promote is Promote.INT_TO_FLOAT and common.category < dtypes.FLOAT:
            common = dtypes.get_default_dtype()
        if promote is Promote.BOOL_TO_LONG and common.category == dtypes.BOOL:
            common = dtypes.int64
        if promote is Promote.ALWAYS_BOOL:
            return common.numpy, dtypes.bool_.numpy
        if promote is Promote.COMPLEX_TO_FLOAT:
            return common.numpy, common.to_real().numpy
        return common.numpy, common.numpy
    index = op.parameters.index.get("dtype")
    dtype_argument = None if index is None else args[index]
    if dtype_argument is not None:
        common = dtype_argument
    _check_accepts(op, common)
    if promote is Promote.REDUCE_INT_TO_LONG and dtype_argument is None and common.category < dtypes.FLOAT:
        common = dtypes.int64
    return common.numpy, common.numpy


def _check_accepts(op: Op, dtype: dtypes.dtype) -> None:
    rule = op.dtype_rule
    if Category(1 << dtype.category) in rule.accepts:
        if dtype in WIDE_UNSIGNED and op.name in REFUSING:
            raise NotImplementedError(f"\"{REFUSING[op.name]}\" not implemented for '{dtype.scalar_name}'")
        return
    refusal = rule.refuse(op.name, dtype) if callable(rule.refuse) else None
    if refusal is not None:
        raise refusal if isinstance(refusal, Exception) else RuntimeError(refusal)
    kernel = rule.refuse if isinstance(rule.refuse, str) else op.name
    raise NotImplementedError(f"\"{kernel}\" not implemented for '{dtype.scalar_name}'")


def check_broadcast(shapes: list[tuple[int, ...]]) -> None:
    """Raises PyTorch's error unless the shapes broadcast."""
    if len(shapes) < 2 or shapes.count(shapes[0]) == len(shapes):
        return
    rank = max(map(len, shapes))
    common: tuple[int, ...] = (1,) * rank
    for shape in shapes:
        padded = (1,) * (rank - len(shape)) + shape
        for dim in reversed(range(rank)):
            if padded[dim] != common[dim] and padded[dim] != 1 and common[dim] != 1:
                raise RuntimeError(
                    f"The size of tensor a ({common[dim]}) must match the size of tensor b ({padded[dim]}) at non-singleton "
                    f"dimension {dim}"
                )
        common = tuple(b if a == 1 else a for a, b in zip(common, padded, strict=True))
