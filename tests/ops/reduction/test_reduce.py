"""Reductions: dimensions, dtypes, ties and NaN in extrema and their gradients, and PyTorch's messages for refused arguments."""

import math
from typing import Any

import pytest

import torchlike as torch

pytestmark = pytest.mark.single

NAN = float("nan")


def grad(function, values):
    x: Any = torch.tensor(values, requires_grad=True)
    function(x).sum().backward()
    return x.grad.tolist()


WRONG = [
    (lambda x: x.sum(2), IndexError, "Dimension out of range (expected to be in range of [-2, 1], but got 2)"),
    (lambda x: x.sum((0, 0)), RuntimeError, "dim 0 appears multiple times in the list of dims"),
    (lambda x: x.int().mean(), RuntimeError, "mean(): could not infer output dtype. Input dtype must be either a floating point or "
     "complex dtype. Got: Int"),
    (lambda x: x[:0].max(), RuntimeError, "max(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
     "reduction dim with the 'dim' argument."),
    (lambda x: x[:0].max(0), IndexError, "max(): Expected reduction dim 0 to have non-zero size."),
    (lambda x: x[:0].argmax(), IndexError, "argmax(): Expected reduction dim to be specified for input.numel() == 0."),
    (lambda x: x.bool().argmax(), RuntimeError, "argmax(): does not support bool input"),
    (lambda x: x[:0].aminmax(), RuntimeError, "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
     "identity."),
    (lambda x: x.int().std(), RuntimeError, "std and var only support floating point and complex dtypes"),
    (lambda x: x.int().norm(), RuntimeError, "linalg.vector_norm: Expected a floating point or complex tensor as input. Got Int"),
    (lambda x: torch.max(x, 0, out=x), TypeError, "max(): argument 'out' must be tuple of Tensors, not Tensor"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), WRONG)
def test_refuses(call, error, message):
    with pytest.raises(error) as caught:
        call(torch.ones(2, 3))
    assert str(caught.value) == message


def test_no_dimensions_mean_all_except_for_truth():
    x = torch.ones(2, 3)
    assert x.sum([]).item() == x.sum(()).item() == x.sum(None).item() == 6
    assert x.any(()).shape == (2, 3)


def test_integers_are_summed_as_int64():
    assert torch.ones(3, dtype=torch.uint8).sum().dtype is torch.int64
    assert torch.ones(3, dtype=torch.bool).prod().dtype is torch.int64
    assert torch.ones(3).sum(dtype=torch.int32).dtype is torch.int32


def test_half_types_are_summed_in_float32():
    assert torch.ones(4096, dtype=torch.float16).sum().item() == 4096
    assert torch.full((4096,), 2.0, dtype=torch.bfloat16).mean().item() == 2


def test_truth_of_uint8_is_uint8():
    assert torch.ones(2, dtype=torch.uint8).all().dtype is torch.uint8
    assert torch.ones(2).all().dtype is torch.bool


def test_three_forms_of_max():
    x = torch.tensor([[1.0, 5.0], [4.0, 2.0]])
    assert x.max().item() == 5
    assert x.max(torch.tensor(3.0)).tolist() == [[3, 5], [4, 3]]
    values, indices = x.max(dim=1, keepdim=True)
    assert values.tolist() == [[5], [4]]
    assert indices.tolist() == [[1], [0]]
    assert repr(x.min(0)) == "torch.return_types.min(\nvalues=tensor([1., 2.]),\nindices=tensor([0, 1]))"


def test_nan_is_the_extremum_and_found_first():
    x = torch.tensor([1.0, NAN, 3.0, NAN])
    assert math.isnan(x.max().item())
    assert math.isnan(x.min().item())
    assert x.argmax().item() == x.argmin().item() == x.max(0).indices.item() == 1


TIES = [
    (lambda x: x.max(), [0.0, 0.5, 0.5]),
    (lambda x: x.amax(0), [0.0, 0.5, 0.5]),
    (lambda x: x.max(0).values, [0.0, 1.0, 0.0]),
    (lambda x: x.norm(math.inf), [0.0, 0.5, 0.5]),
]


@pytest.mark.parametrize(("function", "expected"), TIES)
def test_gradient_of_ties(function, expected):
    assert grad(function, [1.0, 2.0, 2.0]) == expected


def test_gradients_where_the_formula_has_none():
    assert grad(torch.std, [2.0, 2.0]) == [0, 0]
    assert grad(torch.norm, [0.0, 0.0]) == [0, 0]
    assert grad(torch.prod, [0.0, 2.0, 3.0]) == [6, 0, 0]
    assert grad(torch.prod, [0.0, 0.0, 3.0]) == [0, 0, 0]
    assert grad(torch.nansum, [NAN, 2.0]) == [0, 1]


NAMES = [
    (lambda x: x.sum(), "SumBackward0"),
    (lambda x: x.sum(0), "SumBackward1"),
    (lambda x: x.mean(), "MeanBackward0"),
    (lambda x: x.mean(0), "MeanBackward1"),
    (lambda x: x.max(), "MaxBackward1"),
    (lambda x: x.max(0).values, "MaxBackward0"),
    (lambda x: x.amin(0), "AminBackward0"),
    (lambda x: x.std(), "StdBackward0"),
    (lambda x: x.norm(), "LinalgVectorNormBackward0"),
    (lambda x: x.nanmean(), "DivBackward0"),
]


@pytest.mark.parametrize(("function", "name"), NAMES)
def test_graph_names(function, name):
    assert function(torch.ones(2, 3, requires_grad=True)).grad_fn.name() == name


def test_variance_forms():
    x = torch.tensor([[1.0, 3.0], [2.0, 2.0]])
    assert x.var(1).tolist() == [2, 0]
    assert x.var(1, False).tolist() == x.var(1, unbiased=False).tolist() == x.var(1, correction=0).tolist() == [1, 0]
    assert x.std(False).item() == pytest.approx(x.var(unbiased=False).item() ** 0.5)
    deviation, mean = torch.std_mean(x, 1, keepdim=True)
    assert deviation.shape == mean.shape == (2, 1)


def test_too_few_degrees_of_freedom_warn():
    with pytest.warns(UserWarning, match=r"std\(\): degrees of freedom is <= 0."):
        assert math.isnan(torch.ones(1).std().item())


def test_mean_of_nothing_is_nan():
    assert math.isnan(torch.ones(0).mean().item())


def test_indices_have_no_gradient():
    x = torch.ones(2, 3, requires_grad=True)
    assert not x.argmax().requires_grad
    assert not x.max(0).indices.requires_grad


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("cumsum", [256.0, 1.0, 1.0, 1.0], [256.0, 256.0, 258.0, 260.0]),
        ("cumprod", [1.1015625] * 5, [1.1015625, 1.2109375, 1.3359375, 1.46875, 1.625]),
    ],
)
def test_running_results_of_half_precision_are_rounded_once(name, values, expected):
    found = getattr(torch.tensor(values, dtype=torch.bfloat16), name)(0)
    assert found.dtype is torch.bfloat16
    assert found.tolist() == expected


@pytest.mark.parametrize(
    ("function", "values", "expected"),
    [  # as PyTorch gives them
        (lambda x: x.norm(), [3e-25, 4e-25], [0.0, 0.0]),
        (lambda x: x.norm(), [3e19, 4e19], [0.0, 0.0]),
        (lambda x: torch.linalg.matrix_norm(x[None]), [3e-25, 4e-25], [0.0, 0.0]),
        (lambda x: x.norm(2.5), [3e-25, 4e-25], [0.0, 0.0]),
        (lambda x: x.norm(2.5), [3e19, 4e19], [0.0, 0.0]),
        (lambda x: torch.dist(x, torch.zeros(2)), [3e-25, 4e-25], [0.0, 0.0]),
    ],
)
def test_gradients_of_norms_whose_powers_are_too_small_or_too_large(function, values, expected):
    assert grad(function, values) == expected
