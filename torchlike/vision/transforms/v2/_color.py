"""Transforms of colours, and those of automatic augmentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .... import ops
from ...._core.tensor import Tensor
from ....utils._pytree import tree_flatten, tree_unflatten
from ....utils.data import _draw
from ...tv_tensors import BoundingBoxes, Mask
from .. import autoaugment, transforms as v1
from .._colour_transforms import factor_bounds
from ..autoaugment import AutoAugmentPolicy, bits, space
from . import functional as F
from ._geometry import mode_of
from ._transform import Drawn, Params, Part, RandomApplied, Transform, fill_for, fill_table, is_picture, query_chw
from .functional import InterpolationMode

__all__ = [
    "RGB", "AutoAugment", "ColorJitter", "Grayscale", "RandAugment", "RandomAdjustSharpness", "RandomAutocontrast",
    "RandomChannelPermutation", "RandomEqualize", "RandomGrayscale", "RandomInvert", "RandomPhotometricDistort",
    "RandomPosterize", "RandomSolarize", "TrivialAugmentWide",
]  # fmt: skip

CHANGES = (F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue)


class Grayscale(Transform):
    """Without colours, of one channel or three equal ones."""

    def __init__(self, num_output_channels: int = 1) -> None:
        super().__init__()
        self.num_output_channels = num_output_channels

    def transform(self, inpt: object, params: Params) -> object:
        return F.rgb_to_grayscale(inpt, num_output_channels=self.num_output_channels)


class RandomGrayscale(RandomApplied):
    """Loses its colours, and keeps its number of channels, with probability ``p``."""

    def __init__(self, p: float = 0.1) -> None:
        super().__init__(p)

    def make_params(self, flat_inputs: list[object]) -> Params:
        return {"num_output_channels": query_chw(flat_inputs)[0]}

    def transform(self, inpt: object, params: Params) -> object:
        return F.rgb_to_grayscale(inpt, **params)


class RGB(Transform):
    """Grey pictures get three equal channels."""

    def transform(self, inpt: Part, params: Params) -> object:
        return F.grayscale_to_rgb(inpt) if is_picture(inpt) else inpt


class ColorJitter(Transform):
    """Changes brightness, contrast, saturation and hue by drawn factors, in a drawn order. Arguments are those of the first version."""

    get_params = staticmethod(v1.ColorJitter.get_params)

    def __init__(
        self,
        brightness: float | Sequence[float] | None = None,
        contrast: float | Sequence[float] | None = None,
        saturation: float | Sequence[float] | None = None,
        hue: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        self.brightness = factor_bounds(brightness or 0, "brightness")
        self.contrast = factor_bounds(contrast or 0, "contrast")
        self.saturation = factor_bounds(saturation or 0, "saturation")
        self.hue = factor_bounds(hue or 0, "hue", 0.0, (-0.5, 0.5), at_least_zero=False)

    def make_params(self, flat_inputs: list[object]) -> Params:
        order, *factors = v1.ColorJitter.get_params(self.brightness, self.contrast, self.saturation, self.hue)
        return {"order": order.tolist(), "factors": factors}

    def transform(self, inpt: Part, params: Drawn) -> object:
        for number in params["order"]:
            factor = params["factors"][number]
            inpt = inpt if factor is None else CHANGES[number](inpt, factor)
        return inpt


class RandomChannelPermutation(Transform):
    """The channels in a random order."""

    def make_params(self, flat_inputs: list[object]) -> Params:
        return {"permutation": _draw.permutation(None, query_chw(flat_inputs)[0])}

    def transform(self, inpt: Part, params: Drawn) -> object:
        return F.permute_channels(inpt, **params)


class RandomPhotometricDistort(Transform):
    """Changes brightness, contrast, saturation, hue and the order of channels, each with probability ``p``, as SSD does it.

    Args:
        brightness, contrast, saturation, hue: bounds of the factors.
    """

    def __init__(
        self,
        brightness: tuple[float, float] = (0.875, 1.125),
        contrast: tuple[float, float] = (0.5, 1.5),
        saturation: tuple[float, float] = (0.5, 1.5),
        hue: tuple[float, float] = (-0.05, 0.05),
        p: float = 0.5,
    ) -> None:
        super().__init__()
        self.brightness, self.contrast, self.hue, self.saturation, self.p = brightness, contrast, hue, saturation, p

    def make_params(self, flat_inputs: list[object]) -> Params:
        channels = query_chw(flat_inputs)[0]
        bounds = (self.brightness, self.contrast, self.saturation, self.hue)
        factors = [_draw.between(None, *interval) if _draw.uniform(None) < self.p else None for interval in bounds]
        contrast_first = _draw.uniform(None) < 0.5
        order = _draw.permutation(None, channels) if _draw.uniform(None) < self.p else None
        return {"factors": factors, "order": [0, 1, 2, 3] if contrast_first else [0, 2, 3, 1], "permutation": order}

    def transform(self, inpt: Part, params: Drawn) -> object:
        for number in params["order"]:
            factor = params["factors"][number]
            inpt = inpt if factor is None else CHANGES[number](inpt, factor)
        return inpt if params["permutation"] is None else F.permute_channels(inpt, params["permutation"])


class RandomEqualize(RandomApplied):
    """Values become about equally frequent with probability ``p``."""

    def transform(self, inpt: object, params: Params) -> object:
        return F.equalize(inpt)


class RandomInvert(RandomApplied):
    """Light becomes dark with probability ``p``."""

    def transform(self, inpt: object, params: Params) -> object:
        return F.invert(inpt)


class RandomAutocontrast(RandomApplied):
    """Values are stretched from black to white with probability ``p``."""

    def transform(self, inpt: Part, params: Params) -> object:
        return F.autocontrast(inpt)


class RandomPosterize(RandomApplied):
    """Of each byte only the highest ``bits`` bits stay, with probability ``p``."""

    def __init__(self, bits: int, p: float = 0.5) -> None:
        super().__init__(p)
        self.bits = bits

    def transform(self, inpt: object, params: Params) -> object:
        return F.posterize(inpt, bits=self.bits)


class RandomSolarize(RandomApplied):
    """Values from ``threshold`` up are inverted with probability ``p``."""

    def __init__(self, threshold: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.threshold = threshold

    def transform(self, inpt: object, params: Params) -> object:
        return F.solarize(inpt, threshold=self.threshold)


class RandomAdjustSharpness(RandomApplied):
    """Becomes sharper or softer with probability ``p``."""

    def __init__(self, sharpness_factor: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.sharpness_factor = sharpness_factor

    def transform(self, inpt: object, params: Params) -> object:
        return F.adjust_sharpness(inpt, sharpness_factor=self.sharpness_factor)


class _Augmenting(Transform):
    """The base of transforms that draw operations: the sample has one picture, which they change."""

    def __init__(self, interpolation: InterpolationMode | str | int, fill: object) -> None:
        super().__init__()
        self.interpolation = mode_of(interpolation)
        self.fill = fill
        self._fill = fill_table(fill)

    def forward(self, *inputs: object) -> Any:
        parts, spec = tree_flatten(inputs if len(inputs) > 1 else inputs[0])  # pyright: ignore[reportGeneralTypeIssues]
        pictures = [
            number
            for number, is_one in enumerate(self._transformed_mask(parts))
            if is_one and is_picture(parts[number])
        ]
        for leaf in parts:
            if isinstance(leaf, (BoundingBoxes, Mask)):
                raise TypeError(f"Inputs of type {type(leaf).__name__} are not supported by {type(self).__name__}()")
        if not pictures:
            raise TypeError("Found no image in the sample.")
        if len(pictures) > 1:
            raise TypeError(
                "Auto augment transformations are only properly defined for a single image or video, "
                f"but found {len(pictures)}."
            )
        parts[pictures[0]] = self.augmented(parts[pictures[0]])
        return tree_unflatten(parts, spec)

    def augmented(self, picture: Tensor) -> Tensor:
        raise NotImplementedError

    def applied(self, picture: Tensor, name: str, magnitude: float) -> Tensor:
        """A picture after one operation, by the first version's functions."""
        if name == "AutoContrast":  # which rounds otherwise than the first version
            return F.autocontrast(picture)
        fill = fill_for(self._fill, picture)
        if isinstance(picture, Tensor) and isinstance(fill, (int, float)):
            fill = [float(fill)]
        options = (name, magnitude, self.interpolation, fill)
        return F.on_pictures(autoaugment.applied, picture, *options)

    def drawn(self, choices: Mapping[str, tuple[list[float] | None, bool]], level: int | None) -> tuple[str, float]:
        """An operation and its magnitude; its sign is drawn by a ``torch.rand(())``, and a level of None as well."""
        name = list(choices)[_draw.randint(None, len(choices), 1)[0]]
        values, signed = choices[name]
        if values is None:
            return name, 0.0
        magnitude = values[_draw.randint(None, len(values), 1)[0] if level is None else level]
        return name, -magnitude if signed and _draw.uniform(None) <= 0.5 else magnitude


class AutoAugment(_Augmenting):
    """One of 25 pairs of operations, each of them with its probability. Arguments are those of the first version."""

    def __init__(
        self,
        policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET,
        interpolation: InterpolationMode | str | int = InterpolationMode.NEAREST,
        fill: object = None,
    ) -> None:
        super().__init__(interpolation, fill)
        self.policy = policy
        self._policies = v1_policies(policy)

    def augmented(self, picture: Tensor) -> Tensor:
        height, width = F.get_size(picture)
        moves = (150.0 / 331.0 * width, 150.0 / 331.0 * height)
        choices = space(10, 0.3, moves, 30.0, 0.9, bits(8, 4, 10)) | {"Invert": (None, False)}
        pair = self._policies[_draw.randint(None, len(self._policies), 1)[0]]
        for name, p, level in pair:
            if not float(ops.rand(())) <= p:
                continue
            values, signed = choices[name]
            magnitude = 0.0
            if values is not None and level is not None:
                magnitude = values[level]
                if signed and _draw.uniform(None) <= 0.5:
                    magnitude *= -1
            picture = self.applied(picture, name, magnitude)
        return picture


def v1_policies(policy: AutoAugmentPolicy) -> list[tuple[tuple[str, float, int | None], ...]]:
    """The pairs of a policy, as the first version reads them."""
    return autoaugment.AutoAugment(policy).policies


class RandAugment(_Augmenting):
    """Some drawn operations of one magnitude. Arguments are those of the first version."""

    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: InterpolationMode | str | int = InterpolationMode.NEAREST,
        fill: object = None,
    ) -> None:
        super().__init__(interpolation, fill)
        self.num_ops, self.magnitude, self.num_magnitude_bins = num_ops, magnitude, num_magnitude_bins

    def augmented(self, picture: Tensor) -> Tensor:
        height, width = F.get_size(picture)
        moves, count = (150.0 / 331.0 * width, 150.0 / 331.0 * height), self.num_magnitude_bins
        choices = space(count, 0.3, moves, 30.0, 0.9, bits(8, 4, count))
        for _ in range(self.num_ops):
            picture = self.applied(picture, *self.drawn(choices, self.magnitude))
        return picture


class TrivialAugmentWide(_Augmenting):
    """One drawn operation of a drawn magnitude. Arguments are those of the first version."""

    def __init__(
        self,
        num_magnitude_bins: int = 31,
        interpolation: InterpolationMode | str | int = InterpolationMode.NEAREST,
        fill: object = None,
    ) -> None:
        super().__init__(interpolation, fill)
        self.num_magnitude_bins = num_magnitude_bins

    def augmented(self, picture: Tensor) -> Tensor:
        count = self.num_magnitude_bins
        choices = space(count, 0.99, (32.0, 32.0), 135.0, 0.99, bits(8, 6, count))
        return self.applied(picture, *self.drawn(choices, None))
