"""Inputs that share memory with the written tensor are refused or accepted as in PyTorch 2.13."""

import pytest

import torchlike as torch

REFUSED = {
    "shifted": lambda x: x[:3].add_(x[1:4]),
    "an element": lambda x: x.add_(x[0]),
    "an element by operator": lambda x: x[:3].__imul__(x[2]),
    "a row": lambda x: x.view(2, 3).add_(x.view(2, 3)[0]),
    "transposed": lambda x: x[:4].view(2, 2).add_(x[:4].view(2, 2).t()),
    "a third input": lambda x: x[:4].addcmul_(x[4:5], x[2:6]),
    "by keyword": lambda x: x[:3].clamp_(min=x[1:4]),
    "out": lambda x: torch.add(x[1:4], 1, out=x[:3]),
    "out of one input": lambda x: torch.neg(x[1:4], out=x[:3]),
    "copied": lambda x: x[:3].copy_(x[1:4]),
    "added at an index": lambda x: x.index_add_(0, torch.tensor([0, 1]), x[1:3]),
    "all of it at an index": lambda x: x.index_add_(0, torch.arange(6), x),
    "assigned at an index": lambda x: x.__setitem__(torch.tensor([0, 1]), x[1:3]),
    "assigned": lambda x: x.__setitem__(slice(3), x[1:4]),
    "scattered": lambda x: x.scatter_(0, torch.tensor([0, 1]), x[1:3]),
    "all of it scattered": lambda x: x.scatter_(0, torch.arange(6), x),
    "scattered and multiplied": lambda x: x.scatter_(0, torch.tensor([0, 1]), x[1:3], reduce="multiply"),
    "scattered to out": lambda x: torch.scatter(x[1:3], 0, torch.tensor([0, 1]), torch.ones(2), out=x[:2]),
    "put at an index": lambda x: x.index_put_((torch.tensor([0, 1]),), x[1:3]),
    "put together": lambda x: torch.cat([x[1:3], torch.ones(1)], out=x[:3]),
    "put together where it is": lambda x: torch.cat([x[:3]], out=x[:3]),
    "stacked": lambda x: torch.stack([x[1:3], x[2:4]], out=x[:4].view(2, 2)),
    "beside each other": lambda x: torch.hstack([x[1:3], torch.ones(1)], out=x[:3]),
    "chosen": lambda x: torch.where(x[:3] > 0, x[1:4], x[3:], out=x[:3]),
    "summed up": lambda x: torch.cumsum(x[1:4], 0, out=x[:3]),
    "multiplied up": lambda x: torch.cumprod(x[1:4], 0, out=x[:3]),
    "sorted": lambda x: torch.sort(x[1:4], out=(x[:3], torch.zeros(3, dtype=torch.int64))),
    "the largest": lambda x: torch.topk(x[1:4], 2, out=(x[:2], torch.zeros(2, dtype=torch.int64))),
    "outer product": lambda x: torch.outer(x[:2], x[1:3], out=x[:4].view(2, 2)),
    "outer product added": lambda x: x[:4].view(2, 2).addr_(x[:2], x[2:4]),
    "cross product": lambda x: torch.cross(x[:3], x[3:], dim=0, out=x[1:4]),
    "cross product where it is": lambda x: torch.linalg.cross(x[:3], x[3:], out=x[3:]),
    "drawn around": lambda x: torch.normal(x[:3], 1.0, out=x[1:4]),
    "numbers stacked": lambda x: torch.stack([x[0], x[1]], out=x[:2]),
    "numbers beside each other": lambda x: torch.hstack([x[0], torch.ones(())], out=x[:2]),
    "put together under another name": lambda x: torch.concat([x[:2], x[2:4]], out=x[1:5]),
    "the larger": lambda x: torch.max(x[:3], x[1:4], out=x[:3]),
    "the largest along a dimension": lambda x: torch.max(x[:3], 0, out=(x[0], torch.zeros((), dtype=torch.int64))),
    "the k-th": lambda x: torch.kthvalue(x[:3], 1, out=(x[1], torch.zeros((), dtype=torch.int64))),
    "the median": lambda x: torch.median(x[:3], 0, out=(x[1], torch.zeros((), dtype=torch.int64))),
    "selected by a mask": lambda x: torch.masked_select(x[:4], x[:4] > 0, out=x[1:4]),
    "taken along a dimension": lambda x: torch.take_along_dim(x[:3], torch.tensor([1]), 0, out=x[:1]),
    "differences": lambda x: torch.diff(x[:4], out=x[1:4]),
    "scaled down": lambda x: torch.renorm(x[:4].view(2, 2), 2, 0, 1.0, out=x[1:5].view(2, 2)),
    "added to a product": lambda x: torch.addmv(x[:2], torch.ones(2, 2), torch.ones(2), out=x[1:3]),
    "taken apart": lambda x: torch.frexp(x[:3], out=(x[1:4], torch.zeros(3, dtype=torch.int32))),
    "extrema": lambda x: torch.aminmax(x[:4].view(2, 2), dim=0, out=(x[:2], x[2:4])),
}
ACCEPTED = {
    "beside it": (lambda x: x[:3].add_(x[3:]), [3.0, 5.0, 7.0, 3.0, 4.0, 5.0]),
    "itself": (lambda x: x.view(2, 3).add_(x.view(2, 3)), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]),
    "itself as out": (lambda x: torch.add(x[:3], 1, out=x[:3]), [1.0, 2.0, 3.0, 3.0, 4.0, 5.0]),
    "between its elements": (lambda x: x[::2].add_(x[1::2]), [1.0, 1.0, 5.0, 3.0, 9.0, 5.0]),
    "a number to fill with": (lambda x: x[:3].fill_(x[1]), [1.0, 1.0, 1.0, 3.0, 4.0, 5.0]),
    "a number for an index": (lambda x: x.index_fill_(0, torch.tensor([1]), x[2]), [0.0, 2.0, 2.0, 3.0, 4.0, 5.0]),
    "scattered beside it": (lambda x: x[:2].scatter_(0, torch.tensor([0, 1]), x[2:4]), [2.0, 3.0, 2.0, 3.0, 4.0, 5.0]),
    "scattered to itself as out": (
        lambda x: torch.scatter(x[:2], 0, torch.tensor([0, 1]), torch.ones(2), out=x[:2]),
        [1.0, 1.0, 2.0, 3.0, 4.0, 5.0],
    ),
    "put together with nothing": (
        lambda x: torch.cat([x[1:1], torch.ones(3)], out=x[:3]),
        [1.0, 1.0, 1.0, 3.0, 4.0, 5.0],
    ),
    "chosen where it is": (lambda x: torch.where(x[:3] > 1, x[:3], x[3:], out=x[:3]), [3.0, 4.0, 2.0, 3.0, 4.0, 5.0]),
    "summed up where it is": (lambda x: torch.cumsum(x[:3], 0, out=x[:3]), [0.0, 1.0, 3.0, 3.0, 4.0, 5.0]),
    "factors of a product": (
        lambda x: torch.addmv(torch.ones(2), x[:4].view(2, 2), torch.ones(2), out=x[:2]),
        [2.0, 6.0, 2.0, 3.0, 4.0, 5.0],
    ),
    "added to a product where it is": (
        lambda x: torch.addmv(x[:2], torch.ones(2, 2), torch.ones(2), out=x[:2]),
        [2.0, 3.0, 2.0, 3.0, 4.0, 5.0],
    ),
    "a copy": (lambda x: x.add_(x.flip(0)), [5.0] * 6),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_an_input_that_overlaps_what_is_written_is_refused(call):
    x = torch.arange(6.0)
    with pytest.raises(
        RuntimeError, match="some elements of the input tensor and the written-to tensor refer to a single memory"
    ):
        call(x)
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


@pytest.mark.parametrize(("call", "expected"), ACCEPTED.values(), ids=ACCEPTED)
def test_an_input_beside_what_is_written_is_accepted(call, expected):
    x = torch.arange(6.0)
    call(x)
    assert x.tolist() == expected


@pytest.mark.parametrize("layout", ["to_sparse", "to_sparse_csr"])
def test_sparse_tensors_of_one_memory_are_accepted(layout):
    x = getattr(torch.eye(2) * 3, layout)()
    assert x.mul_(x.detach()).to_dense().tolist() == [[9.0, 0.0], [0.0, 9.0]]
    if layout == "to_sparse":
        assert torch.add(x, x.detach(), out=x).to_dense().tolist() == [[18.0, 0.0], [0.0, 18.0]]
