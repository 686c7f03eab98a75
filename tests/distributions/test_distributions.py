"""Distributions, transforms and divergences give PyTorch's recorded answers."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import torchlike as torch
from tests.distributions.lines import LINES, said
from tests.distributions.rows import COMPOSED, ROWS, TRANSFORMS, asked, divergences, transformed

D = torch.distributions

pytestmark = [
    pytest.mark.composed,
    pytest.mark.uncompiled,
    pytest.mark.filterwarnings("ignore:Singular sample detected"),
]


def check(golden: Callable[[str], dict[str, Any]], name: str, found: dict[str, Any]) -> None:
    """Compares every answer with the recorded one; PyTorch computes the gradient of Dirichlet draws from a short series."""
    every = golden("distributions") | golden("distribution_words")["words"]
    recorded = {k.partition("/")[2]: v for k, v in every.items() if k.startswith(f"{name}/")}
    assert found.keys() == recorded.keys()
    for question, answer in found.items():
        expected = recorded[question]
        if isinstance(answer, str):
            assert answer == expected, question
            continue
        loose = "slope" in question and "rsample" in question
        assert answer.dtype == expected.dtype, question
        np.testing.assert_allclose(answer, expected, 3e-3 if loose else 2e-5, 3e-3 if loose else 2e-5, err_msg=question)


@pytest.mark.costly
@pytest.mark.parametrize("name", [*ROWS, *COMPOSED])
def test_a_distribution_answers_as_pytorchs(golden, name):
    check(golden, name, asked(torch, name))


@pytest.mark.costly
@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_transform_does_as_pytorchs(golden, name):
    check(golden, f"transform {name}", transformed(torch, name))


def test_divergences_are_pytorchs(golden):
    check(golden, "divergences", divergences(torch))


@pytest.mark.parametrize("line", LINES)
def test_errors_and_text_equal_pytorchs(golden, line):
    assert said(torch, line) == golden("distribution_words")["said"][line]


def test_a_subclass_with_a_constructor_says_how_it_expands():
    class Shifted(D.Normal):
        def __init__(self, loc):
            super().__init__(loc, 1.0)

    with pytest.raises(NotImplementedError, match=r"Subclass Shifted of Normal that defines a custom __init__"):
        Shifted(torch.zeros(2)).expand((3, 2))


def test_a_registered_divergence_is_found_for_subclasses():
    class Own(D.Normal):
        pass

    @D.register_kl(Own, Own)
    def _(p, q):
        return torch.tensor(7.0)

    assert D.kl_divergence(Own(0.0, 1.0), Own(0.0, 1.0)).item() == 7
    assert D.kl_divergence(Own(0.0, 1.0), D.Normal(0.0, 1.0)).item() == 0


def test_a_transform_with_a_cache_gives_back_what_it_was_given():
    x = torch.tensor([20.0])
    plain, cached = D.TanhTransform(), D.TanhTransform(cache_size=1)
    assert plain.inv(plain(x)).item() == float("inf")
    assert cached.inv(cached(x)) is x


def test_validation_can_be_switched_off():
    assert D.Normal(0.0, -1.0, validate_args=False).scale.item() == -1
    assert D.Uniform(0.0, 1.0, validate_args=False).log_prob(torch.tensor(3.0)).item() == -float("inf")


def test_distributions_can_be_pickled():
    back = pickle.loads(pickle.dumps(D.LogNormal(torch.tensor([1.0]), 2.0)))
    assert back.loc.tolist() == [1.0]


@pytest.mark.parametrize("alpha", [0.05, 0.7, 3.0, 200.0])
def test_the_slope_of_a_gamma_number_keeps_its_place_in_the_distribution(alpha):
    parameter = torch.tensor(alpha, dtype=torch.float64, requires_grad=True)
    drawn = D.Gamma(parameter, 1.0).rsample((5,))
    grads: list[Any] = [torch.autograd.grad(x, parameter, retain_graph=True)[0] for x in drawn]
    slopes = torch.stack(grads).numpy()
    step, x = 1e-4 * alpha, drawn.detach()
    order = torch.tensor([alpha - step, alpha + step], dtype=torch.float64)[:, None]
    below, above = torch.igamma(order, x)
    density = D.Gamma(parameter.detach(), 1.0).log_prob(x).exp()
    np.testing.assert_allclose(slopes, (-(above - below) / (2 * step) / density).numpy(), 1e-4)


def test_the_slope_of_a_beta_number_is_that_of_two_gamma_numbers_in_the_mean():
    a = torch.tensor([0.4, 2.0, 50.0], dtype=torch.float64, requires_grad=True)
    b = torch.tensor([1.5, 3.0, 20.0], dtype=torch.float64)
    drawn = D.Beta(a, b).rsample((20_000,))
    (slope,) = torch.autograd.grad(drawn.mean(0).sum(), a)
    exact = (b / (a + b) ** 2).detach()  # of the mean a / (a + b)
    np.testing.assert_allclose(slope.numpy(), exact.numpy(), 0.05)


def test_wishart_matrices_have_their_mean_and_a_gradient():
    df = torch.tensor(6.0, requires_grad=True)
    wishart = D.Wishart(df, torch.tensor([[2.0, 0.5], [0.5, 1.0]]))
    with pytest.warns(UserWarning, match="Singular sample detected"):
        drawn = wishart.rsample((3000,))
    np.testing.assert_allclose(drawn.mean(0).detach().numpy(), wishart.mean.detach().numpy(), atol=0.3)
    (slope,) = torch.autograd.grad(drawn.mean(0).sum(), df)
    assert abs(slope.item() - 4) < 0.3  # the mean is df times the covariance, whose elements add up to 4


def test_a_policy_gradient_step():
    logits = torch.zeros(3, requires_grad=True)
    policy = D.Categorical(logits=logits)
    action = policy.sample()
    (-policy.log_prob(action) * 2.0).backward()
    expected = torch.full((3,), 2 / 3)
    expected[action] -= 2
    np.testing.assert_allclose(logits.grad.numpy(), expected.numpy(), 1e-6)
