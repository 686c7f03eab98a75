"""Warnings at the line of the program, those that PyTorch gives once in a process, and what it says of nondeterministic operations."""

from __future__ import annotations

import warnings

from ..engine.report import level_of_program

__all__ = ["Determinism", "alert", "once", "warn", "warn_once"]


class _Once:
    """The warnings that have been given, and whether ``torch.set_warn_always`` has them given each time."""

    def __init__(self) -> None:
        self.given: set[str] = set()
        self.always = False


once = _Once()


def warn_once(message: str) -> None:
    """Warns of something the first time only, unless a program wants it always, at the line of the program that led here."""
    if once.always or message not in once.given:
        once.given.add(message)
        warn(message)


def warn(message: str) -> None:
    """Warns at the line of the program that led here."""
    warnings.warn(message, UserWarning, stacklevel=level_of_program())


class Determinism:
    """The settings of ``use_deterministic_algorithms`` and of ``torch.utils.deterministic``."""

    on = warn_only = False
    fill_uninitialized_memory = True


def alert(operator: str) -> None:
    """Raises, or warns, as PyTorch does for an operator that it has no deterministic implementation of on the CPU.

    Here they are deterministic too. But a program that asks for the error is to learn what it will meet in PyTorch.
    """
    if not Determinism.on:
        return
    if Determinism.warn_only:
        warn(
            f"{operator} does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True, "
            "warn_only=True)'. You can file an issue at https://github.com/pytorch/pytorch/issues to help us prioritize adding "
            "deterministic support for this operation."
        )
        return
    raise RuntimeError(
        f"{operator} does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True)'. You can turn "
        "off determinism just for this operation, or you can use the 'warn_only=True' option, if that's acceptable for your application. "
        "You can also file an issue at https://github.com/pytorch/pytorch/issues to help us prioritize adding deterministic support for "
        "this operation."
    )
