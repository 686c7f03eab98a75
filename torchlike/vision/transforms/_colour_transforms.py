"""Transforms of colours: objects that are called with a picture, most of them at random."""

from __future__ import annotations

from collections.abc import Sequence

from ... import ops
from ..._core.tensor import Tensor
from ...nn import Module
from ...utils.data import _draw
from . import functional as F

__all__ = [
    "ColorJitter", "GaussianBlur", "Grayscale", "RandomAdjustSharpness", "RandomAutocontrast", "RandomEqualize",
    "RandomGrayscale", "RandomInvert", "RandomPosterize", "RandomSolarize", "RandomVerticalFlip",
]  # fmt: skip


class ColorJitter(Module):
    """Changes brightness, contrast, saturation and hue by random factors, in a random order.

    It draws ``torch.randperm(4)`` and one number for each property that it changes.

    Args:
        brightness, contrast, saturation: factors between these bounds; one number ``x`` means 1 - x to 1 + x, at least 0.
        hue: parts of the circle of hues, between these bounds within -0.5 to 0.5; one number ``x`` means -x to x.

    Raises:
        TypeError, ValueError: bounds of another form, or out of order.

    >>> from torchlike.vision.transforms import ColorJitter
    >>> ColorJitter(0.4, hue=0.1)
    ColorJitter(brightness=(0.6, 1.4), contrast=None, saturation=None, hue=(-0.1, 0.1))

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.ColorJitter.html
    """

    def __init__(
        self,
        brightness: float | Sequence[float] = 0,
        contrast: float | Sequence[float] = 0,
        saturation: float | Sequence[float] = 0,
        hue: float | Sequence[float] = 0,
    ) -> None:
        super().__init__()
        self.brightness = factor_bounds(brightness, "brightness")
        self.contrast = factor_bounds(contrast, "contrast")
        self.saturation = factor_bounds(saturation, "saturation")
        self.hue = factor_bounds(hue, "hue", 0.0, (-0.5, 0.5), at_least_zero=False)

    @staticmethod
    def get_params(
        brightness: Sequence[float] | None,
        contrast: Sequence[float] | None,
        saturation: Sequence[float] | None,
        hue: Sequence[float] | None,
    ) -> tuple[Tensor, float | None, float | None, float | None, float | None]:
        """The order of the four changes, and the factor of each, or None."""
        order = ops.tensor(_draw.permutation(None, 4))
        factors = [
            None if bounds is None else _draw.between(None, *bounds)
            for bounds in (brightness, contrast, saturation, hue)
        ]
        return (order, *factors)  # pyright: ignore[reportReturnType]

    def forward(self, img: Tensor) -> Tensor:
        order, *factors = self.get_params(self.brightness, self.contrast, self.saturation, self.hue)
        changes = (F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue)
        for number in order.tolist():
            factor = factors[number]
            if factor is not None:
                img = changes[number](img, factor)
        return img

    def __repr__(self) -> str:
        names = ("brightness", "contrast", "saturation", "hue")
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)}' for name in names)})"


def factor_bounds(
    value: float | Sequence[float],
    name: str,
    center: float = 1.0,
    bound: tuple[float, float] = (0, float("inf")),
    at_least_zero: bool = True,
) -> tuple[float, float] | None:
    """The bounds of a factor, from these or one number around ``center``; None if it cannot differ from that."""
    if isinstance(value, (int, float)):
        if value < 0:
            raise ValueError(f"If {name} is a single number, it must be non negative.")
        low, high = center - float(value), center + float(value)
        low = max(low, 0.0) if at_least_zero else low
        range_text: object = [low, high]
    elif isinstance(value, (tuple, list)) and len(value) == 2:
        low, high = float(value[0]), float(value[1])
        range_text = [low, high]
    else:
        raise TypeError(f"{name} should be a single number or a list/tuple with length 2.")
    if not bound[0] <= low <= high <= bound[1]:
        raise ValueError(f"{name} values should be between {bound}, but got {range_text}.")
    return None if low == high == center else (low, high)


class Grayscale(Module):
    """A picture without colours, of one channel or three equal ones.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.Grayscale.html
    """

    def __init__(self, num_output_channels: int = 1) -> None:
        super().__init__()
        self.num_output_channels = num_output_channels

    def forward(self, img: Tensor) -> Tensor:
        return F.rgb_to_grayscale(img, self.num_output_channels)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(num_output_channels={self.num_output_channels})"


class GaussianBlur(Module):
    """A picture convolved with a normal distribution whose deviation is drawn between two bounds.

    Args:
        kernel_size: width and height of the kernel, odd.
        sigma: the bounds, or one number.

    Raises:
        ValueError: sizes or deviations of another kind.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.GaussianBlur.html
    """

    def __init__(self, kernel_size: int | Sequence[int], sigma: float | Sequence[float] = (0.1, 2.0)) -> None:
        super().__init__()
        sizes = (kernel_size, kernel_size) if isinstance(kernel_size, int) else tuple(kernel_size)
        if len(sizes) not in (1, 2):
            raise ValueError("Kernel size should be a tuple/list of two integers")
        self.kernel_size = sizes if len(sizes) == 2 else sizes * 2
        if any(size <= 0 or size % 2 == 0 for size in self.kernel_size):
            raise ValueError("Kernel size value should be an odd and positive number.")
        if isinstance(sigma, (int, float)):
            if sigma <= 0:
                raise ValueError("If sigma is a single number, it must be positive.")
            sigma = (sigma, sigma)
        elif isinstance(sigma, Sequence) and len(sigma) == 2:
            if not 0.0 < sigma[0] <= sigma[1]:
                raise ValueError("sigma values should be positive and of the form (min, max).")
        else:
            raise ValueError("sigma should be a single number or a list/tuple with length 2.")
        self.sigma = sigma

    @staticmethod
    def get_params(sigma_min: float, sigma_max: float) -> float:
        """The deviation."""
        return _draw.between(None, sigma_min, sigma_max)

    def forward(self, img: Tensor) -> Tensor:
        sigma = self.get_params(*self.sigma)
        return F.gaussian_blur(img, self.kernel_size, [sigma, sigma])

    def __repr__(self) -> str:
        return f"{type(self).__name__}(kernel_size={self.kernel_size}, sigma={self.sigma})"


class _OneInSome(Module):
    """A change that is made with probability ``p``, drawn as one ``torch.rand(1)``."""

    fields: tuple[str, ...] = ()  # what ``repr`` shows beside the probability

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def changed(self, img: Tensor) -> Tensor:
        raise NotImplementedError

    def forward(self, img: Tensor) -> Tensor:
        return self.changed(img) if _draw.uniform(None) < self.p else img

    def __repr__(self) -> str:
        return f"{type(self).__name__}({','.join(f'{name}={getattr(self, name)}' for name in (*self.fields, 'p'))})"


class RandomVerticalFlip(_OneInSome):
    """Top becomes bottom with probability ``p``, drawn as one ``torch.rand(1)``.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.RandomVerticalFlip.html
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__(p)

    def changed(self, img: Tensor) -> Tensor:
        return F.vflip(img)


class RandomGrayscale(_OneInSome):
    """A picture loses its colours, and keeps its number of channels, with probability ``p``, drawn as one ``torch.rand(1)``.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.RandomGrayscale.html
    """

    def __init__(self, p: float = 0.1) -> None:
        super().__init__(p)

    def changed(self, img: Tensor) -> Tensor:
        return F.rgb_to_grayscale(img, num_output_channels=F.get_dimensions(img)[0])


class RandomInvert(_OneInSome):
    """Light becomes dark with probability ``p``, drawn as one ``torch.rand(1)``.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.RandomInvert.html
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__(p)

    def changed(self, img: Tensor) -> Tensor:
        return F.invert(img)


class RandomPosterize(_OneInSome):
    """Of each byte only the highest ``bits`` bits stay, with probability ``p``, drawn as one ``torch.rand(1)``.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.RandomPosterize.html
    """

    fields = ("bits",)

    def __init__(self, bits: int, p: float = 0.5) -> None:
        super().__init__(p)
        self.bits = bits

    def changed(self, img: Tensor) -> Tensor:
        return F.posterize(img, self.bits)


class RandomSolarize(_OneInSome):
    """Values from ``threshold`` up are inverted with probability ``p``, drawn as one ``torch.rand(1)``.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.RandomSolarize.html
    """

    fields = ("threshold",)

    def __init__(self, threshold: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.threshold = threshold

    def changed(self, img: Tensor) -> Tensor:
        return F.solarize(img, self.threshold)


class RandomAdjustSharpness(_OneInSome):
    """A picture becomes sharper or softer with probability ``p``, drawn as one ``torch.rand(1)``.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.RandomAdjustSharpness.html
    """

    fields = ("sharpness_factor",)

    def __init__(self, sharpness_factor: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.sharpness_factor = sharpness_factor

    def changed(self, img: Tensor) -> Tensor:
        return F.adjust_sharpness(img, self.sharpness_factor)


class RandomAutocontrast(_OneInSome):
    """Values are stretched from black to white with probability ``p``, drawn as one ``torch.rand(1)``.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.RandomAutocontrast.html
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__(p)

    def changed(self, img: Tensor) -> Tensor:
        return F.autocontrast(img)


class RandomEqualize(_OneInSome):
    """Values become about equally frequent with probability ``p``, drawn as one ``torch.rand(1)``.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.RandomEqualize.html
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__(p)

    def changed(self, img: Tensor) -> Tensor:
        return F.equalize(img)
