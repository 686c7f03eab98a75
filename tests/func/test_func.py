"""Function transforms: results, gradients through them, and PyTorch's messages for wrong arguments."""

import re

import pytest

import torchlike as torch
from torchlike import nn
from torchlike._alias import private_names
from torchlike.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    stack_module_state,
    vjp,
    vmap,
)

X = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
V = torch.tensor([1.0, -2.0, 0.5])


def close(a, b, tolerance=1e-6):
    return torch.allclose(a, b if isinstance(b, torch.Tensor) else torch.tensor(b), atol=tolerance)


def cube(x):
    return (x**3).sum()


def test_gradients_and_values():
    assert close(grad(cube)(V), 3 * V**2)
    gradient, value = grad_and_value(cube)(V)
    assert close(gradient, 3 * V**2) and close(value, cube(V))
    first, second = grad(lambda x, y: (x * y).sum(), argnums=(0, 1))(V, V + 1)
    assert close(first, V + 1) and close(second, V)
    nested = grad(lambda p: (p["w"] * p["b"][0]).sum())({"w": V, "b": [V]})
    assert close(nested["w"], V) and close(nested["b"][0], V)
    gradient, aux = grad(lambda x: (cube(x), {"twice": x * 2}), has_aux=True)(V)
    assert close(gradient, 3 * V**2) and close(aux["twice"], 2 * V)
    assert close(grad(lambda x: grad(cube)(x).sum())(V), 6 * V)


def test_a_derivative_sees_the_values_in_control_flow():
    assert close(grad(lambda x: cube(x) if x.sum() < 0 else (x * x).sum())(V), 3 * V**2)
    assert close(grad(lambda x: x[x > 0].sum())(V), [1.0, 0.0, 1.0])


def test_products_with_the_jacobian():
    output, pull = vjp(torch.sin, V)
    assert close(output, torch.sin(V)) and close(pull(V)[0], V * torch.cos(V))
    output, change = jvp(lambda x, y: x * y, (V, V + 1), (torch.ones(3), V))
    assert close(output, V * (V + 1)) and close(change, (V + 1) + V * V)
    output, push = linearize(torch.exp, V)
    assert close(push(V), torch.exp(V) * V) and close(push(torch.ones(3)), output)
    _, pull = vjp(lambda x: {"a": x.sum(), "b": x * 2}, V)
    assert close(pull({"a": torch.tensor(1.0), "b": torch.ones(3)})[0], [3.0, 3.0, 3.0])
    *_, aux = jvp(lambda x: (x, x.sum()), (V,), (V,), has_aux=True)
    assert close(aux, V.sum())


@pytest.mark.parametrize("jacobian", [jacrev, jacfwd])
def test_jacobians(jacobian):
    assert close(jacobian(torch.relu)(V), [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    found = jacobian(lambda x, y: (x @ y, y.sum()), argnums=(0, 1))(X, V[:2])
    assert [tuple(t.shape) for pair in found for t in pair] == [(3, 3, 2), (3, 2), (3, 2), (2,)]
    assert close(found[0][1], X)
    found, aux = jacobian(lambda x: (x * x, x.sum()), has_aux=True)(V)
    assert close(found, torch.diag(2 * V)) and close(aux, V.sum())


def test_jacobian_in_chunks_and_hessian():
    assert close(jacrev(lambda x: x.sin(), chunk_size=2)(V), torch.diag(V.cos()))
    assert close(hessian(cube)(V), torch.diag(6 * V))


def test_vmap_over_any_dimension():
    assert close(vmap(torch.dot)(X, X), (X * X).sum(1))
    assert close(vmap(lambda x: x * 2, in_dims=1, out_dims=1)(X), 2 * X)
    assert close(vmap(lambda x, y: x * y, in_dims=(0, None))(X, V[:2]), X * V[:2])
    assert close(vmap(lambda x: x.sum(), in_dims=-1)(X), X.sum(0))
    total, doubled = vmap(lambda d: (d["a"].sum(), d["b"] * 2), in_dims=({"a": 0, "b": None},), out_dims=(0, None))(
        {"a": X, "b": V}
    )
    assert close(total, X.sum(1)) and close(doubled, 2 * V)
    assert close(vmap(vmap(lambda x, y: x * y, in_dims=(None, 0)), in_dims=(0, None))(V, V), torch.outer(V, V))
    assert vmap(lambda x: torch.ones(2))(X).shape == (3, 2)
    assert close(vmap(lambda x: x.sin(), chunk_size=2)(X), X.sin())
    assert close(vmap(grad(cube))(X), 3 * X**2)


def test_vmap_writes_to_its_own_tensors():
    def f(x):
        y = torch.zeros(2)
        y[0] = x.sum()
        return y

    assert close(vmap(f)(X), [[3.0, 0.0], [7.0, 0.0], [11.0, 0.0]])


def test_random_numbers_within_vmap():
    torch.manual_seed(0)
    expected = torch.rand(3, 2)
    torch.manual_seed(0)
    assert close(vmap(lambda x: torch.rand(2) + 0 * x, randomness="different")(X), expected)
    torch.manual_seed(0)
    one = torch.rand(2)
    torch.manual_seed(0)
    assert close(vmap(lambda x: torch.rand(2) + 0 * x, randomness="same")(X), one.expand(3, 2))
    torch.manual_seed(0)
    expected = nn.functional.dropout(X, 0.5)
    torch.manual_seed(0)
    assert close(vmap(lambda x: nn.functional.dropout(x, 0.5), randomness="different")(X), expected)


INDICES = {
    "alone": lambda x, i: x[i],
    "behind": lambda x, i: x[:, i],
    "with a slice": lambda x, i: x[i, 1:],
    "twice": lambda x, i: x[i, i],
    "with None": lambda x, i: x[None, i],
    "of all": lambda x, i: torch.arange(5.0)[i],
    "gradient": grad(lambda x, i: (x[i] ** 2).sum()),
    "written": lambda x, i: x.clone().index_put_((i,), x[0]),
}


@pytest.mark.parametrize("name", INDICES)
def test_each_example_has_an_index_of_its_own(name):
    x, i = torch.arange(36.0).reshape(3, 4, 3).sin(), torch.tensor([2, 0, -1])
    expected = torch.stack([INDICES[name](x[k], i[k]) for k in range(3)])
    assert torch.equal(vmap(INDICES[name])(x, i), expected)


def test_each_example_writes_to_a_place_of_its_own():
    def f(x, i):
        x = x * 1
        x[i] = 5.0
        x[1:, i] += 1.0
        return x

    x, i = torch.zeros(3, 4, 3), torch.tensor([2, 0, 1])
    assert torch.equal(vmap(f)(x, i), torch.stack([f(x[k], i[k]) for k in range(3)]))
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        vmap(lambda x, i: x[i])(x, i + 5).sum().item()


DRAWS = {
    "bernoulli": torch.bernoulli, "bernoulli of a number": lambda x: torch.bernoulli(x, 0.5), "poisson": torch.poisson,
    "in place": lambda x: x.clone().bernoulli_(x), "binomial": lambda x: torch.binomial(torch.full_like(x, 4), x),
    "gamma": lambda x: torch.distributions.Gamma(x, 1.0).sample(), "multinomial": lambda x: torch.multinomial(x, 4, replacement=True),
    "normal": lambda x: torch.normal(x, x + 1), "normal, std": lambda x: torch.normal(0.0, x),
    "alpha_dropout": lambda x: nn.functional.alpha_dropout(x, training=True),
    "distribution": lambda x: torch.distributions.Categorical(x).sample(),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWS)
def test_each_example_draws_numbers_of_its_own(name):
    draw, probabilities = DRAWS[name], torch.tensor([[0.2, 0.4], [0.6, 0.8], [0.5, 0.5]])
    torch.manual_seed(1)
    expected = draw(probabilities)
    after = torch.rand(1)
    for given in (probabilities, probabilities.clone().requires_grad_()):
        torch.manual_seed(1)
        assert close(vmap(draw, randomness="different")(given), expected)
        assert close(torch.rand(1), after)
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        vmap(draw)(probabilities)


def test_permutations_and_channels_of_examples():
    torch.manual_seed(1)
    expected = torch.stack([torch.randperm(5) for _ in range(6)]).reshape(2, 3, 5)  # as PyTorch nests its loops
    torch.manual_seed(1)
    found = vmap(vmap(lambda x: torch.randperm(5), randomness="different"), randomness="different")(X)
    assert torch.equal(found, expected.transpose(0, 1))
    torch.manual_seed(1)
    expected = nn.functional.dropout1d(torch.ones(3, 4, 2))
    torch.manual_seed(1)
    assert close(vmap(lambda x: nn.functional.dropout1d(x), randomness="different")(torch.ones(3, 4, 2)), expected)


def test_parameters_that_examples_share_and_parameters_of_other_ranks():
    rate = torch.tensor([2.0, 7.0])
    torch.manual_seed(1)
    expected = torch.poisson(rate.expand(3, 2))
    torch.manual_seed(1)
    assert close(vmap(lambda x: torch.poisson(rate), randomness="different")(X), expected)
    torch.manual_seed(1)
    expected = torch.binomial(X, torch.tensor([0.1, 0.5, 0.9])[:, None].expand(3, 2))
    torch.manual_seed(1)
    p = torch.tensor([0.1, 0.5, 0.9])
    assert close(vmap(torch.binomial, randomness="different")(X, p), expected)
    with pytest.raises(RuntimeError, match="does not currently support same randomness with a batched tensor"):
        vmap(torch.poisson, randomness="same")(X)


def test_distributions_check_all_examples():
    normal = torch.distributions.Normal
    expected = normal(X, X).log_prob(X + 1)
    assert close(vmap(vmap(lambda x: normal(x, x).log_prob(x + 1)))(X), expected)
    assert close(vmap(grad(lambda x: normal(0.0, x).log_prob(V[0])))(X[:, 0]), 1 / X[:, 0] ** 3 - 1 / X[:, 0])
    with pytest.raises((ValueError, RuntimeError)):
        vmap(lambda x: normal(0.0, x - 3).log_prob(x))(X)
    assert vmap(lambda x: 1 if private_names._is_all_true(x > 0) else 2, out_dims=None)(X) == 1
    assert vmap(lambda x: 1 if private_names._is_any_true(x > 5) else 2, out_dims=None)(X) == 1


def test_vmap_returns_what_is_no_tensor_as_it_is():
    assert vmap(lambda x: (3, {"a": None}), out_dims=None)(X) == (3, {"a": None})
    output, shape = vmap(lambda x: (x, list(x.shape)), out_dims=(0, None), chunk_size=2)(X)
    assert close(output, X) and shape == [2]


def test_an_ensemble():
    torch.manual_seed(0)
    models = [nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1)) for _ in range(3)]
    parameters, buffers = stack_module_state(models)

    def call(parameters, buffers, x):
        return functional_call(models[0], (parameters, buffers), (x,))

    found = vmap(call, in_dims=(0, 0, None))(parameters, buffers, X)
    assert close(found, torch.stack([m(X) for m in models]))
    found.sum().backward()
    models[1](X).sum().backward()
    assert close(parameters["0.weight"].grad[1], models[1][0].weight.grad)


def test_gradients_of_each_example():
    torch.manual_seed(0)
    model = nn.Linear(2, 3)
    labels = torch.tensor([0, 2, 1])

    def loss(parameters, x, y):
        return nn.functional.cross_entropy(functional_call(model, parameters, (x[None],)), y[None])

    parameters = {name: p.detach() for name, p in model.named_parameters()}
    found = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, X, labels)
    for i in range(3):
        model.zero_grad()
        nn.functional.cross_entropy(model(X[i : i + 1]), labels[i : i + 1]).backward()
        assert close(found["weight"][i], model.weight.grad) and close(found["bias"][i], model.bias.grad)


def test_gradients_flow_through_transforms():
    x, w = V.clone().requires_grad_(), torch.tensor(2.0, requires_grad=True)
    grad(lambda x: (w * x**3).sum())(x).sum().backward()
    assert close(x.grad, 12 * V) and close(w.grad, (3 * V**2).sum())
    layer = nn.Linear(2, 2)
    vmap(layer)(X).sum().backward()
    expected = layer.weight.grad.clone()
    layer.zero_grad()
    layer(X).sum().backward()
    assert close(layer.weight.grad, expected)
    _, pull = vjp(torch.sin, x)
    x.grad = None
    pull(torch.ones(3))[0].sum().backward()
    assert close(x.grad, -V.sin())
    with torch.no_grad():
        assert not grad(cube)(x).requires_grad


def test_random_numbers_are_the_same_when_gradients_flow_through():
    w = torch.ones(4, requires_grad=True)
    torch.manual_seed(3)
    out = vmap(lambda x: nn.functional.dropout(x * w, 0.5), randomness="same")(torch.ones(2, 4))
    after = torch.rand(1)
    out.sum().backward()
    assert close(w.grad, out.detach().sum(0))
    torch.manual_seed(3)
    nn.functional.dropout(torch.ones(4), 0.5)
    assert close(torch.rand(1), after)


def test_other_tensors_in_the_places_of_parameters():
    model = nn.BatchNorm1d(2)
    held = model.weight
    given = {"weight": torch.full((2,), 2.0), "running_mean": torch.zeros(2)}
    functional_call(model, given, X)
    assert model.weight is held and not close(
        given["running_mean"], [0.0, 0.0]
    )  # the caller's buffer is the one that is written
    assert model.running_mean.tolist() == [0.0, 0.0]
    tied = nn.Module()
    tied.a = nn.Linear(2, 2, bias=False)
    tied.b = nn.Linear(2, 2, bias=False)
    tied.b.weight = tied.a.weight
    tied.forward = lambda x: tied.b(tied.a(x))
    ones = torch.ones(2, 2)
    assert close(functional_call(tied, {"a.weight": ones}, X), X @ ones @ ones)
    assert not close(functional_call(tied, {"a.weight": ones}, X, tie_weights=False), X @ ones @ ones)


def test_a_tensor_from_outside_is_not_left_with_a_tracer():
    outside = torch.zeros(2)
    kept = []
    for transform in (
        grad(lambda x: (outside.add_(x), x.sum())[1]),
        lambda x: vmap(lambda x: outside.add_(x))(x[None]),
    ):
        with pytest.raises(RuntimeError, match="would mutate a captured Tensor"):
            kept.append(transform(X[0]))
        assert outside.tolist() == [0.0, 0.0]


def put(tensor, value):
    tensor.data = value


WRITES = {
    "data": lambda outside, x: outside.data.add_(x),
    "an element of data": lambda outside, x: outside.data[0].copy_(x[0]),
    "data of a view": lambda outside, x: outside.view(2).data.copy_(x),
    "detach": lambda outside, x: outside.detach().mul_(x),
    "out": lambda outside, x: torch.add(x, 1, out=outside),
    "set_": lambda outside, x: outside.set_(x),
    "other data": put,
}


@pytest.mark.parametrize("how", WRITES)
def test_no_write_leaves_a_mapped_value_in_a_tensor_from_outside(how):
    outside = torch.zeros(2)
    with pytest.raises(RuntimeError, match="mutate a captured Tensor|vmap"):
        vmap(lambda x: (WRITES[how](outside, x), x)[1])(X[:2, :2] + 1)
    assert outside.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    "transform", [lambda f: vjp(f, X[0]), lambda f: jvp(f, (X[0],), (X[0],)), lambda f: vmap(f)(X)]
)
@pytest.mark.parametrize("computed", [False, True])
def test_no_tensor_that_is_transformed_gets_other_data(transform, computed):
    def function(x):
        y = x * 1
        y.data = x if computed else torch.ones(x.shape)
        return y

    with pytest.raises(RuntimeError, match="mutating directly with `.data`"):
        transform(function)


@pytest.mark.parametrize(
    "transform", [lambda f: vjp(f, X[0]), lambda f: jvp(f, (X[0],), (X[0],)), lambda f: vmap(f)(X)]
)
def test_a_backward_pass_is_refused_within(transform):
    with pytest.raises(RuntimeError, match="backward\\(\\) called inside a functorch transform"):
        transform(lambda x: (x.sum().backward(), x)[1])


def test_numbers_of_64_bits_stay_what_they_are():
    x = torch.tensor([1.0, 2.0], dtype=torch.float64)
    assert grad(cube)(x).dtype is torch.float64
    assert vmap(lambda i: i + 1)(torch.tensor([2**40])).tolist() == [2**40 + 1]


def scalar(x):
    return x.sum()


def name(x):
    return x * 2


_INSIDE = (
    "You are attempting to call Tensor.{} inside of a function being transformed by a functorch transform. This is unsupported, please "
    "attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call {} outside of a function being transformed "
    "instead."
)


def _retained(x):
    x.retain_grad()
    return x


_SWITCHED = _INSIDE.format("requires_grad_() (or perhaps using torch.autograd.functional.* APIs)", "requires_grad_()")


@pytest.mark.parametrize(
    "transform", [grad, vmap, lambda f: lambda x: vjp(f, x), lambda f: lambda x: jvp(f, (x,), (x,))]
)
@pytest.mark.parametrize("on", [True, False])
def test_recording_is_not_switched_within(transform, on):
    for function in (lambda x: x.requires_grad_(on).sum(), lambda x: (torch.ones(2).requires_grad_(on) * x).sum()):
        with pytest.raises(RuntimeError) as error:
            transform(function)(torch.ones(2, 2))
        assert str(error.value) == _SWITCHED

    def other_ways(x):
        made, set_ = torch.nn.Parameter(torch.ones(2)), torch.ones(2)
        set_.requires_grad = True
        return (x * made * set_ * torch.ones(2, requires_grad=True)).sum()

    transform(other_ways)(torch.ones(2, 2))


def _printed(transform, x):
    texts = []

    def function(t):
        texts.append(repr(t))
        return t.sum()

    transform(function)(x)
    return texts[-1]


PRINTED = {
    "grad": (grad, "GradTrackingTensor(lvl=1, value=\n    tensor([[1., 2.],\n            [3., 4.]])\n)"),
    "vmap": (vmap, "BatchedTensor(lvl=1, bdim=0, value=\n    tensor([[1., 2.],\n            [3., 4.]])\n)"),
    "grad within vmap": (
        lambda f: vmap(grad(f)),
        "GradTrackingTensor(lvl=2, value=\n    BatchedTensor(lvl=1, bdim=0, value=\n        tensor([[1., 2.],\n                [3., 4.]])"
        "\n    )\n)",
    ),
    "a tensor from outside": (lambda f: grad(lambda x: f(torch.ones(1)) * x.sum()), "tensor([1.])"),
}


@pytest.mark.parametrize("name", PRINTED)
def test_what_a_function_prints_while_it_is_transformed(name):
    transform, text = PRINTED[name]
    assert _printed(transform, torch.tensor([[1.0, 2.0], [3.0, 4.0]])) == text


@pytest.mark.parametrize("transform", [grad, lambda f: lambda x: vjp(f, x), jacrev, hessian])
def test_hooks_for_saved_tensors_are_refused_with_derivatives_backwards(transform):
    def within(x):
        with torch.autograd.graph.save_on_cpu():
            return x.sin().sum()

    with pytest.raises(RuntimeError, match="don't yet support saved tensor hooks"):
        transform(within)(torch.ones(3))
    with torch.autograd.graph.save_on_cpu(), pytest.raises(RuntimeError, match="don't yet support saved tensor hooks"):
        transform(lambda x: x.sin().sum())(torch.ones(3))
    assert jvp(within, (torch.ones(3),), (torch.ones(3),))[1].item() == pytest.approx(1.6209069)


ERRORS = {
    "no scalar": (
        lambda: grad(name)(X),
        RuntimeError,
        "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with 2 dims. Maybe you wanted to use the vjp "
        "or jacrev APIs instead?",
    ),
    "no tensor": (
        lambda: grad(lambda x: 3)(X),
        RuntimeError,
        "grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got <class 'int'>",
    ),
    "no aux": (
        lambda: grad(scalar, has_aux=True)(X),
        RuntimeError,
        "grad_and_value(f)(*args): output of function f should be a tuple: (output, aux) if has_aux is True",
    ),
    "aux of numbers": (
        lambda: grad(lambda x: (x.sum(), 1), has_aux=True)(X),
        RuntimeError,
        "Expected tensors, got unsupported type <class 'int'>",
    ),
    "no output": (
        lambda: vjp(lambda x: None, X),
        RuntimeError,
        "vjp(f, *primals): Expected f to be a function that has non-empty output (got output = [None])",
    ),
    "empty output": (
        lambda: jvp(lambda x: (), (X,), (X,)),
        RuntimeError,
        "jvp(f, primals, tangents): Expected f to be a function that has non-empty output (got output = [])",
    ),
    "primals of numbers": (
        lambda: jvp(lambda x, y: x, (X, 1), (X, 1)),
        RuntimeError,
        "jvp(f, primals, tangents): Expected primals to only contain Tensors, got <class 'int'>",
    ),
    "tangents of numbers": (
        lambda: jvp(lambda x: x, (X,), (1,)),
        RuntimeError,
        "jvp(f, primals, tangents): Expected tangents to only contain Tensors, got <class 'int'>",
    ),
    "retain_grad": (
        lambda: grad(lambda x: _retained(x.sin()).sum())(X),
        RuntimeError,
        _INSIDE.format("retain_grad()", "retain_grad()"),
    ),
    "argnums": (lambda: grad(scalar, argnums=2)(X), RuntimeError, "Got argnum=2, but only 1 positional inputs"),
    "argnums twice": (
        lambda: grad(scalar, argnums=(0, 0))(X),
        RuntimeError,
        "argnums elements must be unique, got (0, 0)",
    ),
    "a number": (
        lambda: grad(scalar)(3.0),
        ValueError,
        "Thing passed to transform API must be Tensor, got <class 'float'>",
    ),
    "integers": (
        lambda: grad(scalar)(torch.arange(3)),
        RuntimeError,
        "only Tensors of floating point dtype can require gradients",
    ),
    "in_dims of a number": (
        lambda: vmap(name)(3),
        ValueError,
        "vmap(name, in_dims=0, ...)(<inputs>): Got in_dim=0 for an input but the input is of type <class 'int'>. We cannot vmap over "
        "non-Tensor arguments, please use None as the respective in_dim",
    ),
    "in_dims too large": (
        lambda: vmap(name, in_dims=2)(X),
        ValueError,
        "vmap(name, in_dims=2, ...)(<inputs>): Got in_dim=2 for some input, but that input is a Tensor of dimensionality 2 so expected "
        "in_dim to satisfy -2 <= in_dim < 2.",
    ),
    "in_dims of another structure": (
        lambda: vmap(name, in_dims=(0, 0))(X),
        ValueError,
        "vmap(name, in_dims=(0, 0), ...)(<inputs>): in_dims is not compatible with the structure of `inputs`. in_dims has structure "
        "TreeSpec(tuple, None, [*,\n  *]) but inputs has structure TreeSpec(tuple, None, [*]).",
    ),
    "nothing mapped": (
        lambda: vmap(name, in_dims=(None,))(X),
        ValueError,
        "vmap: Expected at least one Tensor to vmap over",
    ),
    "sizes": (
        lambda: vmap(lambda x, y: x)(X, torch.ones(4)),
        ValueError,
        "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes [3, 4] for the mapped dimension",
    ),
    "output no tensor": (
        lambda: vmap(lambda x: 3)(X),
        ValueError,
        "vmap(<lambda>, ...): `<lambda>` must only return Tensors, got type <class 'int'>. Did you mean to set out_dims= to None for "
        "output?",
    ),
    "output of integers": (
        lambda: jacrev(lambda x: (x, x.long()))(X),
        RuntimeError,
        "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype torch.int64",
    ),
    "input of integers": (
        lambda: vjp(name, X.long()),
        RuntimeError,
        "only Tensors of floating point dtype can require gradients",
    ),
    "input of integers, forwards": (
        lambda: jvp(lambda x: x * 2.0, (X.long(),), (X,)),
        ValueError,
        "Expected primal to be floating point or complex, but got: torch.int64",
    ),
    "tangent": (
        lambda: linearize(name, X)[1](X.double()),
        RuntimeError,
        "tangent:0 with dtype torch.float64 in flattened pytree doesn't match the dtype torch.float32 of the corresponding primal.",
    ),
    "out_dims": (
        lambda: vmap(name, out_dims=5)(X),
        IndexError,
        "Dimension out of range (expected to be in range of [-2, 1], but got 5)",
    ),
    "out_dims None": (
        lambda: vmap(name, out_dims=None)(X),
        ValueError,
        "vmap(name, ...): `name` can not return a BatchedTensor when out_dim is None",
    ),
    "randomness": (
        lambda: vmap(lambda x: torch.randn(2))(X),
        RuntimeError,
        "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness flags on "
        "vmap or perform the randomness operation out of vmap",
    ),
    "chunks": (
        lambda: vmap(name, chunk_size=0),
        ValueError,
        "vmap: chunk_size should be None or greater than 0. (got 0)",
    ),
    "cotangent": (
        lambda: vjp(name, X)[1](torch.ones(2)),
        RuntimeError,
        "Mismatch in shape: grad_output[0] has a shape of torch.Size([2]) and output[0] has a shape of torch.Size([3, 2]).",
    ),
    "primals": (
        lambda: jvp(name, X, X),
        RuntimeError,
        "jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it should be valid to call f(*primals).",
    ),
    "complex": (
        lambda: jacrev(name)(torch.tensor([1j])),
        RuntimeError,
        "jacrev: Expected all inputs to be real but received complex tensor at flattened input idx: 0",
    ),
    "strict": (
        lambda: functional_call(nn.Linear(2, 2), {"weightx": X}, X, strict=True),
        RuntimeError,
        "Error(s) in reparametrizing for Linear:\n\tUnexpected key(s): 'weightx'.\n\tMissing key(s): 'bias', 'weight'.",
    ),
    "no models": (
        lambda: stack_module_state([]),
        RuntimeError,
        "stack_module_state: Expected at least one model, got 0.",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case):
    call, kind, text = ERRORS[case]
    with pytest.raises(kind) as error:
        call()
    assert str(error.value) == text


def test_what_depends_on_values_is_refused_while_mapped():
    for f, words in (
        (lambda x: x.sum().item(), "We don't support vmap over calling .item() on a Tensor, please try to rewrite"),
        (lambda x: float(x.sum()), "It looks like you're calling .item() on a Tensor."),
        (lambda x: x if x.sum() > 0 else -x, "attempting to use a Tensor in some data-dependent control flow."),
        (lambda x: x.nonzero(), "operators that can output dynamic shape. Attempted to vmap over aten::nonzero."),
        (lambda x: x.unique(), "Attempted to vmap over aten::_unique2."),
        (lambda x: x[x > 0], "Attempting to batch over indexing with a boolean mask."),
        (lambda x: torch.masked_select(x, x > 0), "Attempted to vmap over `mask` in torch.masked_select(self, mask)"),
    ):
        with pytest.raises(RuntimeError, match=re.escape(words)):
            vmap(f)(X)


@pytest.mark.parametrize("name", ["vjp", "jvp", "hvp", "vhp", "jacobian", "hessian"])
@pytest.mark.parametrize("transform", [vmap, lambda f: jacrev(f), lambda f: lambda x: jvp(f, (x,), (x,))])
def test_the_older_functional_is_refused_while_transformed(name, transform):
    # It would cut what it computes from the transform's arguments: their derivative would be zero without a word.
    def f(x):
        along = (torch.ones_like(x),) if name in ("jvp", "hvp", "vhp") else ()
        return getattr(torch.autograd.functional, name)(lambda x: x.sin().sum(), x, *along)

    with pytest.raises(RuntimeError) as error:
        transform(f)(V)
    words = "requires_grad_() (or perhaps using torch.autograd.functional.* APIs)"
    assert str(error.value) == _INSIDE.format(words, "requires_grad_()")


def test_an_own_vmap_sees_the_tensors_of_nests():
    class First(torch.autograd.Function):
        @staticmethod
        def forward(x, nest):
            return x * nest["y"][0]

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x, nest):
            seen.append(in_dims)
            return torch.as_tensor(x) * nest["y"][0], 0

    seen = []
    assert close(vmap(lambda v: First.apply(2.0, {"y": [v, V]}))(V), 2 * V)
    assert close(vmap(lambda v: First.apply(v, {"y": (torch.tensor(2.0), None)}))(V), 2 * V)
    assert seen == [(None, {"y": [0, None]}), (0, {"y": (None, None)})]


def test_a_derivative_of_what_is_differentiable_once_is_refused_outside_too():
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])  # pyright: ignore[reportArgumentType]

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            return g * 3 * ctx.saved_tensors[0] ** 2

    x = V.clone().requires_grad_()
    (gradient,) = vjp(Cube.apply, x)[1](torch.ones(3, requires_grad=True))
    assert close(gradient.detach(), 3 * V**2)
    with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
        gradient.sum().backward()
