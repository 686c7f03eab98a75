"""Memory that processes share, and pinned memory, tested in one process."""

import gc

import numpy as np
import pytest

import torchlike as torch

no_accelerator = pytest.mark.skipif(torch.accelerator.is_available(), reason="there is something to pin memory for")
NONE = "^pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is available on this system.$"


def test_shared_memory_is_that_of_the_views_and_of_numpy():
    x = torch.arange(6.0).view(2, 3)
    row = x[1]
    assert not x.is_shared() and not row.untyped_storage().is_shared()
    assert x.share_memory_() is x and x.is_shared() and row.is_shared() and row.untyped_storage().is_shared()
    row += 10
    array = x.numpy()
    array[0] = 7
    assert x.tolist() == [[7.0, 7.0, 7.0], [13.0, 14.0, 15.0]]
    assert not x.clone().is_shared() and x.detach().is_shared() and x.data.is_shared()
    del array
    gc.collect()
    assert x.sum().item() == 63 and x.is_shared()


@pytest.mark.parametrize("dtype", [torch.bool, torch.bfloat16, torch.complex64])
def test_memory_of_any_dtype_and_size_can_be_shared(dtype):
    for shape in ((), (0, 3), (5,)):
        x = torch.ones(shape, dtype=dtype).share_memory_()
        assert x.is_shared() and x.dtype is dtype and x.tolist() == torch.ones(shape, dtype=dtype).tolist()


def test_a_parameter_that_is_shared_trains():
    layer = torch.nn.Linear(2, 1, bias=False).share_memory()
    seen = layer.weight.detach().numpy()
    before = seen.copy()
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)
    for _ in range(3):
        optimizer.zero_grad()
        layer(torch.ones(1, 2)).sum().backward()
        optimizer.step()
    np.testing.assert_allclose(seen, before - 0.1 * (1 + 1.9 + 2.71), rtol=1e-6)


@no_accelerator
def test_without_an_accelerator_nothing_can_be_pinned():
    x = torch.ones(2)
    assert not x.is_pinned()
    with pytest.raises(RuntimeError, match=r"^Cannot access accelerator device when none is available\.$"):
        x.pin_memory()
    with pytest.warns(
        DeprecationWarning, match=r"^The argument 'device' of Tensor.is_pinned\(\) is deprecated. Please"
    ):
        assert not x.is_pinned("cuda")


@no_accelerator
@pytest.mark.parametrize(
    "make",
    [
        lambda **o: torch.tensor([1.0], **o), lambda **o: torch.zeros(2, **o), lambda **o: torch.empty(0, **o),
        lambda **o: torch.full((2,), 1.0, **o), lambda **o: torch.arange(3, **o), lambda **o: torch.linspace(0, 1, 3, **o),
        lambda **o: torch.eye(2, **o), lambda **o: torch.rand(2, **o), lambda **o: torch.randperm(3, **o),
        lambda **o: torch.normal(0.0, 1.0, (2,), **o), lambda **o: torch.zeros(2).new_full((2,), 1.0, **o),
        lambda **o: torch.ones_like(torch.zeros(2), **o), lambda **o: torch.randn_like(torch.zeros(2), **o),
        lambda **o: torch.hann_window(3, **o), lambda **o: torch.tril_indices(2, 2, **o), lambda **o: torch.fft.rfftfreq(3, **o),
    ],
)  # fmt: skip
def test_tensors_cannot_be_made_in_pinned_memory(make):
    with pytest.raises(RuntimeError, match=NONE):
        make(pin_memory=True)
    assert isinstance(make(pin_memory=False), torch.Tensor)


def test_whether_memory_is_pinned_is_a_bool():
    with pytest.raises(TypeError, match=r"^empty\(\): argument 'pin_memory' must be bool, not int$"):
        torch.empty(2, pin_memory=1)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="new_tensor.. got an unexpected keyword argument 'pin_memory'"):
        torch.ones(1).new_tensor([1], pin_memory=True)  # pyright: ignore[reportCallIssue]


def test_as_strided_of_a_part_of_memory_that_owns_its_gradient():
    memory = torch.arange(12.0)
    part = memory[2:8].detach().requires_grad_()
    window = part.as_strided((2, 2), (1, 2), 3)
    assert window.tolist() == [[3, 5], [4, 6]] and window.storage_offset() == 3 and window._base is part
    (part.as_strided((), ()) * 3 + (window * torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum()).backward()
    assert part.grad.tolist() == [3, 1, 3, 2, 4, 0]
    with torch.no_grad():
        part.as_strided((2,), (1,), 4).mul_(10)
    assert memory.tolist() == [0, 1, 2, 3, 40, 50, 6, 7, 8, 9, 10, 11] and part.tolist() == [2, 3, 40, 50, 6, 7]
    doubled = part * 2
    doubled[1:4].as_strided((2,), (2,), 1).sum().backward()
    assert part.grad.tolist() == [3, 3, 3, 4, 4, 0]
    with pytest.raises(NotImplementedError, match="as_strided of a tensor that requires grad"):
        part.as_strided((3,), (1,), 8)


def test_slices_of_storages_share_memory():
    x = torch.arange(6.0)
    storage = x.untyped_storage()
    part = storage[4:16]
    assert (len(part), part.nbytes(), part.data_ptr() - storage.data_ptr()) == (12, 12, 4)
    assert part.tolist() == storage.tolist()[4:16] and part[0] == storage[4]
    assert storage[-8:][2:].nbytes() == 6 and storage[2:2].nbytes() == 0 and part == storage[4:16] != storage[4:12]
    elements = torch.asarray(part, dtype=torch.uint8)
    assert (elements.shape, elements.dtype) == ((12,), torch.uint8)
    elements.view(torch.float32)[0] = 9
    assert x.tolist() == [0, 9, 2, 3, 4, 5]
    assert torch.empty(0).set_(part).tolist() == [9, 2, 3]
    assert torch.asarray(storage, dtype=torch.float32).tolist() == x.tolist()
    with pytest.raises(RuntimeError, match="Trying to slice with a step of 2"):
        storage[::2]


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex64, torch.int64])
@pytest.mark.parametrize("other", [torch.float64, torch.complex64, torch.int64])
def test_elements_without_dimensions_are_seen_as_others_of_their_size(dtype, other):
    x = torch.tensor(3, dtype=dtype)
    assert x.view(other).shape == () and torch.equal(x.view(other).view(dtype), x)


def test_bytes_seen_as_booleans_keep_their_bits():
    x = torch.tensor([[1.5, 2.5], [3.0, 0.0]])
    seen = x.view(torch.bool)
    assert seen[1].tolist() == [False, False, True, True, False, False, False, False]
    assert torch.equal(seen[1].view(torch.float32), x[1]) and torch.equal(seen.view(torch.float32), x)
    assert seen.t()[2:5].t().view(torch.uint8).tolist() == [[192, 63, 0], [64, 64, 0]]
    assert seen[0, 4:].view(torch.int32).tolist() == [1075838976]
    seen[1].view(torch.uint8)[0] = 7  # the same memory
    assert seen[1, 0] and x[1].view(torch.uint8).tolist() == [7, 0, 64, 64, 0, 0, 0, 0]
    assert torch.tensor(3, dtype=torch.uint8).view(torch.bool).view(torch.int8).item() == 3


def test_a_write_to_booleans_leaves_the_other_bytes():
    bytes_ = torch.arange(4, dtype=torch.uint8)
    bytes_.view(torch.bool)[3] = False
    assert bytes_.tolist() == [0, 1, 2, 0]
    bytes_.view(torch.bool)[0] = True
    assert bytes_.tolist() == [1, 1, 2, 0]


def test_every_second_element_is_seen_as_another_dtype():
    x = torch.arange(40.0, dtype=torch.float64).view(2, 20)[:, ::2]
    for other in (torch.int64, torch.complex64):
        assert torch.equal(x.view(other).view(torch.float64), x)
    parts = torch.arange(2 * 5 * 256).view(2, 5, 256)[1::2, 1:]
    assert torch.equal(parts.view(torch.uint8).view(torch.int64), parts)
