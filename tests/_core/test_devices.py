"""Names of devices, available devices, and placing tensors on them. Tests that need a GPU are skipped without one."""

import copy
import pickle

import pytest

import torchlike as torch


@pytest.mark.parametrize(
    ("given", "type", "index"),
    [
        (("cpu",), "cpu", None), (("cpu:0",), "cpu", 0), (("cuda",), "cuda", None), (("cuda:1",), "cuda", 1),
        (("cuda", 2), "cuda", 2), ((3,), "cuda", 3), (("mps",), "mps", None), (("meta",), "meta", None),
    ],
)  # fmt: skip
def test_names(given, type, index):
    device = torch.device(*given)
    assert (device.type, device.index) == (type, index)
    assert str(device) == (type if index is None else f"{type}:{index}")
    assert repr(device) == (f"device(type='{type}')" if index is None else f"device(type='{type}', index={index})")
    assert torch.device(str(device)) == device


def test_devices_are_compared_by_value():
    assert torch.device("cuda:1") == torch.device("cuda", 1)
    assert torch.device("cuda") != torch.device("cuda:0")
    assert {torch.device("cpu"): 1}[torch.device("cpu")] == 1
    assert pickle.loads(pickle.dumps(torch.device("cuda:1"))) == torch.device("cuda:1")
    assert copy.deepcopy(torch.device("cpu")) == torch.device("cpu")
    assert torch.device("cpu") != "cpu"
    assert torch.device(torch.device("cpu")) == torch.device("cpu")


def test_tpu_is_a_name_too():
    """PyTorch has no such name and calls it `xla`."""
    assert str(torch.device("tpu:0")) == "tpu:0"


def test_making_and_moving_on_the_cpu():
    x = torch.ones(2, device="cpu")
    assert x.device == torch.device("cpu")
    assert x.cpu() is x
    assert x.to("cpu") is x
    assert x.to(torch.device("cpu")) is x
    assert torch.zeros_like(x, device="cpu").device == x.device
    assert (x + x).device == x.device


def test_default_device_as_a_block():
    with torch.device("cpu"):
        assert torch.zeros(1).device.type == "cpu"
    torch.set_default_device("cpu")
    assert torch.zeros(1).device.type == "cpu"


def test_nothing_is_available_without_a_gpu():
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    assert torch.cuda.device_count() == 0
    assert torch.backends.mps.is_available() is False
    assert torch.accelerator.is_available() is False
    assert torch.accelerator.current_accelerator() is None
    name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    assert torch.ones(1).to(name).device.type == "cpu"


@pytest.mark.parametrize("ask", ["torch.ones(1).to('cuda')", "torch.ones(1).cuda()", "torch.zeros(2, device='cuda:0')"])
def test_asking_for_a_missing_gpu(ask):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(RuntimeError, match="^No CUDA GPUs are available"):
        eval(ask, {"torch": torch})


@pytest.mark.parametrize("name", ["mps", "tpu"])
def test_asking_for_other_missing_devices(name):
    with pytest.raises(RuntimeError, match=f"^no {name} device is available: JAX sees .*cpu"):
        torch.ones(1, device=name)


gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@gpu
def test_going_to_a_gpu_and_back():
    x = torch.tensor([1.0, 2.0])
    there = x.to("cuda")
    assert repr(there) == "tensor([1., 2.], device='cuda:0')"
    assert (there.device, there.is_cuda, there.get_device()) == (torch.device("cuda:0"), True, 0)
    assert (there * 2).cpu().tolist() == [2.0, 4.0]
    assert there.to("cuda") is there
    with pytest.raises(TypeError, match="^can't convert cuda:0 device type tensor to numpy"):
        there.numpy()


@gpu
def test_two_devices_do_not_mix():
    with pytest.raises(
        RuntimeError, match="^Expected all tensors to be on the same device, but found at least two devices"
    ):
        torch.ones(2) + torch.ones(2, device="cuda")
    # Only a 0-dim tensor may be on another device.
    assert (torch.ones(2, device="cuda") * torch.tensor(2.0)).tolist() == [2.0, 2.0]


@gpu
def test_gradients_go_back_to_the_device_they_belong_to():
    w = torch.ones(2, requires_grad=True)
    (w.to("cuda") * 3).sum().backward()
    assert (w.grad.device.type, w.grad.tolist()) == ("cpu", [3.0, 3.0])
