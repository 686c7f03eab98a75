"""The options of optimizers: what PyTorch refuses."""

from __future__ import annotations

from typing import Any

from .._core.tensor import Tensor

__all__ = ["check_betas", "check_flags", "check_numbers"]


def check_flags(lr: Any, foreach: bool | None = None, fused: bool | None = None, differentiable: bool = False) -> None:
    """What PyTorch says of ``foreach`` and ``fused``, which choose between kernels there and nothing here."""
    if fused:
        if differentiable:
            raise RuntimeError("`fused` does not support `differentiable`")
        if foreach:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")


def check_numbers(**numbers: Any) -> None:
    """Refuses what is not at least zero; ``learning_rate=-1`` is an ``Invalid learning rate: -1``."""
    for name, number in numbers.items():
        if not number >= 0.0:
            words = {"learning_rate": "learning rate", "eps": "epsilon value"}.get(name, f"{name} value")
            raise ValueError(f"Invalid {words}: {number}")


def check_betas(betas: tuple[Any, Any]) -> None:
    """Refuses decay rates outside of [0, 1)."""
    for i, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
