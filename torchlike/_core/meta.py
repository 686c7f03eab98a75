"""The meta device: tensors that have a shape, a dtype and strides, and no elements."""

from __future__ import annotations

from typing import Any

from ..engine.aval import META

_KERNEL = (
    "aten::{}: attempted to run this operator with Meta tensors, but there was no fake impl or Meta kernel registered. You may have run "
    "into this message while using an operator with PT2 compilation APIs (torch.compile/torch.export); in order to use this operator "
    "with those APIs you'll need to add a fake impl. Please see the following for next steps:  "
    "https://pytorch.org/tutorials/advanced/custom_ops_landing_page.html"
)
_NONZERO = (
    "The register_meta function for torch.nonzero() raises unimplemented by default, as a correct data-independent implementation does "
    "not exist. This implementation returns a fake value, assuming all elements of the tensor are non-zero. To enable this registration, "
    "please set 'torch.fx.experimental._config.meta_nonzero_assume_all_nonzero' to True."
)
_ITEM = "Tensor.item() cannot be called on meta tensors"


def on_meta(tensor: Any) -> bool:
    """Whether a tensor is on the meta device."""
    return tensor._aval.placement is META


def refuse_meta(tensor: Any, kernel: str) -> None:
    """Raises PyTorch's error for a function whose result's shape depends on elements, if the tensor has none.

    Args:
        kernel: PyTorch's name of what reads them.
    """
    if tensor._aval.placement is META:
        raise NotImplementedError(_NONZERO if kernel == "nonzero" else _KERNEL.format(kernel))


def refuse_item(tensor: Any) -> None:
    """Raises PyTorch's error for reading the only element of a tensor that has none."""
    if tensor._aval.placement is META:
        raise RuntimeError(_ITEM)
