"""PyTorch's functions with several signatures: how it words the error for an argument that none of them takes.

Where the number of arguments leaves one signature to choose from, the error names the argument. Otherwise it lists the signatures. So the
facts kept here are how many arguments each signature needs and takes, ``out`` included, and of methods without ``self``. Recorded from
PyTorch 2.13; tests/compare/test_overloads_compare.py compares.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from .._core.tensor import Tensor
from .signature_lists import LISTED, invalid_arguments
from .type_names import type_name
from .warned import warn_once

__all__ = ["OF_FUNCTIONS", "OF_METHODS", "OLDER", "SEVERAL", "as_called_now", "invalid_combination"]


def _signatures(text: str) -> dict[str, list[range]]:
    """The numbers of arguments that each signature takes, by name, from ``sum:1-2,2-5``."""
    pairs = (word.split(":") for word in text.split())
    return {
        name: [range(int(least), int(most) + 1) for least, most in (c.split("-") for c in counts.split(","))]
        for name, counts in pairs
    }


OF_FUNCTIONS = _signatures(
    """
    addmm:3-6,4-7 all:1-2,1-4,2-4 any:1-2,1-4,2-4 arange:1-7,2-7,2-9 argsort:2-5,1-3 atleast_1d:1-1,1-1 atleast_2d:1-1,1-1
    atleast_3d:1-1,1-1 baddbmm:3-6,4-7 bartlett_window:1-6,2-7 bernoulli:1-3,2-3 bitwise_and:2-3,2-2,2-3
    bitwise_left_shift:2-3,2-2,2-3 bitwise_or:2-3,2-2,2-3 bitwise_right_shift:2-3,2-2,2-3 bitwise_xor:2-3,2-2,2-3
    blackman_window:1-6,2-7 bmm:2-3,3-4 bucketize:2-5,2-4 clamp:1-4,1-4 clamp_max:2-3,2-3 clamp_min:2-3,2-3 clip:1-4,1-4
    conv1d:2-7,2-7 conv2d:2-7,2-7 conv3d:2-7,2-7 copysign:2-3,2-3 count_nonzero:1-2,2-2 ctc_loss:4-7,4-7
    cumulative_trapezoid:2-3,1-3 dequantize:1-1,1-1 div:2-3,3-4,3-3 divide:2-3,3-4,2-2,3-3 dsplit:2-2,2-2 embedding_bag:9-9,3-8
    eq:2-3,2-3 eye:1-7,2-8 fake_quantize_per_tensor_affine:5-5,5-5 fill:2-2,2-2 fill_:2-2,2-2 float_power:2-3,2-3,2-3
    floor_divide:2-3,2-2 fmod:2-3,2-3 ge:2-3,2-3 gradient:2-3,3-4,1-4,2-4,3-4,2-4,3-4 greater:2-3,2-3 greater_equal:2-3,2-3
    gru:9-9,9-9 gt:2-3,2-3 hamming_window:1-6,2-7,3-8,4-9 hann_window:1-6,2-7 histogram:2-5,1-6 histogramdd:2-5,2-5,2-5
    hsplit:2-2,2-2 index_fill:4-4,4-4 isin:2-5,2-5,2-5 kaiser_window:1-6,2-7,3-8 le:2-3,2-3 lerp:3-4,3-4 less:2-3,2-3
    less_equal:2-3,2-3 linalg_cond:1-3,2-3 linalg_matrix_norm:2-6,1-6 linalg_matrix_rank:1-5,1-5,2-4,2-4 linalg_norm:1-6,2-6
    linalg_pinv:1-5,1-5,2-4,2-4 linspace:3-9,3-9,3-9,3-9 logspace:3-10,3-10,3-10,3-10 lstm:9-9,9-9 lt:2-3,2-3 masked_fill:3-3,3-3
    max:1-2,2-3,2-4 mean:1-3,2-5 median:1-1,2-4 min:1-2,2-3,2-4 mm:2-3,3-4 moveaxis:3-3,3-3 movedim:3-3,3-3 multiply:2-3,2-2
    nanmedian:1-1,2-4 nanquantile:2-6,2-6 narrow:4-4,4-4 ne:2-3,2-3 normal:2-4,1-4,2-4,3-10 not_equal:2-3,2-3 pow:2-3,2-3,2-3
    prod:1-2,2-5 quantile:2-6,2-6 quantize_per_tensor:4-4,4-4,4-4 rand:2-8,1-7 rand_like:2-8,1-7 randint:3-9,2-8,4-10,3-9
    randint_like:4-10,3-9,3-9,2-8,3-9,2-8 randn:2-8,1-7 randn_like:2-8,1-7 randperm:2-8,1-7 remainder:2-3,2-2,2-3
    repeat_interleave:2-4,1-2,2-4 rnn_relu:9-9,9-9 rnn_tanh:9-9,9-9 round:1-2,2-3 rsub:2-3,2-3 scatter:4-5,5-6,4-5,5-6
    searchsorted:2-7,2-7 sort:2-5,1-4 special_chebyshev_polynomial_t:2-3,2-3,2-3 special_chebyshev_polynomial_u:2-3,2-3,2-3
    special_chebyshev_polynomial_v:2-3,2-3,2-3 special_chebyshev_polynomial_w:2-3,2-3,2-3 special_hermite_polynomial_h:2-3,2-3,2-3
    special_hermite_polynomial_he:2-3,2-3,2-3 special_laguerre_polynomial_l:2-3,2-3,2-3 special_legendre_polynomial_p:2-3,2-3,2-3
    special_shifted_chebyshev_polynomial_t:2-3,2-3,2-3 special_shifted_chebyshev_polynomial_u:2-3,2-3,2-3
    special_shifted_chebyshev_polynomial_v:2-3,2-3,2-3 special_shifted_chebyshev_polynomial_w:2-3,2-3,2-3
    special_xlog1py:2-3,2-3,2-3 special_zeta:2-3,2-3,2-3 squeeze:1-1,2-2,2-2 squeeze_copy:1-2,2-3,2-3 std:2-5,1-5,1-2
    std_mean:2-4,1-4,1-2 subtract:2-4,2-3 sum:1-2,2-5 tensor_split:2-3,2-3,2-3 trapezoid:2-3,1-3 trapz:1-3,2-3 true_divide:2-3,2-2
    var:2-5,1-5,1-2 var_mean:2-4,1-4,1-2 view_copy:2-3,2-3 vsplit:2-2,2-2 where:1-1,3-4,3-3,3-3,3-3 xlogy:2-3,2-3,2-3
    """
)
OF_METHODS = _signatures(
    """
    all:0-0,0-2,1-2 any:0-0,0-2,1-2 argsort:1-3,0-2 bernoulli:0-1,1-2 bernoulli_:1-2,0-2 bitwise_and:1-1,1-1 bitwise_and_:1-1,1-1
    bitwise_left_shift:1-1,1-1 bitwise_left_shift_:1-1,1-1 bitwise_or:1-1,1-1 bitwise_or_:1-1,1-1 bitwise_right_shift:1-1,1-1
    bitwise_right_shift_:1-1,1-1 bitwise_xor:1-1,1-1 bitwise_xor_:1-1,1-1 clamp:0-2,0-2 clamp_:0-2,0-2 clamp_max:1-1,1-1
    clamp_max_:1-1,1-1 clamp_min:1-1,1-1 clamp_min_:1-1,1-1 clip:0-2,0-2 clip_:0-2,0-2 copysign:1-1,1-1 copysign_:1-1,1-1
    count_nonzero:0-1,1-1 div:1-1,2-2,2-2 div_:1-1,2-2,2-2 divide:1-1,2-2,1-1,2-2 divide_:1-1,2-2,1-1,2-2 dsplit:1-1,1-1
    eq:1-1,1-1 eq_:1-1,1-1 fill_:1-1,1-1 float_power:1-1,1-1 float_power_:1-1,1-1 floor_divide:1-1,1-1 floor_divide_:1-1,1-1
    fmod:1-1,1-1 fmod_:1-1,1-1 ge:1-1,1-1 ge_:1-1,1-1 greater:1-1,1-1 greater_:1-1,1-1 greater_equal:1-1,1-1
    greater_equal_:1-1,1-1 gt:1-1,1-1 gt_:1-1,1-1 histogram:1-3,0-4 hsplit:1-1,1-1 index_fill:3-3,3-3 index_fill_:3-3,3-3
    le:1-1,1-1 le_:1-1,1-1 lerp:2-2,2-2 lerp_:2-2,2-2 less:1-1,1-1 less_:1-1,1-1 less_equal:1-1,1-1 less_equal_:1-1,1-1 lt:1-1,1-1
    lt_:1-1,1-1 masked_fill:2-2,2-2 masked_fill_:2-2,2-2 max:0-0,1-1,1-2 mean:0-1,1-3 min:0-0,1-1,1-2 moveaxis:2-2,2-2
    movedim:2-2,2-2 multiply:1-1,1-1 multiply_:1-1,1-1 nanquantile:1-4,1-4 narrow:3-3,3-3 ne:1-1,1-1 ne_:1-1,1-1
    new:0-1,1-1,1-1,1-2,1-2 nonzero:0-0,1-1 not_equal:1-1,1-1 not_equal_:1-1,1-1 pow:1-1,1-1 pow_:1-1,1-1 prod:0-1,1-3
    quantile:1-4,1-4 random_:0-1,2-3,1-2 remainder:1-1,1-1 remainder_:1-1,1-1 repeat_interleave:1-3,1-3 round:0-0,1-1
    round_:0-0,1-1 scatter:3-3,4-4,3-3,4-4 scatter_:3-3,4-4,3-3,4-4 set_:0-0,1-1,3-4,1-1,3-4 sort:1-3,0-2 squeeze:0-0,1-1,1-1
    squeeze_:0-0,1-1,1-1 std:1-3,0-3,0-1 subtract:1-2,1-2 subtract_:1-2,1-2 sum:0-1,1-3 tensor_split:1-2,1-2,1-2 to:0-5,1-4,1-4
    to_sparse:0-3,1-1 true_divide:1-1,1-1 true_divide_:1-1,1-1 var:1-3,0-3,0-1 view:1-1,1-1 vsplit:1-1,1-1 where:2-2,2-2
    xlogy:1-1,1-1 xlogy_:1-1,1-1
    """
)
# Functions for which a missing argument is no error by itself, since another signature may do without it. The last have older signatures,
# which PyTorch does not list.
SEVERAL = frozenset((*OF_FUNCTIONS, *["add", "addbmm", "addcdiv", "addcmul", "addmv", "addr", "sub"]))
_REFUSED = re.compile(r"^(?P<name>\w+)\(\): argument '\w+'( \(position \d+\))? must be ")
_LACKING = re.compile(r"^(?P<name>\w+)\(\) missing \d+ required")


def invalid_combination(
    message: str, method: bool, args: tuple[object, ...], kwargs: Mapping[str, object], expected: str
) -> str:
    """The message about an argument of a wrong type as a function of several signatures gives it.

    Args:
        message: that of a function of one signature. Any other message is returned as it is.
        method: whether the first of the arguments is the tensor whose method it is.
        expected: the signature, for the end of the message.
    """
    lacking = _LACKING.match(message)
    if lacking and lacking["name"] in LISTED:
        return invalid_arguments(lacking["name"], method, args[1:] if method else args, kwargs)
    refused = _REFUSED.match(message)
    counts = refused and (OF_METHODS if method else OF_FUNCTIONS).get(refused["name"])
    if not refused or not counts:
        return message
    positional = args[1:] if method else args
    if sum(len(positional) + len(kwargs) in count for count in counts) == 1:
        return message
    if refused["name"] in LISTED:
        return invalid_arguments(refused["name"], method, positional, kwargs)
    types = ", ".join([*map(type_name, positional), *(f"{name}={type_name(value)}" for name, value in kwargs.items())])
    if kwargs and not positional:
        types += ", "  # as PyTorch has it
    return (
        f"{refused['name']}() received an invalid combination of arguments - got ({types}), but expected one of:\n"
        f" * ({expected})\n"
    )


# ---- the order of arguments of early PyTorch, factors first, which PyTorch takes with a warning


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


def _is_number(value: object) -> bool:
    """Whether PyTorch takes it for a number: a tensor without dimensions is one, unless it requires a gradient."""
    return isinstance(value, (int, float, complex)) or (
        isinstance(value, Tensor) and not value.dim() and not value.requires_grad
    )


def as_called_now(
    name: str, args: tuple[object, ...], kwargs: Mapping[str, object], method: bool, shown: str | None = None
) -> tuple[tuple[object, ...], dict[str, object]] | None:
    """The arguments of a call by an older signature in today's order, after its warning; None if it is no such call.

    Args:
        method: the first argument is the tensor whose method was called.
        shown: the name in the warning, if that is another one.
    """
    older = OLDER.get(name.removesuffix("_"))
    if older is None or not kwargs.keys() <= set(older.tensors):
        return None
    args = (*args, *[kwargs[tensor] for tensor in older.tensors if tensor in kwargs])
    first = 0 if method or len(older.factors) == 1 else 1  # the place of the first tensor
    count = len(args) - 1 - len(older.tensors)
    if not 1 <= count <= len(older.factors):
        return None
    numbers, tensors = [*args[:first], *args[first + 1 : count + 1]], [args[first], *args[count + 1 :]]
    if not all(map(_is_number, numbers)):
        return None
    # Of these, sums take numbers for tensors.
    one_of = (Tensor, int, float, complex) if older.tensors == ("other",) else Tensor
    if not all(isinstance(tensor, one_of) for tensor in tensors) or not any(isinstance(arg, Tensor) for arg in args):
        return None
    numbers = [number.item() if isinstance(number, Tensor) else number for number in numbers]
    factors = older.factors[:count]
    shown = shown or name
    warn_once(
        f"This overload of {shown} is deprecated:\n\t{older.text(shown, True, not method, factors)}\nConsider using one of the following "
        f"signatures instead:\n\t{older.text(shown, False, not method, factors)} (Triggered internally at "
        "torchlike/dispatch/overloads.py.)"
    )
    return tuple(tensors), dict(zip(factors, numbers, strict=True))
