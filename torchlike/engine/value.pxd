cdef class Value:
    cdef public object aval
    cdef public object array
    cdef public object segment
    cdef public Py_ssize_t position
    cdef public object pinned
    cdef public object passed
    cdef object __weakref__
