cdef class Member:
    cdef object getattr, name
