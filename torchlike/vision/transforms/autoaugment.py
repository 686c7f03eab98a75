"""Transforms that pick others at random: AutoAugment, RandAugment, TrivialAugment and AugMix."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, TypeAlias

import numpy as np

from ... import ops
from ..._core.tensor import Tensor, from_host
from ...nn import Module
from ...ops.creation.sampled import sample_dirichlet
from ...utils.data import _draw
from . import functional as F
from ._checks import fill_values
from .functional import InterpolationMode

__all__ = ["AugMix", "AutoAugment", "AutoAugmentPolicy", "RandAugment", "TrivialAugmentWide"]

# For each operation its magnitudes, if it has any, and whether they may be negative.
Space: TypeAlias = "dict[str, tuple[list[float] | None, bool]]"
Fill: TypeAlias = "float | Sequence[float] | None"

# The policies that were found on each dataset: pairs of operations, each with its probability and its magnitude from 0 to 9.
POLICIES = {
    "imagenet": """
        Posterize 0.4 8 + Rotate 0.6 9; Solarize 0.6 5 + AutoContrast 0.6; Equalize 0.8 + Equalize 0.6; Posterize 0.6 7 +
        Posterize 0.6 6; Equalize 0.4 + Solarize 0.2 4; Equalize 0.4 + Rotate 0.8 8; Solarize 0.6 3 + Equalize 0.6; Posterize 0.8
        5 + Equalize 1.0; Rotate 0.2 3 + Solarize 0.6 8; Equalize 0.6 + Posterize 0.4 6; Rotate 0.8 8 + Color 0.4 0; Rotate 0.4 9
        + Equalize 0.6; Equalize 0.0 + Equalize 0.8; Invert 0.6 + Equalize 1.0; Color 0.6 4 + Contrast 1.0 8; Rotate 0.8 8 + Color
        1.0 2; Color 0.8 8 + Solarize 0.8 7; Sharpness 0.4 7 + Invert 0.6; ShearX 0.6 5 + Equalize 1.0; Color 0.4 0 + Equalize
        0.6; Equalize 0.4 + Solarize 0.2 4; Solarize 0.6 5 + AutoContrast 0.6; Invert 0.6 + Equalize 1.0; Color 0.6 4 + Contrast
        1.0 8; Equalize 0.8 + Equalize 0.6
    """,
    "cifar10": """
        Invert 0.1 + Contrast 0.2 6; Rotate 0.7 2 + TranslateX 0.3 9; Sharpness 0.8 1 + Sharpness 0.9 3; ShearY 0.5 8 + TranslateY
        0.7 9; AutoContrast 0.5 + Equalize 0.9; ShearY 0.2 7 + Posterize 0.3 7; Color 0.4 3 + Brightness 0.6 7; Sharpness 0.3 9 +
        Brightness 0.7 9; Equalize 0.6 + Equalize 0.5; Contrast 0.6 7 + Sharpness 0.6 5; Color 0.7 7 + TranslateX 0.5 8; Equalize
        0.3 + AutoContrast 0.4; TranslateY 0.4 3 + Sharpness 0.2 6; Brightness 0.9 6 + Color 0.2 8; Solarize 0.5 2 + Invert 0.0;
        Equalize 0.2 + AutoContrast 0.6; Equalize 0.2 + Equalize 0.6; Color 0.9 9 + Equalize 0.6; AutoContrast 0.8 + Solarize 0.2
        8; Brightness 0.1 3 + Color 0.7 0; Solarize 0.4 5 + AutoContrast 0.9; TranslateY 0.9 9 + TranslateY 0.7 9; AutoContrast
        0.9 + Solarize 0.8 3; Equalize 0.8 + Invert 0.1; TranslateY 0.7 9 + AutoContrast 0.9
    """,
    "svhn": """
        ShearX 0.9 4 + Invert 0.2; ShearY 0.9 8 + Invert 0.7; Equalize 0.6 + Solarize 0.6 6; Invert 0.9 + Equalize 0.6; Equalize
        0.6 + Rotate 0.9 3; ShearX 0.9 4 + AutoContrast 0.8; ShearY 0.9 8 + Invert 0.4; ShearY 0.9 5 + Solarize 0.2 6; Invert 0.9
        + AutoContrast 0.8; Equalize 0.6 + Rotate 0.9 3; ShearX 0.9 4 + Solarize 0.3 3; ShearY 0.8 8 + Invert 0.7; Equalize 0.9 +
        TranslateY 0.6 6; Invert 0.9 + Equalize 0.6; Contrast 0.3 3 + Rotate 0.8 4; Invert 0.8 + TranslateY 0.0 2; ShearY 0.7 6 +
        Solarize 0.4 8; Invert 0.6 + Rotate 0.8 4; ShearY 0.3 7 + TranslateX 0.9 3; ShearX 0.1 6 + Invert 0.6; Solarize 0.7 2 +
        TranslateY 0.6 7; ShearY 0.8 4 + Invert 0.8; ShearX 0.7 9 + TranslateY 0.8 3; ShearY 0.8 5 + AutoContrast 0.7; ShearX 0.7
        2 + Invert 0.1
    """,
}


class AutoAugmentPolicy(Enum):
    """The dataset on which a policy was found."""

    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"
    SVHN = "svhn"


def applied(img: Tensor, name: str, magnitude: float, interpolation: InterpolationMode, fill: Any) -> Tensor:
    """A picture after one operation."""
    if name == "Identity":
        return img
    if name in ("ShearX", "ShearY"):  # about the corner, as in the paper
        angle = math.degrees(math.atan(magnitude))
        shear = [angle, 0.0] if name == "ShearX" else [0.0, angle]
        return F.affine(img, 0.0, [0, 0], 1.0, shear, interpolation, fill, center=[0, 0])
    if name in ("TranslateX", "TranslateY"):
        move = [int(magnitude), 0] if name == "TranslateX" else [0, int(magnitude)]
        return F.affine(img, 0.0, move, 1.0, [0.0, 0.0], interpolation, fill)
    if name == "Rotate":
        return F.rotate(img, magnitude, interpolation, fill=fill)
    factors: dict[str, Callable[..., Any]] = {
        "Brightness": F.adjust_brightness,
        "Color": F.adjust_saturation,
        "Contrast": F.adjust_contrast,
        "Sharpness": F.adjust_sharpness,
    }
    if name in factors:
        return factors[name](img, 1.0 + magnitude)
    if name == "Posterize":
        return F.posterize(img, int(magnitude))
    if name == "Solarize":
        return F.solarize(img, magnitude)
    return {"AutoContrast": F.autocontrast, "Equalize": F.equalize, "Invert": F.invert}[name](img)


def magnitudes(low: float, high: float, count: int) -> list[float]:
    """``torch.linspace(low, high, count)``."""
    return ops.linspace(low, high, count).tolist()


def bits(most: int, span: int, count: int) -> list[float]:
    """Numbers of bits from ``most`` down to ``most - span``."""
    steps = np.arange(count, dtype=np.float32) / np.float32((count - 1) / span)
    return (most - np.round(steps)).tolist()


def space(
    count: int, shear: float, moves: tuple[float, float], angle: float, factor: float, posterize: list[float]
) -> Space:
    """The operations with ``count`` magnitudes each, up to these, in the order in which they are numbered."""
    factors: Space = {
        name: (magnitudes(0.0, factor, count), True) for name in ("Brightness", "Color", "Contrast", "Sharpness")
    }
    return {
        "Identity": (None, False),
        "ShearX": (magnitudes(0.0, shear, count), True),
        "ShearY": (magnitudes(0.0, shear, count), True),
        "TranslateX": (magnitudes(0.0, moves[0], count), True),
        "TranslateY": (magnitudes(0.0, moves[1], count), True),
        "Rotate": (magnitudes(0.0, angle, count), True),
        **factors,
        "Posterize": (posterize, False),
        "Solarize": (magnitudes(255.0, 0.0, count), False),
        "AutoContrast": (None, False),
        "Equalize": (None, False),
    }


def drawn(
    choices: Mapping[str, tuple[list[float] | None, bool]], level: Callable[[list[float]], int]
) -> tuple[str, float]:
    """An operation and its magnitude: which operation and which sign are drawn; ``level`` says which magnitude."""
    name = list(choices)[_draw.randint(None, len(choices), 1)[0]]
    values, signed = choices[name]
    magnitude = values[level(values)] if values is not None else 0.0
    if signed and _draw.randint(None, 2, 1)[0]:
        magnitude *= -1.0
    return name, magnitude


def colour_for(img: object, fill: Fill) -> Fill:
    return fill_values(fill, F.get_dimensions(img)[0]) if isinstance(img, Tensor) else fill


class AutoAugment(Module):
    """One of 25 pairs of operations, each of them with its probability: the policy that worked best on a dataset.

    Args:
        policy: which dataset.
        interpolation, fill: for operations that move pixels.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.AutoAugment.html, and Cubuk et al.,
    "AutoAugment: Learning Augmentation Strategies from Data", https://arxiv.org/abs/1805.09501
    """

    def __init__(
        self,
        policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET,
        interpolation: InterpolationMode = InterpolationMode.NEAREST,
        fill: Fill = None,
    ) -> None:
        super().__init__()
        if not isinstance(policy, AutoAugmentPolicy):
            raise ValueError(f"The provided policy {policy} is not recognized.")
        self.policy = policy
        self.interpolation = interpolation
        self.fill = fill
        self.policies = [
            tuple(_operation(text) for text in pair.split("+")) for pair in POLICIES[policy.value].split(";")
        ]

    @staticmethod
    def get_params(transform_num: int) -> tuple[int, Tensor, Tensor]:
        """The number of a pair, and for both a number from 0 to 1 and a sign."""
        number = _draw.randint(None, transform_num, 1)[0]
        chances = [_draw.uniform(None) for _ in range(2)]
        return number, ops.tensor(chances), ops.tensor(_draw.randint(None, 2, 2))

    def forward(self, img: Tensor) -> Tensor:
        _, height, width = F.get_dimensions(img)
        fill = colour_for(img, self.fill)
        number, chances, signs = self.get_params(len(self.policies))
        moves = (150.0 / 331.0 * width, 150.0 / 331.0 * height)
        choices = space(10, 0.3, moves, 30.0, 0.9, bits(8, 4, 10)) | {"Invert": (None, False)}
        for (name, p, level), chance, sign in zip(self.policies[number], chances.tolist(), signs.tolist(), strict=True):
            if chance <= np.float32(p):
                values, signed = choices[name]
                magnitude = values[level] if values is not None and level is not None else 0.0
                img = applied(img, name, -magnitude if signed and sign == 0 else magnitude, self.interpolation, fill)
        return img

    def __repr__(self) -> str:
        return f"{type(self).__name__}(policy={self.policy}, fill={self.fill})"


def _operation(text: str) -> tuple[str, float, int | None]:
    name, p, *level = text.split()
    return name, float(p), int(level[0]) if level else None


class RandAugment(Module):
    """Some operations one after the other, each drawn at random and all of one magnitude.

    Args:
        num_ops: how many.
        magnitude: which of the magnitudes, of which there are ``num_magnitude_bins``.
        interpolation, fill: for operations that move pixels.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.RandAugment.html, and Cubuk et al.,
    "RandAugment: Practical automated data augmentation with a reduced search space", https://arxiv.org/abs/1909.13719
    """

    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: InterpolationMode = InterpolationMode.NEAREST,
        fill: Fill = None,
    ) -> None:
        super().__init__()
        self.num_ops = num_ops
        self.magnitude = magnitude
        self.num_magnitude_bins = num_magnitude_bins
        self.interpolation = interpolation
        self.fill = fill

    def forward(self, img: Tensor) -> Tensor:
        _, height, width = F.get_dimensions(img)
        fill, count = colour_for(img, self.fill), self.num_magnitude_bins
        moves = (150.0 / 331.0 * width, 150.0 / 331.0 * height)
        choices = space(count, 0.3, moves, 30.0, 0.9, bits(8, 4, count))
        for _ in range(self.num_ops):
            name, magnitude = drawn(choices, lambda values: self.magnitude)
            img = applied(img, name, magnitude, self.interpolation, fill)
        return img

    def __repr__(self) -> str:
        names = ("num_ops", "magnitude", "num_magnitude_bins", "interpolation", "fill")
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)}' for name in names)})"


class TrivialAugmentWide(Module):
    """One operation of one magnitude, both drawn at random from a wide range.

    Args:
        num_magnitude_bins: how many magnitudes there are.
        interpolation, fill: for operations that move pixels.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.TrivialAugmentWide.html, and Müller,
    Hutter, "TrivialAugment: Tuning-free Yet State-of-the-Art Data Augmentation", https://arxiv.org/abs/2103.10158
    """

    def __init__(
        self,
        num_magnitude_bins: int = 31,
        interpolation: InterpolationMode = InterpolationMode.NEAREST,
        fill: Fill = None,
    ) -> None:
        super().__init__()
        self.num_magnitude_bins = num_magnitude_bins
        self.interpolation = interpolation
        self.fill = fill

    def forward(self, img: Tensor) -> Tensor:
        count = self.num_magnitude_bins
        choices = space(count, 0.99, (32.0, 32.0), 135.0, 0.99, bits(8, 6, count))
        name, magnitude = drawn(choices, lambda values: _draw.randint(None, len(values), 1)[0])
        return applied(img, name, magnitude, self.interpolation, colour_for(img, self.fill))

    def __repr__(self) -> str:
        names = ("num_magnitude_bins", "interpolation", "fill")
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)}' for name in names)})"


class AugMix(Module):
    """A random mixture of a picture and of several chains of operations on it.

    Args:
        severity: the largest magnitude, from 1 to 10.
        mixture_width: how many chains.
        chain_depth: operations of each; below 1 they are drawn from 1 to 3.
        alpha: of the Dirichlet distributions of the weights.
        all_ops: whether brightness, contrast, colour and sharpness belong to the operations.
        interpolation, fill: for operations that move pixels.

    Raises:
        ValueError: another severity.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.AugMix.html, and Hendrycks et al.,
    "AugMix: A Simple Data Processing Method to Improve Robustness and Uncertainty", https://arxiv.org/abs/1912.02781
    """

    def __init__(
        self,
        severity: int = 3,
        mixture_width: int = 3,
        chain_depth: int = -1,
        alpha: float = 1.0,
        all_ops: bool = True,
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        fill: Fill = None,
    ) -> None:
        super().__init__()
        if not (1 <= severity <= 10):
            raise ValueError(f"The severity must be between [1, 10]. Got {severity} instead.")
        self.severity = severity
        self.mixture_width = mixture_width
        self.chain_depth = chain_depth
        self.alpha = alpha
        self.all_ops = all_ops
        self.interpolation = interpolation
        self.fill = fill

    def _choices(self, height: int, width: int) -> Space:
        """The operations in the order in which they are numbered here."""
        every = space(10, 0.3, (width / 3.0, height / 3.0), 30.0, 0.9, bits(4, 4, 10))
        names = [
            "ShearX",
            "ShearY",
            "TranslateX",
            "TranslateY",
            "Rotate",
            "Posterize",
            "Solarize",
            "AutoContrast",
            "Equalize",
        ]
        names += ["Brightness", "Color", "Contrast", "Sharpness"] if self.all_ops else []
        return {name: every[name] for name in names}

    def forward(self, orig_img: Tensor) -> Tensor:
        _, height, width = F.get_dimensions(orig_img)
        img: Tensor = orig_img if isinstance(orig_img, Tensor) else F.pil_to_tensor(orig_img)
        fill, choices = colour_for(orig_img, self.fill), self._choices(height, width)
        batch = img.reshape([1] * max(4 - img.ndim, 0) + list(img.shape))
        shape = [len(batch)] + [1] * (batch.ndim - 1)

        def weights(count: int) -> Tensor:
            return sample_dirichlet(from_host(np.full((len(batch), count), self.alpha, np.float32)))

        mixing_weights = weights(2)  # of the picture, and of the chains together
        of_chains = weights(self.mixture_width) * mixing_weights[:, 1:]
        mix = mixing_weights[:, 0].reshape(shape) * batch
        for chain in range(self.mixture_width):
            changed = batch
            depth = self.chain_depth if self.chain_depth > 0 else 1 + _draw.randint(None, 3, 1)[0]
            for _ in range(depth):
                name, magnitude = drawn(choices, lambda values: _draw.randint(None, self.severity, 1)[0])
                changed = applied(changed, name, magnitude, self.interpolation, fill)
            mix = mix + of_chains[:, chain].reshape(shape) * changed
        mix = mix.reshape(img.shape).to(img.dtype)
        return mix if isinstance(orig_img, Tensor) else F.to_pil_image(mix)  # pyright: ignore[reportReturnType]

    def __repr__(self) -> str:
        names = ("severity", "mixture_width", "chain_depth", "alpha", "all_ops", "interpolation", "fill")
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)}' for name in names)})"
