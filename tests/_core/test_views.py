"""Views share memory: writes through them, layouts, versions, gradients, and arrays of NumPy over the same memory."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import torchlike as torch
from tests.ops.lines import every_line
from tests.ops.running import adopt_near, outcome
from torchlike._core.views import MAX_AFTER, ViewStep


@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize("line", every_line("views"))
def test_as_recorded(line, shared, golden):
    told = outcome(torch, line, shared)
    assert told == adopt_near(golden("lines")["views"][line], told)


def test_numpy_sees_writes_through_views():
    x = torch.arange(6.0).reshape(2, 3).clone()
    array = x.numpy()
    x[0, 1:] = 9.0
    x.t()[2].add_(1.0)
    assert array.tolist() == [[0.0, 9.0, 10.0], [3.0, 4.0, 6.0]]


def test_views_see_what_numpy_writes():
    x = torch.arange(6.0).reshape(2, 3).clone()
    column, flat = x[:, 1], x.view(-1)
    array = x.numpy()
    array[1, 1] = 7.0
    assert column.tolist() == [1.0, 7.0]
    assert flat.tolist() == [0.0, 1.0, 2.0, 3.0, 7.0, 5.0]


def test_the_array_of_a_view_writes_into_its_base():
    x = torch.arange(12.0).reshape(3, 4).clone()
    array = x[1:, ::2].numpy()
    assert array.strides == (16, 8)
    array[:] = 0.0
    assert x.tolist() == [[0.0, 1.0, 2.0, 3.0], [0.0, 5.0, 0.0, 7.0], [0.0, 9.0, 0.0, 11.0]]


def test_a_view_made_without_gradients_may_not_be_written_with_them():
    x = torch.ones(3, requires_grad=True) * 1
    with torch.no_grad():
        view = x[:2]
        view.mul_(2)
    assert x.tolist() == [2.0, 2.0, 1.0]
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode and is being modified inplace"):
        view.mul_(2)


def test_a_dtype_view_shares_memory():
    x = torch.tensor([1.0, -2.0])
    bits = x.view(torch.int32)
    bits[0] = 0
    assert x.tolist() == [0.0, -2.0]
    x[1] = 1.0
    assert bits.tolist() == [0, 0x3F800000]


DTYPE_VIEWS = [
    (torch.arange(2, dtype=torch.int32), torch.int16, [0, 0, 1, 0]),
    (torch.tensor([1, 0, 0, 0], dtype=torch.int8), torch.int32, [1]),
    (torch.tensor([[1.0, 2.0]]), torch.complex64, [[1 + 2j]]),
    (torch.tensor([1 + 2j]), torch.float32, [1.0, 2.0]),
    (torch.tensor([0, 1, 2], dtype=torch.uint8), torch.bool, [False, True, True]),
    (torch.tensor([True, False]), torch.uint8, [1, 0]),
]


@pytest.mark.parametrize(("tensor", "dtype", "expected"), DTYPE_VIEWS, ids=[str(row[1]) for row in DTYPE_VIEWS])
def test_memory_is_read_as_another_dtype(tensor, dtype, expected):
    seen = tensor.view(dtype)
    assert seen.dtype is dtype
    assert seen.tolist() == expected


def test_writing_through_a_view_of_another_element_size_writes_the_bits():
    x = torch.zeros(2, 2)
    x[1].view(torch.int16)[1] = 0x3F80  # the upper half of the bits of 1.0
    assert x.tolist() == [[0.0, 0.0], [1.0, 0.0]]


NO_DTYPE_VIEWS = [
    (
        torch.zeros(6, dtype=torch.int8),
        "self.size(-1) must be divisible by 4 to view Char as Int (different element sizes), but got 6",
    ),
    (
        torch.zeros(4, 2, dtype=torch.int8).t(),
        "self.stride(-1) must be 1 to view Char as Int (different element sizes), but got 2",
    ),
    (torch.zeros((), dtype=torch.int8), "self.dim() cannot be 0 to view Char as Int (different element sizes)"),
    (
        torch.zeros(9, dtype=torch.int8)[1:],
        "self.storage_offset() must be divisible by 4 to view Char as Int (different element sizes), but got 1",
    ),
]


@pytest.mark.parametrize(("tensor", "message"), NO_DTYPE_VIEWS)
def test_memory_that_cannot_be_read_as_larger_elements(tensor, message):
    with pytest.raises(RuntimeError) as caught:
        tensor.view(torch.int32)
    assert str(caught.value) == message


def test_memory_of_channels_last():
    x = torch.arange(24.0).reshape(1, 2, 3, 4).contiguous(memory_format=torch.channels_last)
    assert x.stride() == (24, 1, 8, 2)
    assert not x._is_view()
    x[0, 1] = 0.0
    assert x.sum().item() == sum(range(12))
    assert x.is_contiguous(memory_format=torch.channels_last)


def slices(size):
    """Draws a slice of a dimension in the form that NumPy and PyTorch share."""
    return st.tuples(st.integers(-size, size), st.integers(-size, size + 2), st.integers(1, 3)).map(lambda s: slice(*s))


@st.composite
def view_steps(draw, shape):
    """Draws a view operation of both NumPy and torchlike, as two functions of the array."""
    rank = len(shape)
    kinds = ["index", "none"] + (["permute", "slice", "reshape"] if rank else []) + (["diagonal"] if rank > 1 else [])
    kind = draw(st.sampled_from(kinds))
    if kind == "none":
        dim = draw(st.integers(0, rank))
        return lambda a: np.expand_dims(a, dim), lambda t: t.unsqueeze(dim)
    if kind == "permute":
        order = draw(st.permutations(range(rank)))
        return lambda a: a.transpose(order), lambda t: t.permute(*order)
    if kind == "diagonal":
        first, second = draw(st.permutations(range(rank)))[:2]
        offset = draw(st.integers(-1, 1))
        if shape[first] + min(offset, 0) <= 0 or shape[second] - max(offset, 0) <= 0:
            offset = 0
        return (
            lambda a: np.lib.stride_tricks.as_strided(*diagonal(a, offset, first, second)),
            lambda t: t.diagonal(offset, first, second),
        )
    if kind == "reshape":
        return lambda a: a.reshape(-1) if a.flags.c_contiguous else a, lambda t: t.view(-1) if t.is_contiguous() else t
    index = []
    for size in shape[: draw(st.integers(0, rank))]:
        takes = size > 0 and draw(st.booleans()) and kind == "index"
        index.append(draw(st.integers(-size, size - 1)) if takes else draw(slices(size)))
    return lambda a: a[(*index, ...)], lambda t: t[tuple(index)]


def diagonal(array, offset, first, second):
    """Returns shape and strides of a writable diagonal, since NumPy's diagonal is read-only."""
    found = array.diagonal(offset, first, second)
    start = array[
        tuple(
            slice(max(-offset, 0), None) if d == first else slice(max(offset, 0), None) if d == second else slice(None)
            for d in range(array.ndim)
        )
    ]
    return start, found.shape, found.strides


@settings(max_examples=60, deadline=None)
@given(st.data(), st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_a_write_through_any_chain_of_views_lands_where_numpy_puts_it(data, shape):
    count = int(np.prod(shape))
    array = np.arange(float(count), dtype=np.float32).reshape(shape)
    base = torch.arange(float(count)).reshape(shape).clone()
    theirs, ours = array, base
    for _ in range(data.draw(st.integers(1, 4))):
        numpy_step, our_step = data.draw(view_steps(theirs.shape))
        theirs, ours = numpy_step(theirs), our_step(ours)
        assert ours.shape == theirs.shape
        assert ours.tolist() == theirs.tolist()
        if theirs.size:
            moving = [d for d in range(theirs.ndim) if theirs.shape[d] > 1]
            assert [ours.stride(d) * 4 for d in moving] == [theirs.strides[d] for d in moving]
    value = data.draw(st.sampled_from(["number", "tensor", "product"]))
    if value == "number":
        theirs[...] = 99.0
        ours[...] = 99.0
    elif value == "tensor":
        new = np.arange(100, 100 + theirs.size, dtype=np.float32).reshape(theirs.shape)
        theirs[...] = new
        ours.copy_(torch.from_numpy(new))
    else:
        theirs *= 2
        ours.mul_(2)
    assert base.tolist() == array.tolist()


# ---- as_strided of a part of the memory


PARTS = {
    "a slice": (lambda x: x[3:], "x"),
    "a detached slice": (lambda x: x[3:].detach(), "part"),
    "a slice of a detached tensor": (lambda x: x.detach()[3:], "another"),
    "data of a slice": (lambda x: x[3:].data, "part"),
    "a detached slice with steps": (lambda x: x[::2].detach(), "part"),
    "a detached transpose": (lambda x: x.view(2, 5).t().detach(), "part"),
    "all of it": (lambda x: x, "x"),
}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("offset", [None, 0, 1])
def test_as_strided_counts_from_the_storage_and_its_base_is_the_part(name, offset):
    make, base = PARTS[name]
    x = torch.arange(10.0)
    part = make(x)
    seen = part.as_strided((2,), (2,), offset)
    begin = part.storage_offset() if offset is None else offset
    assert (seen.storage_offset(), seen.tolist()) == (begin, [float(begin), begin + 2.0])
    bases = {"x": x, "part": part}
    assert (seen._base is bases[base]) if base in bases else seen._base is part._base
    assert seen.view(1, 2)._base is seen._base
    seen.add_(100)
    seen.view(1, 2)[0, 0] = -1
    x.mul_(2)
    expected = torch.arange(10.0)
    expected[begin], expected[begin + 2] = -1, begin + 102.0
    assert x.tolist() == (expected * 2).tolist()
    assert seen.tolist() == [-2.0, begin * 2 + 204.0] and part.tolist() == make(x).tolist()


def test_as_strided_of_a_view_made_in_no_grad_is_one_too():
    x = torch.arange(4.0)
    with torch.no_grad():
        part = x[1:]
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode and is being modified inplace"):
        part.as_strided((2,), (1,)).mul_(torch.ones(2, requires_grad=True))


def test_overlap_add_into_a_view_of_a_buffer_counts_each_window():
    buffer = torch.zeros(2, 24, requires_grad=True)
    signal = (buffer * 1).view(4, 12)
    frames = signal.unfold(1, 4, 2)
    for number in range(frames.shape[1]):  # after the third place, the next ones are inputs of the program
        frames[:, number] += 1.0
    frames[:, 1].mul_(3)
    assert signal.tolist() == [[1.0, 1.0, 6.0, 6.0, 6.0, 6.0, 2.0, 2.0, 2.0, 2.0, 1.0, 1.0]] * 4
    signal.sum().backward()
    assert buffer.grad.view(4, 12).tolist() == [[1.0, 1.0, 3.0, 3.0, 3.0, 3.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]] * 4


def test_exp_in_place_on_windows_that_overlap_has_no_gradient():
    windows = (torch.ones(5, requires_grad=True) * 1).unfold(0, 3, 1)
    with pytest.raises(NotImplementedError, match="gradient of Exp in place on windows that overlap"):
        windows.exp_()


def test_a_long_chain_of_views_takes_one_step_for_each(monkeypatch):
    """A view's geometry follows from that of the view before it."""
    count, layout = [], ViewStep.layout
    monkeypatch.setattr(ViewStep, "layout", lambda step, parent: count.append(step) or layout(step, parent))
    x = torch.zeros(3)
    y = x
    for _ in range(200):
        y = y.view(3)
    y.add_(1)
    assert len(count) <= 2 * 200
    assert x.tolist() == y.tolist() == [1, 1, 1] and y.stride() == (1,)


def test_the_geometry_of_a_view_follows_its_storage():
    x = torch.arange(6.0)
    row = x.view(2, 3)[1]
    deep = row.view(3)[1:]
    assert (deep.stride(), deep.storage_offset()) == ((1,), 4)
    turned = x.view(2, 3).t()
    assert (turned.stride(), turned[1:].view(2, 2).storage_offset()) == ((1, 3), 1)
    deep.mul_(10)
    assert x.tolist() == [0, 1, 2, 3, 40, 50]


def test_layouts_that_are_kept_are_those_of_each_view():
    """A layout keeps those of its views: by operation, arguments and result, at most so many, whatever the starts are read from."""

    def looked_at(view):
        return tuple(view.shape), view.stride(), view.storage_offset()

    for _ in range(3):
        x = torch.arange(6.0 * (MAX_AFTER + 9)).reshape(MAX_AFTER + 9, 6)
        whole = x.numpy().copy()
        rows = x.t().t()  # the view before it is known
        assert looked_at(rows) == ((MAX_AFTER + 9, 6), (6, 1), 0)
        for number in range(len(x)):
            row = rows[number]
            assert looked_at(row) == ((6,), (1,), 6 * number)
            assert looked_at(row[1::2]) == ((3,), (2,), 6 * number + 1)
            assert [looked_at(part) for part in row.split(2)] == [((2,), (1,), 6 * number + 2 * k) for k in range(3)]
            assert row[3:5].tolist() == whole[number, 3:5].tolist()
        assert looked_at(rows.unsqueeze(0)) == ((1, MAX_AFTER + 9, 6), (6 * (MAX_AFTER + 9), 6, 1), 0)
        assert looked_at(rows.unsqueeze(1)) == ((MAX_AFTER + 9, 1, 6), (6, 6, 1), 0)
        assert rows.view(-1).view(6, -1).t().is_contiguous() is False
