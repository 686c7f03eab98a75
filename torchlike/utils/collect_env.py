"""torch.utils.collect_env: describes the machine for a bug report: ``python -m torchlike.utils.collect_env``."""

from __future__ import annotations

import platform
import sys
from importlib import metadata

__all__ = ["get_pretty_env_info", "main"]

_LIBRARIES = ("torchlike", "jax", "jaxlib", "numpy", "flax", "optax", "torch")


def get_pretty_env_info() -> str:
    """The versions of torchlike, Python and the libraries below, and the devices that JAX sees."""
    from ..engine.aval import jax_devices
    from ..version import __version__

    lines = [
        f"torchlike version: {__version__}",
        f"Python version: {sys.version.splitlines()[0]}",
        f"Python platform: {platform.platform()}",
        f"Processor: {platform.processor() or platform.machine()}",
        f"Devices: {', '.join(str(device) for device in jax_devices())}",
        "",
        "Versions of relevant libraries:",
    ]
    for name in _LIBRARIES:
        try:
            lines.append(f"[pip3] {name}=={metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return "\n".join(lines)


def main() -> None:
    """Prints the description."""
    sys.stdout.write(f"Collecting environment information...\n{get_pretty_env_info()}\n")


if __name__ == "__main__":
    main()
