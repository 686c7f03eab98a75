"""Programs that define operators and call them by their internal names. Their output is compared with that under PyTorch."""

from __future__ import annotations

from types import ModuleType

from tests._core.overriding import outputs

_ERRORS = """
def errors(*calls):
    for call in calls:
        try:
            say(call())
        except Exception as error:
            say(type(error).__name__, error)
"""

PROGRAMS = {
    "custom_op": """
Tensor = torch.Tensor
@torch.library.custom_op("golden_a::numpy_sin", mutates_args=())
def numpy_sin(x: Tensor, scale: float = 1.0) -> Tensor:
    return torch.from_numpy(numpy.sin(x.numpy(force=True)) * scale)
op = ops.golden_a.numpy_sin
say(numpy_sin, op, op.default, repr(op), repr(op.default), op.default._schema, op.default.name(), op.overloads())
x = torch.ones(2, requires_grad=True)
y = numpy_sin(x)
say(y.requires_grad)
try:
    y.sum().backward()
except RuntimeError as error:
    say(error)
def setup(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])
    ctx.scale = inputs[1]
numpy_sin.register_autograd(lambda ctx, g: (g * ctx.saved_tensors[0].cos() * ctx.scale, None), setup_context=setup)
numpy_sin(x, 2.0).sum().backward()
say(x.grad)
ops.golden_a.numpy_sin(x, scale=3.0).sum().backward()
say(x.grad)
numpy_sin.register_fake(lambda x, scale=1.0: torch.empty_like(x))
say(torch.library.opcheck(numpy_sin, (torch.ones(2),)))
numpy_sin.register_kernel("cpu")(lambda x, scale=1.0: x.detach() * 0)
say(numpy_sin(torch.ones(2)))
with numpy_sin.set_kernel_enabled("cpu", False):
    say(numpy_sin(torch.ones(2)))
""",
    "lists and several results": """
Tensor = torch.Tensor
@torch.library.custom_op("golden_b::both", mutates_args=())
def both(xs: list[Tensor], *, k: float = 2.0) -> tuple[Tensor, Tensor]:
    return xs[0] * k, xs[1] + k
both.register_autograd(lambda ctx, g, h: ([g * 2, h * 3],))
a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
u, v = both([a, b])
(u + v).sum().backward()
say(u, v, a.grad, b.grad, ops.golden_b.both.default._schema)
@torch.library.custom_op("golden_b::inc_", mutates_args={"x"})
def inc_(x: Tensor) -> None:
    x.add_(1)
z = torch.zeros(2)
inc_(z)
say(z, ops.golden_b.inc_.default._schema)
""",
    "library": """
lib = torch.library.Library("golden_c", "DEF")
say(lib.define("twice(Tensor x, int n=2, *, float? k=None) -> Tensor"))
lib.impl("twice", lambda x, n=2, *, k=None: x * n, "CPU")
op = ops.golden_c.twice
say(op(torch.ones(1)), op.default(torch.ones(1), 5), op(torch.ones(1), k=2.0), op.overloads(), op.default._schema)
torch.library.define("golden_c2::neg2", "(Tensor x) -> Tensor")
torch.library.impl("golden_c2::neg2", "default")(lambda x: -2 * x)
x = torch.ones(1, requires_grad=True)
say(ops.golden_c2.neg2(torch.ones(1)))
torch.library.register_autograd("golden_c2::neg2", lambda ctx, g: g * -2)
ops.golden_c2.neg2(x).backward()
say(x.grad)
""",
    "errors": _ERRORS
    + """
lib = torch.library.Library("golden_d", "DEF")
lib.define("twice(Tensor x, int n=2) -> Tensor")
lib.impl("twice", lambda x, n=2: x * n, "CPU")
op = ops.golden_d.twice
errors(lambda: ops.golden_d.nope, lambda: ops.aten.nope, lambda: ops.aten.add.nope, lambda: op("a"), lambda: op(),
       lambda: ops.load_library("/nope.so"), lambda: torch.library.Library("prim", "DEF"), lambda: torch.library.Library("a", "X"),
       lambda: torch.library.custom_op("golden_d::bad", mutates_args=())(lambda x: x), lambda: torch.classes.foo.bar,
       lambda: torch.library.fallthrough_kernel())
""",
    "infer_schema": _ERRORS
    + """
from typing import Optional, List, Sequence, Union
Tensor = torch.Tensor
def f(a: Tensor, b: Optional[Tensor], c: int, d: float = 0.5, e: str = "x", *, g: List[int], h: Sequence[Tensor], i: bool = True,
      j: torch.dtype = None, k: Optional[float] = None, l: Union[int, float, bool] = 1) -> Tensor: ...
def g(a: Tensor) -> None: ...
def h(a: Tensor) -> tuple[Tensor, int]: ...
errors(lambda: torch.library.infer_schema(g, mutates_args={"a"}), lambda: torch.library.infer_schema(h, mutates_args=()),
       lambda: torch.library.infer_schema(g, mutates_args="unknown"), lambda: torch.library.infer_schema(h, mutates_args={"b"}))
""",
    "aten": """
a = ops.aten
say(a.add.Tensor, a.add, repr(a.add.Tensor), a.add.Tensor(torch.ones(1), 2), a.add(torch.ones(1), 2), a.mm.default.namespace)
say(a.add.Tensor.overloadpacket, a.add.Tensor._overloadname, a.add.Tensor.__name__, a.add.__name__)
say(a.relu_(torch.tensor([-1.])), a.sum.dim_IntList(torch.ones(2, 2), [0]), a._softmax(torch.ones(2), 0, False))
say(a.t(torch.ones(1, 2)).shape, a.view.default(torch.ones(2), [1, 2]), a.linear(torch.ones(1, 2), torch.ones(1, 2)))
say(a.linalg_inv(torch.eye(1)), a.slice.Tensor(torch.ones(3), 0, 1, 3), a.select.int(torch.ones(3), 0, 1), a.detach(torch.ones(1)))
say(a.clone(torch.ones(1)), a.expand(torch.ones(1), [2]), a.gelu(torch.ones(1)), a._to_copy(torch.ones(1), dtype=torch.float64))
say(a.addmm(torch.ones(1), torch.ones(1, 1), torch.ones(1, 1)), a.native_layer_norm(torch.ones(2), [2], None, None, 1e-5)[0].shape)
say({a.add.Tensor: 1}[a.add.Tensor], a.add.Tensor is a.add.Tensor, hasattr(a, "mul"), hasattr(a, "nope"))
""",
}


def everything(torch: ModuleType) -> dict[str, list[str]]:
    if torch.__name__ == "torch":
        ops = torch.ops
    else:
        import torchlike._torch_ops as ops
    return outputs(torch, PROGRAMS, ops=ops)
