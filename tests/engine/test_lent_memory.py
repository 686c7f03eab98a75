"""The memory that oneDNN's products are lent in the place of glibc's: what they compute in it, with some of it and without any."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import pytest

from torchlike.engine.onednn import imports, library

ONEDNN = library.library()
if ONEDNN is None:
    pytest.skip("onednn-cpu-gomp is not installed", allow_module_level=True)

TRAIN = """
import ctypes, os
import torchlike as torch
from torchlike.engine.onednn import imports, library
if os.environ["LENT"] == "none":
    imports.replace = lambda *of: False
torch.set_num_threads(2)
onednn = library.library()
if os.environ["LENT"] == "but two":
    onednn.state.lent = 2**62 - 1
if os.environ["LENT"] == "all":
    onednn.state.lent = 2**64 - 1
out = onednn.state.lent
torch.manual_seed(0)
layer, x = torch.nn.LSTM(64, 128), torch.randn(9, 64, 64)
for _ in range(3):
    layer(x)[0].square().sum().backward()
gradients = [p.grad.double().sum().item().hex() for p in layer.parameters()]
assert onednn.state.lent == out  # each piece was given back
piece = onednn.state.blocks + 62 * 2**20 * (os.environ["LENT"] == "but two")
print(any(ctypes.string_at(piece, 4096)), *gradients)
"""


def trained(lent: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", TRAIN], capture_output=True, text=True, timeout=100, env={**os.environ, "LENT": lent}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_products_compute_the_same_in_memory_that_is_lent_and_that_is_not() -> None:
    """Two threads need two pieces at once. Where all are out, as in no program, they ask glibc."""
    used, *gradients = trained("whatever there is")
    assert used == "True"
    assert trained("but two") == ["True", *gradients]
    assert trained("all") == ["False", *gradients] == trained("none")


def test_functions_are_replaced_together_or_not_at_all() -> None:
    places = imports._places(ONEDNN.lib, {b"free": 0, b"posix_memalign": 0})
    assert {name for _, name in places} == {b"free", b"posix_memalign"}
    now = {place: ctypes.c_uint64.from_address(place).value for place, _ in places}
    assert not imports.replace(ONEDNN.lib, {b"free": 1, b"a function that it does not call": 1})
    assert {place: ctypes.c_uint64.from_address(place).value for place in now} == now
