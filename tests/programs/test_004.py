"""Basics from making tensors to a small convolutional network: a tutorial's blocks. Its ResNet is not here yet."""

import re

import numpy as np
import pytest

import torchlike as torch
from tests.programs.random_blocks import BLOCKS

NUMBER = r"\s*-?\d+\.\d+"  # with the spaces that align it


@pytest.mark.parametrize("name", BLOCKS)
def test_random_blocks_print_pytorchs_numbers(golden, printed, name):
    torch.manual_seed(0)
    BLOCKS[name](torch)
    ours, expected = printed(), golden("programs")["random"][name]
    assert re.sub(NUMBER, "#", ours) == re.sub(NUMBER, "#", expected)
    numbers, theirs = ([float(n) for n in re.findall(NUMBER, text)] for text in (ours, expected))
    assert numbers == pytest.approx(theirs, abs=1.01e-4)  # the last printed digit


def test_tensors_from_lists_and_arrays(printed):
    print(torch.tensor([[1, 2], [3, 4]]))
    print(torch.from_numpy(np.arange(4).reshape((2, 2))))
    assert printed() == "tensor([[1, 2],\n        [3, 4]])\ntensor([[0, 1],\n        [2, 3]])\n"


def test_attributes(printed):
    tensor = torch.rand(3, 4)
    print(tensor.shape, tensor.dtype, tensor.device)
    assert printed() == "torch.Size([3, 4]) torch.float32 cpu\n"


def test_moving_to_an_accelerator_if_there_is_one():
    tensor = torch.ones(2)
    if torch.accelerator.is_available():
        assert tensor.to(torch.accelerator.current_accelerator()).device.type != "cpu"
    else:
        assert torch.accelerator.current_accelerator() is None


def test_indexing_joining_and_arithmetic(printed):
    grid = torch.ones(4, 4)
    print(grid[0], grid[:, 0], grid[..., -1])
    grid[:, 1] = 0
    print(grid)
    print(torch.cat([grid, grid, grid], dim=1).shape)
    out = torch.rand_like(grid)
    torch.matmul(grid, grid.T, out=out)
    assert (grid @ grid.T).tolist() == grid.matmul(grid.T).tolist() == out.tolist() == [[3.0] * 4] * 4
    torch.mul(grid, grid, out=out)
    assert (grid * grid).tolist() == grid.mul(grid).tolist() == out.tolist()
    total = grid.sum().item()
    print(total, type(total))
    grid.add_(5)
    print(grid[0])
    assert printed() == (
        "tensor([1., 1., 1., 1.]) tensor([1., 1., 1., 1.]) tensor([1., 1., 1., 1.])\n"
        "tensor([[1., 0., 1., 1.],\n        [1., 0., 1., 1.],\n        [1., 0., 1., 1.],\n        [1., 0., 1., 1.]])\n"
        "torch.Size([4, 12])\n12.0 <class 'float'>\ntensor([6., 5., 6., 6.])\n"
    )


def test_bridge_to_numpy_and_back(printed):
    t = torch.ones(5)
    n = t.numpy()
    t.add_(1)
    print(t, n)
    n = np.ones(5)
    t = torch.from_numpy(n)
    np.add(n, 1, out=n)
    print(t, n)
    assert printed() == (
        "tensor([2., 2., 2., 2., 2.]) [2. 2. 2. 2. 2.]\n"
        "tensor([2., 2., 2., 2., 2.], dtype=torch.float64) [2. 2. 2. 2. 2.]\n"
    )


def test_gradients_of_a_vector(printed):
    a = torch.tensor([2.0, 3.0], requires_grad=True)
    b = torch.tensor([6.0, 4.0], requires_grad=True)
    Q = 3 * a**3 - b**2
    Q.backward(gradient=torch.tensor([1.0, 1.0]))
    print(9 * a**2 == a.grad)
    print(-2 * b == b.grad)
    assert printed() == "tensor([True, True])\ntensor([True, True])\n"
