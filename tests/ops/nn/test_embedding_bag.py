"""``embedding_bag``: which indices the last bag has. What PyTorch 2.13 gave, as numbers."""

import pytest

import torchlike as torch

F = torch.nn.functional
AFTER_TWO = {"mean": [1.5, 7.5], "sum": [3, 15], "max": [3, 9]}  # bags [0, 1] and [2, 3], the first feature
GRADIENT = {"mean": [0.5] * 4, "sum": [1] * 4, "max": [0, 1, 0, 1]}


@pytest.mark.parametrize("mode", ["mean", "sum", "max"])
@pytest.mark.parametrize(
    ("dtype", "padding"), [(torch.float64, None), (torch.float32, 5), (torch.bfloat16, 5), (torch.float64, 5)], ids=str
)
@pytest.mark.parametrize("sparse", [False, True])
def test_the_last_bag_reaches_to_the_end_of_the_indices(mode, dtype, padding, sparse):
    if sparse and mode == "max":
        pytest.skip("PyTorch has no sparse gradient of it")
    table = torch.arange(30.0).view(10, 3).to(dtype).requires_grad_()
    bags = F.embedding_bag(
        torch.arange(4), table, torch.tensor([0, 2, 2]), mode=mode, sparse=sparse, include_last_offset=True, padding_idx=padding
    )  # fmt: skip
    assert bags[:, 0].tolist() == AFTER_TWO[mode]
    bags.sum().backward()
    assert table.grad.to_dense()[:4, 0].tolist() == GRADIENT[mode]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_faster_sums_end_at_the_last_offset(dtype):
    table = torch.arange(30.0).view(10, 3).to(dtype)
    for offsets, mode, expected in (
        ([0, 2, 2], "sum", [3, 0]),
        ([0, 0, 2], "sum", [0, 3]),
        ([0, 2, 2], "mean", [1.5, 0]),
        ([0, 0, 2], "mean", [0, 0.75]),  # the bag's size is 4
        ([0, 2, 2], "max", [3, 9]),
    ):
        bags = F.embedding_bag(torch.arange(4), table, torch.tensor(offsets), mode=mode, include_last_offset=True)
        assert bags[:, 0].tolist() == expected


@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("weighted", [False, True])
def test_indices_after_the_last_offset_have_no_gradient(mode, weighted):
    if weighted and mode == "mean":
        pytest.skip("PyTorch weights sums alone")
    gradients = []
    for sparse in (False, True):
        table = torch.arange(10.0).view(5, 2).requires_grad_()
        weights = torch.arange(1.0, 6) if weighted else None
        F.embedding_bag(
            torch.tensor([1, 2, 2, 4, 3]), table, torch.tensor([0, 2, 3]), mode=mode, sparse=sparse, include_last_offset=True,
            per_sample_weights=weights,
        ).sum().backward()  # fmt: skip
        gradients.append(table.grad.to_dense().tolist())
    assert gradients[0] == gradients[1] and gradients[1][3:] == [[0.0, 0.0]] * 2


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("indices", [[1, 2, 3], []])
def test_no_offsets_are_no_bags(indices, mode, sparse):
    weight = torch.ones(4, 3).requires_grad_()
    none = torch.tensor([], dtype=torch.int64)
    out = F.embedding_bag(
        torch.tensor(indices, dtype=torch.int64), weight, none, mode=mode, sparse=sparse and mode != "max"
    )
    assert out.shape == (0, 3)
    out.sum().backward()
    grad = weight.grad
    assert grad is not None and not grad.to_dense().any()


WRONG = (
    r"offsets\[0\] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got 1"
)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("mode", ["mean", "sum", "max"])
@pytest.mark.parametrize(
    "make", [lambda: torch.tensor([1, 2]), lambda: torch.tensor([0, 1]) + 1], ids=["known", "pending"]
)
def test_a_first_bag_that_begins_late_is_refused_at_the_call(make, mode, sparse):
    if sparse and mode == "max":
        pytest.skip("PyTorch has no sparse gradient of it")
    table = torch.ones(4, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match=WRONG):
        F.embedding_bag(torch.arange(4), table, make(), mode=mode, sparse=sparse)  # whose result nobody reads
    assert F.embedding_bag(torch.arange(4), table, make() - 1, mode=mode, sparse=sparse).shape == (2, 2)


@pytest.mark.parametrize("mode", ["mean", "sum", "max"])
def test_a_last_bag_beyond_the_indices_is_refused_at_the_call(mode):
    words = r"offsets\[-1\] can not be greater than input's length 4 but got offsets\[-1\] of 100"
    with pytest.raises(RuntimeError, match=words):
        F.embedding_bag(torch.arange(4), torch.ones(4, 2), torch.tensor([0, 100]), mode=mode)


def test_meta_offsets_are_not_read():
    indices, table = torch.empty(4, device="meta", dtype=torch.int64), torch.empty(4, 2, device="meta")
    bags = F.embedding_bag(indices, table, torch.empty(2, device="meta", dtype=torch.int64))
    assert bags.shape == (2, 2) and bags.is_meta
