"""torch.backends.cpu: what the processor can do."""

from __future__ import annotations

from functools import cache
from pathlib import Path

__all__ = ["get_cpu_capability"]


@cache
def get_cpu_capability() -> str:
    """The vector instructions of the processor: "AVX512", "AVX2" or "DEFAULT".

    >>> torch.backends.cpu.get_cpu_capability() in ("AVX512", "AVX2", "DEFAULT")
    True
    """
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:  # a system that has no such file
        return "DEFAULT"
    flags = next((set(line.split()) for line in text.splitlines() if line.startswith("flags")), set())
    if {"avx512f", "avx512dq", "avx512bw", "avx512vl"} <= flags:
        return "AVX512"
    return "AVX2" if {"avx2", "fma"} <= flags else "DEFAULT"
