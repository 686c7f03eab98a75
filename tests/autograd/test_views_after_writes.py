"""The history of views after a write to their memory, recorded or not. The expected values are PyTorch's."""

import pytest

import torchlike as torch


def part_of_a_part(b):
    v = b[1:]
    return v, v[0]


def part_of_a_flat_view(b):
    v = b.view(-1)
    return v, v[1:5:2]


def longer_than_a_turned_view(b):
    v = b.t()
    return v, v.unsqueeze(0)


def strided_view_of_a_part(b):
    v = b[1:]
    return v, v.as_strided((2,), (1,), 4)


CHAINS = [part_of_a_part, part_of_a_flat_view, longer_than_a_turned_view, strided_view_of_a_part]


def matrix(leaf):
    x = torch.arange(1.0, 10.0).reshape(3, 3).clone().requires_grad_()
    return x, x if leaf else x * 1


def gradients(root, *tensors):
    """The sum of each gradient, or None if the root does not depend on the tensor."""
    found = torch.autograd.grad(root, tensors, allow_unused=True, retain_graph=True)
    return [None if g is None else g.sum().item() for g in found]


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize(("leaf", "recorded"), [(True, False), (False, False), (False, True)])
def test_after_a_write_a_view_depends_on_its_base_alone(chain, place, leaf, recorded):
    """It does not depend on the view that it was made from, even if the write itself is not recorded."""
    x, b = matrix(leaf)
    v, w = chain(b)
    before = w.sum()
    assert w.grad_fn.next_functions[0][0] is v.grad_fn
    assert gradients(before, v) == [w.numel()]
    with torch.set_grad_enabled(recorded):
        (b, v, w)[place].mul_(2)
    assert [view.grad_fn.name() for view in (v, w)] == ["AsStridedBackward0"] * 2
    assert [view._base is b for view in (v, w)] == [True, True]
    n = w.numel()
    expected = [7 * n, 3 * n] if recorded else [4 * n, 4 * n]
    assert gradients((w * 3).sum() + before, x, b, v, w) == [*expected, None, 3 * n]
    ((w * 3).sum() + before).backward()
    assert x.grad.sum().item() == expected[0]


@pytest.mark.parametrize("chain", CHAINS)
def test_writes_to_data_leave_a_view_its_node(chain):
    x, b = matrix(True)
    v, w = chain(b)
    x.data.mul_(2)
    assert gradients(w.sum(), v, x) == [w.numel(), w.numel()]


def test_a_view_of_what_wants_gradients_later_gets_a_history_by_a_write_before():
    b = torch.ones(3)
    v = b[1:]
    b.mul_(2)
    assert (v.tolist(), v.requires_grad) == ([2.0, 2.0], False)
    b.requires_grad_()
    assert v.grad_fn.name() == "AsStridedBackward0"
    (v * 3).sum().backward()
    assert b.grad.tolist() == [0.0, 3.0, 3.0]


def test_a_view_keeps_a_node_where_its_base_wants_no_gradients():
    """The base is a leaf and a view: after a write the view's node leads to the base, so no gradient flows."""
    b = torch.ones(3, 2)
    v = b[1:].requires_grad_()
    w = v[0]
    w.sum().backward()
    assert v.grad.tolist() == [[1.0, 1.0], [0.0, 0.0]]
    with torch.no_grad():
        v.mul_(2)
    assert w.grad_fn.name() == "AsStridedBackward0"
    w.sum().backward()
    assert (b.grad, v.grad.tolist()) == (None, [[1.0, 1.0], [0.0, 0.0]])


@pytest.mark.parametrize("wanted", [True, False])
def test_a_view_with_a_history_is_refused_as_a_view_of_a_leaf(wanted):
    """It is refused whether or not the leaf still requires gradients."""
    b = torch.ones(3, requires_grad=True)
    v = b[1:]
    b.requires_grad_(wanted)
    with pytest.raises(
        RuntimeError, match=r"^a view of a leaf Variable that requires grad is being used in an in-place"
    ):
        v.mul_(2)
    v = torch.ones(3)[1:].requires_grad_()
    with pytest.raises(
        RuntimeError, match=r"^a view of a leaf Variable that requires grad is being used in an in-place"
    ):
        v.mul_(2)


def test_what_is_detached_from_one_of_several_views_is_an_ordinary_tensor():
    x = torch.tensor(2.0, requires_grad=True)
    for detached in (torch.ones(2, 3).chunk(2)[0].data, torch.ones(2, 3).chunk(2)[0].detach()):
        detached[0].copy_(x.expand(3))
        detached.sum().backward()
    assert x.grad.item() == 6.0


def test_a_strided_view_depends_on_the_view_that_it_was_made_from():
    x, b = matrix(False)
    v = b[1:]
    w = v.as_strided((2,), (2,), 4)
    assert gradients((w * 3).sum(), x, b, v, w) == [6.0, 6.0, 6.0, 6.0]
    part = b.chunk(3)[0]
    with torch.no_grad():
        b.mul_(2)
    with pytest.raises(RuntimeError, match="^Output 0 of Split is a view and its base or another view of its base"):
        part.as_strided((2,), (1,))


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, g):
        return g * 2


@pytest.mark.parametrize(
    ("take", "write", "name"),
    [
        (lambda b: b[0], lambda b, v: b.mul_(2), "AsStrided"),
        (lambda b: b[0], lambda b, v: v.mul_(2), "AsStrided"),
        (lambda b: b[0][:1], lambda b, v: torch.no_grad()(v.zero_)(), "AsStrided"),
        (lambda b: b, lambda b, v: b.mul_(2), "Mul"),
        (lambda b: b, lambda b, v: b[0].mul_(2), "torch::autograd::CopySlices"),
        (lambda b: b, lambda b, v: b.fill_(2), "Fill2"),
        (lambda b: b, lambda b, v: b.fill_(torch.tensor(2.0)), "Fill3"),
        (lambda b: b, lambda b, v: b.pow_(b.detach().clone()), "Pow1"),
        (lambda b: b, lambda b, v: b.copy_(b * 2), "torch::autograd::CopyBackwards"),
        (lambda b: b, lambda b, v: Double.apply(b), "Double"),
    ],
)
def test_the_error_for_a_saved_tensor_names_what_made_its_contents(take, write, name):
    _, b = matrix(False)
    v = take(b)
    out = (v**2).sum()
    write(b, v)
    with pytest.raises(
        RuntimeError, match=rf", which is output 0 of {name}, is at version \d; expected version 0 instead"
    ):
        out.backward()


@pytest.mark.parametrize("write", [lambda e: e.fill_(5), lambda e: e.zero_(), lambda e: e[0].fill_(5)])
@pytest.mark.parametrize("tracked", [False, True])
def test_one_number_may_be_written_to_a_place_several_times(write, tracked):
    b = torch.ones(3, requires_grad=tracked) * 2
    e = b.expand(2, 3)
    write(e)
    assert b.tolist() == [e[0, 0].item()] * 3
    with pytest.raises(
        RuntimeError, match="^unsupported operation: more than one element of the written-to tensor refers"
    ):
        e.fill_(torch.tensor(5.0))


def written_base(use=None):
    """A view that was made before its base got a history, and used in this way since."""
    base, p = torch.zeros(3, 4), torch.ones(3, 4, requires_grad=True)
    view = base[1:]
    base[:].add_(p)
    if use is not None:
        use(view, p)
    return base, view, p


def read_without_gradients(view, p):
    with torch.no_grad():
        view.sum().item()


UNUSED = {
    "not used": None,
    "flag": lambda v, p: v.requires_grad,
    "compared": lambda v, p: v > 0,
    "read": read_without_gradients,
}
USED = {
    "node": lambda v, p: v.grad_fn,
    "leaf": lambda v, p: v.is_leaf,
    "operation": lambda v, p: v + 1,
    "operation of another": lambda v, p: p[1:] * v,
    "view": lambda v, p: v[0],
}


@pytest.mark.parametrize("use", UNUSED.values(), ids=UNUSED)
@pytest.mark.parametrize("write", [lambda v, p: v.mul_(2), lambda v, p: v.zero_(), lambda v, p: v.mul_(p[1:])])
def test_a_view_that_was_not_used_since_its_base_got_a_history_counts_as_a_leaf(use, write):
    base, view, p = written_base(use)
    for _ in range(2):  # the error itself is no use
        with pytest.raises(
            RuntimeError, match=r"^a leaf Variable that requires grad is being used in an in-place operation\.$"
        ):
            write(view, p)
    assert base.sum().item() == 12


@pytest.mark.parametrize("use", USED.values(), ids=USED)
def test_a_view_that_was_used_since_then_can_be_written_to(use):
    base, view, p = written_base(use)
    view.mul_(3)
    view.mul_(2)  # it has got a node by the first write
    base.sum().backward()
    assert p.grad.tolist() == [[1.0] * 4, [6.0] * 4, [6.0] * 4]


def test_a_view_that_was_made_with_a_history_or_written_to_itself_can_be_written_to():
    base, p = torch.zeros(3, 4), torch.ones(3, 4, requires_grad=True)
    first = base[:]
    for _ in range(3):
        first.add_(p)
    second = base[1:]
    base.mul_(2)
    second.mul_(5)
    base.sum().backward()
    assert p.grad.tolist() == [[6.0] * 4, [30.0] * 4, [30.0] * 4]
