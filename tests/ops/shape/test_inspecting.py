"""Queries about tensors and dtypes give PyTorch's answers."""

import pytest

import torchlike as torch

pytestmark = pytest.mark.single


def test_questions_about_tensors():
    x = torch.ones(2, 3)
    assert torch.is_tensor(x)
    assert not torch.is_tensor(3)
    assert torch.numel(x) == 6
    assert torch.is_floating_point(x)
    assert not torch.is_complex(x)
    assert not torch.is_storage(x)
    assert torch.get_default_device() == torch.device("cpu")


@pytest.mark.parametrize("name", ["numel", "is_floating_point", "is_complex"])
def test_what_is_no_tensor_is_refused(name):
    with pytest.raises(TypeError) as raised:
        getattr(torch, name)(3)
    assert str(raised.value) == f"{name}(): argument 'input' (position 1) must be Tensor, not int"


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (torch.ones(1, dtype=torch.int32), 1.0, torch.float32),
        (torch.ones(1, dtype=torch.float16), torch.ones((), dtype=torch.float64), torch.float16),
        (torch.ones((), dtype=torch.int64), torch.ones(1, dtype=torch.uint8), torch.uint8),
        (1, 2.0, torch.float32),
        (torch.ones(1), 1j, torch.complex64),
    ],
)
def test_result_type(a, b, expected):
    assert torch.result_type(a, b) is expected
    assert torch.result_type(b, a) is expected


@pytest.mark.parametrize(
    ("args", "named", "expected"),
    [
        ((), {"tensor": torch.ones(2), "other": torch.ones(2, dtype=torch.float64)}, torch.float64),
        ((), {"other": 1.5, "tensor": torch.ones(2).int()}, torch.float32),
        ((), {"scalar": 1, "tensor": torch.ones(2).half()}, torch.float16),
        ((1,), {"tensor": torch.ones(2)}, torch.float32),
        ((), {"scalar1": 1, "scalar2": 2.0}, torch.float32),
        ((torch.ones(2),), {"other": 1j}, torch.complex64),
    ],
)
def test_result_type_by_name(args, named, expected):
    assert torch.result_type(*args, **named) is expected


def test_result_type_of_other_names_is_refused():
    for named in ({"tensor1": torch.ones(1), "tensor2": 1}, {"tensor": torch.ones(1)}, {"scalar": 1, "other": 2}):
        with pytest.raises(TypeError, match="result_type"):
            torch.result_type(**named)


def test_older_products_take_pytorchs_names():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert torch.smm(x.to_sparse(), mat2=x).to_dense().tolist() == [[7.0, 10.0], [15.0, 22.0]]
    assert torch.orgqr(x, input2=x[0]).tolist() == [[0.0, 3.0], [-3.0, 8.0]]


def test_can_cast():
    assert torch.can_cast(torch.int64, torch.float16)
    assert not torch.can_cast(torch.int64, torch.bool)
    assert not torch.can_cast(torch.complex64, torch.float64)
