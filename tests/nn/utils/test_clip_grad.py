"""Clipping if no parameter has a gradient."""

import pytest

import torchlike as torch

EMPTY = (
    "Expected !nested_tensorlist[0].empty() to be true, but got false.  (Could this error message be improved?  If so, please "
    "report an enhancement request to PyTorch.)"
)
clip_value, clip_norm = torch.nn.utils.clip_grad_value_, torch.nn.utils.clip_grad_norm_


@pytest.mark.parametrize("foreach", [None, True, False])
@pytest.mark.parametrize("make", [list, lambda p: p[0], lambda p: (each for each in p), lambda p: []])
def test_without_any_gradient_values_are_not_clipped(make, foreach):
    with pytest.raises(RuntimeError) as caught:
        clip_value(make([torch.ones(2, requires_grad=True)]), 1.0, foreach)
    assert str(caught.value) == EMPTY


def test_one_gradient_is_enough():
    without, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    w.grad = torch.tensor([5.0, -0.5])
    clip_value([without, w], 1.0)
    assert w.grad.tolist() == [1.0, -0.5] and without.grad is None


@pytest.mark.parametrize("make", [list, lambda p: p[0], lambda p: (each for each in p), lambda p: []])
def test_without_any_gradient_the_norm_is_zero(make):
    norm = clip_norm(make([torch.ones(2, requires_grad=True)]), 1.0, error_if_nonfinite=True)
    assert norm.item() == 0.0 and norm.dtype is torch.float32
