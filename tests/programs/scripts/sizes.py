"""Exported programs whose sizes vary, scripts, traces and compiled modules."""

import torch, torch.nn as nn, io
from torch.export import export, Dim, save, load


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 3)

    def forward(self, x, y):
        return torch.relu(self.l(x)) + y


torch.manual_seed(0)
m = M()
batch = Dim("batch", min=2, max=16)
ep = export(m, (torch.randn(5, 4), torch.randn(3)), dynamic_shapes={"x": {0: batch}, "y": None})
print(type(ep).__name__)
g = ep.module()
print(g(torch.ones(7, 4), torch.ones(3)).shape, g(torch.ones(2, 4), torch.zeros(3)))
for a in ((torch.ones(17, 4), torch.ones(3)), (torch.ones(3, 5), torch.ones(3)), (torch.ones(1, 4), torch.ones(3))):
    try:
        print(g(*a).shape)
    except Exception as e:
        print(type(e).__name__, str(e).split("\n")[0])
ep2 = export(m, (torch.randn(5, 4), torch.randn(3)), dynamic_shapes=({0: Dim.AUTO}, None))
print(ep2.module()(torch.ones(9, 4), torch.ones(3)).shape)
ep3 = export(m, (torch.randn(5, 4), torch.randn(3)), dynamic_shapes={"x": {0: Dim.DYNAMIC, 1: Dim.STATIC}, "y": {}})
print(ep3.module()(torch.ones(3, 4), torch.ones(3)).shape)
try:
    export(m, (torch.randn(5, 4), torch.randn(3)), dynamic_shapes={"x": {0: batch}})
except Exception as e:
    print(type(e).__name__, str(e).split("\n")[0])
try:
    ep.module()(torch.ones(3, 4))
except Exception as e:
    print(type(e).__name__, str(e).split("\n")[0])
e4 = export(m, (torch.randn(5, 4), torch.randn(3)))
b = io.BytesIO()
save(e4, b)
b.seek(0)
e4 = load(b)
print(e4.module()(torch.ones(5, 4), torch.ones(3)).shape)
print(Dim("a"), batch.__name__, Dim("h", max=4).max, type(Dim("q")).__name__)


class Two(nn.Module):
    def forward(self, a, b):
        return a + b


s = Dim("s")
e = export(Two(), (torch.ones(3, 2), torch.ones(3, 2)), dynamic_shapes={"a": {0: s}, "b": {0: s}})
print(e.module()(torch.ones(6, 2), torch.ones(6, 2)).shape)
try:
    e.module()(torch.ones(6, 2), torch.ones(5, 2))
except Exception as er:
    print(type(er).__name__, str(er).split("\n")[0])
scripted = torch.jit.script(m)
print(scripted(torch.ones(1, 4), torch.ones(3)).shape, isinstance(scripted, torch.jit.ScriptModule))
tr = torch.jit.trace(m, (torch.ones(2, 4), torch.ones(3)))
print(tr(torch.ones(3, 4), torch.ones(3)).shape)
buf = io.BytesIO()
torch.jit.save(tr, buf)
buf.seek(0)
print(torch.jit.load(buf)(torch.ones(3, 4), torch.ones(3)).equal(m(torch.ones(3, 4), torch.ones(3))))


@torch.jit.script
def fn(x: torch.Tensor, n: int = 2) -> torch.Tensor:
    for i in range(n):
        x = x * 2
    return x


print(fn(torch.ones(2)), fn(torch.ones(1), 3))
frozen = torch.jit.freeze(torch.jit.script(m.eval()))
print(frozen(torch.ones(1, 4), torch.zeros(3)).shape)
print(torch.jit.is_scripting(), torch.jit.is_tracing())
c = torch.compile(m, mode="reduce-overhead", fullgraph=True, dynamic=True, backend="eager")
print(
    c(torch.ones(1, 4), torch.ones(3)).shape,
    list(c.state_dict()),
    type(c).__name__,
    c._orig_mod is m,
    isinstance(c, nn.Module),
)
c.load_state_dict(c.state_dict())
print([n for n, _ in c.named_parameters()], c.l.weight is m.l.weight, c.training)
c.eval()
print(m.training)


@torch.compile(backend="eager")
def ff(x):
    return torch.sin(x) + torch.cos(x)


print(ff(torch.zeros(2)), torch.compiler.is_compiling(), torch._dynamo.is_compiling())
torch._dynamo.reset()
m.compile(backend="eager")
print(m(torch.ones(1, 4), torch.ones(3)).shape, repr(c))
import torch._dynamo as dynamo

print(dynamo.config.suppress_errors, torch.compiler.disable(lambda x: x)(3))


@torch.compiler.disable
def hh(x):
    return x


print(hh(1), torch.compiler.list_backends()[:1])
