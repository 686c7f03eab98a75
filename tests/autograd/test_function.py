"""Function: a user's forward and backward, the methods of its context, and its errors."""

import gc
import weakref

import pytest

import torchlike as torch
from torchlike.autograd import Function
from torchlike.autograd.function import once_differentiable


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * grad


class Scale(Function):
    """Has a separate ``setup_context``, and an argument that is not a tensor."""

    @staticmethod
    def forward(x, factor):
        return x * factor

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, ctx.factor = inputs

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None


class Split(Function):
    """Has two outputs, and returns the sum of their gradients."""

    @staticmethod
    def forward(ctx, x):
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, by_double, by_triple):
        Split.seen = [None if g is None else g.tolist() for g in (by_double, by_triple)]
        return by_double * 2 + by_triple * 3


# ---- forward and backward


def test_forward_and_backward():
    w = leaf(1.0, 2.0)
    y = Cube.apply(w)
    assert repr(y) == "tensor([1., 8.], grad_fn=<CubeBackward>)"
    assert y.grad_fn.name() == "CubeBackward"
    y.sum().backward()
    assert w.grad.tolist() == [3.0, 12.0]


def test_forward_records_nothing_and_is_recorded_only_where_needed():
    seen = []

    class Look(Function):
        @staticmethod
        def forward(ctx, x):
            seen.append((torch.is_grad_enabled(), (x * 2).requires_grad, ctx.needs_input_grad))
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            seen.append(torch.is_grad_enabled())
            return grad * 2

    assert Look.apply(leaf(1.0)).requires_grad
    assert not Look.apply(torch.ones(1)).requires_grad
    with torch.no_grad():
        assert not Look.apply(leaf(1.0)).requires_grad
    Look.apply(leaf(1.0)).sum().backward()
    assert seen[0] == (False, False, (True,))
    assert seen[1] == (False, False, (False,))
    assert seen[-1] is False


def test_setup_context():
    w = leaf(1.0, 2.0)
    Scale.apply(w, 5).sum().backward()
    assert w.grad.tolist() == [5.0, 5.0]


def test_second_derivatives_go_through_backward():
    x = torch.tensor(2.0, requires_grad=True)
    (first,) = torch.autograd.grad(Cube.apply(x), x, create_graph=True)
    (second,) = torch.autograd.grad(first, x, create_graph=True)
    (third,) = torch.autograd.grad(second, x)
    assert (first.item(), second.item(), third.item()) == (12.0, 12.0, 6.0)


def test_gradcheck_of_a_function():
    x = torch.tensor([0.5, -1.5], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(Cube.apply, (x,))
    assert torch.autograd.gradgradcheck(Cube.apply, (x,))


def test_a_function_in_the_middle_of_a_graph():
    w = leaf(1.0, 2.0)
    (Cube.apply(w * 2) * w).sum().backward()
    assert w.grad.tolist() == [32.0, 256.0]  # the gradient of 8 w^4


def test_needs_input_grad_may_save_work():
    class Product(Function):
        @staticmethod
        def forward(ctx, a, b, note):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, grad):
            Product.needs = ctx.needs_input_grad
            a, b = ctx.saved_tensors
            return grad * b if ctx.needs_input_grad[0] else None, grad * a if ctx.needs_input_grad[1] else None, None

    w = leaf(3.0)
    Product.apply(w, torch.tensor([4.0]), "note").sum().backward()
    assert (Product.needs, w.grad.item()) == ((True, False, False), 4.0)


# ---- several outputs


def test_several_outputs():
    w = leaf(1.0)
    double, triple = Split.apply(w)
    assert (double.output_nr, triple.output_nr, double.grad_fn is triple.grad_fn) == (0, 1, True)
    (double + 10 * triple).sum().backward()
    assert (w.grad.item(), Split.seen) == (32.0, [[1.0], [10.0]])


def test_an_unused_output_gives_zeros():
    w = leaf(1.0)
    Split.apply(w)[1].sum().backward()
    assert (w.grad.item(), Split.seen) == (3.0, [[0.0], [1.0]])


def test_or_none_where_zeros_are_not_wanted():
    class Bare(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, by_double, by_triple):
            assert by_double is None
            return by_triple * 3

    w = leaf(1.0)
    Bare.apply(w)[1].sum().backward()
    assert w.grad.item() == 3.0


def test_outputs_that_are_no_tensors_pass_through():
    class Mixed(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, "word", None, 7

        @staticmethod
        def backward(ctx, grad, *others):
            assert others == (None, None, None)
            return grad * 2

    w = leaf(1.0)
    result, *others = Mixed.apply(w)
    assert others == ["word", None, 7]
    result.sum().backward()
    assert w.grad.item() == 2.0


def test_non_differentiable_outputs():
    class Sorted(Function):
        @staticmethod
        def forward(ctx, x):
            values, order = x.sort()
            ctx.mark_non_differentiable(order)
            ctx.save_for_backward(order)
            return values, order

        @staticmethod
        def backward(ctx, grad, _):
            (order,) = ctx.saved_tensors
            return torch.zeros_like(grad).index_put((order,), grad)

    w = leaf(3.0, 1.0, 2.0)
    values, order = Sorted.apply(w)
    assert (values.requires_grad, order.requires_grad, order.tolist()) == (True, False, [1, 2, 0])
    (values * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert w.grad.tolist() == [100.0, 1.0, 10.0]


def test_a_float_output_marked_non_differentiable():
    class Mask(Function):
        @staticmethod
        def forward(ctx, x):
            mask = (x > 0).float()
            ctx.mark_non_differentiable(mask)
            return x * mask, mask

        @staticmethod
        def backward(ctx, grad, _):
            return grad

    y, mask = Mask.apply(leaf(-1.0, 1.0))
    assert (y.requires_grad, mask.requires_grad, mask.grad_fn) == (True, False, None)


# ---- inputs that are returned or written


def test_an_input_given_back():
    class Through(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 100

    w = leaf(1.0)
    y = Through.apply(w)
    assert (y is w, y.grad_fn.name()) == (False, "ThroughBackward")
    y.sum().backward()
    assert w.grad.item() == 100.0
    x = torch.ones(1)
    assert not Through.apply(x).requires_grad


def test_an_input_written_to():
    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    w = leaf(1.0, 2.0)
    y = w * 1
    z = Double.apply(y)
    assert (z is y, y.tolist(), y.grad_fn.name()) == (True, [2.0, 4.0], "DoubleBackward")
    z.sum().backward()
    assert w.grad.tolist() == [2.0, 2.0]
    with pytest.raises(
        RuntimeError, match="^a leaf Variable that requires grad has been used in an in-place operation.$"
    ):
        Double.apply(leaf(1.0))


def test_a_gradient_of_a_broadcast_input_is_summed():
    class Add(Function):
        @staticmethod
        def forward(ctx, a, b):
            return a + b

        @staticmethod
        def backward(ctx, grad):
            return grad, grad

    a, b = torch.ones(2, 3, requires_grad=True), torch.ones(3, requires_grad=True)
    Add.apply(a, b).sum().backward()
    assert (a.grad.shape, b.grad.tolist()) == ((2, 3), [2.0, 2.0, 2.0])


# ---- saved tensors


def test_saved_results_carry_their_history():
    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            result = x.exp()
            ctx.save_for_backward(result)
            return result

        @staticmethod
        def backward(ctx, grad):
            (result,) = ctx.saved_tensors
            return grad * result

    x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(Exp.apply, (x,))
    y = Exp.apply(x)
    y.add_(1)
    with pytest.raises(RuntimeError) as caught:
        y.backward()
    assert "[torch.DoubleTensor []], which is output 0 of Exp, is at version 1; expected version 0 instead." in str(
        caught.value
    )


def test_saved_tensors_are_freed_and_checked():
    w = leaf(2.0)
    y = Cube.apply(w)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="^Trying to backward through the graph a second time"):
        y.sum().backward()
    y = Cube.apply(w)
    with torch.no_grad():
        w.add_(1)
    with pytest.raises(RuntimeError, match=r"\[torch.FloatTensor \[1\]\] is at version 1; expected version 0 instead"):
        y.sum().backward()


def test_none_can_be_saved():
    class Optional(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(None, x)
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            nothing, x = ctx.saved_tensors
            assert nothing is None
            return grad * x

    w = leaf(5.0)
    Optional.apply(w).sum().backward()
    assert w.grad.item() == 5.0


def test_attributes_of_the_context():
    class Power(Function):
        @staticmethod
        def forward(ctx, x, n):
            ctx.n, ctx.x = n, x.detach()
            return x**n

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.n * ctx.x ** (ctx.n - 1), None

    w = leaf(2.0)
    Power.apply(w, 4).sum().backward()
    assert w.grad.item() == 32.0


def test_a_context_does_not_outlive_its_result():
    y = Cube.apply(leaf(1.0))
    node = weakref.ref(y.grad_fn)
    del y
    gc.collect()
    assert node() is None


# ---- once_differentiable


def test_once_differentiable():
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, grad):
            assert not torch.is_grad_enabled()
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    w = leaf(3.0)
    Square.apply(w).sum().backward()
    assert w.grad.item() == 6.0
    (g,) = torch.autograd.grad((Square.apply(w) ** 2).sum(), w, create_graph=True)
    assert g.item() == 108.0
    with pytest.raises(
        RuntimeError, match="^trying to differentiate twice a function that was marked with @once_differentiable$"
    ):
        g.sum().backward()


# ---- errors


def returning(*gradients):
    class Returns(Function):
        @staticmethod
        def forward(ctx, x, number):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return gradients

    return Returns


@pytest.mark.parametrize(
    ("gradients", "error", "text"),
    [
        (
            (None,),
            RuntimeError,
            "function ReturnsBackward returned an incorrect number of gradients (expected 2, got 1)",
        ),
        (
            (torch.ones(2), None, torch.ones(2)),
            RuntimeError,
            "function ReturnsBackward returned an incorrect number of gradients (expected 2, got 3)",
        ),
        (
            (torch.ones(2), torch.ones(2)),
            RuntimeError,
            "function ReturnsBackward returned a gradient different than None at position 2, but the corresponding forward input "
            "was not a Variable",
        ),
        (
            (torch.ones(3), None),
            RuntimeError,
            "Function ReturnsBackward returned an invalid gradient at index 0 - got [3] but expected shape compatible with [2]",
        ),
        ((5, None), RuntimeError, "expected Variable or None (got int)"),
    ],
)
def test_wrong_gradients(gradients, error, text):
    w = leaf(1.0, 2.0)
    with pytest.raises(error) as caught:
        returning(*gradients).apply(w, 3).sum().backward()
    assert str(caught.value) == text
    assert w.grad is None


def test_none_is_no_gradient_and_extra_nones_are_ignored():
    w = leaf(1.0, 2.0)
    returning(None, None, None).apply(w, 3).sum().backward()
    assert w.grad is None


def test_functions_are_not_made():
    with pytest.warns(
        DeprecationWarning, match="should not be instantiated. Methods on autograd functions are all static"
    ):
        Cube()


def test_what_is_not_written_says_so():
    class Nothing(Function):
        pass

    class OnlyForward(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    with pytest.raises(
        NotImplementedError, match="^You must implement the forward function for custom autograd.Function.$"
    ):
        Nothing.apply(leaf(1.0))
    with pytest.raises(
        NotImplementedError, match="^You must implement either the backward or vjp method for your custom "
    ):
        OnlyForward.apply(leaf(1.0)).sum().backward()


def test_only_tensors_can_be_saved():
    class Saves(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, 5)
            return x * 2

    with pytest.raises(TypeError, match="^save_for_backward can only save variables, but argument 1 is of type int$"):
        Saves.apply(leaf(1.0))


def test_an_error_in_backward_comes_out():
    class Broken(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            raise KeyError("mine")

    w = leaf(1.0)
    with pytest.raises(KeyError, match="mine"):
        Broken.apply(w).sum().backward()
    assert torch.is_grad_enabled()


def marking(mark):
    class Marked(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            mark(ctx, x)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    return Marked


def test_what_is_saved_is_looked_at_where_a_graph_is_made():
    number = marking(lambda ctx, x: ctx.save_for_backward(x, 3))
    with pytest.raises(TypeError, match="save_for_backward can only save variables, but argument 1 is of type int"):
        number.apply(torch.ones(2, requires_grad=True))
    assert number.apply(torch.ones(2)).tolist() == [1, 1]
    with torch.no_grad():
        assert number.apply(torch.ones(2, requires_grad=True)).tolist() == [1, 1]
    last = marking(lambda ctx, x: (ctx.save_for_backward(3), ctx.save_for_backward(x)))
    assert last.apply(torch.ones(2, requires_grad=True)).requires_grad  # the last call wins


@pytest.mark.parametrize(
    ("mark", "error", "message"),
    [
        (lambda ctx, x: ctx.save_for_forward(3), AssertionError, "save_for_forward expects all arguments to be tensors; you should save "
         "non-tensors as attributes on ctx."),
        (lambda ctx, x: ctx.mark_dirty(3), RuntimeError, "mark_dirty can only accept variables, but argument "),
        (lambda ctx, x: ctx.mark_non_differentiable([x]), RuntimeError,
         "mark_non_differentiable only accepts variable arguments, but got "),
    ],
)  # fmt: skip
def test_what_is_marked_must_be_tensors(mark, error, message):
    with pytest.raises(error) as raised:
        marking(mark).apply(torch.ones(2))
    assert str(raised.value) == message


def passing(forward):
    class Passing(Function):
        @staticmethod
        def forward(ctx, x):
            return forward(x)

        @staticmethod
        def backward(ctx, *grads):
            return grads[0] * 2

    return Passing


IN_FUNCTION = (
    "This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to handle "
    "view+inplace would override the custom backward associated with the custom Function, leading to incorrect gradients. This behavior "
    "is forbidden. You can fix this by cloning the output of the custom Function."
)


@pytest.mark.parametrize(
    ("forward", "part", "node"),
    [
        (lambda x: x, lambda y: y, "Passing"),
        (lambda x: x.view_as(x), lambda y: y, "Passing"),
        (lambda x: x.exp().view(4).view(2, 2), lambda y: y, "Passing"),
        (lambda x: x, lambda y: y[0], "Select"),
        (lambda x: x, lambda y: y.view(4), "View"),
    ],
)
def test_an_output_that_is_a_view_cannot_be_written_to(forward, part, node):
    """A write to it would bypass ``backward``, and change an input that was returned unchanged."""
    x = torch.ones(2, 2, requires_grad=True)
    y = part(passing(forward).apply(x))
    with pytest.raises(RuntimeError) as raised:
        y.mul_(3)
    assert str(raised.value) == f"Output 0 of {node} is a view and is being modified inplace. {IN_FUNCTION}"
    assert x.tolist() == [[1, 1], [1, 1]]
    with torch.no_grad():
        y.mul_(3)


def test_an_output_that_is_a_view_has_no_gradient_once_its_base_was_written_to():
    x = torch.ones(2, requires_grad=True) * 1
    y = passing(lambda x: x.view(2)).apply(x)
    x.mul_(2)
    with pytest.raises(RuntimeError) as raised:
        y.sum()
    start = "Output 0 of Passing is a view and its base or another view of its base has been modified inplace. "
    assert str(raised.value) == start + IN_FUNCTION


def test_of_several_outputs_those_that_are_views_cannot_be_written_to():
    x = torch.ones(2, requires_grad=True)
    same, view, new = passing(lambda x: (x, x.view(2), x * 2)).apply(x)
    for y in (same, view):
        with pytest.raises(RuntimeError, match="This view is the output of a function that returns multiple views"):
            y.mul_(2)
    assert new.mul_(2).tolist() == [4, 4]


def test_a_marked_write_counts_as_one_more():
    class Doubled(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = torch.ones(2, requires_grad=True) * 1
    assert Doubled.apply(x)._version == 2


def test_setup_context_sees_defaults_and_arguments_given_by_name():
    seen = []

    class Scaled(Function):
        @staticmethod
        def forward(x, factor=2.0):
            return x * factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            seen.append(inputs[1])
            ctx.factor = inputs[1]

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor, None

    x = leaf(1.0, 2.0)
    for result in (Scaled.apply(x), Scaled.apply(x, factor=3.0), Scaled.apply(factor=4.0, x=x)):
        result.sum().backward()
    assert seen == [2.0, 3.0, 4.0] and x.grad.tolist() == [9, 9]
    with pytest.raises(TypeError, match="^got an unexpected keyword argument 'other'$"):
        Scaled.apply(x, other=1)


def test_a_function_cannot_be_called_as_functions_once_were():
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        old = Cube()
    with pytest.raises(RuntimeError, match="^Legacy autograd function with non-static forward method is deprecated."):
        old(leaf(1.0))


def test_a_gradient_for_an_input_that_needs_none_may_have_any_shape():
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, times):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2, torch.ones(4, 4, 1)

    x = torch.ones(2, requires_grad=True)
    Scaled.apply(x, torch.ones(4)).sum().backward()
    assert x.grad.tolist() == [2, 2]


class ByVjp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def vjp(ctx, gradient):
        return gradient * ctx.saved_tensors[0] * 7


class ByBoth(ByVjp):
    @staticmethod
    def backward(ctx, gradient):
        return gradient


def test_a_function_has_backward_or_vjp():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    ByVjp.apply(x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [7.0, 14.0]
    result = ByBoth.apply(x).sum()
    with pytest.raises(
        RuntimeError, match="Implementing both 'backward' and 'vjp' for a custom Function is not allowed"
    ):
        result.backward()
