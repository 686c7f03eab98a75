"""Checkpoints of tensors, whole modules and optimizers that torchlike saves load in PyTorch, and the other way round."""

import importlib
import inspect
import io
import warnings
from typing import Any

import numpy as np
import pytest

import torchlike
from tests.nn.modules.layers import LAYERS, SEED
from tests.serialization.cases import CASES, DTYPES, LEGACY, described, trained

pytorch = pytest.importorskip("torch")

pytestmark = pytest.mark.compare


def carried(value, writer, reader, *, legacy=False, **options):
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a warning of PyTorch about its own storages
        writer.save(value, file, _use_new_zipfile_serialization=not legacy)
        file.seek(0)
        return reader.load(file, **options)


@pytest.mark.parametrize(("name", "legacy"), [(n, False) for n in CASES] + [(n, True) for n in LEGACY])
@pytest.mark.parametrize("weights_only", [True, False])
def test_both_ways(name, legacy, weights_only):
    for writer, reader in ((torchlike, pytorch), (pytorch, torchlike)):
        value = CASES[name](writer)
        found = carried(value, writer, reader, legacy=legacy, weights_only=weights_only)
        assert described(found) == described(value)


def test_training_is_carried_over_and_goes_on_the_same():
    x = [[1.0, 2.0], [3.0, -1.0], [0.5, 0.0]]
    for writer, reader in ((torchlike, pytorch), (pytorch, torchlike)):
        model, optimizer = trained(writer)
        other, other_optimizer = trained(reader)
        state = carried({"m": model.state_dict(), "o": optimizer.state_dict()}, writer, reader)
        other.load_state_dict(state["m"])
        other_optimizer.load_state_dict(state["o"])
        results = []
        for torch, m, o in ((writer, model, optimizer), (reader, other, other_optimizer)):
            for _ in range(3):
                m(torch.tensor(x)).square().sum().backward()
                o.step()
                o.zero_grad()
            results.append([p.detach().numpy() for p in m.parameters()])
        for mine, theirs in zip(*results, strict=True):
            assert abs(mine - theirs).max() < 1e-5


def outcome(torch, layer, model):
    torch.manual_seed(SEED)
    found = model.eval()(*layer.inputs(torch))
    return [
        each.detach().numpy() for each in (found if isinstance(found, tuple) else (found,)) if hasattr(each, "detach")
    ]


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name)
def test_whole_modules_both_ways(layer):
    for writer, reader in ((torchlike, pytorch), (pytorch, torchlike)):
        writer.manual_seed(SEED)
        model = layer.make(writer)
        found = carried(model, writer, reader, weights_only=False)
        assert repr(found) == repr(layer.make(reader))
        for mine, theirs in zip(outcome(writer, layer, model), outcome(reader, layer, found), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)


def test_a_whole_optimizer_both_ways():
    for writer, reader in ((torchlike, pytorch), (pytorch, torchlike)):
        _, optimizer = trained(writer)
        found = carried(optimizer, writer, reader, weights_only=False)
        assert type(found) is reader.optim.Adam
        assert described(found.state_dict()) == described(optimizer.state_dict())
        found.step()


PUBLIC = [
    (space, name)
    for space in ("nn", "optim", "optim.lr_scheduler")
    for name, value in vars(importlib.import_module(f"torchlike.{space}")).items()
    if inspect.isclass(value)
    and hasattr(importlib.import_module(f"torch.{space}"), name)
    and not name.startswith("_")
    and value.__module__.startswith(f"torchlike.{space}")
]


@pytest.mark.parametrize(("space", "name"), PUBLIC)
def test_a_class_is_written_under_the_name_that_pytorch_writes(space, name):
    from torchlike.serialization._names import full_name

    mine = getattr(importlib.import_module(f"torchlike.{space}"), name)
    theirs = getattr(importlib.import_module(f"torch.{space}"), name)
    assert full_name(mine) == f"{theirs.__module__}.{theirs.__qualname__}"


def test_safetensors_both_ways():
    theirs = pytest.importorskip("safetensors.torch")
    import torchlike.safetensors as mine

    names = [name for name in DTYPES if name != "complex128"]
    made = [{n: torch.tensor([0, 1]).to(getattr(torch, n)) for n in names} for torch in (torchlike, pytorch)]
    read, written = theirs.load(mine.save(made[0])), mine.load(theirs.save(made[1]))
    for name in names:
        assert described(read[name]) == described(made[1][name])
        assert described(written[name]) == described(made[0][name])


def test_pytorch_maps_our_files(tmp_path):
    value = CASES["views"](torchlike)
    torchlike.save(value, tmp_path / "x.pt")
    assert described(pytorch.load(tmp_path / "x.pt", mmap=True)) == described(value)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_every_protocol_is_pytorchs(protocol):
    file, value = io.BytesIO(), CASES["containers"](torchlike)
    torchlike.save(value, file, pickle_protocol=protocol)
    file.seek(0)
    assert described(pytorch.load(file, weights_only=False)) == described(value)


OPTIMIZERS: dict[str, dict[str, Any]] = {
    "Adadelta": {}, "Adafactor": {}, "Adagrad": {}, "Adam": {"amsgrad": True}, "Adamax": {}, "AdamW": {}, "ASGD": {}, "LBFGS": {},
    "Muon": {}, "NAdam": {}, "RAdam": {}, "RMSprop": {}, "Rprop": {}, "SGD": {"momentum": 0.9},
}  # fmt: skip


# PyTorch's LBFGS loses its parameters when it is pickled.
@pytest.mark.parametrize(
    ("name", "whole"), [(name, False) for name in OPTIMIZERS] + [(name, True) for name in OPTIMIZERS if name != "LBFGS"]
)
def test_every_optimizer_goes_on_across(name, whole):
    def stepped(torch):
        parameter = torch.nn.Parameter(torch.arange(6.0).reshape(2, 3))
        optimizer = getattr(torch.optim, name)([parameter], lr=0.01, **OPTIMIZERS[name])
        step(optimizer)
        return optimizer

    def step(optimizer):
        (parameter,) = optimizer.param_groups[0]["params"]

        def closure():
            optimizer.zero_grad()
            loss = (parameter - 1).square().sum()
            loss.backward()
            return loss

        optimizer.step(closure)

    for writer, reader in ((torchlike, pytorch), (pytorch, torchlike)):
        optimizer, other = stepped(writer), stepped(reader)
        if whole:
            other = carried(optimizer, writer, reader, weights_only=False)
        else:
            other.load_state_dict(carried(optimizer.state_dict(), writer, reader))
        assert type(other) is getattr(reader.optim, name)
        for each in (optimizer, other):
            step(each)
        mine, theirs = (each.param_groups[0]["params"][0].detach().numpy() for each in (optimizer, other))
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)
