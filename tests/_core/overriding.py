"""Calls and programs with subclasses and modes that override ``__torch_function__``, and what it receives."""

from __future__ import annotations

import contextlib
import copy
import io
import math
import operator
import pickle
import re
import warnings
from types import ModuleType
from typing import Any

import numpy

# ``a``: two floats, ``i``: two integers, ``m``: a matrix, all of a subclass; ``t``: a plain matrix; ``c``: of another overriding class.
CALLS = """
a+1; 1+a; a-1; 1-a; a*2; 2*a; a/2; 2/a; a//2; 2//a; a%2; 2%a; a**2; 2**a; m@a; t@a
i&1; 1&i; i|1; 1|i; i^1; 1^i; i<<1; 1<<i; i>>1; 1>>i; -a; +a; abs(a); ~i
a==1; a!=1; a<1; a<=1; a>1; a>=1; 1==a; 1<a
op.iadd(a,1); op.isub(a,1); op.imul(a,1); op.itruediv(a,1); op.ifloordiv(a,1); op.imod(a,5); op.ipow(a,1)
op.iand(i,3); op.ior(i,1); op.ixor(i,1); op.ilshift(i,1); op.irshift(i,1)
a[0]; op.setitem(a,0,1.); len(a); bool(a[0]); float(a[0]); int(a[0]); op.index(i[0]); 1 in a; repr(a); format(a[0], ".2f")
a.shape; a.size(); a.grad; setattr(a,"grad",None); a.data; setattr(a,"data",torch.ones(2)); m.T; a.real
setattr(a,"real",torch.ones(2)); a.requires_grad; setattr(a,"requires_grad",False); a.grad_fn; a._version; a.device; a.is_cuda
a.is_leaf; m.H; m.mT; torch.view_as_complex(m).imag; a._is_view(); a.stride(); a.ndim; a.dim(); a.dtype; a.nbytes; a.itemsize
torch.relu(a); F.relu(a); torch.cat([torch.ones(2), a]); torch.stack((a,)); torch.add(torch.ones(2), 1, out=a.clone())
torch.add(torch.ones(2), other=a, alpha=2); a.sum(dim=0); a.split(1); torch.split(a,1); a.max(0); torch.sigmoid(a); F.sigmoid(a)
a.clone().requires_grad_().sum().backward(); a.numpy(); np.asarray(a); a.tolist(); a[0].item(); copy.deepcopy(a); pickle.dumps(a)
a.to(torch.float64); a.float(); a.cpu(); a.detach(); a.as_subclass(torch.Tensor); reversed(a); torch.tensor(a); torch.as_tensor(a)
torch.is_tensor(a); torch.zeros_like(a); a.new_zeros(2); F.linear(a, t); F.conv1d(a[None,None], torch.ones(1,1,1))
torch.einsum("i,i->", a, a); torch.linalg.norm(a); torch.fft.fft(a); torch.special.expit(a); torch.nn.init.normal_(a)
a.numel(); torch.numel(a); a.view(2,1); a.view((2,1)); a.type(); a.untyped_storage(); a.clone().requires_grad_().register_hook(print)
a.is_floating_point(); torch.is_floating_point(a); F.dropout(a, 0.5); torch.allclose(a, a); torch.pow(2, a); torch.where(a > 0, a, 0.0)
a.clamp(min=0); F.softmax(a, -1); F.cross_entropy(m, i-i); torch.nn.Linear(2,2)(a); torch.meshgrid(a, a, indexing="ij")
torch.broadcast_tensors(a, m); torch.atleast_1d(a); torch.atleast_2d(a, a); torch.norm(a); torch.unique(a); F.l1_loss(a, a)
F.layer_norm(a, (2,)); F.rms_norm(a, (2,)); F.gelu(a); F.hardtanh(a); F.max_pool2d(m[None], 1); F.embedding(i, t); F.pad(a, (1, 1))
F.interpolate(m[None], 2); F.normalize(a, dim=0); F.hardswish(a, inplace=True); F.leaky_relu(a); F.mse_loss(a, a); F.glu(a)
torch.nn.init.uniform_(a, 1.0); torch.sum(c); torch.add(c, 1); c + torch.ones(2)
torch.ones(2) + c; F.relu(c); torch.cat([c]); torch.sum(torch.ones(2), dim=c); torch.zeros(c); F.mse_loss(c, a); torch.add(a, c)
"""

# Each is a program; ``say`` notes what it would print.
PROGRAMS = {
    "survival": """
class D(torch.Tensor): pass
class E(D): pass
d, e = D([1., 2.]), torch.ones(2).as_subclass(E)
say(d, d + 1, (d + e).__class__.__name__, d.max(0).values, [type(x).__name__ for x in d.split(1)], type(d.sum().item()).__name__)
say(type(d.numpy()).__name__, type(d.grad).__name__, d.mT if d.dim() > 1 else d, torch.cat([torch.ones(1), d]))
d.requires_grad_()
loss = (d * 2).sum()
say((d * 2).grad_fn.name(), loss)
loss.backward()
say(type(d.grad).__name__, type(d.detach()).__name__, d[0], type(copy.copy(d)).__name__)
""",
    "refusal": """
class D(torch.Tensor): pass
class E(torch.Tensor): pass
D([1.]) + E([1.])
""",
    "attributes": """
class D(torch.Tensor):
    def __init__(self, *args, **kwargs):
        super().__init__()
        self.extra = kwargs.get("extra")
    def __new__(cls, *args, **kwargs):
        return super().__new__(cls, *args)
d = D([1., 2.], extra=3)
say(d, d.extra, getattr(d + 1, "extra", None))
""",
    "parameters": """
class D(torch.Tensor): pass
class P(torch.nn.Parameter): pass
p, q = torch.nn.Parameter(D([1.])), P(torch.ones(2))
m = torch.nn.Module()
m.p, m.q = p, q
say(m.p, m.q, [type(x).__name__ for x in m.parameters()], isinstance(p, torch.nn.Parameter), isinstance(D([1.]), torch.nn.Parameter))
say(type(p * 2).__name__, type(q * 2).__name__, type(copy.deepcopy(q)).__name__, list(m.state_dict()))
(p * 2).sum().backward()
torch.optim.SGD([p], lr=0.5).step()
say(p)
""",
    "pickle": """
d = Sub([1., 2.])
d.note = 5
e = pickle.loads(pickle.dumps(d))
say(e, e.note, type(e).__name__)
""",
    "make_subclass": """
class D(torch.Tensor): pass
x = torch.ones(2)
d = torch.Tensor._make_subclass(D, x, True)
x.add_(1)
say(d, d.is_leaf)
""",
    "make_subclass of no tensor": "class D(torch.Tensor): pass\ntorch.Tensor._make_subclass(D, 3)",
    "as_subclass of another class": "torch.ones(2).as_subclass(int)",
    "as_subclass of no class": "torch.ones(2).as_subclass(3)",
    "precedence": """
class A(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        say(cls.__name__, [t.__name__ for t in types])
        return NotImplemented
class B(A): pass
x, y = torch.ones(1).as_subclass(A), torch.ones(1).as_subclass(B)
for call in (lambda: torch.add(x, y), lambda: F.mse_loss(x, y), lambda: x - 1, lambda: 1 - y, lambda: x.shape, lambda: torch.fft.fft(x),
             lambda: x.split(1), lambda: F.linear(x, x), lambda: F.avg_pool2d(x, 1), lambda: torch.split(y, 1), lambda: torch.cat([y])):
    try:
        call()
    except TypeError as error:
        say(error)
""",
    "plain method": """
class Plain:
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return 5
say(torch.add(Plain(), 1))
""",
    "disabled": """
class D(torch.Tensor): pass
d = D([1.])
with torch._C.DisableTorchFunctionSubclass():
    say(d + 1, torch._C._is_torch_function_enabled())
say(torch.overrides.has_torch_function((d,)), torch.overrides.has_torch_function_unary(torch.ones(1)))
with torch._C.DisableTorchFunction():
    say(d + 1, torch.overrides.has_torch_function_variadic(d, 1))
say(torch.Tensor.__torch_function__(torch.add, (torch.Tensor,), (torch.ones(1), 1)))
""",
    "mode": """
class Loud(torch.overrides.TorchFunctionMode):
    def __init__(self, name):
        self.name = name
    def __torch_function__(self, func, types, args=(), kwargs=None):
        say(self.name, torch.overrides.resolve_name(func), kwargs)
        return func(*args, **(kwargs or {}))
x = torch.ones(2, 2)
with Loud("outer"):
    torch.zeros(2, dtype=torch.int64); torch.rand(1); torch.tensor([1.]); x.shape; x + 1; F.relu(x); torch.arange(3); x.sum(dim=0)
    x.detach(); torch.manual_seed(0); torch.is_tensor(x); x.grad = None; torch.as_tensor([1]); torch.fft.fftfreq(3); F.linear(x, x)
    with Loud("inner"):
        x * 2
    with torch._C.DisableTorchFunction():
        x * 3
    with torch._C.DisableTorchFunctionSubclass():
        x * 4
x * 5
""",
    "mode without an answer": """
class No(torch.overrides.TorchFunctionMode):
    def __repr__(self): return "<no>"
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return NotImplemented
x = torch.ones(2, 2)
for call in (lambda: torch.add(x, 1), lambda: F.relu(x), lambda: x + 1, lambda: 1 - x, lambda: x.split(1), lambda: F.avg_pool2d(x, 1)):
    try:
        with No():
            call()
    except TypeError as error:
        say(error)
""",
    "functions of one's own": """
@torch.overrides.wrap_torch_function(lambda a, b=1: (a,))
def scaled(a, b=1):
    return a * b
class S:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return (func is scaled, types == (S,), args[1:], kwargs)
say(scaled(torch.ones(1), 3), scaled(S(), b=2), scaled(S(), 5))
def own(a):
    if torch.overrides.has_torch_function_unary(a):
        return torch.overrides.handle_torch_function(own, (a,), a, extra=1)
class N:
    @classmethod
    def __torch_function__(cls, *args):
        return NotImplemented
own.__module__ = "here"
say(own(S()) if False else torch.overrides.is_tensor_like(S()), torch.overrides.is_tensor_like(3))
own(N())
""",
    "names": """
O = torch.overrides
T = torch.Tensor
say([O.resolve_name(f) for f in (T.add, T.shape.__get__, T.grad.__set__, torch.add, torch.split, F.relu, torch.fft.fft, len, torch.sum)])
say([O.is_tensor_method_or_property(f) for f in (T.add, T.shape.__get__, torch.add, T.__add__)])
say(len(O.get_default_nowrap_functions()) > 1, torch.add in O.get_testing_overrides(), torch.tensor in O.get_ignored_functions())
say(O.get_testing_overrides()[torch.mm](1, 2))
""",
    "scalar tensor": """
HANDLED = {}
def implements(func):
    def put(own):
        HANDLED[func] = own
        return own
    return put
class ScalarTensor:
    def __init__(self, n, value):
        self.n, self.value = n, value
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func not in HANDLED or not all(issubclass(t, (torch.Tensor, ScalarTensor)) for t in types):
            return NotImplemented
        return HANDLED[func](*args, **(kwargs or {}))
@implements(torch.mean)
def mean(input):
    return input.value / input.n
@implements(torch.add)
def add(input, other):
    return "added"
s = ScalarTensor(5, 2)
say(torch.mean(s), torch.add(s, s), torch.add(torch.ones(1), s))
torch.mul(s, 3)
""",
}


def _subclass(torch: Any) -> type:
    return type("Sub", (torch.Tensor,), {"__module__": __name__, "__qualname__": "Sub"})


def _neutral(text: object) -> str:
    """Removes the framework's name and memory addresses from a text."""
    text = re.sub(r" \(Triggered internally at [^)]*\)", "", str(text))
    text = re.sub(r"<class '[\w.<>]*\.(\w+)'>", r"<class '\1'>", text)
    return re.sub(r"0x[0-9a-f]+", "0x", text.replace("torchlike", "torch"))


def calls(torch: Any) -> dict[str, str]:
    """By call: the type of its result or its error, then each call of ``__torch_function__``: function, types, arguments, keywords."""
    log: list[str] = []

    def note(func: Any, types: Any, args: Any, kwargs: Any) -> None:
        name = torch.overrides.resolve_name(func)
        log.append(f"{name} {[t.__name__ for t in types]} {len(args)} {None if kwargs is None else list(kwargs)}")

    class A(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            note(func, types, args, kwargs)
            return super().__torch_function__(func, types, args, kwargs)

    class C:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            note(func, types, args, kwargs)
            return C()

    found = {}
    for line in CALLS.replace("\n", ";").split(";"):
        names = {"np": numpy, "op": operator, "copy": copy, "pickle": pickle, "torch": torch, "F": torch.nn.functional}
        names |= {
            "a": torch.tensor([1.0, 2.0]).as_subclass(A),
            "i": torch.tensor([1, 2]).as_subclass(A),
            "m": torch.eye(2).as_subclass(A),
            "t": torch.eye(2),
            "c": C(),
        }
        if not line.strip():
            continue
        log.clear()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = type(eval(line.strip(), names)).__name__
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
        if line.strip() == "pickle.dumps(a)":  # the class is local here
            result = ""
        found[line.strip()] = "; ".join([_neutral(result), *log])
    return found


def outputs(torch: Any, programs: dict[str, str], **further: Any) -> dict[str, list[str]]:
    """The output of each program, and the error that ends it."""
    found: dict[str, list[str]] = {}
    globals()["Sub"] = _subclass(torch)
    for name, program in programs.items():
        said: list[str] = []

        def say(*things: object, said: list[str] = said) -> None:
            said.append(_neutral(" | ".join(map(str, things))))

        names = {"torch": torch, "F": torch.nn.functional, "nn": torch.nn, "say": say, "copy": copy, "pickle": pickle}
        names |= {"Sub": globals()["Sub"], "math": math, "numpy": numpy, "__name__": "__main__"} | further
        try:
            with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(io.StringIO()):
                warnings.simplefilter("always")
                exec(compile(program, "<program>", "exec", dont_inherit=True), names)
            said += [_neutral(f"{w.category.__name__}: {w.message}") for w in caught]
        except Exception as error:
            said.append(_neutral(f"{type(error).__name__}: {error}"))
        found[name] = said
    return found


def everything(torch: ModuleType) -> dict[str, Any]:
    return {"calls": calls(torch), "programs": outputs(torch, PROGRAMS)}
