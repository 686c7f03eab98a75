cdef class Node:
    cdef public object rule, edges, saved, watched, sequence, avals
