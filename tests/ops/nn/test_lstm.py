"""Which LSTMs oneDNN computes, and that their results, gradients and second gradients are those of the loop."""

import os
import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import torchlike as torch
from tests.numerics.lstms import assert_close
from torchlike import nn
from torchlike.engine import onednn
from torchlike.engine.onednn import library
from torchlike.numerics.lstm import lstm, lstm_p
from torchlike.ops.nn import rnn
from torchlike.ops.nn._recurrence import Inputs, LayerInputs, plan_of, run

if library.library() is None:
    pytest.skip("onednn-cpu-gomp is not installed", allow_module_level=True)

LAYERS: dict[str, dict[str, Any]] = {
    "plain": {},
    "both directions": {"bidirectional": True},
    "two layers, both directions": {"num_layers": 2, "bidirectional": True},
    "no bias": {"bias": False},
    "batch first": {"batch_first": True, "bidirectional": True},
    "dropout": {"num_layers": 3, "dropout": 0.5},
}


@pytest.fixture
def threads(monkeypatch) -> list[int]:
    """For each LSTM that is called: for how many threads oneDNN computes it; 0: it is a loop."""
    decided: list[int] = []
    decide = rnn._threads_of_onednn

    def noted(*args: Any) -> int:
        decided.append(decide(*args))
        return decided[-1]

    monkeypatch.setattr(rnn, "_threads_of_onednn", noted)
    return decided


def without_onednn(monkeypatch) -> None:
    monkeypatch.setattr(rnn, "_threads_of_onednn", lambda *args: 0)


def results(
    options: dict[str, Any], hidden: bool, sizes: tuple[int, ...] = (9, 17, 6, 7), order: int = 1
) -> list[np.ndarray]:
    """Results of a layer, and gradients of this order of all that has one."""
    torch.manual_seed(0)
    steps, batch, features, size = sizes
    layer = nn.LSTM(features, size, **options)
    x = torch.randn(steps, batch, features, requires_grad=True)
    x_given = x.transpose(0, 1) if layer.batch_first else x
    number = layer.num_layers * (2 if layer.bidirectional else 1)
    first = [torch.randn(number, batch, size, requires_grad=True) for _ in range(2)] if hidden else []
    torch.manual_seed(1)  # dropout's
    output, (h, c) = layer(x_given, tuple(first) if hidden else None)
    found: Any = [output, h, c]
    inputs = [x, *first, *layer.parameters()]
    for _ in range(order):
        total = sum((f.sin() * (n + 1)).sum() for n, f in enumerate(found))
        found += torch.autograd.grad(total, inputs, create_graph=order > 1)
    return [f.detach().numpy() for f in found]


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("layer", LAYERS)
def test_layers_have_the_results_and_gradients_of_loops(layer, hidden, threads, monkeypatch):
    found = results(LAYERS[layer], hidden)
    assert threads == [onednn.threads()]
    without_onednn(monkeypatch)
    assert_close(found, results(LAYERS[layer], hidden))


@pytest.mark.parametrize("layer", ["plain", "both directions"])
def test_gradients_of_gradients_are_those_of_loops(layer, threads, monkeypatch):
    found = results(LAYERS[layer], True, order=2)
    assert threads == [onednn.threads()]
    without_onednn(monkeypatch)
    assert_close(found, results(LAYERS[layer], True, order=2), 5e-5)


@pytest.mark.parametrize("keep", [False, True])
def test_only_what_wants_a_gradient_computes_a_workspace(keep):
    plan = plan_of("LSTM", True, 1, False, False, onednn.threads())
    shapes = ((9, 17, 6), (1, 17, 7), (1, 17, 7), (28, 6), (28, 7), (28,), (28,))
    x, h, c, *weights = (jnp.zeros(shape) for shape in shapes)
    inputs, others = Inputs(x, [h, c], weights), LayerInputs([], None)
    traced = jax.make_jaxpr(lambda inputs: run(plan, inputs, others, keep))(inputs)
    parts = [step.params["of"].part for step in traced.eqns if step.primitive is lstm_p]
    assert parts == ["training" if keep else "inference"]
    assert (len(traced.out_avals) > plan.results) == keep


def test_a_layer_without_a_gradient_has_the_results_of_one_with_it():
    layer, x = nn.LSTM(11, 13), torch.randn(9, 17, 11)
    with torch.no_grad():
        plain = layer(x)[0].numpy()
    assert_close([plain], [layer(x)[0].detach().numpy()])


WRONG_SHAPES: dict[int, list[tuple[int, ...]]] = {  # of each weight of a layer with 6 features and 7 units
    0: [(20, 6), (1, 6), (32, 6)],
    1: [(32, 7), (1, 7)],
    2: [(1,), (27,), (17, 28)],
    3: [(1,), (32,), (1, 1)],
}


@pytest.mark.parametrize(
    ("place", "shape"), [(place, shape) for place, found in WRONG_SHAPES.items() for shape in found]
)
def test_weights_of_other_shapes_are_read_by_the_loop(place, shape, threads):
    """oneDNN would read what lies behind them in memory."""
    shapes: list[tuple[int, ...]] = [(28, 6), (28, 7), (28,), (28,)]
    shapes[place] = shape
    weights, state = [torch.ones(s) for s in shapes], torch.zeros(1, 17, 7)
    try:
        output = torch.lstm(torch.ones(9, 17, 6), (state, state), weights, True, 1, 0.0, False, False, False)[0]
        assert torch.isfinite(output).all()
    except (RuntimeError, TypeError, ValueError):  # those that the loop cannot broadcast
        assert shape not in [(1,), (1, 1), (1, 6), (1, 7)]
    assert threads == [0]


def test_the_primitive_refuses_operands_of_other_shapes():
    of = onednn.lstm_of("inference", (9, 17, 6), 7, False, onednn.threads())
    assert of is not None
    operands = [jnp.zeros(shape) for shape in of.operands]
    assert lstm(of, *operands)[0].shape == (9, 17, 7)
    with pytest.raises(ValueError, match="an LSTM of"):
        lstm(of, *operands[:5], jnp.zeros(1))


def test_one_sequence_without_a_batch(threads, monkeypatch):
    torch.manual_seed(0)
    layer, x = nn.LSTM(3, 4, bidirectional=True), torch.randn(9, 3)
    found = layer(x)[0].detach().numpy()
    assert threads == [onednn.threads()]
    without_onednn(monkeypatch)
    assert_close([found], [layer(x)[0].detach().numpy()])


def test_what_else_stays_a_loop(threads):
    layer, x = nn.LSTM(5, 6), torch.randn(8, 3, 5)
    weights = [p.detach() for p in layer.parameters()]
    state = torch.zeros(1, 3, 6)
    calls = {
        "bfloat16": lambda: nn.LSTM(5, 6, dtype=torch.bfloat16)(x.bfloat16()),
        "float64": lambda: nn.LSTM(5, 6, dtype=torch.float64)(x.double()),
        "few steps": lambda: layer(x[:7]),
        "large weights": lambda: nn.LSTM(5, 600)(torch.randn(8, 8, 5)),
        "large weights for few sequences": lambda: nn.LSTM(5, 400)(x),
        "what torch.func traces": lambda: torch.func.vmap(
            lambda rows: torch.lstm(rows, (state, state), weights, True, 1, 0.0, False, False, False)[0]
        )(x[None]),
    }
    for name, call in calls.items():
        threads.clear()
        call()
        assert threads == [0], name
    threads.clear()
    nn.LSTM(5, 6, proj_size=2)(x), nn.GRU(5, 6)(x), nn.LSTM(5, 6)(nn.utils.rnn.pack_sequence([x[:, 0]]))
    assert not any(threads)
    nn.LSTM(5, 400)(torch.randn(8, 8, 5))
    assert threads == [onednn.threads()]


@pytest.mark.recorded
def test_a_loop_of_training_is_the_same_with_and_without_onednn():
    """In a process each: as one program, and as operations that run one at a time."""
    code = """
import torchlike as torch
from torchlike import nn
torch.manual_seed(0)
model = nn.LSTM(5, 9, num_layers=2, bidirectional=True)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x = torch.randn(9, 19, 5)
for _ in range(12):
    optimizer.zero_grad()
    loss = (model(x)[0] - x.mean()).square().mean()
    loss.backward()
    optimizer.step()
print(repr(loss.item()))
"""

    def last_loss(**settings: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env={**os.environ, **settings}
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    found, again, without = last_loss(), last_loss(), last_loss(**{library.VARIABLE: "0"})
    assert found == again and abs(float(found) - float(without)) < 1e-5 * float(without)


def test_the_bits_are_the_same_in_a_program_and_one_at_a_time():
    torch.manual_seed(0)
    layer, x = nn.LSTM(6, 7, num_layers=2), torch.randn(9, 17, 6)

    def run() -> list[np.ndarray]:
        layer.zero_grad()
        output, (h, c) = layer(x)
        (output.sum() + h.sum() + c.sum()).backward()
        return [output.detach().numpy(), *[p.grad.numpy() for p in layer.parameters()]]

    with torch.op_by_op():
        single = run()
    program = [run() for _ in range(6)][-1]
    for a, b in zip(single, program, strict=True):
        np.testing.assert_array_equal(a, b)
