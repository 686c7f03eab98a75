"""Optimisers compared with PyTorch: a state moves from one library to the other, and training goes on."""

import numpy as np
import pytest

import torchlike
from tests.optim.algorithms import ALGORITHMS, make, problem, train

torch = pytest.importorskip("torch")


def numpy(tensor):
    return tensor.detach().numpy().copy()


def translated(value, to):
    """Returns a state dictionary with tensors of the other library."""
    if isinstance(value, dict):
        return {k: translated(v, to) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(translated(v, to) for v in value)
    return to.tensor(value.numpy().copy()) if hasattr(value, "numpy") else value


@pytest.mark.parametrize("name", [n for n in ALGORITHMS if "_" not in n and n != "Muon"])
@pytest.mark.parametrize(("here", "there"), [(torch, torchlike), (torchlike, torch)], ids=["from", "to"])
def test_a_state_goes_over_and_on(name: str, here, there):
    params, loss = problem(here, "float64")
    optimizer = make(here, name, params)
    train(optimizer, loss, 3)
    others, other_loss = problem(there, "float64")
    with there.no_grad():
        for mine, other in zip(params, others, strict=True):
            other.copy_(there.tensor(numpy(mine)))
    other = make(there, name, others)
    other.load_state_dict(translated(optimizer.state_dict(), there))
    optimizer.load_state_dict(optimizer.state_dict())  # which rounds if the state has other dtypes
    train(optimizer, loss, 3)
    train(other, other_loss, 3)
    for mine, theirs in zip(params, others, strict=True):
        np.testing.assert_allclose(numpy(theirs), numpy(mine), rtol=1e-10)


@pytest.mark.parametrize(("here", "there"), [(torch, torchlike), (torchlike, torch)], ids=["from", "to"])
def test_averages_and_their_schedule_go_over_in_a_file_and_on(here, there, tmp_path):
    def made(framework):
        framework.manual_seed(0)
        model = framework.nn.Sequential(framework.nn.Linear(2, 3), framework.nn.BatchNorm1d(3))
        optimizer = framework.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        averages = framework.optim.swa_utils
        schedule = averages.SWALR(optimizer, 0.05, anneal_epochs=4, anneal_strategy="linear")
        return model, averages.AveragedModel(model, use_buffers=True), optimizer, schedule

    def trained(framework, parts):
        model, average, optimizer, schedule = parts
        for number in range(3):
            optimizer.zero_grad()
            model(framework.arange(8.0).view(4, 2) + number).square().sum().backward()
            optimizer.step()
            average.update_parameters(model)
            schedule.step()
        return {name: numpy(tensor) for name, tensor in average.state_dict().items()}, schedule.state_dict()

    parts, others = made(here), made(there)
    trained(here, parts)
    here.save([part.state_dict() for part in parts], tmp_path / "states.pt")
    for other, state in zip(others, there.load(tmp_path / "states.pt"), strict=True):
        other.load_state_dict(state)
    (expected, schedule), (found, other_schedule) = trained(here, parts), trained(there, others)
    assert other_schedule == schedule and found.keys() == expected.keys()
    for name, array in found.items():
        np.testing.assert_allclose(array, expected[name], rtol=1e-4, atol=1e-5, err_msg=name)
