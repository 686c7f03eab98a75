"""torch._utils: tensors as one vector, and back."""

import torchlike as torch
from torchlike._utils import _flatten_dense_tensors, _unflatten_dense_tensors


def test_tensors_become_one_vector_and_come_back():
    tensors = [torch.tensor([[0.0, 1.0], [2.0, 3.0]]), torch.zeros(0), torch.tensor(4.0)]
    flat = _flatten_dense_tensors(tensors)
    assert flat.tolist() == [0, 1, 2, 3, 4]
    parts = _unflatten_dense_tensors(flat, tensors)
    assert [part.tolist() for part in parts] == [tensor.tolist() for tensor in tensors]
    flat.zero_()
    assert parts[2].item() == 0, "the parts share the vector's memory"


def test_one_tensor_alone_keeps_its_memory():
    x = torch.ones(2, 2)
    assert _flatten_dense_tensors([x]).data_ptr() == x.data_ptr()
