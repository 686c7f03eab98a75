"""After JAX has started, operations in a forked process raise an error that says what to do; JAX itself would wait for ever."""

import os
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.recorded, pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")]

PROGRAM = """
import multiprocessing, os, signal, sys, threading, warnings
import numpy as np
import torchlike as torch

warnings.filterwarnings("ignore", "os.fork")  # JAX's own

def in_a_fork(work):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            said = repr(work())
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with open(reading) as file:
        print(file.read() or "it waited for ever")
    os.waitpid(child, 0)

def in_a_thread():
    said = []
    def work():
        try:
            said.append((torch.ones(2) * 3).tolist())
        except RuntimeError as error:
            said.append(str(error)[:20])
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return said

weight = torch.zeros(2, requires_grad=True)
in_a_fork(lambda: (torch.ones(3) + 1).tolist())
x = torch.ones(3) + 1
print(x.tolist())
pending, layer, shared = x * 2, torch.nn.Linear(3, 1), torch.zeros(2)
in_a_fork(lambda: x.tolist())
in_a_fork(lambda: torch.from_numpy(np.ones(2)).numpy().tolist())
in_a_fork(lambda: pending.tolist())
in_a_fork(lambda: x + 1)
in_a_fork(lambda: layer(x).sum().backward())
in_a_fork(lambda: x.jax())
in_a_fork(in_a_thread)
print(pending.tolist())
"""

REFUSED = (
    "RuntimeError: Cannot run torchlike in a forked process when the process that it was forked from had run it already: JAX's threads "
    "do not survive a fork, and this would wait for ever. Start processes with the start method 'spawn' or 'forkserver', as "
    "torch.multiprocessing.spawn does and torch.multiprocessing.get_context('spawn') gives it, or fork before torchlike is first used"
)


def test_a_fork_after_the_first_use_is_told_what_to_do_instead():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300, check=True)
    first, before, read, numpy, *refused, thread, after = done.stdout.splitlines()
    assert (
        first == before == read == "[2.0, 2.0, 2.0]"
    )  # a fork before the first use works, and so does reading results that were computed before the fork
    assert numpy == "[1.0, 1.0]"
    assert refused == [REFUSED] * 4
    assert thread == "['Cannot run torchlike']"
    assert after == "[4.0, 4.0, 4.0]"  # the parent process goes on
