"""autograd.forward_ad: what carries a tangent on, and what does not. The outcomes in the tables are those that PyTorch gives."""

import gc
import threading
import weakref

import pytest

import torchlike as torch
from torchlike._core.modes import modes
from torchlike.autograd import forward_ad as fwad

X, V = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.5])


def dual(primal=(1.0, 2.0), tangent=(1.0, 0.5)):
    return fwad.make_dual(torch.tensor(primal), torch.tensor(tangent))


def shown(value):
    """What a program gives, as text: of tensors the elements, of each dual the tangent."""
    if isinstance(value, (tuple, list)):
        return " ".join(map(shown, value))
    if not isinstance(value, torch.Tensor):
        return str(value)
    tangent = fwad.unpack_dual(value).tangent
    text = str(value.detach().tolist()).replace(" ", "")
    return text if tangent is None else f"{text}'{shown(tangent)}"


def outcome(program):
    """What a program prints within a level, or the first words of its error."""
    with fwad.dual_level():
        try:
            return shown(program())
        except Exception as error:
            return f"{type(error).__name__}: {str(error)[:70]}"


def custom(forward, jvp=None, backward=None):
    """A Function of these, applied."""
    methods = {"forward": staticmethod(forward)}
    if jvp is not None:
        methods["jvp"] = staticmethod(jvp)
    if backward is not None:
        methods["backward"] = staticmethod(backward)
    return type("Custom", (torch.autograd.Function,), methods).apply


def saving(ctx, x):
    ctx.save_for_backward(x)
    ctx.save_for_forward(x)
    return x * x


def dirty(ctx, x):
    ctx.mark_dirty(x)
    return x.mul_(2)


def partly_differentiable(ctx, x):
    sign = x.sign()
    ctx.mark_non_differentiable(sign)
    return x * 2, sign


def without_zeros(ctx, x, y):
    ctx.set_materialize_grads(False)
    return x * y


# ``jvp`` gives 7 where the true factor is 2, so that it shows which of the two counts.
square = custom(saving, lambda ctx, t: 7 * ctx.saved_tensors[0] * t, lambda ctx, g: 2 * ctx.saved_tensors[0] * g)


def under_no_grad():
    x = dual()
    with torch.no_grad():
        y, z = x * x * 3, dual() * 6
    return y, z, y.requires_grad


class Marked(torch.Tensor):
    """A subclass."""


def inside_forward():
    seen = []
    x = dual()

    def forward(ctx, x):
        seen.append(fwad.unpack_dual(x).tangent)
        return x * 2

    custom(forward, lambda ctx, t: t * 3)(x)
    return seen


WHAT_CARRIES = {
    "no_grad": (under_no_grad, "[3.0,12.0]'[6.0,6.0] [6.0,12.0]'[6.0,3.0] False"),
    "detach": (lambda: [dual().detach(), dual() * dual().detach()], "[1.0,2.0] [1.0,4.0]'[1.0,1.0]"),
    "data": (lambda: [dual().data, dual() * dual().data], "[1.0,2.0] [1.0,4.0]'[1.0,1.0]"),
    "detach_": (lambda: (dual() * 2).detach_(), "[2.0,4.0]"),
    "straight through": (lambda: [x + (x.round() - x).detach() for x in [dual()]], "[1.0,2.0]'[1.0,0.5]"),
    "integers": (lambda: [dual() > 1, dual().long(), dual().argmax()], "[False,True] [1,2] 1"),
    "new tensors": (lambda: [torch.ones_like(dual()), dual().new_zeros(1)], "[1.0,1.0] [0.0]"),
    "flat": (lambda: [dual().sign(), dual().floor()], "[1.0,1.0]'[0.0,0.0] [1.0,2.0]'[0.0,0.0]"),
    "views": (lambda: [dual().view(2, 1), dual()[1], dual().expand(1, 2)],
              "[[1.0],[2.0]]'[[1.0],[0.5]] 2.0'0.5 [[1.0,2.0]]'[[1.0,0.5]]"),
    "as_strided": (lambda: dual().as_strided((1,), (2,), 1), "[2.0]'[0.5]"),
    "complex": (lambda: [dual((1 + 2j,), (1j,)).conj(), dual((3 + 4j,), (1j,)).abs()], "[(1-2j)]'[-1j] [5.0]'[0.800000011920929]"),
    "parameter": (lambda: torch.nn.Parameter(dual()), "[1.0,2.0]"),
    "checkpoint": (lambda: torch.utils.checkpoint.checkpoint(lambda x: x * x, dual(), use_reentrant=False), "[1.0,4.0]'[2.0,2.0]"),
    "func.grad": (lambda: torch.func.grad(lambda x: (x**3).sum())(dual()), "[3.0,12.0]'[6.0,6.0]"),
    "vmap": (lambda: torch.func.vmap(lambda a: a * a)(dual()), "[1.0,4.0]'[2.0,2.0]"),
    "numpy": (lambda: (dual() * 2).numpy().tolist(), "2.0 4.0"),
    "attributes": (lambda: [(y.requires_grad, y.is_leaf, y.grad_fn) for y in (dual(), dual() * 2)], "False True None False True None"),
    "subclass": (lambda: dual().as_subclass(Marked) * dual(), "[1.0,4.0]'[2.0,2.0]"),
    "a number printed": (lambda: repr(dual(1.0, 2.0)), "tensor(1., tangent=2.0)"),
    "printed": (lambda: repr(dual() * 2), "tensor([2., 4.], tangent=tensor([2., 1.]))"),
    "out=": (lambda: torch.mul(dual(), 2, out=torch.zeros(2)),
             "NotImplementedError: Trying to use forward AD with mul_out that does not support it because"),
    "out= a dual": (lambda: torch.add(X, X, out=dual()),
                    "NotImplementedError: Trying to use forward AD with add_out that does not support it because"),
    "without derivative": (lambda: torch.heaviside(dual(), dual()),
                           "NotImplementedError: Trying to use forward AD with aten::heaviside that does not support it"),
    "sparse": (lambda: torch.sparse_coo_tensor(torch.tensor([[0, 1]]), dual()),
        "NotImplementedError: Trying to use forward AD with _sparse_coo_tensor_with_dims_and_tensors"),
    "set_": (lambda: dual().set_(torch.ones(2)),
             "NotImplementedError: Trying to use forward AD with set_ that does not support it because it"),
    "resize_": (lambda: dual().resize_(2), "RuntimeError: cannot resize variables that has a forward grad"),
}  # fmt: skip

CUSTOM_FUNCTIONS = {
    "jvp": (lambda: square(dual()), "[1.0,4.0]'[7.0,7.0]"),
    "no dual": (lambda: custom(saving)(X), "[1.0,4.0]"),
    "no jvp": (lambda: custom(saving)(dual()),
               "NotImplementedError: You must implement the jvp function for custom autograd.Function to us"),
    "missing tangents": (lambda: custom(lambda ctx, x, y: x * y, lambda ctx, a, b: a * 10 + b)(dual(), X), "[1.0,4.0]'[10.0,5.0]"),
    "no zeros": (lambda: custom(without_zeros, lambda ctx, a, b: a if b is None else b)(dual(), X), "[1.0,4.0]'[1.0,0.5]"),
    "several": (lambda: custom(partly_differentiable, lambda ctx, t: (t * 2, None))(dual()), "[2.0,4.0]'[2.0,1.0] [1.0,1.0]"),
    "within forward": (inside_forward, "None"),
    "too many": (lambda: custom(saving, lambda ctx, t: (t, t))(dual()),
                 "RuntimeError: Function's jvp returned an invalid number of forward gradients (expect"),
    "a number": (lambda: custom(saving, lambda ctx, t: 3.0)(dual()),
                 "RuntimeError: expected Variable or None (got float) for grad output 0."),
    "a tangent for what has none": (lambda: custom(lambda ctx, x: x.long(), lambda ctx, t: t.clone())(dual()),
        "RuntimeError: Function's jvp returned a gradient at position 0, but  the correspondi"),
    "saved for backward": (lambda: custom(lambda ctx, x: [ctx.save_for_backward(x), x * x][1],
                                          lambda ctx, t: t * len(ctx.saved_tensors))(dual()), "[1.0,4.0]'[0.0,0.0]"),
    "another shape": (lambda: custom(saving, lambda ctx, t: t[:1])(dual()),
                      "RuntimeError: Trying to set a forward gradient that has a different size than that o"),
    "dirty": (lambda: custom(dirty, lambda ctx, t: t.mul_(3))(dual()), "[2.0,4.0]'[3.0,1.5]"),
    "dirty, new tangent": (lambda: custom(dirty, lambda ctx, t: t * 3)(dual()),
                           "RuntimeError: An inplace custom Function is not modifying the forward mode gradients"),
    "view": (lambda: custom(lambda ctx, x: x.view(2, 1), lambda ctx, t: t.view(2, 1))(dual()), "[[1.0],[2.0]]'[[1.0],[0.5]]"),
    "view, other tangent": (lambda: custom(lambda ctx, x: x.view(2, 1), lambda ctx, t: t.clone().view(2, 1))(dual()),
                            "RuntimeError: A custom Function is returning a view but the jvp is not returning a v"),
    "input as it is": (lambda: custom(lambda ctx, x: x, lambda ctx, t: t)(dual()),
                       "RuntimeError: A custom Function's forward is returning a view (or an input as-is) bu"),
}  # fmt: skip


def tangent_in_memory(primal, tangent):
    """Whether the tangent is the given one, and what a view of the memory shows of it."""
    x = fwad.make_dual(primal, tangent)
    return fwad.unpack_dual(x).tangent is tangent, x.as_strided((2,), (2,), 0) if x.numel() else x


MEMORY = {
    "empty": (lambda: tangent_in_memory(torch.ones(1).as_strided((0,), (1,), 1), torch.ones(1).as_strided((0,), (1,), 0)), "True []'[]"),
    "a part of more memory": (lambda: tangent_in_memory(torch.arange(4.0)[1:3], torch.ones(2)), "False [0.0,2.0]'[0.0,1.0]"),
    "conjugated": (lambda: tangent_in_memory(torch.full((3,), 1j).conj(), torch.full((3,), 2j)), "False [-1j,-1j]'[2j,2j]"),
    "both conjugated": (lambda: tangent_in_memory(torch.full((3,), 1j).conj(), torch.full((3,), 2j).conj()), "True [-1j,-1j]'[-2j,-2j]"),
    "an imaginary part": (lambda: tangent_in_memory(torch.full((3,), 1j).conj().imag, torch.ones(3)), "False [-0.0,-0.0]'[-0.0,-0.0]"),
}  # fmt: skip


def written(change, start=(1.0, 2.0)):
    """A dual after a change in place, and what the user's tangent holds then."""

    def program():
        tangent = torch.tensor((1.0, 0.5))
        x = fwad.make_dual(torch.tensor(start), tangent)
        change(x)
        return x, tangent

    return program


def shares_with_primal():
    primal = X.clone()
    x = fwad.make_dual(primal, V.clone())
    x.add_(1)
    before = primal.tolist()
    primal.mul_(2)
    return before, x, primal._version, fwad.unpack_dual(primal).tangent


def shares_with_unpacked():
    x = dual()
    primal, tangent = fwad.unpack_dual(x)
    primal.add_(5)
    tangent.mul_(2)
    return x, primal, x * 1


def view_of_a_plain_base():
    base = torch.zeros(3)
    view = base[:2]
    view.copy_(dual())
    first = shown([base, view])
    base.mul_(2)
    return first, base, view, base[1:]


def base_of_an_older_view():
    base = X.clone()
    view = base[0]
    base.mul_(dual())
    return view, base


def row_by_row():
    a = torch.zeros(2, 2)
    a[0] = dual()
    a[1] = a[0] * 2
    a += a.clone()
    a[0, 0] = 0.0
    return a


def detached_memory():
    base = torch.zeros(2)
    base.detach().add_(dual())
    return base


def through_views():
    x = fwad.make_dual(torch.arange(4.0), torch.ones(4))
    x[1:3] *= 3
    x[::2] = 0
    x.view(2, 2)[0, 1].add_(dual(1.0, 9.0))
    return x


WRITES = {
    "add_": (written(lambda x: x.add_(1)), "[2.0,3.0]'[1.0,0.5] [1.0,0.5]"),
    "mul_": (written(lambda x: x.mul_(4)), "[4.0,8.0]'[4.0,2.0] [4.0,2.0]"),
    "zero_": (written(lambda x: x.zero_()), "[0.0,0.0]'[0.0,0.0] [0.0,0.0]"),
    "fill_": (written(lambda x: x.fill_(3)), "[3.0,3.0]'[0.0,0.0] [0.0,0.0]"),
    "copy_ of a plain tensor": (written(lambda x: x.copy_(X)), "[1.0,2.0]'[0.0,0.0] [0.0,0.0]"),
    "copy_ of a dual": (written(lambda x: x.copy_(x * 3)), "[3.0,6.0]'[3.0,1.5] [3.0,1.5]"),
    "an element": (written(lambda x: x.__setitem__(0, 5.0)), "[5.0,2.0]'[0.0,0.5] [0.0,0.5]"),
    "logical_not_": (written(lambda x: x.logical_not_()), "[0.0,0.0]'[1.0,0.5] [1.0,0.5]"),
    "unsqueeze_": (lambda: dual().unsqueeze_(0), "[[1.0,2.0]]'[[1.0,0.5]]"),
    "to a plain tensor": (lambda: torch.ones(2).mul_(dual()), "[1.0,2.0]'[1.0,0.5]"),
    "the primal": (shares_with_primal, "2.0 3.0 [4.0,6.0]'[1.0,0.5] 2 None"),
    "what unpack_dual gives": (shares_with_unpacked, "[6.0,7.0]'[2.0,1.0] [6.0,7.0] [6.0,7.0]'[2.0,1.0]"),
    "a view of a plain base": (view_of_a_plain_base,
        "[1.0,2.0,0.0]'[1.0,0.5,0.0] [1.0,2.0]'[1.0,0.5] [2.0,4.0,0.0]'[2.0,1.0,0.0] [2.0,4.0]'[2.0,1.0] [4.0,0.0]'[1.0,0.0]"),
    "the base of an older view": (base_of_an_older_view, "1.0'1.0 [1.0,4.0]'[1.0,1.0]"),
    "rows": (row_by_row, "[[0.0,4.0],[4.0,8.0]]'[[0.0,1.0],[4.0,2.0]]"),
    "detached memory": (detached_memory, "[1.0,2.0]"),
    "parts": (through_views, "[0.0,4.0,0.0,3.0]'[0.0,12.0,0.0,1.0]"),
}  # fmt: skip


def leaf(values=(3.0, 4.0)):
    return torch.tensor(values, requires_grad=True)


def weighted():
    weight = leaf()
    primal, tangent = fwad.unpack_dual(dual() * weight)
    return *torch.autograd.grad(tangent.sum(), weight), *torch.autograd.grad(primal.sum(), weight)


def of_the_primal():
    primal = leaf()
    (fwad.unpack_dual((fwad.make_dual(primal, V) ** 3).sum()).tangent).backward()
    return primal.grad


def of_the_tangent():
    tangent = V.clone().requires_grad_()
    y = fwad.make_dual(X, tangent) ** 2
    return y.requires_grad, *torch.autograd.grad(fwad.unpack_dual(y).tangent.sum(), tangent)


def gradient(function, **options):
    """The gradient of a function, which is a dual: of its input, and what follows from ``function``."""

    def program():
        primal = leaf()
        (result,) = torch.autograd.grad(function(fwad.make_dual(primal, V)).sum(), primal, **options)
        return result, result.requires_grad

    return program


def thrice():
    primal = leaf()
    (first,) = torch.autograd.grad((fwad.make_dual(primal, V) ** 3).sum(), primal, create_graph=True)
    assert first is not None
    tangent = fwad.unpack_dual(first).tangent
    assert tangent is not None
    return torch.autograd.grad(tangent.sum(), primal)[0].detach()


def with_a_dual_cotangent():
    primal = leaf()
    return torch.autograd.grad(primal * primal, primal, fwad.make_dual(torch.ones(2), V))


def accumulated():
    primal = leaf()
    (fwad.make_dual(primal, V) ** 2).sum().backward()
    return primal.grad


def hooked(x):
    y = x * x
    y.register_hook(lambda g: g * 2)
    return y


def saved_by_hooks(x):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        return x * x


def of_a_product():
    left, right = leaf([[1.0]]), leaf([[1.0]])
    return torch.autograd.grad((fwad.make_dual(left, torch.tensor([[2.0]])) @ right).sum(), [left, right])


def kept_on_the_way():
    y = fwad.make_dual(leaf(), V) * 2
    y.retain_grad()
    (y * y).sum().backward()
    return y.grad


def leaf_tangent():
    return fwad.make_dual(X.clone(), V.clone().requires_grad_()).mul_(2)


BACKWARD = {
    "of a tangent": (weighted, "[1.0,0.5] [1.0,2.0]'[1.0,0.5]"),
    "of a tangent, for the primal": (of_the_primal, "[18.0,12.0]"),
    "of a tangent, for what it began with": (of_the_tangent, "False [2.0,4.0]"),
    "of a dual": (gradient(lambda x: x**3), "[27.0,48.0]'[18.0,12.0] False"),
    "of a dual, recorded": (gradient(lambda x: x**3, create_graph=True), "[27.0,48.0]'[18.0,12.0] True"),
    "of that": (thrice, "[6.0,3.0]"),
    "of a Function of a dual": (gradient(square), "[6.0,8.0]'[2.0,1.0] False"),
    "with hooks": (gradient(hooked), "[12.0,16.0]'[4.0,2.0] False"),
    "of a product in place": (gradient(lambda x: (x * 1).mul_(dual()).pow_(2)), "[6.0,32.0]'[14.0,20.0] False"),
    "of a matrix product": (of_a_product, "[[1.0]] [[1.0]]'[[2.0]]"),
    "kept on the way": (kept_on_the_way, "[12.0,16.0]'[4.0,2.0]"),
    "with a dual cotangent": (with_a_dual_cotangent, "[6.0,8.0]'[6.0,4.0]"),
    "into grad": (accumulated, "[6.0,8.0]"),
    "a leaf as tangent, written to": (leaf_tangent, "RuntimeError: a leaf Variable that requires grad is being used in an in-place operat"),
}  # fmt: skip

EVERY_PROGRAM = {**WHAT_CARRIES, **MEMORY, **CUSTOM_FUNCTIONS, **WRITES, **BACKWARD}


@pytest.mark.parametrize("name", EVERY_PROGRAM)
def test_a_program_gives_pytorchs_tangents(name):
    program, expected = EVERY_PROGRAM[name]
    assert outcome(program) == expected


def test_a_module_computes_with_duals_in_place_of_its_parameters():
    model = torch.nn.Linear(2, 1)
    parameters = dict(model.named_parameters())
    with torch.no_grad():
        for parameter in parameters.values():
            parameter.fill_(0.5)
    with fwad.dual_level():
        for name, parameter in parameters.items():
            delattr(model, name)
            setattr(model, name, fwad.make_dual(parameter, torch.ones_like(parameter)))
        out, tangent = fwad.unpack_dual(model(torch.ones(3, 2)))
    assert (out.tolist(), tangent.tolist()) == ([[1.5]] * 3, [[3.0]] * 3)


def test_switches_turn_tangents_off():
    with fwad.dual_level():
        x = dual()
        with fwad._set_fwd_grad_enabled(False):
            assert not fwad._is_fwd_grad_enabled() and shown([x, x * 2, dual()]) == "[1.0,2.0] [2.0,4.0] [1.0,2.0]"
        with torch.inference_mode():
            assert not fwad._is_fwd_grad_enabled() and shown([x, x * 2, dual()]) == "[1.0,2.0] [2.0,4.0] [1.0,2.0]"
        assert fwad._is_fwd_grad_enabled() and shown(x) == "[1.0,2.0]'[1.0,0.5]"


def test_levels_do_not_nest_with_jvp():
    nested = "Nested forward mode AD is not supported at the moment"
    with fwad.dual_level(), pytest.raises(RuntimeError, match=nested):
        torch.func.jvp(torch.sin, (X,), (V,))
    with pytest.raises(RuntimeError, match=nested):
        torch.func.jvp(lambda x: fwad.enter_dual_level(), (X,), (V,))
    with pytest.raises(RuntimeError, match="Dual level must be a positive number"):
        fwad.exit_dual_level()
    with fwad.dual_level(), pytest.raises(RuntimeError, match="Invalid level given to _make_dual"):
        fwad.make_dual(X, V, level=1)


def test_results_are_plain_after_the_level():
    with fwad.dual_level():
        tangent = V.clone()
        reference = weakref.ref(tangent)
        y = fwad.make_dual(X, tangent) * 2
        del tangent
    gc.collect()
    assert reference() is None
    assert not y.requires_grad and y.numpy().tolist() == [2.0, 4.0]
    with fwad.dual_level():
        assert shown(y) == "[2.0,4.0]" and shown(fwad.make_dual(y, V)) == "[2.0,4.0]'[1.0,0.5]"


def test_views_of_a_dual_that_was_read_have_tangents():
    computed = torch.tensor([[1.0, 2.0], [3.0, 4.0]]) * 1
    with fwad.dual_level():
        x = fwad.make_dual(computed, torch.full((2, 2), 5.0))
        x.sum().item()  # so that its elements lie on the host, from where a row is read at once
        assert (
            shown([x[0], x[-1], x[1:], x[0, 1]])
            == "[1.0,2.0]'[5.0,5.0] [3.0,4.0]'[5.0,5.0] [[3.0,4.0]]'[[5.0,5.0]] 2.0'5.0"
        )
        assert shown([*x]) == "[1.0,2.0]'[5.0,5.0] [3.0,4.0]'[5.0,5.0]"


def test_a_level_is_that_of_all_threads_whatever_switches_they_have_used():
    results, entered, left, told = [], threading.Event(), threading.Event(), threading.Event()
    tensors = []

    def other():
        with torch.inference_mode():
            pass
        told.set()
        entered.wait(10)
        results.append(shown(tensors[0] * 3))
        fwad.exit_dual_level()
        left.set()

    thread = threading.Thread(target=other)
    thread.start()
    told.wait(10)
    fwad.enter_dual_level()
    tensors.append(dual())
    entered.set()
    left.wait(10)
    thread.join()
    assert results == ["[3.0,6.0]'[3.0,1.5]"]
    assert shown(tensors[0]) == "[1.0,2.0]" and not modes.any_slow_mode


def test_another_thread_carries_tangents_on():
    results = []
    with fwad.dual_level():
        x = dual()
        thread = threading.Thread(target=lambda: results.append(shown(x * 3)))
        thread.start()
        thread.join()
    assert results == ["[3.0,6.0]'[3.0,1.5]"]
