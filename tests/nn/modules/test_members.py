"""Parameters and buffers that a class declares: they are found where PyTorch finds them, whatever a program does to the module."""

import pytest

import torchlike as torch
from torchlike import nn
from torchlike.nn import functional as F

DECLARED = [
    (nn.Linear(2, 3), ["weight", "bias"]),
    (nn.Bilinear(2, 3, 4), ["weight", "bias"]),
    (nn.Conv2d(2, 3, 1), ["weight", "bias"]),
    (nn.BatchNorm1d(2), ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"]),
    (nn.LayerNorm(2), ["weight", "bias"]),
    (nn.GroupNorm(1, 2), ["weight", "bias"]),
    (nn.RMSNorm(2), ["weight"]),
    (nn.Embedding(2, 3), ["weight"]),
    (nn.EmbeddingBag(2, 3), ["weight"]),
    (nn.CrossEntropyLoss(torch.ones(3)), ["weight"]),
    (nn.BCEWithLogitsLoss(torch.ones(3), pos_weight=torch.ones(3)), ["weight", "pos_weight"]),
    (nn.MultiheadAttention(2, 1), ["in_proj_weight", "in_proj_bias"]),
]


@pytest.mark.parametrize(("module", "name"), [(m, name) for m, names in DECLARED for name in names])
def test_a_declared_member_is_found_and_belongs_to_no_class(module, name):
    registered = {**module._parameters, **module._buffers}[name]
    assert getattr(module, name) is registered
    assert not hasattr(type(module), name)
    with pytest.raises(AttributeError, match=f"type object '{type(module).__name__}' has no attribute '{name}'"):
        getattr(type(module), name)


def linear(weight: float) -> nn.Linear:
    module = nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        module.weight.fill_(weight)
    return module


def test_what_the_program_sets_instead_of_a_parameter_is_used():
    module, x = linear(2.0), torch.ones(1)
    del module.weight
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'weight'"):
        module(x)
    for value in (5.0, 3.0):
        module.weight = torch.full((1, 1), value)
        assert module(x).item() == value
    module.__dict__["weight"] = torch.full((1, 1), 7.0)
    assert module(x).item() == 7.0
    del module.weight
    module.weight = nn.Parameter(torch.full((1, 1), 4.0))
    assert module(x).item() == 4.0 and list(module._parameters) == ["bias", "weight"]


def test_an_entry_of_the_tables_is_seen_at_once():
    module, x = linear(2.0), torch.ones(1)
    module._parameters["bias"] = nn.Parameter(torch.ones(1))
    assert module(x).item() == 3.0
    del module._parameters["weight"]
    module.register_buffer("weight", torch.full((1, 1), 6.0))
    assert module(x).item() == 7.0
    loss = nn.CrossEntropyLoss()
    logits, target = torch.tensor([[0.0, 1.0]]), torch.tensor([0])
    assert loss.weight is None
    loss.weight = torch.tensor([0.5, 1.0])
    assert torch.equal(loss(logits, target), F.cross_entropy(logits, target, weight=torch.tensor([0.5, 1.0])))


def test_a_subclass_decides_itself():
    class Doubled(nn.Linear):
        def __getattr__(self, name):
            found = super().__getattr__(name)
            return found * 2 if name == "weight" else found

    x = torch.ones(1)
    doubled = Doubled(1, 1)
    assert torch.equal(doubled.weight, doubled._parameters["weight"] * 2)
    assert torch.allclose(doubled(x), doubled.weight[0] + doubled.bias)


def test_a_patched_getattr_is_asked(monkeypatch):
    """As ``torch.fx`` does while it traces a module."""
    module, asked, original = linear(2.0), [], nn.Module.__getattr__

    def seen(self, name):
        asked.append(name)
        return original(self, name)

    monkeypatch.setattr(nn.Module, "__getattr__", seen)
    module(torch.ones(1))
    assert asked == ["weight", "bias"]


def test_parametrizations_come_and_go():
    class Negative(nn.Module):
        def forward(self, weight):
            return -weight

    module, x = linear(2.0), torch.ones(1)
    nn.utils.parametrize.register_parametrization(module, "weight", Negative())
    assert module(x).item() == -2.0
    nn.utils.parametrize.remove_parametrizations(module, "weight", leave_parametrized=False)
    assert module(x).item() == 2.0


def test_a_module_without_tables_has_no_members():
    bare = nn.Linear.__new__(nn.Linear)
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'weight'"):
        _ = bare.weight
