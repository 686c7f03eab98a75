"""Values that an operation has no answer for are refused where PyTorch refuses them, in its words."""

import math

import pytest

import torchlike as torch

pytestmark = pytest.mark.single

F = torch.nn.functional
NAN, INF = math.nan, math.inf
TARGET = "all elements of target should be between 0 and 1"
INPUT = "all elements of input should be between 0 and 1"
OUT_OF_RANGE = "argument #2 'target' is out of range"
SORTER = "torch.searchsorted(): sorter index out of range"


def entropy(x, y):
    return F.binary_cross_entropy(torch.tensor([x, 0.5]), torch.tensor([0.5, y]), reduction="sum")


def margin(*labels):
    return F.multilabel_margin_loss(torch.ones(1, 3), torch.tensor([labels]))


def counts(*values, **limits):
    return torch.histc(torch.tensor(values), **limits)


def searched(*sorter):
    return torch.searchsorted(torch.tensor([1.0, 2.0]), torch.tensor([1.0]), sorter=torch.tensor(sorter))


REFUSED = [
    (lambda: entropy(0.5, -0.1), TARGET),
    (lambda: entropy(1.0, 2.0), TARGET),
    (lambda: entropy(0.5, NAN), TARGET),
    (lambda: entropy(NAN, 0.5), INPUT),
    (lambda: entropy(NAN, NAN), INPUT),
    (lambda: entropy(1.1, 2.0), INPUT),
    (lambda: entropy(-0.1, 0.5), INPUT),
    (lambda: margin(5, 0, -1), OUT_OF_RANGE),
    (lambda: margin(-2, 0, -1), OUT_OF_RANGE),
    (lambda: margin(0, -1, 7), OUT_OF_RANGE),
    (lambda: counts(NAN), "torch.histc: range of [nan, nan] is not finite"),
    (lambda: counts(1.0, INF), "torch.histc: range of [1, inf] is not finite"),
    (lambda: counts(-INF, 1.0), "torch.histc: range of [-inf, 1] is not finite"),
    (lambda: counts(1.0, min=NAN, max=2), "torch.histc: range of [nan, 2] is not finite"),
    (lambda: counts(1.0, min=0, max=INF), "torch.histc: range of [0, inf] is not finite"),
    (
        lambda: torch.histogram(torch.tensor([NAN]), 3),
        "torch.histogramdd: dimension 0's range [nan, nan] is not finite",
    ),
    (lambda: searched(0, 7), SORTER),
    (lambda: searched(0, -1), SORTER),
]
TAKEN = [
    (lambda: entropy(1.0, 0.0), 100 * 0.5 + math.log(2)),
    (lambda: margin(2, 0, -1), 2 / 3),
    (lambda: counts(1.0, NAN, INF, min=0, max=2, bins=4).sum(), 1.0),
    (lambda: searched(0, 1), 0),
]


@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_is_refused(call, words):
    with pytest.raises(RuntimeError) as caught:
        print(call())  # a check of the step is looked at when a value is read
    assert str(caught.value) == words


@pytest.mark.parametrize(("call", "expected"), TAKEN)
def test_is_taken(call, expected):
    assert call().item() == pytest.approx(expected)
