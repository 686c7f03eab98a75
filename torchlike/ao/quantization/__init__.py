"""torch.ao.quantization: observers, fake quantization, and models that compute with integers."""

from . import (
    fake_quantize,
    fuse_modules as _fusing,
    fuser_method_mappings,
    observer,
    qconfig,
    quantization_mappings,
    quantize as _quantize,
    stubs,
)
from .fake_quantize import *
from .fuse_modules import fuse_modules as fuse_modules, fuse_modules_qat as fuse_modules_qat
from .fuser_method_mappings import *
from .observer import *
from .qconfig import *
from .quantization_mappings import *
from .quantize import *
from .stubs import *

__all__ = [
    *fake_quantize.__all__, *fuser_method_mappings.__all__, "fuse_modules", "fuse_modules_qat", *observer.__all__, *qconfig.__all__,
    *quantization_mappings.__all__, *_quantize.__all__, *stubs.__all__,
]  # fmt: skip
