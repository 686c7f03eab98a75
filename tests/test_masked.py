"""torch.masked: each result equals that of the plain function applied to only the kept elements."""

from typing import Any

import pytest

import torchlike as torch
from tests.ops.lines import every_line
from tests.ops.running import adopt_near, outcome
from torchlike import masked

X = torch.tensor([[1.0, -2.0, 4.0, 0.5], [3.0, 1.0, -1.0, 2.0]])
MASK = torch.tensor([[True, False, True, False], [False, True, True, False]])
ROWS = [row[kept] for row, kept in zip(X, MASK, strict=True)]
NONE = torch.zeros(2, 4, dtype=torch.bool)

REDUCTIONS = {
    "sum": (masked.sum, torch.sum, 0.0),
    "prod": (masked.prod, torch.prod, 1.0),
    "mean": (masked.mean, torch.mean, float("nan")),
    "amax": (masked.amax, torch.amax, float("-inf")),
    "amin": (masked.amin, torch.amin, float("inf")),
    "median": (masked.median, torch.median, float("nan")),
    "var": (masked.var, torch.var, float("nan")),
    "std": (masked.std, torch.std, float("nan")),
    "norm": (lambda x, dim, mask: masked.norm(x, 3, dim, mask=mask), lambda x: torch.linalg.vector_norm(x, 3), 0.0),
    "logsumexp": (masked.logsumexp, lambda x: torch.logsumexp(x, 0), float("-inf")),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_reduction_is_that_of_what_is_kept(name):
    of_masked, plain, of_none = REDUCTIONS[name]
    assert of_masked(X, 1, mask=MASK).tolist() == pytest.approx([plain(row).item() for row in ROWS])
    assert of_masked(X, 1, mask=NONE)[0].item() == pytest.approx(of_none, nan_ok=True)


@pytest.mark.parametrize(
    ("of_masked", "plain"),
    [
        (masked.softmax, torch.softmax),
        (masked.log_softmax, torch.log_softmax),
        (masked.softmin, lambda row, dim: torch.softmax(-row, dim)),
        (masked.cumsum, torch.cumsum),
        (masked.cumprod, torch.cumprod),
        (lambda x, dim, mask: masked.normalize(x, 2.0, dim, mask=mask), lambda x, dim: x / x.norm()),
    ],
)
def test_rows_are_normalised_and_added_up_without_what_is_left_out(of_masked, plain):
    found = of_masked(X, 1, mask=MASK)
    for row, kept, wanted in zip(found, MASK, ROWS, strict=True):
        assert row[kept].tolist() == pytest.approx(plain(wanted, 0).tolist())


def test_where_the_extremes_stand():
    assert masked.argmax(X, 1, mask=MASK).tolist() == [2, 1] and masked.argmin(X, 1, mask=MASK).tolist() == [0, 2]
    assert masked.argmax(X).dtype is torch.float32 and masked.argmax(X, dtype=torch.int64).item() == 2


def test_integers():
    whole = X.to(torch.int32)
    assert masked.sum(whole, mask=MASK).dtype is torch.int64
    assert masked.amax(whole, 1, mask=NONE).tolist() == [-(2**31)] * 2
    assert masked.median(whole, 1, mask=MASK).tolist() == [1, -1]
    assert masked.var(whole, 1, mask=MASK).dtype is torch.float32
    with pytest.raises(ValueError, match="expects no fully masked out rows"):
        masked.median(whole, 1, mask=NONE)
    with pytest.raises(ValueError, match="Input dtype must be either a floating point or complex dtype"):
        masked.mean(whole)
    with pytest.raises(NotImplementedError, match="identity of amax on torch.bool input"):
        masked.amax(MASK, mask=MASK)


def test_masks_are_broadcast_and_reach_the_gradient():
    x = X.clone().requires_grad_()
    masked.sum(x * x, mask=torch.tensor([True, False, False, True])).backward()
    assert x.grad.tolist() == [[2.0, 0.0, 0.0, 1.0], [6.0, 0.0, 0.0, 4.0]]
    with pytest.raises(IndexError, match="expected broadcastable mask"):
        masked.sum(X, mask=torch.ones(1, 2, 4, dtype=torch.bool))
    with pytest.raises(RuntimeError, match="dim=1 appears multiple times"):
        masked.sum(X, (1, 1))


def test_logaddexp_leaves_out_on_either_side():
    keeps, drops = torch.tensor([True, False]), torch.tensor([True, True])
    found = masked.logaddexp(torch.zeros(2), torch.ones(2), input_mask=keeps, other_mask=drops)
    assert found.tolist() == pytest.approx([1.3132617, 1.0])


def test_corrections():
    assert masked.var(X, 1, correction=0, mask=MASK).tolist() == pytest.approx(
        [row.var(correction=0).item() for row in ROWS]
    )
    assert masked.var(X, 1, False, mask=MASK).tolist() == masked.var(X, 1, correction=0, mask=MASK).tolist()
    with pytest.raises(AssertionError, match="Only one of unbiased and correction"):
        masked.var(X, 1, True, correction=1)


@pytest.mark.parametrize("line", every_line("masked"), ids=lambda line: line.split("; ", 2)[2])
def test_a_masked_tensor_does_what_pytorchs_does(line, golden):
    told = outcome(torch, line)
    assert told == adopt_near(golden("lines")["masked"][line], told)


def test_a_gradient_reaches_what_got_a_mask():
    x = torch.arange(4.0, requires_grad=True)
    total: Any = (masked.as_masked_tensor(x, x > 1) ** 2).sum()
    total.backward()
    assert x.grad is not None and x.grad.tolist() == [0, 0, 4, 6] and total.to_tensor(0).item() == 13


def test_what_knows_no_mask_is_refused():
    x = masked.as_masked_tensor(torch.ones(2, 2), torch.eye(2) > 0)
    with pytest.raises(TypeError, match="^Multiple dispatch failed for 'torch.matmul'"):
        torch.matmul(x, x)
    with pytest.raises(NotImplementedError, match="sparse masked tensors"):
        masked.as_masked_tensor(torch.eye(2).to_sparse(), torch.eye(2).bool().to_sparse())


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("mask", [None, MASK], ids=["whole", "masked"])
def test_a_product_over_no_dimensions_is_of_each_element_alone(keepdim, mask):
    result = masked.prod(X, dim=[], keepdim=keepdim, mask=mask)
    assert torch.equal(result, X if mask is None else torch.where(mask, X, torch.tensor(1.0)))
    assert masked.prod(X.int(), dim=[], keepdim=keepdim).dtype is torch.int64
