"""The arguments of every function that makes a tensor: sizes, one by one or as a tuple; dtype, device, ``requires_grad``, ``out=``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core import devices, dtypes
from .._core.annotations import DeviceLike, Dtype, Layout
from .._core.fields import count_write, move_to_storage, root_of, set_requires_grad, version_of, view_record
from .._core.layouts import strided
from .._core.storage import Storage
from .._core.tensor import Tensor, alias
from ..engine.aval import Placement
from .arguments import are_integers
from .opdef import Inner
from .type_names import type_name
from .warned import Determinism


def is_integer(value: object) -> bool:
    """Whether a value is accepted as a size: an int, also NumPy's, or an integer tensor of one element."""
    if isinstance(value, (bool, np.bool_)):
        return False
    if isinstance(value, (int, np.integer)):
        return True
    return isinstance(value, Tensor) and value.numel() == 1 and value.dtype.category <= dtypes.INTEGER


def size_of(name: str, size: tuple[object, ...], argument: str = "size", is_variadic: bool = True) -> tuple[int, ...]:
    """A shape from ``f(2, 3)`` or ``f((2, 3))``; PyTorch's errors for what is none.

    Args:
        size: the positional arguments as they were given.
        is_variadic: whether the sizes may be given one by one.
    """
    if not size:
        raise TypeError(f'{name}() missing 1 required positional arguments: "{argument}"')
    first = size[0]
    given: Any = first if len(size) == 1 and isinstance(first, (tuple, list)) else size
    if (is_variadic or given is first) and are_integers(map(type, given)) and min(given, default=0) >= 0:
        return tuple(given)  # as most are
    if isinstance(first, (tuple, list)) or (isinstance(first, Tensor) and first.dim() == 1):
        if len(size) > 1:
            raise TypeError(f"{name}() takes 1 positional argument but {len(size)} were given")
        entries: Any = first
    else:
        if not is_variadic or not is_integer(first):
            raise TypeError(
                f"{name}(): argument '{argument}' (position 1) must be tuple of ints, not {type_name(first)}"
            )
        entries = size
    for position, entry in enumerate(entries):
        if not is_integer(entry) and not (
            isinstance(entry, np.ndarray) and entry.ndim == 0 and entry.dtype.kind in "iu"
        ):
            if position == 0:
                raise TypeError(
                    f"{name}(): argument '{argument}' (position 1) must be tuple of ints, but found element of type "
                    f"{type_name(entry)} at pos 0"
                )
            raise TypeError(
                f"{name}(): argument '{argument}' failed to unpack the object at pos {position + 1} with error \"type must be "
                f'tuple of ints,but got {type_name(entry)}"'
            )
    shape = tuple(int(n) for n in entries)
    if any(n < 0 for n in shape):
        if name == "zeros":
            raise RuntimeError(f"{name}: Dimension size must be non-negative.")
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {next(n for n in shape if n < 0)}: {list(shape)}"
        )
    return shape


def dtype_of(name: str, dtype: object, otherwise: dtypes.dtype | None = None) -> dtypes.dtype:
    """The dtype asked for, or ``otherwise``, or the default one; TypeError for what is no dtype."""
    if dtype is None:
        return otherwise or dtypes.get_default_dtype()
    if isinstance(dtype, dtypes.dtype):
        return dtype
    if isinstance(dtype, type) and dtype in dtypes.PYTHON_TYPES:
        return dtypes.PYTHON_TYPES[dtype]
    raise TypeError(f"{name}(): argument 'dtype' must be torch.dtype, not {type_name(dtype)}")


def placement_of(device: DeviceLike | None, layout: Layout | None = None, like: Tensor | None = None) -> Placement:
    """The placement asked for, or that of ``like``. NotImplementedError for layouts other than strided ones."""
    if layout is not None and layout is not strided:
        instead = (
            ": torch.sparse_coo_tensor(size=...) and to_sparse() make sparse tensors" if "sparse" in str(layout) else ""
        )
        raise NotImplementedError(f"torchlike does not support layout={layout} here{instead}")
    if device is None and like is not None:
        return like._aval.placement
    return devices.placement(device)


def require_grad(tensor: Tensor, requires_grad: bool) -> Tensor:
    """Returns the new tensor, and makes it require a gradient if the flag is set."""
    if requires_grad:
        if tensor.dtype.category < dtypes.FLOAT:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        set_requires_grad(tensor, True)
    return tensor


def fill(
    out: Tensor,
    result: Tensor,
    dtype: Dtype | None = None,
    inner: Inner = Inner.IN_WINDOWS,
    counted: bool = False,
) -> Tensor:
    """Writes the result of a creation function into ``out=``, which is resized without a warning.

    Args:
        inner: whether elements of ``out`` may share places.
        counted: a tensor of as many elements keeps its own shape, as those do that PyTorch counts into.
    """
    from .inplace import write

    if dtype is not None and dtype is not out.dtype:
        raise RuntimeError(f"dtype {dtype.scalar_name} does not match dtype of out parameter ({out.dtype.scalar_name})")
    result = result if result.dtype is out.dtype else result.to(out.dtype)  # pyright: ignore[reportAttributeAccessIssue]
    if counted and out.numel() == result.numel():
        result = result.reshape(out.shape)  # pyright: ignore[reportAttributeAccessIssue]
    return write(out, result, inner=inner) if out.shape == result.shape else resized(out, result)


class Resizing:
    """``to``: gives a tensor another shape within its memory, whether or not it requires a gradient. ``ops`` sets it."""

    to: Callable[[Tensor, tuple[int, ...]], Tensor]


def check_grows(tensor: Tensor, count: int) -> None:
    """Raises PyTorch's error if a tensor's memory is NumPy's too and must hold more elements than it has room for."""
    host = root_of(tensor).host
    if host is not None and host.shared and host.kept is None and count * tensor.element_size() > host.array.nbytes:
        raise RuntimeError("Trying to resize storage that is not resizable")


def resized(out: Tensor, result: Tensor) -> Tensor:
    """Gives the tensor of ``out=`` another shape and writes the result, which has its dtype, to it.

    The memory stays that of the tensors that share it. A tensor without elements shows none of it, so it moves to new memory.
    """
    from .inplace import write

    if out.numel():
        Resizing.to(out, result.shape)
        count_write(out, -1)  # PyTorch counts both as one
        return write(out, result)
    check_grows(out, result.numel())
    version = version_of(out) + 1
    count_write(out)
    move_to_storage(out, Storage(result._value()))
    count_write(out, version)
    return out


def memory_order(tensor: Tensor) -> tuple[int, ...] | None:
    """The dimensions of a non-contiguous tensor from the one with the largest stride down; None where that is their own order.

    PyTorch fills a tensor like this one in this order, and lays it out so.
    """
    if view_record(tensor) is None or tensor._geometry.contiguous:
        return None
    strides = tensor._geometry.strides
    if any(s == 0 and n > 1 for s, n in zip(strides, tensor.shape, strict=True)):
        return None
    order = tuple(sorted(range(len(strides)), key=lambda d: -strides[d]))
    return None if order == tuple(range(len(strides))) else order


def with_unset_filled(result: Any, beginning: int = 0) -> Any:
    """The tensor, whose elements mean nothing yet: in deterministic mode they are NaN, or the largest integer, as PyTorch's.

    Args:
        beginning: the number of the first element that means nothing, where the elements lie in order.
    """
    if Determinism.on and Determinism.fill_uninitialized_memory and result.numel() > beginning:
        unset: Any = alias(result)
        unset = unset.view(-1)[beginning:] if beginning else unset
        unset.fill_(_unset_element(result.dtype))
        count_write(result, -1)
    return result


def _unset_element(dtype: dtypes.dtype) -> Any:
    if dtype.is_complex:
        return complex("nan+nanj")
    if dtype.is_floating_point:
        return float("nan")
    return True if dtype is dtypes.bool_ else dtypes.iinfo(dtype).max
