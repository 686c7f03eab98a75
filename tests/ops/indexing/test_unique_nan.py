"""``unique(dim=)`` of NaN: in which order PyTorch leaves what its sort cannot compare."""

import torchlike as torch
from torchlike.numerics.std_sort import std_sort

NAN = float("nan")


def _shown(x):
    return torch.nan_to_num(x, -1.0).tolist()


def test_slices_with_nan_stand_where_pytorchs_sort_leaves_them():
    x = torch.tensor([NAN, 0, 0, NAN, NAN, 1])
    values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True, dim=0)
    assert _shown(values) == [-1, 0, -1, -1, 1]
    assert (inverse.tolist(), counts.tolist()) == ([0, 1, 1, 2, 3, 4], [1, 2, 1, 1, 1])
    assert _shown(torch.unique(torch.tensor([3.0, NAN, 1.0, NAN, 2.0, 3.0]), dim=0)) == [1, 3, -1, -1, 2, 3]
    rows = torch.tensor([[NAN, 1.0], [0.0, 1.0], [NAN, 1.0], [0.0, NAN], [0.0, 1.0]])
    assert _shown(torch.unique(rows, dim=0)) == [[-1, 1], [0, 1], [-1, 1], [0, -1], [0, 1]]
    assert _shown(torch.unique(rows, dim=1)) == _shown(rows)


def test_the_elements_of_a_whole_tensor_end_with_nan():
    assert _shown(torch.unique(torch.tensor([NAN, 0, 0, NAN, 1]))) == [0, 1, -1, -1]


def test_the_sort_orders_what_can_be_ordered():
    for count in (0, 1, 16, 17, 300):
        numbers = [(7 * i) % (count or 1) for i in range(count)]
        order = std_sort(count, lambda a, b, numbers=numbers: numbers[a] < numbers[b])
        assert [numbers[i] for i in order] == sorted(numbers)
    # so deep a recursion that the heap sort takes over
    killer = [i if i % 2 else 200 + i for i in range(400)]
    order = std_sort(400, lambda a, b: killer[a] < killer[b])
    assert [killer[i] for i in order] == sorted(killer)
