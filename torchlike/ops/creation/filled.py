"""Tensors made from a shape: filled with one number, counting up, or spaced evenly."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..._core import dtypes
from ..._core.annotations import DeviceLike, Dtype, IntOrInts, Layout, MemoryFormat
from ..._core.layouts import preserve_format, strided
from ..._core.sparse import apply_form, is_sparse
from ..._core.tensor import Tensor, alias
from ...dispatch.opdef import Inner
from ...dispatch.options import (
    dtype_of,
    fill,
    is_integer,
    memory_order,
    placement_of,
    require_grad,
    size_of,
    with_unset_filled,
)
from ...dispatch.register import Category, Form, Number, Promote, composite, op
from ...dispatch.type_names import type_name
from ...dispatch.unsigned import refuse_wide_unsigned
from ...engine.aval import check_countable
from ...numerics.exact_math import exact_quotient
from ...numerics.numbers import number_for
from ..shape.reshape import permute
from ..shape.strided_views import as_strided

if TYPE_CHECKING:
    from ..._core.annotations import TensorOrNumber
    from ...engine.aval import Placement


# ---- the ops that are recorded; a program that overwrites or adds to them fuses them away


@op(name="_full", promote=Promote.NONE, accepts=Category.ALL, forms=Form.NONE, differentiable=False, samples=[])
def filled(size: Sequence[int], value: Number, dtype: Dtype, placement: Placement) -> Array:
    """One number everywhere."""
    if all(n.__class__ is int for n in size):  # NumPy makes the array before the engine sees its shape
        check_countable(size, dtype.itemsize)
    return jnp.full(size, value, dtype.numpy)


@op(name="_arange", promote=Promote.NONE, accepts=Category.ALL, forms=Form.NONE, differentiable=False, samples=[])
def arange_values(start: Number, step: Number, count: int, dtype: Dtype, placement: Placement) -> Array:
    """``start + i * step``, computed in 64 bits and rounded once, as PyTorch does."""
    wide_dtype = jnp.int64 if dtype.category == dtypes.INTEGER else jnp.float64
    return (jnp.asarray(start, wide_dtype) + jnp.asarray(step, wide_dtype) * lax.iota(wide_dtype, count)).astype(
        dtype.numpy
    )


def _rounding(dtype: Dtype) -> Callable[[Array], Array]:
    """Rounds to the nearest number of a half type in float32. XLA would leave out a cast to the half type and back."""
    if dtype.category == dtypes.INTEGER or dtype.itemsize >= 4:
        return lambda x: x
    info = jnp.finfo(dtype.numpy)
    return lambda x: lax.reduce_precision(x, info.nexp, info.nmant)


@op(name="_linspace", promote=Promote.NONE, accepts=Category.ALL, forms=Form.NONE, differentiable=False, samples=[])
def linspace_values(start: Number, end: Number, steps: int, dtype: Dtype, placement: Placement) -> Array:
    """Even steps from both ends towards the middle; as in PyTorch, half types round after each of the operations."""
    integer = dtype.category == dtypes.INTEGER
    kind = jnp.float64 if integer else jnp.float32 if dtype.itemsize < 4 else dtype.numpy
    rounded = _rounding(dtype)
    first, last = rounded(jnp.asarray(start, kind)), rounded(jnp.asarray(end, kind))
    if steps == 1:
        return first.reshape(1).astype(dtype.numpy)
    step = rounded(exact_quotient(rounded(last - first), rounded(jnp.asarray(steps - 1, kind))))
    i = jnp.arange(steps)
    up = first + rounded(step * rounded(i.astype(kind)))
    down = last - rounded(step * rounded((steps - 1 - i).astype(kind)))
    return jnp.where(i < steps // 2, up, down).astype(dtype.numpy)


@op(name="_eye", promote=Promote.NONE, accepts=Category.ALL, forms=Form.NONE, differentiable=False, samples=[])
def identity(n: int, m: int, dtype: Dtype, placement: Placement) -> Array:
    """Ones on the diagonal."""
    return jnp.eye(n, m, dtype=dtype.numpy)


# ---- one number everywhere


def _constant(
    name: str,
    number: complex,
    size: tuple[int, ...],
    out: Tensor | None,
    dtype: Dtype | None,
    layout: Layout | None,
    device: DeviceLike | None,
    requires_grad: bool,
) -> Tensor:
    asked_dtype = None if dtype is None else dtype_of(name, dtype)
    kind = asked_dtype or (out.dtype if out is not None else dtypes.get_default_dtype())
    result = filled(size, number_for(number, kind, alone=math.prod(size) == 1), kind, placement_of(device, layout))
    return require_grad(result if out is None else fill(out, result, asked_dtype, Inner.ANYWHERE), requires_grad)


@composite(forms=Form.FUNCTION)
def zeros(
    *size: IntOrInts,
    out: Tensor | None = None,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    **keywords: object,
) -> Tensor:
    """A tensor of this shape filled with 0; the sizes may be given one by one or as a tuple.

    >>> torch.zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """
    shape = _shape("zeros", size, keywords)
    return _constant("zeros", 0, shape, out, dtype, layout, device, requires_grad)


@composite(forms=Form.FUNCTION)
def ones(
    *size: IntOrInts,
    out: Tensor | None = None,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    **keywords: object,
) -> Tensor:
    """A tensor of this shape filled with 1; the sizes may be given one by one or as a tuple.

    >>> torch.ones(2, dtype=torch.int64)
    tensor([1, 1])
    """
    shape = _shape("ones", size, keywords)
    return _constant("ones", 1, shape, out, dtype, layout, device, requires_grad)


@composite(forms=Form.FUNCTION)
def empty(
    *size: IntOrInts,
    out: Tensor | None = None,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: MemoryFormat | None = None,
    **keywords: object,
) -> Tensor:
    """A tensor of this shape whose elements mean nothing yet (they are 0).

    >>> torch.empty(2, 3).shape
    torch.Size([2, 3])
    """
    shape = _shape("empty", size, keywords)
    if memory_format is preserve_format:
        raise RuntimeError("unsupported memory format Preserve")
    if memory_format is not None and memory_format.order is not None and out is None:
        order = memory_format.order_of(len(shape))
        lying = _constant("empty", 0, tuple(shape[d] for d in order), None, dtype, layout, device, False)
        return require_grad(with_unset_filled(rearranged(lying, order)), requires_grad)
    return with_unset_filled(_constant("empty", 0, shape, out, dtype, layout, device, requires_grad))


def _shape(name: str, size: tuple[object, ...], keywords: Mapping[str, object]) -> tuple[int, ...]:
    """The shape from positional arguments or from ``size=``."""
    if keywords:
        if not size and list(keywords) == ["size"]:
            return size_of(name, (keywords["size"],), is_variadic=False)
        wrong = next((k for k in keywords if k != "size"), None)
        if wrong is None:
            raise TypeError(f"{name}() got multiple values for argument 'size'")
        raise TypeError(f"{name}() got an unexpected keyword argument '{wrong}'")
    return size_of(name, size)


@composite(forms=Form.FUNCTION)
def full(
    size: Sequence[int],
    fill_value: complex,
    *,
    out: Tensor | None = None,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of this shape filled with one number, whose kind decides the dtype if none is given.

    >>> torch.full((2,), 3.5)
    tensor([3.5000, 3.5000])

    Raises:
        RuntimeError: the number does not fit the dtype.
    """
    shape = size_of("full", (size,), is_variadic=False)
    value = _number("full", "fill_value", 2, fill_value)
    if dtype is None and out is None:
        dtype = dtypes.of_number(value)
    return _constant("full", value, shape, out, dtype, layout, device, requires_grad)


def _number(name: str, argument: str, position: int, value: Any) -> Any:
    """A Python number from one, from a NumPy scalar or from a tensor of one element."""
    if isinstance(value, (bool, int, float, complex)):
        return value
    if isinstance(value, np.bool_):  # PyTorch takes it for a float
        return float(value)
    if hasattr(value, "item") and (not isinstance(value, Tensor) or value.dim() == 0):
        return value.item()
    raise TypeError(f"{name}(): argument '{argument}' (position {position}) must be Number, not {type_name(value)}")


@composite(forms=Form.FUNCTION)
def scalar_tensor(
    s: TensorOrNumber,
    *,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A 0-dimensional tensor of the default dtype (or the one given) that holds a number.

    >>> torch.scalar_tensor(3)
    tensor(3.)
    """
    return _constant(
        "scalar_tensor", _number("scalar_tensor", "s", 1, s), (), None, dtype, layout, device, requires_grad
    )


@composite(forms=Form.PROPERTY)
def layout(self: Tensor) -> Layout:
    """How the elements lie in memory: ``torch.strided``, ``torch.sparse_coo`` or ``torch.sparse_csr``."""
    return getattr(self._aval, "layout", strided)


# ---- like another tensor


def _like(
    name: str,
    input: Tensor,
    number: complex,
    dtype: Dtype | None,
    layout: Layout | None,
    device: DeviceLike | None,
    requires_grad: bool,
    memory_format: MemoryFormat | None,
) -> Tensor:
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type_name(input)}")
    kind = dtype_of(name, dtype, input.dtype)
    if is_sparse(input):
        options = kind, None, device, False, None
        return apply_form(
            name, input, kind, device, requires_grad, layout, lambda values: _like(name, values, number, *options)
        )
    if memory_format in (None, preserve_format):
        order = memory_order(input)
    else:
        order = memory_format.order_of(input.dim()) if memory_format.order is not None else None
    shape = tuple(input.shape) if order is None else tuple(input.shape[d] for d in order)
    result = filled(shape, number_for(number, kind), kind, placement_of(device, layout, input))
    return require_grad(result if order is None else rearranged(result, order), requires_grad)


def rearranged(tensor: Tensor, order: tuple[int, ...]) -> Tensor:
    """A tensor that owns the memory of another, whose dimensions are in the order of memory; ``order`` says which one each is."""
    return alias(permute(tensor, tuple(order.index(d) for d, _ in enumerate(order))))


@composite(forms=Form.FUNCTION)
def zeros_like(
    input: Tensor,
    *,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Zeros of another tensor's shape, and of its dtype and device unless others are given.

    >>> torch.zeros_like(torch.tensor([1, 2]))
    tensor([0, 0])
    """
    return _like("zeros_like", input, 0, dtype, layout, device, requires_grad, memory_format)


@composite(forms=Form.FUNCTION)
def ones_like(
    input: Tensor,
    *,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Ones of another tensor's shape, and of its dtype and device unless others are given.

    >>> torch.ones_like(torch.tensor([1, 2]))
    tensor([1, 1])
    """
    return _like("ones_like", input, 1, dtype, layout, device, requires_grad, memory_format)


@composite(forms=Form.FUNCTION)
def empty_like(
    input: Tensor,
    *,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """A tensor of another one's shape whose elements mean nothing yet (they are 0).

    >>> torch.empty_like(torch.ones(2, 3)).shape
    torch.Size([2, 3])
    """
    return with_unset_filled(_like("empty_like", input, 0, dtype, layout, device, requires_grad, memory_format))


@composite(forms=Form.FUNCTION)
def full_like(
    input: Tensor,
    fill_value: complex,
    *,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """One number in another tensor's shape, and in its dtype and device unless others are given.

    >>> torch.full_like(torch.ones(2), 3)
    tensor([3., 3.])
    """
    value = _number("full_like", "fill_value", 2, fill_value)
    return _like("full_like", input, value, dtype, layout, device, requires_grad, memory_format)


def _new(
    self: Tensor,
    name: str,
    size: IntOrInts,
    number: complex,
    dtype: Dtype | None,
    layout: Layout | None,
    device: DeviceLike | None,
    requires_grad: bool,
) -> Tensor:
    kind = dtype_of(name, dtype, self.dtype)
    if layout is None and is_sparse(self):
        return apply_form(name, self, size, kind, device, requires_grad)
    return require_grad(filled(size, number_for(number, kind), kind, placement_of(device, layout, self)), requires_grad)


@composite(forms=Form.METHOD)
def new_zeros(
    self: Tensor,
    *size: IntOrInts,
    dtype: Dtype | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    layout: Layout | None = None,
    pin_memory: bool = False,
    **keywords: object,
) -> Tensor:
    """Zeros of the given shape in this tensor's dtype and on its device.

    >>> torch.tensor([1, 2]).new_zeros(3)
    tensor([0, 0, 0])
    """
    return _new(self, "new_zeros", _shape("new_zeros", size, keywords), 0, dtype, layout, device, requires_grad)


@composite(forms=Form.METHOD)
def new_ones(
    self: Tensor,
    *size: IntOrInts,
    dtype: Dtype | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    layout: Layout | None = None,
    pin_memory: bool = False,
    **keywords: object,
) -> Tensor:
    """Ones of the given shape in this tensor's dtype and on its device.

    >>> torch.tensor([1, 2]).new_ones(3)
    tensor([1, 1, 1])
    """
    return _new(self, "new_ones", _shape("new_ones", size, keywords), 1, dtype, layout, device, requires_grad)


@composite(forms=Form.METHOD)
def new_empty(
    self: Tensor,
    *size: IntOrInts,
    dtype: Dtype | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    layout: Layout | None = None,
    pin_memory: bool = False,
    **keywords: object,
) -> Tensor:
    """A tensor of the given shape in this one's dtype and on its device; its elements mean nothing yet (they are 0)."""
    shape = _shape("new_empty", size, keywords)
    return with_unset_filled(_new(self, "new_empty", shape, 0, dtype, layout, device, requires_grad))


@composite(forms=Form.METHOD)
def new_full(
    self: Tensor,
    size: Sequence[int],
    fill_value: complex,
    *,
    dtype: Dtype | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    layout: Layout | None = None,
    pin_memory: bool = False,
) -> Tensor:
    """One number in the given shape, in this tensor's dtype and on its device.

    >>> torch.tensor([1, 2]).new_full((3,), 3.5)
    tensor([3, 3, 3])
    """
    shape = size_of("new_full", (size,), is_variadic=False)
    value = _number("new_full", "fill_value", 2, fill_value)
    return _new(self, "new_full", shape, value, dtype, layout, device, requires_grad)


@composite(forms=Form.FUNCTION)
def empty_strided(
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor of this shape and with these strides; its elements mean nothing yet (they are 0).

    >>> torch.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)

    Raises:
        RuntimeError: not one stride for each size, or a negative one.
    """
    shape, steps = size_of("empty_strided", (size,), is_variadic=False), tuple(int(s) for s in stride)
    if len(shape) != len(steps):
        raise RuntimeError(
            f"dimensionality of sizes ({len(shape)}) must match dimensionality of strides ({len(steps)})"
        )
    if any(s < 0 for s in steps):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)} and strides={list(steps)}")
    reach = 1 + sum((n - 1) * s for n, s in zip(shape, steps, strict=True)) if math.prod(shape) else 0
    kind = dtype_of("empty_strided", dtype)
    memory = with_unset_filled(filled((reach,), number_for(0, kind), kind, placement_of(device, layout)))
    return require_grad(alias(as_strided(memory, shape, steps)), requires_grad)


@composite(forms=Form.FUNCTION)
def empty_permuted(
    size: IntOrInts,
    physical_layout: Any,
    *,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor whose dimensions lie in memory in the given order; its elements mean nothing yet (they are 0).

    >>> torch.empty_permuted((2, 3), (1, 0)).stride()
    (1, 2)
    """
    shape, order = size_of("empty_permuted", (size,), is_variadic=False), [int(d) for d in physical_layout]
    if len(order) != len(shape):
        raise RuntimeError(
            f"Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = {len(shape)} is not "
            f"equal to len(physical_layout) = {len(order)}"
        )
    named_dims = set()
    for d in order:
        if not 0 <= d < len(shape):
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {len(shape) - 1}, but got {d} at index {order.index(d)}). NB: "
                "negative dims not currently supported; file an issue if you want it."
            )
        if d in named_dims:
            raise RuntimeError("Duplicate dim not allowed")
        named_dims.add(d)
    strides = [0] * len(shape)
    step = 1
    for d in reversed(order):
        strides[d] = step
        step *= shape[d]
    return empty_strided(shape, strides, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


@composite(forms=Form.METHOD)
def new_empty_strided(
    self: Tensor,
    size: Sequence[int],
    stride: IntOrInts,
    *,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """As ``torch.empty_strided``, by default with this tensor's dtype and device."""
    result = self
    return empty_strided(
        size,
        stride,
        dtype=dtype or result.dtype,
        layout=layout,
        device=device or result.device,
        requires_grad=requires_grad,
    )


# ---- counting and spacing


@composite(forms=Form.FUNCTION)
def arange(
    *bounds: object,
    out: Tensor | None = None,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    **keywords: object,
) -> Tensor:
    """``start, start + step, ...`` up to but not including ``end``: ``arange(end)``, ``arange(start, end, step=1)``.

    >>> torch.arange(1, 2.5, 0.5)
    tensor([1.0000, 1.5000, 2.0000])

    Raises:
        RuntimeError: the step is 0 or leads away from the end, or a bound is not finite.
    """
    names = ["end"] if len(bounds) == 1 and "end" not in keywords else ["start", "end", "step"]
    bounds_by_name = dict(zip(names, bounds, strict=False))
    for key, value in keywords.items():
        if key not in ("start", "end", "step"):
            raise TypeError(f"arange() got an unexpected keyword argument '{key}'")
        bounds_by_name[key] = value
    if "end" not in bounds_by_name or len(bounds) > 3:
        types = ", ".join([type_name(b) for b in bounds] + [f"{k}={type_name(v)}" for k, v in keywords.items()])
        raise TypeError(
            f"arange() received an invalid combination of arguments - got ({types}), but expected {_ARANGE}"
        )
    for position, key in enumerate(names):
        if key in bounds_by_name:
            bounds_by_name[key] = _number("arange", key, position + 1, bounds_by_name[key])
    start, end, step = bounds_by_name.get("start", 0), bounds_by_name["end"], bounds_by_name.get("step", 1)
    kind = None if dtype is None else dtype_of("arange", dtype)
    if kind is None:
        integers = all(isinstance(n, int) for n in (start, end, step))
        kind = out.dtype if out is not None else dtypes.int64 if integers else dtypes.get_default_dtype()
    result = _checked_arange("arange_cpu", start, end, step, kind, placement_of(device, layout))
    return require_grad(result if out is None else fill(out, result, counted=True), requires_grad)


_ARANGE = "one of:\n" + "\n".join(
    f" * ({bounds}, *, {'Tensor out = None, ' if out else ''}torch.dtype dtype = None, torch.layout layout = None, torch.device "
    "device = None, bool pin_memory = False, bool requires_grad = False)"
    for bounds, out in (
        ("Number end", 1),
        ("Number start, Number end", 0),
        ("Number start, Number end, Number step = 1", 1),
    )
)


def _checked_arange(kernel: str, start: Any, end: Any, step: Any, dtype: dtypes.dtype, placement: Placement) -> Tensor:
    """The numbers from ``start`` to ``end``, which "range_cpu" includes; PyTorch's errors for what is no range."""
    if dtype.category not in (dtypes.INTEGER, dtypes.FLOAT):
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{dtype.scalar_name}'")
    refuse_wide_unsigned(kernel, dtype)
    if any(isinstance(n, complex) for n in (start, end, step)):
        raise RuntimeError("value cannot be converted to type double without overflow")
    inclusive, integer = kernel == "range_cpu", dtype.category == dtypes.INTEGER
    whole = [number_for(n, dtypes.int64) for n in (start, end, step)] if integer and inclusive else None
    if step == 0 or math.isnan(step):
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start:g} -> {end:g}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if (
        dtype is dtypes.int64 or whole
    ):  # PyTorch counts integers for int64, and numbers as they are for the other dtypes
        start, end, step = whole or [number_for(n, dtype) for n in (start, end, step)]
        if not step:
            raise ValueError("step must be nonzero")
    if inclusive:
        count = int((end - start) / step) + 1
    elif all(isinstance(n, int) for n in (start, end, step)):
        count = -((start - end) // step)
    else:
        count = math.ceil((end - start) / step)
    if count >= 2**63:
        raise RuntimeError("invalid size, possible overflow?")
    if integer:
        start, step = number_for(start, dtypes.int64), number_for(step, dtypes.int64)
    return arange_values(start, step, count, dtype, placement)


@composite(forms=Form.FUNCTION)
def range(
    start: TensorOrNumber = 0,
    end: TensorOrNumber | None = None,
    step: TensorOrNumber = 1,
    *,
    out: Tensor | None = None,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """``start, start + step, ...`` up to and including ``end``. Deprecated by PyTorch in favour of ``arange``."""
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with Python's "
        "range builtin. Instead, use torch.arange, which produces values in [start, end).",
        UserWarning,
        stacklevel=3,
    )
    if end is None:
        start, end = 0, start
    kind = out.dtype if out is not None and dtype is None else dtype_of("range", dtype)
    result = _checked_arange("range_cpu", start, end, step, kind, placement_of(device, layout))
    return require_grad(result if out is None else fill(out, result, counted=True), requires_grad)


def _ends(name: str, start: TensorOrNumber, end: TensorOrNumber) -> tuple[complex, complex]:
    if isinstance(start, Tensor) or isinstance(end, Tensor):
        ranks = [n.dim() if isinstance(n, Tensor) else 0 for n in (start, end)]
        if any(ranks):
            given = f"start with {ranks[0]} dimension(s)" if isinstance(start, Tensor) else ""
            if isinstance(end, Tensor):
                given += f"{' and ' if given else ''}end with {ranks[1]} dimension(s)"
            raise RuntimeError(f"{name} only supports 0-dimensional start and end tensors, but got {given}.")
    return _number(name, "start", 1, start), _number(name, "end", 2, end)


def _spacing(
    name: str, start: TensorOrNumber, end: TensorOrNumber, steps: int, dtype: Dtype | None, out: Tensor | None
) -> tuple[complex, complex, dtypes.dtype]:
    start, end = _ends(name, start, end)
    if not is_integer(steps):
        raise TypeError(f"{name}(): argument 'steps' (position 3) must be int, not {type_name(steps)}")
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    complex_ends = isinstance(start, complex) or isinstance(end, complex)
    if dtype is None:
        kind = out.dtype if out is not None else dtypes.get_default_dtype()
        kind = kind.to_complex() if complex_ends and out is None else kind
    else:
        kind = dtype_of(name, dtype)
        if complex_ends and not kind.is_complex:
            raise RuntimeError(
                f"torch.{name}(): inferred dtype {dtypes.get_default_dtype().to_complex().scalar_name} can't be safely cast to "
                f"passed dtype {kind.scalar_name}"
            )
    if kind.category == dtypes.BOOL:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
    if steps > 1:  # PyTorch makes fewer without a kernel, and refuses no dtype for them
        refuse_wide_unsigned(f"{name}_cpu", kind)
    return number_for(start, kind), number_for(end, kind), kind


@composite(forms=Form.FUNCTION)
def linspace(
    start: TensorOrNumber,
    end: TensorOrNumber,
    steps: int,
    *,
    out: Tensor | None = None,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """``steps`` numbers spaced evenly from ``start`` to ``end``, both included.

    >>> torch.linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])

    Raises:
        RuntimeError: steps is negative, or an end does not fit in ``dtype`` (integer ones cut the ends' fractions off).
    """
    start, end, kind = _spacing("linspace", start, end, steps, dtype, out)
    result = linspace_values(start, end, int(steps), kind, placement_of(device, layout))
    return require_grad(result if out is None else fill(out, result, counted=True), requires_grad)


@op(name="_logspace", promote=Promote.NONE, accepts=Category.ALL, forms=Form.NONE, differentiable=False, samples=[])
def spaced_by_powers(start: Number, end: Number, steps: int, base: Number, dtype: Dtype, placement: Placement) -> Array:
    """``base`` to the powers that ``linspace`` gives."""
    integer = dtype.category == dtypes.INTEGER
    kind = dtypes.float64 if integer else dtypes.float32 if dtype.itemsize < 4 else dtype
    rounded = _rounding(dtype)  # half types round the ends and their distance, and nothing after
    first, last = rounded(jnp.asarray(start, kind.numpy)), rounded(jnp.asarray(end, kind.numpy))
    i = jnp.arange(steps)
    step = exact_quotient(rounded(last - first), jnp.asarray(max(steps - 1, 1), kind.numpy))
    # Of an odd number of steps the middle one is counted from the start here, and from the end in ``linspace``, as in PyTorch.
    powers = jnp.where(
        i < (steps + 1) // 2, first + step * i.astype(kind.numpy), last - step * (steps - 1 - i).astype(kind.numpy)
    )
    return jnp.power(jnp.asarray(base, kind.numpy), powers).astype(dtype.numpy)


@composite(forms=Form.FUNCTION)
def logspace(
    start: TensorOrNumber,
    end: TensorOrNumber,
    steps: int,
    base: float = 10.0,
    *,
    out: Tensor | None = None,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """``base`` to the powers ``linspace(start, end, steps)``.

    >>> torch.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    exponent, _ = _ends("logspace", start, end)
    start, end, kind = _spacing("logspace", start, end, steps, dtype, out)
    placement = placement_of(device, layout)
    if int(steps) == 1:  # PyTorch computes it in double precision, from the start as it was given
        wide_dtype = dtypes.complex128 if kind.is_complex else dtypes.float64
        result = spaced_by_powers(exponent, exponent, 1, base, wide_dtype, placement).to(kind)
    else:
        result = spaced_by_powers(start, end, int(steps), base, kind, placement)
    return require_grad(result if out is None else fill(out, result, counted=True), requires_grad)


@composite(forms=Form.FUNCTION)
def eye(
    n: int,
    m: int | None = None,
    *,
    out: Tensor | None = None,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A matrix with ones on the diagonal and zeros elsewhere; square unless ``m`` says otherwise.

    >>> torch.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    for name, value in (("n", n), ("m", n if m is None else m)):
        if not is_integer(value):
            raise TypeError(
                f"eye(): argument '{name}' (position {1 + (name == 'm')}) must be int, not {type_name(value)}"
            )
        if value < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {value}")
    kind = out.dtype if out is not None and dtype is None else dtype_of("eye", dtype)
    refuse_wide_unsigned("eye", kind)
    result = identity(int(n), int(n if m is None else m), kind, placement_of(device, layout))
    return require_grad(result if out is None else fill(out, result), requires_grad)
