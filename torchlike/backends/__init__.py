"""torch.backends: what this machine has, and switches that scripts set. Those that mean nothing to XLA are kept and not read."""

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
