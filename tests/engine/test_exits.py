"""A process ends with its exit code, and with all that it has printed, while XLA still computes or compiles."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.recorded, pytest.mark.skipif(sys.platform != "linux", reason="needs glibc's on_exit")]

# The compiler works for seconds when Python ends, which here takes `lasts` seconds: so the compiler is done before it, or only after it.
PROGRAM = """
import sys, time
import torchlike as torch
from torchlike.engine import background
import jax, jax.numpy as jnp

background.SECONDS_AT_EXIT = 0.0
torch.ones(300, 300).mm(torch.ones(300, 300)).sum().item()

def many(x):
    for i in range(600):
        x = jnp.tanh(x @ x) + jnp.cumsum(jnp.sin(x * i), 0)
    return x

def compiled():
    begun.append(True)
    return lowered.compile()

class EndsLate:
    def __del__(self, sleep=time.sleep, lasts=float(sys.argv[1])):
        sleep(lasts)

begun, lowered = [], jax.jit(many).lower(jnp.ones((64, 64)))
background.begin(background.Task(compiled, "a test"))
while not begun:
    time.sleep(0.01)
sys.kept = EndsLate()
print("all is printed")
sys.exit(3)
"""


@pytest.mark.parametrize("lasts", [0, 30])
def test_a_process_ends_with_its_exit_code_while_xla_compiles(lasts: int, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    ended = subprocess.run([sys.executable, str(program), str(lasts)], capture_output=True, text=True, timeout=200)
    assert (ended.returncode, ended.stdout, ended.stderr) == (3, "all is printed\n", "")
