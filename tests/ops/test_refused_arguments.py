"""Calls that PyTorch refuses are refused in its words: dtypes of indices and ``out=``, lists that are none, formats of another rank."""

import warnings
from collections.abc import Callable

import pytest

import torchlike as torch

ONES = torch.ones(2, 2)
SHORT, LONG = torch.zeros(2, 2, dtype=torch.int32), torch.zeros(2, 2, dtype=torch.int64)
BYTES = torch.tensor([1, 0, 1], dtype=torch.uint8)
LAST, LAST_3D = torch.channels_last, torch.channels_last_3d

REFUSED: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "take_along_dim": (
        lambda: torch.take_along_dim(ONES, SHORT, 0),
        RuntimeError,
        "torch.take_along_dim(): dtype of indices should be Long but got Int",
    ),
    "nonzero out=": (
        lambda: torch.nonzero(ONES, out=torch.empty(4, 2)),
        RuntimeError,
        "nonzero: Expected out tensor to have scalar type Long but got scalar typeFloat",
    ),
    "unravel_index": (
        lambda: torch.unravel_index(ONES, (2, 2)),
        TypeError,
        "expected 'indices' to be integer dtype, but got torch.float32",
    ),
    "tensor_split by a number": (
        lambda: torch.tensor_split(ONES, torch.tensor(1.1), 0),
        RuntimeError,
        "tensor_split expected tensor_indices_or_sections to have dtype of long, but got Float",
    ),
    "tensor_split by indices": (
        lambda: torch.tensor_split(ONES, SHORT[0], 0),
        RuntimeError,
        "tensor_split expected tensor_indices_or_sections to have dtype of long, but got Int",
    ),
    "masked_select by bytes": (
        lambda: torch.masked_select(torch.ones(3), BYTES),
        RuntimeError,
        "masked_select: expected BoolTensor for mask",
    ),
    "a number at a mask of bytes": (
        lambda: torch.ones(3).__setitem__(BYTES, 5.0),
        RuntimeError,
        "masked_fill_ only supports boolean masks, but got mask with dtype unsigned char",
    ),
    "index_put of one element at a mask of bytes": (
        lambda: torch.ones(3).index_put_([BYTES], torch.tensor([5.0])),
        RuntimeError,
        "masked_fill_ only supports boolean masks, but got mask with dtype unsigned char",
    ),
    "meshgrid of two devices": (
        lambda: torch.meshgrid(torch.ones(2), torch.ones(3, device="meta"), indexing="ij"),
        RuntimeError,
        "meshgrid expects all tensors to have the same device",
    ),
    "meshgrid of two dtypes": (
        lambda: torch.meshgrid(ONES[0], LONG[0], indexing="ij"),
        RuntimeError,
        "meshgrid expects all tensors to have the same dtype",
    ),
    "block_diag of a list": (
        lambda: torch.block_diag([ONES, ONES]),
        TypeError,
        "expected Tensor as element 0 in argument 0, but got list",
    ),
    "cartesian_prod of a list": (
        lambda: torch.cartesian_prod([ONES[0], ONES[0]]),  # pyright: ignore[reportArgumentType]
        TypeError,
        "expected Tensor as element 0 in argument 0, but got list",
    ),
    "broadcast_tensors of a list": (
        lambda: torch.broadcast_tensors([ONES, ONES]),
        TypeError,
        "expected Tensor as element 0 in argument 0, but got list",
    ),
    "chain_matmul of a number": (
        lambda: torch.chain_matmul(ONES, 3),  # pyright: ignore[reportArgumentType]
        TypeError,
        "expected Tensor as element 1 in argument 0, but got int",
    ),
    "einsum without operands": (
        lambda: torch.einsum("ij"),
        ValueError,
        "einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts list",
    ),
    "promotion of float8": (
        lambda: torch.promote_types(torch.float8_e4m3fn, torch.int8),
        RuntimeError,
        "Promotion for Float8 Types is not supported, attempted to promote Float8_e4m3fn and Char",
    ),
    "normal of other shapes": (
        lambda: torch.normal(torch.ones(6), torch.ones(2, 3)),
        RuntimeError,
        "The size of tensor a (6) must match the size of tensor b (3) at non-singleton dimension 1",
    ),
    "an empty tensor seen across its rows": (
        lambda: torch.ones(0, 4).t().view(torch.int16),
        RuntimeError,
        "self.stride(-1) must be 1 to view Float as Short (different element sizes), but got 4",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_pytorch_refuses_is_refused_in_its_words(name):
    call, kind, words = REFUSED[name]
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value).strip() == words


@pytest.mark.parametrize("name", ["vstack", "hstack", "dstack", "column_stack", "row_stack", "stack", "cat"])
@pytest.mark.parametrize("given", [ONES, [ONES, 3]], ids=["tensor", "list with a number"])
def test_what_joins_takes_lists_of_tensors_only(name, given):
    with pytest.raises(TypeError) as caught:
        getattr(torch, name)(given)
    expected = (
        f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor"
        if given is ONES
        else "expected Tensor as element 1 in argument 0, but got int"
    )
    assert str(caught.value) == expected


@pytest.mark.parametrize("layout", [LAST, LAST_3D], ids=["2d", "3d"])
@pytest.mark.parametrize(
    "call",
    [
        lambda f: torch.empty(3, 4, 5, memory_format=f),
        lambda f: torch.empty_like(torch.ones(3, 4, 5), memory_format=f),
        lambda f: torch.ones(3, 4, 5).contiguous(memory_format=f),
        lambda f: torch.ones(3).resize_(1, 1, 3, memory_format=f),
    ],
    ids=["empty", "empty_like", "contiguous", "resize_"],
)
def test_a_format_is_refused_for_another_number_of_dimensions(call, layout):
    rank, name = (4, "channels_last") if layout is LAST else (5, "channels_last_3d")
    with pytest.raises(RuntimeError) as caught:
        call(layout)
    assert str(caught.value) == f"required rank {rank} tensor to use {name} format"


def test_masks_of_bytes_are_deprecated():
    def read(x):
        return x[BYTES]

    def write(x):
        x[BYTES] = torch.tensor([1.0, 2.0])
        return x

    def add(x):
        return x.index_put_([BYTES], torch.tensor([1.0]), accumulate=True)

    for call, expected in ((read, [0.0, 0.0]), (write, [1.0, 0.0, 2.0]), (add, [1.0, 0.0, 1.0])):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = call(torch.zeros(3))
        assert result.tolist() == expected
        words = "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead."
        assert len(caught) == 1 and str(caught[0].message).startswith(words)
