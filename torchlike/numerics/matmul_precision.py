"""How exactly float32 matrices are multiplied: JAX's name for what the program chose."""

from __future__ import annotations

from jax import lax

PRECISIONS = {"highest": lax.Precision.HIGHEST, "high": lax.Precision.HIGH, "medium": lax.Precision.DEFAULT}
chosen = ["highest"]  # by ``torch.set_float32_matmul_precision``


def precision() -> lax.Precision:
    """What products are compiled with."""
    return PRECISIONS[chosen[0]]
