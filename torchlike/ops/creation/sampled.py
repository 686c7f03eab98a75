"""Numbers drawn from laws with tensors as parameters: gamma, Dirichlet, Poisson, binomial; the first two with derivatives."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.scipy.special import digamma

from ..._core.meta import on_meta
from ..._core.tensor import Tensor, from_value, records
from ...dispatch.register import Category, Form, Promote, composite, op
from ...dispatch.type_names import type_name
from ...engine.value import Value
from ...random_streams import sampling_laws
from ...random_streams.by_device import generator_on_host
from ...random_streams.rng import Generator
from .drawing import for_each_example
from .random import redrawn


def _sample(draw: Callable[..., np.ndarray], generator: Generator | None, *parameters: Tensor) -> Tensor:
    """What ``draw`` gives for these parameters, without a history."""
    first, placement = parameters[0], parameters[0]._aval.placement
    if on_meta(first):
        return from_value(Value.without_data(first._aval))

    def by_arrays(*tensors: Tensor) -> Tensor:
        arrays = [tensor._array() for tensor in tensors]
        shape = np.broadcast_shapes(*(a.shape for a in arrays))
        array = draw(generator_on_host(placement, generator), shape, first.dtype.numpy, *arrays)
        return from_value(Value.on_host(array, placement))

    return for_each_example(by_arrays, *[p.detach() for p in parameters])


@composite(forms=Form.FUNCTION)
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Poisson counts, element by element of these rates; the derivative is 0.

    >>> torch.poisson(torch.zeros(3))
    tensor([0., 0., 0.])

    Raises:
        RuntimeError: a rate is negative.
    """
    if not isinstance(input, Tensor):
        raise TypeError(f"poisson(): argument 'input' (position 1) must be Tensor, not {type_name(input)}")
    result = _sample(sampling_laws.poisson, generator, input)
    return redrawn([input], result, "PoissonBackward0") if records(input) else result


@composite(forms=Form.FUNCTION)
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """How many of ``count`` trials of probability ``prob`` succeed, element by element.

    >>> torch.binomial(torch.tensor([3.0, 5.0]), torch.tensor([0.0, 1.0]))
    tensor([0., 5.])

    Raises:
        ValueError: the counts are no floating-point numbers. RuntimeError: the dtypes differ.
    """
    for position, (name, value) in enumerate((("count", count), ("prob", prob)), 1):
        if not isinstance(value, Tensor):
            raise TypeError(
                f"binomial(): argument '{name}' (position {position}) must be Tensor, not {type_name(value)}"
            )
    if count.dtype.category != 2:
        raise ValueError(f"binomial only supports floating-point dtypes for count, got: {count.dtype.scalar_name}")
    if prob.dtype is not count.dtype:
        raise RuntimeError(f"Found dtype {prob.dtype.scalar_name} but expected {count.dtype.scalar_name}")
    result = _sample(sampling_laws.binomial, generator, count, prob)
    inputs = [count, prob]
    return redrawn(inputs, result, "BinomialBackward0") if records(*inputs) else result


def standard_gamma(concentration: Tensor, generator: Generator | None = None) -> Tensor:
    """Gamma numbers of rate 1, with the derivative by their shape parameter."""
    return _gamma_of(concentration, _sample(sampling_laws.gamma, generator, concentration))


def sample_dirichlet(concentration: Tensor, generator: Generator | None = None) -> Tensor:
    """Points of the simplex, with the derivative by their concentrations."""
    return _dirichlet_of(concentration, _sample(sampling_laws.dirichlet, generator, concentration))


@op(
    name="_gamma_of",
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    backward="StandardGammaBackward0",
    samples=[],
)
def _gamma_of(concentration: Array, sample: Array) -> Array:
    """A gamma number as a function of its shape parameter, its place in the distribution held."""
    return _gamma(concentration, sample)


@jax.custom_jvp
def _gamma(concentration: Array, sample: Array) -> Array:
    return sample


@_gamma.defjvp
def _(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    # The rule reads the result of ``_gamma`` and not its second input: when the rule is differentiated again, the result depends on the
    # parameter.
    sample = _gamma(*primals)
    alpha, place = primals[0].astype(np.float64), sample.astype(np.float64)
    slope = lax.random_gamma_grad(alpha, place)  # pyright: ignore[reportCallIssue]  # jit hides the signature
    return sample, slope.astype(sample.dtype) * tangents[0]


@op(
    name="_dirichlet_of",
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    backward="DirichletBackward0",
    samples=[],
)
def _dirichlet_of(concentration: Array, sample: Array) -> Array:
    """A point of the simplex as a function of its concentrations."""
    return _dirichlet(concentration, sample)


@jax.custom_jvp
def _dirichlet(concentration: Array, sample: Array) -> Array:
    return sample


@_dirichlet.defjvp
def _(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    sample = _dirichlet(*primals)
    total = primals[0].sum(-1, keepdims=True)
    change = dirichlet_slope(sample, primals[0], total) * tangents[0]
    # The point stays on the simplex: whatever is added to one part is taken from all, in proportion.
    return sample, change - sample * change.sum(-1, keepdims=True)


# Nodes of the exp-sinh rule for integrals from 0 to infinity, which finds the scale of an integrand by itself.
_STEP = 0.05
_U = np.arange(-64, 65) * _STEP
_NODES = np.exp(np.pi / 2 * np.sinh(_U))
_WEIGHTS = _NODES * np.cosh(_U) * (np.pi / 2 * _STEP)


def dirichlet_slope(x: Array, alpha: Array, total: Array) -> Array:
    """How a coordinate ``x`` grows with its own concentration when the others keep their proportions, divided by ``1 - x``.

    With ``F(x; a, b)`` the distribution function of the coordinate, ``a = alpha`` and ``b = total - alpha``, it is
    ``-(dF/da) / (dF/dx) / (1 - x)``. The integral that ``dF/da`` is runs over the side of ``x`` that holds less.

    Source: Figurnov, Mohamed, Mnih, "Implicit reparameterization gradients" (2018).
    """
    kind, (x, a) = x.dtype, (array.astype(np.float64) for array in (x, alpha))
    b = total.astype(np.float64) - a
    mean_log = digamma(a) - digamma(a + b)
    left = x < a / (a + b)
    near, far, power = jnp.where(left, x, 1 - x), jnp.where(left, 1 - x, x), jnp.where(left, a, b)
    scale = 1 / power
    v = _NODES * scale[..., None]
    # The variable of integration is x * exp(-v), or its counterpart from the other end.
    grown = jnp.log1p((near / far)[..., None] * -jnp.expm1(-v))
    exponent = jnp.where(left, b, a)[..., None] - 1
    log_t = jnp.where(left[..., None], jnp.log(x)[..., None] - v, jnp.log(x)[..., None] + grown)
    density = jnp.exp(exponent * grown - _NODES)
    integral = (_WEIGHTS * (log_t - mean_log[..., None]) * density).sum(-1) * scale * near
    return (jnp.where(left, -integral, integral) / (1 - x)).astype(kind)


_standard_gamma = standard_gamma  # PyTorch's name
