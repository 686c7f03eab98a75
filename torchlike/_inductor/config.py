"""The settings of PyTorch's compiler. They are kept, and nothing reads them."""

from types import SimpleNamespace
from typing import Any

from .settings_module import patcher, saver

debug = False
disable_progress = True
verbose_progress = False
fx_graph_cache = True
fx_graph_remote_cache: Any = None
force_disable_caches = False
cpp_wrapper = False
dce = False
size_asserts = True
nan_asserts = False
epilogue_fusion = True
max_autotune = False
max_autotune_gemm = False
max_autotune_gemm_backends = "ATEN,TRITON,CPP"
coordinate_descent_tuning = False
coordinate_descent_check_all_directions = False
fallback_random = False
freezing = False
shape_padding = True
conv_1x1_as_mm = False
force_fuse_int_mm_with_mul = False
use_mixed_mm = True
joint_graph_constant_folding = True
compile_threads = 1
triton = SimpleNamespace(
    cudagraphs=False, cudagraph_trees=True, unique_kernel_names=True, debug_sync_graph=False, autotune_cublasLt=True
)
cpp = SimpleNamespace(threads=-1, simdlen=None, min_chunk_size=4096, enable_kernel_profile=False)
trace = SimpleNamespace(enabled=False, graph_diagram=False)
aot_inductor = SimpleNamespace(output_path="", debug_compile=False)

patch = patcher(globals())
get_config_copy, load_config = saver(globals())
