"""Convolution, pooling and padding: compared with plain loops; ties, sizes, and PyTorch's messages for shapes that do not fit."""

import itertools
from typing import Any

import numpy as np
import pytest

import torchlike as torch
import torchlike.nn.functional as F

pytestmark = pytest.mark.single

ones = torch.ones


def slow_conv(x, w, stride, padding, dilation, groups):
    """Computes the cross-correlation by its definition, in float64."""
    count = w.ndim - 2
    x = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *[(p, p) for p in padding]])
    sizes = [
        (n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(x.shape[2:], w.shape[2:], stride, dilation, strict=True)
    ]
    out = np.zeros((x.shape[0], w.shape[0], *sizes))
    inputs, outputs = x.shape[1] // groups, w.shape[0] // groups
    for n, o in itertools.product(range(x.shape[0]), range(w.shape[0])):
        group = o // outputs
        for place in itertools.product(*map(range, sizes)):
            window = tuple(
                slice(p * s, p * s + d * (k - 1) + 1, d)
                for p, s, d, k in zip(place, stride, dilation, w.shape[2:], strict=True)
            )
            out[(n, o, *place)] = (x[(n, slice(group * inputs, (group + 1) * inputs), *window)] * w[o]).sum()
    assert count == len(sizes)
    return out


CASES = [
    # input, weight, stride, padding, dilation, groups; the last two have too many products for the lowering to columns
    ((2, 3, 7), (4, 3, 3), (2,), (1,), (1,), 1),
    ((2, 3, 6, 5), (4, 3, 3, 2), (1, 2), (1, 0), (1, 2), 1),
    ((2, 4, 5, 5), (4, 2, 3, 3), (1, 1), (1, 1), (1, 1), 2),
    ((1, 2, 4, 4, 4), (3, 2, 2, 2, 2), (1, 1, 1), (0, 0, 0), (1, 1, 1), 1),
    ((2, 3, 4, 4), (4, 3, 1, 1), (2, 2), (0, 0), (1, 1), 1),
    ((1, 40, 5, 5), (3, 40, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((1, 40, 6, 6), (4, 40, 3, 3), (2, 2), (1, 1), (2, 2), 1),
]


@pytest.mark.parametrize(("x", "w", "stride", "padding", "dilation", "groups"), CASES)
def test_conv_by_its_definition_and_both_gradients(x, w, stride, padding, dilation, groups):
    function = (F.conv1d, F.conv2d, F.conv3d)[len(stride) - 1]
    input: Any = torch.randn(*x, requires_grad=True)
    weight: Any = torch.randn(*w, requires_grad=True)
    bias: Any = torch.randn(w[0], requires_grad=True)
    out = function(input, weight, bias, stride, padding, dilation, groups)
    a, b = input.detach().numpy(), weight.detach().numpy()
    expected = slow_conv(a, b, stride, padding, dilation, groups) + bias.detach().numpy().reshape(
        -1, *[1] * len(stride)
    )
    np.testing.assert_allclose(out.detach().numpy(), expected, rtol=1e-4, atol=1e-4)
    # The convolution is linear in each operand: <g, conv(x, w)> = <grad_x, x> = <grad_w, w>.
    g = torch.randn(*out.shape)
    out.backward(g)
    inner = (g.numpy() * (out.detach().numpy() - bias.detach().numpy().reshape(-1, *[1] * len(stride)))).sum()
    assert (input.grad.numpy() * a).sum() == pytest.approx(inner, rel=1e-3, abs=1e-3)
    assert (weight.grad.numpy() * b).sum() == pytest.approx(inner, rel=1e-3, abs=1e-3)
    assert bias.grad.numpy() == pytest.approx(g.numpy().sum((0, *range(2, g.dim()))), rel=1e-3, abs=1e-3)


def test_transposed_convolution_is_the_gradient_of_the_convolution():
    x: Any = torch.randn(2, 4, 7, 7, requires_grad=True)
    w = torch.randn(6, 2, 3, 3)
    out = F.conv2d(x, w, stride=2, padding=1, groups=2)
    g = torch.randn(*out.shape)
    out.backward(g)
    np.testing.assert_allclose(
        F.conv_transpose2d(g, w, stride=2, padding=1, groups=2).numpy(), x.grad.numpy(), rtol=1e-4, atol=1e-4
    )
    assert F.conv_transpose2d(ones(1, 3, 5, 5), ones(3, 2, 3, 3), stride=2, output_padding=1).shape == (1, 2, 12, 12)


def test_half_precision_gradients_of_a_small_convolution_are_rounded_once():
    x, w = (
        torch.zeros(1, 1, 40, dtype=torch.bfloat16, requires_grad=True),
        (torch.arange(1, 33).bfloat16() / 7).reshape(1, 1, 32),
    )
    (grad,) = torch.autograd.grad(F.conv1d(x, w).sum(), x)
    expected = [w[0, 0, max(0, i - 8) : i + 1].float().sum().bfloat16().item() for i in range(32)]
    assert grad[0, 0, :32].tolist() == expected


def test_same_padding_and_single_images():
    assert F.conv2d(ones(3, 5, 5), ones(2, 3, 3, 3), padding="same").shape == (2, 5, 5)
    with pytest.warns(UserWarning, match="padding='same' with even kernel lengths"):
        assert F.conv2d(ones(1, 3, 5, 5), ones(2, 3, 2, 2), padding="same").shape == (1, 2, 5, 5)


def test_empty_batches():
    assert F.conv2d(ones(0, 3, 5, 5), ones(2, 3, 3, 3)).shape == (0, 2, 3, 3)
    assert F.max_pool2d(ones(0, 1, 4, 4), 2).shape == (0, 1, 2, 2)


X, W = ones(1, 3, 5, 5), ones(2, 3, 3, 3)
WRONG = [
    (lambda: F.conv2d(X, ones(2, 4, 3, 3)), "Given groups=1, weight of size [2, 4, 3, 3], expected input[1, 3, 5, 5] to have 4 "
     "channels, but got 3 channels instead"),
    (lambda: F.conv2d(X, ones(2, 3, 6, 6)), "Calculated padded input size per channel: (5 x 5). Kernel size: (6 x 6). Kernel size "
     "can't be greater than actual input size"),
    (lambda: F.conv2d(ones(5, 5), W), "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: [5, 5]"),
    (lambda: F.conv2d(X, W, ones(3)), "Given weight of size [2, 3, 3, 3], expected bias to be 1-dimensional with 2 elements, but got "
     "bias of size [3] instead"),
    (lambda: F.conv2d(X, W, stride=0), "non-positive stride is not supported"),
    (lambda: F.conv2d(X, W, padding=-1), "negative padding is not supported"),
    (lambda: F.conv2d(X, W, padding="foo"), "Invalid padding string: 'foo'"),
    (lambda: F.conv2d(X, W, padding="same", stride=2), "padding='same' is not supported for strided convolutions"),
    (lambda: F.conv2d(X, W, stride=(1, 2, 3)), "expected stride to be a single integer value or a list of 2 values to match the "
     "convolution dimensions, but got stride=[1, 2, 3]"),
    (lambda: F.conv2d(X, W.double()), "expected scalar type Float but found Double"),
    (lambda: F.conv_transpose2d(X, ones(3, 2, 3, 3), output_padding=1), "output padding must be smaller than either stride or "
     "dilation, but got output_padding_height: 1 output_padding_width: 1 stride_height: 1 stride_width: 1 dilation_height: 1 "
     "dilation_width: 1"),
    (lambda: F.max_pool2d(ones(4, 4), 2), "non-empty 3D or 4D (batch mode) tensor expected for input"),
    (lambda: F.max_pool2d(ones(1, 1, 4, 4), 2, padding=2), "pad should be at most half of effective kernel size, but got pad=2, "
     "kernel_size=2 and dilation=1"),
    (lambda: F.max_pool2d(ones(1, 1, 4, 4), 5), "Given input size: (1x4x4). Calculated output size: (1x0x0). Output size is too small"),
    (lambda: F.max_pool1d(ones(1, 1, 4), 5), "max_pool1d() Invalid computed output size: 0"),
    (lambda: F.avg_pool2d(ones(1, 1, 4, 4), 2, divisor_override=0), "divisor must be not zero"),
    (lambda: F.adaptive_avg_pool2d(ones(1, 1, 4, 4), (1, 2, 3)), "adaptive_avg_pool2d: output_size must be 2"),
    (lambda: F.adaptive_avg_pool1d(ones(4), 1), "Expected 2 to 3 dimensions, but got 1-dimensional tensor for argument #1 'self' (while "
     "checking arguments for adaptive_avg_pool1d)"),
    (lambda: F.adaptive_max_pool1d(ones(1, 1, 1, 4), 1), "Expected 2 to 3 dimensions, but got 4-dimensional tensor for argument #1 'self' "
     "(while checking arguments for adaptive_max_pool1d)"),
    (lambda: F.adaptive_max_pool2d(ones(4, 4), 1), "adaptive_max_pool2d(): Expected 3D or 4D tensor, but got: [4, 4]"),
    (lambda: F.adaptive_max_pool3d(ones(4), 1), "adaptive_max_pool3d(): Expected 4D or 5D tensor, but got: [4]"),
    (lambda: F.pad(ones(1, 1, 4, 4), (5, 1, 1, 1), mode="reflect"), "Argument #4: Padding size should be less than the corresponding "
     "input dimension, but got: padding (5, 1) at dimension 3 of input [1, 1, 4, 4]"),
    (lambda: F.pad(ones(4), (1, 1, 1)), "Padding length must be divisible by 2"),
    (lambda: F.pad(ones(1, 4), (-3, -3)), "narrow(): length must be non-negative."),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_refuses(call, message):
    with pytest.raises(RuntimeError) as caught:
        call()
    assert str(caught.value) == message


def test_adaptive_pooling_refuses_too_few_dimensions_and_sizes_of_none():
    with pytest.raises(IndexError, match="Dimension out of range .expected to be in range of .-2, 1., but got -3"):
        F.adaptive_avg_pool3d(ones(4, 4), 1)
    with pytest.raises(TypeError, match="must be tuple of ints, but found element of type NoneType at pos 0"):
        F.adaptive_avg_pool1d(ones(1, 1, 4), (None,))  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="must be tuple of ints, not NoneType"):
        F.adaptive_max_pool1d(ones(1, 1, 4), None)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(("kernel", "stride"), [(2, 2), (3, 1), (2, 3)])
def test_max_pool_gives_the_gradient_to_the_first_of_equals(kernel, stride):
    x: Any = torch.zeros(1, 1, 6, 6, requires_grad=True)
    values, positions = F.max_pool2d(x, kernel, stride, return_indices=True)
    values.sum().backward()
    expected = np.zeros(36)
    for position in positions.numpy().reshape(-1):
        expected[position] += 1
    assert x.grad.numpy().reshape(-1).tolist() == expected.tolist()
    assert positions[0, 0, 0, 1].item() == stride


def test_max_pool_lets_nan_through():
    values, positions = F.max_pool2d(torch.tensor([[[1.0, float("nan")], [3.0, 2.0]]]), 2, return_indices=True)
    assert np.isnan(values.item())
    assert positions.item() == 1


def test_padding_is_never_the_maximum():
    x = torch.full((1, 1, 3, 3), -5.0)
    assert F.max_pool2d(x, 3, 1, 1).tolist() == x.tolist()


def test_means_count_padding_or_not():
    x = ones(1, 1, 4, 4)
    assert F.avg_pool2d(x, 3, padding=1, count_include_pad=False).tolist() == [[[[1, 1], [1, 1]]]]
    assert F.avg_pool2d(x, 3, padding=1)[0, 0, 0, 0].item() == pytest.approx(4 / 9)
    assert F.avg_pool2d(ones(1, 1, 5, 5), 2, ceil_mode=True).tolist() == ones(1, 1, 3, 3).tolist()
    assert F.avg_pool2d(x, 2, divisor_override=2)[0, 0, 0, 0].item() == 2


@pytest.mark.parametrize("size", [1, 2, 3, 5, (None, 3)])
def test_adaptive_windows(size):
    x = torch.arange(42.0).view(1, 6, 7)
    means = F.adaptive_avg_pool2d(x, size).numpy()[0]
    largest = F.adaptive_max_pool2d(x, size).numpy()[0]
    rows, columns = means.shape
    for i, j in itertools.product(range(rows), range(columns)):
        window = x.numpy()[0, i * 6 // rows : -(-(i + 1) * 6 // rows), j * 7 // columns : -(-(j + 1) * 7 // columns)]
        assert means[i, j] == pytest.approx(window.mean(), rel=1e-5)
        assert largest[i, j] == window.max()


PADS = [
    ("constant", [0, 1, 2, 3, 0]),
    ("reflect", [2, 1, 2, 3, 2]),
    ("replicate", [1, 1, 2, 3, 3]),
    ("circular", [3, 1, 2, 3, 1]),
]


@pytest.mark.parametrize(("mode", "expected"), PADS)
def test_pad(mode, expected):
    x: Any = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    out = F.pad(x, (1, 1), mode=mode)
    assert out.tolist() == [expected]
    out.sum().backward()
    assert x.grad.sum().item() == (3 if mode == "constant" else 5)


NAMES = [
    (lambda x: F.conv2d(x, ones(2, 1, 2, 2)), "ConvolutionBackward0"),
    (lambda x: F.max_pool2d(x, 2), "MaxPool2DWithIndicesBackward0"),
    (lambda x: F.avg_pool2d(x, 2), "AvgPool2DBackward0"),
    (lambda x: F.adaptive_avg_pool2d(x, 2), "AdaptiveAvgPool2DBackward0"),
    (lambda x: F.adaptive_avg_pool2d(x, 1), "MeanBackward1"),
    (lambda x: F.pad(x, (1, 1)), "ConstantPadNdBackward0"),
]


@pytest.mark.parametrize(("function", "name"), NAMES)
def test_graph_names(function, name):
    assert function(torch.randn(1, 1, 4, 4, requires_grad=True)).grad_fn.name() == name


def test_the_gradient_of_a_bias_is_summed_exactly():
    random = np.random.default_rng(0)
    x, slope = (torch.from_numpy(random.standard_normal((64, n, 24, 24)).astype(np.float32)) for n in (1, 32))
    weight, bias = torch.ones(32, 1, 1, 1, requires_grad=True), torch.zeros(32, requires_grad=True)
    for _ in range(3):  # so that it is compiled
        weight.grad = bias.grad = None
        F.conv2d(x, weight, bias).backward(slope)
    assert bias.grad is not None
    wanted = slope.double().sum((0, 2, 3))
    assert (bias.grad.double() - wanted).abs().max().item() < 3e-4
