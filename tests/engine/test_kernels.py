"""The kernels of an operation are found while something holds them, and leave nothing behind."""

import gc

from torchlike.engine import kernel
from torchlike.engine.kernel import Kernels


class Made:
    """Stands for a kernel."""


def test_a_kernel_is_found_as_long_as_something_holds_it(monkeypatch):
    monkeypatch.setattr(kernel, "_recent", [])
    kernels = Kernels()
    made = kernels.get("key", Made)
    assert kernels.get("key", Made) is made is kernels.known("key")
    kernel._recent.clear()
    assert kernels.known("key") is made, "this test holds it"
    del made
    gc.collect()
    assert kernels.known("key") is None and not kernels._kernels
    kernels.get("key", Made)
    assert kernels.known("key") is not None, "it is kept a while longer"
    kernels.clear()
    assert kernels.known("key") is None
