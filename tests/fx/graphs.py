"""Programs that trace, change and run graphs. Their output is compared with their output under PyTorch."""

from __future__ import annotations

from types import ModuleType

from tests._core.overriding import outputs

_MODULE = """
import torch.fx as fx
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 4)
        self.p = nn.Parameter(torch.ones(4))
        self.register_buffer("b", torch.zeros(4))
        self.seq = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Sequential(nn.BatchNorm1d(4)))
    def forward(self, x: torch.Tensor, y=None, scale: float = 2.0) -> torch.Tensor:
        z = self.lin(x) + self.p
        z = F.relu(z, inplace=True) * self.b - 1
        z = torch.cat([z, z], dim=1).view(z.shape[0], -1)
        z += 1
        a, b = z.chunk(2, dim=-1)
        w = self.seq(a)
        u = F.linear(w, self.lin.weight.t())
        v = torch.add(u, 1, alpha=2)
        s = v.size(0) // 2
        t = math.sqrt(4) * v[:, None, ..., 1:2] + torch.ones(2, 3)
        return {"out": t, "l": [u, (v, s)]}
""".replace("import torch.fx as fx", "fx = torch.fx")

PROGRAMS = {
    "a module": _MODULE
    + """
gm = fx.symbolic_trace(M())
say(gm.code)
say(gm.graph)
say(gm)
say([(n.name, n.op) for n in gm.graph.nodes])
say(gm.graph.find_nodes(op="call_module"), gm.graph.output_node(), list(gm.graph.python_code("self").globals))
c = copy.deepcopy(gm)
say(c.code == gm.code, type(c).__name__)
gm.print_readable()
""",
    "functions": """
def many(to):
    torch.sigmoid(-to).to(torch.float64); F.gelu(to); torch.linalg.norm(to); F.logsigmoid(to); F.max_pool2d(to, 2); F.dropout(to, 0.5, True)
    torch.split(to, 2); F.interpolate(to, scale_factor=2.0); F.avg_pool2d(to, 2); F.softmax(to, dim=1); F.threshold(to, 1.0, 2.0)
    torch.fft.fft(to); to.T; ~to; to == 1; 2 ** to; 3 - to; to @ to; to.add_(1); torch.where(to > 0, to, 0.0); F.sigmoid(to); F.tanh(to)
    F.scaled_dot_product_attention(to, to, to); F.conv2d(to, to); F.adaptive_avg_pool2d(to, (1, 1)); torch.flatten(to, 1); abs(to)
    F.layer_norm(to, (3,)); F.batch_norm(to, None, None, training=True); F.hardswish(to); F.pad(to, (1, 1)); F.normalize(to); to[0, 1:]
    torch.special.expit(to); F.one_hot(to); torch.meshgrid(to, to, indexing="ij"); torch.zeros(2, device=to.device, dtype=to.dtype)
    F.grid_sample(to, to, align_corners=False); torch._assert(to, 'no')
    F.cross_entropy(to, to); torch.einsum("ij,jk", to, to); F.embedding(to, to); to.permute(0, 2, 1).contiguous(); to.shape[-2:]
    F.softplus(to); F.hardtanh(to, 0.0, 6.0); F.silu(to, inplace=True); F.leaky_relu(to, 0.2); F.mse_loss(to, to); F.glu(to)
    F.rms_norm(to, (3,)); F.group_norm(to, 2); F.unfold(to, 2); F.pixel_shuffle(to, 2); to.size()
    return to & 1
gm = torch.fx.symbolic_trace(many)
say(gm.code)
say(gm.graph)
""",
    "stars": """
def f(x, *args, k=1, **kw):
    return x + args[0] + k
say(torch.fx.symbolic_trace(f).code)
gm = torch.fx.symbolic_trace(lambda x: x.relu())
say(gm.code, repr(gm), gm(torch.tensor([-1.0, 1.0])))
""",
    "wrapped": """
@torch.fx.wrap
def my_leaf(x):
    return x
def g(x):
    return my_leaf(x) + 1
gm = torch.fx.symbolic_trace(g)
say(gm.code, gm(torch.ones(1)))
torch.fx.wrap("len")
say(torch.fx.symbolic_trace(lambda x: len(x)).code)
""",
    "what cannot be traced": """
def f(x, *args):
    return x
for fn in (lambda x: 1 if x else 2, lambda x: [a for a in x], lambda x: f(*x),
            lambda x: int(x), lambda x: x in [1], lambda x: x if x > 0 else 1):
    try:
        torch.fx.symbolic_trace(fn)
    except Exception as error:
        say(type(error).__name__, error)
""",
    "len": """
torch.fx.symbolic_trace(lambda x: x.__len__())
from types import SimpleNamespace
def f(x):
    return len(x)
torch.fx.symbolic_trace(f)
""",
    "concrete arguments": """
class N(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2)
    def forward(self, x, flag: bool = True, n: int = 3, other=None):
        if flag:
            x = self.a(x)
        return x * n
gm = torch.fx.symbolic_trace(N(), concrete_args={"flag": True, "n": 4})
say(gm.code, gm.graph)
say(torch.fx.symbolic_trace(N(), concrete_args={"flag": False}).code)
""",
    "a graph by hand": """
fx = torch.fx
graph = fx.Graph()
x = graph.placeholder("x")
r = graph.call_function(torch.relu, (x,))
graph.output(r)
say(graph, graph.python_code("self").src, list(x.users), r.args, repr(r), r.next, r.prev)
try:
    graph.erase_node(x)
except RuntimeError as error:
    say(error)
graph.lint()
with graph.inserting_after(r):
    n = graph.call_method("neg", (r,))
r.replace_all_uses_with(n, lambda user: user is not n)
say(graph, n > r, [str(node) for node in reversed(graph.nodes)], len(graph.nodes))
m = fx.GraphModule({}, graph, "Foo")
say(m, m(torch.ones(1)), type(m).__name__)
p = pickle.loads(pickle.dumps(m))
say(p.code == m.code, p(torch.ones(1)))
with graph.inserting_before(n):
    graph.call_function(torch.sigmoid, (x,))
say(graph.eliminate_dead_code(), len(graph.nodes))
say(fx.node.map_arg((r, [x]), lambda node: node.name), fx.node.map_aggregate([1, (2,)], lambda value: value))
n.kwargs = {"k": [r]}
try:
    n.kwargs["k"].append(1)
except Exception as error:
    say(type(error).__name__, error)
say(graph)
""",
    "names": """
graph = torch.fx.Graph()
for name in ("a", "a", "a_1", "a_1", "for", "x.y-z", "1st", "len", "torch", "AbC", "a_2", "inf"):
    say(graph.placeholder(name).name, graph.create_node("call_method", name, name=name).name)
""",
    "running": _MODULE
    + """
x = torch.fx.symbolic_trace(lambda x: torch.relu(x).neg())
class I(fx.Interpreter):
    def call_function(self, target, args, kwargs):
        say("function", target.__name__)
        return super().call_function(target, args, kwargs)
say(I(x).run(torch.ones(1)))
class T(fx.Transformer):
    def call_function(self, target, args, kwargs):
        return super().call_function(torch.sigmoid if target is torch.relu else target, args, kwargs)
say(T(x).transform().code)
say(len(fx.replace_pattern(x, lambda x: torch.relu(x).neg(), lambda x: torch.tanh(x))), x.code)
torch.manual_seed(0)
m = M().eval()
gm = fx.symbolic_trace(m)
a = torch.ones(2, 3)
same = sorted(gm.state_dict()) == sorted(m.state_dict())
say((gm(a)["out"] == m(a)["out"]).all(), (fx.Interpreter(gm).run(a)["out"] == m(a)["out"]).all(), same)
from_, to = gm.graph.find_nodes(op="call_module")[1:3]
say(gm.delete_submodule("seq.0"), gm.delete_submodule("nothing"), gm.add_submodule("new.inner", nn.ReLU()))
say([n for n, _ in gm.named_modules()])
""",
    "custom tracer": """
class Tracer(torch.fx.Tracer):
    def is_leaf_module(self, m, name):
        return isinstance(m, nn.Sequential)
model = nn.Sequential(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), nn.Identity())
class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = model
        self.drop = nn.Dropout(0.5)
    def forward(self, x):
        return self.drop(self.model(x))
outer = Outer()
graph = Tracer().trace(outer)
say(graph)
say(torch.fx.GraphModule(outer, graph).code)
say({n.name: list(n.meta.get("nn_module_stack", {})) for n in torch.fx.Tracer().trace(outer).nodes})
""",
    "replacements": """
def f(x, w1, w2):
    m1 = torch.cat([w1, w2]).sum()
    m2 = torch.cat([w2, w1]).sum()
    return x + torch.max(m1) + torch.max(m2)
gm = torch.fx.symbolic_trace(f)
found = torch.fx.replace_pattern(gm, lambda a, b: torch.cat([a, b]).sum(), lambda a, b: torch.stack([a, b]))
say(len(found), gm.code)
""",
}


def everything(torch: ModuleType) -> dict[str, list[str]]:
    if torch.__name__ == "torch":
        import torch.fx  # pyright: ignore[reportMissingImports]
    return outputs(torch, PROGRAMS)
