"""torch.nn.attention: errors if all of PyTorch's kernels for a call are switched off, and causal masks by corner."""

from typing import Any

import pytest

import torchlike as torch
from torchlike import nn
from torchlike.backends import cuda
from torchlike.nn.attention import SDPBackend, bias, sdpa_kernel

X = torch.linspace(-1, 1, 8).reshape(1, 1, 2, 4)
NONE = (
    "No viable backend for scaled_dot_product_attention was found. This is likely due to turning off both the math kernel and the "
    "fused kernels."
)


def attend(x=X, **options):
    return nn.functional.scaled_dot_product_attention(x, x, x, **options)


@pytest.mark.parametrize("kernel", [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION, [SDPBackend.FLASH_ATTENTION]])
def test_a_kernel_that_pytorch_has_gives_the_same(kernel):
    with sdpa_kernel(kernel):
        assert torch.equal(attend(), attend())
    assert torch.backends.cuda.flash_sdp_enabled()
    assert torch.backends.cuda.math_sdp_enabled()


@pytest.mark.parametrize("kernel", [SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION, SDPBackend.ERROR, []])
def test_without_a_kernel_attention_is_refused(kernel):
    with sdpa_kernel(kernel), pytest.raises(RuntimeError) as caught:
        attend()
    assert str(caught.value) == NONE


def test_what_the_flash_kernel_cannot_do_is_refused_where_it_is_the_only_one():
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        for x, options in (
            (X[0], {}),
            (X, {"dropout_p": 0.5}),
            (X, {"attn_mask": torch.ones(2, 2, requires_grad=True)}),
        ):
            with pytest.raises(RuntimeError, match=r"^No available kernel\.  Aborting execution\.$"):
                attend(x, **options)


def test_switches_and_contexts_are_one_thing():
    cuda.enable_math_sdp(False)
    cuda.enable_flash_sdp(False)
    try:
        with pytest.raises(RuntimeError, match="No viable backend"):
            attend()
    finally:
        cuda.enable_math_sdp(True)
        cuda.enable_flash_sdp(True)

    @sdpa_kernel([SDPBackend.MATH, SDPBackend.CUDNN_ATTENTION])
    def inside():
        return [
            cuda.math_sdp_enabled(), cuda.flash_sdp_enabled(), cuda.mem_efficient_sdp_enabled(), cuda.cudnn_sdp_enabled(),
        ]  # fmt: skip

    assert inside() == [True, False, False, True]
    wrong: Any = "MATH"
    with pytest.raises(AssertionError, match="^Backend must be an instance of SDPBackend or a list of SDPBackend"):
        sdpa_kernel(wrong).__enter__()


def test_causal_masks_begin_at_their_corner():
    upper, lower = bias.causal_upper_left(2, 3), bias.causal_lower_right(2, 3)
    assert upper.tolist() == [[True, False, False], [True, True, False]]
    assert lower.tolist() == [[True, True, False], [True, True, True]]
    assert (lower.variant, lower.seq_len_q, lower.seq_len_kv) == (bias.CausalVariant.LOWER_RIGHT, 2, 3)
    k = torch.linspace(0, 1, 12).reshape(1, 1, 3, 4)
    attend_to = nn.functional.scaled_dot_product_attention
    assert torch.allclose(attend_to(X, k, k, upper), attend_to(X, k, k, is_causal=True))
    assert torch.allclose(
        attend_to(X, k, k, lower)[..., 0, :], attend_to(X[..., :1, :], k[..., :2, :], k[..., :2, :])[..., 0, :]
    )
    with pytest.raises(ValueError, match="^CausalBias should not be used with causal=True$"):
        attend_to(X, k, k, lower, is_causal=True)
