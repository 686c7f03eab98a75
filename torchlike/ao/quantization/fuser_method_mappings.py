"""Which layers in a row are fused, and how: at once for inference, or as one module that training goes on with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from ... import nn
from ...nn.modules.module import Module
from ...nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval
from ..nn import intrinsic as nni

__all__ = ["fuse_conv_bn", "fuse_conv_bn_relu", "fuse_convtranspose_bn", "fuse_linear_bn", "get_fuser_method"]

Fuser = Callable[..., Module]
Mappings = Mapping[tuple[type, ...], Fuser]

_TRAINED: dict[type, tuple[type[Module], type[Module]]] = {
    nn.Conv1d: (nni.ConvBn1d, nni.ConvBnReLU1d),
    nn.Conv2d: (nni.ConvBn2d, nni.ConvBnReLU2d),
    nn.Conv3d: (nni.ConvBn3d, nni.ConvBnReLU3d),
}
_WITH_RELU: dict[type, type[Module]] = {
    nn.Conv1d: nni.ConvReLU1d,
    nn.Conv2d: nni.ConvReLU2d,
    nn.Conv3d: nni.ConvReLU3d,
}


def _check(is_qat: bool, layer: Module, bn: Module, name: str) -> None:
    if layer.training != bn.training:
        raise AssertionError(f"{name} and BN both must be in the same mode (train or eval).")
    if not is_qat:
        return
    size = getattr(layer, "out_channels", getattr(layer, "out_features", None))
    if bn.num_features != size:
        raise AssertionError("Output channel of Conv2d must match num_features of BatchNorm2d")
    if not bn.affine:
        raise AssertionError("Only support fusing BatchNorm2d with affine set to True")
    if not bn.track_running_stats:
        raise AssertionError("Only support fusing BatchNorm2d with tracking_running_stats set to True")


def fuse_conv_bn(is_qat: bool, conv: Module, bn: Module) -> Module:
    """One module for a convolution and its normalization.

    Args:
        is_qat: keep both in it, for training with fake quantization, instead of folding the normalization in.
    """
    _check(is_qat, conv, bn, "Conv")
    return _TRAINED[type(conv)][0](conv, bn) if is_qat else fuse_conv_bn_eval(conv, bn)


def fuse_conv_bn_relu(is_qat: bool, conv: Module, bn: Module, relu: Module) -> Module:
    """One module for a convolution, its normalization and ``ReLU``."""
    _check(is_qat, conv, bn, "Conv")
    if is_qat:
        return _TRAINED[type(conv)][1](conv, bn, relu)
    return _WITH_RELU[type(conv)](fuse_conv_bn_eval(conv, bn), relu)


def fuse_linear_bn(is_qat: bool, linear: Module, bn: Module) -> Module:
    """One module for a linear layer and its normalization."""
    _check(is_qat, linear, bn, "Linear")
    return nni.LinearBn1d(linear, bn) if is_qat else fuse_linear_bn_eval(linear, bn)


def fuse_convtranspose_bn(is_qat: bool, convt: Module, bn: Module) -> Module:
    """One transposed convolution for one and its normalization.

    Raises:
        Exception: ``is_qat``: PyTorch does not have it either.
    """
    _check(False, convt, bn, "ConvTranspose")
    if is_qat:
        raise Exception("Fusing ConvTranspose+BatchNorm not yet supported in QAT.")
    return fuse_conv_bn_eval(convt, bn, transpose=True)


def _in_sequence(kind: Fuser, is_qat: bool, *layers: Module) -> Module:
    return kind(*layers)


_FUSERS: dict[tuple[type, ...], Fuser] = {
    (nn.Linear, nn.BatchNorm1d): fuse_linear_bn,
    (nn.Linear, nn.ReLU): partial(_in_sequence, nni.LinearReLU),
    (nn.BatchNorm2d, nn.ReLU): partial(_in_sequence, nni.BNReLU2d),
    (nn.BatchNorm3d, nn.ReLU): partial(_in_sequence, nni.BNReLU3d),
}
for _conv, _transposed, _bn in (
    (nn.Conv1d, nn.ConvTranspose1d, nn.BatchNorm1d),
    (nn.Conv2d, nn.ConvTranspose2d, nn.BatchNorm2d),
    (nn.Conv3d, nn.ConvTranspose3d, nn.BatchNorm3d),
):
    _FUSERS[_conv, _bn] = fuse_conv_bn
    _FUSERS[_conv, _bn, nn.ReLU] = fuse_conv_bn_relu
    _FUSERS[_conv, nn.ReLU] = partial(_in_sequence, _WITH_RELU[_conv])
    _FUSERS[_transposed, _bn] = fuse_convtranspose_bn


def get_fuser_method(op_list: tuple[type, ...], additional_fuser_method_mapping: Mappings | None = None) -> Fuser:
    """The function that fuses layers of these classes.

    Raises:
        AssertionError: there is none.
    """
    fuser = (_FUSERS | dict(additional_fuser_method_mapping or {})).get(op_list)
    if fuser is None:
        raise AssertionError(f"did not find fuser method for: {op_list} ")
    return fuser
