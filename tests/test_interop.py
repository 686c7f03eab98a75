"""Tensors in JAX's functions and transformations, JAX's functions in a torchlike graph, and memory exchanged by DLPack."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import torchlike as torch
import torchlike.nn.functional as F
from torchlike.utils import dlpack


def x():
    return torch.tensor([[1.0, -2.0], [3.0, 0.5]])


@pytest.mark.parametrize(
    "function",
    [jnp.sin, jnp.sum, jnp.linalg.norm, jnp.asarray, lambda a: jnp.dot(a, a), lambda a: jnp.where(a > 0, a, 0),
     lambda a: jnp.concatenate([a, a]), lambda a: jnp.ones(2) + a, lambda a: jnp.einsum("ij,kj->ik", a, a)],
)  # fmt: skip
def test_functions_of_jax_take_tensors(function):
    np.testing.assert_array_equal(function(x()), function(jnp.asarray(x().numpy())))


def test_jit_takes_and_returns_tensors_in_containers():
    traced = []

    @jax.jit
    def f(tensors, factor):
        traced.append(1)
        return {"relu": tensors["a"].relu() * factor, "both": [tensors["a"] @ tensors["b"]]}

    for _ in range(2):
        out = f({"a": x(), "b": x()}, torch.tensor(2.0))
    assert type(out["relu"]) is torch.Tensor and len(traced) == 1
    assert torch.equal(out["relu"], x().relu() * 2) and torch.equal(out["both"][0], x() @ x())


def gradient_of(tensor: torch.Tensor) -> torch.Tensor:
    assert tensor.grad is not None
    return tensor.grad


def test_jit_without_64_bit_types_trains_a_classifier():
    layer = torch.nn.Linear(4, 3)

    @jax.jit
    def gradients(parameters, data, labels):
        tensors = {name: torch.from_jax(array).requires_grad_() for name, array in parameters.items()}
        scores = torch.func.functional_call(layer, tensors, (torch.from_jax(data),))
        assert scores.argmax(1).dtype is torch.int64
        torch.nn.functional.cross_entropy(scores, torch.from_jax(labels).long()).backward()
        return {name: torch.to_jax(gradient_of(tensor)) for name, tensor in tensors.items()}

    data, labels = torch.randn(5, 4), torch.tensor([0, 1, 2, 1, 0])
    torch.nn.functional.cross_entropy(layer(data), labels).backward()
    arrays = {name: torch.to_jax(parameter.detach()) for name, parameter in layer.named_parameters()}
    found = gradients(arrays, torch.to_jax(data), jnp.asarray(labels.numpy().astype(np.int32)))
    for name, parameter in layer.named_parameters():
        np.testing.assert_allclose(found[name], gradient_of(parameter).numpy(), rtol=1e-5, atol=1e-6)


def test_vmap_maps_over_the_rows_of_tensors():
    out = jax.vmap(lambda row, other: (row * other).sum())(x(), x())
    assert torch.equal(out, (x() * x()).sum(1))


def test_grad_and_vjp_give_tensors():
    gradient = jax.grad(lambda a: (a**3).sum().jax)(x())
    assert isinstance(gradient, torch.Tensor) and torch.equal(gradient, 3 * x() ** 2)
    out, pull = jax.vjp(lambda a: a * a, x())
    (pulled,) = pull(out)
    assert torch.allclose(pulled, 2 * x() ** 3)


def test_parameters_stay_parameters():
    layer = torch.nn.Linear(2, 1)
    params = dict(layer.named_parameters())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gradients = jax.grad(lambda p: torch.func.functional_call(layer, p, (x(),)).sum().jax)(params)
    assert {name: type(g).__name__ for name, g in gradients.items()} == {"weight": "Parameter", "bias": "Parameter"}
    updated = jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients)
    layer(x()).sum().backward()
    assert layer.weight.grad is not None
    expected = layer.weight.detach() - 0.1 * layer.weight.grad
    assert torch.allclose(updated["weight"].detach(), expected)


def test_a_tree_of_shapes_has_shapes_in_the_places_of_tensors():
    assert jax.tree.map(jnp.shape, {"a": x()}) == {"a": (2, 2)}
    assert jax.eval_shape(lambda a: a.sum(0), x()).shape == (2,)


# ---- functions of JAX


def test_a_function_of_jax_has_derivatives_of_first_and_second_order():
    f = torch.jax_function(lambda a, b, power=2: jnp.sin(a) * b**power)
    a = torch.tensor([0.3, -1.0], dtype=torch.float64, requires_grad=True)
    b = torch.tensor([2.0, 0.7], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda a, b: f(a, b, power=3), (a, b))
    assert torch.autograd.gradgradcheck(lambda a, b: f(a, b, power=3), (a, b))
    assert f(a, b).grad_fn.name() == "JaxFunctionBackward0" and f(a, b).dtype is torch.float64


def test_containers_may_have_a_structure_that_depends_on_shapes():
    @torch.jax_function
    def rows(tensors, factor, *, names):
        return {name: row * factor + tensors["shift"] for name, row in zip(names, tensors["a"], strict=False)}

    for _ in range(2):
        three = rows({"a": torch.ones(3, 2), "shift": torch.zeros(2)}, 2.0, names=("p", "q", "r"))
        two = rows({"a": torch.ones(2, 2), "shift": torch.ones(2)}, 2.0, names=("p", "q", "r"))
        assert list(three) == ["p", "q", "r"] and three["r"].tolist() == [2, 2]
        assert list(two) == ["p", "q"] and two["q"].tolist() == [3, 3]


def test_other_arguments_are_constants_told_apart_by_type():
    f = torch.jax_function(lambda a, n: jnp.full(a.shape, n))
    a = torch.tensor([1, 2])
    assert [f(a, n).tolist() for n in (1, 1.0, True, 2)] == [[1, 1], [1.0, 1.0], [True, True], [2, 2]]
    assert [f(a, n).dtype.is_floating_point for n in (1, 1.0, True)] == [False, True, False]
    with pytest.raises(TypeError, match="an argument of type ndarray is no tensor and cannot be hashed"):
        f(a, np.ones(2))
    with pytest.raises(TypeError, match="returned a str, which is not an array"):
        torch.jax_function(lambda a: "text")(a)


def test_a_call_without_tensors():
    assert torch.jax_function(lambda n: jnp.arange(n))(3).tolist() == [0, 1, 2]


@pytest.mark.recorded
def test_a_jax_function_is_part_of_the_compiled_step():
    f = torch.jax_function(lambda a: jnp.tanh(a))
    layer = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)

    def step():
        loss = f(layer(x())).square().sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.item()

    first, *_ = [step() for _ in range(5)]
    before = torch.explain()
    last = [step() for _ in range(20)][-1]
    after = torch.explain()
    assert last < first / 2 and after.compiles == before.compiles and after.segments - before.segments <= 40


# ---- DLPack, and flax's tabulate


def test_memory_goes_both_ways_by_dlpack():
    assert torch.from_dlpack(jnp.arange(3.0)).tolist() == [0, 1, 2]
    assert jax.dlpack.from_dlpack(x()).tolist() == x().tolist()
    assert jax.dlpack.from_dlpack(x().t()).tolist() == x().t().tolist()
    shared = x()
    array = np.arange(3.0)
    tensor = torch.from_dlpack(array)
    array[0] = 7
    assert tensor.tolist() == [7, 1, 2] and tensor.dtype is torch.float64
    assert dlpack.from_dlpack(dlpack.to_dlpack(shared)).tolist() == shared.tolist()


@pytest.fixture
def methods_restored():
    """Removes the methods that flax's ``tabulate`` leaves on each class: copies of inherited ones."""
    classes = (torch.nn.Sequential, torch.nn.Linear, torch.nn.ReLU, torch.nn.Parameter, torch.Tensor)
    own = {cls: set(vars(cls)) for cls in classes}
    yield
    for cls in classes:
        for name in set(vars(cls)) - own[cls]:
            delattr(cls, name)


@pytest.mark.usefixtures("methods_restored")
def test_flax_prints_the_table_of_a_module(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    model = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.ReLU(), torch.nn.Linear(4, 3))
    before = model(x())
    table = nnx.tabulate(model, x(), console_kwargs={"force_terminal": False, "width": 120})
    assert "float32[2,4]" in table and "Total Parameters: 27" in table
    assert torch.equal(model(x()), before)


OF_WHOLE_NUMBERS = {
    "embedding": lambda w, i: F.embedding(i, w),
    "embedding with a padding index": lambda w, i: F.embedding(i, w, padding_idx=1),
    "embedding scaled by frequency": lambda w, i: F.embedding(i, w, scale_grad_by_freq=True),
    "embedding_bag": lambda w, i: F.embedding_bag(i, w, torch.tensor([0, 2])),
    "max": lambda w, i: w.max(0)[0],
    "argmax": lambda w, i: w.gather(1, w.argmax(1, keepdim=True)),
    "scatter_reduce": lambda w, i: torch.ones(5, 3).scatter_reduce(0, i[:, None].expand(3, 3), w[:3], "prod"),
}


# JAX says that it has no 64-bit types where it differentiates.
@pytest.mark.filterwarnings("ignore:Explicitly requested dtype")
@pytest.mark.parametrize("name", OF_WHOLE_NUMBERS)
def test_int64_works_in_traces_of_jax_that_have_no_64_bit_types(name):
    """The gradient as well, and what JAX does when the trace is lowered, outside of torchlike."""

    def loss(weight, indices):
        out = OF_WHOLE_NUMBERS[name](torch.from_jax(weight), torch.from_jax(indices).long())
        return torch.to_jax(out.square().sum())

    assert jnp.arange(1).dtype == "int32"
    weight, indices = torch.arange(15.0).reshape(5, 3).sin().requires_grad_(), torch.tensor([0, 2, 1])
    OF_WHOLE_NUMBERS[name](weight, indices).square().sum().backward()
    w, i = jnp.asarray(weight.detach().numpy()), jnp.array([0, 2, 1])
    for gradient in (jax.grad(loss), jax.jit(jax.grad(loss))):
        np.testing.assert_allclose(gradient(w, i), weight.grad.numpy(), rtol=1e-5, atol=1e-6)
    rows = jax.jit(jax.vmap(jax.grad(loss)))(jnp.stack([w, w]), jnp.stack([i, i]))
    np.testing.assert_allclose(rows[1], weight.grad.numpy(), rtol=1e-5, atol=1e-6)
