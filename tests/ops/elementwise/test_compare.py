"""Comparisons of whole tensors, comparisons within a tolerance, NaN and infinities."""

import pytest

import torchlike as torch

pytestmark = pytest.mark.single

INF, NAN = float("inf"), float("nan")


def test_equal_compares_shape_and_elements():
    assert torch.equal(torch.tensor([1, 2]), torch.tensor([1, 2]))
    assert not torch.equal(torch.tensor([1, 2]), torch.tensor([1, 3]))
    assert not torch.equal(torch.tensor([1, 2]), torch.tensor([[1, 2]]))
    assert not torch.equal(torch.tensor([NAN]), torch.tensor([NAN]))
    assert torch.equal(torch.tensor([1, 2]), torch.tensor([1.0, 2.0]))


@pytest.mark.parametrize(
    ("a", "b", "kwargs", "expected"),
    [
        (1.0, 1.0 + 1e-6, {}, True), (1.0, 1.1, {}, False), (1.0, 1.1, {"rtol": 0.2}, True), (NAN, NAN, {}, False),
        (NAN, NAN, {"equal_nan": True}, True), (INF, INF, {}, True), (INF, -INF, {}, False), (INF, 1.0, {"rtol": 1.0}, False),
        (0.0, 1e-9, {}, True), (0.0, 1e-7, {}, False),
    ],
)  # fmt: skip
def test_nearness(a, b, kwargs, expected):
    assert torch.isclose(torch.tensor([a]), torch.tensor([b]), **kwargs).item() is expected
    assert torch.allclose(torch.tensor([a]), torch.tensor([b]), **kwargs) is expected


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: torch.isclose(x, x.double()), "Float did not match Double"),
        (lambda x: torch.isclose(x, x, rtol=-1.0), "rtol must be greater than or equal to zero, but got -1"),
        (lambda x: torch.isclose(x, x, atol=-1.0), "atol must be greater than or equal to zero, but got -1"),
    ],
)
def test_nearness_refuses(call, message):
    with pytest.raises(RuntimeError) as caught:
        call(torch.ones(2))
    assert str(caught.value) == message


def test_kinds_of_numbers():
    x = torch.tensor([-INF, -1.0, NAN, INF])
    assert x.isinf().tolist() == [True, False, False, True]
    assert x.isposinf().tolist() == [False, False, False, True]
    assert x.isneginf().tolist() == [True, False, False, False]
    assert x.isfinite().tolist() == [False, True, False, False]
    assert x.isnan().tolist() == [False, False, True, False]
    assert torch.tensor([1 + 0j, 1 + 1j]).isreal().tolist() == [True, False]
    assert torch.tensor([1, 2]).isnan().tolist() == [False, False]


def test_a_comparison_in_place_keeps_the_dtype():
    x = torch.tensor([1.0, 3.0])
    assert x.gt_(2).tolist() == [0.0, 1.0]
    assert x.dtype is torch.float32


def test_a_tensor_in_a_condition():
    assert torch.is_nonzero(torch.tensor([2.0]))
    with pytest.raises(RuntimeError, match="Boolean value of Tensor with more than one value is ambiguous"):
        torch.is_nonzero(torch.tensor([1, 2]))
