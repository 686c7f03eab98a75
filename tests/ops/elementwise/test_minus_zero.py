"""-0 at the border of a range stays -0, as in PyTorch, and has no gradient."""

import numpy as np
import pytest

import torchlike as torch
from torchlike.nn import functional as F


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize(
    "function", [torch.relu, F.relu6, lambda x: F.hardtanh(x, 0.0, 1.0)], ids=["relu", "relu6", "hardtanh"]
)
def test_minus_zero_stays(function, dtype):
    x = torch.tensor([-0.0, 0.0, -1.0, float("nan")], dtype=dtype, requires_grad=True)
    y = function(x)
    assert torch.signbit(y)[:3].tolist() == [True, False, False] and y[3].isnan()
    y.sum().backward()
    assert x.grad[:3].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.recorded
def test_an_array_without_dimensions_is_a_full_operand():
    """PyTorch leaves arithmetic with such an array to NumPy."""
    assert (torch.ones(2) + np.array(2.0)).dtype is torch.float64
    assert (torch.ones(2) * np.array(2)).dtype is torch.float64
    assert (torch.ones(2) * np.float64(2)).dtype is torch.float32
    assert (torch.ones(2, dtype=torch.int64) + np.array(2.5)).tolist() == [3.5, 3.5]
    x = torch.ones(2)
    x += np.array(2.0)
    assert x.dtype is torch.float32


@pytest.mark.recorded
def test_a_conjugate_is_not_seen_as_real():
    with pytest.raises(RuntimeError, match="view_as_real doesn't work on unresolved conjugated tensors"):
        torch.view_as_real(torch.ones(2, dtype=torch.complex64).conj())
    with pytest.raises(IndexError, match=r"got numpy\.bool"):
        _ = torch.ones(2)[np.bool_(True)]
