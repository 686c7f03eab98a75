"""The module that ``torch.compile`` makes: PyTorch's programs find the inner one as ``_orig_mod``, and its names have that prefix."""

import copy
import io
import pickle

import pytest

import torchlike as torch
from torchlike import nn

pytestmark = pytest.mark.composed


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)
        self.factor = 3

    def forward(self, x):
        return self.inner(x) * self.factor


def test_it_calls_the_module_and_has_its_attributes():
    net = Net()
    compiled = torch.compile(net)
    x = torch.ones(1, 2)
    compiled.factor = 5
    assert net.factor == 5 and torch.equal(compiled(x), net(x)) and compiled.inner is net.inner
    compiled.extra = nn.Linear(1, 1)
    assert [name for name, _ in net.named_children()] == ["inner", "extra"] and list(compiled._modules) == ["_orig_mod"]
    compiled.eval()
    assert not net.training and not compiled.training
    net.train()
    assert compiled.training
    del compiled.factor
    assert not hasattr(net, "factor") and not hasattr(compiled, "factor")
    assert not isinstance(compiled, Net) and type(compiled).__name__ == "OptimizedModule"
    assert repr(compiled).startswith("OptimizedModule(\n  (_orig_mod): Net(")
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'nope'"):
        compiled.nope


def test_its_state_has_the_prefix():
    net = Net()
    compiled = torch.compile(net)
    assert list(compiled.state_dict()) == ["_orig_mod.inner.weight", "_orig_mod.inner.bias"]
    assert [name for name, _ in compiled.named_parameters()] == list(compiled.state_dict())
    other = torch.compile(Net())
    other.load_state_dict(compiled.state_dict())
    assert torch.equal(other._orig_mod.inner.weight, net.inner.weight)
    with pytest.raises(RuntimeError, match=r'Missing key\(s\) in state_dict: "_orig_mod.inner.weight"'):
        compiled.load_state_dict(net.state_dict())


def test_hooks_copies_and_pickles():
    net = Net()
    compiled = torch.compile(net)
    seen = []
    compiled.register_forward_hook(lambda *_: seen.append("outer"))
    net.register_forward_hook(lambda *_: seen.append("inner"))
    net(torch.ones(1, 2))
    assert seen == ["inner"]
    compiled(torch.ones(1, 2))
    assert seen == ["inner", "inner", "outer"]
    duplicate = copy.deepcopy(torch.compile(Net()))
    assert duplicate._orig_mod is not net and duplicate.training
    again = pickle.loads(pickle.dumps(torch.compile(nn.Linear(2, 1))))
    assert list(again.state_dict()) == ["_orig_mod.weight", "_orig_mod.bias"] and again(torch.ones(2)).shape == (1,)
    torch.save(compiled.state_dict(), file := io.BytesIO())
    assert list(torch.load(io.BytesIO(file.getvalue()))) == list(compiled.state_dict())


def test_what_stays_as_it_is():
    net = Net()
    assert torch.compile(net, disable=True) is net and torch.compile(nn.Linear) is nn.Linear
    assert torch.compile(backend="eager")(net)._orig_mod is net
    assert len(torch.compile(nn.Sequential(nn.ReLU()))) == 1
    with pytest.raises(TypeError, match=r"Net does not support len\(\)"):
        len(torch.compile(net))
