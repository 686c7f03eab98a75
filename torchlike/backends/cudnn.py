"""torch.backends.cudnn: switches that scripts set. XLA chooses its own convolution algorithms."""

import contextlib
from collections.abc import Iterator
from typing import Any

enabled = True
benchmark = False
deterministic = False
allow_tf32 = False


def is_available() -> bool:
    """Whether there is a GPU for cuDNN to run on."""
    from .._core.devices import devices_of

    return bool(devices_of("cuda"))


def version() -> int | None:
    """None: XLA brings its own."""
    return None


@contextlib.contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int | None = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
    depthwise_kernel: str = "auto",
) -> Iterator[None]:
    """Within it the switches have other values, which XLA does not ask for either.

    >>> with torch.backends.cudnn.flags(enabled=False):
    ...     torch.backends.cudnn.enabled
    False
    """
    switches = globals()
    options: dict[str, Any] = {
        "enabled": enabled, "benchmark": benchmark, "deterministic": deterministic, "allow_tf32": allow_tf32,
    }  # fmt: skip
    before = {name: switches[name] for name in options}
    switches.update(options)
    try:
        yield
    finally:
        switches.update(before)
