"""Nested tensors as views: where their parts lie in memory, what shares it, and what PyTorch 2.13 refuses of parts out of order."""

import copy
import io
import pickle
from typing import Any

import pytest

import torchlike as torch
import torchlike.nn.functional as F
from torchlike import nested

SMALL, LARGE = torch.arange(6.0).view(2, 3), torch.arange(15.0).view(5, 3)


def both():
    return nested.nested_tensor([SMALL, LARGE])


def where(n):
    """Sizes, strides and offsets of the parts."""
    return (
        n._nested_tensor_size().tolist(),
        n._nested_tensor_strides().tolist(),
        n._nested_tensor_storage_offsets().tolist(),
    )


def alone(n):
    return [part.clone() for part in n.unbind()]


# What gives a view, where its parts lie in PyTorch, and the same of each part.
VIEWS = {
    "itself": (lambda n: n, ([[2, 3], [5, 3]], [[3, 1], [3, 1]], [0, 6]), lambda x: x),
    "transpose": (lambda n: n.transpose(1, 2), ([[3, 2], [3, 5]], [[1, 3], [1, 3]], [0, 6]), lambda x: x.T),
    "back": (lambda n: n.transpose(1, 2).transpose(-1, -2), ([[2, 3], [5, 3]], [[3, 1], [3, 1]], [0, 6]), lambda x: x),
    "select a row": (lambda n: n.select(1, 1), ([[3], [3]], [[1], [1]], [3, 9]), lambda x: x[1]),
    "select a column": (lambda n: n.select(2, 1), ([[2], [5]], [[3], [3]], [1, 7]), lambda x: x[:, 1]),
    "chunk": (lambda n: n.chunk(3, -1)[2], ([[2, 1], [5, 1]], [[3, 1], [3, 1]], [2, 8]), lambda x: x[:, 2:]),
    "unsqueeze": (lambda n: n.unsqueeze(1), ([[1, 2, 3], [1, 5, 3]], [[6, 3, 1], [15, 3, 1]], [0, 6]), lambda x: x[None]),
    "unsqueeze inside": (lambda n: n.unsqueeze(2), ([[2, 1, 3], [5, 1, 3]], [[3, 3, 1]] * 2, [0, 6]), lambda x: x[:, None]),
    "unsqueeze behind": (lambda n: n.unsqueeze(-1), ([[2, 3, 1], [5, 3, 1]], [[3, 1, 1]] * 2, [0, 6]), lambda x: x[..., None]),
    "squeeze": (lambda n: n.unsqueeze(2).squeeze(2), ([[2, 3], [5, 3]], [[3, 1]] * 2, [0, 6]), lambda x: x),
    "squeeze of nothing": (lambda n: n.squeeze(1), ([[2, 3], [5, 3]], [[3, 1]] * 2, [0, 6]), lambda x: x),
    "view": (lambda n: n.view(2, -1, 3, 1), ([[2, 3, 1], [5, 3, 1]], [[3, 1, 1]] * 2, [0, 6]), lambda x: x[..., None]),
    "ellipsis": (lambda n: n[...], ([[2, 3], [5, 3]], [[3, 1]] * 2, [0, 6]), lambda x: x),
}  # fmt: skip
every_view = pytest.mark.parametrize("name", VIEWS)


@every_view
def test_a_view_lies_where_it_does_in_pytorch_and_shares_the_memory(name):
    make, places, of_part = VIEWS[name]
    base = both()
    view = make(base)
    assert where(view) == places
    for part, tensor in zip(view.unbind(), (SMALL, LARGE), strict=True):
        assert torch.equal(part, of_part(tensor))
    base[1].fill_(7.0)  # seen in the view
    assert bool((view[1] == 7).all()) and not bool((view[0] == 7).any())
    view[0].fill_(9.0)  # and what is written there, in the base
    assert bool((make(base)[0] == 9).all()) and view.numel() == sum(part.numel() for part in view.unbind())
    ordered = view.contiguous()
    assert ordered.is_contiguous() and all(map(torch.equal, ordered.unbind(), view.unbind()))


@every_view
def test_gradients_pass_through_views(name):
    make, _, of_part = VIEWS[name]
    leaf: Any = both().requires_grad_()
    leaves: Any = [SMALL.clone().requires_grad_(), LARGE.clone().requires_grad_()]
    view = make(leaf)
    torch.stack([(part * part).sum() for part in view.unbind()]).sum().backward()
    torch.stack([(of_part(x) * of_part(x)).sum() for x in leaves]).sum().backward()
    assert all(torch.equal(part, x.grad) for part, x in zip(leaf.grad.unbind(), leaves, strict=True))
    again: Any = both().requires_grad_()
    (make(again) * 2).backward(
        nested.nested_tensor([torch.ones_like(part) for part in view.unbind()])
    )  # in another order of memory
    for part, x in zip(again.grad.unbind(), leaves, strict=True):
        wanted: Any = torch.autograd.grad(of_part(x).sum() * 2, x)[0]
        assert torch.equal(part, wanted)


NUMBERS = {
    "double": lambda n: n * 2, "one more": lambda n: n + 1, "half": lambda n: n / 2, "is one": lambda n: n == 1, "ge": lambda n: n >= 3,
    "clone": lambda n: n.clone(), "detach": lambda n: n.detach(), "dropout": lambda n: F.dropout(n, 0.5, training=False),
    "with itself": lambda n: n * n, "softmax": lambda n: n.softmax(-1),
}  # fmt: skip


@pytest.mark.parametrize("function", NUMBERS.values(), ids=NUMBERS)
@every_view
def test_parts_that_lie_anywhere_give_what_they_give_alone(name, function):
    view = VIEWS[name][0](both())
    assert all(map(torch.equal, function(view).unbind(), map(function, alone(view))))


GAPS = {
    "relu": (torch.relu, "NestedTensor must be contiguous to get buffer."),
    "silu in place": (lambda n: F.silu(n, inplace=True), "NestedTensor must be contiguous to get buffer."),
    "isnan": (torch.isnan, "NestedTensor must be contiguous to get buffer."),
    "double": (lambda n: n.double(), "NestedTensor must be contiguous to get buffer."),
    "product in place": (lambda n: n.mul_(2), "NestedTensor must be contiguous to get buffer."),
    "fill": (lambda n: n.fill_(1.0), "NestedTensor must be contiguous to get buffer."),
    "masked_fill": (lambda n: n.masked_fill(n == 1, 0.0), "NestedTensor must be contiguous to get buffer."),
    "ones": (torch.ones_like, "NestedTensor must be contiguous to get buffer."),
    "padded": (lambda n: n.to_padded_tensor(0.0), "for now to_padded_tensor only supports contiguous nested tensor"),
    "linear": (lambda n: F.linear(n, torch.ones(2, 2)), "for now linear only supports contiguous nested tensor"),
    "sum": (lambda n: n.sum(-1, keepdim=True), "NestedTensor does not support reductions when the input is noncontiguous for now."),
    "cat": (lambda n: torch.cat([n, n]), "Expected each tensor in given list to be contiguous."),
    "product": (lambda n: n * n.contiguous(), "mul requires strides to match when given NestedTensors"),
    "quotient": (lambda n: n / n.contiguous(), "div requires strides to match when given NestedTensors"),
}  # fmt: skip


@pytest.mark.parametrize("name", GAPS)
def test_what_needs_parts_in_order_says_so(name):
    function, words = GAPS[name]
    with pytest.raises(RuntimeError) as caught:
        function(both().transpose(1, 2))
    assert str(caught.value) == words


def test_sums_take_parts_that_lie_in_two_ways():
    turned = both().transpose(1, 2)
    for found, sign in [(turned + turned.contiguous(), 2), (turned - turned.contiguous(), 0)]:
        assert found.is_contiguous() and all(
            torch.equal(f, x.T * sign) for f, x in zip(found.unbind(), (SMALL, LARGE), strict=True)
        )
    first, second, _ = both().chunk(3, -1)
    with pytest.raises(RuntimeError, match="div requires offsets to match when given NestedTensors"):
        first / second
    with pytest.raises(RuntimeError, match="add_ requires strides to match when given NestedTensors"):
        turned.contiguous().add_(turned)


def test_a_nested_tensor_of_a_tensor_is_a_view_of_it():
    for layout in (torch.strided, torch.jagged):
        base = torch.ones(2, 3)
        view = nested.as_nested_tensor(base, layout=layout)
        assert view._is_view() and view._base is base
        view.mul_(3)
        assert base.tolist() == [[3.0] * 3] * 2
        assert nested.as_nested_tensor(view, layout=layout) is view
        other = torch.jagged if layout is torch.strided else torch.strided
        with pytest.raises(RuntimeError, match="Converting between nested tensor layouts is not supported"):
            nested.as_nested_tensor(view, layout=other)
        x: Any = torch.arange(6.0).view(3, 2).requires_grad_()
        (nested.as_nested_tensor(x.T, layout=layout) * 2).backward(
            nested.as_nested_tensor(torch.ones(2, 3), layout=layout)
        )
        assert x.grad.tolist() == [[2.0, 2.0]] * 3
        for few in (torch.ones(3), torch.tensor(1.0)):
            with pytest.raises(RuntimeError, match=r"Expected tensor argument to have dim\(\) > 1"):
                nested.as_nested_tensor(few, layout=layout)
    assert not both()._is_view() and both().transpose(1, 2)._is_view()


@every_view
def test_a_view_is_saved_with_the_places_of_its_parts(name):
    view = VIEWS[name][0](both())
    file = io.BytesIO()
    torch.save({"n": view}, file)
    file.seek(0)
    for again in (torch.load(file, weights_only=True)["n"], pickle.loads(pickle.dumps(view)), copy.deepcopy(view)):
        assert where(again) == where(view) and all(map(torch.equal, again.unbind(), view.unbind()))


@pytest.mark.parametrize(("sizes", "offset"), [([[2, 9]], 0), ([[2, 3]], 9), ([[2, 3]], -1)])
def test_a_file_with_parts_outside_of_the_memory_is_refused(sizes, offset):
    from torchlike.nested._strided import rebuilt

    with pytest.raises(RuntimeError, match="outside of its memory"):
        rebuilt(torch.ones(6), torch.tensor(sizes), torch.tensor([[3, 1]]), torch.tensor([offset]))
    with pytest.raises(RuntimeError, match="outside of its memory"):
        rebuilt(torch.ones(0), torch.tensor([[1]]), torch.tensor([[1]]), torch.tensor([0]))
    with pytest.raises(RuntimeError, match="a size, strides and an offset each"):
        rebuilt(torch.ones(6), torch.tensor(sizes), torch.tensor([[3, 1]]), torch.tensor([0, 0]))


REFUSED = {
    "an index too great": (lambda n: n.select(1, 3), IndexError, "index 3 is out of bounds for dimension 0 of the 0th constituent tensor"),
    "squeeze of all": (lambda n: n.squeeze(), RuntimeError, "For nested tensors, squeeze without the dim argument"),
    "squeeze of the first": (lambda n: n.squeeze(0), RuntimeError, "For nested tensors, squeezing dimension 0"),
    "uneven chunks": (lambda n: n.chunk(2, -1), RuntimeError, "trailing dimension divisible by chunks, got: 3 % 2 != 0"),
    "another view": (lambda n: n.view(2, 6), RuntimeError, "shape '[2, 6]' is invalid for input of size 15"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_errors_are_pytorchs(name):
    function, kind, words = REFUSED[name]
    with pytest.raises(kind) as caught:
        function(both())
    assert words in str(caught.value)


def test_softmax_of_no_parts_is_no_part():
    assert torch.softmax(nested.nested_tensor([]), 1).numel() == 0


def test_the_length_of_the_ragged_dimension_is_symbolic():
    from torchlike.fx.experimental.symbolic_shapes import is_nested_int

    n = nested.nested_tensor([SMALL, LARGE], layout=torch.jagged)
    assert isinstance(n.shape[1], torch.SymInt) and [is_nested_int(length) for length in n.shape] == [
        False,
        True,
        False,
    ]
    assert n._metadata_cache == {"min_seqlen": 2, "max_seqlen": 5}
    given = nested.nested_tensor_from_jagged(torch.ones(3), torch.tensor([0, 1, 3]), max_seqlen=2)
    assert given._metadata_cache == {"max_seqlen": 2}


def test_lists_that_are_no_jagged_tensor_are_refused():
    for parts, words in [
        ([SMALL, LARGE.double()], "have the same dtype"),
        ([SMALL, LARGE.to("meta")], "be on the same device"),
        ([SMALL, LARGE[0]], "have the same dim"),
    ]:
        for make in (nested.nested_tensor, nested.as_nested_tensor):
            with pytest.raises(RuntimeError, match=f"all tensors in list must {words}"):
                make(parts, layout=torch.jagged)
    with pytest.raises(RuntimeError, match="Cannot construct a nested tensor from an empty tensor list"):
        nested.nested_tensor([], layout=torch.jagged)
