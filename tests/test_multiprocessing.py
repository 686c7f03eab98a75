"""torch.multiprocessing: how a started process reports its end, and memory that processes share."""

import multiprocessing
import os
import signal

import pytest

import torchlike as torch
from torchlike import multiprocessing as mp

pytestmark = pytest.mark.recorded

multiprocessing.set_forkserver_preload(["torchlike"])  # imported once for all processes that these tests start


def end(index, how):
    if how == "raise":
        raise ValueError("not so")
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)


def test_all_end_well():
    assert mp.start_processes(end, ("well",), start_method="forkserver") is None


@pytest.mark.parametrize(
    ("how", "kind", "words"),
    [
        ("raise", mp.ProcessRaisedException, "Process 0 terminated with the following error:.*ValueError: not so"),
        ("kill", mp.ProcessExitedException, "process 0 terminated with signal SIGKILL"),
    ],
)
def test_a_failure_is_raised(how, kind, words):
    with pytest.raises(kind, match=f"(?s){words}"):
        mp.start_processes(end, (how,), start_method="forkserver")


def test_the_standard_librarys_names_are_there():
    assert mp.get_context("spawn").Process and mp.get_sharing_strategy() in mp.get_all_sharing_strategies()
    with pytest.raises(AssertionError, match="invalid sharing strategy"):
        mp.set_sharing_strategy("pigeons")


def train(index, model, whole, row, alone):
    """Runs in a process on the tensors that were sent to it; sets the first element to 1 if all was right."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    (model[0](torch.ones(1, 2)) + model[1](torch.ones(1, 2))).sum().backward()
    optimizer.step()
    row.add_(10)
    alone.zero_()
    whole[0, 0] = model[0] is model[1] and row.is_shared() and not alone.is_shared() and bool((whole[1] == row).all())


def test_what_a_process_writes_to_shared_memory_is_seen():
    layer = torch.nn.Linear(2, 1)
    model = torch.nn.ModuleList([layer, layer]).share_memory()
    assert all(p.is_shared() for p in model.parameters())
    torch.nn.init.zeros_(layer.weight)
    whole, alone = torch.zeros(3, 2).share_memory_(), torch.ones(2)
    mp.start_processes(train, (model, whole, whole[1], alone), start_method="forkserver")
    assert whole.tolist() == [[1.0, 0.0], [10.0, 10.0], [0.0, 0.0]]
    assert alone.tolist() == [1.0, 1.0]
    assert layer.weight.tolist() == [[-1.0, -1.0]]  # the gradient is 2, through both uses


def test_what_has_a_graph_is_not_sent():
    x = torch.ones(2, requires_grad=True).exp().share_memory_()
    with pytest.raises(RuntimeError, match="^Cowardly refusing to serialize non-leaf tensor which requires_grad"):
        mp.start_processes(end, (x,), start_method="forkserver")
