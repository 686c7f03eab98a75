"""Compressed matrices of all four layouts: what is printed of them is PyTorch's, and so are products, gradients and errors."""

import copy
import io
import warnings
from typing import Any

import pytest

import torchlike as torch

ROWS = [[0.0, 1.0, 0.0, 2.0], [3.0, 0.0, 0.0, 0.0], [0.0, 0.0, 4.0, 5.0], [0.0, 6.0, 0.0, 0.0]]
LAYOUTS: Any = [
    ("sparse_csr", None),
    ("sparse_csc", None),
    ("sparse_bsr", (2, 2)),
    ("sparse_bsc", (2, 1)),
]
every_layout = pytest.mark.parametrize(("layout", "block"), LAYOUTS)


def matrix(t: Any, layout: str, block: Any) -> Any:
    return t.tensor(ROWS).to_sparse(layout=getattr(t, layout), blocksize=block)


# Each prints the same with PyTorch.
PRINTED: Any = {
    "csc": (
        lambda t: matrix(t, "sparse_csc", None),
        "tensor(ccol_indices=tensor([0, 1, 3, 4, 6]),\n       row_indices=tensor([1, 0, 3, 2, 0, 2]),\n"
        "       values=tensor([3., 1., 6., 4., 2., 5.]), size=(4, 4), nnz=6,\n       layout=torch.sparse_csc)",
    ),
    "csc made": (
        lambda t: t.sparse_csc_tensor([0, 1, 2, 2], [1, 0], [3, 4]),
        "tensor(ccol_indices=tensor([0, 1, 2, 2]),\n       row_indices=tensor([1, 0]),\n       values=tensor([3, 4]), size=(2, 3), nnz=2, "
        "layout=torch.sparse_csc)",
    ),
    "bsr": (
        lambda t: t.sparse_bsr_tensor([0, 1, 2], [1, 0], [[[1.0, 2.0]], [[3.0, 4.0]]]),
        "tensor(crow_indices=tensor([0, 1, 2]),\n       col_indices=tensor([1, 0]),\n       values=tensor([[[1., 2.]],\n\n"
        "                      [[3., 4.]]]), size=(2, 4), nnz=2,\n       layout=torch.sparse_bsr)",
    ),
    "bsc": (
        lambda t: t.sparse_bsc_tensor([0, 1, 2], [1, 0], [[[1.0, 2.0]], [[3.0, 4.0]]], dtype=t.float64),
        "tensor(ccol_indices=tensor([0, 1, 2]),\n       row_indices=tensor([1, 0]),\n       values=tensor([[[1., 2.]],\n\n"
        "                      [[3., 4.]]]), size=(2, 4), nnz=2, dtype=torch.float64,\n       layout=torch.sparse_bsc)",
    ),
    "empty": (
        lambda t: t.zeros(2, 4).to_sparse_bsr((1, 2)),
        "tensor(crow_indices=tensor([0, 0, 0]),\n       col_indices=tensor([], size=(0,)),\n       values=tensor([], size=(0, 1, 2)), "
        "size=(2, 4), nnz=0,\n       layout=torch.sparse_bsr)",
    ),
    "in the order of columns": (
        lambda t: matrix(t, "sparse_csc", None).to_sparse(),
        "tensor(indices=tensor([[1, 0, 3, 2, 0, 2],\n                       [0, 1, 1, 2, 3, 3]]),\n"
        "       values=tensor([3., 1., 6., 4., 2., 5.]),\n       size=(4, 4), nnz=6, layout=torch.sparse_coo)",
    ),
    "transposed": (
        lambda t: matrix(t, "sparse_bsc", (2, 1)).t().values().shape,
        "torch.Size([6, 1, 2])",
    ),
    "row by columns": (lambda t: matrix(t, "sparse_csc", None)[0, 1], "tensor(1.)"),
}

ERRORS: Any = [
    (lambda t: t.tensor(ROWS).to_sparse_bsr((3, 2)), RuntimeError,
     "dense_to_sparse_bsr: tensor sparse size (4,4) must be divisible by given blocksize (3,2)"),
    (lambda t: t.tensor(ROWS).to_sparse(layout=t.sparse_bsr), RuntimeError,
     "dense_to_sparse: conversion from Strided to SparseBsr without blocksize argument given is not supported"),
    (lambda t: t.tensor(ROWS).to_sparse(layout=t.sparse_csc, blocksize=(1, 1)), RuntimeError,
     "dense_to_sparse: conversion from Strided to SparseCsc with blocksize argument given is not supported"),
    (lambda t: matrix(t, "sparse_bsr", (2, 2)).to_sparse_csr(), RuntimeError,
     "sparse_compressed_to_sparse_csr: expected SparseCsr or SparseCsc layout but got SparseBsr"),
    (lambda t: matrix(t, "sparse_bsr", (2, 2)).to_sparse_bsr((1, 1)), RuntimeError,
     "to_sparse_bsr: conversion from SparseBsr to SparseBsr with blocksize changed from [2, 2] to [1, 1] is not supported"),
    (lambda t: matrix(t, "sparse_csc", None).crow_indices(), RuntimeError,
     "crow_indices expected sparse row compressed tensor layout but got SparseCsc"),
    (lambda t: matrix(t, "sparse_bsr", (2, 2)).row_indices(), RuntimeError,
     "row_indices expected sparse column compressed tensor layout but got SparseBsr"),
    (lambda t: matrix(t, "sparse_bsc", (2, 2)).indices(), RuntimeError,
     "indices expected sparse coordinate tensor layout but got SparseBsc"),
    (lambda t: t.sparse_bsr_tensor([0, 1], [0], [3.0]), RuntimeError,
     "values must have dimensionality > sum of batch and block dimensionalities (=0 + 2) but got 1"),
    (lambda t: t.sparse_compressed_tensor([0, 1], [0], [3.0], layout=t.sparse_coo), RuntimeError,
     "sparse_compressed_tensor expected sparse compressed tensor layout but got Sparse"),
    (lambda t: t.sparse_compressed_tensor([0, 1], [0], [3.0]), RuntimeError,
     "sparse_compressed_tensor expected sparse compressed tensor layout but got none"),
    (lambda t: t.sparse_csc_tensor([0, 1, 2], [1, 5], [3.0, 4.0], (2, 2), check_invariants=True), RuntimeError,
     "`0 <= row_indices < nrows` is not satisfied."),
    (lambda t: t.sparse_csc_tensor([0, 1, 2], [1, 0], [3.0, 4.0], (2, 3), check_invariants=True), RuntimeError,
     "ccol_indices.shape[-1] must be equal to the number of columns + 1 (=4), but got 3"),
    (lambda t: t.sparse_bsc_tensor([0, 1, 2], [1, 0], t.ones(2, 2, 2), (4, 6), check_invariants=True), RuntimeError,
     "ccol_indices.shape[-1] must be equal to the number of column blocks + 1 (=4), but got 3"),
    (lambda t: t.sparse_bsr_tensor([0, 1, 2], [1, 0], t.ones(2, 2, 2), (4, 5), check_invariants=True), RuntimeError,
     "tensor shape[1] (=5) must be divisible with blocksize[1] (=2) as defined by values shape"),
    (lambda t: t.sparse_csr_tensor([0, 2, 2], [1, 0], [3.0, 4.0], (2, 2), check_invariants=True), RuntimeError,
     "`col_indices[..., crow_indices[..., i - 1]:crow_indices[..., i]] for all i = 1, ..., nrows are sorted and distinct along the last "
     "dimension values` is not satisfied."),
]  # fmt: skip


@pytest.mark.parametrize("name", PRINTED)
def test_what_is_printed_is_pytorchs(name):
    make, text = PRINTED[name]
    assert str(make(torch)) == text


@pytest.mark.parametrize(("call", "error", "message"), ERRORS)
def test_errors_are_pytorchs(call, error, message):
    with pytest.raises(error) as caught:
        call(torch)
    assert str(caught.value) == message


def test_the_tables_are_pytorchs():
    real = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of layouts that are in beta state
        assert {name: str(make(real)) for name, (make, _) in PRINTED.items()} == {
            n: text for n, (_, text) in PRINTED.items()
        }
        for call, error, message in ERRORS:
            with pytest.raises(error) as caught:
                call(real)
            assert str(caught.value) == message


@every_layout
def test_a_matrix_comes_back_and_multiplies(layout, block):
    dense, s = torch.tensor(ROWS), matrix(torch, layout, block)
    x, v = torch.arange(8.0).view(4, 2), torch.arange(4.0)
    assert str(s.layout) == f"torch.{layout}" and s.is_sparse_csr is (layout == "sparse_csr") and not s.is_sparse
    assert torch.equal(s.to_dense(), dense) and torch.equal(s.to_sparse().to_dense(), dense)
    assert torch.equal(s @ x, dense @ x) and torch.equal(s @ v, dense @ v) and torch.equal(x.t() @ s, x.t() @ dense)
    assert torch.equal(torch.addmm(x, s, x, beta=2), torch.addmm(x, dense, x, beta=2))
    assert torch.equal(s.t().to_dense(), dense.t()) and s.t().t().layout is s.layout
    assert torch.equal((-s * 2 + s).to_dense(), -dense) and s.sum().item() == 21 and s.double().dtype is torch.float64
    assert torch.equal(s.clone().to_dense(), dense) and torch.equal(copy.deepcopy(s).to_dense(), dense)
    assert torch.zeros_like(s).to_dense().count_nonzero() == 0 and torch.ones_like(s).values().eq(1).all()
    assert torch.equal(torch.ones(4, 4).sparse_mask(s).values(), torch.ones_like(s.values()))
    file = io.BytesIO()
    torch.save(s, file)
    file.seek(0)
    loaded = torch.load(file)
    assert loaded.layout is s.layout and torch.equal(loaded.to_dense(), dense)


@every_layout
def test_every_layout_becomes_every_other(layout, block):
    for source, own in (*LAYOUTS, ("sparse_coo", None)):
        if own is None:
            made = (
                torch.tensor(ROWS)
                .to_sparse(layout=getattr(torch, source))
                .to_sparse(layout=getattr(torch, layout), blocksize=block)
            )
            assert str(made) == str(matrix(torch, layout, block)), source
    if block is not None:
        rows = torch.tensor(ROWS).to_sparse_bsr(block)
        for to in (torch.sparse_bsr, torch.sparse_bsc):
            assert torch.equal(rows.to_sparse(layout=to, blocksize=block).to_dense(), rows.to_dense())


@every_layout
def test_gradients_go_through_values_and_dense_tensors(layout, block):
    dense: Any = torch.tensor(ROWS, requires_grad=True)
    weights = torch.arange(16.0).view(4, 4)
    s = dense.to_sparse(layout=getattr(torch, layout), blocksize=block)
    (s.to_dense() * weights).sum().backward()
    assert torch.equal(dense.grad, weights * torch.ones_like(s).to_dense())
    values: Any = s.values().detach().requires_grad_()
    outer, inner = (getattr(s, name)() for name in names(layout))
    made = torch.sparse_compressed_tensor(outer, inner, values, (4, 4), layout=s.layout)
    (made @ weights).sum().backward()
    expected = weights.sum(1)[None, :].expand(4, 4).sparse_mask(s.detach()).values()
    assert torch.equal(values.grad, expected)


def names(layout: str) -> tuple[str, str]:
    return ("crow_indices", "col_indices") if layout.endswith("r") else ("ccol_indices", "row_indices")


def test_compressed_matrices_of_columns_add_up():
    a, b = (torch.tensor(rows).to_sparse_csc() for rows in (ROWS, [row[::-1] for row in ROWS]))
    assert (a + b).layout is torch.sparse_csc and torch.equal((a + b).to_dense(), a.to_dense() + b.to_dense())
    assert torch.equal((a * b).to_dense(), a.to_dense() * b.to_dense()) and torch.equal(
        a + b.to_dense(), (a + b).to_dense()
    )
    assert (a @ b).layout is torch.sparse_csr and torch.equal((a @ b).to_dense(), a.to_dense() @ b.to_dense())
