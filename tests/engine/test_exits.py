"""A process ends with its exit code, and with all that it has printed, while XLA still computes or compiles."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.recorded, pytest.mark.skipif(sys.platform != "linux", reason="needs glibc's on_exit")]

# A destructor of a library stands here as a function that the C library calls at the end, and that aborts.
WITH_A_DESTRUCTOR = """
import ctypes, sys
import torchlike as torch

libc = ctypes.CDLL(None)
libc.on_exit(ctypes.cast(libc.abort, ctypes.c_void_p), None)
if sys.argv[1] == "computes":
    x = torch.compile(lambda x: (x @ x).tanh())(torch.ones(600, 600))
    print(x.sum().item())
print("all is printed")
sys.exit(3)
"""
WHILE_IT_COMPILES = """
import sys, time
import torchlike as torch
from torchlike.engine import background
import jax, jax.numpy as jnp

def many(x):
    for i in range(300):
        x = jnp.tanh(x @ x) + jnp.cumsum(jnp.sin(x * i), 0)
    return x

def compiled():
    begun.append(True)
    return lowered.compile()

begun, lowered = [], jax.jit(many).lower(jnp.ones((64, 64)))
background.begin(background.Task(compiled, "a test"))
while not begun:
    time.sleep(0.01)
print("all is printed")
sys.exit(3)
"""
# What Python does from 3.12 on: no thread starts once it ends.
WITHOUT_THREADS = """
import atexit, threading
import torchlike as torch

def refuse(thread):
    raise RuntimeError("can't create new thread at interpreter shutdown")

def more():
    threading.Thread.start = refuse
    print(sum(torch.compile(lambda x: (x * i).sin())(x).sum().item() > 0 for i in range(1, 4)))

x = torch.ones(3)
for _ in range(4):
    y = (x.exp() + x).sum().item()
if BEFORE:
    atexit.register(more)
    torch.compile(lambda x: x.tanh().exp())(x)
torch.compile(lambda x: x.tanh().exp())(x)
if not BEFORE:
    atexit.register(more)
print("all is printed")
"""


def ended(tmp_path: Path, text: str, *words: str) -> tuple[int, str, str]:
    program = tmp_path / "program.py"
    program.write_text(text)
    done = subprocess.run([sys.executable, str(program), *words], capture_output=True, text=True, timeout=100)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("word", ["computes", "imports"])
def test_no_destructor_is_called_once_xla_has_started(word: str, tmp_path: Path) -> None:
    code, out, err = ended(tmp_path, WITH_A_DESTRUCTOR, word)
    assert out.endswith("all is printed\n")
    assert (code, err) == ((3, "") if word == "computes" else (-6, ""))


def test_a_process_waits_for_the_compiler_and_keeps_its_exit_code(tmp_path: Path) -> None:
    assert ended(tmp_path, WHILE_IT_COMPILES) == (3, "all is printed\n", "")


@pytest.mark.parametrize("before", [True, False])
def test_no_thread_is_needed_while_python_ends(before: bool, tmp_path: Path) -> None:
    code, out, err = ended(tmp_path, WITHOUT_THREADS.replace("BEFORE", str(before)))
    assert (code, out, err) == (0, "all is printed\n3\n", "")
