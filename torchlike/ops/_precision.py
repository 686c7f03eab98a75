"""How exactly float32 matrices are multiplied: PyTorch's switch, and JAX's name for it."""

from __future__ import annotations

from jax import lax

_PRECISIONS = {"highest": lax.Precision.HIGHEST, "high": lax.Precision.HIGH, "medium": lax.Precision.DEFAULT}
_current = ["highest"]


def precision() -> lax.Precision:
    """What products are compiled with."""
    return _PRECISIONS[_current[0]]


def get_float32_matmul_precision() -> str:
    """How exactly float32 matrices are multiplied: "highest", "high" or "medium".

    >>> torch.get_float32_matmul_precision()
    'highest'
    """
    return _current[0]


def set_float32_matmul_precision(precision: str) -> None:
    """Trades exactness of float32 products for speed on accelerators: "highest" (all bits), "high", "medium" (as bfloat16).

    >>> torch.set_float32_matmul_precision("highest")
    """
    from .defaults import forget_compiled

    if precision not in _PRECISIONS:
        raise RuntimeError(f"{precision} is not one of 'highest', 'high', or 'medium'")
    if precision != _current[0]:
        _current[0] = precision
        forget_compiled()
