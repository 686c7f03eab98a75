"""Transforms of types and values, of whole samples and of batches, and transforms that contain transforms."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .... import ops
from ...._core import dtypes
from ...._core.tensor import Tensor
from ....distributions import Beta
from ....nn import ModuleList, functional as nnf
from ....utils._pytree import tree_flatten, tree_unflatten
from ....utils.data import _draw
from ..._pillow import is_image
from ...tv_tensors import BoundingBoxes, BoundingBoxFormat, Image, Mask, TVTensor, Video, wrap
from .. import transforms as v1
from .._checks import height_and_width, require_lengths
from . import functional as F
from ._transform import (
    Drawn,
    Params,
    Part,
    RandomApplied,
    Transform,
    boxes_of,
    is_picture,
    labels_getter_of,
    query_chw,
    query_size,
    two_numbers,
)
from .functional import is_pure_tensor

__all__ = [
    "JPEG", "ClampBoundingBoxes", "Compose", "ConvertBoundingBoxFormat", "ConvertImageDtype", "CutMix", "GaussianBlur",
    "GaussianNoise", "Identity", "Lambda", "LinearTransformation", "MixUp", "Normalize", "PILToTensor", "RandomApply",
    "RandomChoice", "RandomErasing", "RandomOrder", "SanitizeBoundingBoxes", "ToDtype", "ToImage", "ToPILImage",
    "ToPureTensor", "UniformTemporalSubsample",
]  # fmt: skip

Transforms = Sequence[Callable[..., Any]]


# ---- transforms of transforms


class _Several(Transform):
    """The base of transforms of a list of transforms."""

    def __init__(self, transforms: Transforms) -> None:
        if not isinstance(transforms, (Sequence, ModuleList)):
            raise TypeError("Argument transforms should be a sequence of callables")
        if len(transforms) == 0:
            raise ValueError("Pass at least one transform")
        super().__init__()
        self.transforms = transforms

    def _one_after_the_other(self, transforms: Sequence[Callable[..., Any]], inputs: tuple[Any, ...]) -> Any:
        sample = inputs if len(inputs) > 1 else inputs[0]  # pyright: ignore[reportGeneralTypeIssues]
        for transform in transforms:
            sample = transform(*sample) if len(inputs) > 1 else transform(sample)
        return sample


class Compose(_Several):
    """Several transforms one after the other, on samples of any structure.

    >>> import torchlike as torch
    >>> from torchlike.vision.transforms import v2
    >>> step = v2.Compose([v2.RandomHorizontalFlip(p=1.0), v2.ToDtype(torch.float32, scale=True)])
    >>> step({"image": torch.tensor([[[0, 255]]], dtype=torch.uint8), "label": 3})
    {'image': tensor([[[1., 0.]]]), 'label': 3}

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.v2.Compose.html
    """

    def forward(self, *inputs: object) -> Any:
        return self._one_after_the_other(self.transforms, inputs)

    def extra_repr(self) -> str:
        return "\n".join(f"    {part}" for part in self.transforms)


class RandomApply(_Several):
    """Several transforms one after the other, with probability ``p``."""

    def __init__(self, transforms: Transforms, p: float = 0.5) -> None:
        super().__init__(transforms)
        if not (0.0 <= p <= 1.0):
            raise ValueError("`p` should be a floating point value in the interval [0.0, 1.0].")
        self.p = p

    def forward(self, *inputs: object) -> Any:
        if _draw.uniform(None) >= self.p:
            return inputs if len(inputs) > 1 else inputs[0]  # pyright: ignore[reportGeneralTypeIssues]
        return self._one_after_the_other(self.transforms, inputs)

    def extra_repr(self) -> str:
        return "\n".join(f"    {part}" for part in self.transforms)


class RandomChoice(_Several):
    """One of several transforms, drawn by ``torch.multinomial``; ``p`` has a weight for each."""

    def __init__(self, transforms: Transforms, p: list[float] | None = None) -> None:
        weights = [1.0] * len(transforms) if p is None else p
        if len(weights) != len(transforms):
            raise ValueError(f"Length of p doesn't match the number of transforms: {len(weights)} != {len(transforms)}")
        super().__init__(transforms)
        self.p = [weight / sum(weights) for weight in weights]

    def forward(self, *inputs: object) -> Any:
        (number,) = _draw.weighted(None, np.array(self.p, np.float32), 1, False)
        return self.transforms[number](*inputs)


class RandomOrder(_Several):
    """Several transforms in an order that is drawn by ``torch.randperm``."""

    def forward(self, *inputs: object) -> Any:
        order = _draw.permutation(None, len(self.transforms))
        return self._one_after_the_other([self.transforms[number] for number in order], inputs)


# ---- types and values


class Identity(Transform):
    """The sample as it is."""

    def transform(self, inpt: object, params: Params) -> object:
        return inpt


class Lambda(Transform):
    """A function of the parts of a sample that have one of some types; default: of all."""

    def __init__(self, lambd: Callable[[Any], Any], *types: type) -> None:
        super().__init__()
        self.lambd = lambd
        self.types = types or (object,)

    def _is_transformed(self, part: object) -> bool:
        return isinstance(part, self.types)

    def transform(self, inpt: object, params: Params) -> object:
        return self.lambd(inpt)

    def extra_repr(self) -> str:
        names = [getattr(self.lambd, "__name__", "")] if getattr(self.lambd, "__name__", "") else []
        return ", ".join([*names, f"types={[each.__name__ for each in self.types]}"])


class ToImage(Transform):
    """PIL images, arrays ``(H, W, C)`` and plain tensors become ``tv_tensors.Image``."""

    def _is_transformed(self, part: object) -> bool:
        return is_pure_tensor(part) or is_image(part) or isinstance(part, np.ndarray)

    def transform(self, inpt: object, params: Params) -> object:
        return F.to_image(inpt)


class ToPILImage(Transform):
    """Pictures and arrays become PIL images."""

    def __init__(self, mode: str | None = None) -> None:
        super().__init__()
        self.mode = mode

    def _is_transformed(self, part: object) -> bool:
        return is_pure_tensor(part) or isinstance(part, (Image, np.ndarray))

    def transform(self, inpt: object, params: Params) -> object:
        return F.to_pil_image(inpt.as_subclass(Tensor) if isinstance(inpt, Tensor) else inpt, mode=self.mode)


class PILToTensor(Transform):
    """PIL images become tensors of bytes."""

    def _is_transformed(self, part: object) -> bool:
        return is_image(part)

    def transform(self, inpt: object, params: Params) -> object:
        return F.pil_to_tensor(inpt)


class ToPureTensor(Transform):
    """Tensors forget what they are."""

    def _is_transformed(self, part: object) -> bool:
        return isinstance(part, TVTensor)

    def transform(self, inpt: Any, params: Params) -> object:
        return inpt.as_subclass(Tensor)


class ToDtype(Transform):
    """Another dtype, for pictures and videos; or for each type, by a dictionary whose key "others" means the rest.

    Args:
        scale: whether the values of pictures fill the range of the dtype.

    Raises:
        ValueError: no dtype, or none for a type of the sample.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.v2.ToDtype.html
    """

    def __init__(self, dtype: dtypes.dtype | Mapping[Any, dtypes.dtype | None], scale: bool = False) -> None:
        super().__init__()
        if not isinstance(dtype, (Mapping, dtypes.dtype)):
            raise ValueError(f"dtype must be a dict or a torch.dtype, got {type(dtype)} instead")
        self.dtype = dtype
        self.scale = scale

    def _is_transformed(self, part: object) -> bool:
        return isinstance(part, Tensor)

    def transform(self, inpt: Part, params: Params) -> object:
        is_scaled = is_pure_tensor(inpt) or isinstance(inpt, (Image, Video))
        if isinstance(self.dtype, dtypes.dtype):
            return F.to_dtype(inpt, self.dtype, self.scale) if is_scaled else inpt
        if type(inpt) not in self.dtype and "others" not in self.dtype:
            raise ValueError(
                f"No dtype was specified for type {type(inpt)}. "
                "If you only need to convert the dtype of images or videos, you can just pass e.g. "
                "dtype=torch.float32. If you're passing a dict as dtype, "
                'you can use "others" as a catch-all key '
                'e.g. dtype={tv_tensors.Mask: torch.int64, "others": None} to pass-through the rest of the inputs.'
            )
        dtype = self.dtype[type(inpt) if type(inpt) in self.dtype else "others"]
        if dtype is None:
            if self.scale and is_scaled:
                warnings.warn(
                    "scale was set to True but no dtype was specified for images or videos: no scaling will be done.",
                    stacklevel=2,
                )
            return inpt
        return F.to_dtype(inpt, dtype, self.scale)


class ConvertImageDtype(Transform):
    """Pictures in another dtype, whose range their values fill."""

    def __init__(self, dtype: dtypes.dtype = dtypes.float32) -> None:
        super().__init__()
        self.dtype = dtype

    def transform(self, inpt: Part, params: Params) -> object:
        return F.to_dtype(inpt, self.dtype, scale=True) if is_picture(inpt) else inpt


class Normalize(Transform):
    """``(x - mean) / std``, channel by channel."""

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> None:
        super().__init__()
        self.mean, self.std, self.inplace = list(mean), list(std), inplace

    def check_inputs(self, flat_inputs: list[object]) -> None:
        if any(is_image(part) for part in flat_inputs):
            raise TypeError(f"{type(self).__name__}() does not support PIL images.")

    def transform(self, inpt: object, params: Params) -> object:
        return F.normalize(inpt, self.mean, self.std, self.inplace)


class LinearTransformation(Transform):
    """A picture as a vector, less a mean, times a matrix. Arguments and errors are those of the first version."""

    def __init__(self, transformation_matrix: Tensor, mean_vector: Tensor) -> None:
        super().__init__()
        self._map = v1.LinearTransformation(transformation_matrix, mean_vector)
        self.transformation_matrix, self.mean_vector = transformation_matrix, mean_vector

    def check_inputs(self, flat_inputs: list[object]) -> None:
        if any(is_image(part) for part in flat_inputs):
            raise TypeError(f"{type(self).__name__}() does not support PIL images.")

    def transform(self, inpt: Part, params: Params) -> object:
        return F.on_pictures(self._map.forward, inpt)


class GaussianBlur(Transform):
    """Blurred by a deviation that is drawn between two bounds."""

    get_params = staticmethod(v1.GaussianBlur.get_params)

    def __init__(self, kernel_size: int | Sequence[int], sigma: float | Sequence[float] = (0.1, 2.0)) -> None:
        super().__init__()
        self.kernel_size = height_and_width(kernel_size)
        if any(size <= 0 or size % 2 == 0 for size in self.kernel_size):
            raise ValueError("Kernel size value should be an odd and positive number.")
        self.sigma = two_numbers(sigma, "sigma")
        if not 0.0 < self.sigma[0] <= self.sigma[1]:
            raise ValueError(f"sigma values should be positive and of the form (min, max). Got {self.sigma}")

    def make_params(self, flat_inputs: list[object]) -> Params:
        return {"sigma": [_draw.between(None, *self.sigma)] * 2}

    def transform(self, inpt: object, params: Params) -> object:
        return F.gaussian_blur(inpt, self.kernel_size, params["sigma"])


class GaussianNoise(Transform):
    """Normal noise added to values from 0 to 1, or to bytes as if they were."""

    def __init__(self, mean: float = 0.0, sigma: float = 0.1, clip: bool = True) -> None:
        super().__init__()
        self.mean, self.sigma, self.clip = mean, sigma, clip

    def transform(self, inpt: Part, params: Params) -> object:
        return F.gaussian_noise(inpt, self.mean, self.sigma, self.clip)


class JPEG(Transform):
    """Compressed as a JPEG file of a quality from 1 to 100, which is drawn between two bounds."""

    def __init__(self, quality: int | Sequence[int]) -> None:
        super().__init__()
        bounds = [quality, quality] if isinstance(quality, int) else quality
        require_lengths(bounds, "quality", (2,))
        if not (1 <= bounds[0] <= bounds[1] <= 100 and all(isinstance(bound, int) for bound in bounds)):
            raise ValueError(f"quality must be an integer from 1 to 100, got quality ={quality}")
        self.quality = bounds

    def make_params(self, flat_inputs: list[object]) -> Params:
        return {"quality": self.quality[0] + _draw.randint(None, self.quality[1] + 1 - self.quality[0], 1)[0]}

    def transform(self, inpt: Part, params: Drawn) -> object:
        return F.jpeg(inpt, **params)


class RandomErasing(RandomApplied):
    """Erases a random part with probability ``p``. Arguments and errors are those of the first version."""

    get_params = staticmethod(v1.RandomErasing.get_params)

    def __init__(
        self,
        p: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: float | str | Sequence[float] = 0.0,
        inplace: bool = False,
    ) -> None:
        super().__init__(p)
        v1.RandomErasing(p, scale, ratio, value, inplace)  # checks the arguments
        self.scale, self.ratio = scale, ratio
        if isinstance(value, (int, float)):
            self.value: list[float] | None = [float(value)]
        else:
            self.value = None if isinstance(value, str) else [float(number) for number in value]
        self.inplace = inplace

    def make_params(self, flat_inputs: list[object]) -> Params:
        channels, height, width = query_chw(flat_inputs)
        if self.value is not None and len(self.value) not in (1, channels):
            raise ValueError(
                f"If value is a sequence, it should have either a single value or {channels} (number of inpt channels)"
            )
        whole = ops.empty(channels, height, width)
        *part, values = v1.RandomErasing.get_params(whole, self.scale, self.ratio, self.value)
        return {"part": None if values is whole else (*part, values)}

    def transform(self, inpt: Part, params: Drawn) -> object:
        return inpt if params["part"] is None else F.erase(inpt, *params["part"], inplace=self.inplace)


class UniformTemporalSubsample(Transform):
    """So many frames of a video, at equal distances."""

    def __init__(self, num_samples: int) -> None:
        super().__init__()
        self.num_samples = num_samples

    def transform(self, inpt: Part, params: Params) -> object:
        return F.uniform_temporal_subsample(inpt, self.num_samples)


# ---- boxes


class ConvertBoundingBoxFormat(Transform):
    """Boxes in another form."""

    def __init__(self, format: BoundingBoxFormat | str) -> None:
        super().__init__()
        self.format = format

    def _is_transformed(self, part: object) -> bool:
        return isinstance(part, BoundingBoxes)

    def transform(self, inpt: Part, params: Params) -> object:
        return F.convert_bounding_box_format(inpt, new_format=self.format)


class ClampBoundingBoxes(Transform):
    """The parts of boxes within their picture."""

    def __init__(self, clamping_mode: str | None = "auto") -> None:
        super().__init__()
        self.clamping_mode = clamping_mode

    def _is_transformed(self, part: object) -> bool:
        return isinstance(part, BoundingBoxes)

    def transform(self, inpt: Part, params: Params) -> object:
        return F.clamp_bounding_boxes(inpt, clamping_mode=self.clamping_mode)


class SanitizeBoundingBoxes(Transform):
    """Leaves out boxes that are too small or not within their picture, with their labels and masks.

    Args:
        min_size, min_area: the least side and the least area.
        labels_getter: finds the labels of a sample, or several tensors; "default": under a key like "labels"; None: no labels.

    Raises:
        ValueError: no boxes, labels of another number, or sizes below 1.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.v2.SanitizeBoundingBoxes.html
    """

    def __init__(self, min_size: float = 1.0, min_area: float = 1.0, labels_getter: object = "default") -> None:
        super().__init__()
        for name, value in (("min_size", min_size), ("min_area", min_area)):
            if value < 1:
                raise ValueError(f"{name} must be >= 1, got {value}.")
        self.min_size, self.min_area = min_size, min_area
        self.labels_getter = labels_getter
        self._labels_getter = labels_getter_of(labels_getter)

    def forward(self, *inputs: object) -> Any:
        sample = inputs if len(inputs) > 1 else inputs[0]  # pyright: ignore[reportGeneralTypeIssues]
        labels = self._labels_getter(sample)
        labels = [] if labels is None else [labels] if isinstance(labels, Tensor) else labels
        for label in labels if isinstance(labels, (tuple, list)) else [labels]:
            if not isinstance(label, Tensor):
                raise ValueError(
                    f"The labels in the input to forward() must be a tensor or None, got {type(label)} instead."
                )
        parts, spec = tree_flatten(sample)
        boxes = boxes_of(parts)
        for label in labels:
            if len(boxes) != len(label):
                raise ValueError(
                    f"Number of boxes (shape={boxes.shape}) and must match the number of labels."
                    f"Found labels with shape={label.shape})."
                )
        valid = F.sanitize_mask(boxes, self.min_size, self.min_area)

        def kept(part: Any) -> Any:
            if any(part is label for label in labels):
                return part[valid]
            if isinstance(part, BoundingBoxes) or (
                isinstance(part, Mask) and part.ndim == 3 and len(part) == len(boxes)
            ):
                return wrap(part.as_subclass(Tensor)[valid], like=part)
            return part

        return tree_unflatten([kept(part) for part in parts], spec)


# ---- batches


class _Mixing(Transform):
    """The base of transforms that mix each picture of a batch with its neighbour, and their labels alike."""

    def __init__(
        self, *, alpha: float = 1.0, num_classes: int | None = None, labels_getter: object = "default"
    ) -> None:
        super().__init__()
        self.alpha = float(alpha)
        self._distribution = Beta(ops.tensor([self.alpha]), ops.tensor([self.alpha]))
        self.num_classes = num_classes
        self._labels_getter = labels_getter_of(labels_getter)

    def forward(self, *inputs: object) -> Any:
        sample = inputs if len(inputs) > 1 else inputs[0]  # pyright: ignore[reportGeneralTypeIssues]
        parts, spec = tree_flatten(sample)
        if any(is_image(part) or isinstance(part, (BoundingBoxes, Mask)) for part in parts):
            raise ValueError(
                f"{type(self).__name__}() does not support PIL images, bounding boxes, keypoints and masks."
            )
        labels = self._checked_labels(self._labels_getter(sample))
        concerned = self._transformed_mask(parts)
        params: Drawn = self.make_params([part for part, is_one in zip(parts, concerned, strict=True) if is_one])
        results = []
        for part, is_one in zip(parts, concerned, strict=True):
            if part is labels:
                results.append(self._mixed_labels(labels, params["share"]))
            elif is_one and is_picture(part):
                self._require_batch(part, len(labels))
                mixed = self.mixed(part.as_subclass(Tensor), params)
                results.append(wrap(mixed, like=part) if isinstance(part, TVTensor) else mixed)
            else:
                results.append(part)
        return tree_unflatten(results, spec)

    def mixed(self, batch: Tensor, params: Drawn) -> Tensor:
        raise NotImplementedError

    def _checked_labels(self, labels: Tensor) -> Tensor:
        if not isinstance(labels, Tensor):
            raise ValueError(f"The labels must be a tensor, but got {type(labels)} instead.")
        if labels.ndim not in (1, 2):
            raise ValueError(
                "labels should be index based with shape (batch_size,) "
                "or probability based with shape (batch_size, num_classes), "
                f"but got a tensor of shape {labels.shape} instead."
            )
        if labels.ndim == 2 and self.num_classes is not None and labels.shape[-1] != self.num_classes:
            raise ValueError(
                "When passing 2D labels, the number of elements in last dimension must match num_classes: "
                f"{labels.shape[-1]} != {self.num_classes}. You can Leave num_classes to None."
            )
        if labels.ndim == 1 and self.num_classes is None:
            raise ValueError("num_classes must be passed if the labels are index-based (1D)")
        return labels

    def _require_batch(self, batch: Tensor, count: int) -> None:
        dimensions = 5 if isinstance(batch, Video) else 4
        if batch.ndim != dimensions:
            raise ValueError(
                f"Expected a batched input with {dimensions} dims, but got {batch.ndim} dimensions instead."
            )
        if batch.shape[0] != count:
            raise ValueError(
                "The batch size of the image or video does not match the batch size of the labels: "
                f"{batch.shape[0]} != {count}."
            )

    def _mixed_labels(self, labels: Tensor, share: float) -> Tensor:
        if labels.ndim == 1:
            labels = nnf.one_hot(labels, num_classes=self.num_classes or -1)
        labels = labels if labels.is_floating_point() else labels.float()
        return labels.roll(1, 0).mul_(1.0 - share).add_(labels.mul(share))


class MixUp(_Mixing):
    """Adds to each picture of a batch its neighbour, with weights that a beta distribution draws; and the labels alike.

    Args:
        alpha: of the distribution.
        num_classes: of labels that are numbers.
        labels_getter: finds the labels of a sample.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.v2.MixUp.html, and Zhang et al.,
    "mixup: Beyond Empirical Risk Minimization", https://arxiv.org/abs/1710.09412
    """

    def make_params(self, flat_inputs: list[object]) -> Params:
        return {"share": float(self._distribution.sample(()))}

    def mixed(self, batch: Tensor, params: Drawn) -> Tensor:
        share = params["share"]
        return batch.roll(1, 0).mul_(1.0 - share).add_(batch.mul(share))


class CutMix(_Mixing):
    """Puts into each picture of a batch a part of its neighbour; labels are mixed by the part's share. Arguments are ``MixUp``'s.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.v2.CutMix.html, and Yun et al.,
    "CutMix: Regularization Strategy to Train Strong Classifiers", https://arxiv.org/abs/1905.04899
    """

    def make_params(self, flat_inputs: list[object]) -> Params:
        share = float(self._distribution.sample(()))
        height, width = query_size(flat_inputs)
        (x,), (y,) = _draw.randint(None, width, 1), _draw.randint(None, height, 1)
        half = 0.5 * math.sqrt(1.0 - share)
        across, down = int(half * width), int(half * height)
        left, top, right, bottom = max(x - across, 0), max(y - down, 0), min(x + across, width), min(y + down, height)
        return {"box": (top, bottom, left, right), "share": 1.0 - (right - left) * (bottom - top) / (width * height)}

    def mixed(self, batch: Tensor, params: Drawn) -> Tensor:
        top, bottom, left, right = params["box"]
        result = batch.clone()
        result[..., top:bottom, left:right] = batch.roll(1, 0)[..., top:bottom, left:right]
        return result
