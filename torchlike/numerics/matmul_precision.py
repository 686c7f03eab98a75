"""The precision of products of float32 matrices: JAX's name for what ``torch.set_float32_matmul_precision`` has chosen."""

from __future__ import annotations

from jax import lax

PRECISIONS = {"highest": lax.Precision.HIGHEST, "high": lax.Precision.HIGH, "medium": lax.Precision.DEFAULT}
setting = ["highest"]  # of ``torch.set_float32_matmul_precision``


def precision() -> lax.Precision:
    """The precision that matrix products are compiled with."""
    return PRECISIONS[setting[0]]
