"""A path is compiled not before that pays, always in the same round, and without changing results."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest

import torchlike as torch
from torchlike import nn
from torchlike.engine import background, compiling, forget, kernel, program, recorder, segment, tiers
from torchlike.engine.segment import Segment
from torchlike.engine.trace import Path, Step

pytestmark = pytest.mark.recorded


@pytest.fixture(autouse=True)
def afresh():
    recorder().flush("a test begins")
    recorder().forget()


def rounds(count: int) -> tuple[list[float], list[bool]]:
    """Returns the losses of training steps, and which of the steps ran as one program."""
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    x, y = torch.randn(32, 8), torch.randn(32, 1)
    losses, hot = [], []
    for _ in range(count):
        before = torch.explain().hot
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        hot.append(torch.explain().hot > before)
    return losses, hot


def test_what_comes_once_is_not_compiled():
    torch.explain(reset=True)
    with compiling("auto"):
        for size in range(3, 23):
            x = torch.randn(size, 4, requires_grad=True)
            (x.softmax(1) @ torch.ones(4, size)).relu().sum().backward()
            assert x.grad is not None and x.grad.shape == (size, 4)
            x.grad.tolist()
    report = torch.explain()
    assert (report.compiles, report.op_compiles, report.hot) == (0, 0, 0)
    assert report.seconds("tracing") > 0 and report.seconds("op by op") > 0


@pytest.mark.parametrize("least", [tiers.PROGRAM_SECONDS, 0.0])
def test_a_few_small_operations_are_compiled_only_if_a_program_costs_nothing(monkeypatch, least):
    """A dataset converts its samples by a few operations on memory that NumPy shares: XLA took three times as long."""
    monkeypatch.setattr(tiers, "COMPILE_SECONDS", 0.001)
    monkeypatch.setattr(tiers, "COMPILE_SECONDS_PER_CALL", 0.0)
    monkeypatch.setattr(tiers, "PROGRAM_SECONDS", least)
    monkeypatch.setattr(tiers, "NEW_INPUT_SECONDS", least)
    monkeypatch.setattr(tiers, "NEW_OUTPUT_SECONDS", least)
    picture = np.arange(784, dtype=np.uint8).reshape(28, 28)
    torch.explain(reset=True)
    with compiling("auto"):
        for _ in range(300):
            sample = torch.from_numpy(picture).unsqueeze(0).to(torch.float32).div(255)
            assert sample[0, 0, -1].item() == pytest.approx(27 / 255)
    assert (torch.explain().compiles > 0) == (not least)


def test_a_loop_is_compiled_once_its_rounds_have_cost_as_much(monkeypatch):
    monkeypatch.setattr(tiers, "COMPILE_SECONDS", 0.004)
    monkeypatch.setattr(tiers, "COMPILE_SECONDS_PER_CALL", 0.0)
    with compiling("auto"):
        losses, hot = rounds(60)
        first = hot.index(True)
        assert 2 < first < 50 and all(hot[first:])
    with compiling("never"):
        forget()
        interpreted, hot = rounds(60)
        assert not any(hot)
    with compiling("now"):
        forget()
        compiled, hot = rounds(60)
        assert all(hot[3:])
    np.testing.assert_allclose(losses, interpreted, rtol=1e-4)
    np.testing.assert_allclose(losses, compiled, rtol=1e-4)


@pytest.mark.parametrize("seconds", [tiers.COMPILE_SECONDS, 1e-6])
def test_the_costs_of_a_light_path_are_not_counted_when_it_comes_first(monkeypatch, seconds):
    """Most paths of new sizes never come again. A run that takes as long as compiling is counted at once."""
    counted = []
    count = tiers.cost_of
    monkeypatch.setattr(tiers, "COMPILE_SECONDS", seconds)
    monkeypatch.setattr(tiers, "cost_of", lambda *args, **options: counted.append(1) or count(*args, **options))
    with compiling("auto"):
        for runs in range(1, 4):
            assert (torch.ones(43, 3) * 2 + 1).sum().item() == 43 * 9
            assert len(counted) == min(runs, 2) - (seconds > 1e-3)


def test_a_program_takes_the_same_decisions_in_each_process():
    """And computes the same bits. What a process has run before, as other tests here, may change where its paths end."""
    code = f"""if True:
        from {__name__} import compiling, rounds, tiers
        tiers.COMPILE_SECONDS, tiers.COMPILE_SECONDS_PER_CALL = 0.004, 0.0
        with compiling("auto"):
            losses, hot = rounds(60)
        print(hot.index(True), losses)
    """

    def run() -> str:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.run(
            [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True
        ).stdout

    said = run()
    assert 2 < int(said.split()[0]) < 50
    assert run() == said


def test_a_compilation_that_fails_in_the_background_leaves_the_loop_as_it_is(monkeypatch):
    monkeypatch.setattr(tiers, "COMPILE_SECONDS", 0.004)
    monkeypatch.setattr(tiers, "COMPILE_SECONDS_PER_CALL", 0.0)

    def fail(*args, **options):
        raise RuntimeError("no compiler today")

    monkeypatch.setattr("torchlike.engine.program.compile_ahead", fail)
    with compiling("auto"):
        torch.explain(reset=True)
        losses, hot = rounds(60)
    with compiling("never"):
        forget()
        assert rounds(60) == (losses, hot)
    assert not any(hot)
    assert any("no compiler today" in reason for reason in torch.explain().reasons)


def test_a_finalizer_on_the_compilers_thread_may_read_what_waits_for_the_compilation(monkeypatch):
    """Python calls finalizers on any thread. One that reads a value of the main thread has to wait for that thread's run, and the run for
    the compilation. The run goes on op by op then."""
    monkeypatch.setattr(tiers, "COMPILE_SECONDS", 0.001)
    monkeypatch.setattr(tiers, "COMPILE_SECONDS_PER_CALL", 0.0)
    monkeypatch.setattr(tiers, "PROGRAM_SECONDS", 0.0)
    make, result = program.Program, background.Task.result
    begun, main_waits, pending, read = threading.Event(), threading.Event(), [], []

    def finalizing(*args, **kwargs):
        if threading.current_thread().name == "torchlike-compiler":
            begun.set()
            main_waits.wait(20)
            read.append(pending[-1].item())
        return make(*args, **kwargs)

    def waiting(task):
        begun.wait(20)  # else this thread might compile it
        main_waits.set()
        return result(task)

    monkeypatch.setattr(program, "Program", finalizing)
    monkeypatch.setattr(background.Task, "result", waiting)

    def loop():
        x = torch.arange(4.0)
        for number in range(400):
            pending.append((x * 2 + 1).exp().sum() * 0 + torch.tensor(float(number)))
            assert pending[-1].item() == number
            if main_waits.is_set() and len(read) and torch.explain().hot:
                return

    torch.explain(reset=True)
    with compiling("auto"):
        # The one that waits may be any thread; pytest's own must not be lost where the two wait for each other.
        thread = threading.Thread(target=loop, daemon=True)
        thread.start()
        thread.join(60)
        assert not thread.is_alive(), "the two threads wait for each other"
    assert read and read[0] >= 0 and torch.explain().hot


def test_the_environment_chooses():
    code = (
        "import torchlike as torch\n"
        "for _ in range(4):\n"
        "    x = (torch.ones(3) * 2 + 1).sum().item()\n"
        "print(x, torch.explain().hot, torch.explain().op_compiles)"
    )

    def run(choice: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "TORCHLIKE_COMPILE": choice, "TORCHLIKE_OP_BY_OP": "0"}
        return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)

    assert run("never").stdout == "9.0 0 0\n"
    assert run("auto").stdout == "9.0 0 0\n"
    assert run("background").stdout == "9.0 0 0\n"
    assert run("now").stdout.startswith("9.0 3 ")
    assert "must be one of auto, background, now, never, not 'later'" in run("later").stderr


def test_a_process_ends_although_something_is_being_compiled():
    code = (
        "import time, torchlike.engine.background as background\n"
        "background.begin(background.Task(lambda: time.sleep(0.5), ''))\n"
        "for _ in range(100): background.begin(background.Task(lambda: time.sleep(100), ''))\n"
        "time.sleep(0.1)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_a_task_hands_on_its_result_or_its_error():
    good, bad = background.Task(lambda: 3, ""), background.Task(lambda: 1 // 0, "")
    background.begin(good)
    background.begin(bad)
    assert good.result() == 3
    with pytest.raises(ZeroDivisionError):
        bad.result()


def test_a_person_at_a_terminal_is_told_of_a_long_compilation(monkeypatch, capsys):
    monkeypatch.setattr(background, "SECONDS_UNTIL_TOLD", 0.01)
    task = background.Task(lambda: time.sleep(0.2), "7 ops")
    background.begin(task)
    task.result()
    assert capsys.readouterr().err == "", "nothing where the output goes to a file"
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    task = background.Task(lambda: time.sleep(0.2), "7 ops")
    background.begin(task)
    task.result()
    assert capsys.readouterr().err == "torchlike is still compiling 7 ops\n"


def test_a_report_fits_a_screen_and_names_the_lines():
    torch.explain(reset=True)
    with compiling("now"):
        for size in range(2, 40):
            for _ in range(2):
                (torch.ones(size) * 2 + 1).sum().item()
    text = str(torch.explain())
    assert len(text.splitlines()) < 40
    assert "test_tiers.py" in text and "compiling" in text


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.bfloat16, torch.float16, torch.int64, torch.bool, torch.complex64]
)
def test_what_numpy_leaves_is_a_value_of_its_own(dtype):
    with compiling("never"):
        x = torch.ones(4, 6).to(dtype)
        kept = (x[1:3], x.T, x.expand(2, 4, 6), x.reshape(-1))
        [k.tolist() for k in kept]
        for value in kept:
            array = value._value().array
            assert type(array) is np.ndarray and array.flags.c_contiguous and array.shape == tuple(value.shape)


def test_a_heavy_training_step_is_compiled_from_its_second_round_on(monkeypatch):
    """The loop goes on, so there is nothing to wait for. Other paths may never come again."""
    monkeypatch.setattr(tiers, "COMPILE_SECONDS", 0.02)
    monkeypatch.setattr(tiers, "COMPILE_SECONDS_PER_CALL", 0.0)

    def first(loop_steps: float) -> int:
        monkeypatch.setattr(tiers, "LOOP_STEPS", loop_steps)
        forget()
        return rounds(120)[1].index(True)

    with compiling("auto"):
        at_once, later = first(1e6), first(0)
        assert at_once < 0.8 * later
        assert first(1e6) == at_once
        monkeypatch.setattr(tiers, "LOOP_STEPS", 1e6)
        torch.explain(reset=True)
        x = torch.arange(4.0)
        for _ in range(20):
            assert (x * 2 + 1).exp().sum().item() > 0
        assert torch.explain().compiles == 0


def test_a_heavy_op_is_compiled_in_the_background_before_it_runs_so(monkeypatch):
    begun = []
    monkeypatch.setattr(kernel, "begin", begun.append)
    monkeypatch.setattr(tiers, "OP_COMPILE_SECONDS", 0.02)

    def runs(x: torch.Tensor) -> list[tuple[int, int]]:
        counts = []
        for _ in range(12):
            torch.erfc(x).sum().item()
            counts.append((len(begun), torch.explain().op_compiles))
        return counts

    with compiling("auto"):
        forget()
        torch.explain(reset=True)
        counts = runs(torch.linspace(-3, 3, 300000))  # some milliseconds each
        begins, switches = [next(n for n, count in enumerate(counts) if count[kind]) for kind in (0, 1)]
        assert 0 < begins < switches and counts[-1] == (1, 1)
        assert "erfc" in begun[0].reason
        begun.clear()
        torch.explain(reset=True)
        assert runs(torch.linspace(-3, 3, 300001)) == counts, "in the same round each time"
        begun.clear()
        torch.explain(reset=True)
        assert runs(torch.linspace(-3, 3, 300))[-1] == (0, 0)


def test_what_only_moves_memory_is_not_compiled(monkeypatch):
    """A program reads and writes as much, and has no place in which to write but new memory."""
    monkeypatch.setattr(tiers, "COMPILE_SECONDS", 0.02)
    monkeypatch.setattr(tiers, "OP_COMPILE_SECONDS", 0.02)
    with compiling("auto"):
        x, table = torch.zeros(3_000_000), torch.zeros(1000, 3000)
        torch.explain(reset=True)
        for _ in range(60):  # some milliseconds each
            x.add_(1)
            table[7] = x[:3000] + table[3]
            assert x[0].item() > 0
        report = torch.explain()
    assert (report.compiles, report.op_compiles) == (0, 0)
    assert report.seconds("compiling") == 0


def test_many_new_small_inputs_are_not_worth_a_program(monkeypatch):
    """XLA takes longer to be given the samples of a batch than NumPy computes with them."""
    monkeypatch.setattr(tiers, "COMPILE_SECONDS", 0.02)
    pictures = np.zeros((64, 28, 28), np.uint8)
    with compiling("auto"):
        torch.explain(reset=True)
        for _ in range(60):
            samples = [torch.from_numpy(picture).unsqueeze(0).to(torch.float32).div(255) for picture in pictures]
            assert torch.stack(samples).sum().item() == 0
        report = torch.explain()
    assert (report.compiles, report.op_compiles) == (0, 0)
    assert report.seconds("compiling") == 0
    assert report.segments <= 3 * 60, "the samples of a batch are computed together"


def test_an_op_of_a_program_that_is_being_compiled_is_not_compiled_too(monkeypatch):
    begun = []
    monkeypatch.setattr(kernel, "begin", begun.append)
    monkeypatch.setattr(tiers, "OP_COMPILE_SECONDS", 0.06)
    monkeypatch.setattr(tiers, "COMPILE_SECONDS", 0.04)
    x = torch.linspace(-3, 3, 300002)
    with compiling("auto"):
        forget()
        torch.explain(reset=True)
        for _ in range(30):
            (torch.erfc(x) * 2).sum().item()
        assert torch.explain().compiles == 1 and torch.explain().hot > 0
        assert not begun
        for _ in range(30):
            torch.erfc(x).sum().item()  # never a program of its own: nothing else is compiled for it
        assert [task.reason for task in begun] == ["erfc"]


def test_an_op_without_a_plan_costs_by_what_it_moves_and_multiplies(monkeypatch):
    def run_seconds(images: int) -> tuple[float, float]:
        x, w = torch.ones(images, 8, 16, 16), torch.ones(8, 8, 3, 3)
        costs = []
        for y in (x.exp() + 1, torch.nn.functional.conv2d(x, w) + 1):
            segment = y._value().segment
            assert isinstance(segment, Segment)
            costs.append(tiers.cost_of(segment.cursor.path()).run)
            y.tolist()
        return costs[0], costs[1]

    with compiling("never"):
        monkeypatch.setattr("torchlike.engine.kernel.Kernel.plan", lambda kernel: None)
        (exp, convolution), (large_exp, large_convolution) = run_seconds(1), run_seconds(1024)
    assert exp < 0.0005 and convolution < 0.0005
    assert large_exp > 2 * exp and large_convolution > 5 * convolution


def test_time_in_products_is_not_saved_by_compiling(monkeypatch):
    """A path of products alone is never worth it; one that takes as long element by element soon is."""
    monkeypatch.setattr(tiers, "COMPILE_SECONDS", 0.05)
    monkeypatch.setattr(tiers, "COMPILE_SECONDS_PER_CALL", 0.0)

    def compiles(step: Callable[[torch.Tensor], torch.Tensor]) -> int:
        forget()
        torch.explain(reset=True)
        x = torch.ones(600, 600)
        for _ in range(40):
            assert step(x)[0, 0].item() > 0
        return torch.explain().compiles

    with compiling("auto"):
        assert compiles(lambda x: (x @ x) @ x) == 0
        assert compiles(lambda x: ((x * 2).erfc() + x).erfc() + 1) > 0


def test_a_path_that_a_program_would_save_little_of_is_not_compiled(monkeypatch):
    """However often it comes: the difference is within the error of the estimates. What is soon compiled may save a little less."""
    monkeypatch.setattr(tiers, "COMPILE_SECONDS", 0.001)
    monkeypatch.setattr(tiers, "COMPILE_SECONDS_PER_CALL", 0.0)

    def compiles() -> int:
        forget()
        torch.explain(reset=True)
        x = torch.ones(600, 600)
        for _ in range(60):
            assert ((x @ x) @ x)[:200].erfc()[0, 0].item() == 0
        return torch.explain().compiles

    with compiling("auto"):
        assert compiles() == 0
        monkeypatch.setattr(tiers, "LEAST_SHARE_SAVED_SOON", 0.0)
        assert compiles() > 0
        monkeypatch.setattr(tiers, "SOON_COMPILED_SECONDS", 0.0)
        assert compiles() == 0
        monkeypatch.setattr(tiers, "LEAST_SHARE_SAVED", 0.0)
        assert compiles() > 0


@pytest.mark.parametrize("mode", ["auto", "never"])
def test_what_is_never_compiled_is_decided_once(monkeypatch, mode):
    """A path of which a program would save nothing is not looked at again, in each state of its values by itself."""
    asked: list[object] = []
    choose = program.choose
    monkeypatch.setattr(segment, "choose", lambda *arguments: asked.append(arguments[1]) or choose(*arguments))
    x = torch.arange(4.0)

    def run(number: int, both: bool) -> tuple[list[float], list[float] | None]:
        y = (x + float(number % 3)) * 2
        z = y.exp2() if both else y.exp2().sum() + y
        return z.tolist(), y.tolist() if both else None

    with compiling(mode):
        for number in range(60):
            y = [(each + number % 3) * 2 for each in range(4)]
            powers = [2.0**each for each in y]
            assert run(number, True) == (powers, y)
            assert run(number, False) == ([sum(powers) + each for each in y], None)
        assert len(asked) < 60
        asked.clear()
        for number in range(6):
            run(number, True)
            run(number, False)
        assert not asked
        y = (x + 1.0) * 2
        x.add_(1)  # of another state: the input has been replaced
        assert (y.exp2().tolist(), x.tolist()) == ([4.0, 16.0, 64.0, 256.0], [1.0, 2.0, 3.0, 4.0])


def test_a_program_may_take_over_what_was_counted(monkeypatch):
    """A path that a program speeds up is asked about at each run, until it has one."""
    monkeypatch.setattr(tiers, "COMPILE_SECONDS", 0.02)
    monkeypatch.setattr(tiers, "COMPILE_SECONDS_PER_CALL", 0.0)
    x = torch.ones(300, 300)
    torch.explain(reset=True)
    with compiling("auto"):
        for _ in range(60):
            assert ((x * 2).erfc() + x).erfc().sum().item() > 0
    assert torch.explain().compiles == 1 and torch.explain().hot > 0


def test_an_op_of_many_results_takes_time_by_their_number():
    """An optimizer's step has some results for each parameter. To look for each among those that nobody reads took as long as the step."""

    def seconds(count: int) -> float:
        step = Step(SimpleNamespace(make_error=None, group=None), (), range(count))  # pyright: ignore[reportArgumentType]
        path = Path((step,), (), ())
        ran = path.schedule((count - 1,))
        least = float("inf")
        for _ in range(5):
            start = time.perf_counter()
            program.run_scheduled(path, ran, 1, {})
            least = min(least, time.perf_counter() - start)
        return least

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(program, "run_alone", lambda kernel, arrays, awaited, unread: [None] * len(kernel_outputs))
        kernel_outputs = range(3000)
        small = seconds(3000)
        kernel_outputs = range(24000)
        assert seconds(24000) < 24 * small
