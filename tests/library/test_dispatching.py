"""A TorchDispatchMode sees the operators that it sees under PyTorch, and results and gradients within it are right."""

import contextlib
from typing import Any

import pytest

import torchlike as torch
from tests.library import dispatching
from torchlike._torch_ops import aten
from torchlike.utils._python_dispatch import TorchDispatchMode, is_in_torch_dispatch_mode
from torchlike.utils._pytree import tree_map

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


@pytest.mark.costly
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


class Wrapped(torch.Tensor):
    """Computes with the tensor that it wraps."""

    elem: Any

    @staticmethod
    def __new__(cls, elem):
        make: Any = torch.Tensor._make_wrapper_subclass  # pyright: ignore[reportAttributeAccessIssue]
        made = make(cls, elem.size(), dtype=elem.dtype, requires_grad=elem.requires_grad)
        made.elem = elem.detach()
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def plain(value):
            return value.elem if isinstance(value, Wrapped) else value

        result = func(*tree_map(plain, args), **tree_map(plain, kwargs or {}))
        return tree_map(lambda value: cls(value) if isinstance(value, torch.Tensor) else value, result)


def second_derivatives(name, wrap):
    """Returns the gradients of a function, and the gradients of a function of these."""
    leaves: list[Any] = []

    def leaf(*shape):
        leaves.append(wrap(torch.randn(*shape)).requires_grad_())
        return leaves[-1]

    torch.manual_seed(1)
    result = eval(dispatching.FUNCTIONS[name], dispatching.names_of(torch) | {"a": leaf})
    result = result[0] if isinstance(result, tuple) else result
    gradients = torch.autograd.grad((result.sin() * result).sum(), leaves, create_graph=True, allow_unused=True)
    total: Any = sum((g.cos() * g).sum() for g in gradients if g is not None)
    return [*gradients, *torch.autograd.grad(total, leaves, allow_unused=True)]


# How many elements ``nonzero`` finds; an operator of its own of PyTorch's; and views whose strides a wrapper does not know.
NOT_WRAPPED = {
    "mask": "nonzero",
    "sdpa": "flash_attention",
    "reshape": "view size is not",
    "repeat": "view size is not",
}


# What has no gradient, or writes to a leaf.
NO_GRADIENT = {
    "argmax", "cmp", "factories", "other factories", "range", "item", "bool", "setitem", "setitemt", "copy_", "out",
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in dispatching.FUNCTIONS if name not in NO_GRADIENT])
def test_gradients_through_a_subclass_have_gradients(name):
    if name in NOT_WRAPPED:
        with pytest.raises((RuntimeError, NotImplementedError), match=NOT_WRAPPED[name]):
            second_derivatives(name, Wrapped)
        return
    wanted = second_derivatives(name, lambda x: x)
    found = second_derivatives(name, Wrapped)
    for mine, right in zip(found, wanted, strict=True):
        assert (mine is None) == (right is None)
        if right is not None:
            assert type(mine) is Wrapped and torch.allclose(mine.elem, right, atol=1e-4, rtol=1e-3)


def test_a_subclass_stays_on_its_device_where_it_is_converted():
    result: Any = Wrapped(torch.ones(2)).to(torch.float64)
    assert result.elem.dtype is torch.float64 and result.elem.tolist() == [1.0, 1.0]
    assert result.float().elem.tolist() == [1.0, 1.0]
