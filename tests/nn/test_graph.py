"""A module in flax's representation: variables linked to tensors, tied parameters, state in both directions, transformations."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

import torchlike as torch
from torchlike import nn


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Linear(3, 3, bias=False)
        self.leave = nn.Linear(3, 3, bias=False)
        self.leave.weight = self.enter.weight
        self.frozen = nn.Parameter(torch.ones(2), requires_grad=False)
        self.register_buffer("count", torch.zeros(2))
        self.note = "kept"

    def forward(self, x):
        return self.leave(self.enter(x)) + self.count.sum()


def test_parameters_are_params_and_buffers_variables():
    _, params, rest = nnx.split(Tied(), nnx.Param, ...)
    assert sorted(params) == ["enter", "frozen"]  # a tied parameter is listed where it occurs first
    assert sorted(rest) == ["count"]
    assert isinstance(params["enter"]["weight"], nnx.Param)
    assert isinstance(rest["count"], nnx.Variable)
    assert not isinstance(rest["count"], nnx.Param)


def test_merging_gives_a_module_of_its_own_with_all_that_it_had():
    model, x = Tied(), torch.ones(2, 3)
    again = nnx.merge(*nnx.split(model), copy=True)  # without a copy the parameters are shared, as in flax
    assert again.enter.weight is again.leave.weight is not model.enter.weight
    assert again.note == "kept"
    assert again.frozen.requires_grad is False
    assert list(again.state_dict()) == list(model.state_dict())
    assert torch.equal(again(x), model(x))
    with torch.no_grad():
        again.count.add_(1)
    assert model.count.tolist() == [0.0, 0.0]


def test_graph_definitions_of_one_module_are_equal_until_it_changes():
    model = Tied()
    before, now = nnx.graphdef(model), nnx.graphdef(model)
    assert before == now
    assert hash(before) == hash(now)
    model.note = "changed"
    assert nnx.graphdef(model) != before


def test_an_update_is_seen_by_the_tensors_and_a_step_by_the_variables():
    model = Tied()
    ones = jax.tree.map(jnp.ones_like, nnx.state(model, nnx.Param))
    weight = model.enter.weight
    nnx.update(model, ones)
    assert model.enter.weight is weight
    assert model.leave.weight.tolist() == np.ones((3, 3)).tolist()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    np.testing.assert_array_equal(nnx.state(model)["enter"]["weight"][...], weight.detach().numpy())


def test_jit_runs_a_model_and_brings_changes_back():
    model = Tied()

    @nnx.jit
    def call(model, x):
        with torch.no_grad():
            model.count.add_(1)
        return model(torch.from_jax(x)).jax

    expected = model(torch.ones(2, 3)).detach().numpy() + 2
    np.testing.assert_allclose(call(model, jnp.ones((2, 3))), expected, rtol=1e-6)
    assert model.count.tolist() == [1.0, 1.0]
    assert model.enter.weight is model.leave.weight


def test_a_member_may_have_the_name_of_a_flax_method():
    model = nn.Module()
    model.perturb = nn.ReLU()
    model.register_parameter("sow", nn.Parameter(torch.ones(1)))
    assert type(model.perturb) is nn.ReLU
    assert model.sow.item() == 1.0
    assert callable(nn.Module().perturb)


def test_clone_and_display(capsys):
    model = nn.Linear(2, 1)
    clone = nnx.clone(model)
    assert torch.equal(clone.weight, model.weight)
    assert clone.weight is not model.weight
    nnx.display(model)
    assert capsys.readouterr().out == "Linear(in_features=2, out_features=1, bias=True)\n"
