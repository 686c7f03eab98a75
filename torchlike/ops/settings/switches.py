"""Settings that PyTorch has and XLA has no use for, or one answer to: threads, deterministic algorithms."""

from __future__ import annotations

import os
from typing import Any

from ...dispatch.options import is_integer
from ...dispatch.register import Form, composite
from ...dispatch.type_names import type_name
from ...dispatch.warned import Determinism
from ...engine import onednn, set_threads


class _Settings:
    threads = interop_threads = 0  # 0: nothing was chosen


def _count(name: str, number: Any) -> int:
    if not is_integer(number):
        raise RuntimeError(f"{name} expects an int, but got {type_name(number)}")
    if number < 1:
        raise RuntimeError(f"{name} expects a positive integer")
    return int(number)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@composite(forms=Form.FUNCTION)
def set_num_threads(number: int) -> None:
    """How many threads compute a convolution or an LSTM by oneDNN, where it is installed, and a matrix product by NumPy.

    XLA's own pool has one for each core in any case.

    To use fewer cores for all, start the process on fewer, as with ``taskset``.

    Raises:
        RuntimeError: it is no positive integer.
    """
    _Settings.threads = _count("set_num_threads", number)
    onednn.set_threads(_Settings.threads)
    set_threads(_Settings.threads)


@composite(forms=Form.FUNCTION)
def get_num_threads() -> int:
    """What ``set_num_threads`` was given last; else the number of cores, which is what XLA uses.

    >>> torch.get_num_threads() > 0
    True
    """
    return _Settings.threads or _cores()


@composite(forms=Form.FUNCTION)
def set_num_interop_threads(number: int) -> None:
    """Notes a number of threads for ``get_num_interop_threads``: XLA decides by itself what runs beside what."""
    _Settings.interop_threads = _count("set_num_interop_threads", number)


@composite(forms=Form.FUNCTION)
def get_num_interop_threads() -> int:
    """What ``set_num_interop_threads`` was given last; else the number of cores."""
    return _Settings.interop_threads or _cores()


@composite(forms=Form.FUNCTION)
def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Notes the wish. On the CPU and on TPUs XLA always gives the same numbers for the same input.

    Operations of which PyTorch has no deterministic implementation on the CPU raise its error, or warn with ``warn_only``. New memory is
    filled with NaN, or the largest integer (``torch.utils.deterministic.fill_uninitialized_memory``).

    On GPUs it may not, unless ``XLA_FLAGS=--xla_gpu_deterministic_ops=true`` stands in the environment when the process starts.
    """
    Determinism.on, Determinism.warn_only = bool(mode), bool(mode) and bool(warn_only)


@composite(forms=Form.FUNCTION)
def are_deterministic_algorithms_enabled() -> bool:
    """What ``use_deterministic_algorithms`` was given last.

    >>> torch.are_deterministic_algorithms_enabled()
    False
    """
    return Determinism.on


@composite(forms=Form.FUNCTION)
def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether ``use_deterministic_algorithms`` was given ``warn_only``."""
    return Determinism.warn_only


@composite(forms=Form.FUNCTION)
def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """``use_deterministic_algorithms`` in one word: "default" or 0, "warn" or 1, "error" or 2.

    Raises:
        RuntimeError: it is none of these.
    """
    words = {"default": 0, "warn": 1, "error": 2}
    if isinstance(debug_mode, str) and debug_mode not in words:
        raise RuntimeError(
            f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
        )
    number = words[debug_mode] if isinstance(debug_mode, str) else debug_mode
    if number not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {number}")
    use_deterministic_algorithms(number > 0, warn_only=number == 1)


@composite(forms=Form.FUNCTION)
def get_deterministic_debug_mode() -> int:
    """0, 1 or 2, as of ``set_deterministic_debug_mode``."""
    return (1 if Determinism.warn_only else 2) if Determinism.on else 0
