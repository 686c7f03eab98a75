"""The words that name the overloads of PyTorch's operators."""

OVERLOADS = frozenset(
    """
    Dict_Tensor Dict_bool Dict_complex Dict_default_Tensor Dict_default_bool Dict_default_complex Dict_default_float
    Dict_default_int Dict_default_str Dict_float Dict_int Dict_str IntList IntList_out KN L List List_out OutScalar_Other
    OutScalar_Self OutTensor Q Scalar ScalarAndTensor ScalarList ScalarList_out ScalarOpt_dim ScalarOpt_dim_dtype
    ScalarOpt_dim_dtype_out ScalarOpt_dtype ScalarOpt_dtype_out ScalarOther ScalarSelf Scalar_Other Scalar_Scalar Scalar_Self
    Scalar_Tensor Scalar_Tensor_out Scalar_mode Scalar_mode_out Scalar_out Sequence Tensor TensorList TensorList_bins Tensor_Scalar
    Tensor_Scalar_out Tensor_Tensor Tensor_Tensor_out Tensor_bool Tensor_float Tensor_float_out Tensor_generator
    Tensor_generator_out Tensor_hacked_twin Tensor_int Tensor_list Tensor_mode Tensor_out U X a all_out any array atol_rtol_float
    atol_rtol_float_out atol_rtol_tensor atol_rtol_tensor_out b beta beta_out bin_ct bin_ct_out bins_tensor bins_tensor_out bool
    bool_Tensor bool_bool bool_float bool_int bool_list ccol_row_value ccol_row_value_size center comp_plain_value
    comp_plain_value_size complex complex_complex complex_float complex_int correction correction_out crow_col_value
    crow_col_value_size data data_legacy decimals decimals_out default default_Tensor default_bool default_complex default_float
    default_int default_str deprecated device dim dim_IntList dim_IntList_out dim_dtype dim_dtype_out dim_int dim_max dim_min
    dim_out dim_values dims dims_out dtype dtype_layout dtype_out dx eigenvalues eigvals enum float float_Tensor float_Tensor_out
    float_bool float_complex float_float float_float_out float_int float_list float_out from from_out fullcoverage fullcoverage_out
    generator generator_out generic grad_input hacked_twin indexing indices indices_size input input_legacy int int_Scalar
    int_Scalar_out int_Tensor int_Tensor_out int_bins int_bool int_complex int_float int_int int_list int_out int_to_int intlist
    inverse left_t list list_Tensor list_bool list_float list_int list_str low low_dtype low_dtype_out low_generator
    low_generator_dtype low_generator_dtype_out low_generator_out low_out m m_out memory_format msg n_scalar n_scalar_out no_stats
    no_stats_out ntonly ord_str ord_str_out other other_scalar other_scalar_out out out_ out_mode out_rcond_tensor out_tol_tensor
    output output_mask output_mask_out p p_str p_str_out padding padding_idx periodic periodic_alpha periodic_alpha_beta
    periodic_alpha_beta_out periodic_alpha_out periodic_out prim_Device prim_dtype prim_other quantized rcond_tensor reduce
    reduce_out result right_ scalar scalar_out scalararray scalarint scalarrayarray scalarrayint scale_list sections self
    self_Tensor self_int self_out self_scalar self_scalar_out sign size size_list size_list_scale_list size_out sizes source_Storage
    source_Storage_out source_Storage_storage_offset source_Storage_storage_offset_out source_Tensor source_Tensor_out
    source_Tensor_storage_offset sparse_dim sparse_dim_out src src_out stable stable_out start start_out start_step step str
    str_list str_ord str_ord_out sublist t tensor tensor_indices_or_sections tensor_lr tensor_lr_out tensor_qparams
    tensor_qparams_out tensorarray tensorarrayint tensors tensors_out to to_out tol_tensor two two_out unary_out using_ints value
    value_out value_reduce value_reduce_out values values_stable vec vec_out with_index x x_scalar x_scalar_out
    """.split()  # noqa: SIM905
)
