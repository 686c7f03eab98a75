"""The data layer against PyTorch itself: the recorded programs, larger orders, and the bytes of ToTensor."""

import json

import numpy as np
import pytest

import torchlike
from tests.utils.data.scenarios import COLLATE, CONVERT, ERRORS, SCENARIOS, outcome

pytorch = pytest.importorskip("torch")

pytestmark = pytest.mark.compare


def plain(value):
    return json.loads(json.dumps(value))


# PyTorch's workers are forks, and a process in which JAX runs must not fork: those programs have recorded results only.
@pytest.mark.parametrize("name", [name for name in SCENARIOS if "worker" not in name])
def test_orders(name):
    assert plain(SCENARIOS[name](torchlike)) == plain(SCENARIOS[name](pytorch))


@pytest.mark.parametrize(("table", "name"), [(t, n) for t in (COLLATE, CONVERT, ERRORS) for n in t])
def test_batches_and_errors(table, name):
    assert outcome(table[name], torchlike) == outcome(table[name], pytorch)


def test_epochs_of_the_size_of_mnist():
    def epochs(torch):
        torch.manual_seed(1)
        loader = torch.utils.data.DataLoader(range(60000), 1000, shuffle=True, collate_fn=list)
        return [[list(batch) for batch in loader] for _ in range(2)]

    assert epochs(torchlike) == epochs(pytorch)


def test_to_tensor_divides_as_pytorch_does():
    from torchlike.vision.transforms import ToTensor

    every = np.arange(256, dtype=np.uint8).reshape(16, 16)
    wanted = pytorch.from_numpy(every).to(pytorch.float32).div(255)
    assert ToTensor()(every).tolist() == [wanted.tolist()]
