"""Functions that compute each element of the result from the elements at its place."""

from __future__ import annotations

from collections.abc import Sequence

from ...._core.dtypes import dtype
from ...._core.tensor import Tensor
from ..placement_types import Partial, Placement, Replicate, Shard
from ._choices import Call, Choice

__all__ = ["ELEMENTWISE", "LINEAR", "elementwise", "rounds"]

ELEMENTWISE = {
    "abs", "acos", "add", "addcdiv", "addcmul", "asin", "atan", "atan2", "bfloat16", "bool", "ceil", "celu", "clamp", "clamp_max",
    "clamp_min", "clip", "clone", "contiguous", "copy_", "cos", "cosh", "cpu", "detach", "detach_", "div", "divide", "double", "elu",
    "empty_like", "eq", "erf", "erfc", "exp", "exp2", "expm1", "fill_", "float", "floor", "floor_divide", "fmod", "frac", "full_like",
    "ge", "gelu", "gt", "half", "hardsigmoid", "hardswish", "hardtanh", "int", "isclose", "isfinite", "isinf", "isnan", "le",
    "leaky_relu", "lerp", "log", "log10", "log1p", "log2", "logical_and", "logical_not", "logical_or", "logical_xor", "logit",
    "logsigmoid", "long", "lt", "masked_fill", "maximum", "minimum", "mish", "mul", "multiply", "nan_to_num", "ne", "neg", "negative",
    "ones_like", "positive", "pow", "rdiv", "reciprocal", "relu", "relu6", "remainder", "round", "rsqrt", "rsub", "selu", "sigmoid",
    "sign", "silu", "sin", "sinh", "softplus", "softsign", "sqrt", "square", "sub", "subtract", "tan", "tanh", "threshold", "to",
    "true_divide", "trunc", "type", "type_as", "where", "xlogy", "zero_", "zeros_like",
}  # fmt: skip

# Those that may be computed with terms: with how many of them at the same time.
LINEAR = {
    **dict.fromkeys(["neg", "negative", "clone", "contiguous", "positive", "detach", "float", "double", "half", "bfloat16"], 1),
    **dict.fromkeys(["mul", "multiply", "div", "divide", "true_divide", "to"], 1),
    **dict.fromkeys(["add", "sub", "subtract", "rsub"], 2),
}  # fmt: skip
_MADE_LIKE = {"empty_like", "full_like", "ones_like", "zeros_like"}


def rounds(call: Call) -> bool:
    """Whether terms would be rounded one by one: by a division, or on the way to integers."""
    given = (*call.args[1:], *call.kwargs.values())
    kinds = [each.dtype if isinstance(each, Tensor) else each for each in given] if call.name == "to" else []
    to_integers = any(isinstance(kind, dtype) and not kind.is_floating_point for kind in kinds)
    return to_integers or call.kwargs.get("rounding_mode") is not None


def _terms(call: Call) -> list[Choice]:
    """The choices with terms that are added later."""
    count = len(call.pieces)
    divides_by_terms = count == 1 and bool(call.args) and call.args[0] is not call.pieces[0]  # div(2, terms)
    if rounds(call) or (divides_by_terms and call.name in ("div", "divide", "true_divide")):
        return []
    if LINEAR.get(call.name) != count and not (LINEAR.get(call.name) == 1 and count == 2):
        return []
    kinds = {p.reduce_op for piece in call.pieces for p in piece._spec.placements if isinstance(p, Partial)}
    found = []
    for kind in sorted(kinds & {"sum", "avg"}):
        if LINEAR[call.name] == count:
            found.append(Choice((Partial(kind),) * count, Partial(kind)))
        else:  # only one factor, and never what is divided by
            found.append(Choice((Partial(kind), Replicate()), Partial(kind)))
            if call.name in ("mul", "multiply"):
                found.append(Choice((Replicate(), Partial(kind)), Partial(kind)))
    # A number beside terms would be added in each process.
    return found if LINEAR[call.name] == 1 or count == 2 else []


def elementwise(call: Call) -> list[Choice]:
    """The choices of a function whose result has the broadcast shape of its arguments."""
    shapes = call.shapes
    ndim = max(map(len, shapes))

    def along(dim: int, shape: Sequence[int]) -> Placement:
        at = dim - (ndim - len(shape))
        return Shard(at) if at >= 0 and shape[at] != 1 else Replicate()

    choices = [Choice((Replicate(),) * len(shapes), Replicate())]
    for dim in range(ndim):
        inputs = tuple(along(dim, shape) for shape in shapes)
        if any(isinstance(each, Shard) for each in inputs):
            choices.append(Choice(inputs, Shard(dim)))
    if call.name in _MADE_LIKE:
        # What is made like terms is whole, and needs none of their elements.
        return choices + [Choice((Partial(kind),), Replicate()) for kind in ("sum", "avg", "max", "min")]
    return choices + _terms(call)
