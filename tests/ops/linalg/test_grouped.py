"""Grouped products and reductions of segments: values compared with those of single groups, gradients, and errors."""

from typing import Any

import pytest

import torchlike as torch
from torchlike.nn.functional import grouped_mm

pytestmark = pytest.mark.single

A = torch.arange(32.0).reshape(4, 8) / 10
B = (torch.arange(128.0).reshape(2, 8, 8) % 7) / 10
ENDS = torch.tensor([1, 3], dtype=torch.int32)


def by_hand(a, b):
    """Computes the same product group by group."""
    if a.dim() == b.dim() == 2:
        return torch.stack([a[:, :1] @ b[:1], a[:, 1:3] @ b[1:3]])
    if a.dim() == 2:
        return torch.cat([a[:1] @ b[0], a[1:3] @ b[1], torch.zeros(1, 8)])
    return torch.cat([a[0] @ b[:, :1], a[1] @ b[:, 1:3], torch.zeros(8, 1)], 1)


@pytest.mark.parametrize(("a", "b"), [(A, B), (B, A.t()), (A.t(), A)], ids=["rows", "columns", "sums"])
def test_groups_are_products_of_their_own(a, b):
    results = []
    for product in (lambda a, b: grouped_mm(a, b, offs=ENDS), by_hand):
        leaves = [x.detach().clone().requires_grad_() for x in (a, b)]
        out = product(*leaves)
        (out * (torch.arange(out.numel()).reshape(out.shape) % 5)).sum().backward()
        results.append([out.detach(), *(leaf.grad for leaf in leaves)])
    for found, wanted in zip(*results, strict=True):
        torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize(
    ("a", "b", "options", "words"),
    [
        (A, B, {}, "Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d"),
        (A, B, {"offs": ENDS.long()}, "Offsets have to be int32"),
        (A, B, {"offs": ENDS[:1]}, "matrix batch sizes have to match"),
        (A[:, :3], B, {"offs": ENDS}, "contraction dimension of mat_a and mat_b must match"),
        (
            A.double(),
            B.double(),
            {"offs": ENDS},
            "Expected mat_a to be Float32, BFloat16 or Float16 matrix, got Double",
        ),
        (A, B.bfloat16(), {"offs": ENDS}, "expected m1 and m2 to have the same dtype, but got: float != c10::BFloat16"),
        (A, B, {"offs": ENDS, "bias": torch.ones(8)}, "Bias not supported yet"),
        (A, B, {"offs": ENDS, "out_dtype": torch.float64}, "Grouped gemm output dtype must match `mat_a` dtype"),
    ],
)
def test_what_groups_refuse(a, b, options, words):
    with pytest.raises(RuntimeError, match=words):
        grouped_mm(a, b, **options)


INF = float("inf")
DATA = [[1.0, 2.0], [3.0, 2.0], [0.0, 6.0]]


@pytest.mark.parametrize(
    ("reduce", "values", "begun", "gradient"),
    [
        ("sum", [[4, 4], [0, 0], [0, 6]], [[14, 14], [10, 10], [10, 16]], [[1, 1], [1, 1], [1, 1]]),
        ("mean", [[2, 2], None, [0, 6]], [[7, 7], [10, 10], [10, 16]], [[0.5, 0.5], [0.5, 0.5], [1, 1]]),
        ("max", [[3, 2], [-INF, -INF], [0, 6]], [[10, 10], [10, 10], [10, 10]], [[0, 0.5], [1, 0.5], [1, 1]]),
        ("min", [[1, 2], [INF, INF], [0, 6]], [[1, 2], [10, 10], [0, 6]], [[1, 0.5], [0, 0.5], [1, 1]]),
        ("prod", [[3, 4], [1, 1], [0, 6]], [[30, 40], [10, 10], [0, 60]], [[3, 2], [1, 2], [1, 1]]),
    ],
)
def test_segments(reduce, values, begun, gradient):
    data, lengths = torch.tensor(DATA, requires_grad=True), torch.tensor([2, 0, 1])
    found = torch.segment_reduce(data, reduce, lengths=lengths)
    assert found.grad_fn.name() == "SegmentReduceBackward0"
    rows = found.tolist()
    if values[1] is None:
        assert found[1].isnan().all()
        values, rows = [values[0], values[2]], [rows[0], rows[2]]
    assert rows == values
    assert torch.segment_reduce(data, reduce, offsets=torch.tensor([0, 2, 2, 3]), initial=10).tolist() == begun
    found.sum().backward()
    assert data.grad.tolist() == gradient


def test_segments_of_rows_and_what_is_refused():
    data = torch.tensor(DATA).t()
    lengths = torch.tensor([[2, 1], [1, 2]])
    assert torch.segment_reduce(data, "sum", lengths=lengths, axis=1).tolist() == [[4, 0], [2, 8]]
    refused: list[tuple[dict[str, Any], str]] = [
        ({"lengths": torch.tensor([1])}, "Expected all rows of lengths along axis to sum to data.size"),
        ({"lengths": torch.tensor([3, -1])}, "lengths contains negative value!"),
        ({"lengths": lengths}, "Expected axis to be the last dimension of lengths but got 0."),
        ({}, "Either lengths or offsets must be defined."),
    ]
    for options, words in refused:
        with pytest.raises(RuntimeError, match=words):
            torch.segment_reduce(data, "sum", **options)
    with pytest.raises(RuntimeError, match="reduce argument must be either sum, prod, mean, amax or amin, got median"):
        torch.segment_reduce(data, "median", lengths=torch.tensor([2]))
    with pytest.raises(NotImplementedError, match="\"_segment_reduce_cpu\" not implemented for 'Long'"):
        torch.segment_reduce(data.long(), "sum", lengths=torch.tensor([2]))


def test_an_axis_of_segments_is_counted_from_the_end():
    data, lengths = torch.arange(8.0).reshape(2, 4), torch.tensor([[1, 3], [2, 2]])
    assert torch.segment_reduce(data, "sum", lengths=lengths, axis=-1).tolist() == [[0.0, 6.0], [9.0, 13.0]]
    with pytest.raises(
        RuntimeError, match="^segment_reduce\\(\\): Expected axis to be the last dimension of lengths but got 0.$"
    ):
        torch.segment_reduce(data, "sum", lengths=lengths, axis=-2)
    with pytest.raises(IndexError, match="but got 2"):
        torch.segment_reduce(data, "sum", lengths=lengths, axis=2)
