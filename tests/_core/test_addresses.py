"""The bytes at a tensor's address are the tensor's elements, whoever writes them, as long as its storage lives."""

import ctypes
import gc
import sys

import numpy as np
import pytest

import torchlike as torch
from torchlike._core.tensor import from_value
from torchlike.engine.aval import Aval, Placement
from torchlike.engine.value import Value


def at(address: int, dtype: str, count: int) -> list:
    return np.frombuffer(ctypes.string_at(address, count * np.dtype(dtype).itemsize), dtype).tolist()


def poke(address: int, array: np.ndarray) -> None:
    ctypes.memmove(address, array.tobytes(), array.nbytes)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "int32", "uint8", "bool", "complex64"])
def test_the_bytes_are_there(dtype):
    x = torch.tensor([0, 1, 1, 0], dtype=getattr(torch, dtype))
    assert at(x.data_ptr(), dtype, 4) == [0, 1, 1, 0]
    assert at(x[1:].data_ptr(), dtype, 2) == [1, 1]
    half = torch.tensor([1.0, 2.0], dtype=torch.bfloat16)
    assert ctypes.string_at(half.data_ptr(), 4) == b"\x80?\x00@"


def test_of_a_result_that_is_still_pending():
    x = torch.arange(3.0) * 2 + 1
    assert at(x.data_ptr(), "float32", 3) == [1, 3, 5]


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        ("t.add_(1)", [[2, 3], [4, 5]]),
        ("t[0] = 9", [[9, 9], [3, 4]]),
        ("t[:, 1] += 5", [[1, 7], [3, 9]]),
        ("t.T[0, 1] = 8", [[1, 2], [8, 4]]),
        ("t[t > 2] = 0", [[1, 2], [0, 0]]),
        ("t.copy_(torch.eye(2))", [[1, 0], [0, 1]]),
        ("torch.add(t, 1, out=t)", [[2, 3], [4, 5]]),
        ("t.data.sub_(1)", [[0, 1], [2, 3]]),
        ("t.numpy()[0] = 7", [[7, 7], [3, 4]]),
    ],
)
def test_writes_go_there(write, expected):
    t = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    address = t.data_ptr()
    exec(write, {"torch": torch, "t": t})
    gc.collect()
    assert at(address, "float32", 4) == np.ravel(expected).tolist()
    assert t.data_ptr() == address
    poke(address, np.array([50.0], np.float32))  # and other code writes there
    assert (t[0, 0].item(), (t * 2)[0, 0].item()) == (50, 100)


def test_equal_where_memory_is_shared_and_only_there():
    x = torch.arange(12.0).reshape(3, 4).clone()
    for same in (x.detach(), x.data, x.view(-1), x.T, x[:2], x.view(torch.int32), torch.nn.Parameter(x)):
        assert same.data_ptr() == x.data_ptr()
    assert x[1:, 2:].data_ptr() - x.data_ptr() == 6 * 4
    others = [x.clone(), x + 0, torch.tensor(x.tolist())]  # all are alive, since freed memory is used again
    assert len({t.data_ptr() for t in (x, *others)}) == 4
    assert x[1].untyped_storage().data_ptr() == x.untyped_storage().data_ptr() == x.data_ptr()
    z = torch.tensor([1 + 2j, 3j])
    assert (z.imag.data_ptr() - z.data_ptr(), z.conj().data_ptr()) == (4, z.data_ptr())


def test_tied_weights_have_one_address():
    one, other = torch.nn.Linear(3, 3, bias=False), torch.nn.Linear(3, 3, bias=False)
    assert one.weight.data_ptr() != other.weight.data_ptr()
    other.weight = one.weight
    assert len({p.data_ptr() for m in (one, other) for p in m.parameters()}) == 1


def test_nothing_has_no_address():
    assert (torch.zeros(0).data_ptr(), torch.zeros(0, 3).untyped_storage().data_ptr()) == (0, 0)
    x = torch.ones(3)
    assert (x[3:].data_ptr(), x[3:].untyped_storage().data_ptr()) == (0, x.data_ptr())


def test_numpys_memory_keeps_its_address():
    array = np.arange(6.0)
    assert torch.from_numpy(array).data_ptr() == array.ctypes.data
    assert torch.from_numpy(array[2:]).data_ptr() == array.ctypes.data + 16
    assert torch.from_numpy(array[::2]).data_ptr() == torch.from_numpy(array).data_ptr()
    x = torch.ones(2)
    assert x.numpy().ctypes.data == x.data_ptr()


def test_in_functions_that_are_transformed_there_is_none():
    said = "^Cannot access data pointer of Tensor that doesn't have storage"
    with pytest.raises(RuntimeError, match=said):
        torch.vmap(lambda x: (x.data_ptr(), x)[1])(torch.ones(2))
    with pytest.raises(RuntimeError, match=said):
        torch.func.grad(lambda x: (x.data_ptr(), x.sum())[1])(torch.ones(2))


def test_parameters_whose_addresses_are_known_train_as_others():
    def trained(ask: bool) -> tuple[list[float], list[torch.nn.Parameter], list[int]]:
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        parameters = list(model.parameters())
        addresses = [p.data_ptr() for p in parameters] if ask else []
        optimizer = torch.optim.Adam(parameters, lr=0.1)
        x, y, losses = torch.randn(16, 4), torch.randn(16, 1), []
        for _ in range(5):
            loss = torch.nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses, parameters, addresses

    expected, _, _ = trained(False)
    losses, parameters, addresses = trained(True)
    assert losses == pytest.approx(expected, rel=1e-6)
    for parameter, address in zip(parameters, addresses, strict=True):
        assert parameter.data_ptr() == address
        assert at(address, "float32", parameter.numel()) == parameter.flatten().tolist()


def test_as_safetensors_uses_addresses():
    """The steps of ``safetensors.torch``: which tensors share memory, whether one covers its storage, and its bytes."""

    def ends(tensor: torch.Tensor) -> tuple[int, int]:
        start = tensor.data_ptr()
        return start, tensor.view(-1)[-1].data_ptr() + tensor.element_size()

    def read(tensor: torch.Tensor) -> bytes:
        pointer = ctypes.cast(tensor.data_ptr(), ctypes.POINTER(ctypes.c_ubyte))
        return np.ctypeslib.as_array(pointer, (tensor.numel() * tensor.element_size(),)).tobytes()

    whole = torch.arange(6.0)
    first, second, third = whole[:3], whole[3:], torch.nn.Parameter(torch.ones(2, 2))
    where = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in (whole, first, second, third)}
    assert sorted(where.values()) == [16, 24]
    assert ends(first)[1] == ends(second)[0]
    assert ends(whole) == (whole.untyped_storage().data_ptr(), whole.untyped_storage().data_ptr() + 24)
    third.data.mul_(3)
    for tensor in (whole, first, second, third):
        assert read(tensor) == tensor.detach().numpy().tobytes()


# ---- storages


def test_how_large_storages_are():
    x, nothing = torch.ones(3), torch.zeros(0)
    assert sys.getsizeof(x.untyped_storage()) - sys.getsizeof(nothing.untyped_storage()) == 12
    assert (x[1:].untyped_storage().nbytes(), x.untyped_storage().element_size()) == (12, 1)
    assert x.untyped_storage().tolist() == [0, 0, 128, 63] * 3 and x.untyped_storage()[-1] == 63
    with pytest.raises(IndexError, match="^index 100 out of range for storage of size 12$"):
        x.untyped_storage()[100]


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_storages_in_elements():
    x = torch.arange(4.0)
    storage = x[2:].storage()
    assert isinstance(storage, torch.TypedStorage) and torch.is_storage(storage) and storage == x.storage()
    assert (storage.size(), len(storage), storage.nbytes(), storage.element_size()) == (4, 4, 16, 4)
    assert (storage.dtype, storage.device, storage.data_ptr()) == (torch.float32, x.device, x.data_ptr())
    assert sys.getsizeof(storage) - sys.getsizeof(torch.zeros(0).storage()) == 16
    storage[1] = 9
    assert (storage.tolist(), x.tolist(), storage[-1]) == ([0, 9, 2, 3], [0, 9, 2, 3], 3)
    assert repr(storage).endswith("\n 3.0\n[torch.storage.TypedStorage(dtype=torch.float32, device=cpu) of size 4]")
    assert storage.untyped() == x.untyped_storage()


def test_storage_warns_once(monkeypatch):
    monkeypatch.setattr("torchlike.dispatch.warned.once.given", set())
    with pytest.warns(
        UserWarning, match="^TypedStorage is deprecated. It will be removed in the future and UntypedSto"
    ):
        torch.ones(1).storage()
    torch.ones(1).storage()


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_tensors_over_a_storage():
    x = torch.arange(6.0)
    y = torch.empty(0).set_(x.untyped_storage(), 1, (2, 2), (2, 1))
    assert (y.tolist(), y.data_ptr() - x.data_ptr()) == ([[1, 2], [3, 4]], 4)
    y.zero_()
    assert x.tolist() == [0, 0, 0, 0, 0, 5]
    assert torch.empty(0, dtype=torch.int64).set_(torch.ones(3).untyped_storage()).tolist() == [0x3F8000003F800000]
    assert torch.empty(0).set_(torch.ones(3).storage()).tolist() == [1, 1, 1]
    said = "^Expected a Storage of type long int or an UntypedStorage, but got type Float for argument 1 'storage'$"
    with pytest.raises(RuntimeError, match=said):
        torch.empty(0, dtype=torch.int64).set_(torch.ones(3).storage())


# ---- files


@pytest.fixture
def file(tmp_path):
    np.arange(6, dtype=np.float32).tofile(tmp_path / "data.bin")
    return str(tmp_path / "data.bin")


def test_a_file_that_is_written_through(file):
    storage = torch.UntypedStorage.from_file(file, shared=True, nbytes=24)
    t = torch.empty(0).set_(storage)
    assert (t.tolist(), t.data_ptr() == storage.data_ptr(), t.untyped_storage() == storage) == ([*range(6)], True, True)
    t[0] = 42
    assert np.fromfile(file, np.float32).tolist() == [42, 1, 2, 3, 4, 5]
    assert (storage.filename, storage.is_shared(), storage.nbytes()) == (file, True, 24)
    assert at(storage.data_ptr(), "float32", 6) == [42, 1, 2, 3, 4, 5]


def test_a_file_that_is_left_alone(file):
    storage = torch.UntypedStorage.from_file(file, False, 24)
    torch.empty(0).set_(storage)[1] = 9
    assert (torch.empty(0).set_(storage)[1].item(), storage.filename) == (9, None)
    assert np.fromfile(file, np.float32).tolist() == [*range(6)]


def test_files_that_do_not_suffice(file, tmp_path):
    with pytest.raises(RuntimeError, match="size <24> is smaller than the required mapping size <32>$"):
        torch.UntypedStorage.from_file(file, False, 32)
    with pytest.raises(
        RuntimeError, match=r"^unable to open file <.*none> in read-only mode: No such file or directory \(2\)$"
    ):
        torch.UntypedStorage.from_file(str(tmp_path / "none"), False, 8)
    assert torch.UntypedStorage.from_file(file, True, 32).tolist()[24:] == [0] * 8
    assert torch.UntypedStorage.from_file(str(tmp_path / "new"), True, 5).nbytes() == 5
    assert (tmp_path / "new").stat().st_size == 5
    assert torch.UntypedStorage.from_file(file).nbytes() == 0


def test_tensors_over_files(file):
    t = torch.from_file(file, shared=True, size=3)
    t.mul_(2)
    assert torch.from_file(file, size=2, dtype=torch.float32).tolist() == [0, 2]
    assert torch.from_file(file, size=1, dtype=torch.int32).dtype is torch.int32
    assert torch.from_file(file, dtype=torch.float64).tolist() == []
    storage = torch.FloatStorage.from_file(file, True, 3)
    storage[1] = 7.0
    assert torch.from_file(file, size=3).tolist() == [t[0].item(), 7.0, t[2].item()]


def test_on_an_accelerator_there_is_no_address():
    there = Aval((2,), np.dtype(np.float32), Placement("cuda", 0))
    tensor = from_value(Value.over(there, np.zeros(2, np.float32)))
    for ask in (tensor.data_ptr, tensor.untyped_storage().data_ptr):
        with pytest.raises(
            NotImplementedError, match="^torchlike cannot give the address of memory on cuda:0: JAX moves"
        ):
            ask()
    assert tensor[2:].data_ptr() == 0
