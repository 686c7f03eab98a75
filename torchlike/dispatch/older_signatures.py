"""Calls of ``add``, ``addmm`` and their kin in the order of early PyTorch, factors first: PyTorch takes them, and warns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from .._core.tensor import Tensor
from .warned import warn_once

__all__ = ["OLDER", "as_called_now"]


class _Older(NamedTuple):
    """The names of an operation's tensors after the first one, and of the factors that came before them."""

    tensors: tuple[str, ...]
    factors: tuple[str, ...]

    def text(self, name: str, older: bool, function: bool, factors: tuple[str, ...]) -> str:
        numbers, tensors = [f"Number {factor}" for factor in factors], [f"Tensor {tensor}" for tensor in self.tensors]
        if older:
            # A function had one factor before its first tensor, where it has two.
            first = ["Tensor input"] * function
            before = 0 if len(self.factors) == 1 else 1
            parts = [*numbers[:before], *first, *numbers[before:], *tensors]
        else:
            parts = [*["Tensor input"] * function, *tensors, "*", *[f"Number {factor} = 1" for factor in self.factors]]
        if function:
            parts += ([] if "*" in parts else ["*"]) + ["Tensor out = None"]
        return f"{name}({', '.join(parts)})"


_BETA_ALPHA = ("beta", "alpha")
OLDER = {
    "add": _Older(("other",), ("alpha",)),
    "sub": _Older(("other",), ("alpha",)),
    "addcmul": _Older(("tensor1", "tensor2"), ("value",)),
    "addcdiv": _Older(("tensor1", "tensor2"), ("value",)),
    "addmm": _Older(("mat1", "mat2"), _BETA_ALPHA),
    "addmv": _Older(("mat", "vec"), _BETA_ALPHA),
    "addr": _Older(("vec1", "vec2"), _BETA_ALPHA),
    "addbmm": _Older(("batch1", "batch2"), _BETA_ALPHA),
    "baddbmm": _Older(("batch1", "batch2"), _BETA_ALPHA),
}


def as_called_now(
    name: str, args: tuple[object, ...], kwargs: Mapping[str, object], method: bool, shown: str | None = None
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments of a call by an older signature in today's order, after its warning; None if it is no such call.

    Args:
        method: the first argument is the tensor whose method was called.
        shown: the name in the warning, if that is another one.
    """
    older = OLDER.get(name.removesuffix("_"))
    if older is None or kwargs:
        return None
    first = 0 if method or len(older.factors) == 1 else 1  # the place of the first tensor
    count = len(args) - 1 - len(older.tensors)
    if not 1 <= count <= len(older.factors) or not isinstance(args[first], Tensor):
        return None
    numbers, tensors = [*args[:first], *args[first + 1 : count + 1]], args[count + 1 :]
    if not all(isinstance(number, (int, float, complex)) for number in numbers):
        return None
    if not all(isinstance(tensor, Tensor) for tensor in tensors):
        return None
    factors = older.factors[:count]
    shown = shown or name
    warn_once(
        f"This overload of {shown} is deprecated:\n\t{older.text(shown, True, not method, factors)}\nConsider using one of the following "
        f"signatures instead:\n\t{older.text(shown, False, not method, factors)} (Triggered internally at "
        "torchlike/dispatch/older_signatures.py.)"
    )
    return (args[first], *tensors), dict(zip(factors, numbers, strict=True))
