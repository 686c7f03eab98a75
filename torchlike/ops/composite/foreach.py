"""``torch._foreach_*``: an op on every tensor of a list. All of them follow from the ops themselves; what is recorded is the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..._core.annotations import Dtype
from ..._core.tensor import Tensor
from ...dispatch.bindings import FUNCTIONS, inplace_form  # needs those above: they declare what the rows name
from ..creation import cast as cast
from ..elementwise import elementary as elementary, extrema as extrema, pointwise as pointwise
from ..linalg import matmul as matmul
from ..reduction import reduce as reduce

# The functions that exist with and without in-place form, grouped by the arguments beside the list.
UNARY = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt sigmoid sign "
    "sin sinh sqrt tan tanh trunc"
)  # fmt: skip
BINARY = "add sub mul div pow clamp_min clamp_max maximum minimum"
TERNARY = "addcmul addcdiv lerp"
# PyTorch calls the same argument by another name if it is a number, a list or a tensor.
OPERANDS = (
    "other", "scalar", "scalars", "exponent", "src", "mat2", "tensors1", "tensor1", "tensor2", "weight", "weights", "value",
)  # fmt: skip


def _spread(operand: object, count: int) -> Sequence[object]:
    """An operand for each of ``count`` tensors: lists give one each, anything else serves all."""
    if not isinstance(operand, (list, tuple)):
        return [operand] * count
    if len(operand) != count:
        if operand and isinstance(operand[0], Tensor):
            raise RuntimeError(f"Tensor lists must have the same number of tensors, got {count} and {len(operand)}")
        raise RuntimeError("Tensor list must have same number of elements as scalar list.")
    return operand


def _calls(
    name: str, self: object, operands: tuple[object, ...], options: dict[str, object]
) -> Iterator[tuple[Any, ...]]:
    """The arguments of each call; keywords that name operands are taken out of ``options``."""
    if not isinstance(self, (list, tuple)) or not all(isinstance(element, Tensor) for element in self):
        raise TypeError(f"{name}(): argument 'self' must be tuple of Tensors, not {type(self).__name__}")
    if not self:
        raise RuntimeError("Tensor list must have at least one tensor.")
    operands += tuple(options.pop(word) for word in OPERANDS if word in options)
    if len(operands) == 3 and isinstance(operands[2], Tensor):  # the factors of addcmul and addcdiv
        if operands[2].dim() != 1:
            raise RuntimeError(f"Expected packed scalar Tensor to be of dimension 1. Got {operands[2].dim()} instead.")
        if len(operands[2]) != len(self):
            raise RuntimeError(
                f"Expected length of scalars to match input of length {len(self)} but got {len(operands[2])} instead."
            )
        operands = (*operands[:2], operands[2].unbind())
    for operand in operands:
        if isinstance(operand, Tensor) and operand.dim():
            raise RuntimeError(
                f"scalar tensor expected to be 0 dim but it has {operand.dim()} dimensions and {operand.numel()} elements."
            )
    return zip(self, *(_spread(operand, len(self)) for operand in operands), strict=True)


def _function(name: str, function: Callable[..., object]) -> Callable[..., Any]:
    def call(self: Tensor | list[Tensor], /, *operands: object, **options: object) -> Any:
        return tuple([function(*args, **options) for args in _calls(call.__name__, self, operands, options)])

    return _with_name(
        call, name, f"``{name}`` of every tensor of a list, as a tuple; other arguments are lists or serve all."
    )


def _inplace(name: str, function: Callable[..., object]) -> Callable[..., Any]:
    def call(self: list[Tensor], /, *operands: object, **options: object) -> Any:
        for args in _calls(call.__name__, self, operands, options):
            function(*args, **options)
        return self

    return _with_name(call, name, f"``{name}`` on every tensor of a list; other arguments are lists or serve all.")


def _with_name(call: Any, name: str, doc: str) -> Any:
    call.__name__ = call.__qualname__ = f"_foreach_{name}"
    call.__module__, call.__doc__ = "torchlike", doc
    return call


def _weighted(form: Callable[..., object]) -> Callable[..., Any]:
    """addcmul and addcdiv, whose ``value`` is a keyword where they take single tensors."""

    def call(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: object = 1) -> Any:
        return form(input, tensor1, tensor2, value=value.item() if isinstance(value, Tensor) else value)

    return call


def _bounded(form: Callable[..., object], by_number: Callable[..., object]) -> Callable[..., Any]:
    """maximum and minimum, which take tensors alone: with a number they are the clamps."""

    def call(input: Tensor, other: object) -> Any:
        return form(input, other) if isinstance(other, Tensor) else by_number(input, other)

    return call


def _single_form(name: str, form_of: Callable[[str], Callable[..., object]]) -> Callable[..., Any]:
    """What is done to one tensor; ``form_of`` gives the form of an op."""
    if name in ("addcmul", "addcdiv"):
        return _weighted(form_of(name))
    if name in ("maximum", "minimum"):
        return _bounded(form_of(name), form_of("clamp_min" if name == "maximum" else "clamp_max"))
    return form_of(name)


def _pow(self: Any, /, *exponent: Any, **options: Any) -> Any:
    if isinstance(self, (list, tuple)):
        return _POW(self, *exponent, **options)
    exponents = exponent[0] if exponent else options["exponent"]  # 2 ** each
    return tuple([FUNCTIONS["pow"](self, power) for power in exponents])


def _norm(input: Tensor, ord: object = 2, dtype: Dtype | None = None) -> Tensor:
    return FUNCTIONS["linalg_vector_norm"](input, ord, dtype=dtype)


def _powsum(input: Tensor, ord: object = 2, dtype: Dtype | None = None) -> Tensor:
    return FUNCTIONS["sum"](FUNCTIONS["pow"](FUNCTIONS["abs"](input if dtype is None else input.to(dtype)), ord))


FOREACH = {
    **{
        name: _function(name, _single_form(name, FUNCTIONS.__getitem__))
        for name in f"{UNARY} {BINARY} {TERNARY}".split()
    },
    **{
        f"{name}_": _inplace(f"{name}_", _single_form(name, inplace_form))
        for name in f"{UNARY} {BINARY} {TERNARY}".split()
    },
    "clone": _function("clone", FUNCTIONS["clone"]),
    "copy_": _inplace("copy_", FUNCTIONS["copy_"]),
    "max": _function("max", FUNCTIONS["max"]),
    "mm": _function("mm", FUNCTIONS["mm"]),
    "norm": _function("norm", _norm),
    "powsum": _function("powsum", _powsum),
    "zero_": _inplace("zero_", FUNCTIONS["zero_"]),
}
_POW = FOREACH["pow"]
FOREACH["pow"] = _with_name(
    _pow, "pow", f"{_POW.__doc__} The first argument may be the number, and the list the exponents."
)

__all__ = [f"_foreach_{name}" for name in sorted(FOREACH)]  # pyright: ignore[reportUnsupportedDunderAll]  # the stub lists them
globals().update({f"_foreach_{name}": call for name, call in FOREACH.items()})
