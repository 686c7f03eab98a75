"""Every operator and its gradient within a ``jax.jit`` of the user's where JAX has no 64-bit types."""

import zlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import torchlike as torch
import torchlike.nn.functional as F
from tests.ops.samples import Call
from tests.ops.test_catalog import RECORDED, WORDS, is_random, make, numpy, outputs
from torchlike.dispatch.bindings import FUNCTIONS

# Kernels whose only 64-bit types are numbers that become floats at once.
SHOWN = {
    "relu": torch.relu,
    "celu": lambda x: F.celu(x, 0.7),
    "elu": F.elu,
    "selu": F.selu,
    "relu6": F.relu6,
    "hardtanh": F.hardtanh,
    "hardshrink": F.hardshrink,
    "softplus": F.softplus,
    "copysign": lambda x: torch.copysign(x, -1.0),
    "diag_embed": torch.diag_embed,
    "relu in a product": lambda x: torch.relu(torch.outer(x, x)).square(),
}

pytestmark = pytest.mark.uncompiled

# One call of each operator, that PyTorch has computed, with numbers that JAX can hold there.
CALLS = {
    call.op.name: call
    for call in reversed(RECORDED)
    if call.dtype not in ("float64", "complex128") and not is_random(call)
}
NARROW = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}
# All are lowered, which is where JAX refused them; one in so many is compiled and compared as well.
COMPILED_ONE_IN = 8


def tensors_in(made: list[Any]) -> list[torch.Tensor]:
    flat = [each for value in made for each in (value if isinstance(value, list) else [value])]
    return [each for each in flat if isinstance(each, torch.Tensor)]


def with_tensors(made: list[Any], tensors: list[torch.Tensor]) -> list[Any]:
    """The arguments with other tensors in the places of theirs."""
    left = iter(tensors)

    def other(value: Any) -> Any:
        return next(left) if isinstance(value, torch.Tensor) else value

    return [[other(each) for each in value] if isinstance(value, list) else other(value) for value in made]


def results_and_gradients(call: Call, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """What the call gives, and the gradients of the sum of its squares where PyTorch has recorded gradients."""
    made, kwargs, _ = make(call)
    has_gradients = "grads" in WORDS[call.key]
    leaves = [each.detach() for each in tensors]
    leaves = [
        each.requires_grad_(has_gradients and each.dtype.is_floating_point | each.is_complex()) for each in leaves
    ]
    results = outputs(FUNCTIONS[call.op.name](*with_tensors(made, leaves), **kwargs))
    if not has_gradients:
        return results
    squares = [
        (each * each.conj()).real.sum() if each.is_complex() else each.square().sum()
        for each in results
        if each.requires_grad
    ]
    wanted = [each for each in leaves if each.requires_grad]
    gradients = torch.autograd.grad(torch.stack(squares).sum(), wanted, allow_unused=True)
    return [each.detach() for each in (*results, *gradients) if each is not None]


def narrow(tensor: torch.Tensor) -> jax.Array:
    array = torch.to_jax(tensor.detach())
    return jnp.asarray(np.asarray(array).astype(NARROW.get(array.dtype.name, array.dtype)))


@pytest.mark.parametrize("name", CALLS)
def test_operators_and_gradients_work_in_a_trace_without_64_bit_types(name):
    call = CALLS[name]
    tensors = tensors_in(make(call)[0])
    dtypes = [each.dtype for each in tensors]
    arrays = [narrow(each) for each in tensors]

    @jax.jit
    def program(*arrays: jax.Array) -> list[jax.Array]:
        given = [torch.from_jax(array).to(dtype) for array, dtype in zip(arrays, dtypes, strict=True)]
        return [torch.to_jax(each) for each in results_and_gradients(call, given)]

    assert jnp.arange(1).dtype == "int32"
    lowered = program.lower(*arrays)
    expected = results_and_gradients(call, tensors)
    assert [out.shape for out in lowered.out_info] == [tuple(each.shape) for each in expected]
    if zlib.crc32(name.encode()) % COMPILED_ONE_IN == 0:
        for found, each in zip(lowered.compile()(*arrays), expected, strict=True):
            np.testing.assert_allclose(np.asarray(found), numpy(each), rtol=2e-3, atol=2e-4, equal_nan=True)


@pytest.mark.parametrize("name", SHOWN)
def test_a_kernel_whose_numbers_become_floats_shows_its_equations(name):
    def program(array: jax.Array) -> jax.Array:
        return torch.to_jax(SHOWN[name](torch.from_jax(array)).sum())

    array = jnp.asarray([-4.0, -0.3, 0.0, 0.4, 7.0])
    assert array.dtype == "float32"
    assert "torchlike_kernel" not in str(jax.make_jaxpr(program)(array))
    # JAX's own derivatives are those of the equations, with and without 64-bit types.
    value, gradient = jax.jit(jax.value_and_grad(program))(array)
    leaf = torch.tensor(np.asarray(array), requires_grad=True)
    expected = SHOWN[name](leaf).sum()
    expected.backward()
    np.testing.assert_allclose(np.asarray(value), expected.item(), rtol=2e-5)
    np.testing.assert_allclose(np.asarray(gradient), numpy(leaf.grad), rtol=2e-5, atol=1e-6)


def test_a_kernel_that_counts_stands_as_one_equation_where_there_are_no_64_bit_types():
    jaxpr = jax.make_jaxpr(lambda array: torch.to_jax(torch.from_jax(array).argmax()))(jnp.ones(3))
    assert [each.primitive.name for each in jaxpr.eqns] == ["torchlike_kernel"]
