"""Small programs that use `torch.utils.data`, run with PyTorch to record golden results and by the tests to compare.

Each takes the module to use as `torch` and returns plain values: orders of indices, and at the end of each order the generator's
next number, which shows a draw too many or too few.
"""

import random
from collections import OrderedDict, UserDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np

SCENARIOS: dict[str, Callable[[Any], Any]] = {}
ERRORS: dict[str, Callable[[Any], Any]] = {}
COLLATE: dict[str, Callable[[Any], Any]] = {}
CONVERT: dict[str, Callable[[Any], Any]] = {}

Point = namedtuple("Point", "x y")


def scenario(function):
    SCENARIOS[function.__name__] = function
    return function


def next_of_default(torch) -> list[int]:
    return list(torch.utils.data.RandomSampler(range(6)))


def next_of(torch, generator) -> list[int]:
    return list(torch.utils.data.SubsetRandomSampler(range(6), generator=generator))


def epochs(torch, count, *args, **options) -> list[Any]:
    torch.manual_seed(0)
    loader = torch.utils.data.DataLoader(*args, collate_fn=list, **options)
    return [[list(batch) for batch in loader] for _ in range(count)] + [next_of_default(torch)]


@scenario
def shuffled(torch):
    return epochs(torch, 3, range(10), batch_size=4, shuffle=True)


@scenario
def in_sequence(torch):
    return epochs(torch, 2, range(5), batch_size=2)


@scenario
def shuffled_by_a_generator(torch):
    generator = torch.Generator().manual_seed(5)
    found = epochs(torch, 2, range(10), batch_size=4, shuffle=True, generator=generator)
    return [*found, next_of(torch, generator)]


@scenario
def in_sequence_with_a_generator(torch):
    generator = torch.Generator().manual_seed(5)
    return [*epochs(torch, 2, range(4), generator=generator), next_of(torch, generator)]


@scenario
def shuffled_by_workers(torch):
    return epochs(torch, 2, range(10), batch_size=3, shuffle=True, num_workers=2)


@scenario
def shuffled_by_persistent_workers(torch):
    return epochs(torch, 3, range(10), batch_size=3, shuffle=True, num_workers=2, persistent_workers=True)


@scenario
def shuffled_by_workers_and_a_generator(torch):
    generator = torch.Generator().manual_seed(5)
    found = epochs(torch, 2, range(10), batch_size=3, shuffle=True, num_workers=2, generator=generator)
    return [*found, next_of(torch, generator)]


@scenario
def shuffled_and_the_last_dropped(torch):
    return epochs(torch, 2, range(10), batch_size=4, shuffle=True, drop_last=True)


@scenario
def two_loops_at_once(torch):
    torch.manual_seed(0)
    loader = torch.utils.data.DataLoader(range(6), batch_size=2, shuffle=True, collate_fn=list)
    return [[a, b] for a, b in zip(loader, loader, strict=True)] + [next_of_default(torch)]


@scenario
def a_loop_left_half_way(torch):
    torch.manual_seed(0)
    loader = torch.utils.data.DataLoader(range(6), batch_size=2, shuffle=True, collate_fn=list)
    return [next(iter(loader)), next(iter(loader)), next_of_default(torch)]


@scenario
def an_iterator_never_asked(torch):
    torch.manual_seed(0)
    iter(torch.utils.data.DataLoader(range(6), shuffle=True))
    return next_of_default(torch)


@scenario
def single_samples(torch):
    torch.manual_seed(0)
    return list(torch.utils.data.DataLoader(range(5), batch_size=None, shuffle=True))


@scenario
def batches_of_ones_own(torch):
    return epochs(torch, 1, range(10), batch_sampler=[[1, 2], [3], [9, 0, 5]])


@scenario
def a_sampler_of_ones_own(torch):
    return epochs(torch, 1, range(10), sampler=[7, 1, 3], batch_size=2)


@scenario
def a_subset_sampler(torch):
    return epochs(torch, 2, range(10), sampler=torch.utils.data.SubsetRandomSampler([7, 1, 3, 9]), batch_size=3)


@scenario
def random_samplers(torch):
    found = {}
    for options in (
        {}, {"num_samples": 10}, {"num_samples": 20}, {"num_samples": 5}, {"num_samples": 25},
        {"replacement": True}, {"replacement": True, "num_samples": 32}, {"replacement": True, "num_samples": 70},
    ):  # fmt: skip
        generator = torch.Generator().manual_seed(3)
        sampler = torch.utils.data.RandomSampler(range(10), generator=generator, **options)
        found[str(options)] = [len(sampler), list(sampler), list(sampler), next_of(torch, generator)]
    return found


@scenario
def weighted_samplers(torch):
    found = {}
    for weights in ([0.1, 0.2, 0.3, 0.4], [3, 0, 1], [1e-8, 1.0, 5.0, 1e8, 2.5]):
        for count, replacement in ((1, True), (3, True), (40, True), (1, False), (3, False)):
            generator = torch.Generator().manual_seed(3)
            sampler = torch.utils.data.WeightedRandomSampler(weights, count, replacement, generator=generator)
            found[f"{weights} {count} {replacement}"] = [len(sampler), list(sampler), next_of(torch, generator)]
    return found


@scenario
def weighted_by_the_default_generator(torch):
    torch.manual_seed(7)
    return [list(torch.utils.data.WeightedRandomSampler([1.0, 2.0, 3.0], 8)), next_of_default(torch)]


@scenario
def distributed_samplers(torch):
    found = {}
    for size, replicas, drop_last in ((10, 3, False), (10, 3, True), (9, 3, False), (1, 3, False), (2, 5, False)):
        for shuffle in (False, True):
            key = f"{size} {replicas} {drop_last} {shuffle}"
            parts = []
            for rank in range(replicas):
                sampler = torch.utils.data.DistributedSampler(
                    range(size), replicas, rank, shuffle=shuffle, seed=4, drop_last=drop_last
                )
                first = list(sampler)
                sampler.set_epoch(2)
                parts.append([len(sampler), first, list(sampler)])
            found[key] = parts
    return found


@scenario
def random_splits(torch):
    found = {}
    for size, lengths in (
        (10, [3, 7]), (10, [10, 0]), (10, [0.5, 0.5]), (10, [0.33, 0.33, 0.34]), (11, [0.25, 0.75]),
        (10, [1]), (7, [0.5, 0.5]),
    ):  # fmt: skip
        generator = torch.Generator().manual_seed(1)
        parts = torch.utils.data.random_split(range(size), lengths, generator=generator)
        found[f"{size} {lengths}"] = [[list(part.indices) for part in parts], next_of(torch, generator)]
    torch.manual_seed(2)
    parts = torch.utils.data.random_split(range(9), [4, 5])
    found["default"] = [[list(part) for part in parts], next_of_default(torch)]
    return found


@scenario
def what_workers_draw(torch):
    class Drawing(torch.utils.data.Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, index):
            info = torch.utils.data.get_worker_info()
            return index, info.id, info.num_workers, info.seed, next_of_default(torch)

    found = epochs(torch, 2, Drawing(), batch_size=2, num_workers=2)
    return [[[list(sample) for sample in batch] for batch in epoch] for epoch in found[:2]] + found[2:]


@scenario
def what_workers_draw_after_seeding_themselves(torch):
    class Drawing(torch.utils.data.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            return next_of_default(torch)

    return epochs(torch, 1, Drawing(), num_workers=2, worker_init_fn=lambda worker: torch.manual_seed(worker))


def _iterables(torch):
    class Count(torch.utils.data.IterableDataset):
        def __init__(self, *lengths):
            self.lengths = lengths

        def __iter__(self):
            info = torch.utils.data.get_worker_info()
            worker = 0 if info is None else info.id
            return iter(range(100 * worker, 100 * worker + self.lengths[worker]))

    return Count


@scenario
def an_iterable_dataset(torch):
    Count = _iterables(torch)
    options = ({"batch_size": 2}, {"batch_size": 2, "drop_last": True}, {"batch_size": 5}, {"batch_size": 1})
    return [epochs(torch, 2, Count(5), **each) for each in options]


@scenario
def an_iterable_dataset_with_workers(torch):
    Count = _iterables(torch)
    return [
        epochs(torch, 2, Count(*lengths), num_workers=2, **options)
        for lengths in ((5, 5), (1, 7), (7, 1), (0, 4), (4, 0), (0, 0))
        for options in (
            {"batch_size": 2},
            {"batch_size": 2, "drop_last": True},
            {"batch_size": 3, "prefetch_factor": 1},
        )
    ]


@scenario
def an_iterable_dataset_with_persistent_workers(torch):
    return epochs(torch, 3, _iterables(torch)(3, 6), num_workers=2, batch_size=2, persistent_workers=True)


@scenario
def a_dataset_that_worker_init_fn_divides(torch):
    class Range(torch.utils.data.IterableDataset):
        def __init__(self, start, end):
            self.start, self.end = start, end

        def __iter__(self):
            return iter(range(self.start, self.end))

    def divide(worker):
        dataset = torch.utils.data.get_worker_info().dataset
        dataset.start, dataset.end = (0, 3) if worker == 0 else (3, 6)

    return epochs(torch, 2, Range(0, 6), num_workers=2, worker_init_fn=divide)


@scenario
def datasets_put_together(torch):
    data = torch.utils.data
    both = data.ConcatDataset([range(3), "ab"])
    stacked = data.StackDataset(range(3), "abc")
    named = data.StackDataset(n=range(3), c="abc")
    subset = data.Subset(both, [4, 0, 2])
    return [
        [both[index] for index in (0, 2, 3, 4, -1, -5)],
        [len(both), both.cumulative_sizes],
        [list(stacked[1]), named[1], [list(pair) for pair in stacked.__getitems__([2, 0])], named.__getitems__([2, 0])],
        [list(subset), len(subset), subset.__getitems__([1, 2])],
        [len(data.StackDataset(subset)), data.StackDataset(subset).__getitems__([1])[0][0]],
    ]


@scenario
def lengths(torch):
    data = torch.utils.data
    options = ({}, {"batch_size": 3}, {"batch_size": 3, "drop_last": True}, {"batch_size": None}, {"shuffle": True})
    return [len(data.DataLoader(range(10), **each)) for each in options] + [
        len(data.BatchSampler(range(10), 3, False)),
        len(data.BatchSampler(range(10), 3, True)),
        list(data.BatchSampler(iter(range(5)), 2, True)),
    ]


class DrawingElsewhere:
    """Draws from the generators that a worker process seeds. Defined at the top of the module, so that it can be pickled."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return index, random.random(), float(np.random.random())  # noqa: NPY002 - this very source is looked at


def what_processes_draw(torch, **options):
    """Not among SCENARIOS: torchlike has to be asked for processes, while PyTorch's workers are processes."""
    torch.manual_seed(0)
    loader = torch.utils.data.DataLoader(DrawingElsewhere(), num_workers=2, collate_fn=list, **options)
    return [list(sample) for batch in loader for sample in batch]


# ---- batches: the results of default_collate and default_convert

for _text, _make in {
    "ints": lambda torch: [1, 2],
    "floats": lambda torch: [1.0, 2.5],
    "float, int": lambda torch: [2.5, 1],
    "int, float": lambda torch: [1, 2.5],
    "bools": lambda torch: [True, False],
    "strings": lambda torch: ["a", "b"],
    "bytes": lambda torch: [b"a", b"b"],
    "numpy floats": lambda torch: [np.float32(1), np.float32(2)],
    "numpy doubles": lambda torch: [np.float64(1), np.float64(2)],
    "numpy bools": lambda torch: [np.bool_(True), np.bool_(False)],
    "numpy strings": lambda torch: [np.str_("a"), np.str_("b")],
    "arrays": lambda torch: [np.zeros((2, 2)), np.ones((2, 2))],
    "int arrays": lambda torch: [np.arange(3, dtype=np.int16), np.arange(3, dtype=np.int16)],
    "0-d arrays": lambda torch: [np.array(3), np.array(4)],
    "tensors": lambda torch: [torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])],
    "0-d tensors": lambda torch: [torch.tensor(3), torch.tensor(4)],
    "tensors of two dtypes": lambda torch: [torch.tensor([1.0, 2.0]), torch.tensor([3, 4])],
    "array, tensor": lambda torch: [np.zeros(2), torch.tensor([1.0, 2.0], dtype=torch.float64)],
    "dicts": lambda torch: [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}],
    "ordered dicts": lambda torch: [OrderedDict(a=1), OrderedDict(a=2)],
    "default dicts": lambda torch: [defaultdict(list, a=1), defaultdict(list, a=2)],
    "user dicts": lambda torch: [UserDict(a=1), UserDict(a=2)],
    "named tuples": lambda torch: [Point(1, 2.0), Point(3, 4.0)],
    "tuples": lambda torch: [(1, 2.0), (3, 4.0)],
    "lists": lambda torch: [[1, 2.0], [3, 4.0]],
    "deques": lambda torch: [deque([1, 2]), deque([3, 4])],
    "ranges": lambda torch: [range(2), range(2)],
    "empty tuples": lambda torch: [(), ()],
    "empty dicts": lambda torch: [{}, {}],
    "nested": lambda torch: [{"x": (np.zeros(1), [1, {"y": "a"}])}, {"x": (np.ones(1), [2, {"y": "b"}])}],
    "a tuple of samples": lambda torch: (1, 2),
    "unequal tuples": lambda torch: [(1, 2), (3,)],
    "unequal tensors": lambda torch: [torch.tensor([1.0]), torch.tensor([1.0, 2.0])],
    "unequal arrays": lambda torch: [np.zeros(2), np.zeros(3)],
    "sets": lambda torch: [{1}, {2}],
    "none": lambda torch: [None, None],
    "nothing": lambda torch: [],
    "complex": lambda torch: [1j],
    "other keys": lambda torch: [{"a": 1}, {"b": 2}],
    "text arrays": lambda torch: [np.array("a")],
    "object arrays": lambda torch: [np.array([object()])],
    "dates": lambda torch: [np.datetime64("2020-01-01")],
}.items():
    COLLATE[_text] = lambda torch, make=_make: torch.utils.data.default_collate(make(torch))

for _text, _value in {
    "int": 1,
    "text": "a",
    "array": np.arange(2.0),
    "0-d array": np.array(2),
    "number": np.float32(2),
    "text array": np.array(["a"]),
    "dict": {"a": np.ones(1), "b": 3},
    "tuple": (1, np.ones(1)),
    "list": [1, np.ones(1)],
    "named tuple": Point(1, np.ones(1)),
    "none": None,
}.items():
    CONVERT[_text] = lambda torch, value=_value: torch.utils.data.default_convert(value)


# ---- errors


def _loader_error(text, *args, **options):
    ERRORS[f"DataLoader {text}"] = lambda torch: torch.utils.data.DataLoader(range(10), *args, **options)


for _options in (
    {"num_workers": -1}, {"timeout": -1}, {"prefetch_factor": 2}, {"num_workers": 1, "prefetch_factor": -1},
    {"persistent_workers": True}, {"batch_size": 0}, {"batch_size": 1.5}, {"batch_size": True}, {"drop_last": 1},
    {"batch_size": None, "drop_last": True}, {"shuffle": True, "sampler": [1]},
    {"batch_sampler": [[1]], "shuffle": True}, {"batch_sampler": [[1]], "batch_size": 2},
    {"batch_sampler": [[1]], "drop_last": True}, {"batch_sampler": [[1]], "sampler": [1]},
    {"multiprocessing_context": "spawn"}, {"num_workers": 1, "multiprocessing_context": "thread"},
    {"num_workers": 1, "multiprocessing_context": 3},
):  # fmt: skip
    _loader_error(str(_options), **_options)


def _empty(torch, **options):
    class Empty(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(())

    return torch.utils.data.DataLoader(Empty(), **options)


ERRORS |= {
    "iterable, shuffle": lambda torch: _empty(torch, shuffle=True),
    "iterable, sampler": lambda torch: _empty(torch, sampler=[1]),
    "iterable, batch_sampler": lambda torch: _empty(torch, batch_sampler=[[1]]),
    "iterable, len": lambda torch: len(_empty(torch)),
    "empty, shuffle": lambda torch: torch.utils.data.DataLoader([], shuffle=True),
    "timeout without workers": lambda torch: iter(torch.utils.data.DataLoader(range(3), timeout=1)),
    "pickled iterator": lambda torch: __import__("pickle").dumps(iter(torch.utils.data.DataLoader(range(3)))),
    "RandomSampler replacement": lambda torch: torch.utils.data.RandomSampler(range(3), replacement=1),
    "RandomSampler num_samples": lambda torch: torch.utils.data.RandomSampler(range(3), num_samples=0),
    "RandomSampler half": lambda torch: torch.utils.data.RandomSampler(range(3), num_samples=2.5),
    "RandomSampler empty": lambda torch: torch.utils.data.RandomSampler([]),
    "WeightedRandomSampler none": lambda torch: torch.utils.data.WeightedRandomSampler([1.0], 0),
    "WeightedRandomSampler bool": lambda torch: torch.utils.data.WeightedRandomSampler([1.0], True),
    "WeightedRandomSampler replacement": lambda torch: torch.utils.data.WeightedRandomSampler([1.0], 1, 1),
    "WeightedRandomSampler 2-d": lambda torch: torch.utils.data.WeightedRandomSampler([[1.0]], 1),
    "WeightedRandomSampler too many": lambda torch: list(torch.utils.data.WeightedRandomSampler([1.0], 2, False)),
    "WeightedRandomSampler negative": lambda torch: list(torch.utils.data.WeightedRandomSampler([1.0, -1.0], 2)),
    "WeightedRandomSampler zero": lambda torch: list(torch.utils.data.WeightedRandomSampler([0.0, 0.0], 2)),
    "BatchSampler size": lambda torch: torch.utils.data.BatchSampler([1], 0, False),
    "BatchSampler drop_last": lambda torch: torch.utils.data.BatchSampler([1], 1, 1),
    "Sampler arguments": lambda torch: torch.utils.data.Sampler([1]),
    "Sampler iter": lambda torch: iter(torch.utils.data.Sampler()),
    "Sampler len": lambda torch: len(torch.utils.data.Sampler()),
    "DistributedSampler rank": lambda torch: torch.utils.data.DistributedSampler(range(3), 2, 2),
    "DistributedSampler no group": lambda torch: torch.utils.data.DistributedSampler(range(3)),
    "Dataset item": lambda torch: torch.utils.data.Dataset()[0],
    "Dataset len": lambda torch: len(torch.utils.data.Dataset()),
    "TensorDataset sizes": lambda torch: torch.utils.data.TensorDataset(torch.tensor([1]), torch.tensor([1, 2])),
    "TensorDataset index": lambda torch: torch.utils.data.TensorDataset(torch.tensor([1]))[1],
    "TensorDataset batch index": lambda torch: list(
        torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.tensor([1])), sampler=[0, 1], batch_size=2)
    ),
    "ConcatDataset nothing": lambda torch: torch.utils.data.ConcatDataset([]),
    "ConcatDataset iterable": lambda torch: torch.utils.data.ConcatDataset([_empty(torch).dataset]),
    "ConcatDataset low": lambda torch: torch.utils.data.ConcatDataset([range(2)])[-3],
    "ConcatDataset high": lambda torch: torch.utils.data.ConcatDataset([range(2)])[2],
    "ChainDataset other": lambda torch: list(torch.utils.data.ChainDataset([[1]])),
    "ChainDataset len": lambda torch: len(torch.utils.data.ChainDataset([[1]])),
    "StackDataset nothing": lambda torch: torch.utils.data.StackDataset(),
    "StackDataset both": lambda torch: torch.utils.data.StackDataset([1], a=[1]),
    "StackDataset sizes": lambda torch: torch.utils.data.StackDataset([1], [1, 2]),
    "random_split sum": lambda torch: torch.utils.data.random_split(range(10), [3, 3]),
    "random_split over": lambda torch: torch.utils.data.random_split(range(10), [0.5, 0.6]),
    "random_split share": lambda torch: torch.utils.data.random_split(range(10), [1.5, -0.5]),
}


def plain(value: Any) -> Any:
    """Converts a batch to what JSON can hold: tensors with dtype, containers with their type."""
    if hasattr(value, "tolist") and hasattr(value, "dtype") and hasattr(value, "requires_grad"):
        return {"tensor": value.tolist(), "dtype": str(value.dtype)}
    if isinstance(value, dict | UserDict):
        return {type(value).__name__: [[key, plain(part)] for key, part in value.items()]}
    if isinstance(value, list | tuple | deque):
        return {type(value).__name__: [plain(part) for part in value]}
    if isinstance(value, np.ndarray | np.generic):
        return {type(value).__name__: str(value)}
    return repr(value)


def outcome(make: Callable[[Any], Any], torch: Any) -> Any:
    """Returns a program's result as plain values, or its error."""
    try:
        return {"value": plain(make(torch))}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def everything(torch: Any) -> dict[str, Any]:
    """Returns everything that is recorded of these programs, by kind and name."""
    tables = {"collate": COLLATE, "convert": CONVERT, "errors": ERRORS}
    orders = {name: make(torch) for name, make in SCENARIOS.items()}
    outcomes = {kind: {name: outcome(make, torch) for name, make in table.items()} for kind, table in tables.items()}
    return {"orders": orders} | outcomes | {"processes": what_processes_draw(torch)}
