"""Random programs give the same rows traced, eager and interrupted, and PyTorch's recorded rows. Also tests the fuzzer itself."""

import gc
import time
from pathlib import Path

import jax
import pytest

import torchlike as torch
from tests.conftest import read_golden
from tests.fuzz.comparing import first_difference, same
from tests.fuzz.explained import explanation
from tests.fuzz.interrupts import Interrupts
from tests.fuzz.programs import KINDS, program_of
from tests.fuzz.running import run
from tests.fuzz.shrinking import shrunk
from torchlike.engine import set_op_by_op

GOLDEN = read_golden("fuzz")["programs"]
SEEDS = {"engine": 3, "training": 5, "modules": 1, "threads": 8, "transforms": 7, "mixed": 2}  # a program of each kind


@pytest.mark.parametrize("name", GOLDEN)
def test_programs_give_pytorchs_rows(name):
    """The programs and their rows were recorded by `python -m tests.golden.record_fuzz`."""
    text = GOLDEN[name]["text"]
    assert first_difference(GOLDEN[name]["rows"], run("torchlike", text)) is None, text


@pytest.mark.costly
@pytest.mark.recorded
@pytest.mark.parametrize("kind", KINDS)
def test_traced_programs_give_the_rows_of_eager_ones(kind, monkeypatch):
    text = str(program_of(SEEDS[kind], kind, most_rounds=6))
    recorded = run("torchlike", text)
    monkeypatch.setenv("TORCHLIKE_OP_BY_OP", "1")
    set_op_by_op(True)
    found = first_difference(run("torchlike", text, uninterrupted=True), recorded)
    assert found is None or explanation(text, found), text


# ---- the fuzzer itself


@pytest.mark.recorded
def test_a_seed_gives_one_program_whose_lines_can_be_compiled():
    texts = {str(program_of(seed)) for seed in range(150)}
    assert len(texts) == 150
    assert texts == {str(program_of(seed)) for seed in range(150)}
    for text in texts:
        compile(text, "program", "exec")
        assert "<" not in text.replace(" < ", "").replace("<'", ""), "a gap that nothing has filled"


@pytest.mark.recorded
def test_a_planted_defect_is_found_and_its_program_made_small(monkeypatch):
    program, zero = program_of(4, "engine", most_rounds=4), torch.Tensor.zero_
    program.items.insert(2, ["t2 = torch.ones(3, 4)", "t2[0].zero_()", "out(t2)"])
    expected = run("torchlike", str(program))
    monkeypatch.setattr(torch.Tensor, "zero_", lambda self: zero(self) if self._base is None else self)
    assert first_difference(expected, run("torchlike", str(program)))

    def fails(candidate):
        with monkeypatch.context() as sound:
            sound.setattr(torch.Tensor, "zero_", zero)
            expected = run("torchlike", str(candidate))
        return first_difference(expected, run("torchlike", str(candidate)))

    small = shrunk(program, fails)
    assert small.items == [["t2 = torch.ones(3, 4)", "t2[0].zero_()", "out(t2)"]]
    assert small.setup[0] == "R = 2"
    assert len(small.setup) < 4


@pytest.mark.recorded
def test_what_counts_as_the_same():
    assert same([1.0, ["a", None]], [1.00001, ["a", None]])
    assert not same([1.0], [1.001])
    assert same(["rough", 1.0], ["rough", 1.02])
    assert not same(["nan"], [0.0])
    assert first_difference([[1, "ValueError"]], [[1, "ValueError"], [2, "KeyError"]]) == (
        1,
        "nothing more",
        [2, "KeyError"],
    )


@pytest.mark.recorded
@pytest.mark.parametrize(
    ("theirs", "ours", "expected"),
    [
        ([1.5e24, "inf"], [1.4999e24, "nan"], "overflow"),
        ([1.5e24, "inf"], [1.4999e24, 3.0], None),
        ([1.5e24, "inf"], [3e24, "nan"], None),
        ([1.5, "inf"], [1.5, "nan"], None),
        ([1.5e13, 2.0], [1.51e13, 2.0], "overflow"),
        ([1.5e11, 2.0], [1.51e11, 2.0], None),
    ],
)
def test_inf_and_nan_are_alike_only_beside_numbers_that_have_grown_without_bound(theirs, ours, expected):
    rows = (["late", [["float32", theirs]]], ["late", [["float32", ours]]])
    assert explanation("def program():\n    pass\n", (3, *rows)) == expected


INTERRUPTED = """
def program():
    m, o = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)), None
    o = torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9)
    x, y = torch.randn(6, 4), torch.randn(6, 2)
    def step(m, o):
        o.zero_grad()
        F.mse_loss(m(x), y).backward()
        o.step()
    for k in range(40):
        survive(m, o, step, events={first} + {gap} * k)
    out(*m.parameters())
"""


@pytest.mark.recorded
@pytest.mark.parametrize(("first", "gap"), [(1, 17), (10, 17), (7, 23), (11, 23)])
def test_interrupted_steps_have_happened_or_have_not(first, gap):
    program = INTERRUPTED.format(first=first, gap=gap)
    assert first_difference(run("torchlike", program, uninterrupted=True), run("torchlike", program)) is None
    assert not jax.config.jax_enable_x64  # pyright: ignore[reportAttributeAccessIssue]


def test_an_interrupt_waits_for_callbacks_of_the_collector():
    def callback(phase, info):
        reached.append(phase)
        end = time.perf_counter() + 0.02
        while time.perf_counter() < end:
            pass

    reached, interrupts = [], Interrupts(Path(str(torch.__file__)).parent)
    gc.collect()  # so that nothing is left whose finalizers the interrupt could meet below
    gc.callbacks.append(callback)
    try:
        # Python would drop an exception raised in the callback, and pytest reports that.
        with interrupts(seconds=0.005):
            gc.collect(0)
            time.sleep(1)
            reached.append("never")
    finally:
        gc.callbacks.remove(callback)
    assert interrupts.happened == 1 and reached[0] == "start" and "never" not in reached
