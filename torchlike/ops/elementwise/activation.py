"""Element-wise activations, under the names that ``nn.functional`` uses. Those PyTorch has at its top level are exported."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from ..._core.annotations import Dtype
from ..._core.tensor import Tensor
from ...dispatch.out_dtypes import FOUND
from ...dispatch.register import Autocast, Category, Form, Number, Promote, Sample, Saves, Validation, composite, op
from ...numerics.derivatives import custom_jvp
from ...numerics.exact_math import exact_quotient
from ...numerics.half_precision import in_float32, keeping_halves
from . import division, elementary, pointwise

ONE = Sample(shapes=((3, 4),))
EDGES = Sample(
    values=([-float("inf"), -3.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 3.0, 6.0, float("inf"), float("nan")],),
    dtypes=("float32",),
    gradient=False,
)


def _activation(kernel: str, *more: Sample, **fields: object) -> dict[str, Any]:
    """Fields of the declarations that activations share: they take floats only and are in ``torch.nn.functional`` alone."""
    common = {
        "promote": Promote.DEFAULT,
        "accepts": Category.FLOAT,
        "forms": Form.FUNCTIONAL,
        "refuse": kernel,
        "zero_second": True,
    }
    return common | {"samples": [ONE, EDGES, *more]} | fields


def _refuse_relu(name: str, dtype: Dtype) -> Exception:
    if dtype.is_complex:
        return NotImplementedError("clamp is not supported for complex types")
    return RuntimeError(f"Boolean inputs not supported for {name}")


@custom_jvp
def _rectified(x: Array) -> Array:
    return jnp.where(x < 0, 0, x)  # NaN and -0 stay what they are


@_rectified.defjvp
def _rectified_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    return _rectified(x), jnp.where(x <= 0, 0, dx)  # PyTorch's derivative at 0 is 0


@op(
    promote=Promote.DEFAULT,
    accepts=Category.INTEGER | Category.FLOAT,
    forms=Form.UNARY & ~Form.OUT | Form.INPLACE_ARGUMENT | Form.INPLACE_FUNCTIONAL,  # torch.relu takes no out=
    saves=Saves.RESULT,
    refuse=_refuse_relu,
    zero_second=True,
    samples=[ONE, EDGES, Sample(shapes=((0, 3),)), Sample(shapes=((),))],
)
def relu(input: Array) -> Array:
    """Replaces every negative element by zero.

    >>> torch.relu(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([0., 0., 2.])
    """
    return _rectified(input)


@op(
    **_activation(
        "leaky_relu_cpu", Sample(shapes=((4,),), args=(0.3,)), forms=Form.INPLACE_ARGUMENT | Form.INPLACE_FUNCTIONAL
    )
)
@in_float32
def leaky_relu(input: Array, negative_slope: Number = 0.01) -> Array:
    """``input`` where it is positive, else ``negative_slope * input``.

    >>> torch.nn.functional.leaky_relu(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.0100,  0.0000,  2.0000])
    """
    return jnp.where(input > 0, input, jnp.asarray(negative_slope, input.dtype) * input)


def _elu(x: Array, alpha: object, scale: object = 1.0, input_scale: object = None) -> Array:
    # The exponential sees no positive number: an overflow there would make the derivative NaN. ``<=``, so that NaN passes.
    below, scale = x <= 0, jnp.asarray(scale, x.dtype)
    inner = x if input_scale is None else jnp.asarray(input_scale, x.dtype) * x
    return jnp.where(below, scale * jnp.asarray(alpha, x.dtype) * jnp.expm1(jnp.where(below, inner, 0)), scale * x)


@op(**_activation("elu_cpu", Sample(shapes=((4,),), args=(0.5,)), forms=Form.INPLACE_ARGUMENT))
@in_float32
def elu(input: Array, alpha: Number = 1.0) -> Array:
    """``input`` where it is positive, else ``alpha * (exp(input) - 1)``.

    >>> torch.nn.functional.elu(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.6321,  0.0000,  2.0000])

    Source: Clevert, Unterthiner, Hochreiter, "Fast and accurate deep network learning by exponential linear units", 2015.
    """
    return _elu(input, alpha)


@op(
    **_activation(
        "elu_cpu",
        Sample(shapes=((4,),), args=(0.5, 2.0, 3.0)),
        name="_scaled_elu",
        backward="EluBackward1",  # that of elu_, the one form that users have
        forms=Form.NONE,
        saves=Saves.RESULT,
    )
)
@in_float32
def scaled_elu(input: Array, alpha: Number = 1, scale: Number = 1, input_scale: Number = 1) -> Array:
    """``scale`` times ``input`` where it is positive, else times ``alpha * (exp(input_scale * input) - 1)``."""
    return _elu(input, alpha, scale, input_scale)


@op(
    **_activation(
        "elu_cpu",
        forms=Form.FUNCTION | Form.INPLACE_FUNCTION | Form.INPLACE_ARGUMENT | Form.INPLACE_FUNCTIONAL,
        backward="EluBackward0",
    )
)
@in_float32
def selu(input: Array) -> Array:
    """A scaled ``elu`` under which activations keep mean 0 and variance 1.

    >>> torch.nn.functional.selu(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-1.1113,  0.0000,  2.1014])

    Source: Klambauer et al., "Self-normalizing neural networks", 2017.
    """
    return _elu(input, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946)


@op(
    **_activation(
        "elu_cpu",
        Sample(shapes=((4,),), args=(0.5,)),
        forms=Form.FUNCTION | Form.INPLACE_FUNCTION | Form.INPLACE_ARGUMENT | Form.INPLACE_FUNCTIONAL,
    )
)
@in_float32
def celu(input: Array, alpha: Number = 1.0) -> Array:
    """``input`` where it is positive, else ``alpha * (exp(input / alpha) - 1)``.

    >>> torch.nn.functional.celu(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.6321,  0.0000,  2.0000])
    """
    if isinstance(alpha, (int, float)) and alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    alpha, below = jnp.asarray(alpha, input.dtype), input <= 0
    return jnp.where(below, alpha * jnp.expm1(jnp.where(below, input, 0) / alpha), input)


@op(
    **_activation(
        "GeluKernelImpl",
        repeatable=True,
        samples=[
            ONE,
            Sample(shapes=((4,),), kwargs={"approximate": "tanh"}),
            Sample(values=([-3.0, -0.0, 0.0, 2.0, float("nan")],), dtypes=("float32",), gradient=False),
        ],
    )
)
@keeping_halves
def gelu(input: Array, *, approximate: str = "none") -> Array:
    """``input`` times the normal distribution function of ``input``; with ``approximate="tanh"`` by a formula with tanh.

    >>> F.gelu(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.1587,  0.0000,  1.9545])

    Source: Hendrycks, Gimpel, "Gaussian error linear units", 2016.
    """
    if approximate == "none":
        return 0.5 * input * (1 + lax.erf(input * math.sqrt(0.5)))
    if approximate != "tanh":
        raise RuntimeError("approximate argument must be either none or tanh.")
    return 0.5 * input * (1 + jnp.tanh(math.sqrt(2 / math.pi) * (input + 0.044715 * input**3)))


@op(**_activation("silu_cpu", accepts=Category.INEXACT, repeatable=True, forms=Form.INPLACE_ARGUMENT))
@keeping_halves
def silu(input: Array) -> Array:
    """``input * sigmoid(input)``.

    >>> torch.nn.functional.silu(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.2689,  0.0000,  1.7616])
    """
    return input * jax.nn.sigmoid(input)


def _softplus(x: Array) -> Array:
    return jnp.logaddexp(x, jnp.zeros_like(x))


@op(**_activation("mish_cpu", repeatable=True, forms=Form.INPLACE_ARGUMENT))
@keeping_halves
def mish(input: Array) -> Array:
    """``input * tanh(softplus(input))``.

    >>> torch.nn.functional.mish(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.3034,  0.0000,  1.9440])
    """
    return input * jnp.tanh(_softplus(input))


@op(
    **_activation("softplus_cpu", Sample(shapes=((4,),), args=(2.0, 1.0)), repeatable=True),
    autocast={"cuda": Autocast.FLOAT32},
)
@keeping_halves
def softplus(input: Array, beta: Number = 1.0, threshold: Number = 20.0) -> Array:
    """``log(1 + exp(beta * input)) / beta``, and ``input`` itself where ``beta * input`` is over the threshold.

    >>> F.softplus(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([0.3133, 0.6931, 2.1269])
    """
    beta, threshold = jnp.asarray(beta, input.dtype), jnp.asarray(threshold, input.dtype)
    linear = input * beta > threshold
    return jnp.where(linear, input, jnp.log1p(jnp.exp(jnp.where(linear, 0, input * beta))) / beta)


@custom_jvp
def _inside(x: Array, low: Array, high: Array) -> Array:
    return jnp.where(x < low, low, jnp.where(x > high, high, x))  # a -0 on the border stays one


@_inside.defjvp
def _inside_jvp(primals: tuple[Array, Array, Array], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    (x, low, high), dx = primals, tangents[0]
    # The derivative on the border is 0 here, other than ``clamp``'s.
    return _inside(x, low, high), jnp.where((x <= low) | (x >= high), 0, dx)


def _refuse_hardtanh(name: str, dtype: Dtype) -> Exception:
    if dtype.is_complex:
        return NotImplementedError("clamp is not supported for complex types")
    return RuntimeError("Bool inputs not supported for hardtanh")


@op(
    **_activation(
        "",
        Sample(shapes=((4,),), args=(-0.5, 0.3)),
        accepts=Category.INTEGER | Category.FLOAT,
        refuse=_refuse_hardtanh,
        must_fit=("min_val", "max_val"),
        forms=Form.NONE,  # the function in ``torch.nn.functional`` compares the limits
    )
)
def hardtanh(input: Array, min_val: Number = -1.0, max_val: Number = 1.0) -> Array:
    """Each element moved into the range from ``min_val`` to ``max_val``."""
    return _inside(input, jnp.asarray(min_val, input.dtype), jnp.asarray(max_val, input.dtype))


@op(
    **_activation(
        "",
        accepts=Category.INTEGER | Category.FLOAT,
        refuse=_refuse_hardtanh,
        backward="HardtanhBackward0",
        forms=Form.INPLACE_ARGUMENT,
    )
)
def relu6(input: Array) -> Array:
    """Each element moved into the range from 0 to 6.

    >>> torch.nn.functional.relu6(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([0., 0., 2.])
    """
    return _inside(input, jnp.asarray(0, input.dtype), jnp.asarray(6, input.dtype))


@op(**_activation("hardsigmoid_cpu", forms=Form.INPLACE_ARGUMENT))
@in_float32
def hardsigmoid(input: Array) -> Array:
    """``relu6(input + 3) / 6``.

    >>> torch.nn.functional.hardsigmoid(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([0.3333, 0.5000, 0.8333])
    """
    middle = (input > -3) & (input < 3)
    return jnp.where(
        middle, exact_quotient(input + 3, 6.0), lax.stop_gradient(exact_quotient(jnp.clip(input + 3, 0, 6), 6.0))
    )


@op(**_activation("hardswish_cpu", forms=Form.INPLACE_ARGUMENT))
@in_float32
def hardswish(input: Array) -> Array:
    """``input * relu6(input + 3) / 6``.

    >>> torch.nn.functional.hardswish(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.3333,  0.0000,  1.6667])
    """
    middle = (input > -3) & (input < 3)
    inner = jnp.where(middle, input, 0)
    return jnp.where(
        # PyTorch multiplies by 0 as well: -inf gives NaN, other numbers below -3 give -0.0.
        middle,
        exact_quotient(inner * (inner + 3), 6.0),
        jnp.where(input <= -3, lax.stop_gradient(0 * input), input),
    )


@op(**_activation("log_sigmoid_cpu", repeatable=True, backward="LogSigmoidBackward0"))
@keeping_halves
def logsigmoid(input: Array) -> Array:
    """``log(sigmoid(input))``, exact far from 0 too.

    >>> F.logsigmoid(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-1.3133, -0.6931, -0.1269])
    """
    return -_softplus(-input)


@op(
    **_activation(
        "threshold_cpu",
        accepts=Category.INTEGER | Category.FLOAT,
        forms=Form.FUNCTION | Form.INPLACE_FUNCTION | Form.INPLACE_ARGUMENT | Form.INPLACE_FUNCTIONAL | Form.OUT,
        must_fit=("value",),
        samples=[
            Sample(shapes=((3, 4),), args=(0.1, 5.0), dtypes=("float32", "float64")),
            Sample(shapes=((4,),), args=(1, 5)),
        ],
    )
)
def threshold(input: Array, threshold: Number, value: Number) -> Array:
    """``input`` where it is over the threshold, else ``value``.

    >>> torch.nn.functional.threshold(torch.tensor([-1.0, 0.0, 2.0]), 0.5, 9.0)
    tensor([9., 9., 2.])
    """
    if input.dtype.kind == "u" and isinstance(threshold, int) and threshold < 0:
        threshold = threshold % (jnp.iinfo(input.dtype).max + 1)  # as PyTorch: negative integers wrap
    return jnp.where(input <= jnp.asarray(threshold, input.dtype), jnp.asarray(value, input.dtype), input)


@op(
    **_activation(
        "hardshrink_cpu",
        Sample(shapes=((4,),), args=(0.8,)),
        forms=Form.FUNCTION | Form.METHOD | Form.OUT | Form.FUNCTIONAL,
        must_fit=("lambd",),
    ),
    validation=Validation(out=FOUND),
)
def hardshrink(input: Array, lambd: Number = 0.5) -> Array:
    """``input`` where it is farther than ``lambd`` from 0, else 0.

    >>> F.hardshrink(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-1.,  0.,  2.])
    """
    lambd = jnp.asarray(lambd, input.dtype)
    return jnp.where((input >= -lambd) & (input <= lambd), 0, input)


@op(**_activation("softshrink_check", Sample(shapes=((4,),), args=(0.8,))))
@in_float32
def softshrink(input: Array, lambd: float = 0.5) -> Array:
    """Each element moved towards 0 by ``lambd``, and 0 where it is nearer than that.

    >>> F.softshrink(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.5000,  0.0000,  1.5000])
    """
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd:g}.")
    near = (input >= -lambd) & (input <= lambd)
    # PyTorch multiplies by 0 as well, so a negative number gives -0.0.
    return jnp.where(near, 0 * input, jnp.where(input > lambd, input - lambd, input + lambd))


@composite(forms=Form.FUNCTIONAL)
def softsign(input: Tensor) -> Tensor:
    """``input / (1 + abs(input))``.

    >>> F.softsign(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.5000,  0.0000,  0.6667])
    """
    return division.div(input, pointwise.add(pointwise.abs(input), 1))


@composite(forms=Form.FUNCTIONAL)
def tanhshrink(input: Tensor) -> Tensor:
    """``input - tanh(input)``.

    >>> F.tanhshrink(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.2384,  0.0000,  1.0360])
    """
    return pointwise.sub(input, elementary.tanh(input))
