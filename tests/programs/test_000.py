"""Attributes of tensors, conversion to NumPy and back, in-place operations and detach: a lesson's program, block by block."""

import numpy as np
import pytest

import torchlike as torch


def test_fields_of_a_plain_tensor(printed):
    grid = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float32, device="cpu")
    print("data:\n", grid.data)
    for name in ("dtype", "shape", "device", "requires_grad", "grad", "grad_fn"):
        print(f"{name}:", getattr(grid, name))
    assert printed() == (
        "data:\n tensor([[1., 2.],\n        [3., 4.]])\n"
        "dtype: torch.float32\nshape: torch.Size([2, 2])\ndevice: cpu\nrequires_grad: False\ngrad: None\ngrad_fn: None\n"
    )


def test_fields_of_a_tensor_that_requires_grad(printed):
    leaf = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    for name in ("shape", "device", "requires_grad", "grad", "grad_fn"):
        print(f"{name}:", getattr(leaf, name))
    made = leaf * 2 + 1
    print(made)
    print(made.grad_fn)
    print(made.shape, made.device)
    assert printed() == (
        "shape: torch.Size([3])\ndevice: cpu\nrequires_grad: True\ngrad: None\ngrad_fn: None\n"
        "tensor([3., 5., 7.], grad_fn=<AddBackward0>)\n<AddBackward0 object at 0x>\ntorch.Size([3]) cpu\n"
    )


def test_gradient_of_a_square(printed):
    x = torch.tensor(3.0, requires_grad=True)
    y = x**2
    print("y:", y)
    y.backward()
    print("dy/dx:", x.grad)
    assert printed() == "y: tensor(9., grad_fn=<PowBackward0>)\ndy/dx: tensor(6.)\n"


def test_gradient_of_several_operations(printed):
    a = torch.tensor(2.0, requires_grad=True)
    b = torch.tensor(5.0, requires_grad=True)
    inner = a * b + a
    outer = inner**2
    print(inner)
    print(outer)
    print(outer.grad_fn)
    outer.backward()
    print(a.grad, b.grad)
    with torch.no_grad():
        free = a * b + b
        print(free, free.requires_grad)
    assert printed() == (
        "tensor(12., grad_fn=<AddBackward0>)\ntensor(144., grad_fn=<PowBackward0>)\n<PowBackward0 object at 0x>\n"
        "tensor(144.) tensor(48.)\ntensor(15.) False\n"
    )


def test_a_numpy_array_shares_memory(printed):
    tensor = torch.tensor([1.0, 2.0, 3.0])
    array = tensor.numpy()
    print(tensor, array, type(array))
    array[0] = 10
    print(tensor, array)
    assert printed() == (
        "tensor([1., 2., 3.]) [1. 2. 3.] <class 'numpy.ndarray'>\ntensor([10.,  2.,  3.]) [10.  2.  3.]\n"
    )


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_tensor_on_a_gpu_goes_by_the_cpu_to_numpy(printed):
    far = torch.tensor([1.0, 2.0, 3.0], device="cuda")
    with pytest.raises(TypeError, match="Use Tensor.cpu"):
        far.numpy()
    array = far.cpu().numpy()
    print(array, type(array))
    assert printed() == "[1. 2. 3.] <class 'numpy.ndarray'>\n"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_asking_for_one_says_so():
    with pytest.raises(RuntimeError, match="^No CUDA GPUs are available"):
        torch.tensor([1.0, 2.0, 3.0], device="cuda")


def test_a_list_does_not_share_memory(printed):
    tensor = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    nested = tensor.tolist()
    print(nested, type(nested), type(nested[0][0]))
    nested[0][1] = 5.0
    print(nested)
    print(tensor)
    assert printed() == (
        "[[1.0, 2.0], [3.0, 4.0]] <class 'list'> <class 'float'>\n[[1.0, 5.0], [3.0, 4.0]]\n"
        "tensor([[1., 2.],\n        [3., 4.]])\n"
    )


def test_detached_before_numpy_still_shares_memory(printed):
    leaf = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    array = leaf.detach().numpy()
    print(leaf, array)
    array[0] = 10
    print(leaf, array)
    assert isinstance(array, np.ndarray)
    assert printed() == (
        "tensor([1., 2., 3.], requires_grad=True) [1. 2. 3.]\n"
        "tensor([10.,  2.,  3.], requires_grad=True) [10.  2.  3.]\n"
    )


def test_relu_as_a_function_leaves_its_input(printed):
    before = torch.tensor([-1.0, 2.0, -3.0, 4.0])
    print(torch.relu(before))
    print(before)
    assert printed() == "tensor([0., 2., 0., 4.])\ntensor([-1.,  2., -3.,  4.])\n"


def test_relu_as_a_layer_in_place_or_not(printed):
    x = torch.tensor([-1.0, 2.0, -3.0, 4.0])
    print(torch.nn.ReLU(inplace=False)(x))
    print(x)
    result = torch.nn.ReLU(inplace=True)(x)
    print(x)
    print(result)
    assert result is x
    assert printed() == (
        "tensor([0., 2., 0., 4.])\ntensor([-1.,  2., -3.,  4.])\ntensor([0., 2., 0., 4.])\ntensor([0., 2., 0., 4.])\n"
    )


def test_detach_leaves_the_graph_alone(printed):
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    y = x * 3
    aside = y.detach() * 2
    assert not aside.requires_grad
    y.sum().backward()
    print(x.grad)
    assert printed() == "tensor([3., 3.])\n"


def test_detach_and_clone_share_nothing(printed):
    leaf = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    copy = leaf.detach().clone()
    print(leaf, copy)
    copy[0] = 10.0
    print(leaf, copy)
    assert printed() == (
        "tensor([1., 2., 3.], requires_grad=True) tensor([1., 2., 3.])\n"
        "tensor([1., 2., 3.], requires_grad=True) tensor([10.,  2.,  3.])\n"
    )
