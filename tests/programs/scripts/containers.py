"""Tensors in containers and classes, NumPy, generators, subclasses, what builtins do with tensors."""

import torch, dataclasses, collections, enum, typing, copy, weakref, gc, inspect, functools, contextlib, itertools, numbers, operator
import numpy as np
from torch import nn, Tensor
from torch.utils._pytree import tree_map, tree_flatten, tree_map_only
from dataclasses import dataclass, field, asdict, replace
from typing import NamedTuple, Optional

torch.manual_seed(0)


class TensorDict(dict):
    def __init__(self, d, batch_size):
        super().__init__({k: v if isinstance(v, torch.Tensor) else torch.as_tensor(v) for k, v in d.items()})
        self.batch_size = torch.Size(batch_size)
        assert all(v.shape[: len(self.batch_size)] == self.batch_size for v in self.values())

    def __getitem__(self, i):
        return (
            super().__getitem__(i)
            if isinstance(i, str)
            else TensorDict({k: v[i] for k, v in self.items()}, next(iter(self.values()))[i].shape[:1])
        )

    def to(self, *a, **k):
        return TensorDict({n: v.to(*a, **k) for n, v in self.items()}, self.batch_size)

    def apply(self, f):
        return TensorDict({k: f(v) for k, v in self.items()}, self.batch_size)

    def __repr__(self):
        return (
            "TensorDict("
            + ", ".join(f"{k}: Tensor({list(v.shape)}, {v.dtype})" for k, v in self.items())
            + f", batch_size={self.batch_size})"
        )


td = TensorDict({"obs": torch.randn(4, 3), "act": [0, 1, 2, 3]}, [4])
print(
    td,
    td[1:3],
    td[torch.tensor([True, False, True, False])]["act"],
    td.to(torch.float64)["obs"].dtype,
    td.apply(lambda t: t * 2)["act"],
)


@dataclass
class Batch:
    x: Tensor
    y: Optional[Tensor] = None
    meta: dict = field(default_factory=dict)

    def to(self, device):
        return replace(
            self,
            **{
                f.name: getattr(self, f.name).to(device)
                for f in dataclasses.fields(self)
                if isinstance(getattr(self, f.name), Tensor)
            },
        )

    def pin_memory(self):
        return self

    def __len__(self):
        return len(self.x)


b = Batch(torch.ones(2), meta={"a": 1}).to("cpu")
print(b, len(b), asdict(b)["x"])


class Out(NamedTuple):
    loss: Tensor
    logits: Tensor


o = Out(torch.tensor(1.0), torch.ones(2))
print(o, tree_map(lambda t: t + 1, o), *tree_flatten({"b": [1, (2, o)], "a": None})[0])
print(tree_map_only(Tensor, lambda t: t.shape, {"x": torch.ones(2), "y": 3}))


class ModelOutput(collections.OrderedDict):
    def __getattr__(self, k):
        try:
            return self[k]
        except KeyError:
            raise AttributeError(k)


print(
    ModelOutput(a=torch.ones(1)).a,
    isinstance(torch.ones(1), numbers.Number),
    isinstance(torch.Size([1]), tuple),
    torch.Size([2, 3]).numel(),
    torch.Size([1]) + torch.Size([2]),
    [*torch.Size([4, 5])],
    torch.Size([1, 2, 3])[1:],
    hash(torch.Size([1])) == hash((1,)),
)
x = torch.ones(2)
r = weakref.ref(x)
d = {x: 1}
print(
    x in d,
    r() is x,
    {torch.float32: "f"}[torch.float],
    sorted([torch.tensor(3), torch.tensor(1)]),
    min(torch.tensor([2, 1])),
    functools.reduce(operator.add, torch.arange(4)),
    list(itertools.chain(torch.arange(2), [5])),
    list(zip(torch.arange(2), torch.ones(2))),
    dict(enumerate(torch.tensor([7, 8]))),
    [int(i) for i in torch.arange(3)],
    np.asarray(torch.arange(3)).tolist(),
    np.stack([torch.ones(2), torch.zeros(2)]).shape,
    np.array([torch.tensor(1), torch.tensor(2)]),
    torch.tensor(np.float32(2)),
    torch.tensor([np.int64(1), 2.5]),
    torch.as_tensor([[1, 2]], dtype=torch.uint8),
    torch.from_numpy(np.arange(3, dtype=np.int16)),
    torch.asarray([1.0, 2.0]),
    torch.tensor([torch.tensor(1), torch.tensor(2)]),
    torch.tensor(True).item(),
    torch.stack([torch.tensor(1.0), torch.tensor(2.0)]),
    torch.Tensor([1, 2]),
    torch.Tensor(2).shape,
    torch.LongTensor([1]),
    torch.FloatTensor(1, 2).shape,
    torch.tensor(range(3)),
    torch.tensor([[True], [False]]),
    torch.scalar_tensor(3),
    torch.tensor([1e40]),
    torch.tensor(3 + 2j),
    sep="\n",
)
a = np.zeros(3, np.float32)
t = torch.from_numpy(a)
t[0] = 5
a[1] = 6
print(a, t, t.numpy() is a, torch.tensor(a).data_ptr() == t.data_ptr(), np.shares_memory(t.numpy(), a))
s = t.view(torch.int32)
print(
    s,
    t.byte(),
    t.char(),
    t.short(),
    t.bool(),
    t.half(),
    t.type(torch.int64),
    t.type_as(torch.ones(1, dtype=torch.double)),
    t.new_tensor([1.0]),
    t.new_full((2,), 3),
    t.new_zeros(1),
    torch.empty_like(t).shape,
    torch.full_like(t, 2),
    torch.rand_like(t).shape,
    torch.randint_like(t, 3).dtype,
    torch.promote_types(torch.int8, torch.float16),
    torch.result_type(torch.ones(1, dtype=torch.int32), 2.0),
    torch.can_cast(torch.float, torch.int),
    (torch.ones(1, dtype=torch.int32) / 2).dtype,
    (torch.tensor(2) ** -1) if False else 0,
    torch.get_default_dtype(),
)
g = torch.Generator().manual_seed(7)
st = g.get_state()
r1 = torch.randn(2, generator=g)
g.set_state(st)
print(
    torch.equal(r1, torch.randn(2, generator=g)),
    g.initial_seed(),
    g.device,
    torch.initial_seed(),
    torch.random.get_rng_state().shape,
)
with torch.random.fork_rng():
    torch.manual_seed(9)
    f1 = torch.rand(1)
print(
    f1,
    torch.rand(1),
    torch.randint(10, (3,)),
    torch.randint(5, 10, (2, 2), dtype=torch.int32),
    torch.randperm(5),
    torch.normal(torch.zeros(2), torch.ones(2)),
    torch.normal(0.0, 1.0, (2,)),
    torch.bernoulli(torch.full((4,), 0.5)),
    torch.multinomial(torch.tensor([0.1, 0.9]), 5, replacement=True),
    torch.poisson(torch.full((3,), 4.0)),
    torch.empty(2).uniform_(1, 2),
    torch.empty(2).normal_(1, 0.1),
    torch.empty(2).exponential_(),
    torch.empty(2).cauchy_(),
    torch.empty(2).log_normal_(),
    torch.empty(2).geometric_(0.5),
    torch.empty(3).random_(0, 5),
    torch.empty(2).bernoulli_(0.3),
    torch.nn.init.trunc_normal_(torch.empty(2)),
    torch.nn.init.orthogonal_(torch.empty(2, 2)),
    torch.nn.init.sparse_(torch.empty(3, 2), 0.5),
    torch.nn.init.dirac_(torch.empty(1, 1, 3)),
    torch.nn.init.eye_(torch.empty(2, 2)),
    torch.nn.init.kaiming_normal_(torch.empty(2, 2), mode="fan_out", nonlinearity="leaky_relu"),
    torch.nn.init.calculate_gain("tanh"),
    torch.quasirandom.SobolEngine(2, scramble=True, seed=1).draw(2),
    sep="\n",
)


class MyT(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        r = super().__torch_function__(func, types, args, kwargs or {})
        MyT.log.append(func.__name__)
        return r


MyT.log = []
m = torch.ones(2).as_subclass(MyT)
q = (m + 1).sum() * torch.ones(1)
print(type(q).__name__, MyT.log, isinstance(q, MyT), type(q.detach().as_subclass(torch.Tensor)).__name__)


@functools.lru_cache(None)
def mask(n: int) -> Tensor:
    return torch.ones(n, n).tril()


print(
    mask(2) is mask(2),
    list(inspect.signature(nn.Linear.__init__).parameters),
    list(inspect.signature(torch.optim.SGD.__init__).parameters),
    list(inspect.signature(nn.Module.load_state_dict).parameters),
    nn.Linear.__module__,
    torch.Tensor.__module__,
    torch.float32.__reduce__() if hasattr(torch.float32, "__reduce__") else "",
    torch.nn.functional.relu.__name__,
    callable(torch.add),
    torch.add.__name__,
    isinstance(nn.ReLU(), typing.Callable),
    nn.Module.__mro__[-1],
    issubclass(nn.ReLU, nn.Module),
    hasattr(torch, "compile"),
    torch.__name__,
    torch.version.cuda,
    isinstance(torch.__version__, str),
    torch.cuda.device_count(),
    torch.cuda.is_available(),
    torch.backends.mps.is_available(),
    torch.get_num_threads() > 0,
    torch.is_grad_enabled(),
    torch.is_inference_mode_enabled(),
    torch.distributed.is_available(),
    torch.distributed.is_initialized(),
)


class Color(enum.Enum):
    R = torch.tensor(1)
    G = torch.tensor(2)


print(Color.R.value, copy.copy(x) is x, copy.deepcopy([x, x])[0] is copy.deepcopy([x, x])[1])
l = [x, x]
l2 = copy.deepcopy(l)
print(l2[0] is l2[1], x.__dict__, setattr(x, "foo", 1), x.foo, gc.collect() >= 0)
with contextlib.ExitStack() as es:
    es.enter_context(torch.no_grad())
    es.enter_context(torch.autograd.set_detect_anomaly(True))
    print(torch.is_grad_enabled(), torch.is_anomaly_enabled())


@torch.no_grad()
def gen():
    for i in range(2):
        yield torch.is_grad_enabled()


print(list(gen()), torch.is_grad_enabled())
