"""Datasets, samplers, collation, workers, streams, errors of loaders, and pipes."""

import torch, os, random, numpy as np, math, tempfile
from torch.utils.data import *
from torch.utils.data import (
    get_worker_info,
    default_collate,
    Sampler,
    BatchSampler,
    WeightedRandomSampler,
    SubsetRandomSampler,
    ConcatDataset,
    ChainDataset,
    StackDataset,
    IterableDataset,
    DistributedSampler,
    DataLoader,
)
from torch.utils.data._utils.collate import default_collate_fn_map, collate
from typing import Iterator
from dataclasses import dataclass
from collections import namedtuple

torch.manual_seed(0)
random.seed(0)
np.random.seed(0)


class CSV(Dataset):
    def __init__(self, path, transform=None, target_transform=None):
        self.rows = [l.split(",") for l in open(path).read().split()]
        self.transform = transform
        self.tt = target_transform

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        if torch.is_tensor(i):
            i = i.tolist()
        x = np.array(self.rows[i][:-1], dtype=np.float32)
        y = int(self.rows[i][-1])
        s = {"x": x, "y": y}
        return self.transform(s) if self.transform else s


class ToTensor:
    def __call__(self, s):
        return {"x": torch.from_numpy(s["x"]), "y": torch.tensor(s["y"])}


with tempfile.TemporaryDirectory() as d:
    p = os.path.join(d, "a.csv")
    open(p, "w").write("\n".join(f"{i},{i * 2},{i % 3}" for i in range(10)))
    ds = CSV(p, ToTensor())
for b in DataLoader(ds, batch_size=4, shuffle=True, num_workers=0, drop_last=False):
    print(b["x"].tolist(), b["y"])


class Balanced(Sampler[int]):
    def __init__(self, labels, gen=None):
        self.labels = torch.as_tensor(labels)
        self.gen = gen

    def __iter__(self) -> Iterator[int]:
        for c in self.labels.unique():
            yield from (
                (self.labels == c)
                .nonzero()
                .flatten()[torch.randperm(int((self.labels == c).sum()), generator=self.gen)]
                .tolist()
            )

    def __len__(self):
        return len(self.labels)


labels = [int(ds[i]["y"]) for i in range(10)]
g = torch.Generator().manual_seed(3)
print([b["y"].tolist() for b in DataLoader(ds, batch_sampler=BatchSampler(Balanced(labels, g), 3, drop_last=True))])
w = 1.0 / torch.bincount(torch.tensor(labels)).float()[labels]
print(
    list(WeightedRandomSampler(w, 12, replacement=True)),
    list(WeightedRandomSampler(w.tolist(), 5, replacement=False, generator=torch.Generator().manual_seed(1))),
    list(SubsetRandomSampler([3, 5, 7])),
    list(RandomSampler(ds, replacement=True, num_samples=5)),
    list(RandomSampler(range(3), num_samples=7)),
    len(RandomSampler(ds)),
)
a, b = random_split(range(10), [0.7, 0.3], generator=torch.Generator().manual_seed(42))
print(list(a), list(b), a.indices, type(a).__name__)
c = ConcatDataset([a, b])
print(len(c), c[8], c[-1], c.cumulative_sizes, list(Subset(c, [0, 9])))
print((a + b).__class__.__name__)


class Stream(IterableDataset):
    def __init__(self, lo, hi):
        super().__init__()
        self.lo, self.hi = lo, hi

    def __iter__(self):
        wi = get_worker_info()
        if wi is None:
            lo, hi = self.lo, self.hi
        else:
            per = int(math.ceil((self.hi - self.lo) / float(wi.num_workers)))
            lo = self.lo + wi.id * per
            hi = min(lo + per, self.hi)
        return iter(range(lo, hi))


print(
    list(DataLoader(Stream(3, 9), num_workers=0)),
    list(DataLoader(Stream(3, 10), num_workers=2, batch_size=2)),
    list(DataLoader(ChainDataset([Stream(0, 2), Stream(5, 7)]), batch_size=None)),
)


def winit(i):
    s = torch.initial_seed() % 2**32
    np.random.seed(s)
    random.seed(s)


g = torch.Generator()
g.manual_seed(0)
print(
    [
        x[0].tolist()
        for x in DataLoader(
            TensorDataset(torch.arange(6)),
            batch_size=4,
            shuffle=True,
            num_workers=2,
            worker_init_fn=winit,
            generator=g,
            persistent_workers=True,
            prefetch_factor=2,
        )
    ][0]
)


class Noisy(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        return i, torch.rand(1).item(), get_worker_info().id


print(
    [
        [round(float(v), 5) for v in r]
        for r in DataLoader(Noisy(), num_workers=2, batch_size=None, generator=torch.Generator().manual_seed(5))
    ]
)
Pt = namedtuple("Pt", "x y")


@dataclass
class Ex:
    a: int


print(
    default_collate([Pt(1, 2.0), Pt(3, 4.0)]),
    default_collate([{"a": [1, 2], "b": "s"}, {"a": [3, 4], "b": "t"}]),
    default_collate([(np.float32(1), True), (np.float32(2), False)]),
    default_collate([torch.ones(2), torch.zeros(2)]),
    default_collate([np.arange(2), np.arange(2)]),
    default_convert([np.ones(1), 3, "a"]),
    sep="\n",
)


def tcol(batch, *, collate_fn_map=None):
    return [e.a for e in batch]


print(collate([Ex(1), Ex(2)], collate_fn_map={Ex: tcol, **default_collate_fn_map}))
for bad in ([Ex(1)], [torch.ones(1), torch.ones(2)], [[1], [1, 2]], [None]):
    try:
        default_collate(bad)
    except Exception as e:
        print(type(e).__name__, str(e)[:160])


def pad_collate(batch):
    xs, ys = zip(*batch)
    l = [len(x) for x in xs]
    return torch.nn.utils.rnn.pad_sequence(xs, True, 0), torch.tensor(ys), l


print(next(iter(DataLoader([(torch.arange(n), n) for n in (3, 1, 2)], 3, collate_fn=pad_collate))))
s = DistributedSampler(range(10), num_replicas=3, rank=1, shuffle=True, seed=4)
s.set_epoch(2)
print(list(s), len(s))
print(
    [x for x in StackDataset(a=range(3), b="xyz")],
    len(DataLoader(range(10), 3)),
    len(DataLoader(range(10), 3, drop_last=True)),
)
dl = DataLoader(range(5), batch_size=2, pin_memory=False, timeout=0, multiprocessing_context=None)
it = iter(dl)
print(next(it), next(it), next(it))
try:
    next(it)
except StopIteration:
    print("stop")
print(
    dl.batch_size,
    dl.num_workers,
    dl.drop_last,
    type(dl.sampler).__name__,
    dl.dataset,
    type(dl.batch_sampler).__name__,
    dl.collate_fn.__name__,
    dl.generator,
)
for bad in (
    dict(batch_size=2, batch_sampler=[[0]]),
    dict(num_workers=-1),
    dict(prefetch_factor=2),
    dict(persistent_workers=True),
    dict(timeout=-1),
    dict(batch_size=None, drop_last=True),
    dict(sampler=[1], batch_sampler=[[1]]),
):
    try:
        DataLoader(range(3), **bad)
    except Exception as e:
        print(type(e).__name__, str(e)[:200])


class Err(Dataset):
    def __len__(self):
        return 3

    def __getitem__(self, i):
        raise KeyError("bad sample")


try:
    list(DataLoader(Err(), num_workers=1))
except KeyError as e:
    print("KeyError", str(e).split("Original")[0][:60])


class Cycle:
    def __init__(self, dl):
        self.dl = dl
        self.it = iter(dl)

    def __next__(self):
        try:
            return next(self.it)
        except StopIteration:
            self.it = iter(self.dl)
            return next(self.it)


c = Cycle(DataLoader(torch.arange(4), 2, shuffle=True))
print([next(c).tolist() for _ in range(5)])
x = torch.utils.data.dataset.TensorDataset(torch.arange(3), torch.ones(3))
print(x[1], x[:2], x.tensors[0])
from torch.utils.data.datapipes.iter import IterableWrapper

print(
    list(IterableWrapper(range(6)).shuffle().set_shuffle(False).map(lambda x: x * 2).filter(lambda x: x > 2).batch(2)),
    list(IterableWrapper([1, 2]).zip(IterableWrapper([3, 4]))),
    list(IterableWrapper(range(3)).enumerate() if hasattr(IterableWrapper([1]), "enumerate") else []),
)
