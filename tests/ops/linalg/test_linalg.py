"""Linear algebra: errors for matrices that cannot be factorised, and windows and Fourier transforms with known values."""

import math

import pytest

import torchlike as torch

pytestmark = pytest.mark.single

SINGULAR = torch.tensor([[1.0, 2.0], [2.0, 4.0]])
UNKNOWN = torch.tensor([[math.nan, 1.0], [1.0, 2.0]])
FAILURES = [
    (
        lambda: torch.linalg.inv(SINGULAR),
        "linalg.inv: The diagonal element 2 is zero, the inversion could not be completed because the input matrix is singular.",
    ),
    (
        lambda: torch.linalg.inv(torch.stack([torch.eye(2), SINGULAR])),
        "linalg.inv: (Batch element 1): The diagonal element 2 is zero, the inversion could not be completed because the input matrix is "
        "singular.",
    ),
    (
        lambda: torch.linalg.solve(SINGULAR, torch.ones(2)),
        "torch.linalg.solve: The solver failed because the input matrix is singular.",
    ),
    (
        lambda: torch.linalg.cholesky(torch.tensor([[1.0, 0.0], [0.0, -1.0]])),
        "linalg.cholesky: The factorization could not be completed because the input is not positive-definite (the leading minor of order "
        "2 is not positive-definite).",
    ),
    *(
        (call, "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values.")
        for call in (
            lambda: torch.linalg.svd(UNKNOWN),
            lambda: torch.linalg.svdvals(UNKNOWN),
            lambda: torch.svd(UNKNOWN),
            lambda: torch.linalg.matrix_norm(UNKNOWN, 2),
            lambda: torch.linalg.cond(UNKNOWN),
            lambda: torch.linalg.pinv(UNKNOWN),
        )
    ),
    (
        lambda: torch.linalg.svdvals(torch.stack([SINGULAR, UNKNOWN, UNKNOWN])),
        "linalg.svd: (Batch element 1): The algorithm failed to converge because the input matrix contained non-finite values.",
    ),
]


@pytest.mark.parametrize(("call", "message"), FAILURES)
def test_a_matrix_that_fails_is_named(call, message):
    with pytest.raises(torch.linalg.LinAlgError) as caught:
        call()  # at its line, before a value is read
    assert str(caught.value) == message


def test_the_error_of_a_matrix_has_pytorchs_name():
    assert torch.linalg.LinAlgError.__name__ == torch.linalg.LinAlgError.__qualname__ == "_LinAlgError"
    assert repr(torch._C._LinAlgError("no")) == "_LinAlgError('no')"


def test_infinite_matrices_have_singular_values_without_a_value():
    assert torch.linalg.svdvals(torch.full((2, 2), math.inf)).isnan().all()


def test_a_program_may_catch_the_error_and_try_another_matrix():
    def factor(K):
        K = K * 1.0  # computed, and not yet known, when it is factored
        for jitter in (1e-3, 1e-1, 10.0):
            try:
                return torch.linalg.cholesky(K + jitter * torch.eye(3)), jitter
            except torch.linalg.LinAlgError:
                pass
        raise AssertionError("no factor")

    for round in range(8):  # the later rounds run what was compiled
        bad = round % 2 == 1
        L, jitter = factor(torch.ones(3, 3) - 5.0 * bad * torch.eye(3))
        assert jitter == (10.0 if bad else 1e-3)
        assert torch.allclose(L @ L.T, torch.ones(3, 3) + (jitter - 5.0 * bad) * torch.eye(3), atol=1e-5)


def test_a_factor_in_a_training_loop_compiles_nothing_after_its_first_steps():
    torch.manual_seed(0)
    root = torch.randn(4, 4, requires_grad=True)
    optimizer, losses = torch.optim.SGD([root], lr=0.01), []
    for step in range(8):
        loss = torch.linalg.cholesky(root @ root.T + torch.eye(4)).diagonal().log().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step == 4:
            compiled = torch.explain().compiles
    assert torch.explain().compiles == compiled
    assert losses == sorted(losses, reverse=True)


def test_the_ex_forms_tell_instead_of_raising():
    assert torch.linalg.inv_ex(SINGULAR).info.item() == 2
    assert torch.linalg.cholesky_ex(torch.tensor([[1.0, 0.0], [0.0, -1.0]])).info.item() == 2
    assert torch.linalg.lu_factor_ex(SINGULAR).info.item() == 2


@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (3, 4), (2, 4, 3)])
def test_factors_multiply_to_the_matrix(shape):
    torch.manual_seed(0)
    A = torch.randn(shape, dtype=torch.float64)
    P, L, U = torch.linalg.lu(A)
    Q, R = torch.linalg.qr(A)
    u, s, vh = torch.linalg.svd(A, full_matrices=False)
    for product in (P @ L @ U, Q @ R, (u * s.unsqueeze(-2)) @ vh):
        assert torch.allclose(product, A)


@pytest.mark.parametrize(
    ("mode", "shape", "message"),
    [
        (
            "r",
            (3, 3),
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, mode='reduced') if you "
            "are going to differentiate through linalg.qr.",
        ),
        ("complete", (4, 3), "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."),
    ],
)
def test_qr_without_a_derivative_says_so_in_the_backward_pass(mode, shape, message):
    R = torch.linalg.qr(torch.randn(shape, requires_grad=True), mode=mode).R
    assert R.requires_grad and type(R.grad_fn).__name__ == "LinalgQrBackward0"
    with pytest.raises(RuntimeError) as caught:
        R.sum().backward()
    assert str(caught.value) == message


def test_a_complete_qr_of_a_wide_matrix_has_the_derivative_of_the_reduced_one():
    torch.manual_seed(0)
    A = torch.randn(3, 4, dtype=torch.float64)

    def gradient(mode):
        leaf = A.clone().requires_grad_()
        torch.linalg.qr(leaf, mode).R.sum().backward()
        assert leaf.grad is not None
        return leaf.grad

    assert torch.allclose(gradient("complete"), gradient("reduced"))


def test_the_gradient_of_a_cholesky_factor_is_symmetric():
    A = torch.tensor([[4.0, 2.0], [2.0, 5.0]], requires_grad=True)
    torch.linalg.cholesky(A).sum().backward()
    assert A.grad is not None
    assert torch.allclose(A.grad, A.grad.T)


def test_a_signal_comes_back_from_its_transforms():
    x = torch.randn(2, 400, generator=torch.Generator().manual_seed(0))
    window = torch.hann_window(64)
    spectrum = torch.stft(x, 64, 16, window=window, return_complex=True)
    back = torch.istft(spectrum, 64, 16, window=window, length=400)
    assert torch.allclose(back, x, atol=1e-5)
    assert torch.allclose(torch.fft.irfft(torch.fft.rfft(x), 400), x, atol=1e-5)


def test_stft_of_a_real_signal_wants_to_know_what_to_return():
    with pytest.raises(RuntimeError, match="stft requires the return_complex parameter be given for real inputs"):
        torch.stft(torch.ones(100), 16)


def test_special_functions_at_known_places():
    one = torch.tensor([1.0])
    assert torch.special.bessel_j0(torch.zeros(1)).item() == pytest.approx(1.0)
    assert torch.special.ndtr(torch.zeros(1)).item() == pytest.approx(0.5)
    assert torch.polygamma(1, one).item() == pytest.approx(math.pi**2 / 6)
    assert torch.polygamma(4, torch.tensor([-8.5])).item() == pytest.approx(
        -9.0522546e-4
    )  # large terms that nearly cancel
    assert torch.special.erfcx(torch.tensor([100.0])).item() == pytest.approx(0.00564161, rel=1e-5)
    assert torch.special.hermite_polynomial_h(one, 3).item() == pytest.approx(-4.0)


def test_quantiles_know_nan():
    x = torch.tensor([1.0, math.nan, 3.0])
    assert math.isnan(torch.quantile(x, 0.5).item())
    assert torch.nanquantile(x, 0.5).item() == 2.0
    with pytest.raises(RuntimeError, match="quantile\\(\\) q must be in the range \\[0, 1\\] but got 2"):
        torch.quantile(x, 2)


@pytest.mark.parametrize("shape", [(0, 0), (5, 0), (0, 5)])
def test_norms_of_matrices_without_elements(shape):
    empty = torch.zeros(shape)
    for order in (1, 2, math.inf, "nuc", "fro"):
        assert torch.linalg.matrix_norm(empty, order).item() == 0
        assert torch.linalg.matrix_norm(empty, order, keepdim=True).shape == (1, 1)
    with pytest.raises(IndexError, match=r"amin\(\): Expected reduction dim -1 to have non-zero size."):
        torch.linalg.matrix_norm(empty, -2)
    if not shape[1]:
        with pytest.raises(IndexError, match=r"amin\(\): Expected reduction dim 0 to have non-zero size."):
            torch.linalg.matrix_norm(empty, -1)


@pytest.mark.parametrize("solve", [torch.lu_solve, lambda b, LU, pivots: torch.linalg.lu_solve(LU, pivots, b)])
def test_lu_solve_wants_one_dtype(solve):
    LU, pivots = torch.linalg.lu_factor(torch.eye(2) + 1)
    message = "linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type Float and B of type Double instead"
    with pytest.raises(RuntimeError, match=message):
        solve(torch.ones(2, 1, dtype=torch.float64), LU, pivots)


def test_a_permutation_requires_no_gradient():
    a = torch.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
    for P, L, U in (torch.linalg.lu(a), torch.lu_unpack(*torch.linalg.lu_factor(a))):
        assert not P.requires_grad and P.grad_fn is None
        assert L.requires_grad and U.requires_grad
        (gradient,) = torch.autograd.grad((P @ L @ U).sum(), a)
        torch.testing.assert_close(gradient, torch.ones(2, 2))
        with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
            P.sum().backward()


@pytest.mark.parametrize(("ord", "name"), [(2, "AmaxBackward0"), (-2, "AminBackward0"), ("nuc", "SumBackward1")])
def test_norms_of_singular_values_have_pytorchs_graph(ord, name):
    x = torch.tensor([[3.0, 0.0], [0.0, 4.0]], requires_grad=True)
    norm = torch.linalg.matrix_norm(x, ord)
    assert norm.grad_fn.name() == name and norm.grad_fn.next_functions[0][0].name() == "LinalgSvdBackward0"
    assert torch.linalg.matrix_norm(x[:, :0], 2).item() == 0


def test_transforms_of_few_elements_cancel_exactly():
    expected = [[3, 0, 0], [0, 0, 3], [0, 3, 0]]
    assert torch.fft.fft2(torch.eye(3)).tolist() == expected
    assert torch.fft.rfft2(torch.eye(3)).tolist() == [row[:2] for row in expected]


def test_a_result_without_a_gradient_adds_nothing():
    """The eigenvectors of equal eigenvalues have infinite derivatives. Zero times these would be NaN."""
    x = torch.zeros(2, 2, requires_grad=True)
    torch.linalg.eigh(x)[0].sum().backward()
    assert x.grad.tolist() == [[1.0, 0.0], [0.0, 1.0]]
