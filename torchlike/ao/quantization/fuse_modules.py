"""fuse_modules: layers that follow each other become one, which is quantized as a whole."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

from ...nn.modules.linear import Identity
from ...nn.modules.module import Module
from .fuser_method_mappings import Mappings, get_fuser_method

__all__ = ["fuse_known_modules", "fuse_modules", "fuse_modules_qat"]

Names = Sequence[str] | Sequence[Sequence[str]]
FuserFunction = Callable[..., Sequence[Module]]


def fuse_known_modules(
    mod_list: Sequence[Module], is_qat: bool, additional_fuser_method_mapping: Mappings | None = None
) -> list[Module]:
    """Layers in the place of others: the first is the fused one, the others are identities. Hooks move to the fused one.

    Raises:
        NotImplementedError: layers of these classes cannot be fused.
    """
    kinds = tuple(type(module) for module in mod_list)
    try:
        fuser = get_fuser_method(kinds, additional_fuser_method_mapping)
    except AssertionError:
        raise NotImplementedError(f"Cannot fuse modules: {kinds}") from None
    fused = fuser(is_qat, *mod_list)
    first, last = mod_list[0], mod_list[-1]
    for hook in [*first._forward_pre_hooks.values()]:
        fused.register_forward_pre_hook(hook)
    first._forward_pre_hooks.clear()
    for hook in [*last._forward_hooks.values()]:
        fused.register_forward_hook(hook)
    last._forward_hooks.clear()
    others: list[Module] = [Identity() for _ in mod_list[1:]]
    for other in others:
        other.training = first.training
    return [fused, *others]


def _replace(
    model: Module, names: Sequence[str], is_qat: bool, fuser_func: FuserFunction, mapping: Mappings | None
) -> None:
    modules = [model.get_submodule(name) for name in names]
    for name, module in zip(names, fuser_func(modules, is_qat, mapping), strict=True):
        parent, _, own = name.rpartition(".")
        setattr(model.get_submodule(parent), own, module)


def _fuse(
    model: Module,
    modules_to_fuse: Names,
    is_qat: bool,
    inplace: bool,
    fuser_func: FuserFunction,
    custom: dict[str, Mappings] | None,
) -> Module:
    if not inplace:
        model = copy.deepcopy(model)
    mapping = (custom or {}).get("additional_fuser_method_mapping")
    lists = [modules_to_fuse] if all(isinstance(name, str) for name in modules_to_fuse) else modules_to_fuse
    for names in lists:
        _replace(model, names, is_qat, fuser_func, mapping)  # pyright: ignore[reportArgumentType]
    return model


def fuse_modules(
    model: Module,
    modules_to_fuse: Names,
    inplace: bool = False,
    fuser_func: FuserFunction = fuse_known_modules,
    fuse_custom_config_dict: dict[str, Mappings] | None = None,
) -> Module:
    """A copy of a model in evaluation mode in which some layers are one: normalization is folded into the layer before it.

    Convolutions and linear layers are fused with ``BatchNorm`` and ``ReLU`` after them, ``BatchNorm`` with ``ReLU``.

    Args:
        modules_to_fuse: a list of names of modules that follow each other, or several such lists.
        inplace: change the model itself.

    >>> from torchlike.ao.quantization import fuse_modules
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    >>> fuse_modules(model, ["0", "1"])
    Sequential(
      (0): LinearReLU(
        (0): Linear(in_features=2, out_features=3, bias=True)
        (1): ReLU()
      )
      (1): Identity()
    )

    Source: https://docs.pytorch.org/docs/stable/generated/torch.ao.quantization.fuse_modules.fuse_modules.html
    """
    return _fuse(model, modules_to_fuse, False, inplace, fuser_func, fuse_custom_config_dict)


def fuse_modules_qat(
    model: Module,
    modules_to_fuse: Names,
    inplace: bool = False,
    fuser_func: FuserFunction = fuse_known_modules,
    fuse_custom_config_dict: dict[str, Mappings] | None = None,
) -> Module:
    """``fuse_modules`` for training: normalization stays, and is folded in when the model is converted."""
    return _fuse(model, modules_to_fuse, True, inplace, fuser_func, fuse_custom_config_dict)
