"""Sorting: the lines of `tests/ops/lines.py` give the results, layouts, gradients and errors recorded from PyTorch."""

import numpy as np
import pytest

import torchlike as torch
from tests.ops.lines import every_line
from tests.ops.running import adopt_near, outcome

pytestmark = pytest.mark.single


@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize("line", every_line("sort"))
def test_as_recorded(line, shared, golden):
    told = outcome(torch, line, shared)
    assert told == adopt_near(golden("lines")["sort"][line], told)


def test_results_print_as_pytorch_prints_them():
    assert str(torch.tensor([3, 1, 2]).sort()) == (
        "torch.return_types.sort(\nvalues=tensor([1, 2, 3]),\nindices=tensor([1, 2, 0]))"
    )


def test_results_are_tuples_with_names():
    values, indices = result = torch.tensor([3, 1, 2]).topk(1)
    assert result.values is values
    assert result[1] is indices


def test_equal_elements_keep_their_order():
    x = torch.tensor([1.0, 0.0] * 50)
    for descending in (False, True):
        indices = x.sort(descending=descending).indices.tolist()
        halves = indices[:50], indices[50:]
        assert all(half == sorted(half) for half in halves)


SPECIAL = [float("nan"), float("inf"), float("-inf"), 0.0, -0.0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64], ids=str)
@pytest.mark.parametrize(("different", "specials"), [(3, 0), (40, 3), (40, 40)])
def test_the_largest_are_the_first_of_all_in_order(dtype, different, specials):
    """Of few and of many different numbers: of equal ones, of which some are among the first, these are the first in the row."""
    random = np.random.default_rng(different + specials)
    for shape, dim in (((7, 33), 1), ((2, 40, 3), 1), ((3, 0), 1), ((0, 40), 1), ((50,), 0)):
        numbers = random.integers(0, different, shape).astype(np.float64) % 256
        if dtype.is_floating_point:
            places = random.integers(0, max(numbers.size, 1), specials)[: numbers.size]
            numbers.reshape(-1)[places] = random.choice(SPECIAL, places.shape)
        x = torch.tensor(numbers).to(dtype)
        for k in (0, 1, 5, 9):
            for largest in (True, False):
                if k > shape[dim]:
                    continue
                first, everything = x.topk(k, dim, largest), x.sort(dim, descending=largest, stable=True)
                same(first, [whole.narrow(dim, 0, k) for whole in everything])
                if k and not largest:
                    same(x.kthvalue(k, dim, True), [whole.narrow(dim, k - 1, 1) for whole in everything])
        if 0 not in shape:
            values, indices = x.sort(dim, stable=True)
            missing = values.isnan().sum(dim, True)
            middle = (shape[dim] - 1) // 2
            for median, place in (
                (x.median(dim, True), torch.where(missing > 0, shape[dim] - missing, middle)),
                (x.nanmedian(dim, True), ((shape[dim] - missing - 1) // 2).clamp(min=0)),
            ):
                same(median, [each.gather(dim, place) for each in (values, indices)])


def same(results, expected):
    """Equal, to the signs of zeros."""
    for result, other in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result.numpy(), other.numpy(), strict=True)
        np.testing.assert_array_equal(np.signbit(result.double().numpy()), np.signbit(other.double().numpy()))


def test_out():
    values, indices = torch.empty(0), torch.empty(0, dtype=torch.int64)
    result = torch.sort(torch.tensor([3.0, 1.0]), out=(values, indices))
    assert result.values is values
    assert values.tolist() == [1.0, 3.0]
    assert indices.tolist() == [1, 0]


def test_structures_of_results_are_made_of_sequences():
    values, indices = torch.ones(()), torch.zeros(())
    made = torch.return_types.max([values, indices])
    assert made.values is values and made.indices is indices
    for wrong in ([values], [values, indices, indices]):
        with pytest.raises(
            TypeError, match=rf"^torch.return_types.sort\(\) takes a 2-sequence \({len(wrong)}-sequence"
        ):
            torch.return_types.sort(wrong)
