"""Hooks of modules: before and after forward, with keyword arguments, on errors, and before and after the backward pass."""

import contextlib

import pytest

import torchlike as torch
from torchlike import nn
from torchlike.nn.modules import module as all_modules


def test_forward_hooks_may_replace_arguments_and_result():
    layer = nn.Identity()
    layer.register_forward_pre_hook(lambda m, args: (args[0] + 1,))
    handle = layer.register_forward_hook(lambda m, args, out: out * 10)
    assert layer(torch.zeros(1)).item() == 10.0
    handle.remove()
    assert layer(torch.zeros(1)).item() == 1.0


def test_hooks_run_in_order_and_may_be_put_first():
    layer, calls = nn.Identity(), []
    layer.register_forward_hook(lambda *_: calls.append("second"))
    layer.register_forward_hook(lambda *_: calls.append("first"), prepend=True)
    with all_modules.register_module_forward_hook(lambda *_: calls.append("everywhere")):
        layer(1)
    layer(1)
    assert calls == ["everywhere", "first", "second", "first", "second"]


def test_hooks_with_keywords():
    class Scaled(nn.Module):
        def forward(self, x, *, by):
            return x * by

    layer, seen = Scaled(), []
    layer.register_forward_pre_hook(lambda m, args, kwargs: (args, {"by": kwargs["by"] + 1}), with_kwargs=True)
    layer.register_forward_hook(lambda m, args, kwargs, out: seen.append(kwargs), with_kwargs=True)
    assert layer(2, by=2) == 6
    assert seen == [{"by": 3}]
    layer.register_forward_pre_hook(lambda *_: 3, with_kwargs=True)
    with pytest.raises(RuntimeError) as caught:
        layer(2, by=2)
    assert str(caught.value) == "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got 3."


def test_a_hook_may_ask_to_be_called_also_after_an_error():
    class Failing(nn.Module):
        def forward(self):
            raise KeyError("x")

    layer, calls = Failing(), []
    layer.register_forward_hook(lambda *_: calls.append("always"), always_call=True)
    layer.register_forward_hook(lambda *_: calls.append("never"))
    with pytest.raises(KeyError):
        layer()
    assert calls == ["always"]


def test_backward_hooks_see_and_replace_gradients():
    layer, seen = nn.Linear(2, 1, bias=False), []
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, 2.0]]))
    layer.register_full_backward_pre_hook(lambda m, grad_output: (grad_output[0] * 3,))

    def double(module, grad_input, grad_output):
        seen.append((grad_input[0].tolist(), grad_output[0].tolist()))
        return (grad_input[0] * 2,)

    handle = layer.register_full_backward_hook(double)
    x = torch.ones(1, 2, requires_grad=True)
    out = layer(x)
    assert out.grad_fn is not None
    assert out.grad_fn.name() == "BackwardHookFunctionBackward"
    out.sum().backward()
    assert seen == [([[3.0, 6.0]], [[3.0]])]
    assert x.grad is not None
    assert x.grad.tolist() == [[6.0, 12.0]]
    assert layer.weight.grad.tolist() == [[3.0, 3.0]]
    handle.remove()


@pytest.mark.parametrize("kind", ["register_full_backward_hook", "register_full_backward_pre_hook"])
def test_what_a_backward_hook_may_return(kind):
    def gradient(returned):
        layer, x = nn.Linear(2, 3), torch.ones(1, 2, requires_grad=True)
        getattr(layer, kind)(lambda *_: returned)
        layer(x).sum().backward()
        return x.grad

    size = 2 if kind == "register_full_backward_hook" else 3
    assert gradient([torch.zeros(1, size)]).tolist() == [[0, 0]]
    if kind == "register_full_backward_pre_hook":
        assert gradient((None,)).tolist() == [[0, 0]]
    with pytest.raises(TypeError, match=r"^object of type 'int' has no len\(\)$"):
        gradient(3)
    with pytest.raises(TypeError, match="^expected Variable, but hook returned 'int'$"):
        gradient((3,))


def test_the_old_backward_hook_says_that_it_sees_one_node():
    layer = nn.Linear(2, 3)
    layer.register_backward_hook(lambda *_: None)
    with pytest.warns(FutureWarning, match="when the forward contains multiple autograd Nodes is deprecated"):
        layer(torch.ones(1, 2))


def test_a_backward_hook_without_differentiable_inputs_says_so():
    layer, seen = nn.Linear(1, 1), []
    layer.register_full_backward_hook(
        lambda m, grad_input, grad_output: seen.append((grad_input, grad_output[0].item()))
    )
    with pytest.warns(UserWarning, match="no inputs require gradients"):
        layer(torch.ones(1, 1)).sum().backward()
    assert seen == [((None,), 1.0)]


def test_the_two_kinds_of_backward_hooks_do_not_mix():
    layer = nn.ReLU()
    layer.register_full_backward_hook(lambda *_: None)
    with pytest.raises(RuntimeError) as caught:
        layer.register_backward_hook(lambda *_: None)
    assert str(caught.value) == (
        "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only one of them."
    )


def test_registration_hooks_see_every_member():
    names = []
    with (
        all_modules.register_module_parameter_registration_hook(lambda m, name, p: names.append(name)),
        all_modules.register_module_buffer_registration_hook(lambda m, name, b: names.append(name)),
        all_modules.register_module_module_registration_hook(lambda m, name, c: names.append(name)),
    ):
        nn.Sequential(nn.BatchNorm1d(1))
    assert names == ["weight", "bias", "running_mean", "running_var", "num_batches_tracked", "0"]


class Mixed(nn.Module):
    def forward(self, a, b, c=None, k=2):
        return a * 2 + b.float() * 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_a_backward_hook_gets_zeros_for_tensors_without_a_gradient(dtype):
    module, got = Mixed(), []
    module.register_full_backward_hook(lambda module, grad_input, grad_output: got.append(grad_input))
    x = torch.ones(2, requires_grad=True)
    module(x, torch.ones(2, dtype=dtype), None, 5).sum().backward()
    ((first, second, *others),) = got
    assert (first.tolist(), second.tolist(), second.dtype, others) == ([2.0, 2.0], [0.0, 0.0], dtype, [None, None])
    module.register_full_backward_hook(
        lambda module, grad_input, grad_output: tuple(g if g is None else g * 3 for g in grad_input)
    )
    module(x, torch.ones(2, dtype=dtype)).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [8.0, 8.0]


def test_a_gradient_that_does_not_pass_the_outputs_calls_no_backward_hook():
    layer, kept, calls = nn.Linear(2, 1, bias=False), [], []
    nn.init.ones_(layer.weight)
    layer.register_forward_hook(lambda module, args, out: kept.append(out))
    layer.register_full_backward_hook(lambda *args: calls.append(args))
    x = torch.ones(1, 2, requires_grad=True)
    layer(x)
    assert torch.autograd.grad(kept[0].sum(), x)[0].tolist() == [[1.0, 1.0]]
    assert calls == []
    y = layer(x)
    (grad,) = torch.autograd.grad(y.pow(2).sum(), x, create_graph=True)
    assert len(calls) == 1
    grad.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[4.0, 4.0]]


def test_backward_hooks_need_tensors_or_tuples_as_outputs():
    class Named(nn.Module):
        def forward(self, x):
            return {"a": x * 2}

    module = Named()
    module.register_full_backward_hook(lambda *args: None)
    with pytest.warns(
        UserWarning, match="For backward hooks to be called, module output should be a Tensor or a tuple of Tensors"
    ):
        result = module(torch.ones(1, requires_grad=True))
    result["a"].sum().backward()


def test_full_backward_hooks_leave_inputs_as_they_are():
    class Notes(nn.Module):
        def forward(self, a, b, c):
            seen.extend(each.requires_grad for each in (a, b, c))
            return a.sum() + b.sum() + c.sum()

    seen, module, x = [], Notes(), torch.ones(2, requires_grad=True)
    module.register_full_backward_hook(lambda *_: None)
    module(x, x.detach(), x).backward()
    assert seen == [True, False, True]
    assert x.grad is not None and x.grad.tolist() == [2.0, 2.0]


@pytest.mark.parametrize(("returned", "refused"), [
    (lambda given: given, False), (lambda given: (None, None), False), (lambda given: (), False), (lambda given: None, False),
    (lambda given: [None], True), (lambda given: torch.ones(1, 2), True), (lambda given: (torch.ones(1, 2),), True),
])  # fmt: skip
def test_a_full_backward_hook_may_return_no_gradients_where_no_input_requires_one(returned, refused):
    layer = nn.Linear(2, 3)
    layer.register_full_backward_hook(lambda module, grad_input, grad_output: returned(grad_input))
    total = layer(torch.ones(1, 2)).sum()
    error = pytest.raises(RuntimeError, match="should always return None or None for all gradients")
    with pytest.warns(UserWarning, match="no inputs require gradients"), error if refused else contextlib.nullcontext():
        total.backward()


def test_hooks_that_are_always_called_do_not_replace_the_error():
    layer, calls = nn.Identity(), []

    def fail(*args):
        raise RuntimeError(f"the first of {len(args)}")

    def fail_too(module, args, result):
        calls.append(result)
        raise RuntimeError("the second")

    layer.register_forward_pre_hook(fail)
    layer.register_forward_hook(lambda *_: 7, always_call=True)
    layer.register_forward_hook(fail_too, always_call=True)
    layer.register_forward_hook(lambda module, args, result: calls.append(result), always_call=True)
    with pytest.warns(UserWarning, match="silenced as another error was raised in forward: the second"):
        with pytest.raises(RuntimeError, match="the first of 2"):
            layer(1)
    assert calls == [7, 7]
