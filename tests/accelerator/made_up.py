"""An accelerator that is none: JAX's CPU devices but the first serve as GPUs.

What runs there takes the way that it would take on a GPU: nothing lies on the host or is computed by NumPy, arrays are sent and fetched.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from torchlike._core import devices
from torchlike.engine import aval


@contextmanager
def gpus() -> Iterator[None]:
    """`torch.device("cuda")` is the second of JAX's CPU devices, of which there must be two."""
    real = aval.jax_devices

    def jax_devices(platform: str | None = None) -> list[Any]:
        return real("cpu")[1:] if platform == "gpu" else real(platform)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aval, "jax_devices", jax_devices)
        patch.setattr(devices, "jax_devices", jax_devices)
        yield
    for place in aval.Placement.all():
        if place.platform == "gpu":
            place.forget_device()
