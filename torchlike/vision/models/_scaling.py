"""What MobileNets have in common: the rounding of numbers of channels, and the first values of weights."""

from __future__ import annotations

from ... import nn

__all__ = ["divisible", "initialize_mobilenet"]


def divisible(channels: float, divisor: int = 8) -> int:
    """The nearest multiple of a number, at least that number itself and nine tenths of what is rounded."""
    nearest = max(divisor, int(channels + divisor / 2) // divisor * divisor)
    return nearest + divisor if nearest < 0.9 * channels else nearest


def initialize_mobilenet(model: nn.Module) -> None:
    """Draws the weights of convolutions and linear layers; weights of normalizations become 1, biases 0."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out")
        elif isinstance(module, (nn.BatchNorm2d, nn.GroupNorm)):
            nn.init.ones_(module.weight)
        elif isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, 0, 0.01)
        else:
            continue
        if module.bias is not None:
            nn.init.zeros_(module.bias)
