"""The settings of PyTorch's tracer. They are kept, and nothing reads them."""

from typing import Any

from .._inductor.settings_module import patcher, saver

verbose = False
suppress_errors = False
disable = False
cache_size_limit = recompile_limit = 8
accumulated_cache_size_limit = accumulated_recompile_limit = 256
specialize_int = False
specialize_float = False
assume_static_by_default = True
automatic_dynamic_shapes = True
dynamic_shapes = True
capture_scalar_outputs = False
capture_dynamic_output_shape_ops = False
capture_func_transforms = True
force_parameter_static_shapes = True
force_nn_module_property_static_shapes = True
guard_nn_modules = True
inline_inbuilt_nn_modules = True
optimize_ddp: Any = True
compiled_autograd = False
error_on_recompile = False
fail_on_recompile_limit_hit = False
raise_on_ctx_manager_usage = True
numpy_default_float = "float64"
log_level: Any = None
print_graph_breaks = False
allow_unspec_int_on_nn_module = False
skip_fwd_side_effects_in_bwd_under_checkpoint = False

patch = patcher(globals())
get_config_copy, load_config = saver(globals())
