"""assert_close and make_tensor give PyTorch's recorded messages and values."""

import numpy as np
import pytest

import torchlike as torch
from tests.testing.calls import CALLS, said


@pytest.mark.parametrize("line", CALLS)
def test_errors_and_text_equal_pytorchs(golden, line):
    assert said(torch, line) == golden("testing")["said"][line]


def test_arrays_are_compared_as_tensors_are():
    torch.testing.assert_close(np.ones(3), np.ones(3))
    with pytest.raises(AssertionError, match="Mismatched elements: 1 / 3"):
        torch.testing.assert_close(np.ones(3), np.array([1.0, 1.0, 2.0]))


def test_the_older_form_takes_lists_and_says_that_it_is_old():
    with pytest.warns(FutureWarning, match="assert_allclose"):
        torch.testing.assert_allclose(torch.ones(2), [1.0, 1.0])
