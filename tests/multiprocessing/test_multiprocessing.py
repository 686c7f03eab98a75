"""torch.multiprocessing: what a process that was started says of its end."""

import multiprocessing
import os
import signal

import pytest

from torchlike import multiprocessing as mp

multiprocessing.set_forkserver_preload(["torchlike"])  # imported once for all that are started here


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
