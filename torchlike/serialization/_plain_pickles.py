"""Plain pickles of tensors, in PyTorch's form: ``pickle.dumps(tensor)`` where ``import torch`` means torchlike."""

from __future__ import annotations

import io
from typing import Any

from .._core.dtypes import dtype
from .._core.tensor import Tensor
from ._legacy import write_legacy
from ._load import load_memory
from ._names import UNTYPED, storage_class
from ._rebuild import KNOWN
from ._save import save

__all__ = ["PLAIN_PICKLES", "write_as_pytorch"]


def _load_from_bytes(b: bytes) -> Any:
    """Reads what ``torch.save`` wrote: a tensor, or a storage from which PyTorch's pickle rebuilds the tensor by another call."""
    return load_memory(b)


_load_from_bytes.__module__ = "torch.storage"

# The function that PyTorch's pickles call, under its qualified name in PyTorch.
PLAIN_PICKLES: dict[tuple[str, str], object] = {**KNOWN, ("torch.storage", "_load_from_bytes"): _load_from_bytes}


def _reduce_tensor(self: Tensor, protocol: object) -> tuple[Any, ...]:
    file = io.BytesIO()
    # The older format is shorter, and quicker to write. It has no untyped memory.
    if storage_class(self.dtype) is UNTYPED:
        save(self, file)
    else:
        write_legacy(self, file, 2)
    return _load_from_bytes, (file.getvalue(),)


def _reduce_dtype(self: dtype) -> str:
    return self.name


def write_as_pytorch() -> None:
    """From now on tensors and dtypes are pickled so that PyTorch reads them. The other classes say their address, which pickle writes."""
    Tensor.__reduce_ex__ = _reduce_tensor
    dtype.__reduce__ = _reduce_dtype
