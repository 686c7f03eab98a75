"""Flags of functions composed of ops accept only Python's bool, as in PyTorch."""

from typing import Any

import numpy as np
import pytest

import torchlike as torch
from torchlike.nn import functional as F

pytestmark = [pytest.mark.composed, pytest.mark.recorded]
X = torch.arange(12.0).view(3, 4)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda flag: torch.zeros(2, requires_grad=flag), "zeros(): argument 'requires_grad' must be bool, not numpy.bool"),
        (lambda flag: torch.ones_like(X, requires_grad=flag),
         "ones_like(): argument 'requires_grad' must be bool, not numpy.bool"),
        (lambda flag: X.clone().copy_(X, non_blocking=flag), "copy_(): argument 'non_blocking' must be bool, not numpy.bool"),
        (lambda flag: torch.combinations(X[0], with_replacement=flag),
         "combinations(): argument 'with_replacement' must be bool, not numpy.bool"),
        (lambda flag: torch.qr(X, flag), "qr(): argument 'some' (position 2) must be bool, not numpy.bool"),
        (lambda flag: torch.vander(X[0], increasing=flag), "vander(): argument 'increasing' must be bool, not numpy.bool"),
        (lambda flag: torch.nonzero(X, as_tuple=flag), "nonzero(): argument 'as_tuple' must be bool, not numpy.bool"),
        (lambda flag: torch.allclose(X, X, equal_nan=flag), "allclose(): argument 'equal_nan' must be bool, not numpy.bool"),
        (lambda flag: F.pairwise_distance(X, X, keepdim=flag),
         "pairwise_distance(): argument 'keepdim' must be bool, not numpy.bool"),
        (lambda flag: torch.multinomial(X[0], 1, replacement=flag),
         "multinomial(): argument 'replacement' must be bool, not numpy.bool"),
    ],
)  # fmt: skip
def test_numpys_bool_is_no_flag(call, words):
    with pytest.raises(TypeError) as caught:
        call(np.True_)
    assert str(caught.value) == words
    call(True)


def test_where_pytorchs_function_is_written_in_python_the_flag_may_be_numpys():
    signal = torch.ones(8)
    window = torch.ones(4)
    flags: list[Any] = [np.True_, True]
    a, b = (torch.stft(signal, 4, window=window, center=flag, return_complex=True) for flag in flags)
    assert torch.equal(a, b)
