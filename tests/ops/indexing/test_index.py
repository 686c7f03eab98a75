"""Indexing: the lines of `tests/ops/lines.py` give the results, layouts, gradients and errors recorded from PyTorch."""

import numpy as np
import pytest

import torchlike as torch
from tests.ops.lines import every_line
from tests.ops.running import adopt_near, outcome
from torchlike.engine.report import report

pytestmark = pytest.mark.single


@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize("line", every_line("index"))
def test_as_recorded(line, shared, golden):
    told = outcome(torch, line, shared)
    assert told == adopt_near(golden("lines")["index"][line], told)


def test_a_loop_over_places_compiles_once():
    """When an index has varied, it becomes an input of the program."""
    x, out = torch.arange(400.0).reshape(100, 4) * 1, torch.zeros(100, 4)

    def step(i):
        out[i] = x[i] * 2
        return out[i].sum().item()

    for i in range(16):
        step(i)
    before = compiles()
    for i in range(16, 100):
        step(i)
    assert compiles() == before
    assert out.equal(x * 2)


def test_a_loop_over_slices_compiles_once():
    x = torch.arange(400.0).reshape(100, 4) * 1
    for start in range(0, 40, 4):
        x[start : start + 4].sum().item()
    before = compiles()
    total = 0.0
    for start in range(0, 100, 4):
        total += x[start : start + 4].sum().item()
    assert compiles() == before
    assert total == x.sum().item()


def test_a_long_loop_without_reads_compiles_a_bounded_number():
    out = torch.zeros(200) * 1
    before = compiles()
    for i in range(200):
        out[i] = out[i - 1] + 1
    assert out[-1].item() == 200
    assert compiles() - before < 200


def compiles():
    return report.compiles + report.op_compiles


def test_the_gradient_of_varying_places():
    x = torch.arange(40.0).reshape(10, 4).requires_grad_()
    for i in range(10):
        (x[i] * i).sum().backward()
    assert x.grad.tolist() == [[float(i)] * 4 for i in range(10)]


def test_a_wrong_index_that_is_computed_is_reported_at_the_next_read(op_by_op):
    x = torch.arange(3.0)
    index = torch.tensor([1]) * 5
    y = None if op_by_op else x[index]
    with pytest.raises(IndexError, match="index 5 is out of bounds for dimension 0 with size 3"):
        x[index] if y is None else y.tolist()  # in eager mode the line itself raises
    assert x[torch.tensor([1]) * 1].tolist() == [1.0]


def test_a_failed_write_changes_nothing():
    x = torch.arange(3.0)
    for index, value in [([5], 1.0), (5, 1.0), (slice(0, 2), torch.ones(3)), ([0, 1], torch.ones(3))]:
        with pytest.raises((IndexError, RuntimeError)):
            x[index] = value
    assert x.tolist() == [0.0, 1.0, 2.0]
    assert x._version == 0


@pytest.mark.recorded  # without this every op is a segment of its own
def test_writing_where_a_mask_says_reads_nothing():
    x = torch.arange(6.0) * 1
    segments = report.segments
    x[x > 2] = 0.0
    x[x > 1] = torch.tensor([9.0])
    x[x > 8] = torch.tensor([7.0]) * 1
    assert report.segments == segments
    assert x.tolist() == [0.0, 1.0, 7.0, 0.0, 0.0, 0.0]


def test_numpy_arrays_and_integers_index():
    x = torch.arange(6.0).reshape(2, 3)
    assert x[np.array([1, 0])].tolist() == [[3.0, 4.0, 5.0], [0.0, 1.0, 2.0]]
    assert x[np.int64(1), np.int32(2)].item() == 5.0
    assert x[np.array([True, False])].tolist() == [[0.0, 1.0, 2.0]]
    index = np.array([0, 1])
    picked = x[index]
    index[:] = 9  # the index was read at the call
    assert picked.tolist() == x.tolist()


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int8", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
)
def test_every_dtype_is_read_and_written(dtype):
    x = torch.tensor([[0, 1, 2], [3, 4, 5]]).to(getattr(torch, dtype))
    y = x.clone()
    y[0, 1:] = x[1, :2]
    y[[0, 1], [0, 0]] = x[[1, 0], [2, 2]]
    y[:, ::2] = y[:, ::2].flip(0)
    mask = torch.tensor([[True, False, False], [False, True, False]])
    y[mask] = x[mask]
    assert y.dtype is x.dtype
    expected = x._array().copy()
    source = expected.copy()
    expected[0, 1:] = source[1, :2]
    expected[[0, 1], [0, 0]] = source[[1, 0], [2, 2]]
    expected[:, ::2] = expected[::-1, ::2].copy()
    expected[mask._array()] = source[mask._array()]
    assert (y._array() == expected).all()


@pytest.mark.parametrize(
    ("shape", "dim", "error", "message"),
    [
        ((3,), 0, IndexError, "index out of range in self"),
        ((3, 2, 2), 1, IndexError, "index out of range in self"),
        ((3, 2), 0, RuntimeError, "index 9 is out of bounds for dimension 0 with size 3"),
        ((3, 2), -1, RuntimeError, "index 9 is out of bounds for dimension 1 with size 2"),
        ((3, 2, 2), 2, RuntimeError, "index 9 is out of bounds for dimension 2 with size 2"),
    ],
)
def test_index_add_outside_is_the_error_of_the_way_in_which_pytorch_adds(shape, dim, error, message):
    sizes = list(shape)
    sizes[dim] = 1
    with pytest.raises(error, match=f"^{message}$"):
        torch.zeros(shape).index_add(dim, torch.tensor([9]), torch.ones(sizes)).sum().item()


def test_one_number_of_another_dtype_goes_where_a_mask_says():
    x = torch.arange(4.0)
    assert x.index_put((x > 1,), torch.tensor(7)).tolist() == [0, 1, 7, 7]
    with pytest.raises(
        RuntimeError, match="^Index put requires the source and destination dtypes match, got Float for the dest"
    ):
        x.index_put((x > 1,), torch.tensor(7), accumulate=True)


@pytest.mark.parametrize("shape", [(6,), (5, 4), (3, 4, 5), (0, 4), (3, 0), (1, 1)])
def test_a_mask_of_the_first_dimensions_reads_each_element_once(shape):
    """Values and gradients, also where nothing is chosen, and where there is nothing to choose from."""
    source = np.arange(float(np.prod(shape)), dtype=np.float32).reshape(shape)
    for dims in range(1, len(shape) + 1):
        for chosen in (np.zeros, np.ones, lambda size, kind: np.arange(np.prod(size)).reshape(size) % 3 == 1):
            mask = chosen(shape[:dims], bool)
            x = torch.tensor(source, requires_grad=True)
            picked = x[torch.tensor(mask)]
            assert picked.tolist() == source[mask].tolist() and picked.shape == source[mask].shape
            assert type(picked.grad_fn).__name__ == "IndexBackward0"
            (picked**2).sum().backward()
            expected = np.zeros_like(source)
            expected[mask] = 2 * source[mask]
            assert x.grad.tolist() == expected.tolist()


def test_what_scatter_leaves_beside_a_smaller_index():
    x, index = torch.arange(20.0).reshape(4, 5), torch.tensor([[3, 0], [1, 0]])
    assert x.gather(0, index).tolist() == [[15, 1], [5, 1]]
    for dim, row in ((0, [0, 101, 2, 3, 4]), (1, [11, 1, 2, 10, 4])):
        written = x.scatter(dim, index, torch.tensor([[10.0, 11], [100, 101]]))
        assert written[0].tolist() == row
        assert written[2].tolist() == x[2].tolist()
