cdef class Operation:
    cdef public object kernels, name
    cdef dict __dict__
    cdef object __weakref__

cdef class TraceNode:
    cdef public object parent, kernel, out_avals, inputs, new_leaves, placement
    cdef public dict children
    cdef public object sites
    cdef public Py_ssize_t depth, count, leaves, leaf_bytes
    cdef public object checked, group, full, ends_step, dynamic, in_run, history, replays, at_once, path_
    cdef object __weakref__
