"""nn.MultiheadAttention of nested tensors: each part by itself, in inference alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import torchlike as torch
from torchlike.nested import nested_tensor

MHA = torch.nn.MultiheadAttention
REFUSED = "does not support NestedTensor outside of its fast path. The fast path was not hit because "


def parts() -> list[torch.Tensor]:
    return [torch.randn(length, 4) for length in (2, 5, 3)]


@pytest.mark.parametrize("mean", [True, False])
def test_each_part_attends_to_itself(mean: bool) -> None:
    module, each = MHA(4, 2, batch_first=True).eval(), parts()
    nested = nested_tensor(each)
    with torch.no_grad():
        output, weights = module(nested, nested, nested, average_attn_weights=mean)
        assert output.is_nested and module(nested, nested, nested, need_weights=False)[1] is None
        for found, shares, part in zip(output.unbind(), weights, each, strict=True):
            expected, expected_shares = module(part, part, part, average_attn_weights=mean)
            torch.testing.assert_close(found, expected)
            n = len(part)
            torch.testing.assert_close(shares[..., :n, :n], expected_shares)
            assert shares[..., n:, :].count_nonzero() == shares[..., n:].count_nonzero() == 0


REASONS: list[tuple[str, Callable[[], MHA], dict[str, object]]] = [
    ("training is enabled", lambda: MHA(4, 2, batch_first=True), {}),
    ("batch_first was not True", lambda: MHA(4, 2).eval(), {}),
    ("self.num_heads is not even", lambda: MHA(4, 1, batch_first=True).eval(), {}),
    ("self.bias_k was not None", lambda: MHA(4, 2, batch_first=True, add_bias_kv=True).eval(), {}),
    ("add_zero_attn was enabled", lambda: MHA(4, 2, batch_first=True, add_zero_attn=True).eval(), {}),
    ("dtypes of query (torch.float32) and self.in_proj_bias (torch.float64) don't match",
     lambda: MHA(4, 2, batch_first=True, dtype=torch.float64).eval(), {}),
    ("supplying both", lambda: MHA(4, 2, batch_first=True).eval(), {"attn_mask": torch.zeros(5, 5, dtype=torch.bool)}),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "make", "keywords"), REASONS, ids=[reason for reason, *_ in REASONS])
def test_what_is_refused_says_why(reason: str, make: Callable[[], MHA], keywords: dict[str, object]) -> None:
    nested = nested_tensor(parts())
    with torch.no_grad(), pytest.raises(AssertionError) as caught:
        make()(nested, nested, nested, **keywords)
    assert REFUSED + reason in str(caught.value)


def test_other_keys_and_gradients_are_refused() -> None:
    module, nested = MHA(4, 2, batch_first=True).eval(), nested_tensor(parts())
    with pytest.raises(AssertionError, match="non-self attention was used"):
        module(nested, nested, nested_tensor(parts()))
    with pytest.raises(AssertionError, match="grad is enabled and at least one of query"):
        module(nested, nested, nested)
    module.requires_grad_(False)
    assert module(nested, nested, nested)[0].is_nested


def test_a_strided_nested_tensor_overrides_no_functions() -> None:
    """As in PyTorch, where it is a plain tensor; a jagged one is of a class of its own."""
    asks = torch.overrides.has_torch_function
    assert not asks((nested_tensor(parts()), torch.ones(1)))
    assert asks((nested_tensor(parts(), layout=torch.jagged),))
