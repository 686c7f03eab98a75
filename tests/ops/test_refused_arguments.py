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


SHARED = {
    "put_": lambda y: y.put_(torch.tensor(2), y[0]),
    "index_copy_": lambda y: y.index_copy_(0, torch.tensor([2]), y[0]),
    "put_ of a number": lambda y: y[0].put_(torch.tensor(0), y[0]),
    "scatter_ of a number": lambda y: y[2].scatter_(0, torch.tensor(0), y[2]),
    "index_add_ of a number": lambda y: y[2].index_add_(0, torch.tensor(0), y[2]),
}


@pytest.mark.parametrize("name", SHARED)
def test_a_source_without_dimensions_must_lie_elsewhere(name):
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        SHARED[name](torch.arange(6.0))


def test_a_number_that_is_filled_in_may_lie_in_the_tensor():
    y = torch.arange(6.0)
    assert y.clone().masked_fill_(y > 1, y[0]).tolist() == [0, 1, 0, 0, 0, 0]
    y.index_fill_(0, torch.tensor([2]), y[0])
    y[y > 3] = y[1]
    assert y.tolist() == [0, 1, 0, 3, 1, 1]


NUMBERS = {
    "isclose": lambda x, n: torch.isclose(x, x, 1.5, n),
    "layer_norm": lambda x, n: torch.nn.functional.layer_norm(x, (2,), eps=n),
    "leaky_relu": lambda x, n: torch.nn.functional.leaky_relu(x, n),
    "add": lambda x, n: torch.add(x, x, alpha=n),
    "addcmul": lambda x, n: torch.addcmul(x, x, x, value=n),
    "logit": lambda x, n: torch.logit(x, n),
    "cdist": lambda x, n: torch.cdist(x[None], x[None], p=n),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_tensor_with_a_gradient_or_dimensions_is_no_number(name):
    x = torch.ones(2)
    for number in (torch.tensor(1.0, requires_grad=True), torch.ones(2)):
        with pytest.raises(TypeError, match=r"must be (Number|float), not Tensor"):
            NUMBERS[name](x, number)
    assert NUMBERS[name](x, torch.tensor(0.5)) is not None


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.int64])
@pytest.mark.parametrize("value", [1 + 1j, 2 + 0j, torch.tensor(1 + 1j)], ids=str)
def test_complex_numbers_are_filled_into_complex_tensors_only(dtype, value):
    for call in (torch.Tensor.index_fill, torch.Tensor.index_fill_):
        with pytest.raises(RuntimeError) as caught:
            call(torch.zeros(3, dtype=dtype), 0, torch.tensor([0]), value)
        assert str(caught.value) == "index_fill_(): Converting complex Scalar to non-complex type is not supported"


def test_values_put_by_index_are_refused_for_their_shape_first():
    mask, x = torch.ones(4, dtype=torch.bool), torch.arange(4)
    calls = [
        (mask, torch.tensor([]), "value tensor of shape [0] cannot be broadcast to indexing result of shape [4]"),
        (mask, torch.ones(3), "value tensor of shape [3] cannot be broadcast to indexing result of shape [4]"),
        ([0, 1], torch.ones(3), "value tensor of shape [3] cannot be broadcast to indexing result of shape [2]"),
    ]
    for index, values, words in calls:
        with pytest.raises(RuntimeError) as caught:
            x[index] = values
        assert str(caught.value) == f"shape mismatch: {words}"
    with pytest.raises(RuntimeError, match="Index put requires the source and destination dtypes match"):
        x[mask] = torch.ones(4)
    with pytest.raises(
        RuntimeError, match=r"value tensor of shape \[1\] cannot be broadcast to indexing result of shape \[\]"
    ):
        torch.ones([]).index_put([], torch.tensor([1.0]), True)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: torch.ones(3, 2, 2).transpose(1, 2), "Tensor must have a last dimension with stride 1"),
        (lambda: torch.ones(3, 3)[:, :2], "Tensor must have a stride divisible by 2 for all but last dimension"),
        (lambda: torch.ones(5)[1:3], "Tensor must have a storage_offset divisible by 2"),
    ],
)
def test_memory_that_is_no_row_of_pairs_is_not_seen_as_complex(make, words):
    with pytest.raises(RuntimeError) as caught:
        torch.view_as_complex(make())
    assert str(caught.value) == words
    assert torch.view_as_complex(torch.ones(1, 3)[:, :2]).shape == (1,)


def test_bags_of_rows_that_are_not_there():
    bag = torch.nn.functional.embedding_bag
    index, weight = torch.tensor([[1, 20]]), torch.ones(10, 2)
    for options, words in (
        ({}, "Index 1 of input takes value 20 which is not in the valid range [0, 10)"),
        ({"padding_idx": 0}, "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be 20"),
        ({"mode": "max"}, "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be 20"),
    ):
        with pytest.raises(RuntimeError) as caught:
            bag(index, weight, **options)  # pyright: ignore[reportArgumentType]
        assert str(caught.value) == words


def test_no_bags_are_an_empty_result():
    bag = torch.nn.functional.embedding_bag
    none = bag(torch.tensor([1, 2]), torch.ones(4, 3), torch.tensor([0]), include_last_offset=True)
    assert none.shape == (0, 3)
