"""Modes are asked about ``torch.device``; a device of another maker can be named, and nothing can be put there."""

import pickle

import pytest

import torchlike as torch
from torchlike.overrides import TorchFunctionMode


class Seen(TorchFunctionMode):
    """Keeps the names and arguments of the calls that it sees."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.calls.append((func.__name__, args, kwargs))
        return func(*args, **(kwargs or {}))


def test_a_mode_sees_each_way_to_make_a_device():
    with Seen() as seen:
        assert torch.device("cpu", 0) == torch.device(type="cpu", index=0)
        assert torch.device(torch.device("meta")).type == torch.device(device="meta").type == "meta"
    assert seen.calls == [
        ("device", ("cpu", 0), None), ("device", (), {"type": "cpu", "index": 0}), ("device", ("meta",), None),
        ("device", (torch.device("meta"),), None), ("device", (), {"device": "meta"}),
    ]  # fmt: skip


def test_what_a_mode_answers_is_the_device():
    class Other(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func("xla", *args) if func is torch.device else func(*args, **(kwargs or {}))

    with Other():
        assert str(torch.device(3)) == "xla:3"
    assert str(torch.device(3)) == "cuda:3"


def test_calls_of_the_library_itself_are_not_seen():
    x = torch.ones(2)
    with Seen() as seen:
        assert x.device.type == "cpu"
        torch.zeros(1, device="cpu").to("cpu")
    assert {name for name, *_ in seen.calls} <= {"__get__", "zeros", "to"}
    with Seen() as seen:
        torch._C._nn._parse_to("cpu")
        torch.nn.Linear(1, 1, device="meta").to("meta")
    assert seen.calls[0] == ("_parse_to", ("cpu",), None)
    assert "device" not in [name for name, *_ in seen.calls]


@pytest.mark.parametrize("name", ["xla", "xpu", "hpu:1", "privateuseone"])
def test_any_device_may_be_named(name):
    device = torch.device(name)
    assert str(device) == name and device is torch.device(name) and pickle.loads(pickle.dumps(device)) is device
    with pytest.raises(RuntimeError, match=rf"torchlike runs on .*: device type '{device.type}' is not supported"):
        torch.ones(1, device=device)
    with pytest.raises(RuntimeError, match="at start of device string: tpus"):
        torch.device("tpus")
