"""In-place writes to recorded tensors: version counters, history of bases and views, and errors."""

import copy
import gc
import weakref
from typing import Any

import numpy as np
import pytest

import torchlike as torch


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


def modified(shape, version, expected, producer="", kind="Float"):
    source = f", which is output 0 of {producer}," if producer else ""
    return (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[torch.{kind}Tensor {shape}]{source} is at version {version}; expected version {expected} instead. Hint: enable anomaly "
        "detection to find the operation that failed to compute its gradient, with torch.autograd.set_detect_anomaly(True, "
        "check_nan=False)."
    )


# ---- versions


@pytest.mark.parametrize(
    ("write", "count"),
    [
        ("x.add_(1)", 1), ("x[0] = 1", 1), ("x += 1; x *= 2", 2), ("x.zero_()", 1), ("x.view(-1).add_(1)", 1),
        ("x.detach().add_(1)", 1), ("x.data.add_(1)", 0), ("torch.add(x, 1, out=x)", 1), ("x + 1", 0), ("x.copy_(x + 1)", 1),
        ("x[x > 0] = 5", 1), ("x.requires_grad_()", 0), ("x.clone().add_(1)", 0),
    ],
)  # fmt: skip
def test_versions_count_writes_of_all_who_share(write, count):
    x = torch.ones(2, 2)
    view = x[0]
    exec(write, {"torch": torch, "x": x})
    assert (x._version, view._version) == (count, count)


@pytest.mark.parametrize(
    ("build", "write", "message"),
    [
        ("w * v", "v.add_(1)", modified([3], 1, 0)),
        ("(w * 1).exp()", "y.add_(1)", modified([3], 1, 0, "Exp")),
        ("(w * 1) ** 2", "", None),
        ("(w + 0).pow(2)", "w.detach().zero_()", None),  # the operation saves w + 0 and not w
        ("w.pow(2)", "w.detach().zero_()", modified([3], 1, 0)),
        ("torch.sigmoid(w)", "y.mul_(2)", modified([3], 1, 0, "Sigmoid")),
        ("w + v", "v.add_(1)", None),
        ("w.sin()", "y.add_(1)", None),
        ("w.relu()", "y.add_(1)", modified([3], 1, 0, "Relu")),
        ("w.double() * v.double()", "v.add_(1)", None),
        ("w.unsqueeze(0) @ v.unsqueeze(1)", "v.mul_(2).mul_(2)", modified([3, 1], 2, 0)),
    ],
)
def test_backward_refuses_what_was_written_to_since(build, write, message):
    names = {"torch": torch, "w": leaf(1.0, 2.0, 3.0), "v": torch.ones(3)}
    result = names["y"] = eval(build, names)
    exec(write, names)
    total = names["y"].sum()
    assert result is names["y"]
    if message is None:
        total.backward()
        assert names["w"].grad is not None
    else:
        with pytest.raises(RuntimeError) as caught:
            total.backward()
        assert str(caught.value) == message
        assert names["w"].grad is None


def test_an_update_between_forward_and_backward_is_refused():
    """This is the mistake of using two optimizers for shared layers."""
    first, second = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2, requires_grad=True)
    loss = (torch.ones(1, 2) @ first @ second).sum()
    with torch.no_grad():
        second -= 0.1
    with pytest.raises(
        RuntimeError, match=r"\[torch.FloatTensor \[2, 2\]\] is at version 1; expected version 0 instead"
    ):
        loss.backward()


# ---- history


def test_a_result_written_to_goes_on():
    w = leaf(1.0, 2.0)
    y = w * 3
    assert y.mul_(2) is y
    assert y.grad_fn.name() == "MulBackward0"
    y += w
    assert y.grad_fn.name() == "AddBackward0"
    y.sum().backward()
    assert w.grad.tolist() == [7.0, 7.0]


def test_a_plain_tensor_written_with_what_requires_grad():
    w, x = leaf(2.0, 3.0), torch.zeros(2)
    x.add_(w)
    assert (x.requires_grad, x.is_leaf, x.grad_fn.name()) == (True, False, "AddBackward0")
    x.copy_(w * 5)
    assert x.grad_fn.name() == "torch::autograd::CopyBackwards"
    assert repr(x) == "tensor([10., 15.], grad_fn=<CopyBackwards>)"
    x.sum().backward()
    assert w.grad.tolist() == [5.0, 5.0]


def test_what_is_overwritten_gets_no_gradient():
    w = leaf(1.0, 2.0)
    y = w * 3
    y.zero_()
    assert y.grad_fn.name() == "ZeroBackward0"
    (y + w).sum().backward()
    assert w.grad.tolist() == [1.0, 1.0]
    y = w * 3
    y.fill_(7)
    y.sum().backward()
    assert w.grad.tolist() == [1.0, 1.0]


def test_writing_through_a_view_changes_the_bases_history():
    w = leaf(1.0, 2.0, 3.0)
    base = w * 1
    part = base[1:]
    part.mul_(10)
    assert base.grad_fn.name() == "torch::autograd::CopySlices"
    assert repr(base) == "tensor([ 1., 20., 30.], grad_fn=<CopySlices>)"
    assert base.tolist() == [1.0, 20.0, 30.0]
    base.sum().backward()
    assert w.grad.tolist() == [1.0, 10.0, 10.0]


def test_writing_to_the_base_changes_the_views_history():
    w = leaf(1.0, 2.0, 3.0)
    base = w * 1
    part = base[1:]
    before = part.grad_fn
    assert before.name() == "SliceBackward0"
    base.mul_(4)
    assert part.grad_fn is not before
    assert part.tolist() == [8.0, 12.0]
    part.sum().backward()
    assert w.grad.tolist() == [0.0, 4.0, 4.0]


def test_two_views_one_written_through():
    w = leaf(1.0, 2.0, 3.0, 4.0)
    base = w * 1
    left, overlapping = base[:3], base[2:]
    left.mul_(10)
    overlapping.sum().backward()
    assert w.grad.tolist() == [0.0, 0.0, 10.0, 1.0]


def test_assigning_to_parts():
    w = leaf(1.0, 2.0)
    x = torch.zeros(2, 3)
    x[:, 1] = w
    x[0] *= 2
    x[1, 2] = w[0] * 7
    x.sum().backward()
    assert w.grad.tolist() == [9.0, 1.0]
    assert x.tolist() == [[0.0, 2.0, 0.0], [0.0, 2.0, 7.0]]


def test_assigning_by_mask_and_by_positions():
    w = leaf(1.0, 2.0, 3.0)
    y = w * 2
    y[torch.tensor([True, False, True])] = 0
    assert y.grad_fn.name() == "IndexPutBackward0"
    z = w * 2
    z[torch.tensor([2, 0])] = w[:2]
    (y + z).sum().backward()
    assert w.grad.tolist() == [1.0, 5.0, 0.0]


def test_views_of_views_written_through():
    w = torch.arange(6.0, requires_grad=True)
    base = w * 1
    base.view(2, 3).t()[1:, 0].mul_(5)
    base.sum().backward()
    assert w.grad.tolist() == [1.0, 5.0, 5.0, 1.0, 1.0, 1.0]


def test_a_view_of_a_plain_tensor_takes_its_base_along():
    w, x = leaf(2.0), torch.zeros(3)
    part = x[1:2]
    part.add_(w)
    assert (x.requires_grad, part.requires_grad, x.grad_fn.name()) == (True, True, "torch::autograd::CopySlices")
    (x * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert w.grad.item() == 10.0


def test_a_detached_tensor_shares_memory_and_no_history():
    w = leaf(1.0, 2.0)
    y = w * 2
    aside = y.detach()
    aside.mul_(5)
    assert (y.tolist(), y.grad_fn.name(), aside.requires_grad) == ([10.0, 20.0], "MulBackward0", False)
    y.sum().backward()
    assert w.grad.tolist() == [2.0, 2.0]


def test_requires_grad_after_writing():
    x = torch.zeros(2)
    x.add_(1)
    x.requires_grad_()
    assert (x.is_leaf, x._version) == (True, 1)
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_leaf_that_becomes_a_view_target_in_no_grad():
    w = torch.zeros(3, requires_grad=True)
    with torch.no_grad():
        w[1:].fill_(5)
        w.view(-1)[0] = 4
    assert (w.tolist(), w.is_leaf, w.grad_fn) == ([4.0, 5.0, 5.0], True, None)


# ---- refused


@pytest.mark.parametrize(
    "write", ["w.add_(1)", "w[0] = 1", "w.view(-1).mul_(2)", "w.unsqueeze(0).t().fill_(0)", "w += 1"]
)
def test_leaves_are_not_written_to(write):
    names = {"w": leaf(1.0, 2.0)}
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad is being used in an in-place operation"):
        exec(write, names)
    assert (names["w"].tolist(), names["w"]._version) == ([1.0, 2.0], 0)


@pytest.mark.parametrize(
    ("split", "name"), [("y.unbind()", "Unbind"), ("y.split(1)", "Split"), ("y.chunk(2)", "Split")]
)
def test_one_of_several_views_is_not_written_to(split, name):
    y = leaf(1.0, 2.0) * 1
    part = eval(split, {"y": y})[1]
    with pytest.raises(RuntimeError) as caught:
        part.mul_(2)
    assert str(caught.value) == (
        f"Output 1 of {name} is a view and is being modified inplace. This view is the output of a function that returns multiple "
        "views. Such functions do not allow the output views to be modified inplace. You should replace the inplace operation by "
        "an out-of-place one."
    )
    assert y.tolist() == [1.0, 2.0]


def test_a_view_made_in_no_grad_is_not_written_to_outside():
    y = leaf(1.0, 2.0) * 1
    with torch.no_grad():
        part = y[:1]
        part.mul_(2)
    with pytest.raises(
        RuntimeError, match="^A view was created in no_grad mode and is being modified inplace with grad mode"
    ):
        part.mul_(2)
    assert y.tolist() == [2.0, 2.0]


SEVERAL = (
    "Output 0 of {} is a view and its base or another view of its base has been modified inplace. This view is the output of a "
    "function that returns multiple views. Such functions do not allow the output views to be modified inplace. You should replace "
    "the inplace operation by an out-of-place one."
)


@pytest.mark.parametrize(
    ("take", "name"),
    [(lambda y: y.chunk(2)[0], "Split"), (lambda y: y.unbind()[0], "Unbind"), (lambda y: y.chunk(2)[0][:1], "Slice")],
)
@pytest.mark.parametrize("recorded", [True, False])
def test_one_of_several_views_has_no_history_once_the_base_was_written_to(take, name, recorded):
    w = leaf(1.0, 2.0, 3.0, 4.0)
    y = w * 1
    part = take(y)
    before = part.sum()
    with torch.set_grad_enabled(recorded):
        y.mul_(2)
    for use in (lambda: part * 2, lambda: part.grad_fn, lambda: part.is_leaf, lambda: part.register_hook(print)):
        with pytest.raises(RuntimeError) as caught:
            use()
        assert str(caught.value) == SEVERAL.format(name)
    with pytest.raises(RuntimeError, match=f"^Output 0 of {name} is a view and is being modified inplace"):
        part.mul_(2)
    assert part.requires_grad
    assert part.detach().flatten()[0] == 2.0
    assert "grad_fn=<Invalid>" in repr(part)
    with torch.no_grad():
        assert (part * 2).flatten()[0] == 4.0
    before.backward()  # it was computed before the write
    assert w.grad.sum().item() == part.numel()


def test_views_made_in_no_grad_have_no_history_once_the_base_was_written_to():
    w = leaf(1.0, 2.0)
    with torch.no_grad():
        part = w[:1]
        w.mul_(2)
    with pytest.raises(RuntimeError) as caught:
        part * 2
    assert str(caught.value) == (
        "A view was created in no_grad mode and its base or another view of its base has been modified inplace with grad mode "
        "enabled. Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both "
        "the view and the inplace either both inside the no_grad block (if you don't want the inplace to be tracked) or both outside "
        "(if you want the inplace to be tracked)."
    )
    with torch.no_grad():
        part = w[:1]
    w.data.mul_(2)  # autograd does not notice this write
    assert (part * 2).tolist() == [8.0]


def test_views_that_take_no_history_along():
    """Such views of a plain tensor cause no error as long as nothing that requires grad is written."""
    w, x = leaf(1.0), torch.zeros(2)
    one = x.unbind()[0]
    one.add_(1)
    with torch.no_grad():
        other = x[1:]
    other.add_(2)
    assert x.tolist() == [1.0, 2.0]
    for part in (one, other):
        with pytest.raises(RuntimeError, match="^A view was created in no_grad mode and is being modified inplace"):
            part.add_(w.sum())
    assert (x.tolist(), x.requires_grad) == ([1.0, 2.0], False)


def test_a_view_made_in_inference_mode_is_not_written_to_outside():
    y = leaf(1.0, 2.0) * 1
    with torch.inference_mode():
        part = y[:1]
    with pytest.raises(
        RuntimeError, match="^A view was created in inference mode and is being modified inplace in normal mode"
    ):
        part.mul_(2)


def test_out_takes_part_in_no_graph():
    w = leaf(1.0, 2.0)
    with pytest.raises(
        RuntimeError, match=r"^mul\(\): functions with out=... arguments don't support automatic differentiation"
    ):
        torch.mul(w, w, out=torch.empty(2))
    with torch.no_grad():
        assert torch.mul(w, w, out=torch.empty(2)).tolist() == [1.0, 4.0]


# ---- the tensors whose versions the node of batch normalization checks


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("first", ["eval", "train"])
def test_a_training_step_between_forward_and_backward_of_batch_norm_is_no_write(first, affine):
    layer, x = torch.nn.BatchNorm1d(2, affine=affine), torch.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
    getattr(layer, first)()
    y = layer(x * 1)
    (expected,) = torch.autograd.grad((y * y).sum(), x, retain_graph=True)
    layer.train()
    layer(x.detach() * 7)
    (y * y).sum().backward()
    assert x.grad.tolist() == expected.tolist()
    assert (layer.running_mean._version, layer.running_var._version) == (1, 1)  # counted when they were filled


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("what", ["x", "mean", "var", "weight"])
@pytest.mark.parametrize("learned", [True, False])
def test_batch_norm_watches_input_weight_and_both_statistics(training, what, learned):
    x, mean, var = torch.randn(4, 3), torch.zeros(3), torch.ones(3)
    weight = torch.ones(3, requires_grad=True)
    x.requires_grad_(not learned)
    given: dict[str, Any] = {"x": x * 1 if not learned else x, "mean": mean, "var": var, "weight": weight}
    y = torch.nn.functional.batch_norm(given["x"], mean, var, weight, None, training)
    with torch.no_grad():
        given[what].add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("what", ["bias", "y"])
def test_batch_norm_does_not_watch_bias_and_result(training, what):
    x, bias = torch.randn(4, 3, requires_grad=True), torch.zeros(3, requires_grad=True)
    given = {"bias": bias, "y": torch.nn.functional.batch_norm(x, torch.zeros(3), torch.ones(3), None, bias, training)}
    y = given["y"]
    with torch.no_grad():
        given[what].add_(1)
    y.sum().backward()
    assert bias.grad.tolist() == [4.0] * 3


@pytest.mark.parametrize("training", [True, False])
def test_instance_norm_does_not_watch_its_statistics(training):
    x, mean, var = torch.randn(2, 3, 4, requires_grad=True), torch.zeros(3), torch.ones(3)
    y = torch.nn.functional.instance_norm(x, mean, var, None, None, training)
    mean.add_(1), var.add_(1)
    y.sum().backward()
    assert x.grad is not None


# ---- detach_


@pytest.mark.parametrize("requires_grad", [True, False])
@pytest.mark.parametrize("recording", [True, False])
@pytest.mark.parametrize(
    "view", [lambda x: x[0], lambda x: x.view(6), lambda x: x.t(), lambda x: x.unbind()[1], lambda x: x[0][1:]]
)
def test_a_view_cannot_be_detached_in_place(view, recording, requires_grad):
    x = torch.zeros(2, 3, requires_grad=requires_grad)
    words = r"^Can't detach views in-place. Use detach\(\) instead. If you are using .* as the solution.$"
    with torch.set_grad_enabled(recording):
        seen = view(x)
        with pytest.raises(RuntimeError, match=words):
            seen.detach_()


def test_what_is_no_view_can_be_detached_in_place():
    x = torch.zeros(2, 3, requires_grad=True)
    y = x * 1
    for each in (y, x.detach(), x.detach()[0].detach(), torch.nn.Parameter(x.detach()[0]), x.data, x.real, x):
        assert each.detach_() is each and each.is_leaf and not each.requires_grad
    with torch.inference_mode():
        seen = torch.ones(2)[0]
    assert seen.detach_() is seen


# ---- views of tensors that require a gradient, made without history


def parameter():
    return torch.nn.Parameter(torch.ones(2))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize(
    "view", [lambda p: p.view(1, 2), lambda p: p[:1], lambda p: p.unbind()[0], lambda p: p.as_strided((1,), (1,))]
)
def test_a_view_without_history_requires_a_gradient_as_its_base_does(view, mode):
    p = parameter()
    with mode():
        seen = view(p)
        assert seen.requires_grad and seen.is_leaf and seen.grad_fn is None and seen._base is p
        assert seen.numpy().shape == seen.shape
        seen.add_(1)
    assert p.tolist()[0] == 2.0 and repr(seen).endswith("grad_fn=<Invalid>)")
    with pytest.raises(
        RuntimeError, match="^A view was created in (no_grad|inference) mode and is being modified inplace"
    ):
        seen.add_(1)
    p.requires_grad_(False)
    assert not seen.requires_grad and not (seen * 1).requires_grad
    p.requires_grad_(True)
    assert seen.requires_grad
    assert not seen.detach().requires_grad and not seen.data.requires_grad


def test_a_view_made_before_its_base_required_a_gradient():
    x = torch.ones(2)
    seen, detached = x.view(2), x.detach()
    x.requires_grad_()
    assert seen.requires_grad and seen.is_leaf and not detached.requires_grad
    with pytest.raises(RuntimeError, match="^element 0 of tensors does not require grad and does not have a grad_fn$"):
        seen[0].detach().backward()
    with pytest.raises(
        RuntimeError, match="^a view of a leaf Variable that requires grad is being used in an in-place"
    ):
        seen.add_(1)


def test_copies_of_a_view_without_history_require_a_gradient_themselves():
    p = parameter()
    with torch.no_grad():
        seen = p.view(2)
    for same in (copy.copy(seen), copy.deepcopy(seen)):
        assert same.requires_grad and same._base is None
        (same * 3).sum().backward()
        assert same.grad.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_numpy_is_there_where_nothing_is_recorded(mode):
    p = parameter()
    y = p * 2
    with mode():
        p.numpy()[0] = 5
        assert y.numpy().tolist() == [2.0, 2.0] and np.asarray(p).tolist() == [5.0, 1.0]
        with pytest.raises(BufferError, match="Can't export tensors that require gradient"):
            p.__dlpack__()
    assert p.tolist() == [5.0, 1.0]
    for refused in (p, y):
        with pytest.raises(RuntimeError, match="^Can't call numpy"):
            refused.numpy()


@pytest.mark.parametrize("write", [lambda x: x.eq_(2), lambda x: x.lt_(x), lambda x: x[:].ne_(2), lambda x: x.ge_(1)])
def test_a_comparison_in_place_leaves_no_gradient_of_what_was_there(write):
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    x = a * 3
    write(x)
    (x * a).sum().backward()
    assert a.grad.tolist() == x.tolist()


def test_what_has_no_derivative_is_refused_in_place_too():
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    for part in (slice(None), slice(1)):
        x = a * 3
        x[part].floor_divide_(2)
        with pytest.raises(RuntimeError, match="derivative for aten::floor_divide_ is not implemented"):
            x.sum().backward()
    x = a * 3
    x //= 2
    with pytest.raises(RuntimeError, match="derivative for aten::floor_divide_ is not implemented"):
        x.sum().backward()
    x = (a * 3).logical_and_(a.detach())  # PyTorch treats the result as a constant and keeps the history
    x.sum().backward()
    assert a.grad.tolist() == [3.0, 3.0]


def test_polygamma_in_place_differentiates_at_what_was_there():
    a = torch.tensor([0.5, 1.5], requires_grad=True)
    x = a * 1
    assert x.polygamma_(1) is x
    x.sum().backward()
    torch.testing.assert_close(a.grad, torch.tensor([-16.828796, -0.8287966]))
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        torch.tensor([2]).polygamma_(1)


@pytest.mark.parametrize("which", ["what is set", "what it is set to", "to nothing"])
def test_set_with_history_is_refused_in_the_backward_pass(which):
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    x = {"what it is set to": torch.zeros(2)}.get(which, a * 2)
    sources = {"what is set": [torch.ones(2)], "what it is set to": [a * 2], "to nothing": []}[which]
    x.set_(*sources)
    assert x.requires_grad and type(x.grad_fn).__name__ == "NotImplemented"
    with pytest.raises(RuntimeError, match="^derivative for set_ is not implemented$"):
        x.sum().backward()


def test_set_without_recording_leaves_the_history():
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    x, y = a * 2, torch.zeros(2)
    with torch.no_grad():
        y.set_(x)
        x.set_(torch.ones(2))
    assert not y.requires_grad
    x.sum().backward()
    assert a.grad.tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((-1, (2,), (1,)), "Tensor: invalid storage offset -1"),
        ((0, (2,), (-1,)), "Storage size calculation overflowed with sizes=[2] and strides=[-1]"),
        ((0, (-2,), (1,)), "numel: integer multiplication overflow"),
        ((0, (2, 2), (1,)), "unequal size length (2) and stride length (1)"),
    ],
)
def test_set_refuses_shapes_that_mean_nothing(shape, message):
    x = torch.zeros(4)
    with pytest.raises(RuntimeError) as raised:
        x.set_(torch.ones(4), *shape)
    assert str(raised.value) == message
    assert x.tolist() == [0.0] * 4


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.exp_(),
        lambda x: x.sigmoid_(),
        lambda x: x.view(4).exp_(),
        lambda x: torch.nn.functional.relu(x.view(4), inplace=True),
        lambda x: x[0].tanh_(),
        lambda x: x.mul_(2),
    ],
)
def test_a_graph_of_writes_is_freed_as_soon_as_nobody_refers_to_it(write):
    gc.collect()
    gc.disable()
    try:
        x = torch.ones(2, 2, requires_grad=True).clone()
        nodes = [weakref.ref(x.grad_fn)]
        result = write(x)
        nodes += [weakref.ref(x.grad_fn), weakref.ref(result.grad_fn)]
        del x, result
        assert [node() for node in nodes] == [None] * 3
    finally:
        gc.enable()
