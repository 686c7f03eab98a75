"""``torch._foreach_*`` give the same results, gradients and errors as the single operation called on each tensor of the lists."""

import pytest

import torchlike as torch


def test_each_tensor_of_the_list_gets_its_own():
    ones = [torch.ones(2), torch.ones(2)]
    assert torch._foreach_mul_(ones, [2, 3]) is ones
    assert [each.tolist() for each in ones] == [[2, 2], [3, 3]]
    summed = torch._foreach_add(ones, ones, alpha=2)
    assert isinstance(summed, tuple) and [each.tolist() for each in summed] == [[6, 6], [9, 9]]
    weighted = torch._foreach_addcmul(ones, ones, ones, torch.tensor([1.0, 0.0]))
    assert [each.tolist() for each in weighted] == [[6, 6], [3, 3]]


def test_gradients_go_through():
    leaves = [torch.ones(2, requires_grad=True), torch.full((2,), 2.0, requires_grad=True)]
    torch.stack(torch._foreach_mul(leaves, leaves)).sum().backward()
    assert [leaf.grad.tolist() for leaf in leaves] == [[2, 2], [4, 4]]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        torch._foreach_mul_(leaves, 2)


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ([2], "Tensor list must have same number of elements as scalar list."),
        ([torch.ones(2)], "Tensor lists must have the same number of tensors, got 2 and 1"),
        (torch.ones(2), "scalar tensor expected to be 0 dim but it has 1 dimensions and 2 elements."),
    ],
)
def test_operands_that_do_not_fit_are_refused(others, words):
    with pytest.raises(RuntimeError, match=words):
        torch._foreach_add([torch.ones(2), torch.ones(2)], others)
    with pytest.raises(TypeError, match="argument 'self' must be tuple of Tensors, not Tensor"):
        torch._foreach_add(torch.ones(2), 1)
