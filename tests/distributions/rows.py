"""The distributions, transforms and pairs that the tests use, and the methods that are called on each."""

from collections.abc import Callable
from typing import Any

import numpy as np

# name -> constructor's arguments by name; lists become float32 tensors that require a gradient
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "Bernoulli": ("Bernoulli", {"probs": [0.1, 0.5, 0.9]}),
    "Bernoulli logits": ("Bernoulli", {"logits": [-1.0, 0.0, 2.0]}),
    "Beta": ("Beta", {"concentration1": [0.5, 2.0, 5.0], "concentration0": [1.5, 3.0, 0.7]}),
    "Binomial": ("Binomial", {"total_count": 9, "probs": [0.1, 0.5, 0.8]}),
    "Binomial logits": ("Binomial", {"total_count": 40, "logits": [-1.0, 0.0, 2.0]}),
    "Categorical": ("Categorical", {"probs": [[1.0, 2.0, 3.0], [0.2, 0.2, 0.6]]}),
    "Categorical logits": ("Categorical", {"logits": [[1.0, 2.0, 3.0], [0.2, 0.2, 0.6]]}),
    "Cauchy": ("Cauchy", {"loc": [0.0, 1.0], "scale": [1.0, 0.5]}),
    "Chi2": ("Chi2", {"df": [1.0, 4.5]}),
    "ContinuousBernoulli": ("ContinuousBernoulli", {"probs": [0.1, 0.4995, 0.9]}),
    "Dirichlet": ("Dirichlet", {"concentration": [[0.5, 1.0, 2.0], [3.0, 4.0, 5.0]]}),
    "Exponential": ("Exponential", {"rate": [0.5, 2.0]}),
    "FisherSnedecor": ("FisherSnedecor", {"df1": [3.0, 5.0], "df2": [6.0, 9.0]}),
    "Gamma": ("Gamma", {"concentration": [0.5, 2.0, 7.0], "rate": [1.0, 2.0, 0.5]}),
    "GeneralizedPareto": (
        "GeneralizedPareto",
        {"loc": [0.0, 1.0, 0.0], "scale": [1.0, 2.0, 1.0], "concentration": [0.3, -0.5, 0.0]},
    ),
    "Geometric": ("Geometric", {"probs": [0.1, 0.5, 1.0]}),
    "Geometric logits": ("Geometric", {"logits": [-1.0, 1.0]}),
    "Gumbel": ("Gumbel", {"loc": [0.0, 1.0], "scale": [1.0, 2.0]}),
    "HalfCauchy": ("HalfCauchy", {"scale": [1.0, 2.0]}),
    "HalfNormal": ("HalfNormal", {"scale": [1.0, 2.0]}),
    "InverseGamma": ("InverseGamma", {"concentration": [1.5, 2.5, 5.0], "rate": [1.0, 2.0, 3.0]}),
    "Kumaraswamy": ("Kumaraswamy", {"concentration1": [0.5, 2.0], "concentration0": [1.5, 3.0]}),
    "LKJCholesky": ("LKJCholesky", {"dim": 3, "concentration": [0.5, 2.0]}),
    "Laplace": ("Laplace", {"loc": [0.0, 1.0], "scale": [1.0, 2.0]}),
    "LogNormal": ("LogNormal", {"loc": [0.0, 1.0], "scale": [1.0, 0.5]}),
    "LogisticNormal": ("LogisticNormal", {"loc": [0.0, 1.0], "scale": [1.0, 0.5]}),
    "LowRankMultivariateNormal": (
        "LowRankMultivariateNormal",
        {"loc": [0.0, 1.0, 2.0], "cov_factor": [[1.0], [0.5], [-1.0]], "cov_diag": [1.0, 2.0, 0.5]},
    ),
    "Multinomial": ("Multinomial", {"total_count": 5, "probs": [[1.0, 2.0, 5.0], [0.2, 0.2, 0.6]]}),
    "MultivariateNormal": (
        "MultivariateNormal",
        {"loc": [[0.0, 1.0], [2.0, 3.0]], "covariance_matrix": [[2.0, 0.5], [0.5, 1.0]]},
    ),
    "MultivariateNormal tril": (
        "MultivariateNormal",
        {"loc": [0.0, 1.0], "scale_tril": [[[2.0, 0.0], [0.5, 1.0]], [[1.0, 0.0], [-0.5, 1.0]]]},
    ),
    "MultivariateNormal precision": (
        "MultivariateNormal",
        {"loc": [0.0, 1.0], "precision_matrix": [[2.0, 0.5], [0.5, 1.0]]},
    ),
    "NegativeBinomial": ("NegativeBinomial", {"total_count": 3.5, "probs": [0.2, 0.6]}),
    "Normal": ("Normal", {"loc": [0.0, 1.0], "scale": [1.0, 2.0]}),
    "Normal numbers": ("Normal", {"loc": 0, "scale": 2.0}),
    "OneHotCategorical": ("OneHotCategorical", {"probs": [[1.0, 2.0, 3.0], [0.2, 0.2, 0.6]]}),
    "OneHotCategoricalStraightThrough": ("OneHotCategoricalStraightThrough", {"probs": [0.2, 0.2, 0.6]}),
    "Pareto": ("Pareto", {"scale": [1.0, 2.0], "alpha": [1.5, 3.0]}),
    "Poisson": ("Poisson", {"rate": [0.5, 4.0, 30.0]}),
    "RelaxedBernoulli": ("RelaxedBernoulli", {"temperature": [0.7], "probs": [0.3, 0.8]}),
    "RelaxedOneHotCategorical": ("RelaxedOneHotCategorical", {"temperature": [0.7], "logits": [0.3, 0.8, 0.1]}),
    "StudentT": ("StudentT", {"df": [1.0, 1.5, 5.0], "loc": [0.0, 1.0, 2.0], "scale": [1.0, 2.0, 0.5]}),
    "Uniform": ("Uniform", {"low": [0.0, -1.0], "high": [1.0, 3.0]}),
    "VonMises": ("VonMises", {"loc": [0.0, 1.0], "concentration": [0.5, 6.0]}),
    "Weibull": ("Weibull", {"scale": [1.0, 2.0], "concentration": [0.7, 3.0]}),
    "Wishart": ("Wishart", {"df": [9.5], "covariance_matrix": [[2.0, 0.5], [0.5, 1.0]]}),
}

# Distributions that contain others: (library) -> distribution.
COMPOSED: dict[str, Callable[[Any], Any]] = {
    "Independent": lambda t: t.distributions.Independent(t.distributions.Normal(t.zeros(2, 3), t.ones(2, 3)), 1),
    "Mixture": lambda t: t.distributions.MixtureSameFamily(
        t.distributions.Categorical(t.tensor([0.3, 0.7])),
        t.distributions.Normal(t.tensor([0.0, 3.0]), t.tensor([1.0, 0.5])),
    ),
    "Mixture of vectors": lambda t: t.distributions.MixtureSameFamily(
        t.distributions.Categorical(t.ones(3, 2)),
        t.distributions.Independent(t.distributions.Normal(t.arange(12.0).reshape(3, 2, 2), t.ones(3, 2, 2)), 1),
    ),
    "Transformed": lambda t: t.distributions.TransformedDistribution(
        t.distributions.Normal(t.zeros(2), t.ones(2)),
        [t.distributions.SigmoidTransform(), t.distributions.AffineTransform(1.0, t.tensor([2.0, -3.0]))],
    ),
    "Expanded": lambda t: t.distributions.Gumbel(t.tensor(0.5), t.tensor([1.0, 2.0])).expand((3, 2)),
    "Expanded vectors": lambda t: t.distributions.MultivariateNormal(t.zeros(2), t.eye(2)).expand([3]),
}

# Values for distributions whose draws have no gradient in PyTorch: it writes to a mask that the gradient of its draws needs.
VALUES = {"Wishart": [[[3.0, 0.5], [0.5, 2.0]], [[13.0, 0.5], [0.5, 12.0]]]}

READ = ("mean", "variance", "stddev", "mode", "batch_shape", "event_shape")


def tensors(library: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments, with lists as leaves of the graph."""
    return {
        name: library.tensor(value, requires_grad=True) if isinstance(value, list) else value
        for name, value in given.items()
    }


def made(library: Any, name: str) -> tuple[Any, list[Any]]:
    """Returns a row's distribution and its parameters that have gradients."""
    if name in COMPOSED:
        return COMPOSED[name](library), []
    cls, given = ROWS[name]
    arguments = tensors(library, given)
    leaves = [value for value in arguments.values() if isinstance(value, library.Tensor)]
    return getattr(library.distributions, cls)(**arguments), leaves


def asked(library: Any, name: str) -> dict[str, Any]:
    """Returns a distribution's answers, arrays and texts by question; for an error its class."""
    found: dict[str, Any] = {}

    def ask(question: str, answer: Callable[[], Any]) -> Any:
        try:
            value = answer()
        except (NotImplementedError, ValueError, IndexError, RuntimeError) as error:
            found[question] = type(error).__name__
            return None
        array = value.detach().numpy() if isinstance(value, library.Tensor) else str(value)
        found[question] = array.copy() if isinstance(array, np.ndarray) else array
        return value

    library.manual_seed(11)
    distribution, leaves = made(library, name)
    found["repr"] = repr(distribution)
    for attribute in READ:
        ask(attribute, lambda attribute=attribute: getattr(distribution, attribute))
    found["support"] = repr(distribution.support)
    if name in VALUES:
        drawn, again = library.tensor(VALUES[name]), None
    else:
        drawn = ask("sample", lambda: distribution.sample((5,)))
        again = ask("rsample", lambda: distribution.rsample((4,)))
    logs = ask("log_prob", lambda: distribution.log_prob(drawn))
    ask("cdf", lambda: distribution.cdf(drawn))
    ask("icdf", lambda: distribution.icdf(library.tensor(0.3)))
    entropy = ask("entropy", lambda: distribution.entropy())
    ask("enumerate_support", lambda: distribution.enumerate_support())
    wider = distribution.expand((3, *distribution.batch_shape))
    found["expanded"] = f"{wider} {wider.batch_shape} {wider.event_shape}"
    ask("log_prob expanded", lambda: wider.log_prob(drawn[0]))
    for word, value in (("log_prob", logs), ("rsample", again), ("entropy", entropy)):
        if leaves and value is not None and value.requires_grad:
            weights = library.arange(1, value.numel() + 1).reshape(value.shape)
            slopes = library.autograd.grad((value * weights).sum(), leaves, allow_unused=True, retain_graph=True)
            for number, slope in enumerate(slopes):
                if slope is not None:
                    found[f"slope {number} of {word}"] = slope.numpy().copy()
    return found


# Pairs of distributions with a divergence.
FAMILIES: dict[str, Callable[[Any], Any]] = {
    "Bernoulli": lambda D, t: D.Bernoulli(t.tensor([0.3, 1.0])),
    "Beta": lambda D, t: D.Beta(t.tensor([2.0, 0.5]), t.tensor([1.5, 3.0])),
    "Binomial": lambda D, t: D.Binomial(5, t.tensor([0.3, 0.6])),
    "Categorical": lambda D, t: D.Categorical(t.tensor([[0.3, 0.7], [0.0, 1.0]])),
    "Cauchy": lambda D, t: D.Cauchy(t.tensor([0.0, 1.0]), t.tensor([1.0, 2.0])),
    "ContinuousBernoulli": lambda D, t: D.ContinuousBernoulli(t.tensor([0.3, 0.8])),
    "Dirichlet": lambda D, t: D.Dirichlet(t.tensor([[0.5, 2.0], [3.0, 1.0]])),
    "Exponential": lambda D, t: D.Exponential(t.tensor([0.5, 2.0])),
    "Gamma": lambda D, t: D.Gamma(t.tensor([0.5, 2.0]), t.tensor([1.0, 3.0])),
    "Geometric": lambda D, t: D.Geometric(t.tensor([0.3, 0.6])),
    "Gumbel": lambda D, t: D.Gumbel(t.tensor([0.5, 2.0]), t.tensor([1.0, 3.0])),
    "HalfNormal": lambda D, t: D.HalfNormal(t.tensor([0.5, 2.0])),
    "Independent": lambda D, t: D.Independent(D.Normal(t.tensor([0.5, 2.0]), 1.0), 1),
    "Laplace": lambda D, t: D.Laplace(t.tensor([0.5, 2.0]), t.tensor([1.0, 3.0])),
    "LogNormal": lambda D, t: D.LogNormal(t.tensor([0.5, 2.0]), t.tensor([1.0, 3.0])),
    "LowRank": lambda D, t: D.LowRankMultivariateNormal(
        t.tensor([0.5, 2.0]), t.tensor([[1.0], [2.0]]), t.tensor([1.0, 3.0])
    ),
    "MultivariateNormal": lambda D, t: D.MultivariateNormal(t.tensor([0.5, 1.0]), t.tensor([[2.0, 0.5], [0.5, 1.0]])),
    "Normal": lambda D, t: D.Normal(t.tensor([0.5, 2.0]), t.tensor([1.0, 3.0])),
    "OneHotCategorical": lambda D, t: D.OneHotCategorical(t.tensor([[0.3, 0.7], [0.5, 0.5]])),
    "Pareto": lambda D, t: D.Pareto(t.tensor([0.5, 2.0]), t.tensor([1.5, 3.0])),
    "Poisson": lambda D, t: D.Poisson(t.tensor([0.5, 2.0])),
    "Uniform": lambda D, t: D.Uniform(t.tensor([0.25, 2.0]), t.tensor([0.75, 3.0])),
}  # pyright: ignore[reportAssignmentType]


def other(family: str, D: Any, t: Any) -> Any:
    """Returns a second distribution of a family that differs a little from the first."""
    moved = {
        "Uniform": lambda: D.Uniform(t.tensor([0.0, 1.0]), t.tensor([1.0, 2.5])),
        "Normal": lambda: D.Normal(t.tensor([0.0, 1.0]), t.tensor([2.0, 0.5])),
        "Gamma": lambda: D.Gamma(t.tensor([1.5, 0.7]), t.tensor([2.0, 1.0])),
        "Pareto": lambda: D.Pareto(t.tensor([0.2, 1.0]), t.tensor([1.5, 3.0])),
        "Beta": lambda: D.Beta(t.tensor([1.0, 2.5]), t.tensor([2.5, 1.0])),
        "Categorical": lambda: D.Categorical(t.tensor([[0.5, 0.5], [0.4, 0.6]])),
        "Bernoulli": lambda: D.Bernoulli(t.tensor([0.6, 0.5])),
        "Laplace": lambda: D.Laplace(t.tensor([0.0, 1.0]), t.tensor([2.0, 0.5])),
    }
    return moved[family]() if family in moved else FAMILIES[family](D, t)  # pyright: ignore[reportCallIssue]


def divergences(library: Any) -> dict[str, Any]:
    """Returns the divergence of each pair as an array, or the class of the error."""
    D, found = library.distributions, {}
    for p in FAMILIES:
        for q in FAMILIES:
            try:
                value = D.kl_divergence(FAMILIES[p](D, library), other(q, D, library))  # pyright: ignore[reportCallIssue]
                found[f"{p} from {q}"] = value.numpy().copy()
            except (NotImplementedError, ValueError) as error:
                found[f"{p} from {q}"] = type(error).__name__
    return found


# (library) -> transform, and a value to transform
TRANSFORMS: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
    "Abs": (lambda D: D.AbsTransform(), [-1.0, 2.0]),
    "Affine": (lambda D: D.AffineTransform(1.0, -2.0), [-1.0, 2.0]),
    "Affine event": (lambda D: D.AffineTransform(1.0, 2.0, event_dim=1), [-1.0, 2.0]),
    "Compose": (lambda D: D.ComposeTransform([D.ExpTransform(), D.AffineTransform(1.0, 2.0)]), [-1.0, 2.0]),
    "Compose deep": (lambda D: D.ComposeTransform([D.ExpTransform(), D.StickBreakingTransform()]), [-1.0, 0.5]),
    "CorrCholesky": (lambda D: D.CorrCholeskyTransform(), [0.5, -1.0, 0.2, 0.1, 0.3, -0.4]),
    "Cumulative": (lambda D: D.CumulativeDistributionTransform(D.Normal(0.0, 1.0)), [-1.0, 0.5]),
    "Exp": (lambda D: D.ExpTransform(), [-1.0, 2.0]),
    "Exp inverse": (lambda D: D.ExpTransform().inv, [1.0, 2.0]),
    "Independent": (lambda D: D.IndependentTransform(D.ExpTransform(), 1), [-1.0, 2.0]),
    "LowerCholesky": (lambda D: D.LowerCholeskyTransform(), [[0.5, 1.0], [0.2, -0.3]]),
    "PositiveDefinite": (lambda D: D.PositiveDefiniteTransform(), [[0.5, 1.0], [0.2, -0.3]]),
    "Power": (lambda D: D.PowerTransform(2.5), [1.0, 2.0]),
    "Reshape": (lambda D: D.ReshapeTransform((2, 2), (4,)), [[0.5, 1.0], [0.2, -0.3]]),
    "Sigmoid": (lambda D: D.SigmoidTransform(), [-1.0, 30.0]),
    "Softmax": (lambda D: D.SoftmaxTransform(), [-1.0, 2.0]),
    "Softplus": (lambda D: D.SoftplusTransform(), [-1.0, 30.0]),
    "Stack": (lambda D: D.StackTransform([D.ExpTransform(), D.AffineTransform(0.0, 3.0)], dim=0), [-1.0, 2.0]),
    "Cat": (lambda D: D.CatTransform([D.ExpTransform(), D.TanhTransform()], dim=0, lengths=[2, 1]), [-1.0, 2.0, 0.3]),
    "StickBreaking": (lambda D: D.StickBreakingTransform(), [-1.0, 2.0, 0.5]),
    "Tanh": (lambda D: D.TanhTransform(), [-1.0, 2.0]),
    "to interval": (lambda D: D.transform_to(D.constraints.interval(-2.0, 5.0)), [-1.0, 2.0]),
    "to less": (lambda D: D.biject_to(D.constraints.less_than(3.0)), [-1.0, 2.0]),
    "to vector": (lambda D: D.biject_to(D.constraints.independent(D.constraints.positive, 1)), [-1.0, 2.0]),
}


def transformed(library: Any, name: str) -> dict[str, Any]:
    """Returns a transform's value, the inverse's value, and the change of volume."""
    make, value = TRANSFORMS[name]
    transform, x = make(library.distributions), library.tensor(value)
    y = transform(x)
    found: dict[str, Any] = {"forward": y.numpy().copy(), "back": transform.inv(y).numpy().copy()}
    for word in ("domain", "codomain", "bijective", "sign"):
        try:
            found[word] = str(getattr(transform, word))
        except NotImplementedError as error:
            found[word] = type(error).__name__
    found["repr"] = repr(transform)
    found["shapes"] = f"{tuple(transform.forward_shape(x.shape))} {tuple(transform.inverse_shape(y.shape))}"
    try:
        found["log_abs_det_jacobian"] = transform.log_abs_det_jacobian(x, y).numpy().copy()
    except NotImplementedError as error:
        found["log_abs_det_jacobian"] = type(error).__name__
    return found


def everything(library: Any) -> dict[str, dict[str, Any]]:
    """Returns the answers to all questions, by row."""
    answers = {name: asked(library, name) for name in [*ROWS, *COMPOSED]}
    answers |= {f"transform {name}": transformed(library, name) for name in TRANSFORMS}
    return answers | {"divergences": divergences(library)}
