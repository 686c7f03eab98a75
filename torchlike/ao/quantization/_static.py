"""Static quantization: observers are put into a model, and then its modules become quantized ones."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Collection, Mapping
from typing import Any

from ... import nn
from ..._core.tensor import Tensor
from ...nn.modules.module import Module
from ..nn.intrinsic.modules.fused import _FusedModule
from ..nn.intrinsic.qat.modules.conv_fused import _ConvBn
from ..nn.quantized.modules.functional_modules import FloatFunctional, QFunctional
from .fake_quantize import FakeQuantizeBase
from .observer import ObserverBase
from .qconfig import QConfig
from .quantization_mappings import (
    DEFAULT_MODULE_TO_ACT_POST_PROCESS,
    UNSUPPORTED,
    Kinds,
    get_default_qat_module_mappings,
    get_default_qconfig_propagation_list,
    get_default_static_quant_module_mappings,
)
from .stubs import DeQuantStub, QuantWrapper

__all__ = [
    "add_quant_dequant", "convert", "default_eval_fn", "prepare", "prepare_qat", "propagate_qconfig_", "quantize", "quantize_qat",
    "swap_module",
]  # fmt: skip

_POST = "activation_post_process"
Spec = Mapping[Any, QConfig | None]


def warn_deprecated() -> None:
    """PyTorch's warning; the frame that it names is that of the caller's caller."""
    warnings.warn("torch.ao.quantization is deprecated and will be removed in 2.10. ", DeprecationWarning, stacklevel=3)


def _config(module: Module) -> QConfig | None:
    return getattr(module, "qconfig", None)


def _device_of(module: Module) -> Any:
    """The device of the parameters and buffers, if they have one."""
    devices = {tensor.device for tensor in (*module.parameters(), *module.buffers())}
    if len(devices) > 1:
        raise AssertionError(f"prepare only works with cpu or single-device CUDA modules, but got devices {devices}")
    return next(iter(devices), None)


def propagate_qconfig_(
    module: Module, qconfig_dict: Spec | None = None, prepare_custom_config_dict: object = None
) -> None:
    """Gives each module within one an attribute ``qconfig``: its own, or that of its name or class, or that of the module that it is in.

    Args:
        qconfig_dict: from names and classes to a ``QConfig``; under ``""`` for all others.
    """
    if prepare_custom_config_dict:
        raise NotImplementedError("torchlike does not support propagate_qconfig_(prepare_custom_config_dict=...)")
    _propagate(module, qconfig_dict or {}, None, "")


def _propagate(module: Module, spec: Spec, inherited: QConfig | None, name: str) -> None:
    config = spec.get(type(module), inherited)
    config = getattr(module, "qconfig", spec.get(name, config))
    module.qconfig = config
    for own, child in module.named_children():
        _propagate(child, spec, config, f"{name}.{own}" if name else own)


def _observer_hook(module: Module, inputs: object, output: Tensor) -> Tensor:
    return getattr(module, _POST)(output)


def _observer_pre_hook(module: Module, inputs: tuple[Tensor, ...]) -> Tensor:
    return getattr(module, _POST)(inputs[0])


def _is_memoryless(config: QConfig) -> bool:
    """Whether the activation's fake quantizer looks at each batch by itself: then the input is rounded, not the output."""
    post: Any = config.activation()
    observer = getattr(post, _POST, post) if isinstance(post, FakeQuantizeBase) else post
    return getattr(observer, "averaging_constant", None) == 1


def _observe(module: Module, device: Any, special: Callable[[], Module] | None = None) -> None:
    config = _config(module)
    if config is None or isinstance(module, DeQuantStub):
        return
    post = (special or config.activation)()
    module.add_module(_POST, post if device is None else post.to(device))
    if _is_memoryless(config):
        module.register_forward_pre_hook(_observer_pre_hook, prepend=True)
    else:
        module.register_forward_hook(_observer_hook, prepend=True)


def _observe_all(module: Module, kinds: Collection[object], inner: Collection[object], device: Any) -> None:
    """Adds observers to the modules of these kinds that have no modules in them, and to those of the kinds ``inner``."""
    for child in module.children():
        kind = type(child)
        if kind is nn.Dropout:
            continue
        if kind in (FloatFunctional, QFunctional):
            if (config := _config(child)) is not None:
                post = config.activation()
                child.activation_post_process = post if device is None else post.to(device)
        elif isinstance(child, _FusedModule) or kind in inner:
            _observe(child, device)
        elif _config(child) is not None and kind in DEFAULT_MODULE_TO_ACT_POST_PROCESS:
            _observe(child, device, DEFAULT_MODULE_TO_ACT_POST_PROCESS[kind])
        else:
            _observe_all(child, kinds, inner, device)
    if not [*module.children()] and not isinstance(module, nn.Sequential) and type(module) in kinds:
        _observe(module, device)


def prepare(
    model: Module,
    inplace: bool = False,
    allow_list: Collection[type[Module]] | None = None,
    observer_non_leaf_module_list: Collection[type[Module]] | None = None,
    prepare_custom_config_dict: object = None,
) -> Module:
    """A copy of a model whose modules' outputs are observed, as their attribute ``qconfig`` says. It is inherited by modules within.

    Args:
        inplace: change the model itself.
        allow_list: the classes of modules that are observed; None for all that can be quantized.
        observer_non_leaf_module_list: classes of modules with modules in them that are observed too.

    >>> import warnings
    >>> from torchlike.ao import quantization as q
    >>> warnings.simplefilter("ignore")  # PyTorch calls all of it deprecated
    >>> model = q.QuantWrapper(torch.nn.Linear(2, 2)).eval()
    >>> model.qconfig = q.get_default_qconfig("fbgemm")
    >>> observed = q.prepare(model)
    >>> observed(torch.ones(4, 2)).shape
    torch.Size([4, 2])
    >>> q.convert(observed).module.weight().dtype
    torch.qint8

    Source: https://docs.pytorch.org/docs/stable/generated/torch.ao.quantization.prepare.html
    """
    warn_deprecated()
    if prepare_custom_config_dict:
        raise NotImplementedError("torchlike does not support prepare(prepare_custom_config_dict=...)")
    if not inplace:
        model = copy.deepcopy(model)
    propagate_qconfig_(model)
    if not any(_config(module) for module in model.modules()):
        warnings.warn(
            "None of the submodule got qconfig applied. Make sure you passed correct configuration through `qconfig_dict` or by "
            "assigning the `.qconfig` attribute directly on submodules",
            stacklevel=2,
        )
    kinds = get_default_qconfig_propagation_list() if allow_list is None else allow_list
    _observe_all(model, kinds, observer_non_leaf_module_list or (), _device_of(model))
    return model


def prepare_qat(model: Module, mapping: Kinds | None = None, inplace: bool = False) -> Module:
    """A copy of a model in training mode that rounds weights and activations as quantization will, so that training adapts to it.

    Args:
        mapping: what modules become; None for the usual ones.
        inplace: change the model itself.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.ao.quantization.prepare_qat.html
    """
    warn_deprecated()
    if not model.training:
        raise AssertionError("prepare_qat only works on models in training mode")
    mapping = get_default_qat_module_mappings() if mapping is None else mapping
    if not inplace:
        model = copy.deepcopy(model)
    propagate_qconfig_(model)
    _swap_children(model, mapping)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        prepare(model, observer_non_leaf_module_list={*mapping.values()}, inplace=True)
    return model


def convert(
    module: Module,
    mapping: Kinds | None = None,
    inplace: bool = False,
    remove_qconfig: bool = True,
    is_reference: bool = False,
    convert_custom_config_dict: object = None,
    use_precomputed_fake_quant: bool = False,
) -> Module:
    """A copy of an observed model whose modules compute with integers.

    Args:
        mapping: what modules become; None for the usual ones.
        inplace: change the model itself.
        remove_qconfig: remove the attributes ``qconfig`` and the observers.

    Raises:
        NotImplementedError: an observed module cannot be quantized here, such as ``Embedding``.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.ao.quantization.convert.html
    """
    warn_deprecated()
    if is_reference:
        raise NotImplementedError("torchlike does not support convert(is_reference=True)")
    if convert_custom_config_dict:
        raise NotImplementedError("torchlike does not support convert(convert_custom_config_dict=...)")
    if not inplace:
        module = copy.deepcopy(module)
    kinds = get_default_static_quant_module_mappings() if mapping is None else mapping
    for name, child in module.named_modules():
        if type(child) in UNSUPPORTED - kinds.keys() and hasattr(child, _POST):
            raise NotImplementedError(
                f"torchlike does not support static quantization of {type(child).__name__} ({name}): set its attribute qconfig to None "
                "before prepare"
            )
    _swap_children(module, kinds, use_precomputed_fake_quant)
    if remove_qconfig:
        _remove_qconfig(module)
    return module


def _swap_children(module: Module, mapping: Kinds, precomputed: bool = False) -> None:
    for name, child in [*module.named_children()]:
        if not isinstance(child, (_FusedModule, _ConvBn)):
            _swap_children(child, mapping, precomputed)
        module._modules[name] = swap_module(child, mapping, {}, precomputed)


def swap_module(
    mod: Module, mapping: Kinds, custom_module_class_mapping: object = None, use_precomputed_fake_quant: bool = False
) -> Module:
    """What a module becomes if it has a ``qconfig`` and its class is among the ``mapping``; otherwise the module itself.

    Hooks stay, but for the observers'.
    """
    if custom_module_class_mapping:
        raise NotImplementedError("torchlike does not support swap_module(custom_module_class_mapping=...)")
    if _config(mod) is None:
        return mod
    kind: Any = mapping.get(type(mod))
    if kind is None:
        return mod
    result = kind.from_float(mod, use_precomputed_fake_quant=use_precomputed_fake_quant)
    for hook in mod._forward_pre_hooks.values():
        if hook is not _observer_pre_hook:
            result.register_forward_pre_hook(hook)
    for hook in mod._forward_hooks.values():
        if hook is not _observer_hook:
            result.register_forward_hook(hook)
    return result


def _remove_qconfig(module: Module) -> None:
    for child in module.modules():
        if "qconfig" in vars(child):
            del child.qconfig
        if isinstance(getattr(child, _POST, None), (ObserverBase, FakeQuantizeBase)):
            delattr(child, _POST)
        for hooks, own in ((child._forward_hooks, _observer_hook), (child._forward_pre_hooks, _observer_pre_hook)):
            for key in [key for key, hook in hooks.items() if hook is own]:
                del hooks[key]


def add_quant_dequant(module: Module) -> Module:
    """The module with each module in it that has a ``qconfig`` and none within put into a ``QuantWrapper``.

    Returns the wrapper if the module itself is such a one.
    """
    if not [*module.children()] and _config(module):
        return QuantWrapper(module)
    for name, child in [*module.named_children()]:
        module._modules[name] = add_quant_dequant(child)
    return module


def quantize(
    model: Module, run_fn: Callable[..., object], run_args: Any, mapping: Kinds | None = None, inplace: bool = False
) -> Module:
    """``prepare``, ``run_fn(model, *run_args)``, which shows it examples, and ``convert``."""
    warn_deprecated()
    if not inplace:
        model = copy.deepcopy(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        prepare(model.eval(), inplace=True)
    run_fn(model, *run_args)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return convert(model, mapping, inplace=True)


def quantize_qat(model: Module, run_fn: Callable[..., object], run_args: Any, inplace: bool = False) -> Module:
    """``prepare_qat``, ``run_fn(model, *run_args)``, which trains it, and ``convert``."""
    warn_deprecated()
    if not inplace:
        model = copy.deepcopy(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        prepare_qat(model.train(), inplace=True)
    run_fn(model, *run_args)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return convert(model, inplace=True)


def default_eval_fn(model: Module, calib_data: Any) -> None:
    """Calls a model with the first element of each pair."""
    for data, _ in calib_data:
        model(data)
