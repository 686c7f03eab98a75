"""Tensors, broadcasting, autograd, evaluation and accumulation: an article's blocks, whose output is given in comments.

The article rounds quotients by hand and writes integers for floats; this file has PyTorch's exact output instead.
"""

import pytest

import torchlike as torch


def test_shapes_and_indices(printed):
    x = torch.Tensor([1, 2, 3, 4])
    y = torch.Tensor([[1, 2], [3, 4]])
    print(x.shape, y.shape)
    print(y[0], y[:, 0], y[0, 0], y[1][1])
    print(y * 4)
    assert printed() == (
        "torch.Size([4]) torch.Size([2, 2])\ntensor([1., 2.]) tensor([1., 3.]) tensor(1.) tensor(4.)\n"
        "tensor([[ 4.,  8.],\n        [12., 16.]])\n"
    )


def test_random_numbers_of_a_size_by_keyword(printed):
    torch.manual_seed(0)
    print(torch.randn(size=(2, 3)))
    assert printed() == "tensor([[ 1.5410, -0.2934, -2.1788],\n        [ 0.5684, -1.0845, -1.3986]])\n"


def test_broadcasting(printed):
    row, three = torch.tensor([1, 2, 3, 4]), torch.tensor([3])
    print(row + three)
    grid, factors = torch.tensor([[1, 2], [3, 4]]), torch.tensor([2, 4])
    print(grid * factors)
    print(grid / three)
    print(grid * torch.tensor([[3], [2]]))
    assert printed() == (
        "tensor([4, 5, 6, 7])\n"
        "tensor([[ 2,  8],\n        [ 6, 16]])\n"
        "tensor([[0.3333, 0.6667],\n        [1.0000, 1.3333]])\n"
        "tensor([[3, 6],\n        [6, 8]])\n"
    )


def test_devices_print_as_in_the_interpreter():
    assert repr(torch.device("cuda")) == "device(type='cuda')"
    assert repr(torch.tensor([1, 2]).device) == "device(type='cpu')"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_making_and_moving_on_a_gpu():
    gpu = torch.device("cuda")
    assert repr(torch.tensor([1, 2], device=gpu).device) == "device(type='cuda', index=0)"
    assert repr(torch.tensor([1, 2]).to(gpu).device) == "device(type='cuda', index=0)"


def test_a_graph_and_its_gradient(printed):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    x = w**2
    y = x * 2
    z = y.sum()
    for tensor in (w, x, y, z):
        print(tensor)
    print(w.grad)
    z.backward()
    print(w.grad)
    assert printed() == (
        "tensor([1., 2.], requires_grad=True)\ntensor([1., 4.], grad_fn=<PowBackward0>)\n"
        "tensor([2., 8.], grad_fn=<MulBackward0>)\ntensor(10., grad_fn=<SumBackward0>)\nNone\ntensor([4., 8.])\n"
    )


def test_only_floats_may_require_gradients():
    with pytest.raises(RuntimeError, match=r"^Only Tensors of floating point and complex dtype can require gradients$"):
        torch.tensor([1, 2], requires_grad=True)


def test_requires_grad_switched_off_and_on(printed):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x.requires_grad = False
    y = (x**2).sum()
    print(y, y.requires_grad)
    x.requires_grad = True
    y = (x**2).sum()
    print(y.requires_grad)
    assert printed() == "tensor(14.) False\nTrue\n"


def test_no_grad_for_a_block(printed):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with torch.no_grad():
        y = (x**2).sum()
    print(y, y.requires_grad)
    print((x**2).sum().requires_grad)
    assert printed() == "tensor(14.) False\nTrue\n"


def test_eval_and_train_switch_a_models_behaviour():
    model = torch.nn.Dropout(0.5)
    ones = torch.ones(64)
    model.eval()
    assert model(ones).tolist() == ones.tolist()
    model.train()
    assert sorted(set(model(ones).tolist())) == [0.0, 2.0]


def test_gradients_accumulate_until_they_are_cleared(printed):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    for _ in range(2):
        (x**2).sum().backward()
        print(x.grad)
    x.grad = None
    (x**2).sum().backward()
    print(x.grad)
    assert printed() == "tensor([2., 4., 6.])\ntensor([ 4.,  8., 12.])\ntensor([2., 4., 6.])\n"
