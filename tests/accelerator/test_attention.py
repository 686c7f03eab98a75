"""Attention in half types on an accelerator, by its kernel where it has one: PyTorch's values, up to the precision of the type."""

import os
from typing import Any

import numpy as np
import pytest

import torchlike as torch

pytestmark = pytest.mark.recorded

# Heads of queries and of keys, numbers of queries and of keys, width, the mask, and whether it is causal.
CALLS: dict[str, Any] = {
    "causal": (4, 4, 64, 64, 32, None, True),
    "an odd length": (2, 2, 37, 37, 64, None, False),
    "an odd length and a mask": (2, 2, 37, 41, 64, (1, 1, 37, 41), False),
    "more keys, causal": (2, 2, 16, 50, 64, None, True),
    "more queries, causal, with a mask": (2, 2, 50, 17, 64, (2, 1, 1, 17), True),
    "shared heads": (8, 2, 33, 40, 128, None, True),
    "shared heads and a mask": (8, 2, 33, 40, 128, (2, 1, 33, 40), False),
    "a width that is no multiple of 8": (2, 2, 24, 24, 20, (1, 2, 24, 24), False),
    "one query": (4, 2, 1, 77, 64, None, False),
    "one query and a mask": (4, 2, 1, 77, 64, (2, 1, 1, 77), False),
}


@pytest.mark.costly
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("kind", ["bool", "float"])
@pytest.mark.parametrize("name", CALLS)
def test_attention_in_half_types(name, kind, dtype, device):
    heads, shared, queries, keys, width, mask, causal = CALLS[name]
    if (mask is None or not os.environ.get("TORCHLIKE_ACCELERATOR")) and (kind, dtype) != ("bool", torch.bfloat16):
        pytest.skip("the same as with booleans, or left to a run for accelerators")
    random = np.random.default_rng(0)
    shapes = (2, heads, queries, width), (2, shared, keys, width), (2, shared, keys, width)
    arrays = [torch.from_numpy(random.standard_normal(s)).to(dtype) for s in shapes]
    options: dict[str, Any] = {"is_causal": causal, "enable_gqa": heads != shared}
    masks: list[Any] = []
    if mask is not None:
        looks = torch.from_numpy(random.random(mask) < 0.7)
        if mask[2] > 1:
            looks[..., 3, :] = False  # a query that looks nowhere
        masks = [looks if kind == "bool" else torch.zeros(mask, dtype=dtype).masked_fill(~looks, -torch.inf)]

    def gradients(device, dtype):
        given: list[Any] = [x.to(device).to(dtype).detach().requires_grad_() for x in arrays]
        moved = [m.to(device).to(m.dtype if kind == "bool" else dtype) for m in masks]
        out = torch.nn.functional.scaled_dot_product_attention(*given, *moved, **options)
        weight = torch.linspace(-1, 1, out.numel()).view(out.shape).to(device).to(dtype)
        return [out.detach(), *torch.autograd.grad(out, given, weight)]

    steps = torch.finfo(dtype).eps
    for got, wanted in zip(gradients(device, dtype), gradients("cpu", torch.float64), strict=True):
        assert got is not None and wanted is not None and got.device.type == device and got.dtype == dtype
        largest = wanted.abs().max().item()
        torch.testing.assert_close(got.cpu().double(), wanted, rtol=2 * steps, atol=4 * steps * largest)


@pytest.mark.parametrize("p", [0.1, 0.75])
def test_dropout_of_weights(p, device):
    """Equal weights and one value: each query gets the share of its weights that is kept, divided by ``1 - p``."""
    keys = 999
    query, value = (torch.zeros(2, 4, n, 8, device=device, requires_grad=True) for n in (64, keys))
    torch.manual_seed(0)
    first, second = (
        torch.nn.functional.scaled_dot_product_attention(query, value, value + 1, dropout_p=p) for _ in range(2)
    )
    found = first[..., 0].double().cpu()
    assert abs(found.mean().item() - 1) < 0.01
    spread = (p / (1 - p) / keys) ** 0.5
    assert abs(found.std().item() / spread - 1) < 0.2
    assert not torch.equal(first, second)
    torch.manual_seed(0)
    again = torch.nn.functional.scaled_dot_product_attention(query, value, value + 1, dropout_p=p)
    assert torch.equal(first, again)
    # The gradient of a value is what the queries have taken of it.
    (gradient,) = torch.autograd.grad(again.sum(), value)
    assert gradient is not None
    torch.testing.assert_close(gradient.sum().item(), again.sum().item(), rtol=1e-3, atol=1e-3)
