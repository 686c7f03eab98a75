"""Attention in half types on an accelerator, by its kernel where it has one: PyTorch's values, up to the precision of the type."""

import os
from typing import Any

import jax
import numpy as np
import pytest

import torchlike as torch
from torchlike.accelerator import described
from torchlike.nn.attention import SDPBackend, sdpa_kernel

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


# Heads of queries and of keys, numbers of queries and of keys, the mask, and whether it is causal.
DROPPED: dict[str, Any] = {
    "one block": (4, 4, 40, 37, None, False),
    "several blocks, causal": (2, 2, 1030, 1001, None, True),
    "several blocks, shared heads and a mask": (4, 2, 600, 1001, (1, 4, 600, 1001), False),
}


def dropping(name: str, device: str, dtype: Any = torch.float64) -> Any:
    """Inputs of attention, and a function of them and of a way to compute it that always drops the same weights."""
    heads, shared, queries, keys, mask, causal = DROPPED[name]
    random = np.random.default_rng(0)
    shapes = [(2, heads, queries, 8), (2, shared, keys, 8), (2, shared, keys, 8)] + ([mask] if mask else [])
    given: list[Any] = [torch.from_numpy(random.standard_normal(s)).to(device, dtype).requires_grad_() for s in shapes]

    def attend(backend, *given):
        torch.manual_seed(3)
        options: Any = {"dropout_p": 0.3, "is_causal": causal, "enable_gqa": heads != shared}
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(*given, **options)

    return given, attend


@pytest.mark.parametrize("name", DROPPED)
def test_blocks_drop_the_weights_that_the_formula_drops(name, device):
    given, attend = dropping(name, device)
    found = []
    for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.MATH):
        out = attend(backend, *given)
        weight = torch.linspace(-1, 1, out.numel(), dtype=out.dtype, device=device).view(out.shape)
        found.append([out.detach(), *torch.autograd.grad(out, given, weight)])
    for got, wanted in zip(*found, strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-9, atol=1e-9)
    plain = torch.nn.functional.scaled_dot_product_attention(
        *given, is_causal="causal" in name, enable_gqa="shared" in name
    )
    assert (found[0][0] - plain).abs().mean().item() > 0.01


@pytest.mark.parametrize("backend", [SDPBackend.FLASH_ATTENTION, SDPBackend.MATH])
def test_gradients_with_dropped_weights_are_those_of_what_was_computed(backend, device):
    """Of the first and the second order, by differences under a fixed seed; and of many at once."""
    given, attend = dropping("one block", device)
    small = [x[:1, :2, :5].detach().requires_grad_() for x in given]
    assert torch.autograd.gradcheck(lambda *given: attend(backend, *given), small, fast_mode=True)
    assert torch.autograd.gradgradcheck(lambda *given: attend(backend, *given), small, fast_mode=True)
    out = attend(backend, *given)
    cotangents = torch.randn(3, *out.shape, dtype=out.dtype, device=device)
    many = torch.autograd.grad(out, given, cotangents, is_grads_batched=True, retain_graph=True)
    for n, cotangent in enumerate(cotangents):
        for got, wanted in zip(many, torch.autograd.grad(out, given, cotangent, retain_graph=True), strict=True):
            torch.testing.assert_close(got[n], wanted)


def test_attention_with_dropout_keeps_no_square_of_the_weights(monkeypatch):
    """The weights of two heads of 2,048 tokens are 32 MiB; queries, keys and values 0.25 MiB each."""
    monkeypatch.setattr(described, "_chips", lambda topology: jax.devices("cpu")[:1])
    with torch.compiled_for("tpu:v5e:2x2") as compiled:
        given: list[Any] = [torch.randn(1, 2, 2048, 16).to("tpu").requires_grad_() for _ in range(3)]
        for _ in range(3):
            out = torch.nn.functional.scaled_dot_product_attention(*given, dropout_p=0.1, is_causal=True)
            out.square().sum().backward()
            torch.stack([x.grad.sum() for x in given]).sum().item()
            for x in given:
                x.grad = None
    assert 0 < compiled.programs[-1].temporary_bytes < 2**24
