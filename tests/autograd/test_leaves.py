"""A leaf gets its gradient as soon as it is complete, before any other node runs, and in the order of PyTorch's queue."""

from typing import Any

import pytest

import torchlike as torch


def leaf(value=2.0) -> Any:
    return torch.tensor(value, requires_grad=True)


class Raises(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, *grads):
        raise ValueError("no derivative")


class Nothing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, *grads):
        return None


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, *grads):
        return grads[0]


def named(log, **tensors):
    """Registers hooks that append the name of the tensor and its gradient."""
    for name, tensor in tensors.items():
        tensor.register_hook(lambda g, name=name: log.append((name, None if g is None else g.item())))


def grads(*tensors):
    return [None if t.grad is None else round(t.grad.item(), 4) for t in tensors]


# ---- the order


def test_a_leaf_is_next_once_its_gradient_is_complete():
    x, w, log = leaf(), leaf(3.0), []
    a = x * 2
    b = w * 2
    c = a * 3
    named(log, x=x, w=w, a=a, b=b, c=c)
    (c + b).backward()
    assert log == [("c", 1.0), ("b", 1.0), ("w", 2.0), ("a", 3.0), ("x", 6.0)]


def test_a_leaf_waits_for_all_its_readers():
    x, w, log = leaf(), leaf(3.0), []
    a = x * w
    b = x * 2
    named(log, x=x, w=w, a=a, b=b)
    (a + b + w).backward()
    assert log == [("b", 1.0), ("a", 1.0), ("x", 5.0), ("w", 3.0)]


def test_hooks_see_the_gradients_of_leaves_that_came_before():
    x, w, log = leaf(), leaf(3.0), []
    x.register_post_accumulate_grad_hook(lambda p: log.append(("x", *grads(x, w))))
    w.register_post_accumulate_grad_hook(lambda p: log.append(("w", *grads(x, w))))
    ((x * w + w) * x).backward()
    assert log == [("x", 15.0, None), ("w", 15.0, 6.0)]


def test_hooks_of_other_nodes_see_no_incomplete_gradient():
    x, w, log = leaf(), leaf(3.0), []
    a = x * w
    b = a * w
    c = b + x
    for tensor in (a, b, c):
        tensor.register_hook(lambda g: log.append(grads(x, w)))
    (c * c).backward()
    assert log == [[None, None]] * 3
    assert grads(x, w) == [400.0, 480.0]


# The first entry is the number of other nodes that are ready; l is a leaf, o another node. The shape of PyTorch's heap decides.
TIES = {
    (0, "lll"): [0, 1, 2], (0, "llll"): [0, 2, 1, 3], (0, "lllll"): [0, 2, 4, 1, 3], (0, "llolol"): [0, 5, 1, 3],
    (0, "lllllll"): [0, 2, 5, 6, 4, 1, 3], (1, "llll"): [0, 1, 3, 2], (1, "lolol"): [0, 4, 2], (1, "oolloll"): [2, 5, 3, 6],
    (2, "llll"): [0, 3, 1, 2], (2, "olllo"): [1, 3, 2], (3, "lll"): [0, 2, 1], (3, "lllllll"): [0, 2, 3, 5, 1, 6, 4],
    (4, "lllllll"): [0, 1, 2, 6, 3, 5, 4], (5, "oolloll"): [2, 6, 3, 5],
}  # fmt: skip


@pytest.mark.parametrize(("others", "kinds"), TIES)
def test_leaves_that_are_complete_at_once(others, kinds):
    base, log, items = leaf(), [], []
    ready = [base * k for k in range(others)]
    for number, kind in enumerate(kinds):
        item = leaf()
        if kind == "l":
            item.register_hook(lambda g, number=number: log.append(number))
        items.append(item if kind == "l" else item * 2)
    roots = [*ready, torch.stack(items).sum()]
    torch.autograd.backward(roots, [torch.tensor(1.0)] * len(roots))
    assert log == TIES[others, kinds]


def test_leaves_among_the_roots():
    leaves, log = [leaf() for _ in range(5)], []
    named(log, **{str(n): each for n, each in enumerate(leaves)})
    a, b = leaf() * 2, leaf() * 2
    roots = [leaves[0], a, leaves[1], leaves[2], b, leaves[3], leaves[4]]
    torch.autograd.backward(roots, [torch.tensor(1.0)] * 7)
    assert [name for name, _ in log] == ["0", "1", "3", "4", "2"]


def test_a_leaf_that_is_a_root_and_behind_another_one():
    x, log = leaf(), []
    y = x * 2
    named(log, x=x, y=y)
    torch.autograd.backward([x, y, x], [torch.tensor(1.0)] * 3)
    assert log == [("y", 1.0), ("x", 4.0)]


# ---- gradients after a pass that fails


def test_a_function_that_raises_leaves_complete_gradients_only():
    x, w = leaf(), leaf(3.0)
    raising, y = Raises.apply(x), x * w
    with pytest.raises(ValueError, match="no derivative"):
        (y + raising + w * 5).backward()
    assert grads(x, w) == [None, 7.0]


def test_a_gradient_that_is_there_gets_nothing_incomplete():
    x, w = leaf(), leaf(3.0)
    w.grad = torch.tensor(1.0)
    raising, y = Raises.apply(x + w), x * w
    with pytest.raises(ValueError, match="no derivative"):
        (y + raising).backward()
    assert grads(x, w) == [None, 1.0]


def test_a_gradient_that_is_there_is_added_to_before_a_later_node_fails():
    x, w = leaf(), leaf(3.0)
    w.grad = torch.tensor(1.0)
    once = x * x
    once.backward(retain_graph=False)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="a second time"):
            (once + w * 2).backward()
    assert grads(x, w) == [4.0, 5.0]


def test_a_saved_tensor_that_was_written_to():
    x, w = leaf(), leaf(3.0)
    e = x.exp()
    z = e * w * w * w
    with torch.no_grad():
        e.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()
    assert grads(x, w) == [None, None]


def test_a_second_pass():
    x, w = leaf(), leaf(3.0)
    e = x.exp()
    e.backward()
    x.grad = None
    with pytest.raises(RuntimeError, match="a second time"):
        (e * w + x * x).backward()
    assert grads(x, w) == [None, 7.3891]


@pytest.mark.parametrize("how", [{"create_graph": True}, {"inputs": True}, {"retain_graph": True}])
@pytest.mark.filterwarnings("ignore:Using backward")
def test_failing_in_other_kinds_of_pass(how):
    x, w = leaf(), leaf(3.0)
    raising, y = Raises.apply(x), x * w
    with pytest.raises(ValueError, match="no derivative"):
        (y + raising + w * 5).backward(**(how if "inputs" not in how else {"inputs": [x, w]}))
    assert grads(x, w) == [None, 7.0]


def test_a_hook_that_raises():
    x, w = leaf(), leaf(3.0)
    w.register_post_accumulate_grad_hook(lambda p: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        (x * w * x + w * 2 + x).backward()
    assert grads(x, w) == [13.0, 6.0]


def test_what_ran_before_a_leafs_hook_raised_is_freed():
    x = leaf()
    y = x.exp()
    x.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        y.backward()


# ---- no gradient at all


def test_nodes_behind_a_function_that_gives_none():
    x, log = leaf(), []
    y = x * 2
    y.retain_grad()
    named(log, y=y, x=x)
    y.grad_fn.register_prehook(lambda given: log.append(("before", *given)))
    y.grad_fn.register_hook(lambda made, given: log.append(("after", *made, *given)))
    x.register_post_accumulate_grad_hook(lambda p: log.append("accumulated"))
    Nothing.apply(y).backward()
    assert log == [("y", None), ("before", None), ("after", None, None, None), ("x", None), "accumulated"]
    assert grads(x, y) == [None, None]


def test_a_function_behind_one_that_gives_none_gets_zeros():
    x = leaf()
    Nothing.apply(Same.apply(x)).backward()
    assert grads(x) == [0.0]


def test_a_node_that_gets_no_gradient_needs_what_it_has_saved_all_the_same():
    y = leaf().exp()
    first, second = Nothing.apply(y), Nothing.apply(y)
    first.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        second.backward()
    y = leaf().exp()
    y.detach().zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        Nothing.apply(y).backward()


def test_a_node_whose_gradient_a_hook_has_taken_away():
    x, log = leaf(), []
    y = x * 2
    named(log, x=x)
    y.grad_fn.register_prehook(lambda given: (None,))
    (y * 3).backward()
    assert (log, grads(x)) == ([("x", None)], [None])


def test_a_gradient_that_is_not_there_cannot_be_replaced():
    x = leaf()
    x.register_hook(lambda g: torch.tensor(1.0))
    with pytest.raises(RuntimeError, match="can't replace a None gradient with a non-None value"):
        Nothing.apply(x).backward()


def test_hooks_of_an_output_that_was_not_used():
    x, log = torch.tensor([1.0, 2.0], requires_grad=True), []
    a, b = x.unbind()
    named(log, b=b, a=a)
    a.backward()
    assert log == [("b", None), ("a", 1.0)]


def test_a_gradient_moved_between_devices_may_be_none():
    x = leaf()
    Nothing.apply(x.to("cpu", copy=True)).backward()
    assert grads(x) == [None]


# ---- some inputs only


def test_hooks_off_the_way_to_the_inputs_do_not_run():
    x, w, log = leaf(), leaf(), []
    v = w * 2
    v.retain_grad()
    named(log, v=v, w=w)
    y = x * v
    torch.autograd.grad(y, x, retain_graph=True)
    y.backward(inputs=[x])
    assert (log, grads(x, v, w)) == ([], [4.0, None, None])


def test_grad_gives_what_arrived_at_a_node_that_runs():
    x = leaf()
    y = x * 2
    y.register_hook(lambda g: g * 10)
    z = y * 3
    assert [g.item() for g in torch.autograd.grad(z, (x, y), retain_graph=True)] == [60.0, 3.0]
    assert [g.item() for g in torch.autograd.grad(z, (y,))] == [30.0]


def test_backward_to_an_inner_node_runs_it():
    x, log = leaf(), []
    y = x * 2
    y.grad_fn.register_prehook(lambda given: log.append(("before", *[g.item() for g in given])))
    y.grad_fn.register_hook(lambda made, given: log.append(("after", *made)))
    named(log, x=x)
    (y * 3).backward(inputs=[y])
    assert (log, grads(x, y)) == ([("before", 3.0), ("after", None, None)], [None, 3.0])


def test_roots_that_lead_to_no_input():
    x, w, log = leaf(), leaf(), []
    y, z = x * 2, w * 2
    named(log, y=y, z=z)
    torch.autograd.grad(y, w, allow_unused=True, retain_graph=True)
    assert log == [("y", 1.0)]  # a single root is always visited
    torch.autograd.grad((y, z), w, allow_unused=True)
    assert log == [("y", 1.0), ("z", 1.0)]
    Raises.apply(x).backward(inputs=[w])  # but it does not run


def test_a_linear_layers_bias_comes_before_its_weight():
    seen = []
    layer = torch.nn.Linear(2, 2)
    for name, parameter in layer.named_parameters():
        parameter.register_hook(lambda _, name=name: seen.append(name))
    layer(torch.ones(1, 2)).sum().backward()
    x = torch.ones(2, 1, 2, requires_grad=True)
    x.register_hook(lambda _: seen.append("input"))
    layer(x).sum().backward()
    matrix = torch.ones(2, 2, requires_grad=True)
    matrix.register_hook(lambda _: seen.append("input"))
    layer(matrix).sum().backward()
    assert seen == ["bias", "weight", "bias", "weight", "input", "bias", "input", "weight"]
