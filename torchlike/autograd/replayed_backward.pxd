from torchlike.engine.value cimport Value
from torchlike._core.attributes cimport Fields
from torchlike._core.node cimport Node
