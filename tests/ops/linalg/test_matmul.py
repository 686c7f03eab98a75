"""Products: ranks, broadcasting, names of graph nodes, and PyTorch's messages for shapes and dtypes that do not fit."""

from typing import Any

import numpy as np
import pytest

import torchlike as torch
import torchlike.nn.functional as F

pytestmark = pytest.mark.single

ones = torch.ones

SHAPES = [
    ((3,), (3,), ()),
    ((2, 3), (3,), (2,)),
    ((3,), (3, 4), (4,)),
    ((2, 3), (3, 4), (2, 4)),
    ((5, 2, 3), (3, 4), (5, 2, 4)),
    ((5, 2, 3), (3,), (5, 2)),
    ((3,), (5, 3, 4), (5, 4)),
    ((2, 3), (5, 3, 4), (5, 2, 4)),
    ((6, 1, 2, 3), (5, 3, 4), (6, 5, 2, 4)),
    ((2, 0), (0, 4), (2, 4)),
    ((0, 2, 3), (3, 4), (0, 2, 4)),
]


@pytest.mark.parametrize(("a", "b", "shape"), SHAPES)
def test_matmul_agrees_with_numpy(a, b, shape):
    x, y = torch.randn(*a), torch.randn(*b)
    product = x @ y
    assert product.shape == shape
    np.testing.assert_allclose(product.numpy(), x.numpy() @ y.numpy(), rtol=1e-5, atol=1e-6)


WRONG = [
    (lambda: ones(2, 3) @ ones(4, 5), "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)"),
    (lambda: ones(3) @ ones(4, 5), "mat1 and mat2 shapes cannot be multiplied (1x3 and 4x5)"),
    (lambda: ones(2, 3) @ ones(4), "size mismatch, got input (2), mat (2x3), vec (4)"),
    (lambda: ones(2, 3, 4) @ ones(2, 5, 6), "Expected size for first two dimensions of batch2 tensor to be: [2, 4] but got: [2, 5]."),
    (lambda: ones(2, 3, 4) @ ones(3, 4, 6), "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0"),
    (lambda: ones(()) @ ones(2), "both arguments to matmul need to be at least 1D, but they are 0D and 1D"),
    (lambda: ones(2, 3) @ ones(3, 2, dtype=torch.float64), "expected m1 and m2 to have the same dtype, but got: float != double"),
    (lambda: torch.mm(ones(2), ones(4, 5)), "self must be a matrix"),
    (lambda: torch.dot(ones(2, 2), ones(2)), "1D tensors expected, but got 2D and 1D tensors"),
    (lambda: torch.dot(ones(2), ones(2).long()), "dot : expected both vectors to have same dtype, but found Float and Long"),
    (lambda: torch.bmm(ones(3, 4), ones(3, 4, 6)), "batch1 must be a 3D tensor"),
    (lambda: torch.outer(ones(2), ones(3, 1)), "outer: Expected 1-D argument vec2, but got 2-D"),
    (lambda: torch.addmm(ones(3), ones(2, 3), ones(3, 2)), "The expanded size of the tensor (2) must match the existing size (3) at "
     "non-singleton dimension 1.  Target sizes: [2, 2].  Tensor sizes: [3]"),
    (lambda: F.linear(ones(5, 2, 3), ones(4, 2)), "mat1 and mat2 shapes cannot be multiplied (10x3 and 2x4)"),
    (lambda: torch.einsum("ij,jk->ik", ones(2, 3), ones(4, 2)), "einsum(): subscript j has size 4 for operand 1 which does not "
     "broadcast with previously seen size 3"),
    (lambda: torch.einsum("ij->im", ones(2, 3)), "einsum(): output subscript m does not appear in the equation for any input operand"),
    (lambda: torch.einsum("ij", ones(2)), "einsum(): the number of subscripts in the equation (2) does not match the number of "
     "dimensions (1) for operand 0 and no ellipsis was given"),
    (lambda: torch.tensordot(ones(2, 3), ones(4, 2), 1), "contracted dimensions need to match, but first has size 3 in dim -1 and "
     "second has size 4 in dim 0"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_refuses(call, message):
    with pytest.raises(RuntimeError) as caught:
        call()
    assert str(caught.value) == message


def test_bool_matrices_are_refused():
    with pytest.raises(NotImplementedError, match="\"addmm_impl_cpu_\" not implemented for 'Bool'"):
        torch.mm(ones(2, 2).bool(), ones(2, 2).bool())


def test_matmul_wants_tensors():
    wrong: Any = [1]
    with pytest.raises(TypeError, match=r"matmul\(\): argument 'other' \(position 2\) must be Tensor, not list"):
        torch.matmul(ones(2, 3), wrong)


def leaf(*shape: int) -> Any:
    return torch.randn(*shape, requires_grad=True)


NAMES = [
    (lambda: leaf(2, 3) @ leaf(3, 4), "MmBackward0"),
    (lambda: leaf(3) @ leaf(3), "DotBackward0"),
    (lambda: leaf(2, 3) @ leaf(3), "MvBackward0"),
    (lambda: leaf(3) @ leaf(3, 4), "SqueezeBackward4"),
    (lambda: leaf(5, 2, 3) @ leaf(3, 4), "UnsafeViewBackward0"),
    (lambda: F.linear(leaf(2, 3), leaf(4, 3), leaf(4)), "AddmmBackward0"),
    (lambda: F.linear(leaf(2, 3), leaf(4, 3)), "MmBackward0"),
    (lambda: F.linear(leaf(5, 2, 3), leaf(4, 3), leaf(4)), "ViewBackward0"),
    (lambda: torch.outer(leaf(2), leaf(3)), "MulBackward0"),
]


@pytest.mark.parametrize(("call", "name"), NAMES)
def test_graph_names(call, name):
    assert call().grad_fn.name() == name


def test_linear_gradients():
    x, w, b = leaf(5, 2, 3), leaf(4, 3), leaf(4)
    cotangent = torch.randn(5, 2, 4)
    F.linear(x, w, b).backward(cotangent)
    g = cotangent.numpy().reshape(10, 4)
    np.testing.assert_allclose(x.grad.numpy().reshape(10, 3), g @ w.detach().numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(w.grad.numpy(), g.T @ x.detach().numpy().reshape(10, 3), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(b.grad.numpy(), g.sum(0), rtol=1e-5, atol=1e-6)


def test_beta_zero_ignores_the_input():
    nan = torch.full((2, 2), float("nan"))
    assert torch.addmm(nan, ones(2, 3), ones(3, 2), beta=0).tolist() == [[3, 3], [3, 3]]


def test_integer_factors_are_cut():
    whole = ones(2, 2).long()
    assert torch.addmm(whole, whole, whole, alpha=1.5).tolist() == [[3, 3], [3, 3]]


def test_products_of_halves_are_rounded_once():
    x = torch.full((1, 4096), 1.0, dtype=torch.float16)
    assert (x @ x.t()).item() == 4096


EINSUM = [
    ("ij,jk->ik", lambda a, b: a @ b),
    ("ij,jk", lambda a, b: a @ b),
    ("ij,jk->ki", lambda a, b: (a @ b).T),
    ("ij,jk->", lambda a, b: (a @ b).sum()),
    (" i j , j k -> i k ", lambda a, b: a @ b),
    ("...j,jk->...k", lambda a, b: a @ b),
]


@pytest.mark.parametrize(("equation", "expected"), EINSUM)
def test_einsum(equation, expected):
    a, b = torch.randn(2, 3), torch.randn(3, 4)
    np.testing.assert_allclose(
        torch.einsum(equation, a, b).numpy(), expected(a.numpy(), b.numpy()), rtol=1e-5, atol=1e-6
    )


def test_einsum_with_lists_and_broadcasting():
    a, b = torch.randn(2, 3), torch.randn(1, 4)
    expected = a.numpy().sum(1)[:, None] * b.numpy()
    np.testing.assert_allclose(torch.einsum(a, [0, 1], b, [1, 2], [0, 2]).numpy(), expected, rtol=1e-5, atol=1e-6)


def test_precision_switch():
    assert torch.get_float32_matmul_precision() == "highest"
    torch.set_float32_matmul_precision("medium")
    try:
        assert (ones(2, 2) @ ones(2, 2)).tolist() == [[2, 2], [2, 2]]
    finally:
        torch.set_float32_matmul_precision("highest")


@pytest.mark.parametrize(
    ("equation", "shapes", "given", "expected"),
    [
        ("i,j->ij", [(3,), (2,)], ["int8", "bfloat16"], "bfloat16"),
        ("i,i->i", [(3,), (3,)], ["float64", "float32"], "float64"),
        ("ij,jk->ik", [(2, 1), (1, 4)], ["int8", "bfloat16"], "bfloat16"),  # the sum has no terms
        ("ij,jk->ik", [(2, 1), (3, 4)], ["int8", "bfloat16"], "bfloat16"),  # one factor is summed before the product
        ("ij,jk->ik", [(0, 3), (3, 4)], ["bfloat16", "int8"], "int8"),
        ("i,j,k->ijk", [(2,), (3,), (4,)], ["int8", "bfloat16", "float32"], "float32"),
        ("i,j,j->i", [(3,), (4,), (4,)], ["bfloat16", "bfloat16", "bfloat16"], "bfloat16"),
        ("ij,k->ik", [(2, 3), (4,)], ["float16", "float16"], "float16"),
        ("ii,k->", [(3, 3), (4,)], ["float16", "float16"], "float16"),
        ("i->", [(1,)], ["int8"], "int64"),
        ("ij->j", [(2, 3)], ["bfloat16"], "bfloat16"),
        ("i,->", [(3,), ()], ["bool", "bool"], "int64"),
        ("i,i->", [(3,), (3,)], ["int8", "int8"], "int8"),
    ],
)
def test_einsum_promotes_where_it_multiplies_element_by_element(equation, shapes, given, expected):
    operands = [torch.ones(s, dtype=getattr(torch, d)) for s, d in zip(shapes, given, strict=True)]
    assert torch.einsum(equation, *operands).dtype is getattr(torch, expected)


@pytest.mark.parametrize(
    ("equation", "shapes", "given", "message"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)], ["int8", "bfloat16"], "expected scalar type Char but found BFloat16"),
        ("i,i->", [(3,), (3,)], ["float64", "float32"], "expected scalar type Double but found Float"),
        ("ij,ij->", [(1, 3), (2, 3)], ["bfloat16", "int8"], "expected scalar type BFloat16 but found Long"),
        ("ij,jk->k", [(2, 3), (3, 2)], ["int8", "int8"], "expected scalar type Long but found Char"),
        (
            "i,i,i->",
            [(3,), (3,), (3,)],
            ["int8", "bfloat16", "float32"],
            "expected scalar type Float but found BFloat16",
        ),
        ("i,i->", [(3,), (3,)], ["bool", "bool"], "\"bmm\" not implemented for 'Bool'"),
    ],
)
def test_einsum_refuses_matrices_of_different_dtypes(equation, shapes, given, message):
    operands = [torch.ones(s, dtype=getattr(torch, d)) for s, d in zip(shapes, given, strict=True)]
    with pytest.raises(RuntimeError) as error:
        torch.einsum(equation, *operands)
    assert str(error.value) == message


# Equation, shapes, which of the tensors require gradients, and which of them PyTorch saves.
SAVED_BY_EINSUM = [
    ("ij,jk,kl->il", [(3, 3), (3, 3), (3, 3)], "ppp", "012"),
    ("ij,jk,kl->il", [(3, 3), (3, 3), (3, 3)], "xxp", ""),
    ("ij,jk,kl->il", [(3, 3), (3, 3), (3, 3)], "xpx", "02"),
    ("ij,jk,kl->il", [(3, 3), (3, 3), (3, 3)], "pxx", "12"),
    ("ij,jk,kl->il", [(2, 9), (9, 9), (9, 1)], "xxp", "01"),
    ("ij,jk,kl->il", [(2, 9), (9, 9), (9, 1)], "pxx", ""),
    ("ij,kj,kl->il", [(3, 4), (3, 4), (3, 4)], "xpx", "02"),
    ("ij,jk,kl,lm->im", [(9, 2), (2, 9), (9, 1), (1, 3)], "xppx", "0123"),
    ("i,j,k->ijk", [(2,), (3,), (4,)], "xxp", ""),
    ("bij,bjk,bk->bi", [(2, 3, 4), (2, 4, 5), (2, 5)], "pxx", ""),
    ("ij,jk,l->ik", [(2, 3), (3, 4), (5,)], "ppp", "01"),
    ("ij,kl->ij", [(2, 3), (3, 4)], "pp", "0"),
]


@pytest.mark.parametrize(("equation", "shapes", "kinds", "expected"), SAVED_BY_EINSUM)
def test_einsum_saves_what_pytorch_saves(equation, shapes, kinds, expected):
    for number in range(len(shapes)):
        tensors = [torch.full(shape, 2.0, requires_grad=kind == "p") for shape, kind in zip(shapes, kinds, strict=True)]
        result = torch.einsum(equation, *tensors)
        with torch.no_grad():
            tensors[number].mul_(1)
        if str(number) in expected:
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                result.sum().backward()
        else:
            result.sum().backward()


def test_einsum_takes_inference_tensors_that_it_does_not_save():
    with torch.inference_mode():
        inferred = torch.ones(2, 2)
    p, x = torch.eye(2, requires_grad=True), torch.full((2, 2), 3.0)
    torch.einsum("ij,jk,kl->il", inferred, inferred, p).sum().backward()
    assert p.grad.tolist() == [[4.0, 4.0], [4.0, 4.0]]
    with pytest.raises(RuntimeError, match="^Inference tensors cannot be saved for backward"):
        torch.einsum("ij,jk,kl->il", p, inferred, x)
    product = torch.einsum("ij,jk,kl->il", x, x, p)
    x.zero_()
    (gradient,) = torch.autograd.grad(product.sum(), p)  # by the values that the product was made of
    assert gradient.tolist() == [[36.0, 36.0], [36.0, 36.0]]
