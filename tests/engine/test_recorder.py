"""What is recorded, when it runs, and what is compiled for it, observed through the counters of ``explain``."""

import gc
import threading
from typing import Any

import jax
import numpy as np
import pytest

import torchlike as torch
from torchlike import nn
from torchlike.engine import boundary, compiling, flush, recorder

pytestmark = pytest.mark.recorded  # in eager mode every op runs alone, so that nothing is recorded


@pytest.fixture(autouse=True)
def counters():
    flush()
    torch.explain(reset=True)


def unique(*shape):
    """Returns a shape that no other test uses, so that the trace is new."""
    unique.count += 1
    return (*shape, 1000 + unique.count)


unique.count = 0


def test_nothing_runs_before_a_value_is_needed():
    x = torch.ones(unique(2))
    y = (x + 1) * 2
    assert torch.explain().segments == 0
    assert y[0, 0].item() == 4.0
    assert torch.explain().segments >= 1


def test_cold_at_first_sight_hot_at_the_second():
    x = torch.from_numpy(np.ones(unique(), np.float32)).clone()
    flush()
    torch.explain(reset=True)
    for expected_compiles in (0, 1, 1, 1):
        assert (x * 3 + 1).sum().item() == 4.0 * x.numel()
        assert torch.explain().compiles == expected_compiles
    assert torch.explain().cold == 1
    assert torch.explain().hot == 3


def test_a_step_boundary_compiles_at_first_sight():
    x = torch.ones(unique())
    y = x * 5
    boundary()
    z = y + 1
    report = torch.explain()
    assert (report.segments, report.hot, report.compiles) == (1, 1, 1)
    assert z[0].item() == 6.0


def test_values_nobody_holds_are_not_outputs():
    def run():
        x = torch.ones(shape)
        a = x * 2
        b = a + 1
        c = b * b
        return c

    shape = unique()
    for _ in range(3):
        result = run()
        flush()
    own = recorder()
    (node,) = [n for n in walk(own.root) if n.history and n.history.programs and n.kernel.out_avals[0].shape == shape]
    (program,) = node.history.programs.values()
    assert len(program.live) == 1
    assert result[0].item() == 9.0


def walk(node):
    waiting = [node]  # longer than Python's stack is deep
    while waiting:
        children = waiting.pop().children.values()
        yield from children
        waiting += children


def test_dead_inputs_are_donated_and_handed_out_ones_are_not():
    def loop(steps, keep):
        p = torch.ones(unique())
        kept = []
        for _ in range(steps):
            if keep:
                kept.append(p.jax)
            p = p * 0.25 * 2
            boundary()
        flush()
        return p, kept

    loop(4, keep=False)
    assert torch.explain(reset=True).donated_bytes > 0
    _, kept = loop(4, keep=True)
    assert torch.explain().donated_bytes == 0
    assert [float(a[0]) for a in kept] == [1.0, 0.5, 0.25, 0.125]


def test_numpy_windows_forbid_donation():
    p = torch.ones(unique())
    seen = []
    for _ in range(5):
        p = p * 0.25 * 2
        seen.append(p._array())
        boundary()
    flush()
    assert [float(a[0]) for a in seen] == [0.5, 0.25, 0.125, 0.0625, 0.03125]


def test_a_number_that_keeps_changing_becomes_an_input():
    x = torch.ones(unique())
    flush()
    for i in range(6):
        assert (x * (i + 0.5)).sum().item() == pytest.approx((i + 0.5) * x.numel())
    torch.explain(reset=True)
    for i in range(6, 60):
        assert (x * (i + 0.5)).sum().item() == pytest.approx((i + 0.5) * x.numel())
    report = torch.explain()
    assert (report.compiles, report.op_compiles) == (0, 0)


def test_numbers_that_differ_from_place_to_place_become_inputs_too():
    x = torch.ones(unique())
    total: Any = sum(x * i for i in range(200))
    assert total.sum().item() == 19900.0 * x.numel()
    assert torch.explain().op_compiles < 30


@pytest.mark.parametrize("number", [float("nan"), -0.0, 0.0, 1, True, 1.0, 2**40, float("inf")])
def test_numbers_that_compare_equal_are_told_apart(number):
    x = torch.ones(3, dtype=torch.int64)
    expected = np.ones(3, np.int64) * (np.float32(number) if isinstance(number, float) else number)
    result = x * number
    assert result.dtype == (torch.float32 if isinstance(number, float) else torch.int64)
    np.testing.assert_array_equal(result.numpy(), expected)
    assert np.signbit(result.numpy()[0]) == np.signbit(expected[0])


def test_numbers_that_vary_together_become_inputs_together():
    x = torch.ones(*unique())

    def step(i: int) -> float:
        return (((x * (i + 0.5)).sin() * (i + 0.25)).cos() * (i + 0.125)).sum().item()

    wanted = [float(np.sum(np.cos(np.sin(np.float32(i + 0.5)) * (i + 0.25)) * (i + 0.125)) * len(x)) for i in range(12)]
    results = [step(i) for i in range(4)]
    torch.explain(reset=True)
    before = recorder().nodes
    results += [step(i) for i in range(4, 12)]
    np.testing.assert_allclose(results, wanted, rtol=1e-5)
    assert recorder().nodes - before <= 8, "the second and third number did not each show several values once more"


def test_a_number_that_stays_is_no_input_beside_one_that_varies():
    x = torch.ones(*unique())
    for i in range(8):
        y = ((x * (i + 0.5)).sin() * 0.25).sum()
        y.item()
    node = recorder().root
    constants = set()
    while node.children:
        (key, node) = list(node.children.items())[-1]
        constants.add(key[1])
    assert any(0.25 in static for static in constants)


@pytest.mark.costly
@pytest.mark.parametrize(("mode", "width"), [("auto", 6), ("now", 7), ("never", 8)])
def test_a_sequence_that_grows_leaves_the_model_on_its_end_a_known_path(mode, width):
    torch.manual_seed(0)
    layers = [nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.LayerNorm(width)) for _ in range(4)]
    model = nn.Sequential(*layers)

    def generate(steps: int) -> list[list[float]]:
        rows, nodes = torch.ones(1, width), []
        with torch.no_grad():
            for _ in range(steps):
                row = model(rows[-3:])[-1:] * 1.5
                rows = torch.cat((rows, row.clone()))
                row.sum().item()
                nodes.append(recorder().nodes)
        assert nodes[-1] - nodes[-6] <= 5 * 4, "each round adds what is done to the sequence, not the model"
        return rows.tolist()

    with compiling(mode):
        grown = generate(30)
        assert generate(30) == grown, "the second time, all kernels are known"
    with torch.op_by_op():
        rows = torch.ones(1, width)
        with torch.no_grad():
            for _ in range(30):
                rows = torch.cat((rows, model(rows[-3:])[-1:] * 1.5))
    np.testing.assert_allclose(grown, rows.tolist(), rtol=2e-4, atol=1e-5)


def test_a_forward_pass_of_new_sizes_is_one_path_with_its_backward_pass():
    # A head of fixed sizes follows the pooled sequence: without gradients to compute, a known path would begin with it.
    width = 11
    body = nn.Sequential(*[nn.Sequential(nn.Linear(width, width), nn.Tanh()) for _ in range(4)])
    head = nn.Sequential(*[nn.Sequential(nn.Linear(width, width), nn.Sigmoid()) for _ in range(6)])
    parameters = [*body.parameters(), *head.parameters()]

    def step(length: int) -> int:
        torch.explain(reset=True)
        loss = head(body(torch.ones(length, width)).mean(0)).sum()
        loss.backward()
        loss.item()
        for parameter in parameters:
            parameter.grad = None
        return torch.explain().segments

    assert [step(length) for length in range(3, 15)] == [1] * 12


def test_layers_that_repeat_beside_new_ones_are_one_path():
    # As in a residual net: each stage has another width, begins with a layer of its own, and counts and repeats the others.
    count, widths = torch.zeros((), dtype=torch.int64), [unique(3)[1] for _ in range(6)]
    weights = {width: torch.ones(width) for width in widths}

    def step():
        total = torch.zeros(())
        for width in widths:
            x = torch.ones(3, width).tanh()
            for _ in range(3):
                counted = count + 1
                for _ in range(5):
                    x = (x * weights[width]).sigmoid()
                total = total + x.sum() * counted
        return total

    torch.explain(reset=True)
    for _ in range(3):
        step().item()
    assert torch.explain().segments == 3


def test_models_that_share_an_operation_are_one_path_each():
    # As the count of batches in each model with batch normalization: what follows it differs.
    count = torch.zeros((), dtype=torch.int64)

    def step(width: int) -> torch.Tensor:
        x, counted = torch.ones(3, width), count
        for first in (torch.exp, torch.sin):
            x = first(x)
            counted = count + 1
            for _ in range(10):
                x = x.tanh() * 0.5
        return x.sum() * counted

    for width in [unique(3)[1] for _ in range(6)]:
        step(width).item()
        torch.explain(reset=True)
        step(width).item()
        assert torch.explain().segments == 1


def test_nan_does_not_fill_the_tree():
    x = torch.ones(unique())
    own = recorder()

    def children():
        flush()
        return len(own.root.children)

    (x * float("nan")).sum().item()
    for _ in range(5):
        (x * float("nan")).sum().item()
    before = children()
    for _ in range(20):
        (x * float("nan")).sum().item()
    assert children() == before


def test_a_failed_call_leaves_no_trace():
    x = torch.ones(unique())
    other = torch.ones(7, 7)
    flush()
    for _ in range(3):
        y = x * 2
        with pytest.raises(RuntimeError, match="must match the size of tensor b"):
            x + other[:, :3]
        assert (y + 1).sum().item() == 3.0 * x.numel()


def test_more_live_values_than_needed_are_served_by_the_same_program():
    x = torch.ones(unique())

    def step():
        a = x + 1
        b = a * 2
        return a, b

    for _ in range(3):
        a, b = step()
        flush()
    torch.explain(reset=True)
    _, b = step()
    del a, _
    gc.collect()
    assert b[0].item() == 4.0
    assert torch.explain().compiles == 0


def test_explain_says_what_differed():
    x = torch.ones(unique())
    for _ in range(3):
        (x * 2).sum().item()
    y = torch.ones(unique())
    for _ in range(3):
        (y * 2).sum().item()
    text = str(torch.explain())
    assert "programs compiled: " in text
    assert "first differs at op" in text
    assert "test_recorder.py" in text


def test_a_value_of_another_thread_is_finished_first():
    shape = unique()
    made = []

    def other():
        made.append(torch.ones(shape) * 3)  # pending when the thread ends

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert (made[0] + 1).sum().item() == 4.0 * made[0].numel()


def test_paths_that_never_come_again_are_forgotten(monkeypatch):
    own = recorder()
    own.forget()  # so that the records of other tests do not count
    hot = torch.ones(unique())
    for _ in range(3):
        (hot * 2 + 1).sum().item()
    assert torch.explain(reset=True).compiles == 1
    monkeypatch.setattr(own, "room", own.nodes + 10)
    for size in range(2, 9):
        (torch.ones(size, 3, 1) * 2 + 1).sum().item()
    assert own.nodes < own.room
    torch.explain(reset=True)
    total = (hot * 2 + 1).sum().item()  # outside of the assert, which keeps objects alive
    report = torch.explain()
    assert (report.hot, report.compiles) == (1, 0)
    assert total == 3.0 * hot.numel()


def test_threads_record_apart():
    results, errors = {}, []

    def work(number):
        try:
            x = torch.ones(50) * number
            for _ in range(30):
                x = x + 1
                if _ % 7 == 0:
                    x[0].item()
            results[number] = x.sum().item()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert results == {n: (n + 30) * 50.0 for n in range(6)}


def test_64_bit_types_are_exact_and_jax_keeps_its_settings():
    assert not jax.config.values["jax_enable_x64"]
    big = torch.tensor([2**53 + 1, -(2**62)])
    assert (big + 1).tolist() == [2**53 + 2, -(2**62) + 1]
    assert (torch.tensor([1.0], dtype=torch.float64) / 3).item() == 1 / 3
    assert not jax.config.values["jax_enable_x64"]
    assert jax.numpy.arange(3).dtype == np.int32


def test_eager_mode_runs_each_op_at_once():
    x = torch.ones(unique())
    flush()
    torch.explain(reset=True)
    with torch.op_by_op():
        y = x + 1
        z = y * 2
        assert torch.explain().cold == 2
        assert z[0].item() == 4.0
    torch.explain(reset=True)
    w = z + 1
    assert torch.explain().cold == 0  # the engine records again
    assert w[0].item() == 5.0


def test_a_long_chain_is_cut_and_differentiated_without_recursion():
    x = torch.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(10_000):
        y = y * 1.0001
    y.backward()
    assert x.grad.item() == pytest.approx(1.0001**10_000, rel=1e-3)


def test_tracers_run_at_once():
    def f(a):
        t = torch.from_jax(a)
        return torch.to_jax((t * 2 + 1).sum())

    a = jax.numpy.arange(4.0)
    assert float(jax.jit(f)(a)) == 16.0
    assert jax.grad(f)(a).tolist() == [2.0] * 4
    assert jax.vmap(lambda r: f(r))(jax.numpy.ones((3, 2))).tolist() == [6.0] * 3


def test_what_is_read_under_a_trace_is_no_tracer_afterwards():
    inside = torch.tensor([1.0, 2.0, 3.0])  # its elements are still on the host
    pending = torch.tensor([1.0, 1.0, 1.0]) * 2

    def f(x):
        return x + inside.jax + pending.jax

    assert jax.jit(f)(jax.numpy.ones(3)).tolist() == [4.0, 5.0, 6.0]
    assert (inside + pending).tolist() == [3.0, 4.0, 5.0]


def test_tracers_mix_with_recorded_values():
    weight = torch.ones(4) * 3  # pending

    def f(a):
        return (torch.from_jax(a) * weight).sum().jax

    assert float(jax.jit(f)(jax.numpy.arange(4.0))) == 18.0
    assert (weight + 1).tolist() == [4.0] * 4


def test_what_a_path_reads_is_known_without_it():
    """Too much that only pending operations hold is run: to look for it, the path of a step with thousands of them need not be made."""
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    for number in range(3):
        x, y = (x * y + 1).sin() - torch.tensor([0.5, 0.25]), x
        node = recorder().segment.cursor
        positions = node.leaf_positions()
        assert len(positions) == 3 + number
        assert positions == list(node.path().leaves)
    assert x.sum().item() != 0
