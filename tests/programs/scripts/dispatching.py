"""Subclasses and modes with ``__torch_dispatch__``: a tensor that logs, a quantised weight, modes within modes."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

log = []


class LoggingTensor(torch.Tensor):
    elem: torch.Tensor
    __slots__ = ["elem"]

    @staticmethod
    def __new__(cls, elem, *args, **kwargs):
        r = torch.Tensor._make_wrapper_subclass(
            cls,
            elem.size(),
            strides=elem.stride(),
            storage_offset=elem.storage_offset(),
            dtype=elem.dtype,
            layout=elem.layout,
            device=elem.device,
            requires_grad=kwargs.get("requires_grad", False) or elem.requires_grad,
        )
        r.elem = elem.detach() if r.requires_grad else elem
        return r

    def __repr__(self, tensor_contents=None):
        return f"LoggingTensor({self.elem})"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def unwrap(e):
            return e.elem if isinstance(e, cls) else e

        def wrap(e):
            return cls(e) if isinstance(e, torch.Tensor) else e

        result = tree_map(wrap, func(*tree_map(unwrap, args), **tree_map(unwrap, kwargs or {})))
        log.append(str(func))
        return result


x = LoggingTensor(torch.tensor([[3.0, 1.0], [2.0, 5.0]]), requires_grad=True)
w = torch.tensor([[1.0, 2.0], [0.0, 1.0]])
print(x.shape, x.dtype, x.device, x.requires_grad, type(x).__name__, x.is_leaf)
y = (x @ w).relu() * 2
print(y, type(y).__name__, y.requires_grad, y.grad_fn is not None)
y.sum().backward()
print(x.grad, type(x.grad).__name__)
print(log)
log.clear()
m = nn.Linear(2, 2)
nn.init.ones_(m.weight)
nn.init.zeros_(m.bias)
out = m(x)
loss = F.mse_loss(out, torch.zeros(2, 2))
loss.backward()
print(out, loss, m.weight.grad, type(m.weight.grad).__name__, x.grad, log)


class Double(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        r = func(*args, **(kwargs or {}))
        return r * 10 if func is torch.ops.aten.mul.Tensor else r


a = torch.tensor([1.0, 2.0], requires_grad=True)
with Double():
    b = a * a
print(b, b.requires_grad, b.grad_fn.name())
b.sum().backward()
print(a.grad)


class Named(TorchDispatchMode):
    def __init__(self, name):
        super().__init__()
        self.name = name

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        print(self.name, func, [type(t).__name__ for t in args], kwargs, func.overloadpacket, func.namespace)
        return func(*args, **(kwargs or {}))


with Named("outer"), Named("inner"):
    torch.ones(2).add(1)
    torch.zeros(2, 3, dtype=torch.float64)
    filled = torch.empty(2)
    filled.fill_(3)
    filled[0] = 1
    torch.arange(3)
    torch.full((2,), 1.5)
    torch.sum(filled, 0, keepdim=True)


class Quantised(torch.Tensor):
    @staticmethod
    def __new__(cls, q, s):
        return torch.Tensor._make_wrapper_subclass(cls, q.shape, dtype=s.dtype, device=q.device)

    def __init__(self, q, s):
        self.q = q
        self.s = s

    def dequantize(self):
        return self.q.to(self.s.dtype) * self.s

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.detach.default:
            return cls(args[0].q, args[0].s)
        if func is torch.ops.aten.t.default:
            return cls(func(args[0].q), args[0].s)
        if func in (torch.ops.aten.addmm.default, torch.ops.aten.mm.default):
            return func(*[each.dequantize() if isinstance(each, cls) else each for each in args])
        raise NotImplementedError(f"{func}")


lin = nn.Linear(4, 3)
with torch.no_grad():
    lin.weight.copy_(torch.arange(12.0).view(3, 4))
    lin.bias.zero_()
s = lin.weight.abs().max() / 127
q = (lin.weight / s).round().to(torch.int8)
lin.weight = nn.Parameter(Quantised(q, s.detach()), requires_grad=False)
print(type(lin.weight).__name__, lin.weight.shape, lin.weight.dtype)
print(lin(torch.ones(2, 4)).detach())
try:
    lin.weight + 1
except NotImplementedError as e:
    print(type(e).__name__, e)


class Noisy(torch.Tensor):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        print("Noisy", func)
        return super().__torch_dispatch__(func, types, args, kwargs or {})


n = torch.Tensor._make_subclass(Noisy, torch.ones(2))
print(type(n + 1).__name__, (n + 1).sum())
