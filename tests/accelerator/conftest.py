"""Chooses the device of these tests: an accelerator that JAX finds, or else a simulated one.

`make accelerator` runs all of them (``TORCHLIKE_ACCELERATOR=all``). The test suite runs a few, to show that they work. Where the time on an
accelerator is short, ``TORCHLIKE_ACCELERATOR_UNTIL`` (seconds since 1970) ends them, and ``TORCHLIKE_ACCELERATOR_ORDER`` (any text) says in
which order they come.
"""

import contextlib
import hashlib
import os
import time
from collections.abc import Iterator

import pytest

import torchlike as torch
from tests.accelerator.made_up import gpus


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Gives `call` and `case` a few values in the test suite, and all values if an accelerator is tested."""
    every = os.environ.get("TORCHLIKE_ACCELERATOR") == "all"
    if "call" in metafunc.fixturenames:
        from tests.ops.test_catalog import RECORDED, is_random

        calls = [call for call in RECORDED if not is_random(call)]
        calls = calls if every else calls[::100]
        if order := os.environ.get("TORCHLIKE_ACCELERATOR_ORDER"):
            calls.sort(key=lambda call: hashlib.sha256(f"{order} {call.key}".encode()).digest())
        metafunc.parametrize("call", calls, ids=[call.key for call in calls])
    if "case" in metafunc.fixturenames:
        from benchmarks.models import CASES

        metafunc.parametrize("case", list(CASES) if every else ["tiny"])


@pytest.fixture(autouse=True)
def in_time() -> None:
    """Leaves a test out if the time is over."""
    until = os.environ.get("TORCHLIKE_ACCELERATOR_UNTIL")
    if until is not None and time.time() > float(until):
        pytest.skip("the time is over")


@pytest.fixture
def real() -> bool:
    """Whether the device is a real accelerator."""
    return torch.accelerator.is_available()


@pytest.fixture
def device(real: bool) -> Iterator[str]:
    """The type of the device."""
    found = torch.accelerator.current_accelerator()
    # Convolutions may round their factors there, as PyTorch's do, which would hide faults.
    with contextlib.nullcontext() if real else gpus(), torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        yield found.type if found is not None else "cuda"
