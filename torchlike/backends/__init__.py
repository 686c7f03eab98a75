"""torch.backends: what this machine has, and switches that scripts set. Switches without a meaning for XLA are stored and not read."""

from . import (
    cuda as cuda,
    cudnn as cudnn,
    mkl as mkl,
    mkldnn as mkldnn,
    mps as mps,
    openmp as openmp,
    opt_einsum as opt_einsum,
    quantized as quantized,
)
