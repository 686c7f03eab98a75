"""The base class of the transforms, and functions that find sizes, boxes and labels in a sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias

from ...._core.tensor import Tensor
from ....nn import Module
from ....utils._pytree import tree_flatten, tree_unflatten
from ....utils.data import _draw
from ..._pillow import is_image
from ...tv_tensors import BoundingBoxes, Image, Mask, Video
from . import functional as F
from .functional import is_pure_tensor

if TYPE_CHECKING:
    from ..._pillow import PillowImage

__all__ = ["Transform"]

Part: TypeAlias = "Tensor | PillowImage"  # what a transform changes of a sample
Params: TypeAlias = "Mapping[str, object]"  # the random numbers of one call, by name
Drawn: TypeAlias = "Mapping[str, Any]"  # the same for a ``transform`` that reads them: each has a type of its own


class Transform(Module):
    """The base of the transforms: calls ``transform`` for each part of a sample that it concerns.

    A sample is any structure of dictionaries, lists and tuples. Plain tensors are pictures if nothing else in the sample is
    one; then the first of them is, and the others stay. A subclass has ``transform``, and ``make_params`` if it draws numbers.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.v2.Transform.html
    """

    def check_inputs(self, flat_inputs: list[object]) -> None:
        """Raises an error for samples that do not suit."""

    def make_params(self, flat_inputs: list[object]) -> Params:
        """Draws the random numbers that all parts of a sample share."""
        return {}

    def transform(self, inpt: Part, params: Params) -> object:
        """Transforms one part of a sample."""
        raise NotImplementedError

    def forward(self, *inputs: object) -> Any:
        sample = inputs if len(inputs) > 1 else inputs[0]  # pyright: ignore[reportGeneralTypeIssues]
        parts, spec = tree_flatten(sample)
        self.check_inputs(parts)
        if not self._applies():
            return sample
        concerned = self._transformed_mask(parts)
        params = self.make_params([part for part, is_one in zip(parts, concerned, strict=True) if is_one])
        results = [
            self.transform(part, params) if is_one else part for part, is_one in zip(parts, concerned, strict=True)
        ]
        return tree_unflatten(results, spec)

    def _applies(self) -> bool:
        return True

    def _is_transformed(self, part: object) -> bool:
        return isinstance(part, Tensor) or is_image(part)

    def _transformed_mask(self, parts: list[object]) -> list[bool]:
        takes_plain = not any(isinstance(part, (Image, Video)) or is_image(part) for part in parts)
        concerned = []
        for part in parts:
            is_one = self._is_transformed(part)
            if is_one and is_pure_tensor(part):
                is_one, takes_plain = takes_plain, False
            concerned.append(is_one)
        return concerned

    def extra_repr(self) -> str:
        fields = []
        for name, value in vars(self).items():
            if (
                name.startswith("_")
                or name == "training"
                or not isinstance(value, (bool, int, float, str, tuple, list, Enum))
            ):
                continue
            fields.append(f"{name}={value.value if isinstance(value, F.InterpolationMode) else value}")
        return ", ".join(fields)


class RandomApplied(Transform):
    """The base of transforms that are applied with probability ``p``, drawn as one ``torch.rand(1)``."""

    def __init__(self, p: float = 0.5) -> None:
        if not (0.0 <= p <= 1.0):
            raise ValueError("`p` should be a floating point value in the interval [0.0, 1.0].")
        super().__init__()
        self.p = p

    def _applies(self) -> bool:
        return _draw.uniform(None) < self.p


def is_picture(part: object) -> bool:
    return isinstance(part, (Image, Video)) or is_image(part) or is_pure_tensor(part)


def query_chw(parts: list[object]) -> tuple[int, int, int]:
    """Channels, height and width of the pictures of a sample."""
    sizes = {tuple(F.get_dimensions(part)) for part in parts if is_picture(part)}
    if not sizes:
        raise TypeError("No image or video was found in the sample")
    if len(sizes) > 1:
        raise ValueError(f"Found multiple CxHxW dimensions in the sample: {', '.join(map(str, sorted(sizes)))}")
    channels, height, width = sizes.pop()
    return channels, height, width


def query_size(parts: list[object]) -> tuple[int, int]:
    """Height and width of the pictures, masks and boxes of a sample."""
    sizes = {tuple(F.get_size(part)) for part in parts if is_picture(part) or isinstance(part, (Mask, BoundingBoxes))}
    if not sizes:
        raise TypeError("No image, video, mask, bounding box of keypoint was found in the sample")
    if len(sizes) > 1:
        raise ValueError(f"Found multiple HxW dimensions in the sample: {', '.join(map(str, sorted(sizes)))}")
    height, width = sizes.pop()
    return height, width


def boxes_of(parts: list[object]) -> BoundingBoxes:
    """The boxes of a sample."""
    for part in parts:
        if isinstance(part, BoundingBoxes):
            return part
    raise ValueError("No bounding boxes were found in the sample")


def fill_table(fill: object) -> dict[object, object]:
    """A colour for each type of parts; "others" is the one for the rest."""
    for value in fill.values() if isinstance(fill, Mapping) else [fill]:
        if value is not None and not isinstance(value, (int, float, tuple, list)):
            raise TypeError("Got inappropriate fill arg, only Numbers, tuples, lists and dicts are allowed.")
    return dict(fill) if isinstance(fill, Mapping) else {"others": fill}


def fill_for(table: Mapping[object, object], part: object) -> Any:
    return table.get(type(part), table.get("others"))


def labels_getter_of(getter: object) -> Callable[[Any], Any]:
    """The function that finds the labels of a sample."""
    if getter == "default":
        return _labels
    if callable(getter):
        return getter
    if getter is None:
        return lambda sample: None
    raise ValueError(f"labels_getter should either be 'default', a callable, or None, but got {getter}.")


def _labels(sample: object) -> Any:
    """The second part of a pair, or what a dictionary has under a key like "labels"."""
    if isinstance(sample, (tuple, list)):
        sample = sample[1]
    if is_pure_tensor(sample):
        return sample
    if not isinstance(sample, Mapping):
        raise ValueError(
            "When using the default labels_getter, the input passed to forward must be a dictionary or a two-tuple "
            f"whose second item is a dictionary or a tensor, but got {sample} instead."
        )
    for fits in (lambda key: key.lower() == "labels", lambda key: "label" in key.lower()):
        for key in sample:
            if fits(key):
                return sample[key]
    raise ValueError(
        "Could not infer where the labels are in the sample. Try passing a callable as the labels_getter parameter?"
        "If there are no labels in the sample by design, pass labels_getter=None."
    )


def two_numbers(value: float | Sequence[float], name: str) -> list[float]:
    """Two numbers, from these or one for both."""
    if not isinstance(value, (int, float, Sequence)):
        raise TypeError(f"{name} should be a number or a sequence of numbers. Got {type(value)}")
    if isinstance(value, (int, float)):
        return [float(value)] * 2
    if len(value) not in (1, 2):
        raise ValueError(f"If {name} is a sequence its length should be 1 or 2. Got {len(value)}")
    return [float(value[0]), float(value[-1])]
