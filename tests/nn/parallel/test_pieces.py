"""The functions that DataParallel consists of: scatter, replicate, parallel_apply, gather. All devices are the CPU here."""

import pytest

import torchlike as torch
from torchlike.nn import parallel

pytestmark = pytest.mark.recorded


def test_batches_are_split_and_put_together():
    x = torch.arange(5)
    parts = parallel.scatter(x, ["cpu", "cpu"])
    assert [p.tolist() for p in parts] == [[0, 1, 2], [3, 4]]
    spread = parallel.scatter({"x": x, "n": 3, "pair": (x, [x])}, ["cpu", "cpu"])
    assert spread[1]["n"] == 3 and spread[1]["pair"][1][0].tolist() == [3, 4]
    assert parallel.gather([{"x": p} for p in parts], "cpu")["x"].tolist() == [0, 1, 2, 3, 4]
    assert parallel.gather([torch.tensor(1.0), torch.tensor(2.0)], "cpu").tolist() == [1.0, 2.0]


def test_copies_send_their_gradients_back():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    copies = parallel.replicate(model, ["cpu", "cpu"])
    assert copies[0][0].weight.grad_fn is not None and isinstance(model[0].weight, torch.nn.Parameter)
    x = torch.randn(8, 2)
    outs = parallel.parallel_apply(copies, parallel.scatter(x, ["cpu", "cpu"]))
    parallel.gather(outs, "cpu").square().sum().backward()
    assert model[0].weight.grad is not None and model[0].weight.grad.shape == (3, 2)
