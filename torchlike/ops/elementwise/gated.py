"""Activations with a second operand: a learnt slope, a random slope, or the other half of the input as a gate."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from ..._core.meta import on_meta
from ..._core.tensor import Tensor, from_value, wrap_dim
from ...dispatch.register import Autocast, Category, Form, Promote, Sample, composite, op
from ...engine.value import Value
from ...random_streams import rng, sampling
from ...random_streams.by_device import generator_on_host


@op(
    name="_prelu_kernel",
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    backward="PreluKernelBackward0",
    zero_second=True,
    samples=[Sample(shapes=((2, 3, 4), (3,)))],
    autocast=Autocast.LOWER,
)
def with_slopes(input: Array, weight: Array) -> Array:
    """``input`` where it is positive, else ``weight * input``; one weight, or one for each channel."""
    if weight.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
    if weight.dtype != input.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {input.dtype} and {weight.dtype}")
    if weight.size != 1:
        channels = input.shape[1] if input.ndim > 1 else 1
        if not input.ndim:
            raise RuntimeError("Not allow zero-dim input tensor.")
        if weight.size != channels:
            raise RuntimeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {weight.size} and channel size = "
                f"{channels}."
            )
        weight = weight.reshape((1, -1) + (1,) * (input.ndim - 2)) if input.ndim > 1 else weight
    else:
        weight = weight.reshape(())
    return jnp.where(input > 0, input, weight * input)


@composite(forms=Form.FUNCTION | Form.METHOD | Form.FUNCTIONAL)
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """``input`` where it is positive, else ``weight * input``: one weight, or one for each channel of (N, C, ...).

    >>> F.prelu(torch.tensor([-1.0, 0.0, 2.0]), torch.tensor(0.25))
    tensor([-0.2500,  0.0000,  2.0000])

    Source: He et al., "Delving deep into rectifiers" (2015).
    """
    return with_slopes(input, weight)


@op(
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    refuse="glu_cpu",
    forms=Form.FUNCTIONAL,
    samples=[Sample(shapes=((3, 4),)), Sample(shapes=((4, 3),), args=(0,))],
)
def glu(input: Array, dim: int = -1) -> Array:
    """The first half of a dimension times the sigmoid of the second.

    >>> F.glu(torch.tensor([1.0, 2.0, 0.0, 0.0]))
    tensor([0.5000, 1.0000])
    """
    if not input.ndim:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    axis = wrap_dim(dim, input.ndim)
    if input.shape[axis] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {axis} is size {input.shape[axis]}")
    first, second = jnp.split(input, 2, axis=axis)
    if input.dtype.itemsize < 4:
        return (first.astype(jnp.float32) * jax.nn.sigmoid(second.astype(jnp.float32))).astype(input.dtype)
    return first * jax.nn.sigmoid(second)


@op(
    name="_leaky",
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    backward="RreluWithNoiseBackward0",
    zero_second=True,
    samples=[Sample(shapes=((3, 4), (3, 4)))],
)
def leaky(input: Array, slopes: Array) -> Array:
    """``input`` where it is positive, else ``slopes * input``."""
    return jnp.where(input <= 0, slopes * input, input)


@composite(forms=Form.FUNCTION)
def rrelu(
    input: Tensor,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    generator: rng.Generator | None = None,
) -> Tensor:
    """``input`` where it is positive, else a slope times it: drawn from [lower, upper) in training, their mean otherwise.

    Source: Xu et al., "Empirical evaluation of rectified activations in convolution network" (2015).
    """
    if lower > upper:
        raise RuntimeError(f"Lower bound should be less than or equal to the upper bound, but got {lower} and {upper}")
    if not training:
        from .activation import leaky_relu

        return leaky_relu(input, (lower + upper) / 2)
    if on_meta(input):
        return leaky(input, input.detach())
    array = input._array()
    slopes = np.ones(array.shape, array.dtype)
    # PyTorch draws numbers only for the elements that are not positive, in the order of memory.
    cold = array <= 0
    source = generator_on_host(input._aval.placement, generator)
    slopes[cold] = sampling.uniform(source, int(cold.sum()), np.float64, lower, upper)
    return leaky(input, from_value(Value.on_host(slopes, input._aval.placement)))
