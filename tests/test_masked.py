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


D = torch.tensor([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.0, 3.0, 0.0]])
KEEPS = torch.tensor([[True, True, False], [False, False, False], [True, True, True]])
LAYOUTS = {torch.sparse_coo: lambda x: x.to_sparse(), torch.sparse_csr: lambda x: x.to_sparse_csr()}


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("name", ["sum", "prod", "amax", "amin", "mean"])
@pytest.mark.parametrize("dim", [0, 1, (0, 1)])
def test_sparse_inputs_are_reduced_where_the_mask_keeps_something(name, dim, layout):
    function, sparse = getattr(torch.masked, name), LAYOUTS[layout]
    if name == "mean" and layout is torch.sparse_coo:
        with pytest.raises(
            ValueError, match="^masked mean expects strided or sparse_csr tensor \\(got torch.sparse_coo"
        ):
            function(sparse(D), dim, mask=KEEPS)
        return
    dense = function(D, dim, keepdim=True, mask=KEEPS)
    kept = torch.masked._output_mask(function, D, dim, keepdim=True, mask=KEEPS)
    for mask in (KEEPS, KEEPS.to_sparse(), KEEPS.to_sparse_csr()):
        assert torch.equal(function(D, dim, keepdim=True, mask=mask), dense) or name == "mean"
        result = function(sparse(D), dim, keepdim=True, mask=mask)
        assert result.layout is layout and torch.equal(result.to_dense(), torch.where(kept, dense, 0.0))
        assert result._nnz() == int(kept.sum())


def test_what_sparse_inputs_cannot_do_is_said_in_pytorchs_words():
    coo, csr = D.to_sparse(), D.to_sparse_csr()
    assert torch.masked.sum(coo, 0).to_dense().tolist() == [1.0, 3.0, 2.0]
    assert torch.masked.sum(coo).to_dense().item() == 6.0
    for call, kind, words in (
        (
            lambda: torch.masked.prod(coo, 0),
            ValueError,
            "masked prod expects explicit mask for sparse_coo tensor input",
        ),
        (
            lambda: torch.masked.var(coo, 0, mask=KEEPS),
            ValueError,
            "masked std/var expects strided tensor (got torch.sparse_coo",
        ),
        (
            lambda: torch.masked.softmax(csr, 0, mask=KEEPS),
            ValueError,
            "masked softmax expects strided tensor (got torch.sparse_csr",
        ),
        (
            lambda: torch.masked.sum(csr, 0, mask=KEEPS),
            RuntimeError,
            "reduction operations on CSR tensors with keepdim=False is",
        ),
        (lambda: torch.masked._input_mask(D), ValueError, "_input_mask requires explicit mask"),
        (
            lambda: torch.masked._output_mask(torch.sin, D),
            ValueError,
            "_output_mask expected masked operation (got callable ",
        ),
        (
            lambda: torch.masked._canonical_dim((0, 0), 3),
            RuntimeError,
            "dim=0 appears multiple times in the list of dims",
        ),
    ):
        with pytest.raises(kind) as error:
            call()
        assert str(error.value).startswith(words)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_where_of_sparse_tensors_has_the_elements_that_the_mask_keeps(layout):
    sparse = LAYOUTS[layout]
    mask = sparse(KEEPS)
    result = torch.masked._where(mask, sparse(D), torch.tensor(7.0))
    assert result.layout is layout and result._nnz() == 5  # pyright: ignore[reportAttributeAccessIssue]
    assert torch.equal(result.to_dense(), torch.where(KEEPS, D, 0.0))
    rows = torch.masked._where(KEEPS.to_sparse(1), D.to_sparse(1), torch.tensor(7.0))  # whole rows are there or not
    assert rows.to_dense().tolist() == [[1.0, 0.0, 7.0], [0.0, 0.0, 0.0], [0.0, 3.0, 0.0]]
