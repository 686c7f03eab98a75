"""What PyTorch says of an ``out=`` of another dtype than the result: each family of operations has words of its own.

A declaration names its words in ``Validation.out``. An operation that promotes nothing and names none refuses ``exactly``; others cast to
every dtype that ``dtypes.can_cast`` allows.
"""

from __future__ import annotations

from collections.abc import Callable

from .._core import dtypes

__all__ = ["FOUND", "SCALAR_TYPE", "OutDtype", "cast", "exactly", "truth", "unless_cast", "words"]

# (dtype of the result, dtype of ``out``) -> the error; None where the result is cast.
OutDtype = Callable[[dtypes.dtype, dtypes.dtype], Exception | None]


def exactly(expected: dtypes.dtype, actual: dtypes.dtype) -> Exception:
    """The error of most ops that promote nothing for an ``out=`` of another dtype, to which they do not cast."""
    return RuntimeError(
        f"Expected out tensor to have dtype {dtypes.C_NAMES[expected.name]}, but got {dtypes.C_NAMES[actual.name]} instead"
    )


def words(text: str) -> OutDtype:
    """Refuses every other dtype in these words, in which ``{result}`` and ``{out}`` are the dtypes' names.

    ``{c_result}`` and ``{c_out}`` are their names in C++.
    """

    def refuse(expected: dtypes.dtype, actual: dtypes.dtype) -> Exception:
        names = {"result": expected.scalar_name, "out": actual.scalar_name}
        c_names = {"c_result": dtypes.C_NAMES[expected.name], "c_out": dtypes.C_NAMES[actual.name]}
        return RuntimeError(text.format(**names, **c_names))

    return refuse


def unless_cast(text: str) -> OutDtype:
    """Refuses in these words the dtypes to which the result cannot be cast."""
    refuse = words(text)
    return lambda expected, actual: None if dtypes.can_cast(expected, actual) else refuse(expected, actual)


def cast(expected: dtypes.dtype, actual: dtypes.dtype) -> None:
    """For an op that promotes nothing and casts its result all the same."""


def truth(name: str) -> OutDtype:
    """Of ``all`` and ``any``, which may write uint8."""
    refuse = words(f"{name} only supports bool tensor for result, got: {{out}}")
    return lambda expected, actual: None if actual is dtypes.uint8 else refuse(expected, actual)


FOUND = words("Found dtype {out} but expected {result}")
SCALAR_TYPE = words("expected scalar_type {result} but found {out}")
