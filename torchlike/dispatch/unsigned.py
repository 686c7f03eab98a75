"""What PyTorch has no kernels for on tensors of uint16, uint32 and uint64: its arithmetic leaves these dtypes out almost everywhere."""

from __future__ import annotations

from .._core import dtypes

__all__ = ["REFUSING", "WIDE_UNSIGNED", "refuse_wide_unsigned"]

WIDE_UNSIGNED = frozenset({dtypes.uint16, dtypes.uint32, dtypes.uint64})


def refuse_wide_unsigned(kernel: str, dtype: dtypes.dtype) -> None:
    """Raises PyTorch's error, which names its kernel, if the dtype is one of these."""
    if dtype in WIDE_UNSIGNED:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{dtype.scalar_name}'")


def _kernels(text: str) -> dict[str, str]:
    pairs = (word.partition(":") for word in text.split())
    return {name: kernel for name, _, kernel in pairs}


# The ops that refuse them, with the kernel that PyTorch names in its message.
REFUSING = _kernels(
    """
    _index_fill_number:index_fill_cpu _index_fill_tensor:index_fill_cpu _index_put:index_put _inner:dot _isin:isin_default_cpu
    _linear:addmm_impl_cpu_ _masked_fill:masked_fill _masked_fill_number:masked_fill _masked_fill_tensor:masked_fill
    _masked_select:masked_select _matmul_stacked:bmm _max_all:max_all _max_along:max_cpu _min_all:min_all _min_along:min_cpu
    _scatter_src:scatter_gather_tensor_cpu _scatter_value:scatter_gather_scalar_cpu abs:abs_cpu add:add_stub
    addbmm:addmm_impl_cpu_ addcmul:addcmul_cpu_out addmm:addmm_impl_cpu_ addmv:addmv_impl_cpu addr:addr_cpu amax:max_values_cpu
    amin:min_values_cpu aminmax:aminmax_cpu argmax:argmax_cpu argmin:argmin_cpu baddbmm:baddbmm bitwise_left_shift:lshift_cpu
    bitwise_not:bitwise_not_cpu bitwise_right_shift:rshift_cpu bmm:bmm channel_shuffle:channel_shuffle clamp:clamp_scalar_cpu
    clamp_max:minimum_cpu clamp_min:maximum_cpu count_nonzero:nonzero_count_cpu cummax:cummax_cpu cummin:cummin_cpu dot:dot
    floor_divide:div_floor_cpu fmax:maximum_cpu fmin:minimum_cpu fmod:fmod_cpu gather:scatter_gather_tensor_cpu gcd:gcd_cpu
    ge:ge_cpu gt:gt_cpu heaviside:heaviside_cpu index_add:index_add_ index_copy:index_copy_cpu index_reduce:index_func_
    index_select:index_select kthvalue:kthvalue_cpu lcm:lcm_cpu le:le_cpu linalg_cross:cross logical_and:logical_and_cpu
    logical_not:logical_not_cpu logical_or:logical_or_cpu logical_xor:logical_xor_cpu lt:lt_cpu masked_scatter:masked_scatter
    maximum:maximum_cpu median:median_cpu minimum:minimum_cpu mm:addmm_impl_cpu_ mode:mode_cpu mv:addmv_impl_cpu
    nanmedian:median_cpu neg:neg_cpu nonzero_static:nonzero_count_cpu pixel_shuffle:pixel_shuffle pixel_unshuffle:pixel_unshuffle
    pow:pow put:take_put_cpu relu:clamp_min_scalar_cpu remainder:remainder_cpu rsub:add_stub scatter_add:scatter_gather_tensor_cpu
    scatter_reduce:scatter_gather_tensor_cpu sgn:sign_cpu sign:sign_cpu square:pow sub:add_stub take:take_cpu topk:topk_cpu
    trace:trace tril:tril triu:triu vdot:dot
    """
)
