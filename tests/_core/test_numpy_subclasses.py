"""A tensor made from an instance of a subclass of NumPy's array equals one made from the plain array over the same memory."""

import numpy as np
import pytest

import torchlike as torch

pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")


class Sub(np.ndarray):
    """A subclass such as a library may define."""


@pytest.fixture
def memmap(tmp_path):
    np.arange(12, dtype=np.float64).tofile(tmp_path / "data.bin")
    return np.memmap(tmp_path / "data.bin", np.float64, "r+")


MADE = {
    "matrix": lambda: np.matrix([[1.0, 2.0], [3.0, 4.0]]),
    "transposed matrix": lambda: np.matrix([[1.0, 2.0], [3.0, 4.0]]).T,
    "masked": lambda: np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False]),
    "field of records": lambda: np.rec.array([(1, 2.0), (3, 4.0)], dtype=[("a", "i8"), ("b", "f8")]).a,
    "subclass": lambda: np.arange(3.0).view(Sub),
    "subclass without dimensions": lambda: np.array(3.0).view(Sub),
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
@pytest.mark.parametrize(
    "function", [torch.from_numpy, torch.tensor, torch.as_tensor, torch.asarray, torch.from_dlpack]
)
def test_made_into_tensors_they_take_part_in_operations(make, function):
    array = make()
    plain = np.array(array)
    tensor = function(array)
    assert tensor.numpy().dtype == plain.dtype
    assert tensor.tolist() == plain.tolist()
    assert (tensor + 1).tolist() == (plain + 1).tolist()
    assert torch.stack([tensor, tensor]).tolist() == [plain.tolist()] * 2


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_memory_is_shared_both_ways(make):
    array = make()
    tensor = torch.from_numpy(array)
    array[...] = 7
    assert tensor.unique().tolist() == [7]
    tensor.fill_(9)
    assert np.unique(np.asarray(array)).tolist() == [9]
    assert type(tensor.numpy()) is np.ndarray


def test_batches_of_a_memmap(memmap):
    starts = torch.tensor([0, 4])
    x = torch.stack([torch.from_numpy(memmap[i : i + 3].astype(np.int64)) for i in starts])
    y = torch.stack([torch.from_numpy(memmap[i + 1 : i + 4].astype(np.int64)) for i in starts])
    assert (x.dtype, (x + 1).tolist(), y.tolist()) == (torch.int64, [[1, 2, 3], [5, 6, 7]], [[1, 2, 3], [5, 6, 7]])


def test_what_is_written_to_a_tensor_over_a_memmap_is_in_the_file(memmap):
    tensor = torch.from_numpy(memmap)
    tensor[1:3] *= 10
    memmap.flush()
    assert np.fromfile(memmap.filename)[:4].tolist() == [0, 10, 20, 3]
    memmap[0] = -1
    assert tensor[0].item() == -1


def test_buffers_and_copies_of_a_memmap(memmap):
    assert (torch.frombuffer(memmap, dtype=torch.float64)[:3] + 1).tolist() == [1, 2, 3]
    assert torch.tensor(memmap, dtype=torch.float16).sum().item() == 66
    assert torch.zeros(1).new_tensor(memmap[:2]).tolist() == [0, 1]
    whole = torch.zeros(3, dtype=torch.float64)
    whole[:2] = torch.from_numpy(memmap[1:3])
    assert whole.tolist() == [1, 2, 0]


def test_a_buffer_whose_elements_do_not_follow_one_another():
    with pytest.raises(RuntimeError, match="^could not retrieve buffer from object$"):
        torch.frombuffer(np.arange(4.0)[::2], dtype=torch.float64)


def test_records_have_no_counterpart():
    with pytest.raises(TypeError, match="^can't convert np.ndarray of type numpy.void. The only supported types are: "):
        torch.from_numpy(np.rec.array([(1, 2.0)], dtype=[("a", "i8"), ("b", "f8")]))


def test_a_list_of_matrices_has_no_end():
    with pytest.raises(ValueError, match="^too many dimensions 'matrix'$"):
        torch.tensor([np.matrix([[1, 2], [3, 4]])])


def test_arrays_without_dimensions_among_numbers():
    made = torch.tensor([1.0, np.array(2.5)])
    assert (made.tolist(), made.dtype) == ([1.0, 2.5], torch.float64)
    assert torch.tensor([1, np.array(2).view(Sub)]).tolist() == [1, 2]
