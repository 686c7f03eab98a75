"""Conversion of dtype and device, detached tensors, and writes of whole tensors."""

from typing import Any

import jax
import pytest

import torchlike as torch
from torchlike.engine.aval import Placement
from torchlike.ops.creation.cast import move

pytestmark = pytest.mark.single


@pytest.mark.parametrize(
    ("call", "dtype"),
    [
        (lambda x: x.to(torch.float64), torch.float64), (lambda x: x.to(dtype=torch.int32), torch.int32),
        (lambda x: x.to("cpu", torch.float16), torch.float16), (lambda x: x.to(torch.ones(1, dtype=torch.int8)), torch.int8),
        (lambda x: x.long(), torch.int64), (lambda x: x.bool(), torch.bool), (lambda x: x.cdouble(), torch.complex128),
        (lambda x: x.type(torch.uint8), torch.uint8), (lambda x: x.type("torch.DoubleTensor"), torch.float64),
        (lambda x: x.type_as(torch.ones(1, dtype=torch.int16)), torch.int16),
    ],
)  # fmt: skip
def test_every_way_of_casting(call, dtype):
    assert call(torch.tensor([1.0, 2.0])).dtype is dtype


@pytest.mark.parametrize("call", [lambda x: x.to(torch.float32), lambda x: x.to("cpu"), lambda x: x.float(), lambda x: x.cpu(),
                                  lambda x: x.to(x), lambda x: x.type(torch.float32)])  # fmt: skip
def test_where_nothing_changes_the_tensor_itself_comes_back(call):
    x = torch.tensor([1.0])
    assert call(x) is x
    assert x.to(torch.float32, copy=True) is not x


def test_casting_as_c_casts():
    assert torch.tensor([1.9, -1.9]).int().tolist() == [1, -1]
    assert torch.tensor([-1.0, 257.0]).byte().tolist() == [255, 1]
    assert torch.tensor([0.0, 0.5, float("nan")]).bool().tolist() == [False, True, True]
    assert torch.tensor([300, -1]).to(torch.uint8).tolist() == [44, 255]


def test_casting_complex_numbers_warns_of_what_is_lost():
    with pytest.warns(UserWarning, match="Casting complex values to real discards the imaginary part"):
        assert torch.tensor([1 + 2j]).float().tolist() == [1.0]


def test_gradients_come_back_in_the_first_dtype():
    x: Any = torch.tensor([1.0, 2.0], requires_grad=True)
    y: Any = x.double()
    assert y.grad_fn.name() == "ToCopyBackward0"
    (y * 3).sum().backward()
    assert x.grad.dtype is torch.float32
    assert x.grad.tolist() == [3.0, 3.0]
    assert not x.long().requires_grad


def test_the_old_names_of_types():
    assert torch.tensor([1]).type() == "torch.LongTensor"
    assert torch.tensor([1.0], dtype=torch.bfloat16).type() == "torch.BFloat16Tensor"
    with pytest.raises(ValueError, match="invalid type: 'torch.StrangeTensor'"):
        torch.tensor([1]).type("torch.StrangeTensor")


def test_a_gpu_that_is_not_there_is_an_error():
    if any(d.platform == "gpu" for d in jax.devices()):
        pytest.skip("there is one")
    with pytest.raises(RuntimeError, match="No CUDA GPUs are available"):
        torch.ones(1).cuda()


@pytest.mark.skipif(len(jax.devices("cpu")) < 2, reason="one device only")
def test_gradients_come_back_to_the_first_device():
    x: Any = torch.tensor([1.0, 2.0], requires_grad=True)
    y = move(x * 2, Placement("cpu", 1))
    assert str(y.device) == "cpu:1"
    (y * y).sum().to("cpu").backward()
    assert x.grad.tolist() == [8.0, 16.0]
    assert x.grad.device == x.device


def test_detaching_shares_memory():
    x: Any = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * 2).detach()
    assert not y.requires_grad
    z = x.detach()
    z[0] = 7.0
    assert x.tolist() == [7.0, 2.0]
    w = x * 2
    assert w.detach_() is w
    assert w.is_leaf


def test_copying_broadcasts_casts_and_carries_gradients():
    source = torch.tensor([1, 2])
    assert torch.zeros(2).copy_(3).tolist() == [3.0, 3.0]
    assert torch.zeros(2, 2).copy_(source).tolist() == [[1.0, 2.0], [1.0, 2.0]]
    x: Any = torch.tensor([1.0, 2.0], requires_grad=True)
    y: Any = torch.zeros(2, dtype=torch.float64).copy_(x)
    (y * y).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda x: x.copy_(torch.ones(2)), RuntimeError,
         "The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 0"),
        (lambda x: x.copy_(torch.ones(2, 3)), RuntimeError, "output with shape [3] doesn't match the broadcast shape [2, 3]"),
        (lambda x: x.copy_("a"), TypeError, "copy_(): argument 'other' (position 1) must be Tensor, not str"),
        (lambda x: x.fill_(torch.ones(2)), RuntimeError,
         "fill_ only supports 0-dimension value tensor but got tensor with 1 dimensions."),
        (lambda x: x.requires_grad_().zero_(), RuntimeError,
         "a leaf Variable that requires grad is being used in an in-place operation."),
    ],
)  # fmt: skip
def test_writes_that_do_not_fit(call, kind, message):
    x = torch.zeros(3)
    with pytest.raises(kind) as caught:
        call(x)
    assert str(caught.value) == message
    assert x.tolist() == [0.0, 0.0, 0.0]


def test_filling_ends_the_history_of_what_was_there():
    x: Any = torch.tensor([1.0, 2.0], requires_grad=True)
    y: Any = x * 2
    y.fill_(3.0)
    assert y.grad_fn.name() == "FillBackward2"
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]
    assert torch.zeros(2, dtype=torch.int8).fill_(True).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [(bool, torch.bool), (int, torch.int64), (float, torch.float64), (complex, torch.complex128)],
)
def test_types_of_python_stand_for_dtypes(kind, dtype):
    x = torch.ones(2)
    for found in (x.to(kind), x.to(kind, copy=True), x.to(dtype=kind), x.to("cpu", kind), torch.ones(2, dtype=kind)):
        assert found.dtype is dtype
    with pytest.raises(TypeError):
        x.to(str)  # pyright: ignore[reportArgumentType]
