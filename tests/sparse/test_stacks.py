"""Stacks of compressed matrices, and those whose elements have dimensions: all that they give is what the dense tensor gives."""

import copy
import io
from typing import Any

import pytest

import torchlike as torch

ROWS = [
    [[0.0, 1.0, 0.0, 2.0], [3.0, 0.0, 4.0, 0.0]],
    [[5.0, 0.0, 0.0, 6.0], [0.0, 7.0, 8.0, 0.0]],
]  # as many in each matrix
LAYOUTS: Any = [("sparse_csr", None), ("sparse_csc", None), ("sparse_bsr", (1, 2)), ("sparse_bsc", (2, 1))]
every_layout = pytest.mark.parametrize(("layout", "block"), LAYOUTS)
# A stack, a stack of stacks, elements with a dimension, and both.
KINDS = {"stack": ((), 0), "two": ((1,), 0), "elements": (None, 1), "both": ((), 2)}
every_kind = pytest.mark.parametrize("kind", KINDS)


def dense(kind: str) -> Any:
    before, inner = KINDS[kind]
    stack = torch.tensor(ROWS)
    whole = stack[0] if before is None else stack.reshape(*before, *stack.shape)
    for number in range(inner):
        whole = torch.stack([whole, whole * (number + 2)], -1)
    return whole


def sparse(kind: str, layout: str, block: Any) -> Any:
    return dense(kind).to_sparse(layout=getattr(torch, layout), blocksize=block, dense_dim=KINDS[kind][1])


@every_kind
@every_layout
def test_a_stack_comes_back(kind, layout, block):
    whole, given = dense(kind), sparse(kind, layout, block)
    before, inner = KINDS[kind]
    lead = 0 if before is None else 1 + len(before)
    assert torch.equal(given.to_dense(), whole)
    assert (given.sparse_dim(), given.dense_dim(), given.dim()) == (2, inner, whole.dim())
    assert (
        given.values().shape[:lead] == whole.shape[:lead]
        and given.values().shape[given.values().dim() - inner :] == whole.shape[lead + 2 :]
    )
    by_place = given.to_sparse_coo()
    assert torch.equal(by_place.to_dense(), whole) and by_place.sparse_dim() == lead + 2
    for again in (copy.deepcopy(given), given.clone(), given.double()):
        assert torch.equal(again.to_dense(), whole.to(again.dtype)) and again.layout is given.layout
    file = io.BytesIO()
    torch.save(given, file)
    file.seek(0)
    assert torch.equal(torch.load(file).to_dense(), whole)
    made = torch.sparse_compressed_tensor(
        *indices(given), given.values(), whole.shape, layout=given.layout, check_invariants=True
    )
    assert torch.equal(made.to_dense(), whole)


def indices(given: Any) -> tuple[Any, Any]:
    rows = str(given.layout).endswith("sr")
    return (given.crow_indices(), given.col_indices()) if rows else (given.ccol_indices(), given.row_indices())


@every_kind
@every_layout
def test_what_is_computed_of_a_stack_is_what_is_computed_of_its_elements(kind, layout, block):
    whole, given = dense(kind), sparse(kind, layout, block)
    for of_stack, of_dense in [
        (given * 2, whole * 2), (given + given, whole * 2), (given - 3 * given, whole * -2), (given * given, whole * whole),
        (given.sin(), whole.sin()), (-given, -whole),
    ]:  # fmt: skip
        assert of_stack.layout is given.layout and torch.equal(of_stack.to_dense(), of_dense)
    assert torch.equal(given.sum(), whole.sum())
    for make, value in [(torch.ones_like, 1.0), (lambda x: torch.full_like(x, 3), 3.0)]:
        like = make(given)
        assert torch.equal(like.to_dense() != 0, given.to_dense() != 0) or block
        assert (like.values() == value).all() and like.shape == given.shape and like.layout is given.layout
    empties: Any = (torch.zeros_like(given), torch.zeros_like(given, layout=torch.sparse_coo))
    for like in empties:
        assert like._nnz() == 0 and torch.equal(like.to_dense(), torch.zeros_like(whole))
    drawn = torch.randn_like(given)
    assert drawn.layout is given.layout and drawn.values().shape == given.values().shape and drawn.values().std() > 0
    with pytest.raises(NotImplementedError, match="to_dense"):
        given @ torch.ones(4, 4)


@every_kind
@every_layout
def test_gradients_go_through_stacks(kind, layout, block):
    x = dense(kind).requires_grad_()
    weights = torch.arange(float(x.numel())).reshape(x.shape)
    given = x.to_sparse(layout=getattr(torch, layout), blocksize=block, dense_dim=KINDS[kind][1])
    (given.to_dense() * weights).sum().backward()
    stored = torch.ones_like(given.detach()).to_dense()  # blocks hold zeros, which have a gradient too
    assert torch.equal(x.grad.to_dense(), weights * stored)


@pytest.mark.parametrize("kind", ["stack", "two"])
def test_matrices_of_a_stack_are_turned(kind):
    for layout, block in LAYOUTS:
        turned = sparse(kind, layout, block).transpose(-1, -2)
        assert torch.equal(turned.to_dense(), dense(kind).transpose(-1, -2)) and turned.layout is not getattr(
            torch, layout
        )
    exchanged = sparse("two", "sparse_csr", None).transpose(0, 1)
    assert torch.equal(exchanged.to_dense(), dense("two").transpose(0, 1))
    with pytest.raises(RuntimeError, match=r"same type \(Batch, Sparse, Dense\), got 0\(Batch\) and 2\(Sparse\)"):
        sparse("stack", "sparse_csr", None).transpose(0, 2)
    with pytest.raises(RuntimeError, match="hybrid sparse compressed tensors with dense dimensions are not supported"):
        sparse("elements", "sparse_csr", None).transpose(0, 1)


@every_kind
def test_rows_become_columns_and_blocks_other_blocks(kind):
    whole = dense(kind)
    rows, columns = sparse(kind, "sparse_csr", None), sparse(kind, "sparse_csc", None)
    for given, wanted in [(rows.to_sparse_csc(), columns), (columns.to_sparse_csr(), rows)]:
        assert all(torch.equal(a, b) for a, b in zip(indices(given), indices(wanted), strict=True))
        assert torch.equal(given.values(), wanted.values())
    blocks = sparse(kind, "sparse_bsr", (1, 2))
    assert torch.equal(blocks.to_sparse_bsc((1, 2)).to_dense(), whole)
    if KINDS[kind][0] is None:
        assert torch.equal(rows.to_sparse_bsr((2, 2)).to_dense(), whole)
    else:
        with pytest.raises(
            RuntimeError, match="conversion from SparseCsr to SparseBsc for batched inputs is not supported"
        ):
            rows.to_sparse_bsc((2, 2))


@pytest.mark.parametrize(("to", "block"), LAYOUTS)
def test_short_indices_stay_short(to, block):
    short: Any = [torch.tensor(numbers, dtype=torch.int32) for numbers in ([0, 1, 2], [1, 0])]
    given = torch.sparse_csr_tensor(short[0], short[1], torch.ones(2), (2, 2)).to_sparse(
        layout=getattr(torch, to), blocksize=block
    )
    assert [index.dtype for index in indices(given)] == [torch.int32] * 2
    assert indices(torch.eye(2).to_sparse(layout=getattr(torch, to), blocksize=block))[0].dtype is torch.int64


C = torch.sparse_csr_tensor
REFUSED: Any = {
    "different numbers": (
        lambda: torch.stack([torch.eye(2), torch.ones(2, 2)]).to_sparse_csr(),
        "Expect the same number of specified elements per batch.",
    ),
    "indices of many dimensions": (
        lambda: torch.ones(2, 2, 2).to_sparse().to_sparse_csr(),
        "for input tensors with sparse_dim()!=2 is not supported",
    ),
    "dense_dim of a sparse one": (
        lambda: torch.eye(2).to_sparse_csr().to_sparse_csc(dense_dim=1),
        "to_sparse_csc: conversion from SparseCsr to SparseCsc with dense_dim argument given is not supported",
    ),
    "no matrix left": (
        lambda: torch.ones(2, 2, 2).to_sparse_csr(dense_dim=2),
        "dense_to_sparse_csr: dense_dim argument must be in [0,1] range, but 2 is given",
    ),
    "indices of two dimensionalities": (
        lambda: C([[0, 1]], [0], [[1.0]]),
        "crow_indices and col_indices dimensionalities must be equal but got 2 and 1, respectively",
    ),
    "stacks of two sizes": (
        lambda: C([[0, 1]] * 2, [[0]] * 3, [[1.0]] * 2, (2, 1, 1)),
        "all batch dimensions of crow_indices (=[2]), col_indices (=[3]), and values (=[2]) must be equal",
    ),
    "a wrong second matrix": (
        lambda: C([[0, 1], [0, 1]], [[0], [4]], [[1.0]] * 2, (2, 1, 1), check_invariants=True),
        "`0 <= col_indices < ncols` is not satisfied.",
    ),
    "too few values": (
        lambda: C([[0, 1]], [[0]], [1.0]),
        "values must have dimensionality > sum of batch and block dimensionalities (=1 + 0) but got 1",
    ),
    "likes of another layout": (
        lambda: torch.ones_like(torch.eye(2).to_sparse_csr(), layout=torch.strided),
        "empty_like with different sparse layout is not supported (self is SparseCsr but you requested Strided)",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_pytorch_refuses_is_refused_in_its_words(name):
    call, words = REFUSED[name]
    with pytest.raises(RuntimeError) as caught:
        call()
    assert words in str(caught.value)


def test_random_numbers_like_a_sparse_tensor_are_never_dense_without_a_word():
    for make in (torch.rand_like, torch.randn_like, torch.ones_like):
        with pytest.raises(NotImplementedError, match="to_dense"):
            make(torch.eye(2).to_sparse())
        assert make(torch.eye(2).to_sparse(), layout=torch.strided).layout is torch.strided


@pytest.mark.parametrize("lead", [1, 2])
@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 2, 3), (1, 2, 1, 3), (1, 1), ()])
@pytest.mark.parametrize("own", [(2, 3), (1, 3), (2, 1)])
def test_a_product_with_a_dense_tensor_broadcasts(own, shape, lead):
    ours = torch.arange(1.0, 1 + own[0] * own[1]).reshape(own)
    factor = torch.arange(2.0, 2 + torch.ones(shape).numel()).reshape(shape)
    for product in (ours.to_sparse(lead) * factor, factor * ours.to_sparse(lead)):
        assert product.is_sparse and torch.equal(product.to_dense(), ours * factor)
    with pytest.raises(RuntimeError, match="does not broadcast"):
        ours.to_sparse(lead) * torch.ones(5, 4)


def test_a_sparse_number_is_a_factor():
    three, rows = torch.tensor(3.0).to_sparse(), torch.tensor(ROWS[0])
    for product in (three * rows.to_sparse(), rows.to_sparse() * three):
        assert product.is_sparse and torch.equal(product.to_dense(), rows * 3)
    twice: Any = torch.sparse_coo_tensor(torch.zeros(0, 2, dtype=torch.int64), torch.tensor([1.0, 2.0]), ())
    assert (twice * three)._values().tolist() == [3.0, 6.0]  # of the first factor each value
    small, long = torch.tensor(2, dtype=torch.uint8).to_sparse(), torch.tensor(3).to_sparse()
    assert (small * long).dtype is (long * small).dtype is torch.int64
    assert (torch.ones(2, dtype=torch.uint8).to_sparse() * long).dtype is torch.uint8


@pytest.mark.parametrize("dtype", [torch.int8, torch.int32, torch.bool])
def test_sums_along_dimensions_are_long_as_those_of_dense_tensors(dtype):
    rows = torch.tensor(ROWS[0]).to(dtype)
    found = rows.to_sparse().sum(0)
    assert found.dtype is torch.int64 and torch.equal(found.to_dense(), rows.sum(0))
    if dtype is not torch.bool:
        assert torch.sparse.sum(rows.to_sparse(), 0).dtype is dtype  # as PyTorch's function does
