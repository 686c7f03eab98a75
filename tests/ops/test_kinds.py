"""Operations on bool, integers and complex numbers for which PyTorch's result is not the obvious one."""

import math

import pytest

import torchlike as torch

pytestmark = pytest.mark.single

FALSE = torch.zeros(3, dtype=torch.bool)
PLACES, TRUTH = torch.tensor([0, 0, 2]), torch.tensor([True, True, False])


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        # Sums are divided as in C: the quotient is rounded towards zero.
        (lambda: torch.nn.functional.avg_pool1d(torch.tensor([[[-3, -4, 2, -1]]]), 2), [[[-3, 0]]]),
        (lambda: torch.bilinear(torch.tensor([[1, 2]]), torch.tensor([[3]]), torch.tensor([[[1], [1]]])), [[9]]),
        # The logarithm is on the branch of the larger number, which need not be the principal one.
        (lambda: torch.logaddexp(torch.tensor(200 + 9j), torch.tensor(1 + 1j)), 200 + 9j),
        (lambda: torch.logaddexp(torch.tensor(complex(-math.inf, 1)), torch.tensor(5 - 3j)), 5 - 3j),
        (lambda: torch.logcumsumexp(torch.tensor(1 + 2j), 0), 1 + 2j),
        (lambda: torch.logcumsumexp(torch.tensor([4j, -3j]), 0)[1], 0.6274952 - 2.6415927j),
        # This is the mean of squares, and not of squared moduli.
        (lambda: torch.nn.functional.rms_norm(torch.tensor([2j, 2j]), (2,), eps=0.0), [1, 1]),
        (lambda: torch.dist(torch.tensor([3j, 4.0]), torch.zeros(2)), 5.0),
        # A sum of bools is "or".
        (lambda: FALSE.index_put((PLACES,), TRUTH, accumulate=True), [True, False, False]),
        (lambda: FALSE.put(PLACES, TRUTH, accumulate=True), [True, False, False]),
        (lambda: FALSE.scatter_reduce(0, PLACES, TRUTH, "sum"), [True, False, False]),
        (lambda: (~FALSE).scatter_reduce(0, PLACES, TRUTH, "prod"), [True, True, False]),
        (lambda: torch.special.zeta(torch.tensor([3, 2, 1]), torch.tensor([-2, 0, -1])), [math.inf] * 3),
    ],
)
def test_values(call, expected):
    found = call()
    assert torch.allclose(found, torch.tensor(expected, dtype=found.dtype))


def test_a_distance_between_complex_numbers_is_real():
    x = torch.tensor([3j, 4.0], requires_grad=True)
    torch.dist(x, torch.zeros(2)).backward()
    assert x.grad.tolist() == pytest.approx([0.6j, 0.8])


def test_bilinear_refuses_bool():
    with pytest.raises(NotImplementedError, match="\"bmm\" not implemented for 'Bool'"):
        torch.bilinear(*(torch.ones(shape, dtype=torch.bool) for shape in ((1, 2), (1, 1), (1, 2, 1))))


def test_a_sum_to_no_dimensions_is_one_of_int64():
    assert torch.tensor(True).sum_to_size(()).dtype is torch.int64
    assert FALSE.sum_to_size(3) is FALSE
