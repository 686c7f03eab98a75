"""The table of rules: how each primitive of JAX is computed with NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

import ml_dtypes
import numpy as np

Compute = Callable[..., object]
_Function = TypeVar("_Function", bound=Compute)


class ShapedDtype(Protocol):
    """The shape and dtype of an input or output, which a rule knows before the array exists."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> np.dtype: ...


class Parameters(Protocol):
    """The parameters of a primitive, by name. Each has a type of its own."""

    def __getitem__(self, key: str, /) -> Any: ...

    def __contains__(self, key: object, /) -> bool: ...

    def get(self, key: str, default: Any = None, /) -> Any: ...

    def keys(self) -> Iterable[str]: ...

    def values(self) -> Iterable[object]: ...

    def items(self) -> Iterable[tuple[str, object]]: ...


# Where an array of a plan comes from: a constant ("c"), an input ("i") or the result of a call ("t"), and its number among these.
Reference = tuple[str, int]


# A rule is called once, with the parameters and the shapes and dtypes of inputs and outputs. It returns a function that takes the input
# arrays and returns the output, or a sequence of outputs if the primitive has several.
Rule = Callable[[Parameters, Sequence[ShapedDtype], Sequence[ShapedDtype]], Compute]

RULES: dict[str, Rule] = {}


def itself(x: np.ndarray) -> np.ndarray:
    """What primitives compute that do nothing to an array. Plans leave them out."""
    return x


def taped(function: _Function, *form: object) -> _Function:
    """The function, which says what it does for ``tape.c``: there stand the forms."""
    vars(function)["taped"] = form
    return function


class Unsupported(Exception):
    """Raised if a primitive, or a use of it, has no rule. XLA then compiles the whole function."""


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Registers a rule under the names of its primitives."""

    def register(function: Rule) -> Rule:
        for name in names:
            assert name not in RULES, name
            RULES[name] = function
        return function

    return register


NATIVE = frozenset(
    np.dtype(name)
    for name in (
        "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "float16", "float32", "float64", "complex64", "complex128",
    )
)  # fmt: skip


# NumPy does not compute with bfloat16, and slowly with float16: both are computed in float32, and rounded once.
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
HALF_TYPES = (np.dtype(np.float16), BFLOAT16)


def require_native(*avals: ShapedDtype) -> None:
    """Raises ``Unsupported`` for dtypes that NumPy does not have itself (bfloat16, float8, keys of random numbers)."""
    for aval in avals:
        if aval.dtype not in NATIVE:
            raise Unsupported(f"dtype {aval.dtype}")


# Estimated time of a call: a fixed part, and a part for each byte read or written. What goes beyond the processor's cache takes longer.
SECONDS_PER_CALL = 2e-6
SECONDS_PER_BYTE, SECONDS_PER_BYTE_BEYOND = 4e-11, 3e-11
CACHE_BYTES = 2**20


def seconds_of_call(nbytes: float) -> float:
    """About how long a call takes that reads and writes so many bytes."""
    return SECONDS_PER_CALL + SECONDS_PER_BYTE * nbytes + SECONDS_PER_BYTE_BEYOND * max(0, nbytes - CACHE_BYTES)
