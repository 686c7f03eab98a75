"""The pickler of torch.save: tensors separately from their memory, with PyTorch's names for torchlike's classes."""

from __future__ import annotations

import pickle
import sys
import warnings
from collections import OrderedDict
from types import FunctionType
from typing import Any

import numpy as np

from .._core import devices, dtypes, layouts
from .._core.fields import backward_hooks_of, storage_of
from .._core.meta import on_meta
from .._core.sparse import is_sparse
from .._core.storage import Storage
from .._core.subclasses import state_of
from .._core.tensor import Tensor
from .._subclasses import FakeTensor
from ..nested._strided import StridedNestedTensor
from ..nn.parameter import Parameter
from ..ops.creation.quantized import QuantizedTensor
from ..ops.shape.storages import TypedStorage, UntypedStorage
from ..sparse._compressed import INDEX_NAMES
from ._memory import memory_of
from ._names import UNTYPED, Global, outward, pytorchs, storage_class
from ._options import skipping


class _Saved:
    """The memory of a storage. It goes into a record of its own, to which the pickle refers."""

    __slots__ = ("kind", "key", "location", "count")

    def __init__(self, kind: Global, key: str, location: str, count: int) -> None:
        self.kind, self.key, self.location, self.count = kind, key, location, count


class Pickler(pickle._Pickler):
    """Pickles an object into ``file`` and collects the elements of its storages in ``memory``, by key.

    It is a subclass of Python's pickler written in Python, since the one in C looks each name up in ``sys.modules``, which lacks PyTorch's.

    Args:
        legacy: refer to memory as the old format does.
    """

    def __init__(self, file: Any, protocol: int, *, legacy: bool = False) -> None:
        super().__init__(file, protocol)
        self.memory: dict[str, np.ndarray] = {}
        self._legacy = legacy
        self._keys: dict[object, tuple[str, dtypes.dtype | None]] = {}

    def dump(self, obj: object) -> None:
        limit = sys.getrecursionlimit()
        # Each level of nesting needs several Python calls here, and one call in the pickler in C.
        sys.setrecursionlimit(max(limit, 50_000))
        try:
            super().dump(obj)
        finally:
            sys.setrecursionlimit(limit)

    def persistent_id(self, obj: object) -> Any:
        if isinstance(obj, (TypedStorage, UntypedStorage)):
            obj = self._by_itself(obj)
        if type(obj) is not _Saved:
            return None
        end = (None,) if self._legacy else ()  # a place for the description of a view of a storage
        return ("storage", obj.kind, obj.key, obj.location, obj.count, *end)

    def reducer_override(self, obj: Any) -> Any:
        kind = type(obj)
        if kind in _PLAIN:
            return NotImplemented
        if isinstance(obj, Tensor):
            return self._tensor(obj)
        if kind is Global:
            return obj.name
        if kind in _NAMED:
            return obj.name
        if kind is devices.device:
            return pytorchs("torch", "device"), (obj.type,) if obj.index is None else (obj.type, obj.index)
        if kind is layouts.layout:
            return pytorchs("torch.serialization", "_get_layout"), (str(obj),)
        return NotImplemented

    def save_global(self, obj: Any, name: str | None = None) -> None:
        if type(obj) is Global:
            address: tuple[str, str] | None = obj.module, obj.name
        elif type(obj) in _NAMED:
            address = "torch", obj.name
        else:
            address = outward(getattr(obj, "__module__", None) or "", name or getattr(obj, "__qualname__", ""))
        if address is None:
            self._save_unchanged(obj, name)
            return
        own: Any = self
        if own.proto >= 4:
            own.save(address[0])
            own.save(address[1])
            own.write(pickle.STACK_GLOBAL)
        else:
            own.write(pickle.GLOBAL + f"{address[0]}\n{address[1]}\n".encode())
        own.memoize(obj)

    def _save_unchanged(self, obj: object, name: str | None = None) -> None:
        """Writes the own name of a class or function. If it has no importable name, the pickler in C raises Python's usual error."""
        try:
            super().save_global(obj, name)  # pyright: ignore[reportAttributeAccessIssue]
        except (pickle.PicklingError, AttributeError):
            pickle.dumps(obj, self.proto)  # pyright: ignore[reportAttributeAccessIssue]
            raise

    # The table of Python's pickler contains its own method, and would call it instead of the one above.
    dispatch: Any = {**pickle._Pickler.dispatch, FunctionType: save_global}

    # ---- tensors

    def _key(self, storage: Storage, typed: dtypes.dtype | None, size: int) -> str:
        """The name of a storage's memory. Where it is empty each type has its own, since the old format knows one type for a name."""
        owner = storage if size else (storage, typed)
        key, first = self._keys.setdefault(owner, (str(len(self._keys)), typed))
        if first is not typed:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        return key

    def _by_itself(self, storage: TypedStorage | UntypedStorage) -> _Saved:
        """A storage that is saved for itself. As bytes it has no dtype."""
        untyped = storage.untyped()
        if untyped._end is not None:  # a slice has no memory of its own
            untyped = untyped.clone()
        bytes_only = isinstance(storage, UntypedStorage)
        dtype = dtypes.uint8 if bytes_only else storage.dtype
        root, elements = untyped._root, untyped._bytes().view(dtype.numpy)
        typed = None if bytes_only else dtype
        key = self._key(root, typed, elements.size)
        elements = self.memory.setdefault(key, elements)
        return _Saved(UNTYPED if bytes_only else storage_class(dtype), key, str(untyped.device), elements.size)

    def _tensor(self, tensor: Tensor) -> Any:
        _warn_of_hooks(tensor)
        kind = type(tensor)
        state = state_of(tensor)
        if kind is FakeTensor and skipping.materializes:
            kind, state = Tensor, None
        if kind is QuantizedTensor:
            return self._quantized(tensor)
        if kind is StridedNestedTensor:
            return pytorchs("torch._utils", "_rebuild_nested_tensor"), tensor.__reduce_ex__(2)[1]
        if kind is Parameter:
            arguments = (self._plain(tensor, False), tensor.requires_grad, OrderedDict())
            if state:
                return pytorchs("torch._utils", "_rebuild_parameter_with_state"), (*arguments, state)
            return pytorchs("torch._utils", "_rebuild_parameter"), arguments
        function, arguments = self._plain(tensor, tensor.requires_grad).reduced
        if kind is Tensor and not state:
            return function, arguments
        rebuild = pytorchs("torch._tensor", "_rebuild_from_type_v2")
        return rebuild, (function, kind, arguments, state or None)

    def _quantized(self, tensor: Any) -> tuple[Global, tuple[object, ...]]:
        _, (saved, offset, shape, strides, _, hooks) = self._plain(tensor.int_repr(), False).reduced
        saved = _Saved(pytorchs("torch", f"{tensor.dtype.scalar_name}Storage"), saved.key, saved.location, saved.count)  # pyright: ignore[reportAttributeAccessIssue]
        axis = () if tensor._axis is None else (tensor._axis,)
        parameters = (tensor.qscheme(), tensor._scale, tensor._zero_point, *axis)
        return pytorchs("torch._utils", "_rebuild_qtensor"), (saved, offset, shape, strides, parameters, False, hooks)

    def _plain(self, tensor: Tensor, requires_grad: bool) -> _Plain:
        """The arguments of PyTorch's functions that rebuild a tensor: storage, offset, shape and strides."""
        is_made = type(tensor) is FakeTensor and skipping.materializes
        if on_meta(tensor) and not is_made:
            layout = (*tensor.shape,), (*tensor.stride(),)
            return _Plain((
                pytorchs("torch._utils", "_rebuild_meta_tensor_no_storage"),
                (tensor.dtype, *layout, requires_grad),
            ))  # fmt: skip
        if is_sparse(tensor):
            return _Plain((pytorchs("torch._utils", "_rebuild_sparse_tensor"), _sparse_parts(tensor)))
        storage, elements = _room_for(tensor) if is_made else memory_of(tensor)
        kind = storage_class(tensor.dtype)
        typed = None if kind is UNTYPED else tensor.dtype
        key = self._key(storage, typed, elements.size)
        elements = self.memory.setdefault(key, elements.view(np.uint8) if kind is UNTYPED else elements)
        geometry = tensor._geometry
        arguments: tuple[object, ...] = (
            _Saved(kind, key, str(tensor.device), elements.size),
            geometry.offset,
            (
                *geometry.shape,
            ),  # new tuples for each tensor: pickle would write a shared tuple only once, which never happens in PyTorch
            (*geometry.strides,),
            requires_grad,
            OrderedDict(),  # for hooks, which are not saved
        )
        if kind is UNTYPED:
            return _Plain((pytorchs("torch._utils", "_rebuild_tensor_v3"), (*arguments, tensor.dtype)))
        marks = {name: True for name, is_set in (("conj", tensor.is_conj()), ("neg", tensor.is_neg())) if is_set}
        if marks:
            arguments = (*arguments, marks)
        return _Plain((pytorchs("torch._utils", "_rebuild_tensor_v2"), arguments))


def _room_for(tensor: Tensor) -> tuple[Storage, np.ndarray]:
    """The storage of a tensor without elements, and zeros in their place."""
    dtype = tensor.dtype.numpy
    return storage_of(tensor), np.zeros(tensor.untyped_storage().nbytes() // dtype.itemsize, dtype)


def _sparse_parts(tensor: Any) -> tuple[object, tuple[object, ...]]:
    """The arguments of PyTorch's function that rebuilds sparse tensors: the layout, and the tensor's parts."""
    if tensor.is_sparse:
        return tensor.layout, (tensor._indices(), tensor._values(), tensor.size(), tensor.is_coalesced())
    outer, inner = (getattr(tensor, name)() for name in INDEX_NAMES[tensor.layout])
    return tensor.layout, (outer, inner, tensor.detach().values(), tensor.size())


class _Plain:
    """The tensor of a parameter, which the pickle contains as a separate object."""

    __slots__ = ("reduced",)

    def __init__(self, reduced: tuple[Global, tuple[object, ...]]) -> None:
        self.reduced = reduced

    def __reduce__(self) -> tuple[Global, tuple[object, ...]]:
        return self.reduced


_NAMED = (dtypes.dtype, dtypes.quantized_dtype, layouts.qscheme)  # objects that have a name in PyTorch's namespace
_PLAIN = frozenset(
    {type(None), bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset, OrderedDict, _Plain}
)


def _warn_of_hooks(tensor: Tensor) -> None:
    for hook in backward_hooks_of(tensor).values():
        warnings.warn(
            f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the function with "
            "@torch.utils.hooks.unserializable_hook to suppress this warning",
            UserWarning,
            stacklevel=2,
        )
