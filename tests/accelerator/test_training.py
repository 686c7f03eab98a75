"""Training on an accelerator: the losses of the CPU, mixed precision, and operations that must not wait for the device."""

from typing import Any

import numpy as np
import pytest

import torchlike as torch
from benchmarks.models import CASES
from torchlike import nn
from torchlike.engine import checks, tiers
from torchlike.utils.data import DataLoader, TensorDataset

pytestmark = pytest.mark.recorded


def losses(name: str, device: str, *, half: bool = False) -> list[float]:
    case = CASES[name]
    torch.manual_seed(0)
    model, loss_fn = case.model(torch)
    model = model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    X, y = (torch.from_numpy(array).to(device) for array in case.data())
    found = []
    for _ in range(3):
        with torch.autocast(device, dtype=torch.bfloat16, enabled=half):
            loss = loss_fn(model(X), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        found.append(loss.item())
    return found


def test_losses_are_those_of_the_cpu(case: str, device: str):
    np.testing.assert_allclose(losses(case, device), losses(case, "cpu"), rtol=2e-3)


def test_losses_in_bfloat16_are_near(case: str, device: str):
    np.testing.assert_allclose(losses(case, device, half=True), losses(case, "cpu"), rtol=5e-2)


def test_autocast_computes_products_in_bfloat16(device: str):
    x = torch.ones(4, 4, device=device)
    with torch.autocast(device, dtype=torch.bfloat16):
        assert (x @ x).dtype is torch.bfloat16 and (x + x).dtype is torch.float32


def loop(device: str, *, draw: bool = False, read: bool = False) -> tuple[list[float], int]:
    """Returns the losses of a loop that reads them at its end, or each one a step later, and how many programs ran."""
    torch.manual_seed(0)
    model = nn.Linear(8, 4).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    X, kept, found = torch.ones(16, 8, device=device), [], []
    before = torch.explain().segments
    for _ in range(6):
        noise = torch.randn(16, 8, device=device) if draw else 0
        loss = model(X + noise).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if read and kept:
            found.append(kept.pop(0).item())
        kept.append(loss.detach())
    return found + [each.item() for each in kept], torch.explain().segments - before


def test_reading_a_loss_a_step_late_cuts_no_step_in_two(device: str):
    wanted, programs = loop(device)
    found, with_reads = loop(device, read=True)
    assert (found, with_reads) == (wanted, programs)


def test_random_numbers_are_drawn_while_the_device_works(device: str):
    _, programs = loop(device)
    assert loop(device, draw=True)[1] == programs
    x = torch.ones(4, 4, device=device)
    pending = x @ x
    torch.rand(4, device=device)
    nn.functional.dropout(x)
    assert pending._value().array is None  # this did not compute it


def test_random_numbers_follow_the_seed(device: str):
    def draw() -> list[float]:
        torch.manual_seed(3)
        return torch.randn(5, device=device).tolist()

    assert draw() == draw()


def test_copies_from_pinned_memory(device: str):
    x = torch.arange(6.0).pin_memory()
    there = x.to(device, non_blocking=True)
    x.zero_()  # the copy has the values of the time of the call
    assert (there * 2).cpu().tolist() == [0, 2, 4, 6, 8, 10]
    loader = DataLoader(TensorDataset(torch.arange(4.0)), batch_size=2, pin_memory=True)
    assert [batch.to(device, non_blocking=True).sum().item() for (batch,) in loader] == [1, 5]


def test_memory_is_counted(device: str, real: bool):
    if not real or device != "cuda":
        pytest.skip("JAX does not count the memory of this device")
    before: int = torch.cuda.memory_allocated()
    x: Any = torch.ones(2**24, device=device)
    x.sum().item()
    assert torch.cuda.memory_allocated() - before >= 2**26
    assert torch.cuda.max_memory_allocated() >= torch.cuda.memory_allocated()
    del x
    assert torch.cuda.memory_allocated() - before < 2**26


def test_verdicts_of_index_checks_wait_for_the_next_read(device: str, monkeypatch: pytest.MonkeyPatch):
    """Reading one takes as long as a small training step on an accelerator."""
    table, targets = nn.Linear(4, 3).to(device), torch.tensor([0, 1], device=device) * 2
    optimizer, X = torch.optim.SGD(table.parameters(), lr=0.1), torch.ones(2, 4, device=device)

    def steps(count: int) -> torch.Tensor:
        for _ in range(count):
            loss = nn.functional.cross_entropy(table(X), targets)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        return loss

    steps(3).item()
    reads: list[object] = []
    asked = checks.first_failed
    monkeypatch.setattr(checks, "first_failed", lambda *args: reads.append(args) or asked(*args))
    loss = steps(20)
    assert reads == []
    loss.item()
    assert len(reads) >= 1
    targets[0] = 7
    with pytest.raises(IndexError, match=r"^Target 7 is out of bounds.$"):
        steps(2).item()


def test_a_step_is_one_program_from_the_first(device: str, monkeypatch: pytest.MonkeyPatch):
    """Op by op, XLA would compile each operation, which takes longer than to compile the step."""
    monkeypatch.setattr(tiers.choice, "mode", tiers.AUTO)
    model = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 1)).to(device)
    optimizer, X = torch.optim.SGD(model.parameters(), lr=0.1), torch.ones(7, 6, device=device)
    torch.explain(reset=True)
    for _ in range(3):
        model(X).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    X[0, 0].item()
    report = torch.explain()
    assert report.hot >= 3 and report.op_compiles <= 1


def test_gradcheck_makes_its_gradients_and_tangents_on_the_device(device: str):
    x = torch.randn(2, 3, device=device, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: (x * x.exp()).sum(0), [x], check_forward_ad=True)
    assert torch.autograd.gradgradcheck(lambda x: (x * x.exp()).sum(0), [x])
