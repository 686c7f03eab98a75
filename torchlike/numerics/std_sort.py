"""The order in which C++'s ``std::sort`` leaves elements that its comparison cannot put into one, as it is with NaN.

PyTorch sorts the slices of ``unique(dim=)`` by it. A NaN is neither less nor greater than anything, so the result depends on which elements
are compared, and the steps here are those of the GNU library.
"""

from __future__ import annotations

from collections.abc import Callable

_SMALL = 16  # parts of so many elements are left to the insertion sort at the end


def std_sort(count: int, less: Callable[[int, int], bool]) -> list[int]:
    """The numbers from 0 to ``count`` - 1 in the order of ``std::sort``. ``less(a, b)``: whether number a belongs before number b."""
    order = list(range(count))
    if count:
        _part(order, 0, count, 2 * (count.bit_length() - 1), less)
        _insert(order, 0, min(count, _SMALL), less)
        for at in range(_SMALL, count):
            _sink(order, at, less)
    return order


def _part(order: list[int], first: int, last: int, depth: int, less: Callable[[int, int], bool]) -> None:
    """Divides by pivots until small parts are left."""
    while last - first > _SMALL:
        if not depth:
            _heap_sort(order, first, last, less)
            return
        depth -= 1
        middle = first + (last - first) // 2
        _median_to_first(order, first, first + 1, middle, last - 1, less)
        cut = _divide(order, first + 1, last, first, less)
        _part(order, cut, last, depth, less)
        last = cut


def _median_to_first(order: list[int], to: int, a: int, b: int, c: int, less: Callable[[int, int], bool]) -> None:
    x, y, z = order[a], order[b], order[c]
    if less(x, y):
        chosen = b if less(y, z) else c if less(x, z) else a
    else:
        chosen = a if less(x, z) else c if less(y, z) else b
    order[to], order[chosen] = order[chosen], order[to]


def _divide(order: list[int], first: int, last: int, pivot: int, less: Callable[[int, int], bool]) -> int:
    while True:
        while less(order[first], order[pivot]):
            first += 1
        last -= 1
        while less(order[pivot], order[last]):
            last -= 1
        if first >= last:
            return first
        order[first], order[last] = order[last], order[first]
        first += 1


def _insert(order: list[int], first: int, last: int, less: Callable[[int, int], bool]) -> None:
    for at in range(first + 1, last):
        if less(order[at], order[first]):
            order.insert(first, order.pop(at))
        else:
            _sink(order, at, less)


def _sink(order: list[int], at: int, less: Callable[[int, int], bool]) -> None:
    """Moves an element before those in front of it that it belongs before."""
    to = at
    while to and less(order[at], order[to - 1]):
        to -= 1
    order.insert(to, order.pop(at))


def _heap_sort(order: list[int], first: int, last: int, less: Callable[[int, int], bool]) -> None:
    heap = order[first:last]
    count = len(heap)
    for parent in reversed(range(count // 2)):
        _adjust(heap, parent, count, heap[parent], less)
    for end in reversed(range(1, count)):
        value, heap[end] = heap[end], heap[0]
        _adjust(heap, 0, end, value, less)
    order[first:last] = heap


def _adjust(heap: list[int], hole: int, count: int, value: int, less: Callable[[int, int], bool]) -> None:
    top, child = hole, hole
    while child < (count - 1) // 2:
        child = 2 * (child + 1)
        if less(heap[child], heap[child - 1]):
            child -= 1
        heap[hole], hole = heap[child], child
    if count % 2 == 0 and child == (count - 2) // 2:
        child = 2 * child + 1
        heap[hole], hole = heap[child], child
    while hole > top and less(heap[(hole - 1) // 2], value):
        heap[hole], hole = heap[(hole - 1) // 2], (hole - 1) // 2
    heap[hole] = value
