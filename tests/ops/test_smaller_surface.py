"""Smaller functions and attributes that programs ask for: orders of dimensions, sizes of NumPy's, PyTorch's inner names."""

import numpy as np
import pytest

import torchlike as torch
from torchlike._utils import _element_size

F = torch.nn.functional


def test_the_order_of_dimensions_in_memory():
    x = torch.empty(2, 3, 4, 5)
    assert x.dim_order() == (0, 1, 2, 3) == x.dim_order(ambiguity_check=True)
    assert x.permute(3, 1, 0, 2).dim_order() == (2, 1, 3, 0)
    assert x.contiguous(memory_format=torch.channels_last).dim_order() == (0, 2, 3, 1)
    assert torch.empty(3, 1, 4).transpose(0, 2).dim_order() == (2, 1, 0)
    assert torch.empty(()).dim_order() == ()
    for call in (
        lambda: torch.empty(1, 3, 1, 1).dim_order(ambiguity_check=True),
        lambda: torch.empty(2, 1, 3, 4).dim_order(ambiguity_check=[torch.contiguous_format, torch.channels_last]),
    ):
        with pytest.raises(RuntimeError, match="does not have unique dim order"):
            call()
    with pytest.raises(TypeError, match="must be a bool or a list of memory formats"):
        x.dim_order(ambiguity_check="x")


def test_sums_of_csr_matrices_are_csr_matrices():
    x = torch.tensor([[1.0, 0, 2], [0, 0, 0], [3, 4, 0]]).to_sparse_csr()
    for dim, dense in ((0, [[4, 4, 2]]), (1, [[3], [0], [7]]), ((0, 1), [[10]]), (-1, [[3], [0], [7]])):
        result = x.sum(dim=dim, keepdim=True)
        assert result.layout is torch.sparse_csr and result.to_dense().tolist() == dense
    with pytest.raises(RuntimeError, match="reduction operations on CSR tensors with keepdim=False is unsupported"):
        x.sum(dim=0)
    with pytest.raises(
        RuntimeError,
        match="only compressed sparse format supported for sum.dim_IntList is CSR, but got layout SparseCsc",
    ):
        x.to_sparse_csc().sum(dim=0, keepdim=True)


@pytest.mark.parametrize("layout", ["to_sparse_csr", "to_sparse_csc", "to_sparse"])
def test_a_linear_layer_of_a_sparse_weight_takes_any_number_of_dimensions(layout):
    weight = getattr(torch.tensor([[1.0, 0, 2], [0, 3, 0]]), layout)()
    for shape in ((3,), (2, 3), (2, 4, 3)):
        assert torch.equal(F.linear(torch.ones(shape), weight), torch.tensor([3.0, 3.0]).expand(*shape[:-1], 2))
    assert F.linear(torch.ones(3), weight, torch.ones(2)).tolist() == [4, 4]


def test_a_masked_softmax_leaves_out_where_the_mask_is_true():
    x, mask = torch.tensor([[0.0, 1.0], [2.0, 3.0]]), torch.tensor([[True, False], [False, False]])
    assert torch._masked_softmax(x, mask, 1, 2)[0].tolist() == [0, 1]
    assert torch.equal(torch._masked_softmax(x, mask, 1, 2)[1], torch.softmax(x[1], 0))


def test_what_reductions_of_nothing_give():
    identity = torch.masked._reduction_identity
    x, n = torch.ones(1), torch.ones(1, dtype=torch.int64)
    found = [identity(name, x).item() for name in ("sum", "prod", "amax", "amin", "logsumexp", "norm")]
    assert found == [0, 1, -float("inf"), float("inf"), -float("inf"), 0] and identity("mean", x) is None
    assert identity("amax", n).item() == -(2**63) and identity("amin", n).dtype is torch.int64
    with pytest.raises(NotImplementedError, match=r"identity of amax on torch.bool input"):
        identity("amax", torch.ones(1, dtype=torch.bool))


REFUSED = {
    "del": (lambda x: x.__delitem__(0), TypeError, "Tensor does not support deleting items"),
    "diff": (
        lambda x: torch.diff(torch.ones(2, 3), prepend=torch.ones(3, 3), dim=1),
        RuntimeError,
        "diff expects the shape of tensor to prepend or append to match that of input except along the differencing dimension; "
        "input.size(0) = 2, but got tensor.size(0) = 3",
    ),
    "apply_": (lambda x: x.apply_(lambda v: "a"), TypeError, "must be real number, not str"),
    "map2_": (
        lambda x: x.map2_(x, torch.ones(2, requires_grad=True), lambda a, b, c: a),
        RuntimeError,
        "Can't call map2_() on Variable that requires grad. Use var.detach().map2_() instead.",
    ),
    "_assert_async": (
        lambda x: torch._assert_async(torch.tensor(0)),
        RuntimeError,
        "Expected Tensor with single nonzero value, but got zero",
    ),
    "is_signed": (lambda x: torch.quint8.is_signed, RuntimeError, "isSignedType not supported for quantized types"),
    "index_select": (
        lambda x: torch.ones(0, 2).index_select(0, torch.tensor([0])),
        RuntimeError,
        "index_select(): self indexing axis dim should be positive",
    ),
    "as_nested_tensor": (
        lambda x: torch.nested.as_nested_tensor(torch.tensor(1.0)),  # pyright: ignore[reportAttributeAccessIssue]
        RuntimeError,
        "as_nested_tensor(): Expected tensor argument to have dim() > 1",
    ),
    "cosine_embedding_loss": (
        lambda x: F.cosine_embedding_loss(torch.ones(3, 2), torch.ones(3), torch.ones(3)),
        RuntimeError,
        "1D target tensor expects 2D input tensors, but found inputs with sizes [3, 2] and [3].",
    ),
    "_foreach_addcmul": (
        lambda x: torch._foreach_addcmul([x], [x], [x], torch.tensor(2.0)),
        RuntimeError,
        "Expected packed scalar Tensor to be of dimension 1. Got 0 instead.",
    ),
    "spectral_norm": (
        lambda x: torch.nn.utils.spectral_norm(torch.nn.LazyLinear(3)),
        ValueError,
        "The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run the dummy forward before applying "
        "spectral normalization",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_in_pytorchs_words(name):
    call, kind, words = REFUSED[name]
    with pytest.raises(kind) as caught:
        call(torch.ones(2))
    assert str(caught.value) == words


def test_sizes_and_types_of_older_programs():
    assert torch.ones((np.array(3), np.int64(4))).shape == (3, 4)
    assert torch.ones(2).new(size=(3, 4)).shape == torch.Tensor(size=(3, 4)).shape == (3, 4)
    assert torch.ones(2).double().type(torch.Tensor).dtype is torch.float32
    assert _element_size(torch.complex64) == 8
    assert torch._segment_reduce(torch.ones(4), "sum", lengths=torch.tensor([1, 3])).tolist() == [1, 3]
    q = torch.quantize_per_tensor(torch.ones(2), 0.1, 5, torch.quint8)
    assert not (q.is_mps or q.is_xpu or q.is_sparse) and q.is_cpu
