"""Short paths of small operations whose operations run as soon as they are called: see ``program.begin_at_once``."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import torchlike as torch
from torchlike.engine import compiling, op_by_op, recorder
from torchlike.engine.program import AT_ONCE_AFTER, AT_ONCE_OPS

pytestmark = pytest.mark.recorded  # in eager mode every op runs alone, so that no path has two

OFTEN = 8 * AT_ONCE_AFTER


@pytest.fixture(autouse=True)
def afresh():
    recorder().flush("a test begins")
    recorder().forget()
    with compiling("auto"):
        yield
    recorder().flush("a test ends")
    recorder().forget()


def segments_begun(call, times=OFTEN):
    """How many segments a call begins, after it has come often."""
    for _ in range(times):
        call()
    before = recorder().begun
    call()
    return recorder().begun - before


def names_at_once():
    return sorted(op.name for op, *_ in recorder().root.at_once or ())


def test_an_operation_whose_result_is_always_read_begins_no_segment():
    x = torch.tensor([1.0, 2.0])
    assert segments_begun(lambda: (x + 1)[0].item()) == 0
    assert names_at_once() == ["add"]


def test_so_do_several_operations_in_a_row():
    x = torch.tensor([1.0, 2.0])
    assert segments_begun(lambda: ((x + 1) * 3).sum().item()) == 0
    assert names_at_once() == ["add", "mul", "sum"]


def test_a_path_with_more_operations_stays_a_segment():
    x = torch.tensor([1.0, 2.0])

    def many():
        y = x
        for _ in range(AT_ONCE_OPS + 1):
            y = y + 1
        return y[0].item()

    assert segments_begun(many) == 1


def test_an_operation_with_which_longer_paths_have_begun_is_recorded():
    x = torch.tensor([1.0, 2.0])
    y = x + 1
    for _ in range(AT_ONCE_OPS):
        y = y * 2
    y[0].item()
    assert segments_begun(lambda: (x + 1)[0].item()) == 1


def test_a_long_row_that_nobody_reads_is_recorded():
    x = torch.tensor([1.0, 2.0])
    segments_begun(lambda: (x + 1)[0].item())
    y = x
    for _ in range(AT_ONCE_OPS):
        y = y + 1
    before = recorder().segment.cursor.depth
    for _ in range(100):
        y = y + 1
    assert (before, recorder().segment.cursor.depth) == (0, 100)
    assert y.tolist() == [101.0 + AT_ONCE_OPS, 102.0 + AT_ONCE_OPS]


def test_large_operations_are_recorded():
    x = torch.ones(300, 300)
    assert segments_begun(lambda: (x + 1)[0, 0].item()) == 1


def test_indices_are_still_checked():
    table, index = torch.arange(6.0).reshape(3, 2), torch.tensor([[2], [0], [1]])
    segments_begun(lambda: table.gather(0, index)[0, 0].item())
    assert names_at_once() == ["gather"]
    with pytest.raises(RuntimeError, match="index 3 is out of bounds for dimension 0 with size 3"):
        table.gather(0, index + 1)[0, 0].item()


def test_calls_are_counted_and_their_time_is_taken():
    x = torch.tensor([1.0, 2.0])
    segments_begun(lambda: (x + 1)[0].item())
    torch.explain(reset=True)
    for _ in range(32):
        (x + 1)[0].item()
    report = torch.explain()
    assert (report.segments, report.cold, report.ops) == (32, 32, 32)
    assert report.seconds("op by op") > 0


def test_results_have_memory_of_their_own():
    x = torch.ones(2, 2)
    for number in range(OFTEN):
        ones, view = torch.ones(3), x[1]
        assert ones[0].item() == 1 and view[0].item() == number + 1
        ones.numpy()[:] = 7
        assert ones.tolist() == [7, 7, 7]
        copy = x.t().contiguous()
        assert copy[0, 0].item() == 1
        view += 1
        assert copy.tolist() == [[1, number + 1], [1, number + 1]]


def test_gradients_are_those_of_recorded_operations():
    for number in range(OFTEN):
        x = torch.tensor([1.0, float(number)], requires_grad=True)
        y = (x * x).sum()
        assert y.item() == 1 + number**2
        y.backward()
        assert x.grad.tolist() == [2, 2 * number]


def test_nothing_happens_after_a_check_that_has_failed():
    x, table, index = torch.tensor([1.0, 2.0]), torch.ones(3), torch.tensor([1])
    segments_begun(lambda: (x + 1)[0].item())
    with compiling("now"):
        for factor in map(
            torch.tensor, (1, 2, 1, 9)
        ):  # as a program, which checks what it has computed, and is not waited for
            part = table[index * factor]
            recorder().flush("a step ends")
            assert part is not None
    before = recorder().begun
    result = x + 1
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        result[0].item()
    assert recorder().begun > before
    assert (x + 1).tolist() == [2, 3]


def test_what_an_operation_means_may_change():
    x = torch.tensor([1, 2])
    segments_begun(lambda: (x / 2)[0].item())
    torch.set_default_dtype(torch.float64)
    try:
        assert (x / 2).dtype is torch.float64 and (x / 2)[0].item() == 0.5
    finally:
        torch.set_default_dtype(torch.float32)
    assert (x / 2).dtype is torch.float32 and (x / 2)[0].item() == 0.5


def test_a_profiler_sees_them():
    x = torch.tensor([1.0, 2.0])
    segments_begun(lambda: (x + 1)[0].item())
    with torch.profiler.profile() as profile:
        (x + 1)[0].item()
    assert "add" in {event.name for event in profile.events()}


def test_what_fails_says_the_same():
    x = torch.tensor([1.0, 2.0])
    segments_begun(lambda: (x + 1)[0].item())
    with pytest.raises(RuntimeError, match="must match the size of tensor"):
        (x + torch.ones(3))[0].item()


OPERATIONS = {
    "add": lambda x, y: x + y,
    "mul": lambda x, y: x * 3,
    "mean": lambda x, y: x - y.mean(),
    "where": lambda x, y: torch.where(x > y, x, -y),
    "flip": lambda x, y: y.flip(0),
    "write": lambda x, y: x.clone().mul_(2),
    "part": lambda x, y: x[1:].sum() + y,
}


@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from(sorted(OPERATIONS)), st.booleans()), min_size=1, max_size=5),
        min_size=1,
        max_size=3,
    )
)
@settings(max_examples=25)
def test_programs_compute_the_same(programs):
    def results():
        x, y, read = torch.tensor([1.5, -2.0, 0.25]), torch.tensor([0.5, 3.0, -1.0]), []
        for program in programs:
            for name, reads in program:
                x, y = OPERATIONS[name](x, y) / 2, x
                if reads:
                    read.append(x.tolist())
        return [*read, x.tolist(), y.tolist()]

    with op_by_op():
        expected = results()
    for _ in range(3 * AT_ONCE_AFTER):
        np.testing.assert_array_equal(np.hstack(results()), np.hstack(expected))
