"""Losses, softmax, normalisation and embedding: values by their formulas, labels out of range, and PyTorch's messages."""

import math
from typing import Any

import numpy as np
import pytest

import torchlike as torch
import torchlike.nn.functional as F

pytestmark = pytest.mark.single

ones = torch.ones


def labels(*values, **options):
    return torch.tensor(values, **options)


def test_cross_entropy_by_its_formula():
    x: Any = torch.randn(4, 3, requires_grad=True)
    y = labels(0, 2, 1, 1)
    loss: Any = F.cross_entropy(x, y)
    p = np.exp(x.detach().numpy()) / np.exp(x.detach().numpy()).sum(1, keepdims=True)
    assert loss.item() == pytest.approx(-np.log(p[range(4), y.numpy()]).mean(), rel=1e-5)
    loss.backward()
    np.testing.assert_allclose(x.grad.numpy(), (p - np.eye(3)[y.numpy()]) / 4, rtol=1e-4, atol=1e-6)
    assert loss.grad_fn.name() == "NllLossBackward0"
    assert loss.grad_fn.next_functions[0][0].name() == "LogSoftmaxBackward0"


def test_weights_ignored_labels_and_reductions():
    x, y = torch.randn(4, 3), labels(0, 2, -100, 1)
    each = F.cross_entropy(x, y, reduction="none")
    assert each[2].item() == 0
    assert F.cross_entropy(x, y).item() == pytest.approx(each.sum().item() / 3, rel=1e-5)
    w = torch.tensor([1.0, 2.0, 4.0])
    weighted = F.cross_entropy(x, y, w, reduction="none")
    assert weighted.tolist() == pytest.approx((each * torch.tensor([1.0, 4.0, 0.0, 2.0])).tolist(), rel=1e-5)
    assert F.cross_entropy(x, y, w).item() == pytest.approx(weighted.sum().item() / 7, rel=1e-5)
    assert math.isnan(F.cross_entropy(x, labels(-100, -100, -100, -100)).item())


def test_labels_as_probabilities_and_smoothed():
    x, y = torch.randn(4, 3), labels(0, 2, 1, 1)
    target = F.one_hot(y, 3).float()
    assert F.cross_entropy(x, target).item() == pytest.approx(F.cross_entropy(x, y).item(), rel=1e-5)
    smooth = target * 0.9 + 0.1 / 3
    assert F.cross_entropy(x, y, label_smoothing=0.1).item() == pytest.approx(
        F.cross_entropy(x, smooth).item(), rel=1e-5
    )


def test_images_of_classes():
    x, y = torch.randn(2, 3, 4, 5), torch.randint(3, (2, 4, 5))
    flat = x.permute(0, 2, 3, 1).reshape(-1, 3)
    assert F.cross_entropy(x, y).item() == pytest.approx(F.cross_entropy(flat, y.reshape(-1)).item(), rel=1e-5)


X = ones(2, 3)
WRONG = [
    (lambda: F.cross_entropy(X, labels(0, 3)), IndexError, "Target 3 is out of bounds."),
    (lambda: F.cross_entropy(X, labels(0, -1)), IndexError, "Target -1 is out of bounds."),
    (lambda: F.cross_entropy(X, labels(0, 1, 2)), ValueError, "Expected input batch_size (2) to match target batch_size (3)."),
    (lambda: F.cross_entropy(X, labels(0.0, 1)), RuntimeError, "expected target dtype to be Long or Byte, but got Float"),
    (lambda: F.cross_entropy(X, ones(2, 3).long()), RuntimeError, "Expected floating point type for target with class probabilities, "
     "got Long"),
    (lambda: F.cross_entropy(X, labels(0, 1), weight=ones(2)), RuntimeError, "weight tensor should be defined either for all 3 classes "
     "or no classes but got weight tensor of shape: [2]"),
    (lambda: F.cross_entropy(X, labels(0, 1), reduction="foo"), ValueError, "foo is not a valid value for reduction"),
    (lambda: F.cross_entropy(X, labels(0, 1), label_smoothing=2.0), RuntimeError, "label_smoothing must be between 0.0 and 1.0. Got: 2"),
    (lambda: F.cross_entropy(X.long(), labels(0, 1)), NotImplementedError, "\"log_softmax_lastdim_kernel_impl\" not implemented for "
     "'Long'"),
    (lambda: F.binary_cross_entropy(X * 1.5, X), RuntimeError, "all elements of input should be between 0 and 1"),
    (lambda: F.binary_cross_entropy(X, ones(3)), ValueError, "Using a target size (torch.Size([3])) that is different to the input size "
     "(torch.Size([2, 3])) is deprecated. Please ensure they have the same size."),
    (lambda: F.softmax(X, 2), IndexError, "Dimension out of range (expected to be in range of [-2, 1], but got 2)"),
    (lambda: F.layer_norm(X, (2,)), RuntimeError, "Given normalized_shape=[2], expected input with shape [*, 2], but got input of "
     "size[2, 3]"),
    (lambda: F.batch_norm(X, None, None), RuntimeError, "running_mean must be defined in evaluation mode"),
    (lambda: F.batch_norm(ones(1, 3), None, None, training=True), ValueError, "Expected more than 1 value per channel when training, "
     "got input size torch.Size([1, 3])"),
    (lambda: F.embedding(labels(0, 2), ones(2, 3)), IndexError, "index out of range in self"),
    (lambda: F.embedding(labels(0.0), ones(2, 3)), RuntimeError, "Expected tensor for argument #1 'indices' to have one of the following "
     "scalar types: Long, Int; but got torch.FloatTensor instead (while checking arguments for embedding)"),
    (lambda: F.one_hot(labels(0, 2), 2), RuntimeError, "Class values must be smaller than num_classes."),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), WRONG)
def test_refuses(call, error, message):
    with pytest.raises(error) as caught:
        call().item()  # the check ran in the compiled program, and its error is raised at the first read
    assert str(caught.value) == message


def test_a_computed_label_out_of_range_is_an_error_at_the_read(op_by_op):
    target = labels(0, 1) + 2
    loss = None if op_by_op else F.cross_entropy(X, target)
    with pytest.raises(IndexError, match="Target 3 is out of bounds."):
        F.cross_entropy(X, target) if loss is None else loss.item()  # in eager mode the line itself raises


def test_mse_and_its_warning():
    assert F.mse_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0])).item() == 2
    with pytest.warns(UserWarning, match=r"Using a target size \(torch.Size\(\[3\]\)\) that is different"):
        F.mse_loss(X, ones(3))


def test_robust_losses():
    x, y = torch.tensor([0.0, 0.5, 3.0]), torch.zeros(3)
    assert F.smooth_l1_loss(x, y, reduction="none").tolist() == [0, 0.125, 2.5]
    assert F.huber_loss(x, y, delta=2.0, reduction="none").tolist() == [0, 0.125, 4]
    assert F.smooth_l1_loss(x, y, beta=0.0).item() == F.l1_loss(x, y).item()


def test_binary_cross_entropy_is_bounded_and_agrees_with_logits():
    assert F.binary_cross_entropy(labels(1.0, 1.0), labels(0.0, 1.0), reduction="none").tolist() == [100, 0]
    x, y = torch.randn(5), (torch.rand(5) > 0.5).float()
    assert F.binary_cross_entropy_with_logits(x, y).item() == pytest.approx(
        F.binary_cross_entropy(x.sigmoid(), y).item(), rel=1e-5
    )
    assert F.binary_cross_entropy_with_logits(labels(200.0), labels(0.0)).item() == 200


def test_kl_div_needs_no_log_of_zero():
    assert F.kl_div(labels(0.0, -1.0), labels(0.0, 1.0), reduction="sum").item() == 1
    with pytest.warns(UserWarning, match="'mean' divides the total loss by both"):
        F.kl_div(X, X)


def test_softmax_of_large_numbers_and_its_gradient():
    x: Any = torch.tensor([1000.0, 1000.0, -math.inf], requires_grad=True)
    y = F.softmax(x, 0)
    assert y.tolist() == [0.5, 0.5, 0]
    y[0].backward()
    assert x.grad.tolist() == [0.25, -0.25, 0]


def test_layer_norm_by_its_formula():
    x = torch.randn(3, 4)
    a = x.numpy()
    expected = (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(F.layer_norm(x, (4,)).numpy(), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        F.layer_norm(x, (4,), ones(4) * 2, ones(4)).numpy(), 2 * expected + 1, rtol=1e-5, atol=1e-5
    )


def test_batch_norm_keeps_running_statistics():
    x, mean, var = torch.randn(8, 3, 2), torch.zeros(3), ones(3)
    out = F.batch_norm(x, mean, var, training=True, momentum=0.5)
    a = x.numpy().transpose(1, 0, 2).reshape(3, -1)
    assert mean.tolist() == pytest.approx((a.mean(1) / 2).tolist(), rel=1e-4, abs=1e-6)
    assert var.tolist() == pytest.approx((0.5 + a.var(1, ddof=1) / 2).tolist(), rel=1e-4)
    assert abs(out.mean().item()) < 1e-6
    again = F.batch_norm(x, mean, var)
    expected = (x.numpy() - mean.numpy()[:, None]) / np.sqrt(var.numpy()[:, None] + 1e-5)
    np.testing.assert_allclose(again.numpy(), expected, rtol=1e-4, atol=1e-5)


def test_group_and_instance_norm_agree_where_they_must():
    x = torch.randn(2, 4, 5)
    np.testing.assert_allclose(F.group_norm(x, 4).numpy(), F.instance_norm(x).numpy(), rtol=1e-5, atol=1e-5)


def test_normalize_has_unit_rows():
    assert F.normalize(torch.randn(3, 4)).norm(dim=1).tolist() == pytest.approx([1, 1, 1], rel=1e-5)
    assert F.normalize(torch.zeros(1, 4)).tolist() == [[0, 0, 0, 0]]


def test_embedding_gradients_add_up_and_leave_padding_out():
    w: Any = torch.randn(4, 2, requires_grad=True)
    F.embedding(labels(1, 1, 3, 0), w, padding_idx=3).sum().backward()
    assert w.grad.tolist() == [[1, 1], [2, 2], [0, 0], [0, 0]]
    w.grad.zero_()
    F.embedding(labels(1, 1, 3), w, scale_grad_by_freq=True).sum().backward()
    assert w.grad.tolist() == [[0, 0], [1, 1], [0, 0], [1, 1]]


def test_embedding_shortens_long_rows_in_place():
    w = torch.tensor([[3.0, 4.0], [0.3, 0.4]])
    F.embedding(labels(0, 1), w, max_norm=1.0)
    assert w[0].tolist() == pytest.approx([0.6, 0.8], rel=1e-5)
    assert w[1].tolist() == pytest.approx([0.3, 0.4])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_types_are_computed_in_float32(dtype):
    x = torch.full((1, 300), 1.0, dtype=dtype)
    assert F.softmax(x, 1).dtype is dtype
    assert F.cross_entropy(x, labels(0)).item() == pytest.approx(math.log(300), rel=4e-3)


def test_margin_losses_by_their_formulas():
    x = torch.tensor([[0.1, 0.2, 0.4, 0.8]])
    # the example of the definition: labels 3 and 0 against the classes 1 and 2
    labelled = F.multilabel_margin_loss(x, labels([3, 0, -1, 1]))
    assert labelled.item() == pytest.approx(0.25 * (0.4 + 0.6 + 1.1 + 1.3), rel=1e-5)
    assert F.multi_margin_loss(x, labels(3)).item() == pytest.approx((0.3 + 0.4 + 0.6) / 4, rel=1e-5)
    far = F.triplet_margin_loss(torch.zeros(1, 2), torch.zeros(1, 2), torch.tensor([[3.0, 4.0]]), margin=6.0)
    assert far.item() == pytest.approx(1.0, abs=1e-4)
    pairs = F.cosine_embedding_loss(ones(2, 2), ones(2, 2), labels(1.0, -1.0), reduction="none")
    assert pairs.tolist() == pytest.approx([0, 1], abs=1e-6)


def test_a_class_out_of_range_is_an_error_in_margin_losses_too():
    with pytest.raises(RuntimeError, match="target out of range"):
        F.multi_margin_loss(X, labels(0, 3)).item()


def test_hard_gumbel_samples_are_one_hot_with_soft_gradients():
    logits: Any = torch.zeros(5, 3, requires_grad=True)
    sample: Any = F.gumbel_softmax(logits, hard=True)
    assert (sample.sum(1) - 1).abs().max().item() < 1e-6
    sample[:, 0].sum().backward()
    assert logits.grad.abs().sum().item() > 0


@pytest.mark.parametrize("name", ["weight", "pos_weight"])
def test_weights_of_a_binary_cross_entropy_need_no_gradient(name):
    factor: dict[str, Any] = {name: torch.ones(2, requires_grad=True)}
    x, y = torch.ones(2, requires_grad=True), torch.ones(2)
    words = f"The function 'binary_cross_entropy_with_logits' is not differentiable with respect to argument '{name}'"
    with pytest.raises(RuntimeError, match=words):
        torch.nn.functional.binary_cross_entropy_with_logits(x, y, **factor)
    with torch.no_grad():
        torch.nn.functional.binary_cross_entropy_with_logits(x, y, **factor)
