"""torch.utils.data._utils.collate: see ``torch.utils.data.default_collate``."""

from ..collate import (
    NOT_NUMBERS as np_str_obj_array_pattern,
    UNKNOWN as default_collate_err_msg_format,
    _keep as collate_str_fn,
    _stack_arrays as collate_numpy_array_fn,
    _stack_floats as collate_float_fn,
    _stack_ints as collate_int_fn,
    _stack_numpy_numbers as collate_numpy_scalar_fn,
    _stack_tensors as collate_tensor_fn,
    collate as collate,
    default_collate as default_collate,
    default_collate_fn_map as default_collate_fn_map,
    default_convert as default_convert,
)

__all__ = [
    "collate", "collate_float_fn", "collate_int_fn", "collate_numpy_array_fn", "collate_numpy_scalar_fn", "collate_str_fn",
    "collate_tensor_fn", "default_collate", "default_collate_err_msg_format", "default_collate_fn_map", "default_convert",
    "np_str_obj_array_pattern",
]  # fmt: skip
