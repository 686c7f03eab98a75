"""Trained weights of the models: their addresses at torchvision, and how a model loads them or those of a file."""

from __future__ import annotations

import enum
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self, TypeVar

from ... import hub
from ..._core.tensor import Tensor
from ...serialization import load
from ..transforms._presets import ImageClassification

__all__ = ["Weights", "WeightsEnum"]

M = TypeVar("M")


@dataclass(frozen=True)
class Weights:
    """One set of trained weights.

    Args:
        url: the address; the file's name contains the beginning of its SHA-256.
        transforms: creates the transform of pictures for the model.
        meta: facts about it: ``num_classes``, ``num_params``.
    """

    url: str
    transforms: Callable[..., object] = ImageClassification
    meta: dict[str, object] = field(default_factory=dict, hash=False)


class WeightsEnum(enum.Enum):
    """The sets of trained weights that there are for one model; ``DEFAULT`` is the best of them.

    >>> from torchlike.vision.models import ResNet18_Weights
    >>> ResNet18_Weights.DEFAULT, ResNet18_Weights.DEFAULT.url
    (ResNet18_Weights.IMAGENET1K_V1, 'https://download.pytorch.org/models/resnet18-f37072fd.pth')

    Source: https://docs.pytorch.org/vision/stable/models.html
    """

    @classmethod
    def verify(cls, obj: object) -> Self | None:
        """A member for a member, its name, or None.

        Raises:
            TypeError: it belongs to another model. KeyError: there is no member of that name.
        """
        if obj is None or isinstance(obj, cls):
            return obj
        if isinstance(obj, str):
            return cls[obj.replace(f"{cls.__name__}.", "")]
        raise TypeError(f"Invalid Weight class provided; expected {cls.__name__} but received {type(obj).__name__}.")

    @property
    def url(self) -> str:
        return self.value.url

    @property
    def transforms(self) -> Callable[..., Any]:
        """Creates the transform of pictures for the model: ``weights.transforms()(image)``."""
        return self.value.transforms

    @property
    def meta(self) -> dict[str, Any]:
        return self.value.meta

    def get_state_dict(self, *, progress: bool = True, check_hash: bool = True) -> dict[str, Tensor]:
        """The weights by name. The first call downloads them."""
        return hub.load_state_dict_from_url(self.url, progress=progress, check_hash=check_hash, weights_only=True)

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"


def weights_enum(name: str, module: str, **members: tuple[Any, ...]) -> type:
    """An enum of weights, the latest of which is ``DEFAULT``.

    Args:
        members: for each member the file, the number of parameters, and unusual arguments of ``ImageClassification``.
    """
    base = "https://download.pytorch.org/models/"
    values = {
        member: Weights(
            base + file, partial(ImageClassification, **dict(*changes)), {"num_classes": 1000, "num_params": count}
        )
        for member, (file, count, *changes) in members.items()
    }
    enum: Any = WeightsEnum(name, [*values.items(), ("DEFAULT", values[default_of(list(values))])], module=module)
    enum.__doc__ = f"Trained weights for the model of that name: {', '.join(values)}."
    return enum


def default_of(names: list[str]) -> str:
    """The latest version of the weights that were trained on ImageNet with torchvision's recipes."""
    return max(name for name in names if name.startswith("IMAGENET1K_V"))


def built(make: Callable[..., M], kind: Any, weights: object, progress: bool, options: dict[str, object]) -> M:
    """Creates a model, and loads its weights unless ``weights`` is None.

    Args:
        make: creates the model from ``options``.
        kind: the enum of the model's weights.
        weights: None, a member of ``kind`` or its name, the path of a file, or an address (``http:``, ``https:``, ``file:``).
    """
    if "pretrained" in options:
        warnings.warn(
            "The parameter 'pretrained' is deprecated since 0.13 and may be removed in the future, please use 'weights' instead.",
            UserWarning,
            stacklevel=3,
        )
        weights = kind.DEFAULT if options.pop("pretrained") else weights
    state = None
    if isinstance(weights, os.PathLike) or (isinstance(weights, str) and _is_place(weights)):
        state = _state_at(os.fspath(weights), progress)
    else:
        member = kind.verify(weights)
        if member is not None:
            num_classes = member.meta["num_classes"]
            if options.setdefault("num_classes", num_classes) != num_classes:
                raise ValueError(
                    f"The parameter 'num_classes' expected value {num_classes} but got {options['num_classes']} instead."
                )
            state = member.get_state_dict(progress=progress)
    model: Any = make(**options)
    if state is not None:
        model.load_state_dict(state)
    return model


def _is_place(text: str) -> bool:
    return "://" in text or "/" in text or os.path.exists(text) or text.endswith((".pt", ".pth", ".safetensors"))


def _state_at(place: str, progress: bool) -> dict[str, Tensor]:
    if "://" in place:
        return hub.load_state_dict_from_url(place, progress=progress, check_hash=True, weights_only=True)
    if place.endswith(".safetensors"):
        from ...safetensors import load_file

        return load_file(place)
    return load(place, weights_only=True)
