"""Activations that a program computes again for the backward pass: which these are, and that the numbers are the same."""

import itertools

import pytest

import torchlike as torch
from torchlike import nn
from torchlike.engine import executable, forget
from torchlike.engine.memory import again

pytestmark = pytest.mark.recorded
F = nn.functional
widths = itertools.count(30)


@pytest.fixture
def programs(monkeypatch):
    """The programs that have been compiled, as text. CPUs stand for TPUs."""
    forget()  # the sizes of earlier tests, for which a path would be divided
    texts, compiled_with = [], executable.compiled_with

    def spy(lowered, options):
        text = lowered.as_text()
        if "jit_program" in text:
            texts.append(text)
        return compiled_with(lowered, options)

    monkeypatch.setattr(executable, "compiled_with", spy)
    monkeypatch.setattr(executable.disk, "entry_of", lambda *_: None)
    monkeypatch.setattr(again, "PLATFORMS", ("cpu",))
    return texts


def gradients(between, width, frozen=False, keep=False):
    """The gradients of two products with something between, from a program. ``keep``: somebody holds what is between."""
    found, held = [], []
    for _ in range(3):
        torch.manual_seed(0)
        x, first, second = (torch.randn(width, width) for _ in range(3))
        leaves = [second] if frozen else [x, first, second]
        for leaf in leaves:
            leaf.requires_grad_()
        middle = between(x @ first)
        loss = (middle @ second).square().sum()
        held = [middle] if keep else []
        del middle
        results = torch.autograd.grad(loss, leaves)
        del loss
        found = [each.tolist() for each in (*results, *held)]
    return found


CASES = {
    "gelu": (F.gelu, 1),
    "gelu by tanh": (lambda h: F.gelu(h, approximate="tanh"), 1),
    "silu": (F.silu, 1),
    "mish": (F.mish, 1),
    "softplus": (lambda h: F.softplus(h, 2.0, 1.0), 1),
    "logsigmoid": (F.logsigmoid, 1),
    # The derivative of the second reads what leaves the first, the product what leaves both.
    "one after the other": (lambda h: F.gelu(F.silu(h)), 2),
    # What is dropped is not drawn again, nor is a cheap operation worth it.
    "with dropout": (lambda h: F.dropout(F.gelu(h), 0.5), 0),
    "relu": (lambda h: h.relu(), 0),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_computed_again_has_the_same_bits(name, programs, monkeypatch):
    (between, times), width = CASES[name], next(widths)
    got = gradients(between, width)
    assert programs and sum(text.count("optimization_barrier") for text in programs) == times
    programs.clear()
    monkeypatch.setattr(again, "PLATFORMS", ())

    def the_same(h):
        h.neg()  # which nobody reads: so this is another path, for which there is no program
        return between(h)

    assert got == gradients(the_same, width)
    assert programs and not any("optimization_barrier" in text for text in programs)


@pytest.mark.parametrize("how", ["frozen", "keep"])
def test_nothing_is_computed_again_that_is_kept_or_of_what_is_not_kept(how, programs):
    gradients(F.gelu, next(widths), **{how: True})
    assert programs and not any("optimization_barrier" in text for text in programs)
