"""What programs see of the graph's objects: hooks, callbacks, nodes that are called, and what Functions return and keep."""

import warnings
from collections import OrderedDict

import pytest

import torchlike as torch
from torchlike.autograd import Function
from torchlike.autograd.function import InplaceFunction
from torchlike.autograd.graph import saved_tensors_hooks

pytestmark = pytest.mark.composed


def ones(*shape):
    return torch.ones(*shape, requires_grad=True)


def accumulator(leaf):
    return leaf.view_as(leaf).grad_fn.next_functions[0][0]


def add_half(leaf):
    leaf.grad.add_(0.5)


class Passes(Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient


# ---- hooks


def test_hooks_of_an_accumulator_see_the_memory_of_the_gradient():
    leaf, seen = ones(1), []
    leaf.register_post_accumulate_grad_hook(add_half)
    accumulator(leaf).register_hook(lambda inputs, outputs: seen.append(outputs[0].tolist()))
    (leaf * 3).sum().backward()
    assert seen == [[3.5]] and leaf.grad.tolist() == [3.5]
    (leaf * 3).sum().backward()  # what arrives is added to another gradient, and is itself again
    assert seen[1] == [3.0] and leaf.grad.tolist() == [7.0]


def test_all_hooks_of_a_leaf_in_pytorchs_order():
    leaf = ones(3)
    node = accumulator(leaf)
    leaf.register_hook(lambda gradient: gradient - 2)
    node.register_prehook(lambda gradients: (gradients[0] / 5,))
    leaf.register_post_accumulate_grad_hook(add_half)

    def after(_, outputs):
        leaf.grad = outputs[0] * 10

    node.register_hook(after)
    leaf.sum().backward()
    assert leaf.grad.tolist() == pytest.approx([3.0] * 3)


def test_callbacks_at_the_end_of_a_pass():
    calls = []

    class Queues(Passes):
        @staticmethod
        def backward(ctx, gradient):
            torch.autograd.Variable._execution_engine.queue_callback(lambda: calls.append(("end", leaf.grad)))
            calls.append("backward")
            return gradient

    leaf = ones(1)
    Queues.apply(Queues.apply(leaf)).backward()
    assert [call if isinstance(call, str) else call[0] for call in calls] == ["backward", "backward", "end", "end"]
    assert calls[2][1].tolist() == [1.0]
    with pytest.raises(RuntimeError, match="^Final callbacks can only be installed during backward pass.$"):
        torch.autograd.Variable._execution_engine.queue_callback(lambda: None)


def test_hooks_of_a_tensor_as_a_dict():
    leaf = ones(2)
    leaf._backward_hooks = OrderedDict({1: lambda gradient: gradient * 2})
    (leaf * 3).sum().backward()
    assert leaf.grad.tolist() == [6.0, 6.0]
    leaf._backward_hooks = None
    leaf.grad = None
    (leaf * 3).sum().backward()
    assert leaf.grad is not None and leaf.grad.tolist() == [3.0, 3.0]
    plain = torch.ones(1)
    plain._backward_hooks = OrderedDict()
    assert plain._backward_hooks == OrderedDict() and not plain.requires_grad


@pytest.mark.parametrize("operation", [torch.exp, torch.sin, Passes.apply])
def test_a_pack_hook_must_not_write_to_its_argument(operation):
    if operation == Passes.apply:

        class Saves(Passes):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x.clone()

        operation = Saves.apply
    x = ones(3) * 1
    with saved_tensors_hooks(lambda tensor: tensor.add_(1), lambda tensor: tensor):
        with pytest.raises(RuntimeError, match="^A saved tensor pack hook is modifying its input in place"):
            operation(x)


def test_what_a_hook_has_packed_is_not_looked_after():
    leaf = ones(3)
    x = leaf * 1
    with saved_tensors_hooks(torch.clone, lambda tensor: tensor):
        y = x.sin()
    x.mul_(2)
    y.sum().backward()
    torch.testing.assert_close(leaf.grad, torch.ones(3).cos())


# ---- passes


@pytest.mark.parametrize("depth", [2, 300])
def test_passes_within_passes_however_deep(depth):
    class Nested(Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.depth = depth
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            if not ctx.depth:
                return gradient, None
            with torch.enable_grad():
                leaf = ones(1)
                Nested.apply(leaf, ctx.depth - 1).backward(gradient)
            return leaf.grad + gradient, None

    x = ones(1)
    Nested.apply(x, depth).backward()
    assert x.grad.tolist() == [depth + 1]


def test_nodes_can_be_called():
    x, y = ones(2), ones(2)
    node = lambda tensor: tensor.grad_fn  # noqa: E731
    first, second = node(x * 2)(torch.ones(2))
    assert first.tolist() == [2.0, 2.0] and second is None
    assert all(gradient.grad_fn is not None for gradient in node(x * y)(torch.ones(2)))
    assert node(x.sum())(torch.tensor(2.0)).tolist() == [2.0, 2.0]
    assert (accumulator(x) or node)(torch.ones(2)) == ()
    assert x.grad is not None and x.grad.tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match="^expected 1 arguments, got 0 instead$"):
        node(x**2)()


def test_set_leaves_the_graphs():
    x = ones(2)
    x.register_hook(lambda gradient: gradient * 3)
    before = x.clone()
    with torch.no_grad():
        x.set_(torch.ones(3))
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        torch.autograd.grad(before.sum(), x)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [6.0, 6.0, 6.0]  # its hooks stay


def test_materialized_gradients_can_be_differentiated():
    x, y = ones(2), ones(2)
    assert not torch.autograd.grad((x * 2).sum(), (x, y), materialize_grads=True)[1].requires_grad
    zeros = torch.autograd.grad((x * 2).sum(), (x, y), materialize_grads=True, create_graph=True)[1]
    assert zeros.requires_grad
    assert torch.autograd.grad(zeros.sum(), x, materialize_grads=True)[0].tolist() == [0.0, 0.0]


def test_batched_gradients_of_another_shape_are_refused():
    x = ones(2, 2)
    with pytest.raises(RuntimeError, match="^If `is_grads_batched=True`, we interpret the first dimension"):
        torch.autograd.grad(x.clone(), (x,), (torch.ones(2, 2),), is_grads_batched=True)


# ---- Functions


def test_a_tensor_that_is_returned_twice_is_one():
    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            doubled = x * 2
            return doubled, x, doubled, x

        @staticmethod
        def backward(ctx, *gradients):
            seen.extend(gradient.tolist() for gradient in gradients)
            return sum(gradients)

    seen, x = [], ones(1)
    a, b, c, d = Twice.apply(x)
    assert a is c and b is not d and b is not x
    assert [each.output_nr for each in (a, b, c, d)] == [2, 1, 2, 3]
    (a + 2 * b + 4 * c + 8 * d).sum().backward()
    assert seen == [[0.0], [2.0], [5.0], [8.0]]


def test_gradients_of_marked_outputs_need_not_be_zeros():
    class Marks(Function):
        @staticmethod
        def forward(ctx, x, materialize):
            a, b = x.clone(), x.clone()
            ctx.mark_non_differentiable(b)
            ctx._materialize_non_diff_grads = materialize
            return a, b

        @staticmethod
        def backward(ctx, gradient, other):
            seen.append(other if other is None else other.tolist())
            return gradient, None

    seen = []
    for materialize in (False, True):
        Marks.apply(ones(1), materialize)[0].backward()
    assert seen == [None, [0.0]]


def test_a_returned_input_keeps_its_class():
    class Own(torch.Tensor):
        pass

    class Returns(Passes):
        @staticmethod
        def forward(ctx, x):
            return x

    for tracked in (False, True):
        x = torch.ones(2).as_subclass(Own).requires_grad_(tracked)
        result = Returns.apply(x)
        assert type(result) is Own and result is not x and result.requires_grad is tracked
    assert type(Returns.apply(torch.nn.Parameter(torch.ones(2)))) is torch.Tensor


def test_old_names_of_functions():
    class Adds(InplaceFunction):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.mark_dirty(x)
            return x.add_(1)

        @staticmethod
        def backward(ctx, gradient):
            with pytest.warns(DeprecationWarning, match="^'saved_variables' is deprecated; use 'saved_tensors'$"):
                assert len(ctx.saved_variables) == 1
            return gradient

    assert Adds.apply(torch.ones(2)).tolist() == [2.0, 2.0]
    leaf = ones(1)
    Adds.apply(leaf * 1).backward()
    assert leaf.grad.tolist() == [1.0]


# ---- inference tensors


def test_views_of_inference_tensors_are_none():
    with torch.inference_mode():
        x, leaf = torch.ones(2, 3), ones(2, 3)
        inside = leaf[0], leaf.view(-1), leaf * 2
    assert not any(each.requires_grad for each in inside)
    for view in (x[0], x.t(), leaf.view(-1), leaf[:, 1:], leaf.expand(4, 2, 3), leaf.unbind()[0], leaf.unsqueeze(0)):
        assert (view.is_inference(), view.requires_grad, view._is_view(), view.grad_fn) == (True, False, False, None)
        with pytest.raises(RuntimeError, match="^Inplace update to inference tensor outside InferenceMode"):
            view.add_(1)
    with pytest.raises(RuntimeError, match="^Inplace update to inference tensor outside InferenceMode"):
        torch.mul(torch.ones(2, 3), torch.ones(2, 3), out=x)


def test_switches_that_decorate_classes_warn():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")

        @torch.no_grad()
        class _Any:
            pass

    assert [each.category for each in caught] == [FutureWarning]


def test_what_cannot_be_deleted():
    x = torch.ones(1)
    with pytest.raises(RuntimeError, match="^Deleting tensor data is not allowed. Delete tensor instead!$"):
        del x.data
    with pytest.raises(RuntimeError, match="^requires_grad must be a bool$"):
        del x.requires_grad


# ---- writes to what was saved


def test_what_was_saved_may_be_written_to():
    class Saves(Passes):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient * ctx.saved_tensors[0]

    for operation, expected in (
        (lambda x: x * x, 6.0),
        (torch.exp, torch.tensor(3.0).exp().item()),
        (Saves.apply, 3.0),
    ):
        leaf = torch.full((2,), 3.0, requires_grad=True)
        with torch.autograd.graph.allow_mutation_on_saved_tensors():
            x = leaf.clone()
            y = operation(x)
            total = y.sum()
            x.zero_()
            y.zero_()
            total.backward()
        assert leaf.grad is not None and leaf.grad.tolist() == pytest.approx([expected] * 2)
    with pytest.raises(RuntimeError, match="^allow_mutation_on_saved_tensors contexts cannot be nested$"):
        with torch.autograd.graph.allow_mutation_on_saved_tensors():
            with torch.autograd.graph.allow_mutation_on_saved_tensors():
                pass
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        total = ones(2).exp().sum()
    with pytest.raises(AssertionError, match="^Trying to backward outside of the 'allow_mutation_on_saved_tensors'"):
        total.backward()


def test_a_callback_at_the_end_may_queue_another():
    queue = torch.autograd.Variable._execution_engine.queue_callback
    calls: list[object] = []

    def last():
        calls.append(("last", x.grad is not None, torch.is_grad_enabled()))

    def first():
        calls.append("first")
        queue(last)

    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: queue(first))
    y.sum().backward()
    assert calls == ["first", ("last", True, True)]
    with pytest.raises(RuntimeError, match="Final callbacks can only be installed during backward pass"):
        queue(last)
