from torchlike.engine.value cimport Value
