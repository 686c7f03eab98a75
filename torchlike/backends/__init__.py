"""torch.backends: what this machine has, and switches that scripts set. Switches without a meaning for XLA are stored and not read."""

from . import (
    cpu as cpu,
    cuda as cuda,
    cudnn as cudnn,
    mha as mha,
    mkldnn as mkldnn,
    mps as mps,
    nnpack as nnpack,
    opt_einsum as opt_einsum,
    quantized as quantized,
)
from ._unused import (
    cusparselt as cusparselt,
    kleidiai as kleidiai,
    mkl as mkl,
    openmp as openmp,
    xnnpack as xnnpack,
)
