cdef class Fields:
    cdef public object _storage, _view, _grad_fn, _grad, _accumulator, _leaf_hooks, _post_accumulate_hooks
    cdef public bint _requires_grad, _retains_grad, _inference, _is_param
    cdef public Py_ssize_t _output_nr
