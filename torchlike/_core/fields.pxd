from torchlike._core.attributes cimport Contents, Fields
