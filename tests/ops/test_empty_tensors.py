"""Tensors without elements, and without dimensions, where sizes are divided, reshaped or looked up."""

from collections.abc import Callable

import pytest

import torchlike as torch
from torchlike import nn

EMPTY = torch.ones(0)
F = torch.nn.functional


def attention(batch: int, batch_first: bool = False, **options: bool) -> list[tuple[int, ...] | None]:
    module = nn.MultiheadAttention(8, 2, batch_first=batch_first)
    x = torch.randn((batch, 3, 8) if batch_first else (3, batch, 8), requires_grad=True)
    output, weights = module(x, x, x, **options)
    output.sum().backward()
    return [tuple(output.shape), None if weights is None else tuple(weights.shape), tuple(x.grad.shape)]


SHAPES: dict[str, tuple[Callable[[], object], object]] = {
    "attention": (lambda: attention(0), [(3, 0, 8), (0, 3, 3), (3, 0, 8)]),
    "attention, batch first": (lambda: attention(0, True), [(0, 3, 8), (0, 3, 3), (0, 3, 8)]),
    "attention without weights": (lambda: attention(0, need_weights=False), [(3, 0, 8), None, (3, 0, 8)]),
    "encoder layer": (lambda: tuple(nn.TransformerEncoderLayer(8, 2, 16)(torch.randn(3, 0, 8)).shape), (3, 0, 8)),
    "view as a narrower dtype": (lambda: tuple((torch.ones(0, 4).view(torch.int16) + 1).shape), (0, 8)),
    "view as bytes": (lambda: tuple(torch.ones(2, 0, 3).view(torch.uint8).shape), (2, 0, 12)),
    "view of complex as bytes": (
        lambda: tuple(torch.ones(0, 2, dtype=torch.complex64).view(torch.uint8).shape),
        (0, 16),
    ),
    "block_diag": (lambda: tuple(torch.block_diag().shape), (1, 0)),
    "cat along no dimension": (lambda: [tuple(torch.cat([EMPTY, EMPTY], d).shape) for d in (-2, 0, 1, 2)], [(0,)] * 4),
    "cat of two dtypes": (lambda: torch.cat([EMPTY, torch.ones(0, dtype=torch.int64)], 1).dtype, torch.float32),
    "tensorsolve": (
        lambda: tuple(torch.linalg.tensorsolve(torch.randn(2, 3, 0, 0, 1, 2, 3), torch.randn(2, 3, 0)).shape),
        (0, 1, 2, 3),
    ),
    "tensorsolve of nothing": (lambda: tuple(torch.linalg.tensorsolve(torch.ones(0, 0), EMPTY).shape), (0,)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_no_elements_are_a_size_like_any_other(name):
    call, expected = SHAPES[name]
    assert call() == expected


def sparse(values: list[float], **options: bool) -> torch.Tensor:
    return torch.sparse_coo_tensor(torch.zeros(0, len(values), dtype=torch.int64), torch.tensor(values, **options), ())


def test_a_number_has_a_sparse_form():
    number = torch.tensor(3.5).to_sparse()
    assert number.shape == () and number.values().numel() == 1 and tuple(number.indices().shape) == (0, 1)
    assert torch.tensor(0.0).to_sparse().values().numel() == 0
    assert [x.to_dense().item() for x in (number, number + number, number * 2, sparse([]), sparse([1.0, 2.0]))] == [
        3.5,
        7.0,
        7.0,
        0.0,
        3.0,
    ]
    assert sparse([1.0, 2.0]).coalesce().values().tolist() == [3.0]
    x = torch.tensor(3.5, requires_grad=True)
    (x.to_sparse().to_dense() * 2).backward()
    assert x.grad is not None and x.grad.item() == 2


def test_values_without_sparse_dimensions_have_gradients():
    values = torch.arange(5.0).unsqueeze(1).repeat(1, 2).requires_grad_()
    index = torch.zeros(0, 5, dtype=torch.int64)
    whole = torch.sparse_coo_tensor(index, values, (2,)).coalesce()
    assert whole.values().tolist() == [[10.0, 10.0]]
    (whole.values() * torch.tensor([1.0, 2.0])).sum().backward()
    assert values.grad is not None and values.grad.tolist() == [[1.0, 2.0]] * 5


@pytest.mark.parametrize("kind", ["Reflection", "Replication"])
@pytest.mark.parametrize(
    ("count", "shape"),
    [(1, (3, 0, 10)), (1, (3, 10, 0)), (1, (0, 3)), (2, (4, 0, 5, 5)), (2, (3, 3, 0, 3)), (2, (0, 3, 3)), (3, (3, 0, 4, 4, 4)),
     (3, (0, 3, 3, 3))],
)  # fmt: skip
def test_only_a_batch_of_padded_images_may_be_empty(kind, count, shape):
    module = getattr(nn, f"{kind}Pad{count}d")(2)
    words = rf"Expected {count + 1}D or {count + 2}D \(batch mode\) tensor with possibly 0 batch size"
    with pytest.raises(RuntimeError, match=words):
        module(torch.zeros(shape))
    batch = module(torch.zeros(0, 3, *[4] * count))
    assert tuple(batch.shape) == (0, 3, *[8] * count)
