"""Rounded weights with straight-through gradients, a codebook, quantized layers, an optimizer and tensor classes of one's own."""

import torch, torch.nn as nn, io, threading, itertools, typing, dataclasses

torch.manual_seed(0)


# straight-through quantization and VQ
class STE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bits=4):
        s = x.abs().amax() / (2 ** (bits - 1) - 1)
        return (x / s).round().clamp(-8, 7) * s

    @staticmethod
    def backward(ctx, g):
        return g, None


class QLinear(nn.Linear):
    def forward(self, x):
        return nn.functional.linear(x, STE.apply(self.weight), self.bias)


m = nn.Sequential(QLinear(6, 12), nn.ReLU(), QLinear(12, 3))
x, y = torch.randn(20, 6), torch.randint(3, (20,))
o = torch.optim.Adagrad(m.parameters(), 0.1)
for _ in range(4):
    o.zero_grad()
    l = nn.functional.cross_entropy(m(x), y)
    l.backward()
    o.step()
    print(f"{l.item():.4f}")


class VQ(nn.Module):
    def __init__(self, k, d):
        super().__init__()
        self.e = nn.Embedding(k, d)
        self.e.weight.data.uniform_(-1 / k, 1 / k)

    def forward(self, z):
        i = torch.cdist(z, self.e.weight).argmin(-1)
        q = self.e(i)
        return z + (q - z).detach(), i, ((q.detach() - z) ** 2).mean() + 0.25 * ((q - z.detach()) ** 2).mean()


v = VQ(5, 3)
q, i, l = v(torch.randn(7, 3, requires_grad=True))
l.backward()
print(i, l, v.e.weight.grad.norm())
dq = torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(6, 4), nn.ReLU()), {nn.Linear}, dtype=torch.qint8)
print(dq)
print((dq(x) - dq(x)).abs().max())
t = torch.quantize_per_tensor(torch.tensor([-1.0, 0.5, 2.0]), 0.1, 10, torch.quint8)
print(t, t.int_repr(), t.dequantize(), t.q_scale(), t.q_zero_point())
print(torch.fake_quantize_per_tensor_affine(torch.tensor([0.04, 1.26]), 0.1, 0, 0, 255))


class FT(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant = torch.ao.quantization.QuantStub()
        self.l = nn.Linear(6, 3)
        self.dequant = torch.ao.quantization.DeQuantStub()

    def forward(self, x):
        return self.dequant(self.l(self.quant(x)))


f = FT().eval()
f.qconfig = torch.ao.quantization.get_default_qconfig("fbgemm")
p = torch.ao.quantization.prepare(f)
p(x)
c = torch.ao.quantization.convert(p)
print(c)
print((c(x) - f(x)).abs().max() < 0.2)


@dataclasses.dataclass
class Config:
    lr: float = 0.1
    hidden: typing.Tuple[int, ...] = (4, 4)
    act: str = "relu"
    extra: dict = dataclasses.field(default_factory=dict)


class Registry(dict):
    def register(self, n):
        return lambda c: self.setdefault(n, c)


R = Registry()


@R.register("mlp")
class MLP(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        d = [6, *c.hidden]
        self.body = nn.Sequential(
            *itertools.chain.from_iterable(
                (nn.Linear(a, b), {"relu": nn.ReLU, "glu": nn.GLU}[c.act]()) for a, b in zip(d, d[1:])
            )
        )
        self.cfg = c

    @property
    def width(self):
        return self.cfg.hidden[-1]

    @torch.no_grad()
    def predict(self, x):
        return self.body(x)

    @classmethod
    def from_pretrained(cls, f):
        d = torch.load(f, weights_only=False)
        s = cls(d["cfg"])
        s.load_state_dict(d["sd"])
        return s

    def save(self, f):
        torch.save({"cfg": self.cfg, "sd": self.state_dict()}, f)


mm = R["mlp"](Config())
b = io.BytesIO()
mm.save(b)
b.seek(0)
m2 = MLP.from_pretrained(b)
print(torch.equal(mm.predict(x), m2.predict(x)), mm.width, dataclasses.asdict(m2.cfg))


class MyOpt(torch.optim.Optimizer):
    def __init__(self, params, lr=0.1, beta=0.9):
        super().__init__(params, dict(lr=lr, beta=beta))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for g in self.param_groups:
            for p in g["params"]:
                if p.grad is None:
                    continue
                s = self.state[p]
                if not s:
                    s["step"] = 0
                    s["m"] = torch.zeros_like(p, memory_format=torch.preserve_format)
                s["step"] += 1
                s["m"].mul_(g["beta"]).add_(p.grad, alpha=1 - g["beta"])
                p.add_(s["m"].sign(), alpha=-g["lr"])
        return loss


o = MyOpt(m2.parameters(), 0.01)
print(o)
print(o.step(lambda: (o.zero_grad(), (L := m2.body(x).pow(2).mean()).backward(), L)[2]))
print(sorted(o.state_dict()["state"][0]), o.state_dict()["param_groups"])


class MyTensor(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        r = super().__torch_function__(func, types, args, kwargs or {})
        calls.append(func.__name__)
        return r


calls = []
a = torch.ones(2).as_subclass(MyTensor)
bb = (a + 1).mul(2).sum()
print(type(bb).__name__, calls, bb)
from torch.utils._python_dispatch import TorchDispatchMode
from torch.overrides import TorchFunctionMode


class Log(TorchFunctionMode):
    def __torch_function__(self, f, t, a=(), k=None):
        print("fn", getattr(f, "__name__", f))
        return f(*a, **(k or {}))


with Log():
    torch.ones(2).add(1).relu()


class LogD(TorchDispatchMode):
    def __torch_dispatch__(self, f, t, a=(), k=None):
        print("op", f)
        return f(*a, **(k or {}))


with LogD():
    nn.functional.linear(torch.ones(1, 2), torch.ones(2, 2)).softmax(-1)
from torch.utils.flop_counter import FlopCounterMode

with FlopCounterMode(display=False) as fc:
    nn.Linear(6, 4)(x)
print(fc.get_total_flops())
r = []


def work(i):
    torch.set_grad_enabled(False)
    r.append((i, torch.is_grad_enabled(), (torch.ones(2) * i).sum().item()))


th = [threading.Thread(target=work, args=(i,)) for i in range(2)]
[t.start() for t in th]
[t.join() for t in th]
print(sorted(r), torch.is_grad_enabled())
from torch.nn.utils import parameters_to_vector, vector_to_parameters, skip_init, fuse_conv_bn_eval

w = parameters_to_vector(m2.parameters())
vector_to_parameters(w * 0, m2.parameters())
print(
    w.shape,
    m2.predict(x).abs().sum(),
    skip_init(nn.Linear, 2, 2).weight.shape,
    fuse_conv_bn_eval(nn.Conv2d(1, 1, 1).eval(), nn.BatchNorm2d(1).eval()),
)
