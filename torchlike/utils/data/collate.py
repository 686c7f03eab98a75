"""Collation: from a list of samples to one batch."""

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from ... import ops
from ..._core.dtypes import float64
from ..._core.tensor import Tensor, from_host
from ._host import host_array

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]

NOT_NUMBERS = re.compile("[SaUO]")  # NumPy's kinds of dtypes for strings and objects
UNKNOWN = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"

CollateMap = dict[type | tuple[type, ...], Callable[..., object]]


def default_collate(batch: object) -> Any:
    """Makes one batch of a list of samples: leaves are stacked, and the structure around them stays.

    Tensors and arrays of shape ``(...)`` become one of ``(N, ...)``; ints an int64 tensor, floats a float64 one;
    strings a list; of dicts, tuples and lists each part is collated separately, and a tuple becomes a list.

    Raises:
        TypeError: the samples are of a type that cannot be batched.
        RuntimeError: the samples have different sizes.

    Example:
        >>> torch.utils.data.default_collate([{"x": 1, "name": "a"}, {"x": 2, "name": "b"}])
        {'x': tensor([1, 2]), 'name': ['a', 'b']}

    Source: https://pytorch.org/docs/stable/data.html#torch.utils.data.default_collate
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """``default_collate`` with another table: the function for a list of leaves, by the type of the first leaf.

    Args:
        collate_fn_map: from a type, or a tuple of types, to ``f(batch, *, collate_fn_map)``.

    Source: https://pytorch.org/docs/stable/data.html#torch.utils.data._utils.collate.collate
    """
    first = batch[0]
    handler = _handler(first, collate_fn_map)
    if handler is not None:
        return handler(batch, collate_fn_map=collate_fn_map)

    def together(parts: Sequence[object]) -> Any:
        return collate(parts, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        return _mapping_like(first, {key: together([sample[key] for sample in batch]) for key in first})
    if _is_named_tuple(first):
        return type(first)(*(together(column) for column in zip(*batch, strict=False)))
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [together(column) for column in zip(*batch, strict=False)]
        return columns if isinstance(first, tuple) else _sequence_like(first, columns)
    raise TypeError(UNKNOWN.format(type(first)))


def default_convert(data: Any) -> Any:
    """Makes tensors of the NumPy arrays and numbers in one sample; other objects stay the same.

    Example:
        >>> torch.utils.data.default_convert({"x": np.zeros(2, np.float32), "n": 3})
        {'x': tensor([0., 0.]), 'n': 3}

    Source: https://pytorch.org/docs/stable/data.html#torch.utils.data.default_convert
    """
    if isinstance(data, Tensor | str | bytes):
        return data
    if isinstance(data, np.ndarray | np.generic):
        return data if NOT_NUMBERS.search(data.dtype.str) else ops.as_tensor(data)
    if isinstance(data, Mapping):
        return _mapping_like(data, {key: default_convert(value) for key, value in data.items()})
    if _is_named_tuple(data):
        return type(data)(*(default_convert(element) for element in data))
    if isinstance(data, Sequence):
        parts = [default_convert(element) for element in data]
        return parts if isinstance(data, tuple) else _sequence_like(data, parts)
    return data


def _handler(leaf: object, table: CollateMap | None) -> Callable[..., object] | None:
    if not table:
        return None
    if type(leaf) in table:
        return table[type(leaf)]
    return next((handler for kinds, handler in table.items() if isinstance(leaf, kinds)), None)


def _is_named_tuple(value: object) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _mapping_like(model: Mapping[object, object], parts: Mapping[object, object]) -> Any:
    """A mapping of ``model``'s type if that can be created, else a dict."""
    try:
        if isinstance(model, MutableMapping):
            # A copy keeps attributes that a constructor does not take, such as a default factory.
            result = copy.copy(model)
            result.update(parts)
            return result
        return type(model)(parts)  # pyright: ignore[reportCallIssue]
    except TypeError:
        return parts


def _sequence_like(model: Sequence[object], parts: Sequence[object]) -> Any:
    """A sequence of ``model``'s type if that can be created, else a list."""
    try:
        if isinstance(model, MutableSequence):
            result = copy.copy(model)
            for position, element in enumerate(parts):
                result[position] = element
            return result
        # A range can be created from three numbers, but it cannot contain tensors.
        return parts if isinstance(model, range) else type(model)(parts)  # pyright: ignore[reportCallIssue]
    except TypeError:
        return parts


def _stack_tensors(batch: Sequence[Tensor], *, collate_fn_map: CollateMap | None = None) -> Tensor:
    stacked = _stack_on_host(batch)
    return ops.stack(list(batch), 0) if stacked is None else from_host(stacked)


def _stack_on_host(batch: Sequence[Tensor]) -> np.ndarray | None:
    """Stacks the samples into one new array if all of them are on the host and have the same shape; else returns None.

    One copy in NumPy costs far less than recording a stack of 64 inputs, and the batch reaches the device as one piece.
    """
    arrays = []
    for sample in batch:
        array = host_array(sample) if type(sample) is Tensor else None
        if array is None:
            return None
        arrays.append(array)
    first = arrays[0]
    if any(array.shape != first.shape or array.dtype != first.dtype for array in arrays):
        return None  # ``stack`` promotes dtypes, and raises the error for different sizes
    return np.stack(arrays)


def _stack_arrays(batch: Sequence[np.ndarray], *, collate_fn_map: CollateMap | None = None) -> Tensor:
    if NOT_NUMBERS.search(batch[0].dtype.str):
        raise TypeError(UNKNOWN.format(batch[0].dtype))
    # This also raises the errors for dtypes, and warns about memory that is not writable.
    first = ops.as_tensor(batch[0])
    plain = collate_fn_map is None or collate_fn_map.get(Tensor) is _stack_tensors
    if plain and all(type(array) is np.ndarray and array.shape == first.shape for array in batch):
        if all(array.dtype == first.dtype.numpy for array in batch):
            return from_host(np.stack(batch))
    return collate([ops.as_tensor(sample) for sample in batch], collate_fn_map=collate_fn_map)


def _stack_numpy_numbers(batch: Sequence[object], *, collate_fn_map: CollateMap | None = None) -> Tensor:
    return ops.as_tensor(batch)


def _stack_floats(batch: Sequence[float], *, collate_fn_map: CollateMap | None = None) -> Tensor:
    return ops.tensor(batch, dtype=float64)


def _stack_ints(batch: Sequence[int], *, collate_fn_map: CollateMap | None = None) -> Tensor:
    return ops.tensor(batch)


def _keep(batch: Sequence[object], *, collate_fn_map: CollateMap | None = None) -> Sequence[object]:
    return batch


# The functions of ``default_collate`` for leaves. A program may add rows.
default_collate_fn_map: CollateMap = {
    Tensor: _stack_tensors,
    np.ndarray: _stack_arrays,
    (np.bool_, np.number, np.object_): _stack_numpy_numbers,
    float: _stack_floats,
    int: _stack_ints,
    str: _keep,
    bytes: _keep,
}

_SHIPPED = dict(default_collate_fn_map)


def collates_by_default(collate_fn: Callable[..., object]) -> bool:
    """Whether ``collate_fn`` is the unchanged ``default_collate``, so that a dataset may replace it by a faster way."""
    return collate_fn is default_collate and default_collate_fn_map == _SHIPPED
