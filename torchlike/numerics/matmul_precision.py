"""How exactly float32 matrices are multiplied: JAX's name for the program's setting."""

from __future__ import annotations

from jax import lax

PRECISIONS = {"highest": lax.Precision.HIGHEST, "high": lax.Precision.HIGH, "medium": lax.Precision.DEFAULT}
setting = ["highest"]  # of ``torch.set_float32_matmul_precision``


def precision() -> lax.Precision:
    """The precision that matrix products are compiled with."""
    return PRECISIONS[setting[0]]
