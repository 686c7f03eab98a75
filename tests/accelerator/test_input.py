"""Batches on their way to a device, and losses that are read a step late: the device always has something to do."""

import numpy as np
import pytest

import torchlike as torch
from torchlike import nn
from torchlike.accelerator import described as accelerator_described
from torchlike.dispatch import moving
from torchlike.engine import aval, described

pytestmark = pytest.mark.recorded


def training(device):
    """A function of a batch that does a step and returns the loss unread."""
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 4)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x, y):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


@pytest.mark.parametrize("ready", [False, True])
def test_a_loss_that_is_read_a_step_late_is_waited_for_when_the_next_step_runs(monkeypatch, ready):
    monkeypatch.setattr(accelerator_described, "_chips", lambda topology: aval.jax_devices("cpu")[:1])
    monkeypatch.setattr(described.Absent, "is_ready", lambda array: ready)
    runs = []
    with torch.compiled_for("tpu:v5e:2x2") as compiled:
        step, late = training("tpu"), None
        for _ in range(6):
            loss = step(torch.ones(8, 64).to("tpu"), torch.zeros(8, dtype=torch.int64).to("tpu"))
            if late is not None:
                late.item()
            runs.append(compiled.programs[-1].runs if compiled.programs else 0)
            late = loss
    # The last number counts the step of this round if its run has begun.
    steps_begun = [runs[-1] - before for before in runs[-2::-1]]
    assert steps_begun[:2] == [1, 2]
    assert compiled.programs[-1].runs - runs[-1] == (1 if ready else 0)


def test_what_is_sent_ahead_begins_its_way_at_once(device, monkeypatch):
    sent = []
    monkeypatch.setattr(
        moving, "put", lambda array, placement, put=moving.put: sent.append(array.nbytes) or put(array, placement)
    )
    x = torch.randn(256, 128)
    assert np.array_equal(x.to(device, non_blocking=True).cpu().numpy(), x.numpy()) and sent == [4 * 256 * 128]
    x.to(device)
    x[:1].to(device, non_blocking=True)  # small
    torch.zeros(10**5, dtype=torch.int64).to(device, non_blocking=True)  # may be an index, which is checked on the host
    assert len(sent) == 1


@pytest.mark.parametrize("pinned", [False, True])
def test_the_next_batch_of_a_loader_travels_while_the_step_runs(device, monkeypatch, pinned):
    """A trace of a loop: when a batch is sent, the step before is on the device and has not ended."""
    trace, losses = [], []

    def put(array, placement, put=moving.put):
        if losses:
            computed = losses[-1]._value().array
            trace.append(computed is not None and not computed.is_ready())
        return put(array, placement)

    monkeypatch.setattr(moving, "put", put)
    first, middle, last = (nn.Linear(n, m).to(device) for n, m in ((64, 1024), (1024, 1024), (1024, 4)))
    optimizer = torch.optim.SGD([p for layer in (first, middle, last) for p in layer.parameters()], lr=0.01)
    data = torch.utils.data.TensorDataset(torch.randn(5 * 512, 64), torch.zeros(5 * 512, dtype=torch.int64))
    for x, y in torch.utils.data.DataLoader(data, batch_size=512, pin_memory=pinned):
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        hidden = first(x)
        for _ in range(8):  # of a GFLOP each, and two more for the derivatives
            hidden = middle(hidden).relu()
        loss = nn.functional.cross_entropy(last(hidden), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.detach())
    assert len(trace) == 4 and all(trace[1:]), trace
    assert np.isfinite([loss.item() for loss in losses]).all()


def test_what_was_sent_ahead_does_not_see_later_writes(device):
    host = np.ones((512, 512), np.float32)
    x = torch.from_numpy(host)
    there = x.to(device, non_blocking=True)
    x.add_(1)
    x.sum().item()
    host[:] = 7
    assert (there == 1).all().item()


def test_batches_sent_ahead_train_as_others_do(device):
    def losses(non_blocking):
        torch.manual_seed(0)
        step, read, late = training(device), [], None
        for k in range(8):
            x = torch.full((512, 64), k / 8).to(device, non_blocking=non_blocking)
            loss = step(x, torch.full((512,), k % 4).to(device, non_blocking=non_blocking))
            if late is not None:
                read.append(late.item())
            late = loss
        return [*read, late.item()]

    assert losses(True) == losses(False)
