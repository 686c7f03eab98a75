"""PyTorch's Python API on JAX's engine: ``import torchlike as torch``."""

import typing as _typing
from math import e as e, inf as inf, nan as nan, pi as pi
from types import FunctionType as _FunctionType

from . import _extensions as _extensions  # isort: skip (first, since it decides from which files the others are read)
from ._namespace import _loading as _loading  # isort: skip (before the rest, which it imports)
from . import (
    __config__ as __config__,
    accelerator as accelerator,
    amp as amp,
    autograd as autograd,
    backends as backends,
    compiler as compiler,
    cuda as cuda,
    distributed as distributed,
    distributions as distributions,
    fft as fft,
    func as func,
    hub as hub,
    jit as jit,
    linalg as linalg,
    masked as masked,
    multiprocessing as multiprocessing,
    nn as nn,
    optim as optim,
    profiler as profiler,
    quasirandom as quasirandom,
    random as random,
    return_types as return_types,
    serialization as serialization,
    signal as signal,
    sparse as sparse,
    special as special,
    testing as testing,
    torch_version as torch_version,
    utils as utils,
    version as version,
)
from ._alias import alias as alias, load_ipython_extension as load_ipython_extension
from ._core.devices import device as device, set_default_device as set_default_device
from ._core.dtypes import (
    bfloat16 as bfloat16,
    bool_ as bool,
    cdouble as cdouble,
    cfloat as cfloat,
    complex64 as complex64,
    complex128 as complex128,
    double as double,
    dtype as dtype,
    finfo as finfo,
    float8_e4m3fn as float8_e4m3fn,
    float8_e5m2 as float8_e5m2,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    float_ as float,
    get_default_dtype as get_default_dtype,
    half as half,
    iinfo as iinfo,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    int_ as int,
    long as long,
    promote_types as promote_types,
    qint8 as qint8,
    qint32 as qint32,
    quint8 as quint8,
    short as short,
    uint8 as uint8,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
)
from ._core.layouts import (
    channels_last as channels_last,
    channels_last_3d as channels_last_3d,
    contiguous_format as contiguous_format,
    jagged as jagged,
    layout as layout,
    memory_format as memory_format,
    per_channel_affine as per_channel_affine,
    per_channel_affine_float_qparams as per_channel_affine_float_qparams,
    per_channel_symmetric as per_channel_symmetric,
    per_tensor_affine as per_tensor_affine,
    per_tensor_symmetric as per_tensor_symmetric,
    preserve_format as preserve_format,
    qscheme as qscheme,
    sparse_bsc as sparse_bsc,
    sparse_bsr as sparse_bsr,
    sparse_coo as sparse_coo,
    sparse_csc as sparse_csc,
    sparse_csr as sparse_csr,
    strided as strided,
)
from ._core.overridable import offer as _offer
from ._core.printing import set_printoptions as set_printoptions
from ._core.size import Size as Size
from ._core.tensor import Tensor as Tensor
from ._missing import explain_missing as _explain_missing
from .accelerator._streams import Event as Event, Stream as Stream
from .accelerator.described import compiled_for as compiled_for
from .amp import GradScaler as GradScaler, autocast as autocast
from .amp.autocast_mode import (
    get_autocast_cpu_dtype as get_autocast_cpu_dtype,
    get_autocast_dtype as get_autocast_dtype,
    get_autocast_gpu_dtype as get_autocast_gpu_dtype,
    is_autocast_cpu_enabled as is_autocast_cpu_enabled,
    is_autocast_enabled as is_autocast_enabled,
)
from .autograd import (
    enable_grad as enable_grad,
    inference_mode as inference_mode,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)
from .autograd.grad_mode import (
    is_grad_enabled as is_grad_enabled,
    is_inference_mode_enabled as is_inference_mode_enabled,
)
from .compiler._compile import compile as compile
from .engine import OutOfMemoryError as OutOfMemoryError, explain as explain, op_by_op as op_by_op
from .func import vmap as vmap
from .interop import from_jax as from_jax, jax_function as jax_function, to_jax as to_jax
from .ops import *
from .serialization import load as load, save as save
from .sparse._compressed import (
    _convert_indices_from_coo_to_csr as _convert_indices_from_coo_to_csr,
    _convert_indices_from_csr_to_coo as _convert_indices_from_csr_to_coo,
)
from .sparse._construction import (
    sparse_bsc_tensor as sparse_bsc_tensor,
    sparse_bsr_tensor as sparse_bsr_tensor,
    sparse_compressed_tensor as sparse_compressed_tensor,
    sparse_coo_tensor as sparse_coo_tensor,
    sparse_csc_tensor as sparse_csc_tensor,
    sparse_csr_tensor as sparse_csr_tensor,
)
from .sparse._products import dsmm as dsmm, hsmm as hsmm, hspmm as hspmm, smm as smm, spmm as spmm, sspaddmm as sspaddmm
from .torch_version import TorchVersion as _TorchVersion
from .utils.summary import summary as summary
from .version import __version__ as _version

newaxis = None
__version__ = _TorchVersion(_version)
legacy_contiguous_format = contiguous_format


if _typing.TYPE_CHECKING:  # those of ``LATER`` and ``DEFINED_IN``
    from . import (
        _C as _C,
        _VF as _VF,
        _dynamo as _dynamo,
        _inductor as _inductor,
        _logging as _logging,
        classes as classes,
        cpu as cpu,
        export as export,
        functional as functional,
        futures as futures,
        fx as fx,
        library as library,
        mps as mps,
        mtia as mtia,
        onnx as onnx,
        overrides as overrides,
        storage as storage,
        types as types,
        xpu as xpu,
    )
    from ._higher_order_ops import *
    from ._linalg_utils import *
    from ._namespace._introspection import *
    from ._namespace._symbolic import *
    from ._VF import *
    from .amp.autocast_mode import (
        autocast_decrement_nesting as autocast_decrement_nesting,
        autocast_increment_nesting as autocast_increment_nesting,
        clear_autocast_cache as clear_autocast_cache,
        is_autocast_cache_enabled as is_autocast_cache_enabled,
        set_autocast_cache_enabled as set_autocast_cache_enabled,
        set_autocast_cpu_dtype as set_autocast_cpu_dtype,
        set_autocast_cpu_enabled as set_autocast_cpu_enabled,
        set_autocast_dtype as set_autocast_dtype,
        set_autocast_enabled as set_autocast_enabled,
        set_autocast_gpu_dtype as set_autocast_gpu_dtype,
    )
    from .export import export_jax as export_jax
    from .jit import fork as fork, wait as wait
    from .storage import *

# Functions of private files get the public module's name, so that users and pickle find them there.
for _value in list(globals().values()):
    if isinstance(_value, (type, _FunctionType)) and _value.__module__.startswith(
        (
            "torchlike._core.",
            "torchlike._alias",
            "torchlike.accelerator._streams",
            "torchlike.compiler._compile",
            "torchlike.ops.",
            "torchlike.sparse._",
        )
    ):
        _value.__module__ = __name__

_offer("torch", globals())
_explain_missing(__name__)
