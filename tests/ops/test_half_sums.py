"""Tests that a half-precision product plus a bias is added in float32 and rounded once, by every operator that has such a sum.

The product is the number that lies between two neighbours of the dtype and is rounded down; with the bias of one it is the upper neighbour.
Rounded before the addition it would stay the lower one.
"""

import re
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import torchlike as torch
from torchlike.ops.linalg.matmul import contract

F = torch.nn.functional

LOWER = {torch.bfloat16: 256.0, torch.float16: 2048.0}


def ones(*shape, like):
    return torch.ones(*shape, dtype=like.dtype)


def conv(function, rank, kernel=1, groups=1, transposed=False):
    """Convolves images whose channels are the two numbers of ``pair``, in each of so many groups."""

    def call(pair):
        image = pair.repeat(groups).reshape(1, 2 * groups, *(1,) * rank)
        shape = (2 * groups, 1) if transposed else (groups, 2)
        weight = torch.zeros(*shape, *(kernel,) * rank, dtype=pair.dtype)
        weight[(..., *(kernel // 2,) * rank)] = 1
        return function(image, weight, ones(groups, like=pair), padding=kernel // 2, groups=groups)

    return call


# Each is given the numbers that add up to the product, and adds one to it.
SUMS = {
    "linear": lambda p: F.linear(p, ones(3, 2, like=p), ones(3, like=p)),
    "linear of rows": lambda p: F.linear(p.repeat(2, 2, 1), ones(3, 2, like=p), ones(3, like=p)),
    "Linear": lambda p: filled(torch.nn.Linear(2, 3), p)(p),
    "addmm": lambda p: torch.addmm(ones(1, 3, like=p), p[None], ones(2, 3, like=p)),
    "addmm, scaled": lambda p: torch.addmm(2 * ones(1, 3, like=p), p[None] / 4, ones(2, 3, like=p), beta=0.5, alpha=4),
    "addmm in place": lambda p: ones(1, 3, like=p).addmm_(p[None], ones(2, 3, like=p)),
    "addmm into": lambda p: torch.addmm(ones(3, like=p), p[None], ones(2, 3, like=p), out=ones(1, 3, like=p)),
    "addbmm": lambda p: torch.addbmm(ones(1, 3, like=p), p[None, None], ones(1, 2, 3, like=p)),
    "baddbmm": lambda p: torch.baddbmm(ones(3, like=p), p.expand(4, 1, 2), ones(4, 2, 3, like=p)),
    "addmv": lambda p: torch.addmv(ones(3, like=p), p.expand(3, 2), ones(2, like=p)),
    "conv1d": conv(F.conv1d, 1),
    "conv1d of three": conv(F.conv1d, 1, kernel=3),
    "conv2d": conv(F.conv2d, 2),
    "conv2d of three": conv(F.conv2d, 2, kernel=3),
    "conv2d in groups": conv(F.conv2d, 2, kernel=3, groups=2),
    "conv3d": conv(F.conv3d, 3, kernel=3),
    "conv_transpose1d": conv(F.conv_transpose1d, 1, kernel=3, transposed=True),
    "conv_transpose2d": conv(F.conv_transpose2d, 2, kernel=3, transposed=True),
    "conv_tbc": lambda p: torch.conv_tbc(p.expand(1, 1, 2), ones(1, 2, 1, like=p), ones(1, like=p)),
    "RNNCell": lambda p: filled(torch.nn.RNNCell(2, 3, nonlinearity="relu"), p, bias_hh=0)(p[None]),
    "RNN": lambda p: filled(torch.nn.RNN(2, 3, nonlinearity="relu"), p, bias_hh_l0=0)(p[None])[0],
}


def filled(module, pair, **values):
    """The module in the pair's dtype with ones as its parameters, or these numbers."""
    for name, parameter in module.named_parameters():
        torch.nn.init.constant_(parameter, values.get(name, 1))
    return module.to(pair.dtype)


@pytest.mark.parametrize("dtype", LOWER, ids=str)
@pytest.mark.parametrize("name", SUMS)
def test_a_product_plus_a_bias_is_rounded_once(name, dtype):
    lower = LOWER[dtype]
    with torch.no_grad():
        result = SUMS[name](torch.tensor([lower, 1.0], dtype=dtype))
    assert result.dtype == dtype
    assert set(result.flatten().tolist()) == {lower + 2}


@pytest.mark.parametrize("dtype", LOWER, ids=str)
@pytest.mark.parametrize(
    "name", ["linear", "addmm", "baddbmm", "addbmm", "conv1d of three", "conv2d", "conv_transpose2d"]
)
def test_under_autocast_as_well(name, dtype):
    lower = LOWER[dtype]
    with torch.no_grad(), torch.autocast("cpu", dtype):
        result = SUMS[name](torch.tensor([lower, 1.0]))
    assert result.dtype == dtype
    assert set(result.flatten().tolist()) == {lower + 2}


@pytest.mark.parametrize("dtype", LOWER, ids=str)
def test_gradients_keep_their_dtypes(dtype):
    generator = torch.Generator().manual_seed(0)
    x, w, b = (
        torch.randn(shape, generator=generator).to(dtype).requires_grad_()
        for shape in ((2, 4, 6, 6), (5, 4, 3, 3), (5,))
    )
    rows, matrix = (torch.randn(shape, generator=generator).to(dtype).requires_grad_() for shape in ((3, 5), (5, 5)))
    call: Any
    for inputs, call in (((x, w, b), F.conv2d), ((rows, matrix, b), F.linear)):
        gradients = torch.autograd.grad(call(*inputs).square().sum(), inputs)
        wide = [tensor.detach().double().requires_grad_() for tensor in inputs]
        wanted = torch.autograd.grad(call(*wide).square().sum(), wide)
        for gradient, exact in zip(gradients, wanted, strict=True):
            assert gradient.dtype == dtype
            torch.testing.assert_close(gradient.double(), exact, rtol=0.02, atol=float(exact.abs().max()) / 50)


@pytest.mark.recorded
@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
@pytest.mark.parametrize("rounded", [True, False])
def test_gradients_of_products_are_products_of_half_types(dtype, rounded):
    """A product of float32 takes five times as long on a GPU."""

    def gradients(a, b, cotangent):
        out, pullback = jax.vjp(lambda a, b: contract(a, b, ((1,), (0,)), rounded=rounded).astype(dtype), a, b)
        return pullback(cotangent), out

    shapes = [jax.ShapeDtypeStruct(shape, dtype) for shape in ((4, 5), (5, 6), (4, 6))]
    lowered = jax.jit(gradients).lower(*shapes).as_text()
    operands = re.findall(r"dot_general .*?: \((.*?)\) ->", lowered)
    assert len(operands) == 3 and not any("f32" in each for each in operands)
