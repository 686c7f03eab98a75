"""Settings that change what ops mean: the default dtype and the precision of products. Changing one forgets what was compiled."""

from __future__ import annotations

import warnings

from jax import Array

from ..._core import devices, dtypes
from ...dispatch.apply import forget_kernels
from ...engine.recorder import forget
from ...numerics.matmul_precision import PRECISIONS, setting

__all__ = [
    "get_float32_matmul_precision", "set_default_dtype", "set_default_tensor_type", "set_float32_matmul_precision",
]  # fmt: skip


def forget_compiled(setting: str, value: str) -> None:
    """Finishes what is recorded under the old setting; afterwards every signature and every trace is new."""
    forget()
    forget_kernels(setting, value)


def set_default_dtype(d: object) -> None:
    """Makes floating-point tensors that are created without a dtype have this one.

    >>> torch.set_default_dtype(torch.float64)
    >>> torch.tensor(1.5).dtype
    torch.float64
    >>> torch.set_default_dtype(torch.float32)

    Raises:
        TypeError: the dtype is not floating-point.
    """
    if not isinstance(d, dtypes.dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if d.category != dtypes.FLOAT:
        raise TypeError("only floating-point types are supported as the default type")
    if d is not dtypes.get_default_dtype():
        forget_compiled("default dtype", d.name)
        dtypes._Default.dtype = d


def get_float32_matmul_precision() -> str:
    """How exactly float32 matrices are multiplied: "highest", "high" or "medium".

    >>> torch.get_float32_matmul_precision()
    'highest'
    """
    return setting[0]


def set_float32_matmul_precision(precision: str) -> None:
    """Trades exactness of float32 products for speed on accelerators: "highest" (all bits), "high", "medium" (as bfloat16).

    >>> torch.set_float32_matmul_precision("highest")
    """
    if precision not in PRECISIONS:
        raise RuntimeError(f"{precision} is not one of 'highest', 'high', or 'medium'")
    if precision != setting[0]:
        setting[0] = precision
        forget_compiled("float32 products", precision)


def set_default_tensor_type(t: Array) -> None:
    """``set_default_dtype`` and ``set_default_device`` by the name of an old class, such as ``torch.DoubleTensor``. Deprecated."""
    from ..creation import legacy

    warnings.warn(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives.",
        UserWarning,
        stacklevel=2,
    )
    name = f"{t.__module__}.{t.__name__}" if isinstance(t, legacy.Typed) else str(t)
    parts = name.split(".")
    kind = getattr(legacy, parts[-1], None) if parts[-1] in legacy.__all__ else None
    if parts[0] != "torch" or kind is None or parts[1:-1] not in ([], ["cuda"]):
        raise TypeError(f"invalid type name: {name}")
    set_default_dtype(kind.dtype)
    devices.set_default_device("cuda" if "cuda" in parts else "cpu")
