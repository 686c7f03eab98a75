"""Functions that write to their inputs: ``mark_dirty``, on tensors and on views. The outcomes are those that PyTorch gives."""

import warnings

import pytest

import torchlike as torch


def writing(returned=lambda xs: xs[0], mark=lambda ctx, xs: ctx.mark_dirty(xs[0])):
    """A Function that doubles its first input in place, and whose gradients are 5 times what arrives, 10 for the second input."""

    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *xs):
            ctx.count = len(xs)
            xs[0].mul_(2)
            mark(ctx, xs)
            return returned(xs)

        @staticmethod
        def backward(ctx, *grads):
            return tuple(grads[0] * 5 * (i + 1) for i in range(ctx.count))

    return Doubled.apply


def not_differentiable(ctx, xs):
    ctx.mark_dirty(xs[0])
    ctx.mark_non_differentiable(xs[0])


def fresh(ctx, xs):
    ctx.fresh = xs[0].clone()
    ctx.mark_dirty(ctx.fresh, xs[0])


def numbers(n):
    return torch.arange(1.0, n + 1).requires_grad_()


BASE, BASE_AND_SECOND = (
    "x = numbers(4); b = x.clone(); v = b[:2]; ",
    "x = numbers(4); y = numbers(2); b = x.clone(); v = b[:2]; ",
)
WEIGHTED = "(b * torch.arange(1.0, 5)).sum().backward(); "
VIEW_OF_A_LEAF = "a view of a leaf Variable that requires grad is being used in an in-place operation."
LEAF = "a leaf Variable that requires grad has been used in an in-place operation."
SEVERAL = "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more than one Tensor."
NOT_RETURNED = "Some elements marked as dirty during the forward method were not returned as output."
OF_SEVERAL_VIEWS = "Output 0 of Unbind is a view and is being modified inplace. This view is the output of a function that returns multiple"
ROWS = [
    (BASE + "z = writing()(v); " + WEIGHTED, "x.grad.tolist(), z is v, b._version", ([5.0, 10.0, 3.0, 4.0], True, 2)),
    (BASE + "z = writing()(v); ", "z.grad_fn.name(), b.grad_fn.name()", ("AsStridedBackward0", "torch::autograd::CopySlices")),
    (BASE_AND_SECOND + "writing()(v, y); b.sum().backward()", "x.grad.tolist(), y.grad.tolist()", ([5, 5, 1, 1], [10, 10])),
    (BASE_AND_SECOND + "writing()(v, y).sum().backward()", "x.grad.tolist(), y.grad.tolist()", ([5, 5, 0, 0], [10, 10])),
    ("y = numbers(2); b = torch.arange(4.0); writing()(b[:2], y); " + WEIGHTED, "y.grad.tolist()", [10, 20]),
    (BASE + "w = b[2:]; z = writing()(v); (w.sum() + v.sum()).backward()", "x.grad.tolist()", [5, 5, 1, 1]),
    ("x = numbers(4); b = x.clone(); v = b.view(2, 2); writing()(v); ((v * 3).sum() + b.sum()).backward()", "x.grad.tolist()", [20] * 4),
    (BASE + "got = []; v.register_hook(got.append); writing()(v); b.sum().backward()", "x.grad.tolist(), got", ([5, 5, 1, 1], [])),
    ("x = numbers(6); b = x.clone(); v = b[:4]; writing()(v[:2]); (v.sum() + b.sum()).backward()", "x.grad.tolist()", [10, 10, 2, 2, 1, 1]),
    (BASE + "writing()(v); writing()(v); b.sum().backward()", "x.grad.tolist(), b.tolist()", ([25, 25, 1, 1], [4, 8, 3, 4])),
    (BASE + "z = writing(lambda xs: (xs[0],))(v); b.sum().backward()", "x.grad.tolist(), type(z)", ([5, 5, 1, 1], tuple)),
    ("x = numbers(4); y = numbers(4); b = x.clone(); z = writing()(b, y); z.sum().backward()", "x.grad.tolist(), b is z", ([5] * 4, True)),
    ("x = numbers(4); b = x.clone(); b.retain_grad(); writing()(b).sum().backward()", "x.grad.sum(), b.grad.sum()", (20, 4)),
    (BASE + "v = v.detach(); z = writing()(v)", "z is v, z.requires_grad, b.tolist()", (True, False, [2, 4, 3, 4])),
    ("b = numbers(4).clone(); z = writing(mark=not_differentiable)(b)", "z is b, z.requires_grad", (False, False)),
    (BASE + "z = writing(mark=not_differentiable)(v)", "z.requires_grad", False),
    (BASE + "torch.set_grad_enabled(False); z = writing()(v); torch.set_grad_enabled(True); b.sum().backward()", "x.grad.sum()", 4),
    ("writing()(numbers(4)[:2])", "", VIEW_OF_A_LEAF),
    ("writing()(numbers(4))", "", LEAF),
    ("b = numbers(4).clone(); torch.set_grad_enabled(False); v = b[:2]; torch.set_grad_enabled(True); writing()(v)", "", LEAF),
    (BASE + "writing()(b.unbind()[0])", "", OF_SEVERAL_VIEWS),
    (BASE + "writing(lambda xs: (xs[0], xs[0] * 2))(v)", "", SEVERAL),
    (BASE + "writing(lambda xs: (xs[0], None))(v)", "", SEVERAL),
    (BASE + "writing(lambda xs: xs[0] * 2)(b)", "", NOT_RETURNED),
    (BASE + "writing(lambda xs: xs[0].view(2, 2))(b)", "", NOT_RETURNED),
    (BASE + "writing(mark=fresh)(b)", "", NOT_RETURNED),
    ("torch.set_grad_enabled(False); writing(lambda xs: xs[0] * 2)(numbers(2))", "", NOT_RETURNED),
    (BASE + "c = b * b; writing()(v); c.sum().backward()", "", "output 0 of torch::autograd::CopySlices, is at version 2; expected"),
]  # fmt: skip


@pytest.mark.parametrize(("program", "told", "expected"), ROWS, ids=[f"{i}" for i in range(len(ROWS))])
def test_what_a_function_writes_is_part_of_the_history(program, told, expected):
    scope = dict(globals())
    try:
        if told:
            exec(program, scope)
            assert eval(told, scope) == expected
        else:
            with pytest.raises(RuntimeError) as caught:
                exec(program, scope)
            assert expected in str(caught.value)
    finally:
        torch.set_grad_enabled(True)


def test_what_is_no_input_need_not_be_marked():
    class Cloned(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, shape):
            y = x.clone() if shape is None else x.clone().view(shape)
            ctx.mark_dirty(y)
            return y

        @staticmethod
        def backward(ctx, grad):
            return grad, None

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Cloned.apply(numbers(2) + 1, None)
    assert "ctx.mark_dirty() received a tensor that was not an input." in str(caught[0].message)
    with pytest.raises(RuntimeError, match=r"ctx.mark_dirty\(\) received a tensor that was not an input."):
        Cloned.apply(numbers(2) + 1, (2,))
