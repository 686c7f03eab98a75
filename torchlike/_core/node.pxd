cdef class RuleFields:
    cdef public object grad_inputs, watched, watches_result, take, node_class, used_once

cdef class Node:
    cdef public object rule, edges, saved, watched, sequence, avals, unpack
    cdef public bint hooked
    cdef dict __dict__
    cdef object __weakref__

cdef class AccumulateGrad(Node):
    cdef public object leaf
