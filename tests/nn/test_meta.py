"""Modules on the meta device are made without memory and get memory and values later. The messages are those of PyTorch 2.13."""

import copy
import re
import warnings

import pytest

import torchlike as torch
from torchlike import nn

pytestmark = pytest.mark.recorded


def shown(module):
    return {name: (p.device.type, tuple(p.shape), p.requires_grad) for name, p in module.named_parameters()}


def test_a_module_is_made_without_memory():
    big = nn.Linear(10**6, 10**6, device="meta")
    assert sum(p.numel() for p in big.parameters()) == 10**12 + 10**6
    with torch.device("meta"):
        model = nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 10), nn.Dropout()
        )  # fmt: skip
        lstm = nn.LSTM(3, 4, 2, dropout=0.5)
        layer = nn.TransformerEncoderLayer(8, 2, 16)
    assert all(t.is_meta for t in model.state_dict().values())
    assert model(torch.ones(2, 3, 8, 8, device="meta")).shape == (2, 10)
    assert lstm(torch.ones(5, 2, 3, device="meta"))[1][0].shape == (2, 2, 4)
    assert layer(torch.ones(5, 2, 8, device="meta")).is_meta
    assert model(torch.ones(2, 3, 8, 8, device="meta")).grad_fn is not None


def test_to_empty_allocates_memory_and_to_refuses():
    model = nn.Linear(2, 3, device="meta")
    words = (
        "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving "
        "module from meta to a different device."
    )
    with pytest.raises(NotImplementedError, match=re.escape(words)):
        model.to("cpu")
    model.to_empty(device="cpu")
    assert shown(model) == {"weight": ("cpu", (3, 2), True), "bias": ("cpu", (3,), True)}
    model.reset_parameters()
    assert model(torch.ones(1, 2)).isfinite().all()


def test_a_move_to_meta_makes_other_parameters():
    model = nn.Linear(2, 3)
    before = model.weight
    model(torch.ones(1, 2)).sum().backward()
    model.to("meta")
    assert model.weight is not before and before.device.type == "cpu"
    assert model.weight.is_meta and model.weight.requires_grad and model.weight.grad.is_meta
    assert isinstance(copy.deepcopy(model).half().weight, nn.Parameter)


def test_a_state_dict_is_assigned_or_ignored():
    state = nn.Linear(2, 3).state_dict()
    model = nn.Linear(2, 3, device="meta")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.load_state_dict(state)
    assert str(caught[0].message).startswith(
        "for weight: copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, which is a no-op. "
    )
    assert model.weight.is_meta
    model.load_state_dict(state, assign=True)
    assert torch.equal(model.weight, state["weight"]) and isinstance(model.weight, nn.Parameter)
    with pytest.raises(RuntimeError, match=re.escape("Cannot copy out of meta tensor; no data!")):
        model.load_state_dict(nn.Linear(2, 3, device="meta").state_dict())


def test_parameters_are_moved_as_they_are_registered(monkeypatch):
    register = nn.Module.register_parameter

    def on_meta(module, name, param):  # what the library accelerate does in init_empty_weights
        register(module, name, param)
        if param is not None:
            own = module._parameters[name]
            module._parameters[name] = type(own)(own.to("meta"), **own.__dict__, requires_grad=param.requires_grad)

    with monkeypatch.context() as patch:
        patch.setattr(nn.Module, "register_parameter", on_meta)
        model = nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3))
    assert {kind for kind, _, _ in shown(model).values()} == {"meta"}


@pytest.mark.parametrize(
    "name",
    [
        "uniform_",
        "normal_",
        "trunc_normal_",
        "ones_",
        "zeros_",
        "eye_",
        "xavier_uniform_",
        "kaiming_normal_",
        "orthogonal_",
    ],
)
def test_initialisers_leave_meta_parameters_unchanged(name):
    state = torch.get_rng_state()
    weight = torch.empty(3, 4, device="meta")
    assert getattr(nn.init, name)(weight) is weight and weight.shape == (3, 4)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam])
def test_a_training_step_has_shapes(optimizer):
    model = nn.Sequential(nn.Linear(2, 3), nn.Dropout(), nn.Linear(3, 1)).to("meta")
    steps = optimizer(model.parameters(), lr=0.1)
    model(torch.ones(4, 2, device="meta")).mean().backward()
    steps.step()
    assert all(p.is_meta and p.grad.is_meta for p in model.parameters())
    steps.zero_grad()
