from torchlike.engine.trace cimport TraceNode
from torchlike.engine.value cimport Value
from torchlike.engine.segment cimport Segment
