"""The few in-place operations that PyTorch also has as functions: ``torch.relu_(x)``."""

from __future__ import annotations

from ...dispatch.bindings import FUNCTIONS, inplace_form  # needs those above: they declare what the rows name
from ..creation import cast as cast
from ..elementwise import (
    activation as activation,
    bessel as bessel,
    elementary as elementary,
    exponents as exponents,
    integers as integers,
    pointwise as pointwise,
)
from ..shape import complex_numbers as complex_numbers, strided_views as strided_views

__all__ = [
    "abs_", "acos_", "acosh_", "arccos_", "arccosh_", "arcsin_", "arcsinh_", "arctan_", "arctanh_", "asin_", "asinh_",
    "atan_", "atanh_", "ceil_", "celu_", "clamp_", "clamp_max_", "clamp_min_", "clip_", "conj_physical_", "cos_",
    "cosh_", "deg2rad_", "erf_", "erfc_", "exp_", "exp2_", "expm1_", "fix_", "floor_", "frac_", "log_", "log10_",
    "log1p_", "log2_", "logit_", "nan_to_num_", "neg_", "negative_", "rad2deg_", "reciprocal_", "relu_", "round_",
    "rsqrt_", "selu_", "sigmoid_", "sin_", "sinc_", "sinh_", "sqrt_", "square_", "tan_", "tanh_", "threshold_",
    "trunc_", "gcd_", "lcm_", "ldexp_", "xlogy_", "i0_", "fill_", "resize_as_",
    "zero_",
]  # fmt: skip

abs_ = inplace_form("abs")
acos_ = inplace_form("acos")
acosh_ = inplace_form("acosh")
arccos_ = inplace_form("arccos")
arccosh_ = inplace_form("arccosh")
arcsin_ = inplace_form("arcsin")
arcsinh_ = inplace_form("arcsinh")
arctan_ = inplace_form("arctan")
arctanh_ = inplace_form("arctanh")
asin_ = inplace_form("asin")
asinh_ = inplace_form("asinh")
atan_ = inplace_form("atan")
atanh_ = inplace_form("atanh")
ceil_ = inplace_form("ceil")
celu_ = inplace_form("celu")
clamp_ = inplace_form("clamp")
clamp_max_ = inplace_form("clamp_max")
clamp_min_ = inplace_form("clamp_min")
clip_ = inplace_form("clip")
conj_physical_ = inplace_form("conj_physical")
cos_ = inplace_form("cos")
cosh_ = inplace_form("cosh")
deg2rad_ = inplace_form("deg2rad")
erf_ = inplace_form("erf")
erfc_ = inplace_form("erfc")
exp_ = inplace_form("exp")
exp2_ = inplace_form("exp2")
expm1_ = inplace_form("expm1")
fix_ = inplace_form("fix")
floor_ = inplace_form("floor")
frac_ = inplace_form("frac")
log_ = inplace_form("log")
log10_ = inplace_form("log10")
log1p_ = inplace_form("log1p")
log2_ = inplace_form("log2")
logit_ = inplace_form("logit")
nan_to_num_ = inplace_form("nan_to_num")
neg_ = inplace_form("neg")
negative_ = inplace_form("negative")
rad2deg_ = inplace_form("rad2deg")
reciprocal_ = inplace_form("reciprocal")
relu_ = inplace_form("relu")
round_ = inplace_form("round")
rsqrt_ = inplace_form("rsqrt")
selu_ = inplace_form("selu")
sigmoid_ = inplace_form("sigmoid")
sin_ = inplace_form("sin")
sinc_ = inplace_form("sinc")
sinh_ = inplace_form("sinh")
sqrt_ = inplace_form("sqrt")
square_ = inplace_form("square")
tan_ = inplace_form("tan")
tanh_ = inplace_form("tanh")
threshold_ = inplace_form("threshold")
trunc_ = inplace_form("trunc")
gcd_ = inplace_form("gcd")
lcm_ = inplace_form("lcm")
ldexp_ = inplace_form("ldexp")
xlogy_ = inplace_form("xlogy")
i0_ = inplace_form("i0")
fill_ = FUNCTIONS["fill_"]
resize_as_ = FUNCTIONS["resize_as_"]
zero_ = FUNCTIONS["zero_"]
