"""Inputs that share memory with what is written: refused and accepted as by PyTorch 2.13."""

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
}
ACCEPTED = {
    "beside it": (lambda x: x[:3].add_(x[3:]), [3.0, 5.0, 7.0, 3.0, 4.0, 5.0]),
    "itself": (lambda x: x.view(2, 3).add_(x.view(2, 3)), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]),
    "itself as out": (lambda x: torch.add(x[:3], 1, out=x[:3]), [1.0, 2.0, 3.0, 3.0, 4.0, 5.0]),
    "between its elements": (lambda x: x[::2].add_(x[1::2]), [1.0, 1.0, 5.0, 3.0, 9.0, 5.0]),
    "a number to fill with": (lambda x: x[:3].fill_(x[1]), [1.0, 1.0, 1.0, 3.0, 4.0, 5.0]),
    "a number for an index": (lambda x: x.index_fill_(0, torch.tensor([1]), x[2]), [0.0, 2.0, 2.0, 3.0, 4.0, 5.0]),
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
