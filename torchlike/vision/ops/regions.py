"""Features of regions: the parts of feature maps within boxes, as maps of one size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from ... import ops
from ..._core.tensor import Tensor, from_host
from ...nn import Module

__all__ = ["PSRoIAlign", "PSRoIPool", "RoIAlign", "RoIPool", "ps_roi_align", "ps_roi_pool", "roi_align", "roi_pool"]

Boxes: TypeAlias = "Tensor | Sequence[Tensor]"
Size: TypeAlias = "int | Sequence[int]"


def region_rows(boxes: Boxes) -> Tensor:
    """Regions ``(K, 5)``: the number of the picture, and x1, y1, x2, y2. A list has one tensor ``(L, 4)`` a picture."""
    if isinstance(boxes, Tensor):
        if boxes.shape[1] != 5:
            raise AssertionError("The boxes tensor shape is not correct as Tensor[K, 5]")
        return boxes
    if not isinstance(boxes, (list, tuple)):
        raise AssertionError("boxes is expected to be a Tensor[L, 5] or a List[Tensor[K, 4]]")
    if any(image_boxes.shape[1] != 4 for image_boxes in boxes):
        raise AssertionError("The shape of the tensor in the boxes list is not correct as List[Tensor[L, 4]]")
    numbered = [
        ops.cat([ops.full_like(image_boxes[:, :1], number), image_boxes], 1) for number, image_boxes in enumerate(boxes)
    ]
    return ops.cat(numbered, 0)


def two(size: Size) -> tuple[int, int]:
    """Height and width, from both or one for both."""
    return (size, size) if isinstance(size, int) else (size[0], size[-1])


def _values(regions: Tensor) -> np.ndarray:
    """The regions as an array. Like torchvision, there is no gradient for them."""
    return regions.detach().cpu().numpy()


def _rows(input: Tensor) -> Tensor:
    """The channels of each place: ``(N * H * W, C)``."""
    return input.permute(0, 2, 3, 1).reshape(-1, input.shape[1])


def _axis(start: np.floating, step: np.floating, bins: int, samples: int, size: int) -> tuple[np.ndarray, ...]:
    """The samples along one axis: their two neighbours, the second neighbour's weight, and whether they lie inside the map."""
    kind = type(start)
    number = np.arange(bins)[:, None].astype(kind) * step + start
    places = (number + (np.arange(samples).astype(kind) + kind(0.5)) * step / kind(samples)).reshape(-1)
    # torchvision counts samples up to one pixel outside of the map, with the value at its border.
    is_inside = (places >= -1) & (places <= size)
    places = np.maximum(places, 0)
    low = np.minimum(places.astype(np.int64), size - 1)
    weight = np.where(low >= size - 1, 0, places - low).astype(kind)
    return low, np.minimum(low + 1, size - 1), weight, is_inside


def _bin_means(
    input: Tensor,
    regions: np.ndarray,
    size: tuple[int, int],
    sampling_ratio: int,
    starts: np.ndarray,
    sides: np.ndarray,
) -> Tensor:
    """The means ``(K, height, width, C)`` of samples in each bin; a sample lies between four places of the map."""
    rows, columns = size
    height, width = input.shape[-2:]
    indices, weights, bins = [], [], []
    for number, (start, side) in enumerate(zip(starts, sides, strict=True)):
        steps = side / np.array([rows, columns], side.dtype)
        counts = [sampling_ratio if sampling_ratio > 0 else max(int(np.ceil(step)), 0) for step in steps]
        if min(counts) == 0:
            continue
        top, bottom, down, is_row = _axis(start[0], steps[0], rows, counts[0], height)
        left, right, across, is_column = _axis(start[1], steps[1], columns, counts[1], width)
        is_inside = is_row[:, None] & is_column[None, :]
        share = is_inside / side.dtype.type(counts[0] * counts[1])
        base = int(regions[number, 0]) * height * width
        bin_rows, bin_columns = np.arange(rows).repeat(counts[0]), np.arange(columns).repeat(counts[1])
        bin_number = (number * rows + bin_rows)[:, None] * columns + bin_columns[None, :]
        for y, weight_y in ((top, 1 - down), (bottom, down)):
            for x, weight_x in ((left, 1 - across), (right, across)):
                indices.append((base + y[:, None] * width + x[None, :]).reshape(-1))
                weights.append((weight_y[:, None] * weight_x[None, :] * share).reshape(-1))
                bins.append(bin_number.reshape(-1))
    shape = (len(regions), rows, columns, input.shape[1])
    result = ops.zeros((len(regions) * rows * columns, input.shape[1]), dtype=input.dtype, device=input.device)
    if indices:
        index, weight, place = (from_host(np.concatenate(parts)).to(input.device) for parts in (indices, weights, bins))
        samples = _rows(input).index_select(0, index) * weight[:, None].to(input.dtype)
        result = result.index_add(0, place, samples)
    return result.reshape(shape)


def roi_align(
    input: Tensor,
    boxes: Boxes,
    output_size: Size,
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = False,
) -> Tensor:
    """Means of bilinear samples in the bins of each region: ``(K, C, height, width)``.

    Args:
        input: ``(N, C, H, W)``.
        boxes: ``(K, 5)``, the number of the picture, x1, y1, x2, y2; or a list with ``(L, 4)`` for each picture.
        output_size: height and width, or one number for both.
        spatial_scale: from the boxes' units to pixels of ``input``.
        sampling_ratio: samples along each side of a bin; below 1: one for each pixel that the bin covers.
        aligned: whether the middle of a pixel, instead of its corner, has whole numbers.

    Raises:
        AssertionError: boxes of another shape.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.roi_align.html, and He et al., "Mask R-CNN",
    https://arxiv.org/abs/1703.06870
    """
    regions = _values(region_rows(boxes))
    kind = regions.dtype.type
    corners = regions[:, 1:] * kind(spatial_scale) - kind(0.5 if aligned else 0.0)
    sides = corners[:, 2:] - corners[:, :2]
    sides = sides if aligned else np.maximum(sides, kind(1.0))
    means = _bin_means(input, regions, two(output_size), sampling_ratio, corners[:, 1::-1], sides[:, ::-1])
    return means.permute(0, 3, 1, 2)


def ps_roi_align(
    input: Tensor, boxes: Boxes, output_size: Size, spatial_scale: float = 1.0, sampling_ratio: int = -1
) -> Tensor:
    """As ``roi_align``, where each bin has its own group of channels: ``(K, C / (height * width), height, width)``.

    Raises:
        RuntimeError: the number of channels is no multiple of the number of bins.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.ps_roi_align.html
    """
    regions = _values(region_rows(boxes))
    size = two(output_size)
    _require_groups(input, size)
    kind = regions.dtype.type
    corners = regions[:, 1:] * kind(spatial_scale) - kind(0.5)
    sides = corners[:, 2:] - corners[:, :2]
    means = _bin_means(input, regions, size, sampling_ratio, corners[:, 1::-1], sides[:, ::-1])
    return _own_channels(means)


def _require_groups(input: Tensor, size: tuple[int, int]) -> None:
    if input.shape[1] % (size[0] * size[1]) != 0:
        raise RuntimeError("input channels must be a multiple of pooling height * pooling width")


def _own_channels(values: Tensor) -> Tensor:
    """Of ``(K, height, width, C)`` those channels of each bin that belong to it: ``(K, C / bins, height, width)``."""
    count, rows, columns, channels = values.shape
    grouped = values.reshape(count, rows * columns, channels // (rows * columns), rows * columns)
    return grouped.diagonal(0, 1, 3).reshape(count, -1, rows, columns)


def _rounded(values: np.ndarray) -> np.ndarray:
    """The nearest integers, halves away from 0, as C rounds."""
    return (np.sign(values) * np.floor(np.abs(values) + 0.5)).astype(np.int64)


def _bin_places(
    input: Tensor, regions: np.ndarray, edges: Sequence[Callable[[int], tuple[np.ndarray, np.ndarray]]]
) -> tuple[Tensor, Tensor]:
    """The places of the map in each bin, as rows of ``_rows(input)``, padded to the same number, and which of them count."""
    height, width = input.shape[-2:]
    lists = []
    for number in range(len(regions)):
        base = int(regions[number, 0]) * height * width
        (tops, bottoms), (lefts, rights) = (edge(number) for edge in edges)
        for top, bottom in zip(tops, bottoms, strict=True):
            for left, right in zip(lefts, rights, strict=True):
                grid = np.arange(top, bottom)[:, None] * width + np.arange(left, right)[None, :]
                lists.append(base + grid.reshape(-1))
    most = max([1, *(len(bin_places) for bin_places in lists)])
    places, counts = np.zeros((len(lists), most), np.int64), np.zeros((len(lists), most), bool)
    for row, bin_places in enumerate(lists):
        places[row, : len(bin_places)], counts[row, : len(bin_places)] = bin_places, True
    return from_host(places).to(input.device), from_host(counts).to(input.device)


def roi_pool(input: Tensor, boxes: Boxes, output_size: Size, spatial_scale: float = 1.0) -> Tensor:
    """The largest values in the bins of each region, whose borders are whole pixels: ``(K, C, height, width)``.

    Arguments and errors are those of ``roi_align``.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.roi_pool.html, and Girshick, "Fast R-CNN",
    https://arxiv.org/abs/1504.08083
    """
    return roi_pool_and_places(input, boxes, output_size, spatial_scale)[0]


def roi_pool_and_places(
    input: Tensor, boxes: Boxes, output_size: Size, spatial_scale: float = 1.0
) -> tuple[Tensor, Tensor]:
    """``roi_pool``, and the place of each value among those of its map, as int32; -1 for a bin that lies outside."""
    regions = _values(region_rows(boxes))
    size = two(output_size)
    corners = _rounded(regions[:, 1:] * regions.dtype.type(spatial_scale))

    def edge(axis: int) -> Callable[[int], tuple[np.ndarray, np.ndarray]]:
        bins, limit, column = size[axis], input.shape[2 + axis], 1 - axis

        def at(number: int) -> tuple[np.ndarray, np.ndarray]:
            start, end = corners[number, column], corners[number, column + 2]
            # The pixels of both corners belong to the region, so that none is empty.
            step = np.float32(max(end - start + 1, 1)) / np.float32(bins)
            bin_number = np.arange(bins).astype(np.float32)
            low, high = (
                np.floor(bin_number * step).astype(int) + start,
                np.ceil((bin_number + 1) * step).astype(int) + start,
            )
            return low.clip(0, limit), high.clip(0, limit)

        return at

    places, counts = _bin_places(input, regions, [edge(0), edge(1)])
    values = _rows(input)[places]  # (bins, most, C)
    largest, which = ops.where(counts[..., None], values, -float("inf")).max(1)
    # A bin that lies outside of the map has no place, and 0 as its value.
    has_place = counts.any(1)[:, None]
    pooled = ops.where(has_place, largest, 0.0)
    found = ops.where(has_place, places.gather(1, which) % (input.shape[2] * input.shape[3]), -1).int()
    shape = (len(regions), *size, input.shape[1])
    return pooled.reshape(shape).permute(0, 3, 1, 2), found.reshape(shape).permute(0, 3, 1, 2)


def ps_roi_pool(input: Tensor, boxes: Boxes, output_size: Size, spatial_scale: float = 1.0) -> Tensor:
    """Means in the bins of each region, each bin of its own channels: ``(K, C / (height * width), height, width)``.

    Arguments are those of ``roi_pool``.

    Raises:
        RuntimeError: the number of channels is no multiple of the number of bins.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.ps_roi_pool.html, and Dai et al., "R-FCN",
    https://arxiv.org/abs/1605.06409
    """
    regions = _values(region_rows(boxes))
    size = two(output_size)
    _require_groups(input, size)
    corners = _rounded(regions[:, 1:] * regions.dtype.type(spatial_scale))

    def edge(axis: int) -> Callable[[int], tuple[np.ndarray, np.ndarray]]:
        bins, limit, column = size[axis], input.shape[2 + axis], 1 - axis

        def at(number: int) -> tuple[np.ndarray, np.ndarray]:
            start, end = corners[number, column], corners[number, column + 2]
            step = np.float32(max(end - start, 1)) / np.float32(bins)
            bin_number = np.arange(bins).astype(np.float32)
            low, high = (
                np.floor(bin_number * step + start).astype(int),
                np.ceil((bin_number + 1) * step + start).astype(int),
            )
            return low.clip(0, limit - 1), high.clip(0, limit - 1)

        return at

    places, counts = _bin_places(input, regions, [edge(0), edge(1)])
    values = ops.where(counts[..., None], _rows(input)[places], 0.0).sum(1)
    means = values / counts.sum(1).clamp(min=1)[:, None].to(input.dtype)
    return _own_channels(means.reshape(len(regions), *size, input.shape[1]))


class _Pooling(Module):
    """The base class of modules that apply a function to regions."""

    fields: tuple[str, ...] = ("output_size", "spatial_scale")
    output_size: Size
    spatial_scale: float

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)}' for name in self.fields)})"


class RoIAlign(_Pooling):
    """``roi_align`` as a module.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.RoIAlign.html
    """

    fields = ("output_size", "spatial_scale", "sampling_ratio", "aligned")

    def __init__(self, output_size: Size, spatial_scale: float, sampling_ratio: int, aligned: bool = False) -> None:
        super().__init__()
        self.output_size, self.spatial_scale = output_size, spatial_scale
        self.sampling_ratio, self.aligned = sampling_ratio, aligned

    def forward(self, input: Tensor, rois: Boxes) -> Tensor:
        return roi_align(input, rois, self.output_size, self.spatial_scale, self.sampling_ratio, self.aligned)


class RoIPool(_Pooling):
    """``roi_pool`` as a module.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.RoIPool.html
    """

    def __init__(self, output_size: Size, spatial_scale: float) -> None:
        super().__init__()
        self.output_size, self.spatial_scale = output_size, spatial_scale

    def forward(self, input: Tensor, rois: Boxes) -> Tensor:
        return roi_pool(input, rois, self.output_size, self.spatial_scale)


class PSRoIAlign(_Pooling):
    """``ps_roi_align`` as a module.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.PSRoIAlign.html
    """

    fields = ("output_size", "spatial_scale", "sampling_ratio")

    def __init__(self, output_size: Size, spatial_scale: float, sampling_ratio: int) -> None:
        super().__init__()
        self.output_size, self.spatial_scale = output_size, spatial_scale
        self.sampling_ratio = sampling_ratio

    def forward(self, input: Tensor, rois: Boxes) -> Tensor:
        return ps_roi_align(input, rois, self.output_size, self.spatial_scale, self.sampling_ratio)


class PSRoIPool(_Pooling):
    """``ps_roi_pool`` as a module.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.PSRoIPool.html
    """

    def __init__(self, output_size: Size, spatial_scale: float) -> None:
        super().__init__()
        self.output_size, self.spatial_scale = output_size, spatial_scale

    def forward(self, input: Tensor, rois: Boxes) -> Tensor:
        return ps_roi_pool(input, rois, self.output_size, self.spatial_scale)
