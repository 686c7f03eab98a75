"""Notes on sharing memory with NumPy, attributes of tensors in a graph, and detach, block by block."""

import pytest

import torchlike as torch


def test_adding_in_place_is_seen_by_numpy(printed):
    ones = torch.ones(5)
    print(ones)
    array = ones.numpy()
    print(array)
    ones.add_(1)
    print(ones)
    print(array)
    assert (
        printed() == "tensor([1., 1., 1., 1., 1.])\n[1. 1. 1. 1. 1.]\ntensor([2., 2., 2., 2., 2.])\n[2. 2. 2. 2. 2.]\n"
    )


def test_what_leaves_and_results_tell(printed):
    x = torch.tensor(1.0, requires_grad=True)
    y = torch.tensor(2.0)
    z = x * y
    for tensor in (x, y, z):
        print(tensor.data, tensor.requires_grad, tensor.grad_fn, tensor.is_leaf)
    assert [x.grad, y.grad] == [None, None]
    assert printed() == (
        "tensor(1.) True None True\ntensor(2.) False None True\ntensor(2.) True <MulBackward0 object at 0x> False\n"
    )


def test_asking_a_result_for_its_gradient_warns():
    z = torch.tensor(1.0, requires_grad=True) * 2
    with pytest.warns(
        UserWarning, match=r"The \.grad attribute of a Tensor that is not a leaf Tensor is being accessed"
    ):
        assert z.grad is None


def test_no_gradient_flows_through_detach(printed):
    x = torch.ones(10, requires_grad=True)
    square, cube = x**2, x.detach() ** 3
    (square + cube).sum().backward()
    print(x.grad)
    assert printed() == "tensor([2., 2., 2., 2., 2., 2., 2., 2., 2., 2.])\n"


def test_writing_to_what_backward_needs_is_an_error():
    """The document mentions the error without its text; this is PyTorch's text."""
    leaf = torch.arange(5.0, requires_grad=True)
    squares = leaf**2
    leaf.detach().zero_()
    with pytest.raises(RuntimeError) as caught:
        squares.sum().backward()
    assert str(caught.value) == (
        "one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor "
        "[5]] is at version 1; expected version 0 instead. Hint: enable anomaly detection to find the operation that failed "
        "to compute its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )
    assert leaf.grad is None


def test_writing_to_data_is_not_noticed():
    """The document's remark on `.data` says so. PyTorch then gives a wrong gradient, that of the new values (zeros here).

    In torchlike a write does not change what the graph has saved, so the gradient is that of the values that forward read.
    """
    leaf = torch.arange(5.0, requires_grad=True)
    squares = leaf**2
    leaf.data.zero_()
    assert leaf.tolist() == [0.0] * 5
    assert leaf._version == 0
    squares.sum().backward()
    assert leaf.grad.tolist() == [0.0, 2.0, 4.0, 6.0, 8.0]
