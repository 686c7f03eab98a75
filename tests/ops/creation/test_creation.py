"""Tensors from data and from shapes: dtypes, layouts, shared memory, and PyTorch's messages for arguments that it refuses."""

from typing import Any

import numpy as np
import pytest

import torchlike as torch

pytestmark = pytest.mark.single

DTYPES = [
    ([1, 2], torch.int64),
    ([1, 2.5], torch.float32),
    ([True], torch.bool),
    ([True, 2], torch.int64),
    ([1, 1j], torch.complex64),
    ([], torch.float32),
    (3, torch.int64),
    ([2**63, 1.5], torch.float32),
    (np.float64(1.0), torch.float64),
    ([np.float64(1.0)], torch.float64),
    ([np.int32(1)], torch.int32),
    (np.arange(2, dtype=np.int16), torch.int16),
    ([torch.tensor(1), torch.tensor(2.0)], torch.float32),
    (range(3), torch.int64),
]


@pytest.mark.parametrize(("data", "dtype"), DTYPES)
def test_tensor_infers_the_dtype(data, dtype):
    assert torch.tensor(data).dtype is dtype


WRONG_DATA = [
    ([[1, 2], [3, 4, 5]], ValueError, "expected sequence of length 2 at dim 1 (got 3)"),
    ([[[1, 2]], [[3]]], ValueError, "expected sequence of length 2 at dim 2 (got 1)"),
    ([[1], 2], TypeError, "not a sequence"),
    ([1, [2]], TypeError, "'list' object cannot be interpreted as an integer"),
    ("abc", TypeError, "new(): invalid data type 'str'"),
    (["a"], ValueError, "too many dimensions 'str'"),
    ([1, "a"], TypeError, "new(): invalid data type 'str'"),
    (None, RuntimeError, "Could not infer dtype of NoneType"),
    ([2**63], ValueError, "Overflow when unpacking long long"),
]


@pytest.mark.parametrize(("data", "error", "message"), WRONG_DATA)
def test_tensor_refuses(data, error, message):
    with pytest.raises(error) as caught:
        torch.tensor(data)
    assert str(caught.value) == message


def test_tensor_with_a_dtype_casts_as_c_does():
    assert torch.tensor([1.5, -2.7], dtype=torch.int32).tolist() == [1, -2]
    assert torch.tensor([-1], dtype=torch.uint8).tolist() == [255]
    assert torch.tensor([0.5, 0.0], dtype=torch.bool).tolist() == [True, False]
    assert torch.tensor([1e300], dtype=torch.float32).item() == float("inf")
    with pytest.raises(RuntimeError, match="value cannot be converted to type uint8 without overflow"):
        torch.tensor([300], dtype=torch.uint8)
    with pytest.raises(TypeError, match="must be real number, not complex"):
        torch.tensor([1j], dtype=torch.float32)


def test_shapes_of_empty_nests():
    assert torch.tensor([[], []]).shape == (2, 0)
    assert torch.tensor([[]]).shape == (1, 0)


def test_tensor_copies_and_warns_for_a_tensor():
    a = torch.ones(2)
    with pytest.warns(UserWarning, match="To copy construct from a tensor"):
        b = torch.tensor(a)
    b += 1
    assert a.tolist() == [1, 1]


def test_tensor_copies_an_array():
    a = np.ones(2)
    t = torch.tensor(a)
    a[0] = 5
    assert t.tolist() == [1, 1]


def test_from_numpy_shares_memory_both_ways():
    a = np.zeros(3, np.float32)
    t = torch.from_numpy(a)
    a[0] = 1
    assert t.tolist() == [1, 0, 0]
    t += 1
    assert a.tolist() == [2, 1, 1]


def test_from_numpy_shares_a_transposed_array():
    a = np.arange(6.0).reshape(2, 3).T
    t = torch.from_numpy(a)
    assert t.stride() == (1, 3)
    t[0, 1] = 50
    assert a[0, 1] == 50
    a[2, 0] = 20
    assert t.tolist() == a.tolist()


WRONG_ARRAYS = [
    (lambda: [1], TypeError, "expected np.ndarray (got list)"),
    (lambda: np.arange(3)[::-1], ValueError, "At least one stride in the given numpy array is negative"),
    (lambda: np.array(["a"]), TypeError, "can't convert np.ndarray of type numpy.str_."),
    (lambda: np.zeros(2, ">f4"), ValueError, "given numpy array has byte order different from the native byte order."),
]


@pytest.mark.parametrize(("make", "error", "message"), WRONG_ARRAYS)
def test_from_numpy_refuses(make, error, message):
    with pytest.raises(error) as caught:
        torch.from_numpy(make())
    assert str(caught.value).startswith(message)


def test_as_tensor_shares_where_it_can():
    t = torch.ones(2)
    assert torch.as_tensor(t) is t
    a = np.zeros(2)
    torch.as_tensor(a)[0] = 1
    assert a.tolist() == [1, 0]
    torch.as_tensor(a, dtype=torch.float32)[0] = 7
    assert a.tolist() == [1, 0]


def test_asarray_refuses_to_copy_when_told_so():
    with pytest.raises(ValueError, match="can't alias arbitrary sequence into a tensor."):
        torch.asarray([1, 2], copy=False)
    with pytest.raises(ValueError, match="can't alias tensor with dtype 'Float' into dtype 'Int'."):
        torch.asarray(torch.ones(2), copy=False, dtype=torch.int32)


def test_frombuffer_shares_a_bytearray():
    memory = bytearray(b"abcd")
    t = torch.frombuffer(memory, dtype=torch.uint8, offset=1, count=2)
    assert t.tolist() == [98, 99]
    memory[1] = 0
    assert t.tolist() == [0, 99]
    with pytest.raises(
        ValueError, match=r"buffer length \(4 bytes\) after offset \(0 bytes\) must be a multiple of element size \(8\)"
    ):
        torch.frombuffer(memory, dtype=torch.int64)


def test_from_dlpack_takes_numpy_and_jax():
    import jax.numpy as jnp

    a = np.arange(3.0)
    shared = torch.from_dlpack(a)
    a[0] = 9
    assert shared.tolist() == [9, 1, 2]
    assert torch.from_dlpack(jnp.ones(2)).tolist() == [1, 1]


@pytest.mark.parametrize("size", [(2, 3), ((2, 3),), ([2, 3],), (torch.Size([2, 3]),), (torch.tensor(2), np.int64(3))])
def test_sizes_spread_or_not(size):
    assert torch.zeros(*size).tolist() == [[0, 0, 0], [0, 0, 0]]


WRONG_SIZES = [
    ((), TypeError, 'zeros() missing 1 required positional arguments: "size"'),
    ((2.5,), TypeError, "zeros(): argument 'size' (position 1) must be tuple of ints, not float"),
    ((True,), TypeError, "zeros(): argument 'size' (position 1) must be tuple of ints, not bool"),
    (
        ([2.0],),
        TypeError,
        "zeros(): argument 'size' (position 1) must be tuple of ints, but found element of type float at pos 0",
    ),
    ((2, -3), RuntimeError, "zeros: Dimension size must be non-negative."),
    (((2,), 3), TypeError, "zeros() takes 1 positional argument but 2 were given"),
]


@pytest.mark.parametrize(("size", "error", "message"), WRONG_SIZES)
def test_wrong_sizes(size, error, message):
    with pytest.raises(error) as caught:
        torch.zeros(*size)
    assert str(caught.value) == message


def test_full_takes_the_dtype_of_its_number():
    assert [torch.full((1,), v).dtype for v in (3, 3.5, True, 1j)] == [
        torch.int64,
        torch.float32,
        torch.bool,
        torch.complex64,
    ]
    number: Any = np.bool_(True)
    assert torch.full((1,), number).dtype is torch.float32
    assert torch.full((2,), -1, dtype=torch.uint8).tolist() == [255, 255]
    with pytest.raises(RuntimeError, match="value cannot be converted to type uint8_t without overflow"):
        torch.full((2,), 300, dtype=torch.uint8)
    with pytest.raises(RuntimeError, match="value cannot be converted to type float without overflow"):
        torch.full((2,), 1e50)


def test_requires_grad_wants_floats():
    assert torch.zeros(2, requires_grad=True).is_leaf
    with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype can require gradients"):
        torch.zeros(2, dtype=torch.int64, requires_grad=True)


def test_out_takes_on_the_shape_and_keeps_its_dtype():
    out = torch.empty(3)
    assert torch.zeros(2, out=out) is out
    assert out.tolist() == [0, 0]
    with pytest.raises(RuntimeError, match=r"dtype Int does not match dtype of out parameter \(Float\)"):
        torch.zeros(2, dtype=torch.int32, out=out)


def test_like_follows_dtype_and_layout():
    model = torch.ones(2, 3, dtype=torch.int32).t()
    assert torch.zeros_like(model).dtype is torch.int32
    assert torch.zeros_like(model).stride() == (1, 3)
    assert torch.full_like(model, 3.5).tolist() == [[3, 3]] * 3
    assert torch.empty_strided((2, 3), (1, 2)).stride() == (1, 2)
    wrong: Any = [1]
    with pytest.raises(TypeError, match=r"zeros_like\(\): argument 'input' \(position 1\) must be Tensor, not list"):
        torch.zeros_like(wrong)


def test_new_methods_follow_the_tensor():
    t = torch.tensor([1, 2], dtype=torch.int16)
    assert t.new_zeros(2, 2).dtype is torch.int16
    assert t.new_full((2,), 3.5).tolist() == [3, 3]
    assert t.new_tensor([1.5]).tolist() == [1]


RANGES = [
    ((5,), [0, 1, 2, 3, 4]),
    ((1, 5, 2), [1, 3]),
    ((5, 1, -1), [5, 4, 3, 2]),
    ((1, 2.5, 0.5), [1.0, 1.5, 2.0]),
    ((3, 3), []),
]


@pytest.mark.parametrize(("bounds", "expected"), RANGES)
def test_arange(bounds, expected):
    assert torch.arange(*bounds).tolist() == expected


def test_arange_counts_exactly_beyond_what_floats_hold():
    assert torch.arange(2**53, 2**53 + 3).tolist() == [2**53, 2**53 + 1, 2**53 + 2]


WRONG_RANGES = [
    ((5, 1), "upper bound and lower bound inconsistent with step sign"),
    ((1, 5, 0), "step must be nonzero"),
    ((float("inf"),), "unsupported range: 0 -> inf"),
]


@pytest.mark.parametrize(("bounds", "message"), WRONG_RANGES)
def test_arange_refuses(bounds, message):
    with pytest.raises(RuntimeError) as caught:
        torch.arange(*bounds)
    assert str(caught.value) == message


def test_linspace_reaches_both_ends():
    assert torch.linspace(0, 10, 4, dtype=torch.int64).tolist() == [0, 3, 6, 10]
    assert torch.linspace(0, 1, 1).tolist() == [0]
    assert torch.logspace(0, 2, 3).tolist() == [1, 10, 100]
    with pytest.raises(RuntimeError, match="number of steps must be non-negative"):
        torch.linspace(0, 1, -1)


def test_eye():
    assert torch.eye(2, 3).tolist() == [[1, 0, 0], [0, 1, 0]]
    with pytest.raises(RuntimeError, match="n must be greater or equal to 0, got -1"):
        torch.eye(-1)


def test_old_constructors():
    tensor_class: Any = torch.Tensor
    assert tensor_class(2, 3).shape == (2, 3)
    assert tensor_class([1, 2]).dtype is torch.float32
    assert torch.LongTensor([1.5, 2]).tolist() == [1, 2]
    assert isinstance(torch.ones(2), torch.FloatTensor)
    assert not isinstance(torch.ones(2), torch.LongTensor)
    with pytest.raises(TypeError, match=r"new\(\): data must be a sequence \(got float\)"):
        tensor_class(2.5)


def test_default_dtype_changes_what_is_made_and_what_was_compiled():
    ints = torch.tensor([1, 2])
    assert (ints / 2).dtype is torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.ones(1).dtype is torch.float64
        assert (ints / 2).dtype is torch.float64
        assert torch.tensor(1j).dtype is torch.complex128
    finally:
        torch.set_default_dtype(torch.float32)
    assert (ints / 2).dtype is torch.float32
    with pytest.raises(TypeError, match="only floating-point types are supported as the default type"):
        torch.set_default_dtype(torch.int64)


def test_a_fill_that_changes_compiles_nothing_more():
    def fill(number):
        return torch.full((3,), number).sum().item()

    for i in range(8):
        assert fill(float(i)) == 3 * i
    torch.explain(reset=True)
    for i in range(8, 20):
        assert fill(float(i)) == 3 * i
    report = torch.explain()
    assert report.compiles == 0
    assert report.op_compiles == 0


def test_a_tensor_and_a_device_are_refused():
    assert torch.Tensor([1.0, 2.0], device="cpu").tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError, match="^Legacy tensor constructor of the form torch.Tensor"):
        torch.Tensor(torch.ones(2), device="cpu")
