"""Flags, ints and floats of every function: the types that PyTorch accepts, and its message for the others."""

from typing import Any

import numpy as np
import pytest

import torchlike as torch
from torchlike.nn import functional as F

from .flags import outcome, rows

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


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("line", rows())
def test_is_accepted_or_refused_as_in_pytorch(golden, line):
    assert outcome(torch, line) == golden("flags")[line]


def test_a_second_call_with_other_values_of_the_same_types_is_looked_at():
    for _ in range(2):
        assert torch.fft.fftshift(X, (np.int64(0), 1)).shape == X.shape  # pyright: ignore[reportArgumentType]
        with pytest.raises(TypeError):
            torch.fft.fftshift(X, (1.5, 1))  # pyright: ignore[reportArgumentType]
        for value in (0.5, 1.5):
            number: Any = np.float32(value)
            assert torch.full((2,), number).tolist() == [value, value]


@pytest.mark.parametrize(("reduce", "shape"), [(False, (2,)), (0, (2,)), (np.False_, (2,)), (True, ()), (1, ())])
def test_the_old_argument_reduce_keeps_elements_if_it_is_false(reduce, shape):
    losses = torch.zeros(2)
    with pytest.warns(UserWarning, match="will be deprecated"):
        assert F.mse_loss(losses, losses, reduce=reduce).shape == shape


def test_flags_of_pytorchs_python_functions_are_read_as_numbers():
    flag: Any = np.False_
    numbers = torch.tensor([1.0, 2.0, 4.0])
    assert torch.masked.var(numbers, 0, flag).item() == pytest.approx(14 / 9)
    with pytest.raises(RuntimeError, match=r"^repeat_interleave: Invalid output_size, expected 6 but got 5$"):
        torch.repeat_interleave(numbers, 2, output_size=5)
