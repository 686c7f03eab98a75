cdef class TraceNode:
    cdef public object parent, kernel, inputs, new_leaves, placement
    cdef public dict children
    cdef public object sites
    cdef public Py_ssize_t depth, count, leaves, leaf_bytes
    cdef public object checked, group, full, ends_step, dynamic, in_run, history, replays, path_
    cdef object __weakref__
