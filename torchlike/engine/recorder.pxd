from cpython.weakref cimport PyWeakref_NewRef
from torchlike.engine.segment cimport Segment
from torchlike.engine.trace cimport TraceNode
from torchlike.engine.value cimport Value

cdef inline object made_reference(object value):
    return PyWeakref_NewRef(value, None)
