"""backward and grad: accumulation, kept and freed tensors, higher order, errors, long and wide graphs, threads."""

import gc
import re
import threading
import warnings
import weakref
from typing import Any

import pytest

import torchlike as torch

SECOND_TIME = r"^Trying to backward through the graph a second time \(or directly access saved tensors after they have"


def leaf(*values, **options) -> Any:
    return torch.tensor(values, requires_grad=True, **options)


# ---- accumulation


def test_gradients_add_up_in_the_same_tensor():
    w = leaf(1.0, 2.0)
    (w * 3).sum().backward()
    first = w.grad
    (w * w).sum().backward()
    assert w.grad is first
    assert first.tolist() == [5.0, 7.0]
    assert (first.requires_grad, first._version) == (False, 1)


def test_a_gradient_that_was_replaced_is_added_to():
    w = leaf(1.0, 2.0)
    w.grad = torch.tensor([10.0, 20.0])
    mine = w.grad
    (w * 3).sum().backward()
    assert mine is w.grad
    assert mine.tolist() == [13.0, 23.0]
    w.grad = None
    w.sum().backward()
    assert (w.grad.tolist(), mine.tolist()) == ([1.0, 1.0], [13.0, 23.0])  # pyright: ignore[reportAttributeAccessIssue]
    del w.grad
    assert w.grad is None


def test_with_create_graph_a_new_gradient_is_made():
    w = leaf(2.0)
    with pytest.warns(UserWarning, match=r"^Using backward\(\) with create_graph=True will create a reference cycle"):
        (w**3).sum().backward(create_graph=True)
    first = w.grad
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (w**3).sum().backward(create_graph=True)
    assert w.grad is not first
    assert (first.tolist(), w.grad.tolist()) == ([12.0], [24.0])
    assert w.grad.requires_grad
    w.grad = None  # otherwise the leaf and its gradient keep each other alive


def test_one_leaf_used_many_times():
    w = leaf(3.0)
    (w * w + w * 2 + w.sum()).backward()
    assert w.grad.tolist() == [9.0]


def test_a_gradient_may_be_scaled_where_it_lies():
    w = leaf(1.0, 2.0)
    (w * 2).sum().backward()
    view = w.grad[:1]
    w.grad.mul_(10)
    (w * 2).sum().backward()
    assert (w.grad.tolist(), view.tolist()) == ([22.0, 22.0], [22.0])


def test_gradients_of_broadcast_operands_have_their_shapes():
    column, row, number = torch.ones(3, 1, requires_grad=True), torch.ones(4, requires_grad=True), leaf(2.0)
    (column * row * number).sum().backward()
    assert (column.grad.shape, row.grad.shape, number.grad.shape) == ((3, 1), (4,), (1,))
    assert (column.grad[0, 0].item(), row.grad[0].item(), number.grad.item()) == (8.0, 6.0, 12.0)


@pytest.mark.parametrize(
    "spread", [lambda x, w: x * w, lambda x, w: x * w.expand(100), lambda x, w: (x * w).remainder(7)]
)
def test_gradients_of_broadcast_half_precision_operands_are_summed_in_float32(spread):
    w = leaf(1.0, dtype=torch.bfloat16)
    x = (torch.arange(100) / 7).bfloat16()
    (grad,) = torch.autograd.grad(spread(x, w).sum(), w, create_graph=True)
    assert grad.item() == x.float().sum().bfloat16().item()


def test_only_leaves_get_gradients():
    w = leaf(1.0)
    middle = w * 2
    (middle * 3).sum().backward()
    with pytest.warns(UserWarning, match=r"^The \.grad attribute of a Tensor that is not a leaf"):
        assert middle.grad is None
    assert w.grad.item() == 6.0


# ---- the gradient of the root


def test_backward_of_a_vector_takes_a_weight_for_each_element():
    w = leaf(1.0, 2.0, 3.0)
    (w * w).backward(torch.tensor([1.0, 0.1, 0.01]))
    assert w.grad.tolist() == pytest.approx([2.0, 0.4, 0.06])


def test_the_weights_may_be_of_another_float_dtype_and_of_one_element():
    w = leaf(1.0)
    (w * 2).backward(torch.tensor([3.0]))
    (w * 2).backward()  # a root of one element needs none
    (w * 2).sum().backward(gradient=torch.tensor(1.0))
    assert w.grad.item() == 10.0


def test_several_roots_at_once():
    w = leaf(1.0, 2.0)
    torch.autograd.backward([w.sum(), w * w], [None, torch.ones(2)])
    assert w.grad.tolist() == [3.0, 5.0]
    torch.autograd.backward((w.sum(), w.sum()))
    assert w.grad.tolist() == [5.0, 7.0]


def test_a_leaf_is_a_root_too():
    w = torch.tensor(5.0, requires_grad=True)
    w.backward()
    assert w.grad.item() == 1.0


# ---- freed tensors


def test_a_second_pass_needs_retain_graph():
    w = leaf(2.0)
    y = (w * w).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert w.grad.item() == 8.0
    with pytest.raises(RuntimeError, match=SECOND_TIME):
        y.backward()
    assert w.grad.item() == 8.0


def test_steps_that_save_nothing_can_be_passed_again():
    w = leaf(2.0)
    y = (w + 1).sum()
    y.backward()
    y.backward()
    assert w.grad.item() == 2.0


def test_two_losses_over_one_trunk():
    w = leaf(2.0)
    trunk = w.exp()
    first, second = trunk.sum(), (trunk * 2).sum()
    first.backward(retain_graph=True)
    second.backward()
    assert w.grad.item() == pytest.approx(3 * 2.718281828**2)
    with pytest.raises(RuntimeError, match=SECOND_TIME):
        first.backward()


def test_a_graph_goes_when_its_result_goes():
    w = leaf(2.0)
    y = w * w
    node = weakref.ref(y.grad_fn)
    del y
    gc.collect()
    assert node() is None


# ---- autograd.grad


def test_grad_touches_no_leaf():
    w, v = leaf(2.0), leaf(3.0)
    by_w, by_v = torch.autograd.grad((w * v).sum(), (w, v))
    assert (by_w.item(), by_v.item()) == (3.0, 2.0)
    assert w.grad is None
    assert not by_w.requires_grad
    assert type(torch.autograd.grad((w * v).sum(), w)) is tuple


def test_grad_by_a_result():
    w = leaf(2.0)
    middle = w * w
    (by_middle,) = torch.autograd.grad((middle * 5).sum(), middle)
    assert by_middle.item() == 5.0


def test_grad_of_several_outputs_adds_up():
    w = leaf(2.0)
    (g,) = torch.autograd.grad([w * 3, w * w], w, grad_outputs=[torch.tensor([1.0]), torch.tensor([10.0])])
    assert g.item() == 43.0


def test_unused_inputs():
    w, unused = leaf(2.0), torch.ones(2, 2, requires_grad=True)
    y = (w * w).sum()
    with pytest.raises(RuntimeError) as caught:
        torch.autograd.grad(y, (w, unused), retain_graph=True)
    assert str(caught.value) == (
        "The differentiated Tensor at index 1 appears to not have been used in the graph. Set allow_unused=True if this is the "
        "desired behavior."
    )
    assert torch.autograd.grad(y, (w, unused), retain_graph=True, allow_unused=True)[1] is None
    zeros = torch.autograd.grad(y, (w, unused), materialize_grads=True)[1]
    assert zeros.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_backward_into_chosen_inputs_only():
    w, v = leaf(2.0), leaf(3.0)
    middle = w * v
    torch.autograd.backward((middle * 2).sum(), inputs=[w])
    assert (w.grad.item(), v.grad) == (6.0, None)
    middle = w * v
    (middle * 2).sum().backward(inputs=(v, middle))
    assert (v.grad.item(), middle.grad.item(), w.grad.item()) == (4.0, 2.0, 6.0)


# ---- higher order


def test_derivatives_of_derivatives():
    x = torch.tensor(2.0, requires_grad=True, dtype=torch.float64)
    y, found = x**4, []
    for _ in range(5):
        (y,) = torch.autograd.grad(y, x, create_graph=True, allow_unused=True, materialize_grads=True)
        found.append(y.item())
    assert found == [32.0, 48.0, 48.0, 24.0, 0.0]


def test_a_gradient_penalty():
    w = leaf(3.0)
    (g,) = torch.autograd.grad((w**2).sum(), w, create_graph=True)
    penalty = (g**2).sum()
    assert (g.requires_grad, penalty.item()) == (True, 36.0)
    penalty.backward()
    assert w.grad.item() == 24.0


def test_create_graph_through_many_kinds_of_steps():
    x = torch.tensor([[0.5, -1.0], [2.0, 0.3]], dtype=torch.float64, requires_grad=True)
    y = (torch.tanh(x @ x.T)[0] * x.exp().sum(1)).sum() + x[0, 1] * x.T.reshape(-1)[2]
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(g.sum(), x)
    step = 1e-6

    def slope(at):
        at = at.detach().requires_grad_()
        y = (torch.tanh(at @ at.T)[0] * at.exp().sum(1)).sum() + at[0, 1] * at.T.reshape(-1)[2]
        return torch.autograd.grad(y, at)[0].sum().item()

    for i in range(2):
        for j in range(2):
            shift = torch.zeros(2, 2, dtype=torch.float64)
            shift[i, j] = step
            assert second[i, j].item() == pytest.approx((slope(x + shift) - slope(x - shift)) / (2 * step), rel=1e-5)


def test_create_graph_keeps_the_graph():
    w = leaf(2.0)
    y = (w**3).sum()
    (g,) = torch.autograd.grad(y, w, create_graph=True)
    (again,) = torch.autograd.grad(y, w)
    assert g.item() == again.item() == 12.0


F = torch.nn.functional

# The function of a and b; which of them its gradients are functions of: first that of a, then that of b.
USED_BY_GRADIENTS = {
    "add": (lambda a, b: a + b, "", ""),
    "mul": (lambda a, b: a * b, "b", "a"),
    "div": (lambda a, b: a / b, "b", "ab"),
    "pow": (lambda a, b: a**b, "ab", "ab"),
    "cube times": (lambda a, b: a**3 * b, "ab", "a"),
    "where": (lambda a, b: torch.where(a > 0, a * b, b), "b", "a"),
    "product": (lambda a, b: a @ b.T, "b", "a"),
    "stacked products": (lambda a, b: torch.bmm(a[None], b.T[None]), "b", "a"),
    "einsum": (lambda a, b: torch.einsum("ij,kj->ik", a, b), "b", "a"),
    "linear": (lambda a, b: F.linear(a, b), "b", "a"),
    "convolution": (lambda a, b: F.conv1d(a[None], b[:, :, None]), "b", "a"),
    "layer norm": (lambda a, b: F.layer_norm(a, (3,), b[0]), "ab", "a"),
    "loss": (lambda a, b: F.mse_loss(a, b * 2), "ab", "ab"),
}


@pytest.mark.parametrize(("function", *"ab"), USED_BY_GRADIENTS.values(), ids=USED_BY_GRADIENTS)
def test_a_gradient_is_a_function_of_what_it_is_computed_from_and_of_nothing_else(function, a, b):
    tensors = {name: torch.full((3, 3), 0.5, requires_grad=True) for name in "ab"}

    def used(asked, by):
        gradients = torch.autograd.grad(function(*tensors.values()).sum(), asked, create_graph=True)
        total = (gradients[by] * 1).sum()
        if not total.requires_grad:
            return ""
        found = torch.autograd.grad(total, list(tensors.values()), allow_unused=True)
        return "".join(name for name, gradient in zip(tensors, found, strict=True) if gradient is not None)

    everything = list(tensors.values())
    assert (used(everything[:1], 0), used(everything[1:], 0)) == (a, b)
    assert (used(everything, 0), used(everything, 1)) == (a, b)


def test_what_a_gradient_is_no_function_of_gets_no_gradient():
    a, b = leaf(2.0), leaf(3.0)
    (gradient,) = torch.autograd.grad((a * b).sum(), a, create_graph=True)
    with pytest.raises(RuntimeError, match="^The differentiated Tensor at index 0 appears to not have been used"):
        torch.autograd.grad(gradient.sum(), a, retain_graph=True)
    gradient.sum().backward()
    assert a.grad is None and b.grad.item() == 1.0


# ---- nodes


def test_the_graph_can_be_walked():
    w, c = leaf(2.0), torch.tensor([3.0])
    y = (w * c).sum()
    assert y.grad_fn.name() == "SumBackward0"
    ((times, number),) = y.grad_fn.next_functions
    assert (times.name(), number) == ("MulBackward0", 0)
    (to_leaf, _), nothing = times.next_functions
    assert to_leaf.name() == "torch::autograd::AccumulateGrad"
    assert to_leaf.variable is w
    assert nothing == (None, 0)
    assert y.grad_fn is y.grad_fn
    assert (w.output_nr, w.is_leaf, y.is_leaf) == (0, True, False)


def test_several_outputs_have_numbers():
    w = leaf(3.0, 1.0, 2.0)
    parts = w.unbind()
    assert [p.output_nr for p in parts] == [0, 1, 2]
    assert parts[0].grad_fn is parts[2].grad_fn
    parts[1].backward()
    assert w.grad.tolist() == [0.0, 1.0, 0.0]


# ---- size


def test_a_chain_of_ten_thousand_steps():
    w = leaf(1.0)
    y = w
    for _ in range(10_000):
        y = y + 1
    y.sum().backward()
    assert (y.item(), w.grad.item()) == (10_001.0, 1.0)
    del y  # and the graph is freed without recursion
    gc.collect()


def test_a_result_used_by_many():
    w = leaf(1.0)
    middle = w * 2
    total: Any = sum([middle] * 300)
    total.sum().backward()
    assert w.grad.item() == 600.0


def test_doubling_paths_are_walked_once():
    w = leaf(1.0)
    y = w
    for _ in range(60):  # 2**60 paths
        y = y + y
    y.sum().backward()
    assert w.grad.item() == 2.0**60


# ---- complex


def test_complex_gradients_follow_pytorchs_convention():
    z: Any = torch.tensor([1 + 2j], requires_grad=True)
    (z * z.conj()).real.sum().backward()
    assert z.grad.tolist() == [2 + 4j]
    z.grad = None
    (z * (3 - 1j)).real.sum().backward()
    assert z.grad.tolist() == [3 + 1j]  # pyright: ignore[reportAttributeAccessIssue]


def test_complex_roots_need_a_gradient():
    z = torch.tensor(1 + 2j, requires_grad=True)
    with pytest.raises(
        RuntimeError, match="^grad can be implicitly created only for real scalar outputs but got torch.complex64$"
    ):
        (z * z).backward()


# ---- threads


def test_threads_accumulate_into_one_leaf():
    w = leaf(1.0)
    together = threading.Barrier(4)
    trouble = []

    def work():
        try:
            own = torch.tensor([2.0], requires_grad=True)
            together.wait()
            (own * own).sum().backward()
            assert own.grad.item() == 4.0
        except Exception as error:  # the main thread raises the error
            trouble.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert trouble == []
    y = (w * 3).sum()
    helper = threading.Thread(target=y.backward)
    helper.start()
    helper.join()
    assert w.grad.item() == 3.0


# ---- leaves whose requires_grad is switched off


@pytest.mark.parametrize(
    "build", ["(w * v).sum()", "(w + v).sum()", "((w * v).sum() + w.sum())", "(v * 2 + w).exp().sum()"]
)
def test_a_leaf_switched_off_after_the_forward_gets_no_gradient(build):
    for again in range(3):  # at the third time the pass is replayed
        w, v = leaf(1.0, 1.0), leaf(1.0, 1.0)
        y = eval(build)
        w.requires_grad_(False)
        y.backward()
        assert w.grad is None and not w.requires_grad and v.grad is not None, again


def test_a_leaf_switched_off_and_on_again_gets_its_gradient():
    w = leaf(1.0, 1.0)
    y = (w * 3).sum()
    w.requires_grad_(False)
    assert not (w * 2).requires_grad
    w.requires_grad = True
    y.backward()
    assert w.grad.tolist() == [3.0, 3.0]


def test_a_leaf_switched_off_keeps_the_gradient_it_has():
    w = leaf(1.0, 1.0)
    y = (w * 2).sum()
    y.backward(retain_graph=True)
    w.requires_grad_(False)
    y.backward()
    assert w.grad.tolist() == [2.0, 2.0]


def test_hooks_of_a_leaf_switched_off_still_run():
    w, seen = leaf(1.0, 1.0), []
    w.register_hook(lambda g: seen.append(g.tolist()))
    w.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad))
    y = (w * 2).sum()
    w.requires_grad_(False)
    y.backward()
    assert seen == [[2.0, 2.0], None]


def test_nobody_can_ask_for_the_gradient_of_a_leaf_switched_off():
    w = leaf(1.0, 1.0)
    y = (w * 2).sum()
    w.requires_grad_(False)
    with pytest.raises(RuntimeError, match="^One of the differentiated Tensors does not require grad$"):
        torch.autograd.grad(y, w)
    with pytest.raises(RuntimeError, match=r"^can't retain_grad on Tensor that has requires_grad=False$"):
        y.backward(inputs=[w])


def test_a_module_frozen_between_forward_and_backward():
    layer = torch.nn.Linear(2, 1)
    y = layer(torch.ones(1, 2)).sum()
    layer.requires_grad_(False)
    y.backward()
    assert [p.grad for p in layer.parameters()] == [None, None]


# ---- a pass that fails


def grads(*leaves):
    return [None if w.grad is None else w.grad.tolist() for w in leaves]


def failing(*_):
    raise ValueError("boom")


@pytest.mark.parametrize(
    ("where", "retain", "after", "again", "then"),
    [
        # the gradients after the failure; whether the pass, and whether the part before the failure, can be repeated
        ("a", False, [None, [2.0], [2.0]], False, False),
        ("a", True, [None, [2.0], [2.0]], True, True),
        ("b", False, [None, None, [2.0]], False, True),
        ("b", True, [None, None, [2.0]], True, True),
        ("c", False, [None, None, None], True, False),
        ("w", False, [None, [2.0], [2.0]], False, False),
        ("v", False, [None, None, [2.0]], False, False),
        ("u", False, [None, None, None], False, True),
    ],
)
def test_what_a_pass_that_failed_has_done(where, retain, after, again, then):
    w, v, u = leaf(1.0), leaf(1.0), leaf(1.0)
    a = w * 2
    b = a * v
    c = b * u
    total = c.sum()
    with locals()[where].register_hook(failing), pytest.raises(ValueError, match="^boom$"):
        total.backward(retain_graph=retain)
    assert grads(w, v, u) == after

    def works(root):
        try:
            root.backward(retain_graph=retain)
        except RuntimeError as error:
            return re.match(SECOND_TIME, str(error)) is None
        return True

    assert works(total) is again
    assert works(b.sum()) is then


def test_a_function_that_failed_can_be_gone_through_once_more():
    class Fails(torch.autograd.Function):
        on = True

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return failing() if Fails.on else g * 2 * x

    w, v, u = leaf(1.0), leaf(1.0), leaf(1.0)
    middle = Fails.apply(w * v)
    total = (middle * u).sum()
    with pytest.raises(ValueError, match="boom"):
        total.backward()
    assert grads(w, v, u) == [None, None, [2.0]]
    Fails.on = False
    with pytest.raises(RuntimeError, match=SECOND_TIME):
        total.backward()
    middle.sum().backward()  # everything that the failed pass did not reach is still there
    assert grads(w, v, u) == [[2.0], [2.0], [2.0]]


def test_a_write_found_in_the_middle_leaves_the_gradients_before_it():
    w, v, u = leaf(1.0), leaf(1.0), leaf(1.0)
    a = w.exp()
    total = (a * v * u).sum()
    with torch.no_grad():
        a.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()
    assert [g is None for g in (w.grad, v.grad, u.grad)] == [True, True, False]
    with pytest.raises(RuntimeError, match=SECOND_TIME):
        total.backward()


def test_a_hook_after_accumulation_that_fails_leaves_the_gradient_there():
    w, v = leaf(1.0), leaf(1.0)
    v.register_post_accumulate_grad_hook(failing)
    with pytest.raises(ValueError, match="boom"):
        (w * v).sum().backward()
    assert v.grad.tolist() == [1.0]


@pytest.mark.parametrize(
    ("function", "name", "error", "said"),
    [
        (lambda x: x // 2, "torch::autograd::NotImplemented", RuntimeError, "aten::floor_divide"),
        (lambda x: torch.ones(3) // x, "torch::autograd::NotImplemented", RuntimeError, "aten::floor_divide"),
        (lambda x: torch.heaviside(x, x), "torch::autograd::NotImplemented", RuntimeError, "aten::heaviside"),
        (lambda x: torch.histogram(x, 2)[0], "torch::autograd::NotImplemented", RuntimeError, "aten::histogram"),
        (lambda x: torch.bincount(torch.arange(3), x), "torch::autograd::NotImplemented", RuntimeError, "aten::bincount"),
        (
            lambda x: x.scatter(0, torch.tensor([0]), 2.0, reduce="multiply"),
            "torch::autograd::NotImplemented", RuntimeError, "aten::scatter",
        ),
        (lambda x: torch.geqrf(x.expand(3, 3))[0], "GeqrfBackward0", NotImplementedError, "geqrf"),
        (lambda x: x.unique(), "Unique2Backward0", NotImplementedError, "_unique2"),
        (lambda x: x[None].unique(dim=0), "UniqueDimBackward0", NotImplementedError, "unique_dim"),
        (torch.unique_consecutive, "UniqueConsecutiveBackward0", NotImplementedError, "unique_consecutive"),
        (lambda x: torch.special.zeta(x + 1, x), "SpecialZetaBackward0", NotImplementedError, "zeta"),
    ],
)  # fmt: skip
def test_a_derivative_that_pytorch_does_not_have_is_refused_in_the_backward_pass(function, name, error, said):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = function(x)
    assert y.grad_fn.name() == name
    with pytest.raises(error, match=f"derivative for '?{said}'? is not implemented"):
        (y.sum() + x.sum()).backward()
    assert x.grad is None
    with torch.no_grad():
        assert not function(x).requires_grad
    assert not function(x.detach()).requires_grad


# ---- the order of the checks


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda grad, w, x: grad(x.sum(), x), RuntimeError,
         "element 0 of tensors does not require grad and does not have a grad_fn"),
        (lambda grad, w, x: grad(w * 2, x), RuntimeError, "grad can be implicitly created only for scalar outputs"),
        (lambda grad, w, x: grad(w.sum(), []), RuntimeError, "`inputs` argument to `grad()` cannot be empty."),
        (lambda grad, w, x: x.sum().backward(inputs=[x]), RuntimeError,
         "element 0 of tensors does not require grad and does not have a grad_fn"),
        (lambda grad, w, x: w.sum().backward(inputs=[x]), RuntimeError,
         "can't retain_grad on Tensor that has requires_grad=False"),
        (lambda grad, w, x: grad(w.sum(), 3), TypeError, "'int' object is not iterable"),
        (lambda grad, w, x: torch.autograd.backward(w.sum(), inputs=iter([])), RuntimeError,
         "`inputs` argument to `backward()` cannot be empty."),
    ],
)  # fmt: skip
def test_the_first_error_is_pytorchs(call, kind, words):
    with pytest.raises(kind) as caught:
        call(torch.autograd.grad, torch.ones(2, requires_grad=True), torch.ones(2))
    assert str(caught.value) == words


def test_tensors_may_come_from_any_iterable():
    w = torch.ones(2, requires_grad=True)
    (gradient,) = torch.autograd.grad({"loss": (w * 2).sum()}.values(), iter([w]))
    torch.autograd.backward(iter([w * 3]), iter([torch.ones(2)]), inputs=iter([w]))
    assert (gradient.tolist(), w.grad.tolist()) == ([2.0, 2.0], [3.0, 3.0])
