"""torch.backends.mkldnn: oneDNN, which computes convolutions on the CPU where ``torchlike[onednn]`` is installed."""

from ..engine import onednn

__all__ = ["is_available"]


def is_available() -> bool:
    """Whether oneDNN's library is installed and can be loaded."""
    return onednn.available()
