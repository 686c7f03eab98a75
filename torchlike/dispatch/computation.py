"""What an op computes for one call, as a function of arrays; and the sizes in a call, apart from everything else in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from .._core import dtypes
from ..engine.aval import META, Aval, Meshed, Placement
from ..engine.disk.coded import described
from ..engine.interpreter import Calls, Shaped, ShapedDtype, Traced, Traces
from ..engine.recorder import DynamicNumber
from ..numerics.exact_math import computed_on
from ..numerics.half_precision import HALF
from .opdef import OPERAND, STATIC, Op


class TensorSlot:
    """Placeholder for a tensor in static arguments."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "Tensor"


TENSOR = TensorSlot()
# How these are written into keys on disk.
described.update({
    TensorSlot: ("tensor", lambda _: None),
    DynamicNumber: ("number", lambda number: number.kind.__name__),
    Placement: ("place", lambda place: (place.platform, place.index)),
    Aval: ("aval", lambda aval: (aval.shape, aval.dtype, aval.placement)),
    dtypes.dtype: ("dtype", lambda dtype: dtype.name),
})  # fmt: skip


class Computation:
    """The function of arrays that an op computes for these arguments. ``kind``: the class of its result, once it has run."""

    __slots__ = ("kind", "_op", "_args", "_dtype", "_result_dtype", "_platform", "_spread", "_checks", "_tensors")

    kind: type
    __name__ = "fn"  # JAX reads the name of what it traces

    def __init__(
        self,
        op: Op,
        dtype: np.dtype | None,
        result_dtype: np.dtype | None,
        placement: Placement,
        checks: bool,
        args: Sequence[object],
    ) -> None:
        """``dtype``: of the operands; ``result_dtype``: of the first output; None: as they are. ``checks``: with the op's index check."""
        self._op = op
        self._args = args
        self._dtype, self._result_dtype = dtype, result_dtype
        self._platform = "cpu" if placement is META else placement.platform
        self._spread = isinstance(placement, Meshed)
        self._checks = checks
        self._tensors = sum(map(count_tensors, args))

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        op, result_dtype = self._op, self._result_dtype
        tensors, numbers = iter(arrays[: self._tensors]), iter(arrays[self._tensors :])
        arguments = [
            self._argument(arg, role, name, tensors, numbers)
            for arg, role, name in zip(self._args, op.roles, op.parameters.names, strict=True)
        ]
        by_position, by_name = op.parameters.split(arguments)
        with computed_on(self._platform, self._spread):
            result = op.compute(*by_position, **by_name)
        self.kind = type(result)  # not the result itself, which is a tracer and would keep the whole trace alive
        # Most operations have one result, which need not be flattened.
        outs = [result] if isinstance(result, jax.Array) else jax.tree.leaves(result)
        if result_dtype is not None:
            outs = [o.astype(result_dtype) if o.dtype != result_dtype and i == 0 else o for i, o in enumerate(outs)]
        if self._checks:
            assert op.check is not None
            bad, value = op.check.find(*by_position, **by_name)
            # Both in one array: the host then waits for one transfer to look at a check.
            outs.append(jnp.stack([jnp.asarray(bad).astype(np.int64), jnp.asarray(value).astype(np.int64)]))
        return tuple(outs)

    def _argument(self, arg: object, role: int, name: str, tensors: Iterator[Array], numbers: Iterator[Array]) -> Any:
        """One argument as ``compute`` takes it: an array of the common dtype, or what the user gave."""
        dtype = self._dtype
        if arg is TENSOR:
            array = next(tensors)
            return convert(array, dtype) if role == OPERAND and dtype is not None and array.dtype != dtype else array
        if role == STATIC and not isinstance(arg, (list, tuple)):
            return arg
        if dtype in HALF and name in self._op.dtype_rule.keep_float32 and isinstance(arg, (DynamicNumber, int, float)):
            dtype = np.dtype(np.float32)
        if isinstance(arg, DynamicNumber):
            number = next(numbers)
            return number.astype(dtype) if role == OPERAND and dtype is not None else number
        if isinstance(arg, (list, tuple)) and any(a is TENSOR for a in arg):
            return [self._argument(a, role, name, tensors, numbers) for a in arg]
        if (
            role == OPERAND
            and isinstance(arg, (bool, int, float, complex))
            and name not in self._op.dtype_rule.keep_scalar
        ):
            return _constant(arg, dtype)
        return arg


def convert(array: Array, dtype: Any) -> Any:
    """The array in another dtype, as operands are promoted."""
    if array.dtype.kind == "b" and dtype.kind not in "biu":
        # Not ``astype``: XLA makes ``x * astype(mask)`` a selection, in which NaN * False is 0.
        return jnp.where(array, jnp.ones((), dtype), jnp.zeros((), dtype))
    return array.astype(dtype)


def _constant(number: object, dtype: Any) -> Array:
    if dtype is None:
        dtype = dtypes.of_number(number).numpy
    if dtype.kind in "iu" and isinstance(number, int):  # wraps around, as C does
        return jnp.asarray(np.asarray(number & ((1 << 8 * dtype.itemsize) - 1), f"u{dtype.itemsize}").astype(dtype))
    if isinstance(number, int) and number >= 2**63 and dtype.kind != "b":
        number = float(number)  # bfloat16 takes no such int
    return jnp.asarray(number, dtype)


def count_tensors(arg: object) -> int:
    """How many tensors an argument holds."""
    if arg is TENSOR:
        return 1
    return sum(a is TENSOR for a in arg) if isinstance(arg, (list, tuple)) else 0


# ---- sizes: of the inputs, and whole numbers among the arguments that no tensor could replace


def without_sizes(
    args: Sequence[object], roles: Sequence[int], avals: Sequence[Aval]
) -> tuple[tuple[object, ...], tuple[int, ...]]:
    """Everything that a call is made of but sizes, as a key; and its sizes in order."""
    sizes: list[int] = []
    key = [
        _TENSOR_IN_KEY if arg is TENSOR else _without_sizes(arg, role, sizes)
        for arg, role in zip(args, roles, strict=True)
    ]
    for aval in avals:
        sizes += aval.shape
        key.append((len(aval.shape), aval.dtype, aval.placement))
    return tuple(key), tuple(sizes)


_TENSOR_IN_KEY: object = (TensorSlot, TENSOR)


# Functions like this are not defined within others: one that calls itself refers to itself then, so each call would leave objects that
# only the garbage collector finds.
def _without_sizes(arg: object, role: int, sizes: list[int]) -> object:
    """The part of the key, without the sizes in the argument, which are appended to the list."""
    kind = arg.__class__
    if kind is int and role == STATIC:
        sizes.append(arg)  # pyright: ignore[reportArgumentType]
        return int
    if kind is tuple or kind is list:
        return kind, *[_without_sizes(element, role, sizes) for element in arg]  # pyright: ignore[reportGeneralTypeIssues]
    # 0.0 and -0.0 are equal but not the same, NaN is the same but not equal; and 1, 1.0 and True are equal.
    return kind, repr(arg) if kind is float or kind is complex else arg


def with_sizes(
    args: Sequence[object], roles: Sequence[int], avals: Sequence[Aval], sizes: Iterable[Any]
) -> tuple[list[Any], list[Shaped]]:
    """The arguments and the inputs of a call with other sizes, in the order of ``without_sizes``."""
    remaining = iter(sizes)
    own_args = [_with_sizes(arg, role, remaining) for arg, role in zip(args, roles, strict=True)]
    return own_args, _inputs_with_sizes(avals, remaining)


def _with_sizes(arg: Any, role: int, remaining: Iterator[Any]) -> Any:
    kind = arg.__class__
    if kind is int and role == STATIC:
        return next(remaining)
    return kind([_with_sizes(element, role, remaining) for element in arg]) if kind is tuple or kind is list else arg


def _inputs_with_sizes(avals: Sequence[Aval], sizes: Iterator[Any]) -> list[Shaped]:
    return [Shaped(tuple([next(sizes) for _ in aval.shape]), aval.dtype) for aval in avals]


def with_every_size(
    size: int, args: Sequence[object], roles: Sequence[int], avals: Sequence[Aval]
) -> tuple[tuple[Any, ...], tuple[Aval, ...]]:
    """The arguments and the avals of the same call with one size in place of all."""
    own_args, _ = with_sizes(args, roles, (), repeat(size))
    return tuple(own_args), tuple([Aval((size,) * len(aval.shape), aval.dtype, aval.placement) for aval in avals])


# Of arrays, or of tracers.
Function = Callable[..., Sequence[Any]]


class Sized:
    """A function among those that differ from it in sizes alone: ``build(args)``.

    ``traces``: of the operation; ``calls``: of all of them; ``sizes``: those of this one, in the order of ``without_sizes``.
    """

    __slots__ = ("traces", "calls", "sizes", "_args", "_roles", "_avals", "_build")

    def __init__(
        self,
        traces: Traces,
        calls: Calls,
        sizes: tuple[int, ...],
        args: Sequence[object],
        roles: Sequence[int],
        avals: Sequence[Aval],
        build: Callable[[list[Any]], Function],
    ) -> None:
        self.traces, self.calls, self.sizes = traces, calls, sizes
        self._args, self._roles, self._avals, self._build = args, roles, avals, build

    def make(self, sizes: Sequence[Any]) -> tuple[Function, Sequence[ShapedDtype]]:
        """The function for other sizes, and its inputs."""
        own_args, inputs = with_sizes(self._args, self._roles, self._avals, sizes)
        return self._build(own_args), inputs

    def function(self) -> Function:
        """The function itself."""
        return self._build([*self._args])

    def trace(self) -> tuple[Traced, type]:
        """The function's trace, and the type of its result."""
        return self.traces.trace(self.calls, self.sizes, self.make)

    def trace_derived(
        self,
        key: tuple[object, ...],
        avals: Sequence[Aval],
        build: Callable[[Function, Sequence[ShapedDtype]], Function],
    ) -> Traced:
        """The trace of ``build(this function, its inputs)``, of its inputs and further ones of the kinds of these avals."""
        count = len(self.sizes)

        def make(values: Sequence[Any]) -> tuple[Function, Sequence[ShapedDtype]]:
            # The sizes of the further inputs are independent ones. Where they have to be those of others, JAX compares them.
            fn, inputs = self.make(values[:count])
            further = _inputs_with_sizes(avals, iter(values[count:]))
            return build(fn, inputs), [*inputs, *further]

        shapes = tuple([(len(aval.shape), aval.dtype) for aval in avals])
        sizes = (*self.sizes, *[n for aval in avals for n in aval.shape])
        return self.traces.trace(self.traces.calls((self.calls.key, key, shapes)), sizes, make)[0]
