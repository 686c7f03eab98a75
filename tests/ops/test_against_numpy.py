"""Indexing, broadcasting and promotion agree with NumPy on cases that Hypothesis draws."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

import torchlike as torch
from tests.cases import cases

pytestmark = pytest.mark.single

SHAPE = (3, 2, 4)
BASE = np.arange(24.0, dtype=np.float32).reshape(SHAPE)


def bounds(size):
    return st.none() | st.integers(-size - 1, size + 1)


def slices(size):
    return st.builds(slice, bounds(size), bounds(size), st.none() | st.integers(1, 3))


def rows(size, repeated):
    """Draws several indices as an array, or distinct ones as a list."""
    numbers = st.integers(-size, size - 1) if repeated else st.integers(0, size - 1)
    return st.lists(numbers, min_size=1, max_size=3, unique=not repeated).map(np.array)


@st.composite
def indices(draw, repeated=True):
    """Draws an index that NumPy and PyTorch understand alike: slices with numbers, or slices with one array of numbers or of bool.

    A number beside an array is left out: NumPy takes it for an array, PyTorch does not.
    """
    special = draw(st.sampled_from(["numbers", "array", "mask", "whole mask"]))
    if special == "whole mask":
        return (np.array(draw(st.lists(st.booleans(), min_size=24, max_size=24))).reshape(SHAPE),)
    entries = []
    chosen = draw(st.integers(0, 2))
    for d, size in enumerate(SHAPE):
        if special == "numbers":
            entries.append(draw(st.integers(-size, size - 1) | slices(size)))
        elif d == chosen and special == "array":
            entries.append(draw(rows(size, repeated)))
        elif d == chosen:
            entries.append(np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size))))
        else:
            entries.append(draw(slices(size)))
    kept = entries[: draw(st.integers(1, 3))]
    if draw(st.booleans()):
        kept.insert(draw(st.integers(0, len(kept))), None)
    elif draw(st.booleans()):
        kept = [Ellipsis, *entries[-len(kept) :]]
    return tuple(kept)


def ours(index):
    return tuple(torch.from_numpy(e.copy()) if isinstance(e, np.ndarray) else e for e in index)


@cases(12)
@given(indices())
def test_what_an_index_reads_and_where_its_gradient_goes(index):
    x = torch.tensor(BASE, requires_grad=True)
    wanted = BASE[index]
    found = x[ours(index)]
    assert found.shape == wanted.shape
    np.testing.assert_array_equal(found.detach().numpy(), wanted)
    weights = np.arange(1.0, wanted.size + 1, dtype=np.float32).reshape(wanted.shape)
    (found * torch.tensor(weights)).sum().backward()
    gradient = np.zeros_like(BASE)
    np.add.at(gradient, index, weights)
    np.testing.assert_array_equal(x.grad.numpy(), gradient)


@cases(12)
@given(indices(repeated=False), st.booleans())
def test_what_is_written_through_an_index(index, one):
    wanted = BASE.copy()
    values = -np.arange(1.0, wanted[index].size + 1, dtype=np.float32).reshape(wanted[index].shape)
    x = torch.tensor(BASE)
    wanted[index] = 7 if one else values
    x[ours(index)] = 7 if one else torch.tensor(values)
    np.testing.assert_array_equal(x.numpy(), wanted)


@st.composite
def shapes_that_meet(draw):
    whole = draw(st.lists(st.integers(0, 3), max_size=3))
    return [tuple(draw(st.sampled_from([n, 1])) for n in whole[draw(st.integers(0, len(whole))) :]) for _ in range(2)]


@cases(10)
@given(shapes_that_meet())
def test_shapes_are_broadcast_and_gradients_summed_back(shapes):
    a, b = (np.arange(1.0, np.prod(s, dtype=int) + 1).reshape(s) for s in shapes)
    x, y = (torch.tensor(array, requires_grad=True) for array in (a, b))
    found = x * y
    np.testing.assert_array_equal(found.detach().numpy(), a * b)
    assert torch.broadcast_shapes(*shapes) == np.broadcast_shapes(*shapes)
    found.sum().backward()
    for tensor, other in ((x, b), (y, a)):
        spread = np.broadcast_to(other, found.shape)
        lead = tuple(range(spread.ndim - tensor.dim()))
        wanted = spread.sum(axis=lead) if lead else spread
        ones = tuple(d for d, n in enumerate(tensor.shape) if n == 1 and wanted.shape[d] != 1)
        np.testing.assert_array_equal(tensor.grad.numpy(), wanted.sum(axis=ones, keepdims=True) if ones else wanted)


@cases(10)
@given(st.lists(st.integers(0, 3), max_size=3), st.lists(st.integers(0, 3), max_size=3))
def test_shapes_that_do_not_meet_are_refused(a, b):
    try:
        np.broadcast_shapes(tuple(a), tuple(b))
    except ValueError:
        with pytest.raises(RuntimeError, match="must match the size of tensor b|Shape mismatch"):
            torch.zeros(a) + torch.zeros(b)
    else:
        assert (torch.zeros(a) + torch.zeros(b)).shape == np.broadcast_shapes(tuple(a), tuple(b))


# Within a category PyTorch promotes as NumPy does, and the parts of a complex result have the wider float dtype. For two other
# categories PyTorch takes the dtype of the higher category, while NumPy takes one that holds all integers.
CATEGORIES = (
    ("bool",), ("uint8", "int8", "int16", "int32", "int64"), ("float16", "float32", "float64"), ("complex64", "complex128"),
)  # fmt: skip
DTYPES = [(category, name) for category, names in enumerate(CATEGORIES) for name in names]


@cases(25)
@given(st.sampled_from(DTYPES), st.sampled_from(DTYPES))
def test_dtypes_are_promoted(first, second):
    (high, a), (low, b) = max(first, second), min(first, second)
    wanted = np.promote_types(a, b).name if high == low or (high, low) == (3, 2) else a
    assert torch.promote_types(getattr(torch, a), getattr(torch, b)) is getattr(torch, wanted)
    x, y = torch.ones(1, dtype=getattr(torch, a)), torch.ones(1, dtype=getattr(torch, b))
    assert torch.result_type(x, y) is (y * x).dtype is getattr(torch, wanted)
    # A tensor without dimensions does not change the dtype of one in the same or a higher category.
    assert torch.result_type(x, y[0]) is getattr(torch, a)
