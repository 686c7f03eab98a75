"""Recurrent layers as loops: packed sequences of ever new lengths, and loops of few steps."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import torchlike as torch
from torchlike import nn
from torchlike.engine.recorder import compiling
from torchlike.nn.utils.rnn import pack_sequence, pad_packed_sequence
from torchlike.ops.nn._recurrence import FEW_STEPS, Inputs, LayerInputs, plan_of, run

pytestmark = pytest.mark.composed


def _alone(layer: nn.Module, sequences: list[torch.Tensor]) -> list[torch.Tensor]:
    return [layer(sequence[None])[0][0] for sequence in sequences]


def _packed(layer: nn.Module, sequences: list[torch.Tensor]) -> list[torch.Tensor]:
    packed, _ = layer(pack_sequence(sequences, enforce_sorted=False))
    padded, lengths = pad_packed_sequence(packed, batch_first=True)
    return [rows[:n] for rows, n in zip(padded, lengths.tolist(), strict=True)]


@pytest.mark.costly
@pytest.mark.parametrize("kind", [nn.GRU, nn.LSTM, nn.RNN])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_lengths_of_every_kind_compile_nothing(kind: type[nn.Module], bidirectional: bool) -> None:
    layer = kind(3, 4, 2, bidirectional=bidirectional, batch_first=True)
    generator = torch.Generator().manual_seed(0)
    with compiling("auto"):
        compiled = torch.explain().op_compiles
        for _ in range(7):
            lengths = torch.randint(1, 9, (4,), generator=generator).tolist()
            sequences = [torch.randn(n, 3, generator=generator, requires_grad=True) for n in lengths]
            expected, results = _alone(layer, sequences), _packed(layer, sequences)
            torch.testing.assert_close(results, expected)
            loss, other = sum((r**2).sum() for r in results), sum((e**2).sum() for e in expected)
            inputs = [*sequences, *layer.parameters()]
            torch.testing.assert_close(torch.autograd.grad(loss, inputs), torch.autograd.grad(other, inputs))
        assert torch.explain().op_compiles == compiled


def test_new_lengths_are_not_traced_anew() -> None:
    layer = nn.GRU(3, 4, batch_first=True)
    refused = []
    with compiling("auto"):
        for n in range(2, 12):
            packed, _ = layer(pack_sequence([torch.ones(n, 3, requires_grad=True), torch.ones(n // 2, 3)]))
            pad_packed_sequence(packed)[0].sum().backward()
            assert layer.weight_hh_l0.grad.isfinite().all()
            refused.append(torch.explain().not_generic.total())
    assert refused[4] == refused[-1]  # whatever is refused is so once, at the third size


@pytest.mark.parametrize("mode", ["LSTM", "GRU", "RNN_TANH"])
def test_few_steps_transpose_no_weights(mode: str) -> None:
    """As a copy of all weights, that took six times as long as the step of an LSTM in text generation."""
    gates = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1}[mode]
    plan, width = plan_of(mode, False, 1, False, False), 5
    hidden = [jnp.ones((1, 2, width))] * (2 if mode == "LSTM" else 1)
    weights = [jnp.ones((gates * width, 3)), jnp.ones((gates * width, width))]
    for steps in (1, FEW_STEPS, FEW_STEPS + 1):
        inputs = Inputs(jnp.ones((steps, 2, 3)), hidden, weights)
        text = str(jax.make_jaxpr(lambda inputs: run(plan, inputs, LayerInputs([], None), False))(inputs))
        assert (f"f32[{width},{gates * width}] = transpose" in text) == (steps > FEW_STEPS)


@pytest.mark.parametrize("kind", [nn.GRU, nn.LSTM, nn.RNN])
def test_a_sequence_step_by_step_is_the_whole_sequence(kind: type[nn.Module]) -> None:
    layer = kind(3, 4)
    x = torch.randn(FEW_STEPS + 3, 2, 3, generator=torch.Generator().manual_seed(1))
    whole, last = layer(x)
    steps, state = [], None
    for row in x:
        out, state = layer(row[None], state)
        steps.append(out)
    torch.testing.assert_close(torch.cat(steps), whole)
    torch.testing.assert_close(state, last)
    weights = list(layer.parameters())
    torch.testing.assert_close(
        torch.autograd.grad(torch.cat(steps).sum(), weights), torch.autograd.grad(whole.sum(), weights)
    )
