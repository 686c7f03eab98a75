"""Which of PyTorch's functions are written in Python, and which ask nobody: facts about PyTorch 2.13 that programs can see.

A function written in Python hands its arguments to ``__torch_function__`` bound and complete, one written in C++ hands them over as they
were given. Recorded by tests/golden/record_overrides.py, which compares.
"""

from __future__ import annotations

__all__ = [
    "BY_KEYWORD", "FORMS_OF_OPERATORS", "FORWARDED_TO_METHOD", "IN_NN", "MODES_ALONE", "NEVER", "PYTHON", "RENAMED", "REORDERED",
]  # fmt: skip


def _words(text: str, before: str = "") -> frozenset[str]:
    return frozenset(before + word for word in text.split())


PYTHON: dict[str, frozenset[str]] = {
    "torch": _words(
        """
        atleast_1d atleast_2d atleast_3d block_diag broadcast_tensors cartesian_prod cdist chain_matmul einsum lu
        meshgrid norm split stft tensordot unique unique_consecutive unravel_index
        """
    ),
    "torch.nn.functional": _words(
        """
        _threshold adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool1d_with_indices
        adaptive_max_pool2d adaptive_max_pool2d_with_indices adaptive_max_pool3d adaptive_max_pool3d_with_indices
        affine_grid alpha_dropout batch_norm binary_cross_entropy binary_cross_entropy_with_logits celu
        cosine_embedding_loss cross_entropy ctc_loss dropout dropout1d dropout2d dropout3d elu embedding embedding_bag
        feature_alpha_dropout fold fractional_max_pool2d fractional_max_pool2d_with_indices fractional_max_pool3d
        fractional_max_pool3d_with_indices gaussian_nll_loss glu grid_sample group_norm gumbel_softmax hardsigmoid
        hardswish hardtanh hinge_embedding_loss huber_loss instance_norm interpolate kl_div l1_loss layer_norm
        leaky_relu linear_cross_entropy local_response_norm log_softmax lp_pool1d lp_pool2d lp_pool3d
        margin_ranking_loss max_pool1d max_pool1d_with_indices max_pool2d max_pool2d_with_indices max_pool3d
        max_pool3d_with_indices max_unpool1d max_unpool2d max_unpool3d mish mse_loss multi_head_attention_forward
        multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss nll_loss normalize pad poisson_nll_loss
        relu relu6 rms_norm rrelu selu silu smooth_l1_loss soft_margin_loss softmax softmin softsign tanhshrink
        threshold triplet_margin_loss triplet_margin_with_distance_loss unfold
        """
    ),
    "torch.nn.init": _words(
        """
        kaiming_uniform_ normal_ uniform_
        """
    ),
    "torch.Tensor": _words(
        """
        __array__ __array_wrap__ __contains__ __deepcopy__ __dlpack__ __dlpack_device__ __floordiv__ __format__
        __ipow__ __len__ __pow__ __rdiv__ __reduce_ex__ __repr__ __reversed__ __rfloordiv__ __rlshift__ __rmatmul__
        __rmod__ __rpow__ __rrshift__ __rsub__ __rtruediv__ __setstate__ backward dim_order index is_shared istft lu
        module_load norm register_hook register_post_accumulate_grad_hook resize resize_as share_memory_ split stft
        storage storage_type unflatten unique unique_consecutive
        """
    ),
}

# Namespaces whose functions hand all over by keyword.
BY_KEYWORD = frozenset(["torch.nn.init"])

# Functions that leave a keyword out, or give them in another order than they take them.
REORDERED: dict[str, tuple[str, ...]] = {
    "torch.norm": ("p", "dim", "keepdim", "out", "dtype"),
    "torch.Tensor.__array__": ("dtype",),
    "torch.nn.functional.l1_loss": ("size_average", "reduce", "reduction"),
    "torch.nn.functional.multi_head_attention_forward": (
        "training", "key_padding_mask", "need_weights", "attn_mask", "is_causal", "use_separate_proj_weight", "q_proj_weight",
        "k_proj_weight", "v_proj_weight", "static_k", "static_v", "average_attn_weights",
    ),
}  # fmt: skip

# ``a + b`` is ``Tensor.add(a, b)`` to ``__torch_function__``. Operators that are not here are themselves.
FORMS_OF_OPERATORS = {
    "__add__": "add", "__radd__": "add", "__iadd__": "add_", "__sub__": "sub", "__isub__": "sub_", "__mul__": "mul",
    "__rmul__": "mul", "__imul__": "mul_", "__truediv__": "div", "__div__": "div", "__itruediv__": "div_", "__idiv__": "div_",
    "__ifloordiv__": "floor_divide_", "__mod__": "remainder", "__imod__": "remainder_", "__matmul__": "matmul",
    "__rand__": "bitwise_and", "__ror__": "bitwise_or", "__rxor__": "bitwise_xor", "__neg__": "neg", "__pos__": "positive",
    "__abs__": "abs", "__ne__": "ne", "__lt__": "lt", "__le__": "le", "__gt__": "gt", "__ge__": "ge",
}  # fmt: skip

# These call the method, which is what ``__torch_function__`` is given.
FORWARDED_TO_METHOD = frozenset(["sigmoid", "tanh"])  # of torch.nn.functional

# Functions of torch.nn.functional that PyTorch has in its compiled core, and two that have another name there. The others that are not
# written in Python are functions of torch itself.
IN_NN = _words(
    """
    avg_pool2d avg_pool3d elu_ gelu hardtanh_ leaky_relu_ linear logsigmoid one_hot scaled_dot_product_attention softplus softshrink
    """
)
RENAMED = {"logsigmoid": "log_sigmoid", "threshold": "_threshold"}

# What asks neither arguments nor modes.
NEVER = _words(
    """
    Tensor.__copy__ Tensor.__dict__ Tensor.__dir__ Tensor.__getattr__ Tensor.__hash__ Tensor.__init__
    Tensor.__init_subclass__ Tensor.__iter__ Tensor.__jax_array__ Tensor.__new__ Tensor.__setattr__
    Tensor.__torch_dispatch__ Tensor.__torch_function__ Tensor.as_subclass Tensor.imag.__set__ Tensor.jax
    Tensor.real.__set__ __getattr__ alias are_deterministic_algorithms_enabled broadcast_shapes compile cond explain
    from_dlpack from_file from_jax from_numpy frombuffer get_autocast_cpu_dtype get_autocast_dtype
    get_autocast_gpu_dtype get_default_device get_default_dtype get_deterministic_debug_mode get_device_module
    get_float32_matmul_precision get_num_interop_threads get_num_threads get_rng_state initial_seed
    is_anomaly_check_nan_enabled is_anomaly_enabled is_autocast_cache_enabled is_autocast_cpu_enabled
    is_autocast_enabled is_deterministic_algorithms_warn_only_enabled is_grad_enabled is_inference_mode_enabled
    is_storage is_tensor is_warn_always_enabled jax_function load manual_seed nn.functional.__getattr__
    nn.functional.assert_int_or_pair nn.functional.boolean_dispatch nn.functional.upsample
    nn.functional.upsample_bilinear nn.functional.upsample_nearest nn.init.calculate_gain op_by_op save seed
    set_anomaly_enabled set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_dtype
    set_autocast_enabled set_autocast_gpu_dtype set_default_device set_default_dtype set_default_tensor_type
    set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal set_num_interop_threads
    set_num_threads set_printoptions set_rng_state set_warn_always summary sym_float sym_fresh_size sym_int sym_ite
    sym_max sym_min sym_not thread_safe_generator to_jax typename use_deterministic_algorithms vmap while_loop
    """,
    before="torch.",
)

# What asks modes, and no argument.
MODES_ALONE = _words("as_tensor asarray can_cast promote_types scalar_tensor tensor", before="torch.")
