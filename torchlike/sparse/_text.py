"""The text of sparse tensors."""

from __future__ import annotations

from .._core import dtypes
from .._core.layouts import sparse_coo
from .._core.printing import append, format_tensor
from .._core.sparse import sparse_form
from .._core.tensor import Tensor
from ._compressed import INDEX_NAMES
from ._parts import parts

__all__: list[str] = []


def _field_text(name: str, tensor: Tensor, start: str) -> str:
    """``name=tensor(...)``; an empty part also says its size."""
    head = f"{name}=tensor("
    array = tensor._array()
    body = format_tensor(
        array, dtype_name="int64", default_dtype_name="int64", prefix=head, indent=len(start) + len(head)
    )
    if not array.size:
        body = f"{head}[], size={tuple(array.shape)})"
    return body


@sparse_form("__repr__", blocks=True, stacks=True)
def text(sparse: Tensor, prefix: str = "tensor(") -> str:
    content = parts(sparse)
    pattern, indent = content.pattern, len(prefix)
    names = ("indices",) if pattern.layout is sparse_coo else INDEX_NAMES[pattern.layout]
    between = ",\n" + " " * indent
    lines = [_field_text(name, index, prefix) for name, index in zip(names, pattern.indices, strict=True)]
    body = between.join([*lines, _field_text("values", content.values, prefix)])
    suffixes = []
    if sparse.device.type != "cpu":
        suffixes.append(f"device='{sparse.device}'")
    suffixes += [f"size={tuple(pattern.shape)}", f"nnz={pattern.count}"]
    default = dtypes.get_default_dtype()
    if sparse.dtype not in (default, default.to_complex(), dtypes.int64, dtypes.bool_):
        suffixes.append(f"dtype={sparse.dtype!r}")
    suffixes.append(f"layout={pattern.layout!r}")
    node = sparse.grad_fn
    if node is not None:
        suffixes.append(f"grad_fn=<{node.label}>")
    elif sparse.requires_grad:
        suffixes.append("requires_grad=True")
    return append(prefix + body, suffixes, indent, below=pattern.layout is sparse_coo) + ")"
