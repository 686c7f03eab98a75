"""gradcheck and gradgradcheck find wrong derivatives, and anomaly detection finds the operation that computed NaN."""

from typing import Any

import pytest

import torchlike as torch
from torchlike.autograd import Function, detect_anomaly, gradcheck, gradgradcheck, set_detect_anomaly
from torchlike.autograd.gradcheck import GradcheckError, get_analytical_jacobian, get_numerical_jacobian
from torchlike.engine.recorder import recorder
from torchlike.utils._pytree import tree_map_only


def leaf(*values, dtype=torch.float64):
    return torch.tensor(values, dtype=dtype, requires_grad=True)


class Wrong(Function):
    """A square whose backward has a wrong factor."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad * ctx.factor, None


class WrongSecond(Function):
    """A cube whose backward is right, but does not depend on x for a second derivative."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x.detach() ** 2 * grad


# ---- correct derivatives


@pytest.mark.parametrize(
    "function",
    [
        torch.sin,
        torch.sigmoid,
        lambda x: (x * x).sum(),
        lambda x: x.reshape(2, 1) @ x.reshape(1, 2),
        lambda x: (x.exp(), x + 1),
    ],
)
def test_right_derivatives_pass(function):
    assert gradcheck(function, (leaf(0.3, -1.2),)) is True
    assert gradgradcheck(function, (leaf(0.3, -1.2),)) is True
    assert gradcheck(function, (leaf(0.3, -1.2),), fast_mode=True) is True


def test_several_inputs_some_without_gradient():
    x, y = leaf(0.5, 2.0), leaf(1.5, -1.0)
    assert gradcheck(lambda a, b, c, n: a * b + c * n, (x, y, torch.ones(2, dtype=torch.float64), 3))
    assert gradgradcheck(torch.mul, (x, y))


def test_complex_inputs():
    z = torch.tensor([0.5 + 1j, -2 + 0.3j], dtype=torch.complex128, requires_grad=True)
    assert gradcheck(lambda z: z * z, (z,))
    assert gradcheck(torch.abs, (z,))
    assert gradcheck(lambda z: (z * z.conj()).real, (z,))
    assert gradcheck(lambda z: z.conj() * 3j, (z,), fast_mode=True)
    assert gradgradcheck(lambda z: z**3, (z,))
    x = leaf(0.5)
    assert gradcheck(lambda x: x * (2 + 1j), (x,))
    with pytest.raises(
        RuntimeError, match="^While considering the imaginary part of complex outputs only, Jacobian mismatch"
    ):
        gradcheck(lambda x: torch.complex(x * 2, x.detach() * 3), (x,))


def test_inputs_without_dimensions():
    x = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    for fast in (False, True):
        assert gradcheck(torch.exp, (x,), fast_mode=fast)
        assert gradgradcheck(torch.exp, (x,), fast_mode=fast)


# ---- wrong derivatives


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("factor", [1.01, -1.0, 0.0])
def test_wrong_derivatives_are_found(factor, fast):
    x = leaf(0.5, 2.0)
    assert gradcheck(Wrong.apply, (x, 1.0), fast_mode=fast)
    with pytest.raises(RuntimeError, match="^Jacobian mismatch for output 0 with respect to input 0,"):
        gradcheck(Wrong.apply, (x, factor), fast_mode=fast)
    assert gradcheck(Wrong.apply, (x, factor), raise_exception=False, fast_mode=fast) is False


def test_the_report_shows_both():
    with pytest.raises(RuntimeError) as caught:
        gradcheck(Wrong.apply, (leaf(2.0), 0.5))
    text = str(caught.value)
    assert "numerical:tensor([[4.0000]], dtype=torch.float64)" in text
    assert "analytical:tensor([[2.]], dtype=torch.float64" in text


def test_a_missing_gradient_is_found():
    with pytest.raises(RuntimeError, match="^Jacobian mismatch for output 0 with respect to input 1,"):
        gradcheck(lambda a, b: a * b.detach(), (leaf(1.0), leaf(2.0)))


def test_wrong_second_derivatives_are_found():
    x = leaf(0.5, 2.0)
    assert gradcheck(WrongSecond.apply, (x,))
    with pytest.raises(RuntimeError, match="^Jacobian mismatch for output 0 with respect to input 0,"):
        gradgradcheck(WrongSecond.apply, (x,))
    assert gradgradcheck(WrongSecond.apply, (x,), raise_exception=False) is False


def test_a_backward_that_varies_is_found():
    class Varies(Function):
        count = 0

        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            Varies.count += 1
            return grad * (2 + 1e-7 * Varies.count)

    with pytest.raises(RuntimeError, match="^Backward is not reentrant"):
        gradcheck(Varies.apply, (leaf(1.0),))
    assert gradcheck(Varies.apply, (leaf(1.0),), nondet_tol=1e-3)


def test_nothing_to_check():
    with pytest.raises(
        ValueError,
        match="^gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True.$",
    ):
        gradcheck(torch.sin, (torch.ones(1, dtype=torch.float64),))


def test_inputs_are_left_alone():
    x = leaf(0.5, 2.0)
    gradcheck(torch.exp, (x,))
    assert (x.tolist(), x.grad, x._version) == ([0.5, 2.0], None, 0)


# ---- anomalies


def root(x):
    return torch.sqrt(x)  # the error must name this line


def test_nan_in_backward_is_found_and_the_forward_line_named():
    x = leaf(1.0, -1.0, dtype=torch.float32)
    with set_detect_anomaly(True):
        y = root(x * 1).sum()
        with (
            pytest.warns(
                UserWarning,
                match=r"(?s)^Error detected in SqrtBackward0\. Traceback of forward call.*the error must name this line",
            ),
            pytest.raises(RuntimeError, match=r"^Function 'SqrtBackward0' returned nan values in its 0th output\.$"),
        ):
            y.backward()
    root(x).sum().backward()
    assert x.grad[1].isnan().item()


def test_a_forward_that_was_not_watched():
    y = root(leaf(-1.0)).sum()
    with (
        set_detect_anomaly(True),
        pytest.warns(UserWarning, match=r"^Error detected in SqrtBackward0\. No forward pass information available\."),
        pytest.raises(RuntimeError, match="nan values"),
    ):
        y.backward()


def test_nan_may_be_let_through():
    x = leaf(-1.0)
    with set_detect_anomaly(True, check_nan=False):
        root(x).sum().backward()
    assert x.grad.isnan().item()


def test_other_errors_are_placed_too():
    x = leaf(1.0)
    with set_detect_anomaly(True):
        y = x.exp()
        y.add_(1)
        with (
            pytest.warns(
                UserWarning, match=r"(?s)^Error detected in ExpBackward0\. Traceback of forward call.*x\.exp\(\)"
            ),
            pytest.raises(RuntimeError, match=r"was changed in there or anywhere later\. Good luck!$"),
        ):
            y.backward()


def test_errors_in_a_function_of_ones_own():
    class Broken(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * float("nan")

    x = leaf(1.0)
    with (
        set_detect_anomaly(True),
        pytest.warns(UserWarning, match=r"(?s)^Error detected in BrokenBackward\..*Broken\.apply\(x\)"),
        pytest.raises(RuntimeError, match=r"^Function 'BrokenBackward' returned nan values in its 0th output\.$"),
    ):
        Broken.apply(x).backward()


def test_detect_anomaly_says_that_it_is_slow_and_ends():
    with pytest.warns(UserWarning, match="^Anomaly Detection has been enabled. This mode will increase the runtime"):
        block = detect_anomaly()
    with block, pytest.warns(UserWarning, match="^Error detected"), pytest.raises(RuntimeError, match="nan values"):
        root(leaf(-1.0)).backward()
    root(leaf(-1.0)).backward()
    set_detect_anomaly(True)
    set_detect_anomaly(False)
    root(leaf(-1.0)).backward()


# ---- eager mode


def normalised(x, w):
    """Runs many ops which, compiled as one program, round differently than one by one."""
    return torch.nn.functional.layer_norm(torch.tanh(x @ w).softmax(-1) * x.sum(), (5,)).logsumexp(-1).exp()


@pytest.mark.recorded
def test_the_first_check_of_a_function_agrees_with_later_ones():
    torch.manual_seed(0)
    x = torch.randn(4, 6, dtype=torch.float64, requires_grad=True)
    w = torch.randn(6, 5, dtype=torch.float64, requires_grad=True)
    assert [gradcheck(normalised, (x, w)) for _ in range(3)] == [True] * 3


@pytest.mark.recorded
@pytest.mark.parametrize("check", [gradcheck, gradgradcheck])
def test_checks_run_in_eager_mode_and_leave_the_mode_as_it_was(check):
    seen = []

    def function(x):
        seen.append(torchlike_runs_in_eager_mode())
        return x * x

    assert not torchlike_runs_in_eager_mode()
    check(function, (leaf(1.0),))
    assert seen and all(seen)
    assert not torchlike_runs_in_eager_mode()


def torchlike_runs_in_eager_mode():
    return recorder().op_by_op


@pytest.mark.parametrize("function", [torch.conj, lambda z: z.conj().imag], ids=["conjugate", "its imaginary part"])
def test_views_that_show_other_numbers_than_their_memory_are_checked(function):
    assert torch.autograd.gradcheck(
        function, torch.tensor([1 + 2j, 3 - 1j], dtype=torch.complex128, requires_grad=True)
    )


@pytest.mark.parametrize(
    ("function", "size", "dtype", "following"),
    [(torch.sin, 3, torch.float64, [0.2939, 0.5185]), (torch.square, 2, torch.complex128, [0.6977, 0.8000])],
)
def test_the_second_check_draws_as_many_random_numbers_as_in_pytorch(function, size, dtype, following):
    torch.manual_seed(0)
    gradgradcheck(function, (torch.randn(size, dtype=dtype, requires_grad=True),))
    assert torch.rand(2).tolist() == pytest.approx(following, abs=1e-4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"check_backward_ad": False}, "Expected at least one of check_forward_ad or check_backward_ad to be True"),
        ({"check_batched_forward_grad": True}, "Setting check_batched_forward_grad=True requires check_forward_ad to be True"),
        (
            {"check_backward_ad": False, "check_forward_ad": True, "check_batched_grad": True},
            "Setting check_batched_grad=True requires check_backward_ad to be True",
        ),
    ],
)  # fmt: skip
def test_a_check_of_nothing_is_refused_as_in_pytorch(options, message):
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    with pytest.raises(AssertionError, match=message):
        torch.autograd.gradcheck(torch.sin, x, **options)


class TwiceForwards(torch.autograd.Function):
    """Its derivative forwards is twice the right one."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        return 2 * ctx.saved_tensors[0] * gradient

    @staticmethod
    def jvp(ctx, tangent):
        return 4 * ctx.saved_tensors[0] * tangent


@pytest.mark.parametrize("fast_mode", [False, True])
def test_gradcheck_compares_derivatives_forwards(fast_mode):
    x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    z = torch.tensor([0.5 + 1j, 2.0], dtype=torch.complex128, requires_grad=True)
    options = {"check_forward_ad": True, "fast_mode": fast_mode}
    for func, tensor in ((lambda x: x.sin() * x, x), (lambda x: x * 1j, x), (lambda z: z * z.exp(), z), (torch.abs, z)):
        assert gradcheck(func, (tensor,), **options)
        assert gradcheck(func, (tensor,), **options, check_backward_ad=False)
    assert gradcheck(TwiceForwards.apply, (x,), fast_mode=fast_mode)
    with pytest.raises(
        GradcheckError, match="^Jacobian computed with forward mode mismatch for output 0 with respect to input 0,"
    ):
        gradcheck(TwiceForwards.apply, (x,), **options)
    assert not gradcheck(TwiceForwards.apply, (x,), **options, raise_exception=False)


def test_gradcheck_compares_many_rows_with_one_by_one():
    x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)

    def func(x):
        return x.sin() * x, x.sum()

    assert gradcheck(func, (x,), check_batched_grad=True)
    assert gradcheck(func, (x,), check_forward_ad=True, check_batched_forward_grad=True)


def test_gradgradcheck_goes_forwards_over_the_backward_pass():
    x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    assert gradgradcheck(lambda x: x.sin() * x, (x,), check_fwd_over_rev=True)
    options = {"check_fwd_over_rev": True, "check_rev_over_rev": False}
    assert gradgradcheck(lambda x: x.sin() * x, (x,), **options, check_undefined_grad=False)
    with pytest.raises(
        AssertionError, match="Setting check_undefined_grad=True requires check_rev_over_rev to be True"
    ):
        gradgradcheck(torch.sin, (x,), **options)


# ---- whatever the function reaches its inputs by


def test_inputs_are_changed_where_the_function_reads_them():
    layer = torch.nn.Linear(2, 2).double()
    x = torch.rand(1, 2, dtype=torch.float64, requires_grad=True)
    for fast in (False, True):
        assert gradcheck(lambda x, *_: layer(x), (x, *layer.parameters()), fast_mode=fast)
        assert gradcheck(lambda given, _: given["x"] ** 2, ({"x": x}, x), fast_mode=fast)
        assert gradgradcheck(lambda a, *_: (a * x) ** 2, (x.detach().clone().requires_grad_(), x), fast_mode=fast)
    before = x.detach().clone()
    y = x * 2
    assert gradcheck(lambda v: v**2, (y,))
    assert torch.equal(x, before) and torch.equal(y, before * 2) and x._version == y._version == 0


SPARSE = {
    "coo": lambda x: x.to_sparse(),
    "hybrid": lambda x: x.to_sparse(1),
    "csr": lambda x: x.to_sparse_csr(),
    "csc": lambda x: x.to_sparse_csc(),
    "bsr": lambda x: x.to_sparse_bsr((1, 2)),
}


@pytest.mark.parametrize("layout", SPARSE)
def test_sparse_inputs(layout):
    dense = torch.tensor([[1.0, 0.0], [0.0, 3.0]], dtype=torch.float64)
    for masked in (False, True):
        x = SPARSE[layout](dense).requires_grad_()
        assert gradcheck(lambda x: x.to_dense(masked_grad=masked), (x,), masked=masked)  # noqa: B023
        assert torch.equal(x.to_dense(), dense)
    x = SPARSE[layout](dense).requires_grad_()
    with pytest.raises(ValueError, match="^Sparse output is not supported at gradcheck yet. Please call to_dense"):
        gradcheck(lambda x: x * 2, (x,))


def test_inputs_that_cannot_be_checked():
    with pytest.raises(RuntimeError, match="^The 0th input has a dimension with stride 0. gradcheck only supports"):
        gradcheck(torch.sin, (torch.ones(1, dtype=torch.float64).expand(3).requires_grad_(),))
    with pytest.warns(UserWarning, match="^Input #0 requires gradient and is not a double precision"):
        gradcheck(lambda x: x * 2, (torch.ones(1, requires_grad=True),), eps=1e-2)


# ---- outputs without a gradient


class Undefined(Function):
    """Two outputs, whose backward takes for granted that one of them has a gradient."""

    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x.clone(), x * 2

    @staticmethod
    def backward(ctx, first, second):
        if first is None and second is None:
            raise RuntimeError("no gradient")
        return sum(gradient * factor for gradient, factor in ((first, 1), (second, 2)) if gradient is not None)


def test_a_backward_that_needs_a_gradient_is_found():
    x = leaf(1.0, 2.0)
    with pytest.raises(GradcheckError, match="^Expected backward function to handle undefined output grads. Please"):
        gradcheck(Undefined.apply, (x,))
    assert gradcheck(Undefined.apply, (x,), check_undefined_grad=False)


def test_a_backward_that_is_no_product_is_found():
    class Adds(Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            return gradient + 1e-7

    with pytest.raises(GradcheckError, match="^backward not multiplied by grad_output$"):
        gradcheck(Adds.apply, (leaf(1.0),))


# ---- outputs that depend on values, without gradients, of subclasses without memory; and the functions inside


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize(
    ("what", "larger", "told"),
    [
        ("shape", lambda x: torch.cat([x, x]), r"shapes torch.Size\(\[1\]\) and torch.Size\(\[2\]\)"),
        ("dtype", lambda x: x.float(), "dtypes torch.float64 and torch.float32"),
    ],
)
def test_outputs_whose_kind_depends_on_values_are_found(what, larger, told, fast_mode):
    on = "" if fast_mode else r" on index \(0,\)"
    words = f"same {what} when inputs are perturbed{on} by 1e-06, but got: {told}.$"
    with pytest.raises(AssertionError, match=words):
        gradcheck(lambda x: larger(x) if x >= 1 else x * 1, (leaf(1.0),), fast_mode=fast_mode)


def test_outputs_without_a_gradient_must_not_change():
    x = leaf(1.0, 2.0)
    with pytest.raises(GradcheckError, match="^Numerical gradient for function expected to be zero$"):
        gradcheck(lambda x: x.detach() * 2, (x,))
    assert not gradcheck(lambda x: x.detach() * torch.tensor(2j), (x,), raise_exception=False)
    assert gradcheck(lambda x: x.detach().sign(), (x,)) and gradcheck(lambda x: (), (x,))


def test_a_batched_pass_that_fails_is_told():
    x = torch.tensor([1.0, 0.0], dtype=torch.float64, requires_grad=True).to_sparse()
    with pytest.raises(RuntimeError, match="gradcheck or gradgradcheck failed while testing batched gradient"):
        gradcheck(lambda x: x.to_dense(), (x,), masked=True, check_batched_grad=True)


def test_jacobians_of_old():
    a, b = leaf(1.0, 2.0), leaf(3.0, 5.0)
    with pytest.warns(FutureWarning, match="^`get_numerical_jacobian` was part of PyTorch's private API"):
        (of_b,) = get_numerical_jacobian(lambda inputs: inputs[0] * inputs[1], (a, b), target=b, eps=1e-6)
    assert torch.allclose(of_b, torch.diag(a.detach()))
    with pytest.warns(FutureWarning, match="^`get_analytical_jacobian` was part of PyTorch's private API"):
        found, reentrant, sizes, dtypes = get_analytical_jacobian((a, b), a * b)
    assert [matrix.tolist() for matrix in found] == [[[3.0, 0.0], [0.0, 5.0]], [[1.0, 0.0], [0.0, 2.0]]]
    assert (reentrant, sizes, dtypes) == (True, True, True)
    for call in (
        lambda: get_numerical_jacobian(torch.sin, a, grad_out=2.0),
        lambda: get_analytical_jacobian(a, a * 1, 0.0, 2.0),
    ):
        with pytest.warns(FutureWarning), pytest.raises(ValueError, match="^Expected grad_out to be 1.0. get_"):
            call()


class Wrapped(torch.Tensor):
    """Holds a tensor, and has no memory itself."""

    @staticmethod
    def __new__(cls, inner, requires_grad=False):
        make: Any = torch.Tensor._make_wrapper_subclass  # pyright: ignore[reportAttributeAccessIssue]
        self = make(cls, inner.size(), dtype=inner.dtype, requires_grad=requires_grad)
        self.inner = inner
        return self

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        args, kwargs = tree_map_only(cls, lambda x: x.inner, (args, kwargs or {}))
        return tree_map_only(torch.Tensor, cls, func(*args, **kwargs))


def test_subclasses_without_memory():
    x = Wrapped(torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64), requires_grad=True)
    assert gradcheck(lambda x: (x * x).sum(1), (x,)) and gradgradcheck(lambda x: (x * x).sum(1), (x,))
    assert (x * 2).sum().item() == 20, "a number has no history"
    x: Any = Wrapped(torch.zeros(3))
    x[Wrapped(torch.tensor([True, False, True]))] = 7
    x[1] = 5
    assert x.inner.tolist() == [7.0, 5.0, 7.0]
