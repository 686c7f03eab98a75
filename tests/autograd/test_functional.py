"""autograd.functional: derivatives of functions at a point, compared with derivatives by hand; and the errors of strict=True."""

import re

import pytest

import torchlike as torch
from torchlike.autograd import functional as F

X, Y = torch.tensor([1.0, 2.0]), torch.tensor([[3.0, 0.0], [1.0, 1.0]])


def quadratic(x):
    return (x @ Y * x).sum()


def two(x, y):
    return x.sum() * y, 2 * x


def test_the_jacobian_stands_by_output_then_by_input():
    (a, b), (c, d) = F.jacobian(two, (X, Y))
    assert [tuple(t.shape) for t in (a, b, c, d)] == [(2, 2, 2), (2, 2, 2, 2), (2, 2), (2, 2, 2)]
    assert a[..., 0].tolist() == Y.tolist() and c.tolist() == [[2.0, 0.0], [0.0, 2.0]] and not d.any()
    assert b[1, 0].tolist() == [[0.0, 0.0], [3.0, 0.0]]
    assert F.jacobian(torch.sin, X, vectorize=True, strategy="forward-mode").diag().tolist() == X.cos().tolist()
    assert F.jacobian(lambda x: x[:0], X).shape == (0, 2)


def test_products_are_those_with_the_jacobian_and_the_hessian():
    J, v = F.jacobian(lambda x: x.prod() * x, X), torch.tensor([1.0, -1.0])
    value, found = F.vjp(lambda x: x.prod() * x, X, v)
    assert value.tolist() == [2.0, 4.0] and found.tolist() == (v @ J).tolist()
    assert F.jvp(lambda x: x.prod() * x, X, v)[1].tolist() == (J @ v).tolist()
    H = F.hessian(quadratic, X)
    assert H.tolist() == (Y + Y.T).tolist()
    for product in (F.vhp, F.hvp):
        value, found = product(quadratic, X, v)
        assert (value.item(), found.tolist()) == (quadratic(X).item(), (H @ v).tolist())


def test_results_stay_in_the_graph_where_that_is_asked_for():
    x = X.clone().requires_grad_()
    assert not F.jacobian(torch.exp, x).requires_grad
    F.jacobian(torch.exp, x, create_graph=True).sum().backward()
    assert x.grad.tolist() == pytest.approx(X.exp().tolist())


def test_what_goes_in_is_checked():
    with pytest.raises(
        TypeError, match="inputs given to jacobian must be either a Tensor or a tuple of Tensors but the given inputs"
    ):
        F.jacobian(torch.exp, [X])
    with pytest.raises(
        TypeError, match="outputs of the user-provided function given to vjp must be either a Tensor or"
    ):
        F.vjp(lambda x: 3.0, X)
    with pytest.raises(RuntimeError, match="v can only be None if the user-provided function returns a single Tensor"):
        F.vjp(torch.exp, X)
    with pytest.raises(
        RuntimeError, match="v can only be None if the input to the user-provided function is a single Tensor"
    ):
        F.jvp(torch.exp, X)
    with pytest.raises(
        RuntimeError, match=r"^v has invalid size: should be torch.Size\(\[2\]\) but got torch.Size\(\[3\]\)"
    ):
        F.vjp(torch.exp, X, torch.ones(3))
    with pytest.raises(RuntimeError, match="v is a tuple of invalid length: should be 2 but got 1"):
        F.vjp(two, (X, Y), X)
    with pytest.raises(RuntimeError, match="given to hessian should contain a single element"):
        F.hessian(torch.exp, X)
    with pytest.raises(RuntimeError, match="given to hvp should return a single Tensor"):
        F.hvp(lambda x: (x.sum(),), X, X)
    with pytest.raises(NotImplementedError, match="only implemented for `vectorize=True`"):
        F.jacobian(torch.exp, X, strategy="forward-mode")
    with pytest.raises(AssertionError, match='Expected strategy to be either "forward-mode" or'):
        F.jacobian(torch.exp, X, strategy="sideways")


def test_strictly_outputs_must_depend_on_inputs():
    with pytest.raises(RuntimeError, match="Output 0 of the user-provided function does not require gradients"):
        F.jacobian(lambda x: torch.ones(2), X, strict=True)
    with pytest.raises(RuntimeError, match="Output 1 of the user-provided function is independent of input 1"):
        F.jacobian(two, (X, Y), strict=True)
    with pytest.raises(
        RuntimeError, match="found that the jacobian of the user-provided function with respect to input 0 is"
    ):
        F.hessian(torch.sum, X, strict=True)
    assert not F.hessian(torch.sum, X).any()


@pytest.mark.parametrize("product", [F.hvp, F.vhp, F.jvp, F.vjp])
def test_with_a_graph_products_have_a_gradient_for_the_vector(product):
    x, v = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0], requires_grad=True)
    function = (lambda x: (x**3).sum()) if product in (F.hvp, F.vhp) else (lambda x: x**2 / 2)
    _, result = product(function, x, v, create_graph=True)
    of_x, of_v = torch.autograd.grad(result.sum(), (x, v))
    expected = ([18.0, 24.0], [6.0, 12.0]) if product in (F.hvp, F.vhp) else ([3.0, 4.0], [1.0, 2.0])
    assert (of_x.tolist(), of_v.tolist()) == expected
    assert not product(function, x, v)[1].requires_grad


CREATE = "is independent of input {}. This is not allowed in strict mode when create_graph=True."
LINEAR_HESSIAN = "the jacobian of the user-provided function with respect to input {} is independent of the input."


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: F.vjp(lambda x: (2 * x).sum(), X, create_graph=True, strict=True), CREATE.format(0)),
        (lambda: F.vjp(lambda x, y: (x * x).sum() + y.sum(), (X, X), create_graph=True, strict=True), CREATE.format(1)),
        (lambda: F.jacobian(lambda x: 2 * x, X, create_graph=True, strict=True), CREATE.format(0)),
        (
            lambda: F.jacobian(lambda x, y: (x * x * y, x * x + y), (X, X), create_graph=True, strict=True),
            CREATE.format(1),
        ),
        (lambda: F.hessian(lambda x, y: (x * x).sum(), (X, X), strict=True), LINEAR_HESSIAN.format(1)),
    ],
)
def test_strictly_derivatives_must_depend_on_inputs(call, words):
    with pytest.raises(RuntimeError, match=re.escape(words)):
        call()


def test_gradients_in_batches():
    x = X.clone().requires_grad_()
    (rows,) = torch.autograd.grad(x**3, x, torch.eye(2), is_grads_batched=True)
    assert rows.tolist() == [[3.0, 0.0], [0.0, 12.0]]


class SevenForwards(torch.autograd.Function):
    """Its derivative forwards is 7, so that it shows which of the two counts."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * 7


def test_a_jacobian_forwards_is_made_of_tangents():
    forwards = {"vectorize": True, "strategy": "forward-mode"}
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 5.0])
    assert F.jacobian(SevenForwards.apply, x, **forwards).tolist() == [[7.0, 0.0], [0.0, 7.0]]
    assert F.jacobian(SevenForwards.apply, x).tolist() == [[2.0, 0.0], [0.0, 2.0]]
    (by_x, by_y), (sum_by_x, sum_by_y) = F.jacobian(lambda x, y: (x * y, y.sum()), (x, y), **forwards)
    assert (by_x.tolist(), by_y.tolist()) == ([[3.0, 0.0], [0.0, 5.0]], [[1.0, 0.0], [0.0, 2.0]])
    assert (sum_by_x.tolist(), sum_by_y.tolist()) == ([0.0, 0.0], [1.0, 1.0])

    def stored(x):
        rows = torch.zeros(2, 2)
        rows[0] = x * x
        return rows

    assert F.jacobian(stored, x, **forwards)[0].tolist() == [[2.0, 0.0], [0.0, 4.0]]
    hessian = F.hessian(lambda x: (x**3).sum(), x, vectorize=True, outer_jacobian_strategy="forward-mode")
    assert hessian.tolist() == [[6.0, 0.0], [0.0, 12.0]]
    with pytest.raises(
        NotImplementedError, match='`create_graph=True` and `strategy="forward-mode"` are not supported'
    ):
        F.jacobian(torch.exp, x, **forwards, create_graph=True)
    with pytest.raises(RuntimeError, match='`strict=True` and `strategy="forward-mode"` are not supported together'):
        F.jacobian(torch.exp, x, **forwards, strict=True)


@pytest.mark.parametrize("function", [lambda x: x.clone(), lambda x: x * 3])
def test_a_jacobian_that_depends_on_nothing_is_refused(function):
    x = torch.rand(4, requires_grad=True)
    for product in (torch.autograd.functional.jvp, torch.autograd.functional.vjp):
        with pytest.raises(
            RuntimeError, match="^The jacobian of the user-provided function is independent of input 0."
        ):
            product(function, x, torch.ones(4), create_graph=True, strict=True)
        product(function, x, torch.ones(4), create_graph=True)
        product(function, x, torch.ones(4), strict=True)
        product(lambda x: x * x, x, torch.ones(4), create_graph=True, strict=True)
