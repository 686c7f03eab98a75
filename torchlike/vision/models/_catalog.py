"""The models by their names: their list, the functions that create them, and their weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fnmatch import fnmatch
from types import ModuleType
from typing import TYPE_CHECKING

from . import alexnet, densenet, efficientnet, mobilenetv2, mobilenetv3, resnet, squeezenet, vgg, vision_transformer
from ._weights import WeightsEnum

if TYPE_CHECKING:
    from ...nn.modules.module import Module


__all__ = ["get_model", "get_model_builder", "get_model_weights", "get_weight", "list_models"]

_FILES = (alexnet, densenet, efficientnet, mobilenetv2, mobilenetv3, resnet, squeezenet, vgg, vision_transformer)
_PUBLIC = [(name, getattr(file, name), file) for file in _FILES for name in file.__all__]
_ENUMS = {name: enum for name, enum, _ in _PUBLIC if name.endswith("_Weights")}
# The names of a model and its weights differ in capital letters only: resnet18, ResNet18_Weights.
_WEIGHTS_OF = {name.removesuffix("_Weights").lower(): kind for name, kind in _ENUMS.items()}
_BUILDERS = {name: (make, file) for name, make, file in _PUBLIC if name in _WEIGHTS_OF}


def list_models(
    module: ModuleType | None = None,
    include: Iterable[str] | str | None = None,
    exclude: Iterable[str] | str | None = None,
) -> list[str]:
    """The names of all models.

    Args:
        module: a file of models, such as ``models.resnet``; default: all.
        include: patterns as for file names; a name has to match one of them.
        exclude: patterns of which it must match none.

    >>> from torchlike.vision import models
    >>> models.list_models(include="resnet*", exclude="*1*")
    ['resnet34', 'resnet50']

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.models.list_models.html
    """
    names = [name for name in _BUILDERS if module is None or _BUILDERS[name][1] is module]
    if include:
        names = [name for name in names if _fits(name, include)]
    if exclude:
        names = [name for name in names if not _fits(name, exclude)]
    return sorted(names)


def _fits(name: str, patterns: Iterable[str] | str) -> bool:
    return any(fnmatch(name, pattern) for pattern in ([patterns] if isinstance(patterns, str) else patterns))


def get_model_builder(name: str) -> Callable[..., Module]:
    """The function that creates the model of this name.

    Raises:
        ValueError: there is no such model.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.models.get_model_builder.html
    """
    if name.lower() not in _BUILDERS:
        raise ValueError(f"Unknown model {name}")
    return _BUILDERS[name.lower()][0]


def get_model(name: str, **config: object) -> Module:
    """Creates the model of this name.

    Args:
        config: arguments for that function.

    >>> from torchlike.vision import models
    >>> models.get_model("resnet18", num_classes=10).fc
    Linear(in_features=512, out_features=10, bias=True)

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.models.get_model.html
    """
    return get_model_builder(name)(**config)


def get_model_weights(name: Callable[..., object] | str) -> type[WeightsEnum]:
    """The enum of a model's weights; the model by its name or by the function that makes it.

    >>> from torchlike.vision import models
    >>> models.get_model_weights("resnet50").DEFAULT
    ResNet50_Weights.IMAGENET1K_V2

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.models.get_model_weights.html
    """
    builder = get_model_builder(name) if isinstance(name, str) else name
    return _WEIGHTS_OF[builder.__name__]


def get_weight(name: str) -> WeightsEnum:
    """A member of an enum of weights, by its full name.

    Raises:
        ValueError: it is not of the form ``Enum.MEMBER``, or there is no such enum.

    >>> from torchlike.vision import models
    >>> models.get_weight("ResNet50_Weights.IMAGENET1K_V1")
    ResNet50_Weights.IMAGENET1K_V1

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.models.get_weight.html
    """
    kind, dot, member = name.partition(".")
    if not dot or "." in member:
        raise ValueError(f"Invalid weight name provided: '{name}'.")
    if kind not in _ENUMS:
        raise ValueError(f"The weight enum '{kind}' for the specific method couldn't be retrieved.")
    return _ENUMS[kind][member]
