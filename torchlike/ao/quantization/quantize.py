"""quantize_dynamic: a model whose linear layers have quantized weights, and quantize their inputs at each call."""

from __future__ import annotations

import copy
import warnings
from typing import Any

from ..._core import dtypes
from ...nn.modules.linear import Linear
from ...nn.modules.module import Module
from ...nn.modules.rnn import GRU, LSTM, GRUCell, LSTMCell, RNNCell
from ..nn.quantized.dynamic.modules.linear import Linear as DynamicLinear
from ._static import (
    add_quant_dequant as add_quant_dequant,
    convert as convert,
    default_eval_fn as default_eval_fn,
    prepare as prepare,
    prepare_qat as prepare_qat,
    propagate_qconfig_ as propagate_qconfig_,
    quantize as quantize,
    quantize_qat as quantize_qat,
    swap_module as swap_module,
)
from .qconfig import QConfig, default_dynamic_qconfig

__all__ = [
    "add_quant_dequant", "convert", "default_eval_fn", "prepare", "prepare_qat", "propagate_qconfig_", "quantize", "quantize_dynamic",
    "quantize_qat", "swap_module",
]  # fmt: skip

_RECURRENT = {LSTM, GRU, LSTMCell, RNNCell, GRUCell}


def quantize_dynamic(
    model: Module,
    qconfig_spec: Any = None,
    dtype: dtypes.dtype = dtypes.qint8,
    mapping: object = None,
    inplace: bool = False,
) -> Module:
    """A copy of a model, in evaluation mode, in which ``Linear`` layers compute with integers.

    Args:
        qconfig_spec: which modules: a set of classes and of names within the model, or a dictionary from these to ``QConfig``. Default:
            all linear and recurrent layers.
        dtype: of the weights: ``torch.qint8``.
        inplace: change the model itself.

    Raises:
        NotImplementedError: a recurrent layer is among them, ``mapping`` is given, or another ``dtype``.

    >>> import warnings
    >>> from torchlike.ao.quantization import quantize_dynamic
    >>> with warnings.catch_warnings(action="ignore"):  # PyTorch calls it deprecated
    ...     print(quantize_dynamic(torch.nn.Sequential(torch.nn.Linear(2, 3)), {torch.nn.Linear}))
    Sequential(
      (0): DynamicQuantizedLinear(in_features=2, out_features=3, dtype=torch.qint8, qscheme=torch.per_tensor_affine)
    )

    Source: https://docs.pytorch.org/docs/stable/generated/torch.ao.quantization.quantize_dynamic.html
    """
    warnings.warn("torch.ao.quantization is deprecated and will be removed in 2.10. ", DeprecationWarning, stacklevel=2)
    if mapping is not None:
        raise NotImplementedError("torchlike does not support quantize_dynamic(mapping=...)")
    if dtype is not dtypes.qint8:
        if qconfig_spec is None and dtype not in (dtypes.float16, dtypes.quint8):
            raise ValueError(
                f"Don't know how to quantize with default settings for {dtype}. Provide full qconfig please"
            )
        raise NotImplementedError(f"torchlike does not support quantize_dynamic(dtype={dtype})")
    if qconfig_spec is None:
        qconfig_spec = {Linear, *_RECURRENT}
    if isinstance(qconfig_spec, set):
        qconfig_spec = dict.fromkeys(qconfig_spec, default_dynamic_qconfig)
    if not inplace:
        model = copy.deepcopy(model)
    model.eval()
    config = _config_of(model, "", qconfig_spec, None)
    _convert_children(model, "", qconfig_spec, config)
    return model


def _config_of(module: Module, name: str, spec: dict[Any, Any], inherited: QConfig | None) -> QConfig | None:
    """The ``QConfig`` of a module: that of its name, or of its class, or of the module that it is in."""
    by_class = spec.get(getattr(module, "_mapped_from", type(module)), inherited)
    return spec.get(name, by_class)


def _convert_children(module: Module, name: str, spec: dict[Any, Any], inherited: QConfig | None) -> None:
    for own, child in module.named_children():
        path = f"{name}.{own}" if name else own
        config = _config_of(child, path, spec, inherited)
        if config is not None and type(child) in _RECURRENT:
            raise NotImplementedError(
                f"torchlike does not support quantize_dynamic for {type(child).__name__} ({path}): it quantizes Linear. Name what to "
                "quantize: quantize_dynamic(model, {torch.nn.Linear})"
            )
        if config is not None and type(child) is Linear:
            setattr(module, own, DynamicLinear.from_float(child, config))
        else:
            _convert_children(child, path, spec, config)
