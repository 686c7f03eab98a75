"""Differences from PyTorch 2.13 that the tests of other projects found."""

from typing import Any

import pytest

import torchlike as torch

pytestmark = pytest.mark.single

WINDOW: Any = torch.hann_window  # the type annotations forbid these arguments
TILE: Any = torch.tile
LENGTH = "hann_window(): argument 'window_length' (position 1) must be int, not "
TRAPEZOID = "trapezoid() received an invalid combination of arguments - got (Tensor, dx=Tensor), but expected one of:\n"


@pytest.mark.parametrize(
    "call",
    [
        "torch.tile(x, dims=(2,))", "x.tile(dims=(2,))", "torch.tile(input=x, dims=[2])", "x.tile(2)", "x.tile((2,))",
        "x.tile(torch.tensor(2))",
    ],
)  # fmt: skip
def test_tile_takes_its_numbers_by_name(call):
    assert eval(call, {"torch": torch, "x": torch.tensor([1, 2])}).tolist() == [1, 2, 1, 2]


@pytest.mark.parametrize(("short", "long"), [("min", "amin"), ("max", "amax")])
@pytest.mark.parametrize("include_self", [True, False])
def test_scatter_reduce_knows_short_names(short, long, include_self):
    args = torch.zeros(3), 0, torch.tensor([0, 1, 1]), torch.tensor([1.0, -2.0, -3.0])
    expected = torch.scatter_reduce(*args, long, include_self=include_self)
    assert torch.equal(torch.scatter_reduce(*args, short, include_self=include_self), expected)
    assert torch.equal(torch.zeros(3).scatter_reduce_(*args[1:], short, include_self=include_self), expected)


@pytest.mark.parametrize("name", ["trapz", "trapezoid", "cumulative_trapezoid"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("of_dx", [torch.float32, torch.float64, torch.int64])
def test_a_tensor_as_the_distance_leaves_the_dtype_alone(name, dtype, of_dx):
    found = getattr(torch, name)(torch.tensor([1.0, 2.0, 3.0], dtype=dtype), dx=torch.tensor(2, dtype=of_dx))
    assert found.dtype is dtype and found.reshape(-1)[-1] == 8


A, F = torch.arange(4.0).reshape(2, 2), torch.ones(3)
REFUSALS = [
    (lambda: torch.linalg.norm(A, "fro", dim=1), RuntimeError, "linalg.matrix_norm: dim must be a 2-tuple. Got 1"),
    (lambda: torch.linalg.norm(A, "nuc", dim=(1,)), RuntimeError, "linalg.matrix_norm: dim must be a 2-tuple. Got 1"),
    (lambda: torch.linalg.norm(A, "foo", dim=1), RuntimeError, "linalg.matrix_norm: Order foo not supported."),
    (lambda: torch.linalg.norm(F, "fro"), RuntimeError, "linalg.matrix_norm: The input tensor A must have at least 2 dimensions."),
    (lambda: torch.linalg.norm(torch.ones(2, 2, 2), "fro"), RuntimeError,
     "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got 3D."),
    (lambda: torch.linalg.matrix_norm(A, "fro", dim=(0, 1, 0)), RuntimeError, "linalg.matrix_norm: dim must be a 2-tuple. Got 0 1 0"),
    (lambda: torch.linalg.matrix_norm(A, 2, dim=1), TypeError, "linalg_matrix_norm() received an invalid combination of arguments - got "
     "(Tensor, int, dim=int), but expected one of:\n * (Tensor input, Number ord, tuple of ints dim = {-2,-1}, bool keepdim = False, *, "
     "torch.dtype dtype = None, Tensor out = None)\n * (Tensor input, str ord = \"fro\", tuple of ints dim = {-2,-1}, "
     "bool keepdim = False, *, torch.dtype dtype = None, Tensor out = None)\n"),
    (lambda: torch.norm(A, "nuc", dim=1), RuntimeError, "linalg.matrix_norm: dim must be a 2-tuple. Got 1"),
    (lambda: torch.norm(F, "nuc"), RuntimeError, "linalg.matrix_norm: The input tensor A must have at least 2 dimensions."),
    (lambda: torch.iinfo(F), TypeError, "iinfo(): argument 'type' (position 1) must be torch.dtype, not Tensor"),
    (lambda: torch.finfo(F), TypeError, "finfo(): argument 'type' (position 1) must be torch.dtype, not Tensor"),
    (lambda: torch.finfo(None), TypeError, "finfo(): argument 'type' (position 1) must be torch.dtype, not NoneType"),
    (lambda: torch.iinfo(), TypeError, 'iinfo() missing 1 required positional arguments: "type"'),
    (lambda: torch.iinfo(torch.bool), TypeError, "torch.bool is not supported by torch.iinfo"),
    (lambda: torch.iinfo(torch.float32), TypeError,
     "torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'"),
    (lambda: torch.finfo(torch.int8), TypeError,
     "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"),
    (lambda: torch.tile(A, 2), TypeError, "tile(): argument 'dims' (position 2) must be tuple of ints, not int"),
    (lambda: A.tile(2.0), TypeError, "tile(): argument 'dims' (position 1) must be tuple of ints, not float"),
    (lambda: TILE(A), TypeError, 'tile() missing 1 required positional arguments: "dims"'),
    (lambda: F.index_reduce(0, torch.tensor([0]), F[:1], "min"), RuntimeError,
     "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got min."),
    (lambda: torch.trapezoid(F, dx=torch.ones(2)), TypeError,
     TRAPEZOID + " * (Tensor y, Tensor x, *, int dim = -1)\n * (Tensor y, *, Number dx = 1, int dim = -1)\n"),
    (lambda: torch.trapezoid(F, dx=1j), RuntimeError, "trapezoid: Currently, we only support dx as a real number."),
    (lambda: torch.cumulative_trapezoid(F, dx=True), RuntimeError,
     "cumulative_trapezoid: Currently, we only support dx as a real number."),
    (lambda: WINDOW(3.0), TypeError, LENGTH + "float"),
    (lambda: WINDOW(torch.tensor([3])), TypeError, LENGTH + "Tensor"),
    (lambda: WINDOW(torch.tensor(True)), TypeError, LENGTH + "Tensor"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), REFUSALS, ids=[row[2][:60] for row in REFUSALS])
def test_refusals_are_in_pytorchs_words(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == message


@pytest.mark.parametrize("name", ["hann", "hamming", "blackman", "bartlett", "kaiser", "cosine", "nuttall"])
def test_windows_take_their_size_from_a_tensor(name):
    window = getattr(torch.signal.windows, name)
    assert torch.equal(window(torch.tensor(4)), window(4))
    old = getattr(torch, f"{name}_window", None)
    assert old is None or torch.equal(old(torch.tensor(4)), old(4))


@pytest.mark.parametrize(("index", "taken"), [(-1, 4.0), (-6, 4.0), (5, 0.0), (7, 2.0), (3, 3.0)])
@pytest.mark.parametrize("computed", [False, True])
def test_take_along_dim_counts_around_the_dimension(index, taken, computed):
    x = torch.arange(10.0).reshape(2, 5)
    indices = torch.tensor([[index, 0]] * 2)
    indices = indices * 1 if computed else indices
    assert torch.take_along_dim(x, indices, 1).tolist() == [[taken, 0.0], [taken + 5, 5.0]]
    with pytest.raises(RuntimeError, match="index -6 is out of bounds for dimension 0 with size 10"):
        torch.take_along_dim(x, torch.tensor([[-6]])).tolist()
