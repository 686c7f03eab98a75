"""Attention with user-defined scores and masks. The choice of a kernel changes nothing."""

import pytest

import torchlike as torch
from torchlike.nn.attention import SDPBackend, sdpa_kernel
from torchlike.nn.attention.flex_attention import (
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    noop_mask,
    or_masks,
)
from torchlike.nn.functional import scaled_dot_product_attention

pytestmark = pytest.mark.composed

torch.manual_seed(0)
Q = torch.randn(2, 2, 4, 3)


def causal(b, h, q, k):
    return q >= k


def test_a_causal_mask_is_that_of_plain_attention():
    mask = create_block_mask(causal, None, None, 4, 4)
    out, lse = flex_attention(Q, Q, Q, block_mask=mask, return_lse=True)
    torch.testing.assert_close(out, scaled_dot_product_attention(Q, Q, Q, is_causal=True))
    assert mask.shape == (1, 1, 4, 4) and mask.sparsity() == 37.5 and lse.shape == (2, 2, 4)


def test_scores_are_changed_by_places_and_by_tables():
    slopes = torch.tensor([0.5, 0.25])
    out = flex_attention(Q, Q, Q, lambda score, b, h, q, k: score - slopes[h] * (q - k).abs())
    places = torch.arange(4)
    bias = -slopes[:, None, None] * (places[:, None] - places).abs()
    torch.testing.assert_close(out, scaled_dot_product_attention(Q, Q, Q, bias))


def test_a_query_that_looks_nowhere_gets_zeros_and_a_gradient_that_is_a_number():
    x = Q.clone().requires_grad_()
    out = flex_attention(
        x, x, x, block_mask=create_block_mask(and_masks(causal, lambda b, h, q, k: q > 0), None, None, 4, 4)
    )
    out.sum().backward()
    assert not out[:, :, 0].any() and x.grad.isfinite().all()


def test_heads_are_shared():
    with pytest.raises(ValueError, match="Try setting enable_gqa=True for GQA"):
        flex_attention(Q, Q[:, :1], Q[:, :1])
    out = flex_attention(Q, Q[:, :1], Q[:, :1], enable_gqa=True)
    torch.testing.assert_close(out, scaled_dot_product_attention(Q, Q[:, :1], Q[:, :1], enable_gqa=True))


def test_masks_are_joined():
    before = or_masks(lambda b, h, q, k: q == k, lambda b, h, q, k: k == 0)
    assert create_mask(before, None, None, 2, 3).tolist() == [[[[True, False, False], [True, True, False]]]]
    assert create_mask(noop_mask, 1, 1, 1, 2).tolist() == [[[[True, True]]]]
    with pytest.raises(RuntimeError, match="All inputs should be callable mask_mods"):
        and_masks(3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="was created for a smaller length"):
        flex_attention(Q, Q, Q, block_mask=create_block_mask(causal, None, None, 2, 2))
    with pytest.raises(NotImplementedError, match="must be 4D tensors"):
        flex_attention(Q[0], Q, Q)


def test_a_kernel_may_be_asked_for():
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
        pass
    with pytest.raises(
        AssertionError, match="Backend must be an instance of SDPBackend or a list of SDPBackend instances, got str"
    ):
        sdpa_kernel("flash").__enter__()  # pyright: ignore[reportArgumentType]
