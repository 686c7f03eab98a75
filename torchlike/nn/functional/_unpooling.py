"""Functions that undo pooling, and pooling over windows at random positions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..._core.annotations import IntOrInts
from ..._core.tensor import Tensor
from ...dispatch.arguments import check_value
from ...dispatch.options import is_integer
from ...dispatch.warned import alert
from ...ops.creation.random import rand
from ...ops.nn import unpool
from ...ops.shape.reshape import lay_out_channels

__all__ = [
    "fractional_max_pool2d", "fractional_max_pool2d_with_indices", "fractional_max_pool3d", "fractional_max_pool3d_with_indices",
    "max_unpool1d", "max_unpool2d", "max_unpool3d",
]  # fmt: skip


def _as_tuple(value: Any, count: int) -> list[int]:
    return [int(value)] * count if is_integer(value) else [int(v) for v in value]


def _repeated(value: Any, count: int) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, Iterable) else (value,) * count


def _unpooled_size(
    input: Tensor, kernel: tuple[Any, ...], stride: tuple[Any, ...], padding: tuple[Any, ...], output_size: Any
) -> tuple[Any, ...]:
    """The size that is asked for, or the one that follows. As in PyTorch, how long ``kernel`` is says how many dimensions there are."""
    count = len(kernel)
    lengths = input.shape[input.dim() - count :]
    default_lengths = [(lengths[d] - 1) * stride[d] + kernel[d] - 2 * padding[d] for d in range(count)]
    sizes = default_lengths
    if output_size is not None:
        sizes = list(output_size)[2:] if len(output_size) == count + 2 else list(output_size)
        if len(sizes) != count:
            raise ValueError(
                f"output_size should be a sequence containing {count} or {count + 2} elements, but it has a length of "
                f"'{len(output_size)}'"
            )
        for axis, (size, expected) in enumerate(zip(sizes, default_lengths, strict=True)):
            low, high = expected - stride[axis], expected + stride[axis]
            if not low < size < high:
                raise ValueError(f'invalid output_size "{output_size}" (dim {axis} must be between {low} and {high})')
    for axis, size in enumerate(sizes):
        if size < 0:
            raise ValueError(
                f"max_unpooling: output_size must contain non-negative spatial dimensions, but got output_size[{axis}]={size}"
            )
    return tuple(sizes)


def _check_sizes(size: tuple[Any, ...], stride: tuple[Any, ...], padding: tuple[Any, ...], count: int) -> None:
    """Raises what PyTorch's inner function, for images or volumes, says about its arguments."""
    name = f"max_unpool{count}d"
    arguments = [("output_size", size), *([("stride", stride), ("padding", padding)] if count == 3 else [])]
    for position, (parameter, values) in enumerate(arguments, 3):
        check_value(name, parameter, position, "Sequence[int]", values)
    if len(size) != count:
        axes = "three elements (depth, height, width)" if count == 3 else "two elements (height, width)"
        raise RuntimeError(f"There should be exactly {axes} in output_size, but got {len(size)} elements.")
    if count == 3 and min(stride) <= 0:
        raise RuntimeError(f"strides should be greater than zero, but got stride: {list(stride)}")


def _unpooled(
    input: Tensor,
    indices: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None,
    padding: IntOrInts,
    output_size: IntOrInts | None,
    count: int,
) -> Tensor:
    kernel = _repeated(kernel_size, count)
    steps = kernel if stride is None else _repeated(stride, count)
    around = _repeated(padding, count)
    size = _unpooled_size(input, kernel, steps, around, output_size)
    # PyTorch unpools rows as images of width 1.
    size = (*size, 1) if count == 1 else size
    images = max(count, 2)
    _check_sizes(size, steps, around, images)
    size = tuple(map(int, size))
    alert(f"max_unpooling{images}d_forward_out")
    if count > 1:
        return unpool.max_unpool(input, indices, size, f"MaxUnpool{count}DBackward0")
    result = unpool.max_unpool(input.unsqueeze(-1), indices.unsqueeze(-1), size, "MaxUnpool2DBackward0")
    return result.squeeze(-1)


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    output_size: IntOrInts | None = None,
) -> Tensor:
    """Puts values where ``max_pool1d`` found them, and 0 elsewhere.

    Args:
        indices: the positions that ``max_pool1d`` returned with ``return_indices=True``.
        output_size: the size before pooling, which the pooled size does not determine.

    >>> pooled, at = F.max_pool1d(torch.tensor([[[1.0, 3.0, 2.0, 0.0]]]), 2, return_indices=True)
    >>> F.max_unpool1d(pooled, at, 2)
    tensor([[[0., 3., 2., 0.]]])
    """
    return _unpooled(input, indices, kernel_size, stride, padding, output_size, 1)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    output_size: IntOrInts | None = None,
) -> Tensor:
    """Puts values where ``max_pool2d`` found them, and 0 elsewhere; the arguments are those of ``max_unpool1d``."""
    return lay_out_channels(_unpooled(input, indices, kernel_size, stride, padding, output_size, 2), input)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    output_size: IntOrInts | None = None,
) -> Tensor:
    """Puts values where ``max_pool3d`` found them, and 0 elsewhere; the arguments are those of ``max_unpool1d``."""
    return _unpooled(input, indices, kernel_size, stride, padding, output_size, 3)


def _fractional(
    input: Tensor, kernel_size: Any, output_size: Any, output_ratio: Any, samples: Tensor | None, count: int
) -> tuple[Tensor, Tensor]:
    name = f"fractional_max_pool{count}d"
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    lengths = input.shape[input.dim() - count :]
    if output_size is None:
        ratios = [output_ratio] * count if isinstance(output_ratio, float) else list(output_ratio)
        output_size = [int(n * ratio) for n, ratio in zip(lengths, ratios, strict=True)]
    for argument, value in (("kernel_size", kernel_size), ("output_size", output_size)):
        if not is_integer(value) and len(value) != count:
            raise RuntimeError(f"{name}: {argument} must either be a single Int or tuple of Ints")
    kernel, size = _as_tuple(kernel_size, count), _as_tuple(output_size, count)
    if input.dim() not in (count + 1, count + 2):
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-input.dim()}, {input.dim() - 1}], but got {-count - 1})"
        )
    batch, channels = (input.shape[0] if input.dim() == count + 2 else 1), input.shape[-count - 1]
    noise = samples
    if noise is None:
        noise = rand(batch, channels, count, dtype=input.dtype, device=input.device)
    _check_samples(noise, input, batch, channels, count)
    kernel_name = {2: "fractional_max_pool2d()", 3: "fractional_max_pool3d_out()"}[count]
    axes = ("time", "height", "width")[3 - count :]
    for axis, length, k, n in zip(axes, lengths, kernel, size, strict=True):
        if n + k - 1 > length:
            raise RuntimeError(f"{kernel_name}: pool {axis} {k} too large relative to input {axis} {length}")
    return unpool.fractional_max_pool(input, noise, tuple(kernel), tuple(size))


def _check_samples(samples: Tensor, input: Tensor, batch: int, channels: int, count: int) -> None:
    if samples.dtype is not input.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if samples.dim() != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {samples.dim()}")
    if samples.shape[0] < batch:
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if samples.shape[1] != channels:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if samples.shape[2] != count:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {count} got {samples.shape[2]}.")


def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: IntOrInts,
    output_size: IntOrInts | None = None,
    output_ratio: object = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """``fractional_max_pool2d``, and where the largest elements lie in the flattened images."""
    return _fractional(input, kernel_size, output_size, output_ratio, _random_samples, 2)


def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: IntOrInts,
    output_size: IntOrInts | None = None,
    output_ratio: object = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """``fractional_max_pool3d``, and where the largest elements lie in the flattened volumes."""
    return _fractional(input, kernel_size, output_size, output_ratio, _random_samples, 3)


def fractional_max_pool2d(
    input: Tensor,
    kernel_size: IntOrInts,
    output_size: IntOrInts | None = None,
    output_ratio: object = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The largest elements of windows of (N, C, H, W) that begin at random positions.

    Args:
        output_size: the number of windows; or ``output_ratio``, the number divided by the input's size.

    Source: Graham, "Fractional max-pooling" (2014).
    """
    pooled = _fractional(input, kernel_size, output_size, output_ratio, _random_samples, 2)
    return pooled if return_indices else pooled[0]


def fractional_max_pool3d(
    input: Tensor,
    kernel_size: IntOrInts,
    output_size: IntOrInts | None = None,
    output_ratio: object = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The largest elements of windows of (N, C, D, H, W) that begin at random positions; arguments as in ``fractional_max_pool2d``."""
    pooled = _fractional(input, kernel_size, output_size, output_ratio, _random_samples, 3)
    return pooled if return_indices else pooled[0]
