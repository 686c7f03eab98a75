"""The options of optimizers: the checks that several of them make, and the numbers among them."""

from __future__ import annotations

from typing import Any

from .._core.tensor import Tensor

__all__ = ["check_adam_numbers", "check_betas", "check_fused", "check_learning_rate", "check_numbers", "numbers_of"]


def check_fused(fused: bool | None, foreach: bool | None, differentiable: bool) -> None:
    """Refuses what PyTorch's fused kernels cannot do. Otherwise ``fused`` and ``foreach`` have no effect: a step is one program anyway."""
    if fused:
        if differentiable:
            raise RuntimeError("`fused` does not support `differentiable`")
        if foreach:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def check_learning_rate(lr: object) -> None:
    """Refuses a tensor of several learning rates."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")


def check_numbers(**numbers: Any) -> None:
    """Refuses negative numbers; for ``learning_rate=-1`` the error is ``Invalid learning rate: -1``."""
    for name, number in numbers.items():
        if not number >= 0.0:
            words = {"learning_rate": "learning rate", "eps": "epsilon value"}.get(name, f"{name} value")
            raise ValueError(f"Invalid {words}: {number}")


def check_betas(betas: tuple[Any, Any]) -> None:
    """Refuses decay rates outside of [0, 1)."""
    for i, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")


def check_adam_numbers(lr: object, betas: tuple[object, object], eps: float, **decays: object) -> None:
    """The checks of Adam and the algorithms like it, in PyTorch's order."""
    check_learning_rate(lr)
    check_numbers(learning_rate=lr, eps=eps)
    check_betas(betas)
    check_numbers(**decays)


def numbers_of(group: dict[str, Any], *names: str) -> dict[str, Any]:
    """These options of a group as inputs of its program.

    ``betas`` become ``beta1`` and ``beta2``. A ``weight_decay`` of zero is left out, so that the program has no part for it.
    """
    numbers: dict[str, Any] = {}
    for name in names:
        if name == "betas":
            numbers["beta1"], numbers["beta2"] = group["betas"]
        elif name != "weight_decay" or group[name] != 0:
            numbers[name] = group[name]
    return numbers
