"""How ``__torch_function__`` is asked: of classes that define it wrongly, within guards, and of functions of one thing or several."""

import warnings
from typing import Any

import pytest

import torchlike as torch
from torchlike.overrides import TorchFunctionMode


class Labels(torch.Tensor):
    pass


CONSTRUCTORS = [torch.Tensor, Labels, lambda t: t.new(t), lambda t: t.as_subclass(Labels)]


@pytest.mark.parametrize("made", CONSTRUCTORS)
def test_a_tensor_made_of_a_tensor_is_a_view_with_its_history(made):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    view = made(x.exp())
    assert view._is_view() and type(view.grad_fn).__name__ == "AliasBackward0"
    (view * 3).sum().backward()
    torch.testing.assert_close(x.grad, 3 * x.detach().exp())
    base = torch.zeros(3)
    view = made(base[1:])
    assert view._base is base and view.is_leaf and not view.requires_grad
    view.fill_(5.0)
    assert base.tolist() == [0, 5, 5]


def test_a_tensor_may_be_made_of_one_of_a_subclass():
    assert type(torch.Tensor(Labels(torch.ones(2)))) is torch.Tensor


def test_as_subclass_is_seen_by_no_mode():
    class Refuses(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            raise AssertionError(func)

    x = torch.ones(2)
    with Refuses():
        assert type(x.as_subclass(Labels)) is Labels


def test_a_mode_that_does_not_know_a_class_is_asked_again_for_plain_tensors():
    seen = []

    class Plain(TorchFunctionMode):
        def __torch_function__(self, func, types: Any, args=(), kwargs=None):
            seen.append(types)
            return func(*args, **(kwargs or {})) if set(types) <= {torch.Tensor} else NotImplemented

    x = Labels(torch.ones(2))
    with Plain():
        result = torch.neg(x)
    assert type(result) is Labels and result.tolist() == [-1, -1]
    assert seen == [(Labels,), ()]


@pytest.mark.parametrize("off", [torch._C.DisableTorchFunctionSubclass, torch._C.DisableTorchFunction])
def test_overriding_is_on_again_as_long_as_a_guard_lives(off):
    x = Labels(torch.ones(2))
    with off():
        guard = torch._C._EnableTorchFunction()
        assert type(torch.sum(x)) is Labels
        del guard
        assert type(torch.sum(x)) is torch.Tensor
        with torch._C._EnableTorchFunction():
            assert type(torch.sum(x)) is Labels
        assert type(torch.sum(x)) is torch.Tensor
    assert type(torch.sum(x)) is Labels


def test_a_class_method_of_a_mode_is_refused():
    class Mode(TorchFunctionMode):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func(*args)

    with Mode(), pytest.raises(RuntimeError) as caught:
        torch.ones(2).sum()
    assert str(caught.value) == (
        "Defining your mode's `__torch_function__` as a classmethod is not supported, please make it a plain method"
    )


@pytest.mark.parametrize("base", [object, torch.Tensor])
@pytest.mark.parametrize(
    ("function", "category"), [(torch.nn.functional.dropout, DeprecationWarning), (torch.abs, UserWarning)]
)
def test_a_plain_method_is_warned_of_at_the_line_of_the_program(base, function, category):
    kind = type("Kind", (base,), {"__torch_function__": lambda self, *args, **kwargs: 7})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert function(kind()) == 7
    (warning,) = caught
    assert warning.category is category and warning.filename == __file__
    assert "as a plain method is deprecated and will be an error in future" in str(warning.message)


def test_grad_gives_tuples_to_those_that_override_it():
    seen = []

    class Like:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append((args, kwargs))
            return "answer"

    x = Like()
    assert torch.autograd.grad(x, [x]) == "answer"
    options = {
        "grad_outputs": None, "retain_graph": None, "create_graph": False, "only_inputs": True, "allow_unused": False,
        "is_grads_batched": False, "materialize_grads": False,
    }  # fmt: skip
    assert seen == [(((x,), (x,)), options)]
    with pytest.raises(TypeError, match="'int' object is not iterable"):
        torch.autograd.grad(5, x)  # pyright: ignore[reportArgumentType]
