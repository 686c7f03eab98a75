"""Arrays that no memory can hold are refused where they are asked for, in PyTorch's words. XLA would end the process."""

import time

import numpy as np
import pytest

import torchlike as torch
from torchlike.engine.aval import Aval

F = torch.nn.functional

UNCOUNTABLE = {
    "zeros": lambda: torch.zeros(2**40, 2**40),
    "zeros of 2**64 bytes": lambda: torch.zeros(2**31, 2**31),
    "empty": lambda: torch.empty(2**62),
    "meta": lambda: torch.zeros(2**62, device="meta"),
    "full": lambda: torch.full((2**62,), 1.0),
    "randn": lambda: torch.randn(2**62),
    "arange": lambda: torch.arange(2**62),
    "linspace": lambda: torch.linspace(0, 1, 2**62),
    "one_hot": lambda: F.one_hot(torch.tensor([0]), 2**62),
    "one_hot of a large class": lambda: F.one_hot(torch.tensor([2**62])),
    "eye": lambda: torch.eye(2**32),
    "repeat": lambda: torch.ones(1).repeat(2**62),
    "repeat_interleave": lambda: torch.repeat_interleave(torch.tensor([1]), 2**62),
    "repeat_interleave by counts": lambda: torch.repeat_interleave(torch.tensor([2**62])),
    "pad": lambda: F.pad(torch.ones(3), (0, 2**62)),
    "interpolate": lambda: F.interpolate(torch.ones(1, 1, 4), size=2**62),
    "window": lambda: torch.hann_window(2**62),
    "bincount": lambda: torch.bincount(torch.tensor([2**62])),
    "resize": lambda: torch.ones(3).resize_(2**62),
    "fft": lambda: torch.fft.fft(torch.ones(3), 2**62),
    "layer": lambda: torch.nn.Linear(2**40, 2**40),
}
# More than any processor of today can address.
TOO_LARGE = {
    "zeros": lambda: torch.zeros(2**60, dtype=torch.int8),
    "add": lambda: torch.ones(2**24, 1) + torch.ones(2**24),
    "arange": lambda: torch.arange(2**58),
    "matmul": lambda: torch.zeros(2**24, 1) @ torch.zeros(1, 2**24),
    "one_hot": lambda: F.one_hot(torch.tensor([2**58])),
    "bincount": lambda: torch.bincount(torch.tensor([2**58])),
    "randn": lambda: torch.randn(2**58),
    "storage": lambda: torch.UntypedStorage(2**60),
    "repeat_interleave": lambda: torch.repeat_interleave(torch.tensor([2**58])),
}


@pytest.mark.parametrize("name", UNCOUNTABLE)
def test_bytes_that_64_bits_cannot_count(name):
    with pytest.raises(RuntimeError, match=r"Storage size calculation overflowed with sizes=\["):
        UNCOUNTABLE[name]()


@pytest.mark.parametrize("name", TOO_LARGE)
def test_arrays_for_which_there_is_no_room(name):
    with pytest.raises(RuntimeError, match="DefaultCPUAllocator: can't allocate memory: you tried to allocate"):
        TOO_LARGE[name]()


@pytest.mark.recorded
def test_an_aval_is_of_a_size_that_can_be_counted():
    byte = np.dtype(np.int8)
    assert Aval((2**63 - 1,), byte).nbytes == 2**63 - 1
    assert Aval((2**40, 0, 2**40), byte).nbytes == 0
    for shape in (
        (2**63,),
        (2**32, 2**31),
        (2**40, 2**40, 0),
        (0, 2**40, 2**40),
    ):  # of the last, the steps cannot be counted
        with pytest.raises(RuntimeError, match="overflowed"):
            Aval(shape, byte)


def test_after_a_refusal_everything_goes_on():
    x = torch.ones(3)
    y = x + 1
    for make in (UNCOUNTABLE["zeros"], TOO_LARGE["zeros"]):
        with pytest.raises(RuntimeError):
            make()
    assert (y * 2).tolist() == [4, 4, 4]


@pytest.mark.recorded
@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_the_size_of_a_large_image_on_the_meta_device_is_found_at_once(mode):
    image = torch.empty(1, 3, 8, 8, device="meta", requires_grad=True)
    begun = time.process_time()
    large = F.interpolate(image, size=(2**27, 2**9), mode=mode)
    large.sum().backward()
    assert time.process_time() - begun < 5
    assert large.shape == (1, 3, 2**27, 2**9) and image.grad is not None and image.grad.shape == image.shape
