"""The ways to compute attention: in two halves, and without the square of all scores; the numbers, derivatives and errors of the whole."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
import pytest

import torchlike as torch
from torchlike.nn.attention import SDPBackend, sdpa_kernel
from torchlike.ops.nn.attention import HALVED_FROM, attention

pytestmark = pytest.mark.composed
LENGTHS = {  # queries and keys
    "shortest": (HALVED_FROM, HALVED_FROM),
    "odd": (HALVED_FROM + 1, HALVED_FROM + 1),
    "few keys": (HALVED_FROM, HALVED_FROM // 2 - 9),
    "some keys": (HALVED_FROM, HALVED_FROM // 2 + 9),
    "many keys": (HALVED_FROM, HALVED_FROM + 40),
}


def inputs(queries: int, keys: int, dtype: torch.dtype = torch.float64, heads: int = 2) -> list[torch.Tensor]:
    random = np.random.default_rng(0)
    shapes = (1, 2, queries, 4), (1, heads, keys, 4), (1, heads, keys, 4)
    return [torch.from_numpy(random.standard_normal(shape)).to(dtype).requires_grad_() for shape in shapes]


def attend(inputs: Sequence[torch.Tensor], mask: torch.Tensor | None = None, **options: Any) -> torch.Tensor:
    query, key, value = inputs
    return torch.nn.functional.scaled_dot_product_attention(query, key, value, mask, is_causal=mask is None, **options)


def below(queries: int, keys: int) -> torch.Tensor:
    return torch.ones(queries, keys, dtype=torch.bool).tril()


def close(a: torch.Tensor, b: torch.Tensor) -> None:
    torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_halves_have_the_numbers_and_gradients_of_a_mask(lengths):
    arrays = inputs(*lengths)
    causal, masked = attend(arrays), attend(arrays, below(*lengths))
    close(causal, masked)
    weight = torch.linspace(-1, 1, causal.numel(), dtype=torch.float64).view(causal.shape)
    for d, wanted in zip(*(torch.autograd.grad((out * weight).sum(), arrays) for out in (causal, masked)), strict=True):
        close(d, wanted)


def test_second_derivatives():
    arrays = inputs(HALVED_FROM, HALVED_FROM)

    def penalty(mask):
        gradients = torch.autograd.grad(attend(arrays, mask).sin().sum(), arrays, create_graph=True)
        return torch.autograd.grad(sum((d * d).sum() for d in gradients), arrays)

    for d, wanted in zip(penalty(None), penalty(below(HALVED_FROM, HALVED_FROM)), strict=True):
        assert d is not None and wanted is not None
        close(d, wanted)


def test_shared_heads_and_a_scale():
    arrays = inputs(HALVED_FROM, HALVED_FROM, heads=1)
    options = {"enable_gqa": True, "scale": 0.3}
    close(attend(arrays, **options), attend(arrays, below(HALVED_FROM, HALVED_FROM), **options))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_lower_precision_rounds_as_with_a_mask(dtype):
    arrays = inputs(HALVED_FROM, HALVED_FROM, dtype)
    causal, masked = attend(arrays), attend(arrays, below(HALVED_FROM, HALVED_FROM))
    torch.testing.assert_close(causal, masked)


def test_values_for_another_number_of_keys_are_refused():
    query, key, value = inputs(HALVED_FROM, HALVED_FROM)
    with pytest.raises(RuntimeError, match="Expected size for first two dimensions of batch2 tensor"):
        attend((query, key, value[:, :, :-1]))


@pytest.mark.recorded
@pytest.mark.parametrize(("length", "platform", "share"), [(256, "cpu", 0.75), (255, "cpu", 1), (256, "cuda", 1)])
def test_a_quarter_of_the_products_is_left_out(length, platform, share):
    shape = jax.ShapeDtypeStruct((1, length, 8), np.float32)

    def compute(query, key, value):
        return attention.declared.compute(query, key, value, None, None, True, None, False, platform)

    products = [e for e in jax.make_jaxpr(compute)(shape, shape, shape).eqns if e.primitive.name == "dot_general"]
    scores = sum(e.outvars[0].aval.size for e in products[::2])
    assert scores == share * length * length


def test_sequences_that_grow_are_traced_once():
    def step(length):
        query, key, value = (x.detach() for x in inputs(length, length, torch.float32))
        return attend((query, key, value)).sum().item()

    for length in range(HALVED_FROM, HALVED_FROM + 8):
        step(length)
    torch.explain(reset=True)
    for length in range(HALVED_FROM + 8, HALVED_FROM + 14):
        step(length)
    assert not torch.explain().not_generic


# Shapes of queries, keys, values and of the mask; and whether heads share keys.
CALLS = {
    "matrices": ((5, 3), (6, 3), (6, 2), (5, 6), False),
    "one batch": ((2, 5, 3), (2, 6, 3), (2, 6, 3), None, False),
    "another number of dimensions": ((4, 5, 3), (2, 4, 6, 3), (6, 3), (6,), False),
    "keys that all heads share": ((2, 4, 5, 3), (2, 1, 6, 3), (1, 6, 3), (2, 1, 1, 6), False),
    "values for each head": ((2, 4, 5, 3), (2, 1, 6, 3), (2, 4, 6, 3), (4, 5, 1), False),
    "a mask with a batch": ((5, 3), (6, 3), (6, 3), (2, 3, 5, 6), False),
    "five dimensions": ((2, 1, 4, 5, 3), (3, 4, 6, 3), (3, 1, 6, 3), (2, 1, 1, 5, 6), False),
    "shared heads": ((2, 6, 5, 3), (2, 2, 6, 3), (2, 2, 6, 3), (6, 5, 6), True),
    "differently shared heads": ((2, 6, 5, 3), (2, 2, 6, 3), (2, 3, 6, 3), None, True),
    "no batch": ((0, 2, 5, 3), (0, 2, 6, 3), (0, 2, 6, 3), None, False),
    "no keys": ((2, 5, 3), (2, 0, 3), (2, 0, 3), None, False),
}


def computed(call: Any, kernel: str, causal: bool = False, dtype: Any = np.float64) -> list[Any]:
    """The result, and the gradients of all inputs."""
    *shapes, mask, gqa = call
    random = np.random.default_rng(0)
    arrays = [random.standard_normal(s).astype(dtype) for s in shapes + [mask] * (mask is not None)]

    def compute(query, key, value, mask=None):
        return attention.declared.compute(query, key, value, mask, None, causal, None, gqa, "cpu", kernel)

    def everything(*arrays):
        out, pull = jax.vjp(compute, *arrays)
        return out, pull(jax.numpy.cos(out))

    return jax.tree.leaves(jax.jit(everything)(*arrays))


@pytest.mark.costly
@pytest.mark.recorded
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_all_ways_give_the_same(call):
    with jax.enable_x64(True):
        for got, wanted in zip(computed(call, "fused"), computed(call, "math"), strict=True):
            assert got.shape == wanted.shape
            np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.recorded
@pytest.mark.parametrize(
    ("length", "keys", "platform", "dtype", "kernel", "in_blocks"),
    [
        (64, 64, "cpu", "float32", "", False),
        (64, 64, "cpu", "bfloat16", "fused", True),
        (64, 64, "gpu", "float32", "", False),
        (1024, 1024, "gpu", "float32", "", False),
        (1024, 1024, "cpu", "bfloat16", "", True),
        (4096, 4096, "gpu", "float32", "", True),
        (64, 64, "gpu", "bfloat16", "", True),
        (64, 64, "gpu", "bfloat16", "math", False),
        (2048, 1024, "cpu", "float32", "", True),
        (2048, 1024, "cpu", "float32", "math", False),
        (1, 8192, "cpu", "float32", "", False),
    ],
)
def test_the_way_depends_on_sizes_platform_and_kernel(length, keys, platform, dtype, kernel, in_blocks):
    query, key = (jax.ShapeDtypeStruct((2, n, 8), dtype) for n in (length, keys))

    def compute(query, key, value):
        return attention.declared.compute(query, key, value, None, None, False, None, False, platform, kernel)

    names = [e.primitive.name for e in jax.make_jaxpr(compute)(query, key, key).eqns]
    assert ("torchlike_attention" in names) is in_blocks


def test_long_sequences_have_the_numbers_of_the_formula():
    arrays = inputs(700, 800, torch.float32, heads=1)
    found = []
    for kernels in (list(SDPBackend), [SDPBackend.MATH]):
        with sdpa_kernel(kernels):
            out = attend(arrays, enable_gqa=True)
            out.sum().backward()
        found.append([out.detach(), *[x.grad for x in arrays]])
        for x in arrays:
            x.grad = None
    for got, wanted in zip(*found, strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4)
