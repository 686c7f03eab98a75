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

CODE = library._address(ONEDNN._code)
LEND = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(CODE + library.ENTRIES["lend"])
GIVE_BACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(CODE + library.ENTRIES["give_back"])
TRAIN = """
import os
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
print(*gradients)
"""


def trained(lent: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", TRAIN], capture_output=True, text=True, timeout=100, env={**os.environ, "LENT": lent}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_products_compute_the_same_in_memory_that_is_lent_and_that_is_not() -> None:
    """Two threads need two pieces at once. Where all are out, as in no program, they ask glibc."""
    gradients = trained("whatever there is")
    assert trained("but two") == trained("all") == trained("none") == gradients


def borrowed(alignment: int, nbytes: int) -> int:
    """The address of memory that oneDNN would get."""
    memory = ctypes.c_void_p()
    assert LEND(ctypes.byref(memory), alignment, nbytes) == 0
    assert memory.value is not None and memory.value % alignment == 0
    ctypes.memset(memory, 1, nbytes)
    return memory.value


def test_pieces_are_lent_until_all_are_out_and_again_when_they_are_back() -> None:
    pages = [borrowed(4096, library.BLOCK_BYTES - number) for number in range(library.BLOCKS + 2)]
    begin = ONEDNN.state.blocks
    lent = {begin + number * library.BLOCK_BYTES for number in range(library.BLOCKS)}
    assert {*pages[: library.BLOCKS]} == lent and lent.isdisjoint(pages[library.BLOCKS :])
    assert len({*pages}) == len(pages)
    GIVE_BACK(pages[5])
    assert borrowed(4096, 100) == pages[5]
    for page in pages:
        GIVE_BACK(page)
    assert ONEDNN.state.lent == 0
    for alignment, nbytes in (
        (64, 100),
        (4096, library.BLOCK_BYTES + 1),
    ):  # what is no copy of an operand, and what is too large
        other = borrowed(alignment, nbytes)
        assert not begin <= other < begin + library.BLOCKS * library.BLOCK_BYTES
        GIVE_BACK(other)
    GIVE_BACK(None)


def test_functions_are_replaced_together_or_not_at_all() -> None:
    places = imports._places(ONEDNN.lib, {b"free": 0, b"posix_memalign": 0})
    assert {name for _, name in places} == {b"free", b"posix_memalign"}
    now = {place: ctypes.c_uint64.from_address(place).value for place, _ in places}
    assert not imports.replace(ONEDNN.lib, {b"free": 1, b"a function that it does not call": 1})
    assert {place: ctypes.c_uint64.from_address(place).value for place in now} == now
