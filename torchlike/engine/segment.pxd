from torchlike.engine.trace cimport TraceNode
from torchlike.engine.value cimport Value
cdef class Segment:
    cdef public object recorder, number
    cdef public TraceNode cursor, ran
    cdef public list table, leaf_arrays
    cdef public object pinned, replaced, ends_step, unseen, known_run, closed, reading, stored, void, error, kept, flown
