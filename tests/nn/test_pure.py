"""Layers that say their ``forward`` is a function of what they hold: recorded in one step, they give what they give op by op."""

import warnings
from typing import Any

import pytest

import torchlike as torch
from tests.nn.layers import LAYERS, SEED, Layer
from torchlike import nn
from torchlike.autograd.stretches import Stretch
from torchlike.nn.modules._pure import describe

# What they give (out of training) is their input, or a view of it, and is not learned at the end of a model.
NOTHING_NEW = {
    "AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout", "Flatten", "Identity", "Unflatten",
}  # fmt: skip


def kind(row: Layer) -> Any:
    return getattr(nn, row.name.split("_")[0], nn.Module)


ROWS = [row for row in LAYERS if kind(row)._pure is not None and not row.name.startswith("Sequential")]


@pytest.fixture
def replays(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts the calls that were recorded in one step."""
    count: list[int] = []
    replay = Stretch.replay
    monkeypatch.setattr(Stretch, "replay", lambda *args: count.append(1) or replay(*args))
    return count


def seen(layer: Any, call: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Result and gradients of one call."""
    layer.zero_grad()
    first = inputs[0].detach().clone()
    first = first.requires_grad_() if first.is_floating_point() else first
    torch.engine.flush()
    out = call(first, *inputs[1:])
    if out.requires_grad:
        (out * torch.linspace(0.5, 1.5, out.numel()).reshape(out.shape)).sum().backward()
    return out.tolist(), [None if t.grad is None else t.grad.tolist() for t in (first, *layer.parameters())]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_pure_layer_gives_the_same_when_it_is_recorded_in_one_step(replays: list[int], row: Layer):
    torch.manual_seed(SEED)
    layer, inputs = row.make(torch), row.inputs(torch)
    pure = type(layer)._pure
    if not pure.always:
        layer.eval()
    expected = seen(layer, layer.forward, inputs)
    call = layer if pure.several else nn.Sequential(layer)
    for _ in range(3):
        torch.testing.assert_close(seen(layer, call, inputs), expected, rtol=1e-5, atol=1e-6)
    if not torch.engine.recorder().op_by_op and kind(row).__name__ not in NOTHING_NEW:
        assert replays, "never recorded in one step"


def known(layer: Any) -> bool:
    return describe(layer, [], [])


def test_it_does_not_hold_for_layers_that_draw_write_or_warn():
    for draws in (nn.Dropout(), nn.AlphaDropout(), nn.RReLU(), nn.BatchNorm1d(2)):
        assert not known(draws)
        assert known(draws.eval())
    assert not known(nn.Embedding(2, 2, max_norm=1.0))
    assert not known(nn.Softmax())
    assert known(nn.Softmax(1))
    softmax = nn.Sequential(nn.Softmax())
    for _ in range(3):
        with pytest.warns(UserWarning, match="Implicit dimension choice"):
            softmax(torch.ones(2, 2))
        torch.engine.flush()


def test_a_subclass_elsewhere_may_do_anything():
    class Twice(nn.ZeroPad2d):
        def forward(self, input: Any) -> Any:
            return super().forward(super().forward(input))

    class Same(nn.ZeroPad2d):
        """Reads the same, but who knows."""

    assert known(nn.ZeroPad2d(1))
    assert not known(Twice(1))
    assert not known(Same(1))


def test_running_statistics_are_inputs(replays: list[int]):
    model = nn.Sequential(nn.BatchNorm1d(2)).eval()
    x = torch.ones(3, 2)
    for _ in range(3):
        model(x)
        torch.engine.flush()
    model[0].running_mean.fill_(1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model(x).abs().max().item() == 0
