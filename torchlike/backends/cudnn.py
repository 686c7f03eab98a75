"""torch.backends.cudnn: the precision of convolutions on GPUs, and switches that scripts set. XLA chooses its own algorithms."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..numerics.matmul_precision import of_cudnn

enabled = True
benchmark = False
deterministic = False
fp32_precision = "none"
if TYPE_CHECKING:
    allow_tf32: bool  # a property of the module, see below


class Kind:
    """What cuDNN computes of one kind, ``torch.backends.cudnn.conv`` or ``.rnn``. Recurrent layers are in full float32 in any case."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def fp32_precision(self) -> str:
        """How float32 numbers are multiplied on a GPU: "tf32" (rounded to 10 bits, as PyTorch does by itself), "ieee" or "none" (exactly).

        >>> torch.backends.cudnn.conv.fp32_precision
        'tf32'
        """
        return of_cudnn[self._name]

    @fp32_precision.setter
    def fp32_precision(self, value: str) -> None:
        if value not in ("ieee", "tf32", "none"):
            raise RuntimeError(f"Unknown precision: {value}")
        _choose({self._name: value})


class _Module(ModuleType):
    """The module, with settings that are read and written like its attributes."""

    @property
    def allow_tf32(self) -> bool:
        """Whether cuDNN may round factors in float32 to TF32, as it may unless it is told otherwise.

        >>> torch.backends.cudnn.allow_tf32
        True

        Raises:
            RuntimeError: one of the two kinds may, and the other may not.
        """
        kinds = {name: precision == "tf32" for name, precision in of_cudnn.items()}
        if len(set(kinds.values())) > 1:
            raise RuntimeError(
                "torch.backends.cudnn.allow_tf32 has no one value: torch.backends.cudnn.conv.fp32_precision is "
                f"{of_cudnn['conv']!r}, and torch.backends.cudnn.rnn.fp32_precision is {of_cudnn['rnn']!r}"
            )
        return kinds["conv"]

    @allow_tf32.setter
    def allow_tf32(self, value: bool) -> None:
        _choose(dict.fromkeys(of_cudnn, "tf32" if value else "none"))


def _choose(precisions: dict[str, str]) -> None:
    if any(of_cudnn[name] != value for name, value in precisions.items()):
        from ..ops.settings.defaults import forget_compiled  # which is not needed to import the settings

        forget_compiled("cuDNN's products", repr({**of_cudnn, **precisions}))
        of_cudnn.update(precisions)


conv, rnn = Kind("conv"), Kind("rnn")
sys.modules[__name__].__class__ = _Module


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
    """Within it the switches have other values. XLA asks for ``allow_tf32`` alone.

    >>> with torch.backends.cudnn.flags(enabled=False):
    ...     torch.backends.cudnn.enabled
    False
    """
    switches: Any = sys.modules[__name__]
    options: dict[str, Any] = {"enabled": enabled, "benchmark": benchmark, "deterministic": deterministic}
    before, kinds = {name: getattr(switches, name) for name in options}, dict(of_cudnn)
    vars(switches).update(options)
    switches.allow_tf32 = allow_tf32
    try:
        yield
    finally:
        vars(switches).update(before)
        _choose(kinds)
