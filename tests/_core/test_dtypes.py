"""dtype objects, promotion, default dtypes of new tensors, and casts."""

import copy
import pickle

import pytest

import torchlike as torch
from tests._core.dtype_tables import limits, products, promotions


@pytest.mark.parametrize("table", [promotions, products, limits])
def test_rules_are_pytorchs(golden, table):
    recorded, ours = golden("dtypes")[table.__name__], table(torch)
    assert {k: v for k, v in ours.items() if v != recorded[k]} == {}
    assert ours.keys() == recorded.keys()


def test_a_dtype_is_one_object():
    assert torch.float is torch.float32
    assert torch.double is torch.float64
    assert torch.half is torch.float16
    assert torch.long is torch.int64
    assert torch.int is torch.int32
    assert torch.short is torch.int16
    assert torch.cfloat is torch.complex64
    assert repr(torch.float) == "torch.float32"
    assert repr(torch.bool) == "torch.bool"
    assert pickle.loads(pickle.dumps(torch.bfloat16)) is torch.bfloat16
    assert copy.deepcopy({torch.int8: 1}) == {torch.int8: 1}
    assert isinstance(torch.int8, torch.dtype)


def test_limits_of_pythons_own_types():
    assert (torch.finfo(float).dtype, torch.finfo(complex).dtype, torch.iinfo(int).dtype) == (
        "float64",
        "float64",
        "int64",
    )
    with pytest.raises(TypeError, match="torch.finfo\\(\\) requires a floating point input type"):
        torch.finfo(int)
    with pytest.raises(TypeError, match="torch.bool is not supported by torch.iinfo"):
        torch.iinfo(bool)


def test_what_a_dtype_tells():
    assert (torch.float16.itemsize, torch.float16.is_floating_point, torch.float16.is_complex) == (2, True, False)
    assert (torch.complex64.itemsize, torch.complex64.is_complex, torch.complex64.is_signed) == (8, True, True)
    assert (torch.uint8.is_signed, torch.bool.is_signed, torch.int8.is_signed) == (False, False, True)
    assert torch.complex64.to_real() is torch.float32
    assert torch.float64.to_complex() is torch.complex128


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (1.0, "float32"), (1, "int64"), (True, "bool"), (1j, "complex64"), ([1, 2.5], "float32"), ([True, 2], "int64"),
        ([1, 2j], "complex64"), ([], "float32"), ([[]], "float32"), (2**40, "int64"),
    ],
)  # fmt: skip
def test_dtype_of_what_is_made_from_python(value, name):
    assert torch.tensor(value).dtype is getattr(torch, name)


def test_default_dtype_decides_floats():
    torch.set_default_dtype(torch.float64)
    assert torch.get_default_dtype() is torch.float64
    assert torch.tensor(1.0).dtype is torch.float64
    assert torch.tensor(1j).dtype is torch.complex128
    assert torch.zeros(1).dtype is torch.float64
    assert torch.tensor(1).dtype is torch.int64
    assert (torch.tensor([1]) * 0.5).dtype is torch.float64
    assert (torch.tensor([1]) / 2).dtype is torch.float64
    assert repr(torch.tensor([1.0])) == "tensor([1.])"
    assert repr(torch.ones(1, dtype=torch.float32)) == "tensor([1.], dtype=torch.float32)"
    torch.set_default_dtype(torch.float32)
    assert (torch.tensor([1]) * 0.5).dtype is torch.float32


def test_default_dtype_must_be_floating():
    with pytest.raises(TypeError, match="^only floating-point types are supported as the default type$"):
        torch.set_default_dtype(torch.int64)
    assert torch.get_default_dtype() is torch.float32


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("float", "float32"), ("double", "float64"), ("half", "float16"), ("bfloat16", "bfloat16"), ("int", "int32"),
        ("long", "int64"), ("short", "int16"), ("char", "int8"), ("byte", "uint8"), ("bool", "bool"),
    ],
)  # fmt: skip
def test_casting_methods(method, name):
    x = torch.tensor([0.0, 1.9, 2.0])
    cast = getattr(x, method)()
    assert cast.dtype is getattr(torch, name)
    assert cast.dtype is x.to(getattr(torch, name)).dtype
    assert getattr(cast, method)() is cast  # no cast is needed: the same tensor
    if not cast.dtype.is_floating_point:
        assert cast.tolist() == ([False, True, True] if method == "bool" else [0, 1, 2])


def test_to_takes_dtype_device_and_other():
    x = torch.ones(2)
    assert x.to("cpu") is x
    assert x.to(torch.float32) is x
    assert x.to(torch.float32, copy=True) is not x
    assert x.to("cpu", torch.float64).dtype is torch.float64
    assert x.to(dtype=torch.int64, device="cpu").dtype is torch.int64
    assert x.to(torch.ones(1, dtype=torch.bool)).dtype is torch.bool
    assert x.type(torch.int32).dtype is torch.int32
    assert x.type() == "torch.FloatTensor"
    assert x.type("torch.DoubleTensor").dtype is torch.float64
    assert x.type_as(torch.tensor(1)).dtype is torch.int64


def test_casts_cut_off_and_wrap():
    assert torch.tensor([1.9, -1.9]).to(torch.int64).tolist() == [1, -1]
    assert torch.tensor([300, -1]).to(torch.uint8).tolist() == [44, 255]
    assert torch.tensor([2**40 + 5]).to(torch.int32).tolist() == [5]
    assert torch.tensor([0.5, float("nan"), 0.0]).to(torch.bool).tolist() == [True, True, False]
    assert torch.tensor([2**53 + 1]).to(torch.float64).tolist() == [2.0**53]


def test_64_bits_are_kept():
    big = 2**62 + 1
    assert (torch.tensor([big]) + 0).tolist() == [big]
    assert (torch.tensor([1.0], dtype=torch.float64) / 3).item() == 1 / 3
    assert torch.arange(3).sum().item() == 3
    assert torch.tensor([2**31]).sum().item() == 2**31


def test_gradients_go_back_through_casts():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    (w.double() * 3).sum().backward()
    assert (w.grad.dtype, w.grad.tolist()) == (torch.float32, [3, 3])
    assert not w.to(torch.int64).requires_grad
