"""The precision of products of float32 numbers: JAX's names for what PyTorch's settings have chosen."""

from __future__ import annotations

from jax import lax

PRECISIONS = {"highest": lax.Precision.HIGHEST, "high": lax.Precision.HIGH, "medium": lax.Precision.DEFAULT}
setting = ["highest"]  # of ``torch.set_float32_matmul_precision``
of_cudnn = {"conv": "tf32", "rnn": "tf32"}  # ``torch.backends.cudnn.conv.fp32_precision`` and its like


def precision() -> lax.Precision:
    """The precision that matrix products are compiled with."""
    return PRECISIONS[setting[0]]


def precision_of_convolutions() -> lax.Precision:
    """The precision of convolutions on NVIDIA's GPUs: PyTorch lets cuDNN round float32 factors to TF32 unless it is told otherwise."""
    return lax.Precision.DEFAULT if of_cudnn["conv"] == "tf32" else lax.Precision.HIGHEST
