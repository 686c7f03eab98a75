"""torch.nested: each tensor of a batch gives the result that it gives alone; PyTorch's text and errors."""

import re

import pytest

import torchlike as torch
import torchlike.nn.functional as F
from torchlike import nested

pytestmark = pytest.mark.composed

SMALL, LARGE = torch.arange(6.0).view(2, 3), torch.arange(12.0).view(4, 3)
LAYOUTS = [torch.strided, torch.jagged]


def both(layout=torch.strided, **options):
    return nested.nested_tensor([SMALL, LARGE], layout=layout, **options)


def assert_parts(found, wanted):
    parts = found.unbind()
    assert len(parts) == len(wanted)
    for part, tensor in zip(parts, wanted, strict=True):
        torch.testing.assert_close(part, tensor)


WEIGHT = torch.tensor([[1.0, 2.0, -1.0], [0.5, 0.0, 1.0]])
FUNCTIONS = {
    "double": lambda x: x * 2,
    "to itself": lambda x: x + x,
    "from a number": lambda x: 1 - x,
    "relu": lambda x: torch.relu(x - 3),
    "gelu": F.gelu,
    "softmax": lambda x: F.softmax(x, -1),
    "softmax of the differing": lambda x: x.transpose(-1, -2).softmax(-1).transpose(-1, -2),
    "linear": lambda x: F.linear(x, WEIGHT, torch.ones(2)),
    "layer_norm": lambda x: F.layer_norm(x, (3,), torch.ones(3), torch.zeros(3)),
    "sum": lambda x: x.sum(-1, keepdim=True),
    "unsqueeze": lambda x: x.unsqueeze(-1),
    "to": lambda x: x.to(torch.float64),
    "masked_fill": lambda x: x.masked_fill(x > 2, 0.0),
    "second third": lambda x: x.chunk(3, -1)[1],
    "in place": lambda x: x.clone().mul_(3),
    "comparison": lambda x: x > 2.5,
}


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_each_part_gives_what_it_gives_by_itself(function, layout):
    if layout is torch.jagged and function is FUNCTIONS["softmax of the differing"]:
        with pytest.raises(
            RuntimeError, match="reducing along the ragged dimension for ragged_idx > 1 for NestedTensor"
        ):
            function(both(layout))
        return
    assert_parts(function(both(layout)), [function(SMALL), function(LARGE)])


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_gradients_reach_the_parts(layout):
    leaves = [SMALL.clone().requires_grad_(), LARGE.clone().requires_grad_()]
    whole = nested.as_nested_tensor(leaves, layout=layout)
    assert whole.requires_grad and not whole.is_leaf
    (whole * whole).to_padded_tensor(7.0).sum().backward()
    for leaf in leaves:
        torch.testing.assert_close(leaf.grad, 2 * leaf.detach())
    own = both(layout, requires_grad=True)
    assert own.is_leaf and own.grad is None
    (own * 3).to_padded_tensor(0.0).sum().backward()
    assert_parts(own.grad, [torch.full((2, 3), 3.0), torch.full((4, 3), 3.0)])
    assert not own.detach().requires_grad


def test_padding():
    padded = both().to_padded_tensor(-1, (3, 5, 4))
    assert padded.shape == (3, 5, 4) and (padded == -1).sum() == 60 - 18
    torch.testing.assert_close(padded[1, :4, :3], LARGE)
    assert nested.to_padded_tensor(both(torch.jagged), 0.0).shape == (2, 4, 3)
    assert nested.nested_tensor([]).to_padded_tensor(0).shape == (0,)


def test_products_and_attention_of_strided_parts():
    n = both()
    assert_parts(n @ n.transpose(1, 2), [SMALL @ SMALL.T, LARGE @ LARGE.T])
    heads = [torch.randn(2, length, 4) for length in (3, 5)]
    n = nested.nested_tensor(heads)
    found = F.scaled_dot_product_attention(n, n, n, is_causal=True)
    assert_parts(found, [F.scaled_dot_product_attention(h, h, h, is_causal=True) for h in heads])
    assert_parts(
        nested.nested_tensor([torch.ones(3, 8), torch.ones(5, 8)]).view(2, -1, 2, 4),
        [torch.ones(3, 2, 4), torch.ones(5, 2, 4)],
    )


def test_a_transformer_block_over_jagged_sequences():
    torch.manual_seed(0)
    first, norm, last = torch.nn.Linear(8, 24), torch.nn.LayerNorm(8), torch.nn.Linear(8, 8)

    def block(x):
        q, k, v = (t.unflatten(-1, [2, 4]).transpose(-3, -2) for t in first(norm(x)).chunk(3, dim=-1))
        return x + last(F.scaled_dot_product_attention(q, k, v).transpose(-3, -2).flatten(-2))

    sequences = [torch.randn(length, 8) for length in (3, 7, 2)]
    whole = nested.nested_tensor(sequences, layout=torch.jagged)
    result = block(whole)
    assert result.shape == whole.shape
    assert_parts(result, [block(sequence[None])[0] for sequence in sequences])
    result.mean(1).pow(2).sum().backward()
    gradient = first.weight.grad.clone()
    first.zero_grad()
    torch.stack([block(sequence[None])[0].mean(0).pow(2).sum() for sequence in sequences]).sum().backward()
    torch.testing.assert_close(gradient, first.weight.grad)


def test_reductions_of_the_jagged_layout():
    j = both(torch.jagged)
    assert j.sum().item() == 81 and j.mean().item() == 4.5 and j.min().item() == 0
    assert j.sum(1).tolist() == [[3, 5, 7], [18, 22, 26]] and j.amax(1).tolist() == [[3, 4, 5], [9, 10, 11]]
    assert j.sum((0, 1)).tolist() == [21, 27, 33] and j.argmax(1).tolist() == [[1, 1, 1], [3, 3, 3]]
    assert_parts(j.sum(-1), [SMALL.sum(-1), LARGE.sum(-1)])
    assert j.sum(1, keepdim=True).shape == (2, 1, 3)


def test_overloads_of_operators_are_the_functions():
    from torchlike._torch_ops import aten

    j = both(torch.jagged)
    assert torch.equal(aten.sum.dim_IntList(j, [1]), j.sum(1)) and torch.equal(aten.mean.dim(j, [1]), j.mean(1))
    assert_parts(aten.mul.Tensor(j, 2), [SMALL * 2, LARGE * 2])


def test_what_broadcasts_with_the_jagged_layout():
    j = both(torch.jagged)
    row, each = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([[[1.0]], [[10.0]]])
    assert_parts(j + row, [SMALL + row, LARGE + row])
    assert_parts(j * each, [SMALL, LARGE * 10])
    whole = torch.arange(24.0).view(2, 4, 3)
    assert_parts(j + whole, [SMALL + whole[0, :2], LARGE + whole[1]])


def test_jagged_tensors_over_the_same_offsets_fit_together():
    j = both(torch.jagged)
    again = nested.nested_tensor_from_jagged(torch.ones(6, 3), offsets=j.offsets())
    assert again.shape == j.shape and hash(again.size(1)) == hash(j.size(1))
    assert_parts(j + again, [SMALL + 1, LARGE + 1])
    assert nested.nested_tensor_from_jagged(torch.ones(5), lengths=torch.tensor([2, 3])).offsets().tolist() == [0, 2, 5]
    assert_parts(
        nested.narrow(LARGE, 1, 0, torch.tensor([1, 2, 3, 1]), layout=torch.jagged),
        [LARGE[0, :1], LARGE[1, :2], LARGE[2], LARGE[3, :1]],
    )


def test_attributes_of_nested_tensors():
    n, j = both(), both(torch.jagged)
    assert n.is_nested and j.is_nested and not SMALL.is_nested and isinstance(n, torch.Tensor)
    assert (n.layout, j.layout) == (torch.strided, torch.jagged)
    assert (n.dim(), n.size(0), n.size(2), n.numel(), n.dtype) == (3, 2, 3, 18, torch.float32)
    assert (j.dim(), len(j), j.size(2), j.numel(), j.values().shape) == (3, 2, 3, 18, (6, 3))
    assert j.offsets().tolist() == [0, 2, 6] and j.lengths() is None and j.is_contiguous()
    assert not j.transpose(1, 2).is_contiguous() and j.shape[1] >= 2
    assert j[1].tolist() == LARGE.tolist() and n[1, 0].tolist() == [0, 1, 2] and [part.shape[0] for part in n] == [2, 4]


def test_printed_form_of_nested_tensors():
    assert repr(nested.nested_tensor([[1, 2], [3]])) == "nested_tensor([\n  tensor([1, 2]),\n  tensor([3])\n])"
    shown = re.sub(r"j\d+", "j1", repr(both(torch.jagged, requires_grad=True)))
    assert shown == "NestedTensor(size=(2, j1, 3), offsets=tensor([0, 2, 6]), requires_grad=True, contiguous=True)"
    assert re.sub(r"j\d+", "j1", str(both(torch.jagged).shape)) == "torch.Size([2, j1, 3])"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: both().shape, RuntimeError, "Internal error: NestedTensorImpl doesn't support sizes. Please file an issue."),
        (lambda: both().size(1), RuntimeError, "Given dimension 1 is irregular and does not have a size."),
        (lambda: both() + torch.ones(3), RuntimeError,
         "Expected both self and other to be nested, but got a nested self and non-nested other"),
        (lambda: both() + nested.nested_tensor([SMALL]), RuntimeError, "add does not support broadcasting when given a NestedTensor"),
        (lambda: both().softmax(0), RuntimeError, "Cannot apply softmax across nested dimension 0"),
        (lambda: both().sum(-1), RuntimeError, "NestedTensor always requires keepdim=True for now."),
        (lambda: both().transpose(0, 1), RuntimeError, "Nested tensor dimension 0 cannot be transposed"),
        (lambda: both()[5], IndexError, "index 5 is out of bounds for dimension 0 with size 2"),
        (lambda: both().to_padded_tensor(0, (2, 3, 3)), RuntimeError,
         "Value in output_size is less than NestedTensor padded size. Truncation is not supported."),
        (lambda: nested.nested_tensor([SMALL, SMALL[0]]), RuntimeError, "All Tensors given to nested_tensor must have the same dimension. "
         "Found dimension 1 for Tensor at index 1 and dimension 2 for Tensor at index 0."),
        (lambda: nested.nested_tensor(SMALL), TypeError,
         "Only lists (List[Tensor] and List[List...[Scalar]]) are accepted in nested_tensor"),
        (lambda: nested.nested_tensor([SMALL], layout=torch.sparse_coo), RuntimeError,
         "Specified layout is unsupported for nested tensors: torch.sparse_coo"),
        (lambda: nested.nested_tensor([torch.tensor([1])], requires_grad=True), RuntimeError,
         "Only Tensors of floating point and complex dtype can require gradients"),
        (lambda: both(torch.jagged).view(2, -1), RuntimeError, "view(): cannot view shape (2, j1, 3) as [2, -1]"),
        (lambda: both(torch.jagged).transpose(0, 1), ValueError, "Transpose is not supported on the batch dimension for jagged NT"),
        (lambda: both(torch.jagged).flatten(1), RuntimeError, "flatten(): not supported for NestedTensor on ragged dim"),
        (lambda: both(torch.jagged).sum(0), RuntimeError,
         "sum(): reducing along the batch dimension but not the ragged dimension is not supported for nested tensors"),
        (lambda: both(torch.jagged) + both(torch.jagged), RuntimeError,
         "cannot call binary pointwise function add.Tensor with inputs of shapes (2, j1, 3) and (2, j2, 3)"),
        (lambda: both(torch.jagged).cumsum(1), NotImplementedError,
         "torchlike does not support cumsum of nested tensors with layout torch.jagged"),
        (lambda: both(torch.jagged).max(1), NotImplementedError,
         "torchlike does not support max along a dimension of nested tensors with layout torch.jagged"),
        (lambda: both().mean(), NotImplementedError, "torchlike does not support mean of nested tensors with layout torch.strided"),
        (lambda: nested.to_padded_tensor(SMALL, 0), NotImplementedError,
         "Could not run 'aten::to_padded_tensor' with arguments from the 'CPU' backend: it is for nested tensors alone"),
    ],
)  # fmt: skip
def test_what_is_refused(call, error, message):
    with pytest.raises(error) as raised:
        call()
    names: dict[str, str] = {}
    found = re.sub(r"\bj\d+\b", lambda match: names.setdefault(match[0], f"j{len(names) + 1}"), str(raised.value))
    assert found == message


def test_the_private_names_of_the_parts_of_a_jagged_tensor():
    x = both(torch.jagged)
    assert x._values is x.values() and x._offsets is x.offsets() and x._lengths is None
    assert (x._ragged_idx, x.transpose(1, 2)._ragged_idx, x._min_seqlen, x._max_seqlen) == (1, 2, 2, 4)
