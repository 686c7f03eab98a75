"""A TorchDispatchMode sees the operators that it sees under PyTorch, and results and gradients within it are right."""

import contextlib
from typing import Any

import pytest

import torchlike as torch
from tests.library import dispatching
from torchlike._torch_ops import aten
from torchlike.utils._python_dispatch import TorchDispatchMode, is_in_torch_dispatch_mode

pytestmark = pytest.mark.recorded


@pytest.fixture(scope="module")
def found():
    return dispatching.everything(torch)["seen"]


@pytest.mark.parametrize("name", [*dispatching.MODULES, *dispatching.FUNCTIONS])
def test_a_mode_sees_the_operators_that_it_sees_under_pytorch(found, golden, name):
    forward, backward = golden("dispatching")["seen"][name]
    if name not in dispatching.DIFFERENT_FORWARD:
        assert found[name][0] == forward
    if name not in dispatching.DIFFERENT_BACKWARD:
        assert found[name][1] == backward


def outcome(make, when):
    """Returns result and gradients of a call, forward and backward with or without a mode."""
    torch.manual_seed(1)
    call, leaves = make()
    inside = dispatching.mode_of(torch)
    with inside if "forward" in when else contextlib.nullcontext():
        result = call()
    result = result[0] if isinstance(result, tuple) else result
    with inside if "backward" in when else contextlib.nullcontext():
        (result.sin() * result).sum().backward()
    return [result.detach(), *[leaf.grad for leaf in leaves]]


def module(name):
    text, inputs = dispatching.MODULES[name]
    names = dispatching.names_of(torch)
    layer, given = eval(text, names), eval(inputs, names)
    given = tuple(x.requires_grad_() if x.is_floating_point() else x for x in given)
    return lambda: layer(*given), [*layer.parameters(), *[x for x in given if x.requires_grad]]


def function(name):
    leaves = []

    def leaf(*shape):
        leaves.append(torch.randn(*shape, requires_grad=True))
        return leaves[-1]

    return lambda: eval(dispatching.FUNCTIONS[name], dispatching.names_of(torch) | {"a": leaf}), leaves


WITHOUT_GRADIENT = {
    "argmax",
    "cmp",
    "factories",
    "other factories",
    "range",
    "item",
    "bool",
    "setitem",
    "setitemt",
    "copy_",
    "out",
}
DIFFERENTIABLE = [
    *[(module, name) for name in dispatching.MODULES],
    *[(function, name) for name in dispatching.FUNCTIONS if name not in WITHOUT_GRADIENT],
]


@pytest.mark.parametrize(("make", "name"), DIFFERENTIABLE)
def test_a_mode_changes_no_gradient(make, name):
    expected = outcome(lambda: make(name), ())
    for when in (("forward", "backward"), ("forward",), ("backward",)):
        for value, wanted in zip(outcome(lambda: make(name), when), expected, strict=True):
            torch.testing.assert_close(value, wanted, rtol=1e-5, atol=1e-5)


class Tenfold(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return result * 10 if func is aten.mul.Tensor else result


def test_what_a_mode_makes_of_a_result_is_the_result_and_has_the_operators_history():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with Tenfold():
        assert is_in_torch_dispatch_mode()
        y = x * x
    assert not is_in_torch_dispatch_mode()
    assert y.tolist() == [10.0, 40.0] and y.grad_fn.name() == "MulBackward0"
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_a_mode_that_answers_nothing_is_an_error_that_names_the_operator():
    class Silent(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch\._ops\.aten\.ones\.default'"), Silent():
        torch.ones(2)


def test_without_a_mode_functions_take_their_usual_way():
    with dispatching.mode_of(torch):
        pass
    from torchlike._core.modes import DISPATCHED, hooks

    assert hooks.on == bool(DISPATCHED)
