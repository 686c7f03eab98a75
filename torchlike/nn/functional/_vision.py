"""Functions of images: resizing, sampling on grids, rearranging pixels, sliding blocks."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ..._core import dtypes
from ..._core.annotations import IntOrInts
from ..._core.tensor import Tensor
from ...dispatch.arguments import check_value
from ...dispatch.options import is_integer
from ...ops.nn import grid as _grid, sliding as _sliding
from ...ops.nn.upsample import upsample as _upsample
from ...ops.shape.reshape import lay_out_channels
from ._pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d

__all__ = [
    "GRID_SAMPLE_INTERPOLATION_MODES", "GRID_SAMPLE_PADDING_MODES", "affine_grid", "fold", "grid_sample", "interpolate", "unfold",
    "upsample", "upsample_bilinear", "upsample_nearest",
]  # fmt: skip

GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}

_WITHOUT_CORNERS = ("nearest", "area", "nearest-exact")
_AREA = {3: adaptive_avg_pool1d, 4: adaptive_avg_pool2d, 5: adaptive_avg_pool3d}
# By mode: the rule for the weights of pixels, and the rank of the input.
_MODES = {"linear": ("linear", 3), "bilinear": ("linear", 4), "trilinear": ("linear", 5), "bicubic": ("cubic", 4),
          "lanczos": ("lanczos", 4)}  # fmt: skip


def _sizes(input: Tensor, size: Any, scale_factor: Any, recompute: bool | None, mode: str) -> tuple[Any, Any]:
    """Returns the sizes of the result's images, and the scale factors for computing positions (None: use the sizes)."""
    count = input.dim() - 2
    lengths = list(input.shape[2:])
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if isinstance(size, (list, tuple)):
            if len(size) != count:
                raise ValueError(
                    f"Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of "
                    f"{lengths} and output size of {size}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and output "
                    "size in (o1, o2, ...,oK) format."
                )
            if not all(is_integer(n) for n in size):
                raise TypeError(
                    "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size with "
                    f"types {[type(n) for n in size]}"
                )
            lengths_out = tuple(int(n) for n in size)
        elif is_integer(size):
            lengths_out = (int(size),) * count
        else:
            raise TypeError(
                "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size with "
                f"types {[type(size)]}"
            )
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        return lengths_out, (None,) * count
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if isinstance(scale_factor, (list, tuple)):
        if len(scale_factor) != count:
            raise ValueError(
                f"Input and scale_factor must have the same number of spatial dimensions, but got input with spatial dimensions of "
                f"{lengths} and scale_factor of shape {scale_factor}. Please provide input tensor in (N, C, d1, d2, ...,dK) format "
                "and scale_factor in (s1, s2, ...,sK) format."
            )
        scales = tuple(float(s) for s in scale_factor)
    else:
        scales = (float(scale_factor),) * count
    # Multiplied as floats, since PyTorch does: a factor of 0.29 makes 28 pixels of 100, because the product is 28.999999999999996.
    lengths_out = tuple(math.floor(float(n) * s) for n, s in zip(lengths, scales, strict=True))
    # The given factor and the ratio of the sizes differ if the size was rounded down. PyTorch computes positions from the factor, unless
    # told otherwise.
    return lengths_out, (None,) * count if recompute or mode == "area" else scales


def interpolate(
    input: Tensor,
    size: IntOrInts | None = None,
    scale_factor: IntOrInts | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Images (N, C, W), (N, C, H, W) or (N, C, D, H, W) made larger or smaller.

    Args:
        size: the size of the result's images; or ``scale_factor``, the ratio of the sizes.
        mode: "nearest", "nearest-exact", "area"; "linear" (3-D input), "bilinear", "bicubic", "lanczos" (4-D), "trilinear" (5-D).
        align_corners: whether the centres of the corner pixels stay where they are, or their outer edges do.
        recompute_scale_factor: compute positions from the resulting sizes and not from ``scale_factor``.
        antialias: widen the filter where images become smaller ("bilinear", "bicubic", "lanczos").

    >>> F.interpolate(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])

    Raises:
        ValueError: the arguments are inconsistent. NotImplementedError: a mode that is unknown, or not for this rank.
    """
    rank = input.dim()
    if mode in _WITHOUT_CORNERS:
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
            )
    lengths_out, scales = _sizes(input, size, scale_factor, recompute_scale_factor, mode)
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and rank == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    if mode == "lanczos" and not antialias:
        raise ValueError("Lanczos mode requires antialias=True")
    if rank in (3, 4, 5):
        if mode == "area":
            return lay_out_channels(_AREA[rank](input, lengths_out), input)
        if mode in _WITHOUT_CORNERS:
            return lay_out_channels(_upsample(input, lengths_out, scales, mode, False, False), input)
        if mode in _MODES:
            kind, expected_rank = _MODES[mode]
            if rank == expected_rank:
                check_value("interpolate", "align_corners", None, "bool | None", align_corners)
                result = _upsample(input, lengths_out, scales, kind, bool(align_corners), bool(antialias))
                return lay_out_channels(result, input)
            if kind == "linear":
                raise NotImplementedError(f"Got {rank}D input, but {mode} mode needs {expected_rank}D input")
    raise NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {rank}D) for the modes: nearest | linear | bilinear | bicubic "
        f"| trilinear | lanczos | area | nearest-exact (got {mode})"
    )


def upsample(
    input: Tensor,
    size: IntOrInts | None = None,
    scale_factor: IntOrInts | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """``interpolate`` under its old name."""
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: IntOrInts | None = None, scale_factor: IntOrInts | None = None) -> Tensor:
    """``interpolate`` by the nearest pixels, under an old name."""
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: IntOrInts | None = None, scale_factor: IntOrInts | None = None) -> Tensor:
    """``interpolate`` in bilinear mode with aligned corners, under an old name."""
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


_CORNERS = (
    "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify align_corners=True "
    "if the old behavior is desired. See the documentation of grid_sample for details."
)


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Values of images (N, C, H, W) or volumes (N, C, D, H, W) at points given in -1..1, x first.

    Args:
        grid: shape (N, H', W', 2) or (N, D', H', W', 3).
        mode: "bilinear", "nearest" or "bicubic" (images alone).
        padding_mode: the values outside of the image: "zeros", the "border", or the image's "reflection".
        align_corners: whether -1 and 1 are the centres of the corner pixels, or their outer edges.

    >>> grid = torch.tensor([[[[-1.0, 0.0], [0.0, 0.0]]]])  # (N, H, W, 2): x and y from -1 to 1
    >>> F.grid_sample(torch.arange(3.0).view(1, 1, 1, 3), grid, align_corners=True)
    tensor([[[[0., 1.]]]])

    Source: Jaderberg et al., "Spatial transformer networks" (2015).
    """
    if mode not in GRID_SAMPLE_INTERPOLATION_MODES:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in GRID_SAMPLE_PADDING_MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    if align_corners is None:
        warnings.warn(_CORNERS, stacklevel=2)
        align_corners = False
    check_value("grid_sampler", "align_corners", 5, "bool", align_corners)
    return _grid.grid_sampler(
        input,
        grid,
        GRID_SAMPLE_INTERPOLATION_MODES[mode],
        GRID_SAMPLE_PADDING_MODES[padding_mode],
        align_corners,
    )


def affine_grid(theta: Tensor, size: tuple[int, ...], align_corners: bool | None = None) -> Tensor:
    """The grid of points that affine maps take an image's pixels to, for ``grid_sample``.

    Args:
        theta: shape (N, 2, 3), or (N, 3, 4) for volumes.
        size: of the images, (N, C, H, W) or (N, C, D, H, W).
        align_corners: as of ``grid_sample``.

    >>> F.affine_grid(torch.eye(2, 3).unsqueeze(0), (1, 1, 2, 2), align_corners=True)
    tensor([[[[-1., -1.],
              [ 1., -1.]],
    <BLANKLINE>
             [[-1.,  1.],
              [ 1.,  1.]]]])
    """
    if align_corners is None:
        warnings.warn(_CORNERS, stacklevel=2)
    if theta.dtype.category != dtypes.FLOAT:
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size "
            f"{size}."
        )
    count = len(size) - 2
    if theta.dim() != 3 or tuple(theta.shape[-2:]) != (count, count + 1):
        raise ValueError(
            f"Expected a batch of {count}D affine matrices of shape Nx{count}x{count + 1} for size {size}. Got "
            f"{theta.shape}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    if align_corners and min(size[2:]) == 1:
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This is not an intended "
            "use case of affine_grid. See the documentation of affine_grid for details.",
            stacklevel=2,
        )
    return _grid.affine_grid_generator(theta, tuple(int(n) for n in size), bool(align_corners))


def unfold(
    input: Tensor, kernel_size: IntOrInts, dilation: IntOrInts = 1, padding: IntOrInts = 0, stride: IntOrInts = 1
) -> Tensor:
    """Sliding blocks of (N, C, H, W) as columns: (N, C * kernel, blocks).

    >>> F.unfold(torch.arange(9.0).reshape(1, 1, 3, 3), 2)[0, :, 0]
    tensor([0., 1., 3., 4.])
    """
    return _sliding.unfold(input, kernel_size, dilation, padding, stride)


def fold(
    input: Tensor,
    output_size: IntOrInts,
    kernel_size: IntOrInts,
    dilation: IntOrInts = 1,
    padding: IntOrInts = 0,
    stride: IntOrInts = 1,
) -> Tensor:
    """Columns (N, C * kernel, blocks) summed into images (N, C, H, W): the transpose of ``unfold``.

    >>> F.fold(torch.ones(1, 4, 4), 3, 2)[0, 0]
    tensor([[1., 2., 1.],
            [2., 4., 2.],
            [1., 2., 1.]])
    """
    return _sliding.fold(input, output_size, kernel_size, dilation, padding, stride)
