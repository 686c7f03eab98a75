from torchlike.engine.value cimport Value
from torchlike._core.attributes cimport Contents, Fields, made_storage, made_tensor
from torchlike._core.node cimport AccumulateGrad, Node
