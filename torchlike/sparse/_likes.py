"""Sparse tensors in the shape of another one: without elements, or with other values at the same places."""

from __future__ import annotations

from collections.abc import Callable

from .. import ops
from .._core import dtypes
from .._core.annotations import DeviceLike, Dtype, Layout
from .._core.layouts import sparse_coo, strided
from .._core.sparse import LAYOUT_NAMES, Pattern, sparse_form, unsupported
from .._core.tensor import Tensor
from ..dispatch.options import require_grad
from ._compressed import INDEX_NAMES
from ._construction import sparse_coo_tensor
from ._parts import assembled, is_coo, parts

__all__: list[str] = []

_Drawn = Callable[[Tensor], Tensor]  # from values to others in their shape


def _without_elements(
    pattern: Pattern, to: Layout, dtype: Dtype, device: DeviceLike | None, requires_grad: bool
) -> Tensor:
    """A sparse tensor of a pattern's shape, in this layout, that stores nothing."""
    inner = pattern.dense_shape
    lead = len(pattern.shape) - len(inner)  # the dimensions that a layout of coordinates has indices of
    if to is sparse_coo:
        index = (ops.zeros((lead, 0), dtype=dtypes.int64, device=device),)
        empty = Pattern(sparse_coo, index, pattern.shape)
        values = ops.zeros((0, *inner), dtype=dtype, device=device)
        return require_grad(assembled(empty, values, True), requires_grad)
    blocked = str(to).endswith(("bsr", "bsc"))
    if blocked and not pattern.blocked:
        raise RuntimeError("sparse_compressed_tensor_with_dims: blocksize needs to be a tuple of size 2, but got 0")
    batch, block = pattern.shape[: lead - 2], pattern.block if blocked else (1, 1)
    rows, columns = (n // size for n, size in zip(pattern.shape[lead - 2 : lead], block, strict=True))
    lines = rows if INDEX_NAMES[to][0] == "crow_indices" else columns
    kind = dtypes.int64 if pattern.layout is sparse_coo else pattern.indices[0].dtype
    index = (
        ops.zeros((*batch, lines + 1), dtype=kind, device=device),
        ops.zeros((*batch, 0), dtype=kind, device=device),
    )
    values = ops.zeros((*batch, 0, *(block if blocked else ()), *inner), dtype=dtype, device=device)
    empty = Pattern(to, index, pattern.shape, block)
    return require_grad(assembled(empty, values, True), requires_grad)


@sparse_form("zeros_like", blocks=True, stacks=True)
def _zeros(
    sparse: Tensor,
    dtype: Dtype,
    device: DeviceLike | None,
    requires_grad: bool,
    layout: Layout | None = None,
    drawn: _Drawn | None = None,
) -> Tensor:
    """A sparse tensor of the same shape without elements."""
    pattern = parts(sparse).pattern
    if layout is strided:
        if not is_coo(sparse):
            raise _other_layout(pattern, layout)
        return ops.zeros(pattern.shape, dtype=dtype, device=device or sparse.device, requires_grad=requires_grad)
    return _without_elements(pattern, layout or pattern.layout, dtype, device or sparse.device, requires_grad)


def _others(name: str) -> None:
    @sparse_form(name, blocks=True, stacks=True)
    def form(
        sparse: Tensor,
        dtype: Dtype,
        device: DeviceLike | None,
        requires_grad: bool,
        layout: Layout | None,
        drawn: _Drawn,
    ) -> Tensor:
        if is_coo(sparse) and layout is not strided:
            if name != "empty_like":
                raise unsupported(name, (sparse,))
            return _zeros(sparse, dtype, device, requires_grad, layout, drawn)
        return _at_the_same_places(sparse, device, requires_grad, layout, drawn)


for _name in ("empty_like", "ones_like", "full_like", "rand_like", "randn_like", "randint_like"):
    _others(_name)


def _at_the_same_places(
    sparse: Tensor, device: DeviceLike | None, requires_grad: bool, layout: Layout | None, drawn: _Drawn
) -> Tensor:
    """A compressed matrix whose elements are where the other one's are; of coordinates, all elements of a dense tensor."""
    content = parts(sparse)
    pattern = content.pattern
    if is_coo(sparse):
        return require_grad(drawn(ops.empty(pattern.shape, device=sparse.device)), requires_grad)
    if layout not in (None, pattern.layout):
        raise _other_layout(pattern, layout)
    if device is not None:
        pattern = pattern._replace(indices=tuple(index.to(device) for index in pattern.indices))
    return require_grad(assembled(pattern, drawn(content.values), content.coalesced), requires_grad)


def _other_layout(pattern: Pattern, layout: Layout | None) -> RuntimeError:
    return RuntimeError(
        f"empty_like with different sparse layout is not supported (self is {LAYOUT_NAMES[pattern.layout]} but you requested "
        f"{LAYOUT_NAMES[layout]})"  # pyright: ignore[reportArgumentType]
    )


@sparse_form("new_zeros", "new_empty")
def _new_empty(
    sparse: Tensor, shape: tuple[int, ...], dtype: Dtype, device: DeviceLike | None, requires_grad: bool
) -> Tensor:
    """A sparse tensor of another shape without elements."""
    if not is_coo(sparse):
        raise unsupported("new_zeros", (sparse,))
    device = sparse.device if device is None else device
    return sparse_coo_tensor(size=shape, dtype=dtype, device=device, requires_grad=requires_grad)
