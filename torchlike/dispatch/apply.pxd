from torchlike.engine.value cimport Value
from torchlike._core.attributes cimport Contents, Fields, made_storage, made_tensor
from torchlike._core.node cimport Node
from torchlike._core.node cimport RuleFields
from torchlike.engine.trace cimport Operation

cdef class Dispatcher(Operation):
    cdef public object op, view, number_places, real_places, fitting_places, computes, checked, by_element, index_places, _unchecked
    cdef public object backward_name, traces, typings
