"""Tensors used as tables: elements, rows and windows are read and written by index on the host, in place if nothing else sees it."""

import gc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import torchlike as torch
from torchlike._core.fields import view_record
from torchlike._core.views import HostView
from torchlike.dispatch.on_host import RECORDED_WRITES, write_on_host
from torchlike.engine import compiling, flush


def table(*shape: int, dtype: Any = torch.float32) -> Any:
    """Returns a tensor after so many writes by index that torchlike treats it as a table."""
    result = torch.zeros(*shape, dtype=dtype)
    for _ in range(RECORDED_WRITES + 1):
        result[(0,) * len(shape)] = 0
    return result


ENDS = st.none() | st.integers(-6, 6)
ENTRIES = st.integers(-4, 3) | st.builds(slice, ENDS, ENDS, st.none() | st.integers(1, 3))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.lists(ENTRIES, min_size=1, max_size=3), st.integers(-9, 9)), max_size=12))
def test_writes_are_those_of_numpy(writes):
    ours, theirs = table(4, 4, 4), np.zeros((4, 4, 4), np.float32)
    for index, value in writes:
        ours[tuple(index)] = value
        theirs[tuple(index)] = value
    np.testing.assert_array_equal(ours.numpy(), theirs)


def test_a_write_is_made_in_place_and_counted(engine_mode):
    if engine_mode == "eager":
        pytest.skip("each write is an op of its own")
    x = table(3, 3)
    x.tolist()
    version, array = x._version, x._storage.value.array
    if type(array) is not np.ndarray:  # the elements are the output of an XLA program
        x[0, 0] = 0
        version, array = x._version, x._storage.value.array
    del array
    address = x._storage.value.array.__array_interface__["data"]
    for i in range(5):
        x[i % 3, 1] = i
    x[2] = torch.tensor([7.0, 8.0, 9.0])
    assert x._version == version + 6
    assert x.tolist() == [[0, 3, 0], [0, 4, 0], [7, 8, 9]]
    assert x._storage.value.array.__array_interface__["data"] == address


def test_nothing_else_sees_a_write():
    x = table(3, 3)
    copy, view, detached, listed = x.clone(), x[0], x.detach(), x.tolist()
    product = x * 2  # recorded, and not computed yet
    shared = x + 0
    array = shared.numpy()
    x[0, 0] = 5
    assert product.tolist() == copy.tolist() == listed == np.zeros((3, 3)).tolist()
    assert view[0].item() == detached[0, 0].item() == x[0, 0].item() == 5
    assert array[0, 0] == 0
    x[1, 1] = 6
    assert view.tolist() == [5, 0, 0] and detached[1, 1].item() == 6


def test_numpy_and_the_tensor_share_memory_as_before():
    x = table(3)
    array = x.numpy()
    x[1] = 4
    assert array.tolist() == [0, 4, 0]
    array[2] = 9
    assert x.tolist() == [0, 4, 9]
    del array
    gc.collect()
    x[0] = 1
    assert x.tolist() == [1, 4, 9]


def test_a_graph_that_saved_the_tensor_notices_the_write():
    x, w = table(3), torch.ones(3, requires_grad=True)
    loss = (w * x).sum()
    x[0] = 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_gradients_go_through_writes():
    w = torch.ones(3, requires_grad=True)
    x = w * 2
    for _ in range(RECORDED_WRITES + 2):
        x[0] = 7
    x.sum().backward()
    assert w.grad is not None and w.grad.tolist() == [0, 2, 2]


def test_errors_are_pytorchs():
    x, i = table(2, 3), table(2, dtype=torch.int32)
    with pytest.raises(IndexError, match="index 5 is out of bounds for dimension 1 with size 3"):
        x[0, 5] = 1
    with pytest.raises(TypeError, match="can't assign a str to a torch.FloatTensor"):
        x[0, 0] = "a"
    with pytest.raises(RuntimeError, match="value cannot be converted to type int without overflow"):
        i[0] = 2**40
    with pytest.raises(RuntimeError, match="must match the existing size"):
        x[0] = torch.ones(2)
    i[1] = 3.7
    assert i.tolist() == [0, 3] and x.tolist() == [[0, 0, 0], [0, 0, 0]]


def test_a_write_that_numpy_reads_otherwise_is_not_made_here():
    x = table(4)
    for index in (True, None, ..., np.int64(1), [1, 2], torch.tensor(1), slice(None, None, -1), ()):
        assert not write_on_host(x, index, 1)
    assert not write_on_host(x, 0, torch.ones((), dtype=torch.int64))
    assert not write_on_host(x[1:], 0, 1)


@pytest.mark.recorded
def test_a_table_in_a_loop_records_nothing():
    with compiling("auto"):
        x = table(50, 50)
        x.tolist()
        torch.explain(reset=True)
        for i in range(50):
            for j in range(1, 50):
                x[i, j] = x[i, j - 1].item() + 1
        assert torch.explain().ops == 0
    assert x[:, -1].tolist() == [49] * 50


@pytest.mark.recorded
def test_a_write_after_a_wrong_index_does_not_happen():
    with compiling("auto"):
        x, rows = table(3), torch.arange(4.0)
        x.tolist()
        wrong = rows[torch.tensor([1, 8]) + 1]  # PyTorch raises here; torchlike has not computed the index yet
        with pytest.raises(IndexError, match="index 9 is out of bounds"):
            write_and_read(x, wrong)
        assert x.tolist() == [0, 0, 0]


def write_and_read(x: Any, wrong: Any) -> None:
    x[0] = 5
    x[1] = 6
    wrong.tolist()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(ENTRIES, min_size=1, max_size=3),
            st.sampled_from(["+=", "*=", "-=", "of a part", "max"]),
            st.integers(-3, 3),
        ),
        max_size=12,
    )
)
def test_operations_in_place_on_views_are_those_of_numpy(steps):
    ours, theirs = table(4, 4, 4, dtype=torch.float64), np.zeros((4, 4, 4))
    whole = ours.view(2, 32)  # a view that was made before all writes
    for number, (entries, operation, value) in enumerate(steps):
        index = tuple(entries)
        if operation == "+=":
            ours[index] += number + value
            theirs[index] += number + value
        elif operation == "*=":
            ours[index] *= value
            theirs[index] *= value
        elif operation == "-=":
            ours[index] -= ours[index] * 2 + value
            theirs[index] -= theirs[index] * 2 + value
        elif operation == "of a part":
            ours[index[:2]][..., -1:] += value
            theirs[index[:2]][..., -1:] += value
        else:
            ours[index].clamp_(min=value)
            theirs[index] = np.maximum(theirs[index], value)
    np.testing.assert_array_equal(ours.numpy(), theirs)
    np.testing.assert_array_equal(whole.numpy(), theirs.reshape(2, 32))


def test_an_operation_on_a_view_changes_the_memory_itself(engine_mode):
    if engine_mode != "interpreted":
        pytest.skip("XLA holds the memory of its inputs for a while, so that the table moves")
    x = table(50, 50)
    for i in range(3):
        x[i] += 1
    version, address = x._version, x._storage.value.array.__array_interface__["data"]
    for i in range(5):
        x[i] += 2
        x[:, i] *= 3
    assert x._version == version + 20
    assert x._storage.value.array.__array_interface__["data"] == address


def test_what_was_read_before_keeps_its_value():
    x = table(3, 3)
    x[0] += 1
    copy, pending, row = x.clone(), x * 2, x[0]
    listed, weight = x.tolist(), torch.ones(3, requires_grad=True)
    product = (weight * x[0].clone()).sum()
    x[0] += 5
    assert copy.tolist() == listed
    assert pending[0].tolist() == [2, 2, 2]
    assert row.tolist() == [6, 6, 6]
    product.backward()
    assert weight.grad.tolist() == [1, 1, 1]


def test_a_graph_notices_the_change():
    x, weight = table(3, 3), torch.ones(3, requires_grad=True)
    product = (weight * x[0]).sum()
    x[0] += 5
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


@pytest.mark.parametrize("read", [lambda view: view[0], lambda view: next(iter(view))])
def test_an_element_of_a_view_has_the_history_that_its_base_got(read):
    x, weight = torch.zeros(4), torch.ones(4, requires_grad=True)
    view = x[0:3]
    with torch.op_by_op():
        x.add_(weight * 2)
        read(view).backward()
    assert weight.grad.tolist() == [2, 0, 0, 0]


def test_rows_are_views():
    x = torch.arange(6.0).reshape(3, 2)
    for row in x:
        row += 1
        row[0] *= 10
    assert x.tolist() == [[10, 2], [30, 4], [50, 6]]
    rows = list(x)
    x.zero_()
    assert [row.tolist() for row in rows] == [[0, 0]] * 3
    x.requires_grad_()
    (list(x)[1] * 3).sum().backward()
    assert x.grad.tolist() == [[0, 0], [3, 3], [0, 0]]


def test_a_view_of_a_view_knows_its_place():
    x = torch.arange(24.0).reshape(2, 3, 4)
    inner = x[1][1:][0, 1::2]
    assert (inner.tolist(), inner.storage_offset(), inner.stride()) == ([17, 19], 17, (2,))
    inner.fill_(-1)
    assert x[1, 1].tolist() == [16, -1, 18, -1]
    x[1, 1] = 7
    assert inner.tolist() == [7, 7]


def test_true_in_an_index_is_not_one():
    """The tuples (True, 0) and (1, 0) are equal in Python, but they select different elements."""
    x = torch.arange(6).reshape(3, 2)
    view = x[1, 0]
    x[True, 0] = view
    assert x.tolist() == [[2, 2], [2, 3], [4, 5]]


def test_a_step_is_not_cut_by_a_table_of_results(engine_mode):
    """A loop may add up results in a table: once the inputs are outputs of programs, the additions are part of its program."""
    if engine_mode == "eager":
        pytest.skip("each operation runs by itself")
    weight, totals = torch.ones(64, requires_grad=True), table(4)
    with compiling("now"):
        for i in range(12):
            loss = (weight * weight).sum()
            (grad,) = torch.autograd.grad(loss, weight)
            totals[0] += loss.detach()
            assert grad is not None
            with torch.no_grad():
                weight -= 0.1 * grad
            flush()
            if i == 7:
                before = torch.explain()
    now = torch.explain()
    assert now.segments - before.segments == now.hot - before.hot == 4


@pytest.mark.parametrize("count", [3, 200])
@pytest.mark.parametrize("made", ["pending", "computed", "a view", "shared with NumPy", "by a program"])
def test_the_rows_of_a_loop_are_views(count: int, made: str) -> None:
    whole = torch.arange(float(2 * count)).reshape(count, 2)
    if made == "computed":
        whole.sum().item()
    elif made == "a view":
        whole = torch.stack((whole, whole + 1))[0]
        whole.sum().item()
    elif made == "shared with NumPy":
        array = whole.numpy()
        array[0, 0] = 7
    elif made == "by a program":
        with compiling("now"):
            for _ in range(3):
                whole = whole * 1.0 + 0.0
                whole.sum().item()
    expected = whole.tolist()
    rows = [*whole]
    assert [row.tolist() for row in rows] == expected
    rows[1][0] = -5  # written through the row
    whole[2, 1] = -6  # seen in the row
    assert whole[1].tolist() == [-5.0, expected[1][1]]
    assert rows[2].tolist() == [expected[2][0], -6.0]
    assert rows[1]._base is (whole if whole._base is None else whole._base)
    with pytest.raises(RuntimeError, match="Output 0 of Unbind is a view and is being modified inplace"):
        weight = torch.ones(count, requires_grad=True)
        next(iter(weight * 1)).mul_(2)


@pytest.mark.parametrize("count", [3, 200])
def test_rows_with_a_history_pass_gradients_on(count: int) -> None:
    weight = torch.arange(float(count)).requires_grad_()
    rows = [*weight]
    (rows[0] * 2 + rows[2] * rows[1] + rows[2]).backward()
    assert rows[0].grad_fn.name() == "UnbindBackward0"
    assert weight.grad.tolist() == [2.0, 2.0, 2.0] + [0.0] * (count - 3)


def test_a_loop_over_elements_records_nothing() -> None:
    flags = torch.ones(1000, dtype=torch.bool)
    assert all(flags)
    before = torch.explain().ops
    assert all(flags)
    assert sum(flag.item() for flag in flags) == 1000
    assert torch.explain().ops == before


def test_rows_have_all_fields_of_a_view() -> None:
    row = next(iter(table(3, 2)))
    view = view_record(row)
    assert isinstance(view, HostView)
    for kind in type(view).__mro__:
        assert all(hasattr(view, name) for name in vars(kind).get("__slots__", ())), kind
    row += 1  # reads the layout
    assert row.tolist() == [1.0, 1.0]


def test_an_integer_without_dimensions_is_a_number_in_an_index() -> None:
    x = torch.zeros(3, 2)
    for k in range(12):
        at = torch.tensor([0, 2, -2])[k % 3]
        row = x[at]
        assert row._base is x
        row[0] += 1
        x[at] += 1
    assert x.tolist() == [[8.0, 4.0]] * 3
    for wrong in (3, -4):
        with pytest.raises(IndexError, match=f"index {wrong} is out of bounds for dimension 0 with size 3"):
            x[torch.tensor(wrong)] = 1
    with pytest.raises(IndexError, match="too many indices for tensor of dimension 0"):
        torch.tensor(3)[torch.tensor(0)]
    assert [tuple(x[torch.tensor(1, dtype=kind)].shape) for kind in (torch.uint8, torch.bool)] == [(1, 3, 2)] * 2
    assert torch.ones(3, requires_grad=True)[torch.tensor(1)].grad_fn.name() == "SelectBackward0"
