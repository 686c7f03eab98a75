"""Which modules are observed, and what each becomes."""

from __future__ import annotations

import copy
from collections.abc import Callable

from ... import nn
from ...nn.modules.module import Module
from ..nn import intrinsic as nni, qat as nnqat, quantized as nnq
from ..nn.intrinsic import qat as nniqat, quantized as nniq
from ..nn.quantized import dynamic as nnqd
from .fake_quantize import default_fixed_qparams_range_0to1_fake_quant, default_fixed_qparams_range_neg1to1_fake_quant
from .observer import PartialWrapper
from .stubs import DeQuantStub, QuantStub

__all__ = [
    "DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS", "DEFAULT_MODULE_TO_ACT_POST_PROCESS", "DEFAULT_QAT_MODULE_MAPPINGS",
    "DEFAULT_STATIC_QUANT_MODULE_MAPPINGS", "get_default_dynamic_quant_module_mappings", "get_default_qat_module_mappings",
    "get_default_qconfig_propagation_list", "get_default_static_quant_module_mappings", "get_static_quant_module_class",
]  # fmt: skip

Kinds = dict[type[Module], type[Module]]

DEFAULT_STATIC_QUANT_MODULE_MAPPINGS: Kinds = {
    QuantStub: nnq.Quantize,
    DeQuantStub: nnq.DeQuantize,
    nn.BatchNorm2d: nnq.BatchNorm2d,
    nn.BatchNorm3d: nnq.BatchNorm3d,
    nn.Dropout: nnq.Dropout,
    nn.Conv1d: nnq.Conv1d,
    nn.Conv2d: nnq.Conv2d,
    nn.Conv3d: nnq.Conv3d,
    nn.ConvTranspose1d: nnq.ConvTranspose1d,
    nn.ConvTranspose2d: nnq.ConvTranspose2d,
    nn.ConvTranspose3d: nnq.ConvTranspose3d,
    nn.ELU: nnq.ELU,
    nn.GroupNorm: nnq.GroupNorm,
    nn.Hardswish: nnq.Hardswish,
    nn.InstanceNorm1d: nnq.InstanceNorm1d,
    nn.InstanceNorm2d: nnq.InstanceNorm2d,
    nn.InstanceNorm3d: nnq.InstanceNorm3d,
    nn.LayerNorm: nnq.LayerNorm,
    nn.LeakyReLU: nnq.LeakyReLU,
    nn.modules.linear.NonDynamicallyQuantizableLinear: nnq.Linear,
    nn.Linear: nnq.Linear,
    nn.ReLU6: nnq.ReLU6,
    nn.PReLU: nnq.PReLU,
    nnq.FloatFunctional: nnq.QFunctional,
    nni.BNReLU2d: nniq.BNReLU2d,
    nni.BNReLU3d: nniq.BNReLU3d,
    nni.ConvReLU1d: nniq.ConvReLU1d,
    nni.ConvReLU2d: nniq.ConvReLU2d,
    nni.ConvReLU3d: nniq.ConvReLU3d,
    nni.LinearReLU: nniq.LinearReLU,
    nniqat.ConvBn1d: nnq.Conv1d,
    nniqat.ConvBn2d: nnq.Conv2d,
    nniqat.ConvBn3d: nnq.Conv3d,
    nniqat.ConvBnReLU1d: nniq.ConvReLU1d,
    nniqat.ConvBnReLU2d: nniq.ConvReLU2d,
    nniqat.ConvBnReLU3d: nniq.ConvReLU3d,
    nniqat.ConvReLU2d: nniq.ConvReLU2d,
    nniqat.ConvReLU3d: nniq.ConvReLU3d,
    nniqat.LinearReLU: nniq.LinearReLU,
    nnqat.Linear: nnq.Linear,
    nnqat.Conv2d: nnq.Conv2d,
    nnqat.Conv3d: nnq.Conv3d,
}
DEFAULT_QAT_MODULE_MAPPINGS: Kinds = {
    nn.Conv2d: nnqat.Conv2d,
    nn.Conv3d: nnqat.Conv3d,
    nn.Linear: nnqat.Linear,
    nn.modules.linear.NonDynamicallyQuantizableLinear: nnqat.Linear,
    nni.ConvBn1d: nniqat.ConvBn1d,
    nni.ConvBn2d: nniqat.ConvBn2d,
    nni.ConvBn3d: nniqat.ConvBn3d,
    nni.ConvBnReLU1d: nniqat.ConvBnReLU1d,
    nni.ConvBnReLU2d: nniqat.ConvBnReLU2d,
    nni.ConvBnReLU3d: nniqat.ConvBnReLU3d,
    nni.ConvReLU2d: nniqat.ConvReLU2d,
    nni.ConvReLU3d: nniqat.ConvReLU3d,
    nni.LinearReLU: nniqat.LinearReLU,
}
DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS: Kinds = {nn.Linear: nnqd.Linear}
# Modules whose outputs have a known range.
DEFAULT_MODULE_TO_ACT_POST_PROCESS: dict[type[Module], PartialWrapper] = {
    nn.Hardsigmoid: default_fixed_qparams_range_0to1_fake_quant,
    nn.Sigmoid: default_fixed_qparams_range_0to1_fake_quant,
    nn.Softmax: default_fixed_qparams_range_0to1_fake_quant,
    nn.Tanh: default_fixed_qparams_range_neg1to1_fake_quant,
}
# Modules that cannot be quantized, and what is: PyTorch quantizes them, torchlike does not.
UNSUPPORTED: frozenset[type[Module]] = frozenset({nn.Embedding, nn.EmbeddingBag})


def get_default_static_quant_module_mappings() -> Kinds:
    """What ``convert`` makes of modules."""
    return copy.copy(DEFAULT_STATIC_QUANT_MODULE_MAPPINGS)


def get_default_qat_module_mappings() -> Kinds:
    """What ``prepare_qat`` makes of modules."""
    return copy.copy(DEFAULT_QAT_MODULE_MAPPINGS)


def get_default_dynamic_quant_module_mappings() -> Kinds:
    """What ``quantize_dynamic`` makes of modules."""
    return dict(DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS)


def get_static_quant_module_class(
    float_module_class: type[Module],
    additional_static_quant_mapping: Kinds | None = None,
    is_reference: bool = False,
) -> type[Module]:
    """The class that ``convert`` makes of a class.

    Raises:
        AssertionError: there is none.
    """
    if is_reference:
        raise NotImplementedError("torchlike does not support get_static_quant_module_class(is_reference=True)")
    kinds = DEFAULT_STATIC_QUANT_MODULE_MAPPINGS | (additional_static_quant_mapping or {})
    if float_module_class not in kinds:
        raise AssertionError(
            f"Floating point module class {float_module_class} does not have a corresponding quantized module class"
        )
    return kinds[float_module_class]


def get_default_qconfig_propagation_list() -> set[Callable[..., Module]]:
    """The modules that ``prepare`` observes."""
    return {*DEFAULT_STATIC_QUANT_MODULE_MAPPINGS, *DEFAULT_QAT_MODULE_MAPPINGS, *UNSUPPORTED, nn.Sequential}
