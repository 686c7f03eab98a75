"""torch.backends.cuda."""

from __future__ import annotations

from .._core.devices import devices_of

__all__ = ["is_built", "matmul"]


def is_built() -> bool:
    """Whether JAX here can use CUDA."""
    return bool(devices_of("cuda"))


class matmul:
    """Precision of products on GPUs: kept for scripts that set it; products are full float32."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
