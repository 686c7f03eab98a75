"""Hooks on tensors, on nodes, after accumulation and on saved tensors; and gradients kept on results."""

import gc
import weakref
from typing import Any

import pytest

import torchlike as torch


def leaf(*values) -> Any:
    return torch.tensor(values, requires_grad=True)


# ---- on tensors


def test_a_hook_sees_the_gradient_and_may_replace_it():
    w, seen = leaf(1.0, 2.0), []
    middle = w * 3
    middle.register_hook(lambda g: seen.append(g.tolist()))
    handle = w.register_hook(lambda g: g * 2)
    middle.sum().backward()
    assert seen == [[1.0, 1.0]]
    assert w.grad.tolist() == [6.0, 6.0]
    handle.remove()
    handle.remove()
    w.grad = None
    (w * 3).sum().backward()
    assert w.grad.tolist() == [3.0, 3.0]  # pyright: ignore[reportAttributeAccessIssue]


def test_hooks_run_in_the_order_they_came():
    w = leaf(1.0)
    w.register_hook(lambda g: g + 1)
    w.register_hook(lambda g: g * 10)
    w.sum().backward()
    assert w.grad.item() == 20.0


def test_a_handle_as_a_block():
    w = leaf(1.0)
    with w.register_hook(lambda g: g * 5):
        w.sum().backward()
    w.sum().backward()
    assert w.grad.item() == 6.0


def test_a_leafs_hook_sees_the_sum_and_runs_once():
    w, seen = leaf(1.0), []
    w.register_hook(lambda g: seen.append(g.item()))
    (w * 2 + w * 3).sum().backward()
    assert seen == [5.0]


def test_a_hook_of_a_result_replaces_what_goes_on():
    w = leaf(1.0, 2.0)
    middle = w * 3
    middle.register_hook(lambda g: torch.zeros_like(g))
    (middle * 2 + w).sum().backward()
    assert w.grad.tolist() == [1.0, 1.0]


def test_hooks_serve_grad_too():
    w = leaf(1.0)
    w.register_hook(lambda g: g * 7)
    assert torch.autograd.grad(w.sum(), w)[0].item() == 7.0


def test_what_a_hook_must_not_return():
    w = leaf(1.0, 2.0)
    with w.register_hook(lambda g: 5), pytest.raises(TypeError, match="^expected Variable, but hook returned 'int'$"):
        w.sum().backward()
    with (
        w.register_hook(lambda g: g[0]),
        pytest.raises(RuntimeError, match="^hook '<lambda>' has changed the size of value$"),
    ):
        w.sum().backward()
    assert w.grad is None


def test_an_error_in_a_hook_comes_out_and_the_engine_goes_on():
    w = leaf(1.0)

    def broken(grad):
        raise KeyError("mine")

    with w.register_hook(broken), pytest.raises(KeyError, match="mine"):
        (w * 2).sum().backward()
    assert torch.is_grad_enabled()
    (w * 2).sum().backward()
    assert w.grad.item() == 2.0


def test_hooks_run_without_recording_unless_the_graph_is_wanted():
    w, modes = leaf(2.0), []
    w.register_hook(lambda g: modes.append((torch.is_grad_enabled(), g.requires_grad)))
    (w**2).sum().backward()
    torch.autograd.grad((w**2).sum(), w, create_graph=True)
    assert modes == [(False, False), (True, True)]


def test_a_hook_that_reads_values():
    """A hook may read values in the middle of the backward pass, in order to clip by value or to log norms."""
    w, norms = leaf(3.0, 4.0), []
    w.register_hook(lambda g: norms.append(round(g.norm().item(), 4)))
    for _ in range(3):
        (w * w).sum().backward()
    assert norms == [10.0] * 3
    assert w.grad.tolist() == [18.0, 24.0]


# ---- kept gradients


def test_retain_grad():
    w = leaf(1.0)
    middle = w * 2
    middle.retain_grad()
    assert middle.retains_grad
    middle.retain_grad()
    (middle * 5).sum().backward(retain_graph=True)
    assert middle.grad.item() == 5.0
    assert not w.retains_grad
    w.retain_grad()  # has no effect on a leaf
    assert not w.retains_grad


def test_retained_gradients_see_what_hooks_made():
    w = leaf(1.0)
    middle = w * 2
    middle.retain_grad()
    middle.register_hook(lambda g: g * 100)
    (middle * 5).sum().backward()
    assert (middle.grad.item(), w.grad.item()) == (500.0, 1000.0)


def test_retain_grad_follows_an_in_place_write():
    w = leaf(1.0)
    middle = w * 2
    middle.retain_grad()
    middle.mul_(3)
    (middle * 5).sum().backward()
    assert (middle.grad.item(), w.grad.item()) == (5.0, 30.0)


def run_with_hook(write, use, hook="see"):
    """Returns the gradients that a view's hook received, and those of the leaf and of the view after a write to it or its base."""
    w, seen = leaf(1.0, 2.0, 3.0, 4.0), []
    b = w * 2
    v = b[1:3]
    v.register_hook({"see": lambda g: seen.append(g.tolist()), "scale": lambda g: g * 100}[hook])
    v.retain_grad()
    before = v.sum()
    write(w, b, v)
    use(b, v, before).backward()
    return seen, w.grad.tolist(), v.grad if v.grad is None else v.grad.tolist()


WRITES = {
    "base": lambda w, b, v: b.mul_(3),
    "view": lambda w, b, v: v.mul_(3),
    "other view": lambda w, b, v: b[2:].mul_(3),
    "zeros": lambda w, b, v: v.zero_(),
}


# What PyTorch gives.
@pytest.mark.parametrize(
    ("write", "after", "before", "hook", "expected"),
    [
        ("base", 1, 0, "see", ([[0.0, 0.0]], [6.0, 48.0, 48.0, 6.0], [7.0, 7.0])),
        ("base", 0, 1, "see", ([[1.0, 1.0]], [6.0, 8.0, 8.0, 6.0], [0.0, 0.0])),
        ("base", 1, 1, "see", ([[1.0, 1.0]], [6.0, 50.0, 50.0, 6.0], [7.0, 7.0])),
        ("base", 0, 0, "see", ([[0.0, 0.0]], [6.0, 6.0, 6.0, 6.0], [0.0, 0.0])),
        ("base", 1, 1, "scale", ([], [6.0, 248.0, 248.0, 6.0], [7.0, 7.0])),
        ("view", 1, 0, "see", ([[0.0, 0.0]], [2.0, 48.0, 48.0, 2.0], [7.0, 7.0])),
        ("view", 0, 1, "see", ([[1.0, 1.0]], [2.0, 8.0, 8.0, 2.0], [0.0, 0.0])),
        ("view", 1, 1, "see", ([[1.0, 1.0]], [2.0, 50.0, 50.0, 2.0], [7.0, 7.0])),
        ("view", 0, 0, "see", ([[0.0, 0.0]], [2.0, 6.0, 6.0, 2.0], [0.0, 0.0])),
        ("view", 1, 1, "scale", ([], [2.0, 248.0, 248.0, 2.0], [7.0, 7.0])),
        ("other view", 1, 0, "see", ([[0.0, 0.0]], [2.0, 16.0, 48.0, 6.0], [7.0, 7.0])),
        ("other view", 0, 1, "see", ([[1.0, 1.0]], [2.0, 4.0, 8.0, 6.0], [0.0, 0.0])),
        ("other view", 1, 1, "see", ([[1.0, 1.0]], [2.0, 18.0, 50.0, 6.0], [7.0, 7.0])),
        ("other view", 0, 0, "see", ([[0.0, 0.0]], [2.0, 2.0, 6.0, 6.0], [0.0, 0.0])),
        ("other view", 1, 1, "scale", ([], [2.0, 216.0, 248.0, 6.0], [7.0, 7.0])),
        ("zeros", 1, 0, "see", ([[0.0, 0.0]], [2.0, 0.0, 0.0, 2.0], [7.0, 7.0])),
        ("zeros", 0, 1, "see", ([[1.0, 1.0]], [2.0, 2.0, 2.0, 2.0], [0.0, 0.0])),
        ("zeros", 1, 1, "see", ([[1.0, 1.0]], [2.0, 2.0, 2.0, 2.0], [7.0, 7.0])),
        ("zeros", 0, 0, "see", ([[0.0, 0.0]], [2.0, 0.0, 0.0, 2.0], [0.0, 0.0])),
        ("zeros", 1, 1, "scale", ([], [2.0, 200.0, 200.0, 2.0], [7.0, 7.0])),
    ],
)  # fmt: skip
def test_a_hook_of_a_view_stays_with_what_was_before_a_write_and_the_gradient_kept_is_of_what_is_after(
    write, after, before, hook, expected
):
    """The hook belongs to the node that the view had before the write; ``retain_grad`` follows the tensor."""

    def use(b, v, first):
        return b.sum() + (v * 7).sum() * after + first * before

    seen, of_leaf, kept = run_with_hook(WRITES[write], use, hook)
    assert (seen, of_leaf, kept) == expected


def test_a_write_that_is_not_recorded_takes_the_hooks_of_a_view_too():
    w, seen = leaf(1.0, 2.0, 3.0), []
    v = w[1:]
    v.register_hook(lambda g: seen.append(g.tolist()))
    v.retain_grad()
    w.data.mul_(2)  # autograd does not notice this write
    v.sum().backward()
    assert (seen, v.grad.tolist()) == ([[1.0, 1.0]], [1.0, 1.0])
    with torch.no_grad():
        w.mul_(2)
    (v * 3).sum().backward()
    assert (seen, v.grad.tolist()) == ([[1.0, 1.0]], [4.0, 4.0])
    assert w.grad.tolist() == [0.0, 4.0, 4.0]


def test_hooks_of_the_views_node_do_not_run_for_a_write_through_the_view():
    w, seen = leaf(1.0, 2.0, 3.0), []
    b = w * 2
    v = b[1:]
    v.grad_fn.register_hook(lambda *grads: seen.append(grads))
    v.grad_fn.register_prehook(lambda *grads: seen.append(grads))
    v.mul_(3)
    v.sum().backward()
    assert (seen, w.grad.tolist()) == ([], [0.0, 6.0, 6.0])


def test_grad_fills_retained_ones_on_its_way():
    w = leaf(1.0)
    middle, aside = w * 2, w * 3
    middle.retain_grad()
    aside.retain_grad()
    torch.autograd.grad((middle * 5).sum(), w)
    assert (middle.grad.item(), aside.grad, w.grad) == (5.0, None, None)


# ---- after accumulation


def test_a_hook_after_accumulation_can_step_and_clear():
    w, seen = leaf(1.0, 2.0), []

    def step(parameter):
        assert parameter is w
        seen.append(parameter.grad.tolist())
        with torch.no_grad():
            parameter -= 0.5 * parameter.grad
        parameter.grad = None

    handle = w.register_post_accumulate_grad_hook(step)
    (w * 2).sum().backward()
    (w * 2).sum().backward()
    assert (seen, w.tolist(), w.grad) == ([[2.0, 2.0], [2.0, 2.0]], [-1.0, 0.0], None)
    handle.remove()
    (w * 2).sum().backward()
    assert len(seen) == 2


# ---- on nodes


def test_hooks_of_a_node():
    w, calls = leaf(2.0), []
    y = w * w
    before = y.grad_fn.register_prehook(lambda outs: calls.append(("before", [g.item() for g in outs])))
    after = y.grad_fn.register_hook(
        lambda ins, outs: calls.append(("after", [g.item() for g in ins if g is not None], [g.item() for g in outs]))
    )
    (y * 3).sum().backward(retain_graph=True)
    assert calls[0] == ("before", [3.0])
    assert calls[1][0] == "after"
    assert sum(calls[1][1]) == 12.0
    before.remove()
    after.remove()
    y.sum().backward()
    assert len(calls) == 2


def test_hooks_of_a_node_may_replace():
    w = leaf(2.0)
    y = w.exp()
    y.grad_fn.register_prehook(lambda outs: (outs[0] * 0 + 1,))
    y.grad_fn.register_hook(lambda ins, outs: (ins[0] * 0 + 42,))
    (y * 3).sum().backward()
    assert w.grad.item() == 42.0


def test_the_accumulator_of_a_leaf_is_a_node_with_hooks():
    w, seen = leaf(2.0), []
    (accumulator, _), *_ = (w * 2).grad_fn.next_functions
    accumulator.register_prehook(lambda outs: (outs[0] * 10,))
    accumulator.register_hook(lambda ins, outs: seen.append((ins, outs[0].item(), w.grad.item())))
    (w * 3).sum().backward()
    assert seen == [((), 30.0, 30.0)]
    assert torch.autograd.grad((w * 3).sum(), w)[0].item() == 3.0
    assert len(seen) == 1


def test_backward_into_chosen_inputs_runs_their_hooks():
    w, v, seen = leaf(2.0), leaf(3.0), []
    for name, tensor in (("w", w), ("v", v)):
        tensor.register_post_accumulate_grad_hook(lambda t, name=name: seen.append(name))
    middle = w * v
    (middle * 5).sum().backward(inputs=[w, middle])
    assert (seen, w.grad.item(), middle.grad.item(), v.grad) == (["w"], 15.0, 5.0, None)
    assert middle.retains_grad


# ---- on saved tensors


def test_saved_tensors_go_through_the_hooks():
    w, packed = leaf(1.0, 2.0), []

    def pack(tensor):
        packed.append(tensor.tolist())
        return tensor.tolist()

    with torch.autograd.graph.saved_tensors_hooks(pack, torch.tensor):
        y = (w * w).sum()
    assert packed == [[1.0, 2.0], [1.0, 2.0]]
    (w * w).sum()
    assert len(packed) == 2
    y.backward()
    assert w.grad.tolist() == [2.0, 4.0]


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (lambda x, w, b: x[:1] * w, [(2, 4), (1, 4)]),
        (lambda x, w, b: torch.lerp(x[:1], w, w[:, :1]), [(2, 4), (1, 4), (2, 1)]),
        (lambda x, w, b: torch.addcmul(w, x[:1], w[:, :1]), [(1, 4), (2, 1)]),
        (lambda x, w, b: torch.mm(x, w.T), [(4, 2), (6, 4)]),
        (lambda x, w, b: torch.addmm(b, x, w.T), [(6, 4), (4, 2)]),
        (lambda x, w, b: x[None] @ w.T[None], [(1, 4, 2), (1, 6, 4)]),
    ],
)
def test_tensors_are_saved_in_the_order_of_pytorch(function, shapes):
    x, w, b = (torch.ones(shape, requires_grad=True) for shape in ((6, 4), (2, 4), (2,)))
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(tuple(t.shape)) or t, lambda t: t):
        function(x, w, b)
    assert packed == shapes


def test_a_linear_layer_saves_the_weight_first_where_it_has_no_bias():
    # As the product x @ w.T in PyTorch; with a bias it is another function.
    x, w, b = (torch.ones(shape, requires_grad=True) for shape in ((6, 4), (2, 4), (2,)))
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t.numel()) or t, lambda t: t):
        torch.nn.functional.linear(x, w)
        torch.nn.functional.linear(x, w, b)
    assert packed == [8, 24, 24, 8]


def test_numbers_that_change_are_saved_beside_tensors():
    # After the first rounds such a number is an input of the program.
    w = leaf(1.0, 2.0)
    for factor in (1.5, 2.5, 3.5, 4.5, 5.5):
        (grad,) = torch.autograd.grad(((w * factor) * w).sum(), w)
        assert grad.tolist() == [2 * factor, 4 * factor]


def test_unpacking_decides_what_backward_reads():
    w = leaf(1.0, 2.0)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t * 10):
        y = (w * w).sum()
    y.backward()
    assert w.grad.tolist() == [20.0, 40.0]


def test_the_innermost_hooks_count():
    w, calls = leaf(1.0), []
    hooks = torch.autograd.graph.saved_tensors_hooks
    with (
        hooks(lambda t: calls.append("outer") or t, lambda t: t),
        hooks(lambda t: calls.append("inner") or t, lambda t: t),
    ):
        w.exp()
    assert calls == ["inner"]


def test_hooks_of_saved_tensors_see_functions_too():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    w = leaf(3.0)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.item(), lambda n: torch.tensor([n * 2])):
        y = Square.apply(w)
    y.sum().backward()
    assert w.grad.item() == 12.0


# ---- memory


def test_hooks_go_with_their_tensor():
    w = leaf(1.0)

    class Big:
        pass

    big = Big()
    watch = weakref.ref(big)
    w.register_hook(lambda g, big=big: None)
    del big, w
    gc.collect()
    assert watch() is None


# ---- results that hooks must not return


@pytest.mark.parametrize(
    ("returned", "kind", "words"),
    [
        (torch.ones(2), RuntimeError, "Tensor post accumulate grad hooks should return None."),
        (1, TypeError, "expected Variable, but hook returned 'int'"),
        ((None,), TypeError, "expected Variable, but hook returned 'tuple'"),
        (torch.ones(3), RuntimeError, "hook '<lambda>' has changed the size of value"),
        (torch.ones(2).double(), RuntimeError,
         "hook '<lambda>' has changed the type of value (was torch.FloatTensor got torch.DoubleTensor)"),
    ],
)  # fmt: skip
def test_a_hook_after_accumulation_returns_nothing(returned, kind, words):
    w = leaf(1.0, 2.0)
    w.register_post_accumulate_grad_hook(lambda t: returned)
    with pytest.raises(kind) as caught:
        w.sum().backward()
    assert str(caught.value) == words
    assert w.grad.tolist() == [1.0, 1.0]  # the gradient was accumulated before the hook ran


def test_a_hook_after_accumulation_may_return_the_leaf_itself():
    w = leaf(1.0)
    w.register_post_accumulate_grad_hook(lambda t: t)
    (w * 2).backward()
    assert w.grad.tolist() == [2.0]


def test_the_next_hook_after_accumulation_sees_what_was_returned_before_the_error_comes():
    w, seen = leaf(1.0, 2.0), []
    w.register_post_accumulate_grad_hook(lambda t: torch.zeros(2))
    w.register_post_accumulate_grad_hook(lambda t: seen.append(t.tolist()))
    with pytest.raises(RuntimeError, match="Tensor post accumulate grad hooks should return None."):
        w.sum().backward()
    assert seen == [[0.0, 0.0]]


def count(got, expected):
    return (
        RuntimeError,
        f"hook '<lambda>' has returned an incorrect number of values (got {got}, but expected {expected})",
    )


@pytest.mark.parametrize(
    ("which", "returned", "error"),
    [
        ("before", torch.ones(2), (TypeError, "expected tuple, but hook returned 'Tensor'")),
        ("before", [None], (TypeError, "expected tuple, but hook returned 'list'")),
        ("before", (), count(0, 1)),
        ("before", (1,), (TypeError, "expected Variable, but hook returned 'int'")),
        ("before", (torch.ones(3),), (RuntimeError, "hook '<lambda>' has changed the size of value")),
        ("after", False, (TypeError, "expected tuple, but hook returned 'bool'")),
        ("after", (torch.ones(2),), count(1, 2)),
        (
            "after",
            (torch.ones(2), torch.ones(2)),
            (RuntimeError, "can't replace a None gradient with a non-None value"),
        ),
        ("at the leaf", (None,), count(1, 0)),
    ],
)
def test_what_a_hook_of_a_node_must_not_return(which, returned, error):
    w = leaf(1.0, 2.0)
    y = w * 2
    if which == "before":
        y.grad_fn.register_prehook(lambda arrived: returned)
    elif which == "after":
        y.grad_fn.register_hook(lambda made, arrived: returned)
    else:
        y.grad_fn.next_functions[0][0].register_hook(lambda made, arrived: returned)
    with pytest.raises(error[0]) as caught:
        y.sum().backward()
    assert str(caught.value) == error[1]


def test_a_hook_of_a_node_may_take_gradients_away():
    for where in ("before", "after", "before the leaf"):
        w = leaf(1.0, 2.0)
        y = w * 2
        if where == "before":
            y.grad_fn.register_prehook(lambda arrived: (None,))
        elif where == "after":
            y.grad_fn.register_hook(lambda made, arrived: (None, None))
        else:
            y.grad_fn.next_functions[0][0].register_prehook(lambda arrived: (None,))
        y.sum().backward()
        assert w.grad is None


def test_a_hook_without_a_name_and_one_that_changes_the_dtype():
    class Hook:
        def __call__(self, gradient):
            return torch.ones(7)

    w = leaf(1.0, 2.0)
    with w.register_hook(Hook()), pytest.raises(RuntimeError, match="^hook '<unknown>' has changed the size of value$"):
        w.sum().backward()
    words = r"^hook '<lambda>' has changed the type of value \(was torch.FloatTensor got torch.LongTensor\)$"
    with w.register_hook(lambda g: g.long()), pytest.raises(RuntimeError, match=words):
        w.sum().backward()


def test_a_handle_knows_the_table_of_its_hook():
    layer = torch.nn.Linear(1, 1)
    first, second = (layer.register_forward_hook(lambda *args: None) for _ in range(2))
    assert set(first.hooks_dict_ref()) == {first.id, second.id}
    first.remove()
    assert set(second.hooks_dict_ref()) == {second.id} and first.hooks_dict_ref() is second.hooks_dict_ref()
    assert len(torch.ones(1, requires_grad=True).register_hook(lambda g: g).hooks_dict_ref()) == 1
