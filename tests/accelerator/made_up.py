"""A simulated accelerator: all of JAX's CPU devices except the first serve as GPUs.

Operations there run as they would on a GPU: no elements are on the host or computed by NumPy, and arrays are sent and fetched.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from torchlike._core import devices
from torchlike.engine import aval
from torchlike.random_streams import rng


@contextmanager
def gpus() -> Iterator[None]:
    """Makes `torch.device("cuda")` the second of JAX's CPU devices, of which there must be two."""
    real = aval.jax_devices

    def jax_devices(platform: str | None = None) -> list[Any]:
        return real("cpu")[1:] if platform == "gpu" else real(platform)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aval, "jax_devices", jax_devices)
        patch.setattr(devices, "jax_devices", jax_devices)
        yield
        rng.of_accelerators.clear()  # they keep numbers there
    for place in aval.Placement.all():
        if place.platform == "gpu":
            place.forget_device()
