"""Activations in place: which tensors may be written afterwards without making backward raise, as in PyTorch."""

import pytest

import torchlike as torch
from torchlike.nn import functional as F

INPUT_NEEDED = ["hardswish", "hardtanh", "mish", "silu"]  # PyTorch saves a copy of it
RESULT_NEEDED = ["relu"]


@pytest.mark.parametrize("name", INPUT_NEEDED)
def test_the_result_may_be_written_to_where_the_input_counts(name):
    x = torch.tensor([-0.5, 0.5, 2.0], requires_grad=True)
    getattr(F, name)(x * 1, inplace=True).mul_(2).sum().backward()
    y = x.detach().clone().requires_grad_()
    getattr(F, name)(y).mul(2).sum().backward()
    assert x.grad.tolist() == pytest.approx(y.grad.tolist())


@pytest.mark.parametrize("name", RESULT_NEEDED)
def test_the_result_may_not_be_written_to_where_it_counts(name):
    x = torch.tensor([-0.5, 0.5, 2.0], requires_grad=True)
    changed = getattr(F, name)(x * 1, inplace=True).mul_(2).sum()
    with pytest.raises(
        RuntimeError, match="one of the variables needed for gradient computation has been modified by an inplace"
    ):
        changed.backward()
