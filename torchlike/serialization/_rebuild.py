"""The functions that a checkpoint calls to rebuild its tensors, under PyTorch's names, over memory from the file."""

from __future__ import annotations

from typing import Any

from .._core import devices, dtypes, layouts
from .._core.annotations import Dtype, IntOrInts, Layout
from .._core.fields import leaf_alias, requires_grad_flag, storage_of
from .._core.size import Size
from .._core.strided import Strided
from .._core.subclasses import own_slots, sets_its_state
from .._core.tensor import Tensor, alias, from_value
from ..engine.aval import META
from ..engine.value import Value
from ..nested._strided import rebuilt
from ..nn.parameter import Parameter
from ..ops.creation.quantized import RANGES, quantized
from ..ops.shape.storages import TypedStorage, UntypedStorage
from ..sparse._compressed import INDEX_NAMES
from ..sparse._construction import sparse_compressed_tensor, sparse_coo_tensor
from ._bounds import described
from ._memory import Memory


class Stored(TypedStorage):
    """A storage to which a file refers. Where it is no tensor's, it is what the program gets, as elements of its dtype.

    Args:
        memory: the bytes.
        of: the dtype of its elements, None where the tensors over it say theirs.
        part: where it is only a piece of the memory, at which element that begins and how many there are.
    """

    def __init__(self, memory: Memory, of: dtypes.dtype | None, part: tuple[int, int] | None = None) -> None:
        self.memory, self.of, self.part = memory, of, part
        self.dtype = dtypes.uint8 if of is None else of

    @property
    def _untyped_storage(self) -> UntypedStorage:  # pyright: ignore[reportIncompatibleVariableOverride]
        # Made when it is asked for: most storages are those of tensors, which say how the memory is seen.
        count = self.memory.size() // self.dtype.itemsize if self.part is None else self.part[1]
        whole = UntypedStorage(storage_of(self.memory.tensor(self.dtype, 0, (count,), (1,), self.part)))
        if self.part is None:
            return whole
        begin = self.part[0] * self.dtype.itemsize
        return whole[begin : begin + count * self.dtype.itemsize]

    def piece(self, part: tuple[int, int] | None) -> Stored:
        """A storage over some elements of the same memory."""
        return Stored(self.memory, self.of, part)


Stored.__name__ = Stored.__qualname__ = "TypedStorage"  # as a program sees it


def _tensor(stored: Stored, storage_offset: int, size: Any, stride: Any, dtype: dtypes.dtype | None = None) -> Tensor:
    dtype = dtype or stored.of
    if dtype is None:
        raise RuntimeError("a tensor in the file does not say its dtype: the file might be corrupted")
    return stored.memory.tensor(dtype, storage_offset, tuple(size), tuple(stride), stored.part)


def _rebuild_tensor_v2(
    storage: Stored,
    storage_offset: int,
    size: IntOrInts,
    stride: IntOrInts,
    requires_grad: bool,
    backward_hooks: object,
    metadata: dict[str, bool] | None = None,
) -> Tensor:
    return _finish_tensor(_tensor(storage, storage_offset, size, stride), requires_grad, backward_hooks, metadata)


def _rebuild_tensor_v3(
    storage: Stored,
    storage_offset: int,
    size: IntOrInts,
    stride: IntOrInts,
    requires_grad: bool,
    backward_hooks: object,
    dtype: dtypes.dtype,
    metadata: dict[str, bool] | None = None,
) -> Tensor:
    if not isinstance(dtype, dtypes.dtype):
        raise NotImplementedError(f"torchlike does not have the dtype {described(dtype)} of a tensor in the file")
    return _finish_tensor(
        _tensor(storage, storage_offset, size, stride, dtype), requires_grad, backward_hooks, metadata
    )


def _finish_tensor(
    tensor: Tensor, requires_grad: bool, backward_hooks: object, metadata: dict[str, bool] | None
) -> Tensor:
    if backward_hooks:
        raise NotImplementedError("torchlike does not load the backward hooks of a tensor: the file has some")
    marks = {name for name, on in (metadata or {}).items() if on}
    if marks - {"conj", "neg"}:
        raise NotImplementedError(f"torchlike does not know what is said of a tensor in the file: {sorted(marks)}")
    if "conj" in marks:
        tensor = alias(tensor.conj())
    if "neg" in marks:
        tensor = alias(tensor._neg_view())  # pyright: ignore[reportAttributeAccessIssue]
    return tensor._require_grad() if requires_grad else tensor


def _rebuild_meta_tensor_no_storage(dtype: Dtype, size: Any, stride: Any, requires_grad: bool) -> Tensor:
    if not isinstance(dtype, dtypes.dtype):
        raise NotImplementedError(f"torchlike does not have the dtype {described(dtype)} of a tensor in the file")
    layout = Strided(tuple(size), tuple(stride))
    if layout.contiguous:
        tensor = from_value(Value.full(layout.shape, dtype.numpy, META))
    else:
        count = 1 + sum((n - 1) * s for n, s in zip(layout.shape, layout.strides, strict=True)) if layout.size else 0
        flat: Any = from_value(Value.full((count,), dtype.numpy, META))
        tensor = alias(flat.as_strided(layout.shape, layout.strides, 0))
    return tensor._require_grad() if requires_grad else tensor


def _rebuild_sparse_tensor(layout: Layout, data: Any) -> Tensor:
    if layout is layouts.sparse_coo:
        indices, values, size, *in_order = data
        return sparse_coo_tensor(
            indices, values, size, check_invariants=True, is_coalesced=bool(in_order and in_order[0])
        )
    if layout in INDEX_NAMES:
        return sparse_compressed_tensor(*data, layout=layout, check_invariants=True)
    raise NotImplementedError(f"torchlike does not have the layout {described(layout)} of a tensor in the file")


def _rebuild_qtensor(
    storage: Stored,
    storage_offset: int,
    size: IntOrInts,
    stride: IntOrInts,
    quantizer_params: Any,
    requires_grad: bool,
    backward_hooks: object,
) -> Tensor:
    integers = _tensor(storage, storage_offset, size, stride)
    dtype = next((kind for kind in RANGES if kind.stored is integers.dtype), None)
    scheme, scale, zero_point, *axis = quantizer_params
    if dtype is None or scheme not in (layouts.per_tensor_affine, layouts.per_channel_affine):
        raise NotImplementedError(
            f"torchlike does not have the quantization {described(scheme)} of a tensor in the file"
        )
    if scheme is layouts.per_tensor_affine:
        return quantized(integers, dtype, float(scale), int(zero_point))
    if not isinstance(scale, Tensor) or not isinstance(zero_point, Tensor):
        raise RuntimeError("a quantized tensor in the file has scales that are no tensor: the file might be corrupted")
    return quantized(integers, dtype, scale, zero_point, int(axis[0]))


def _rebuild_nested_tensor(buffer: Tensor, sizes: Tensor, strides: Tensor, storage_offsets: Tensor) -> Tensor:
    return rebuilt(buffer, sizes, strides, storage_offsets)


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: object) -> Parameter:
    if backward_hooks:
        raise NotImplementedError("torchlike does not load the backward hooks of a parameter: the file has some")
    return Parameter(data, bool(requires_grad))


def _rebuild_parameter_with_state(
    data: Tensor, requires_grad: bool, backward_hooks: object, state: object
) -> Parameter:
    return _with_state(_rebuild_parameter(data, requires_grad, backward_hooks), state)


def _rebuild_from_type_v2(func: Any, new_type: object, args: Any, state: object) -> Any:
    if func not in REBUILDERS.values():
        raise RuntimeError(f"a tensor in the file is made by {described(func)}, which makes no tensors")
    tensor = func(*args)
    if type(tensor) is not new_type:
        if not (isinstance(new_type, type) and issubclass(new_type, Tensor)):
            raise RuntimeError(f"a tensor in the file is to be of {described(new_type)}, which is no class of tensors")
        tensor = leaf_alias(tensor, new_type, requires_grad_flag(tensor))
        if sets_its_state(new_type):  # a class that the caller allows
            tensor.__setstate__(state)  # pyright: ignore[reportAttributeAccessIssue]
            return tensor
    return _with_state(tensor, state)


def _with_state(tensor: object, state: Any) -> Any:
    """Sets the attributes that a program had set, but never a field of the class itself, whatever the file contains."""
    parts = state if isinstance(state, tuple) else (state,)
    for name, value in (pair for part in parts if part for pair in part.items()):
        if name in Tensor._fields or hasattr(Tensor, name):
            raise RuntimeError(f"a tensor in the file has an attribute {name!r}, which is not for files to set")
        if name in own_slots(type(tensor)):
            setattr(tensor, name, value)
        else:
            tensor.__dict__[name] = value
    return tensor


def _get_layout(name: object) -> Layout:
    layout_of_name = {str(layout): layout for layout in (layouts.strided, layouts.sparse_coo, *INDEX_NAMES)}
    if type(name) is not str or name not in layout_of_name:
        raise NotImplementedError(f"torchlike does not have the layout {described(name)} that the file speaks of")
    return layout_of_name[name]


REBUILDERS = {
    "_rebuild_tensor": _tensor,
    "_rebuild_tensor_v2": _rebuild_tensor_v2,
    "_rebuild_tensor_v3": _rebuild_tensor_v3,
    "_rebuild_sparse_tensor": _rebuild_sparse_tensor,
    "_rebuild_qtensor": _rebuild_qtensor,
    "_rebuild_nested_tensor": _rebuild_nested_tensor,
    "_rebuild_meta_tensor_no_storage": _rebuild_meta_tensor_no_storage,
    "_rebuild_parameter": _rebuild_parameter,
    "_rebuild_parameter_with_state": _rebuild_parameter_with_state,
}

# By their names in files. A file may use these and no others, unless the caller allows more.
KNOWN: dict[tuple[str, str], object] = {
    **{("torch._utils", name): function for name, function in REBUILDERS.items()},
    **{("torch", dtype.name): dtype for dtype in (*dtypes.ALL, *RANGES)},
    **{("torch", scheme.name): scheme for scheme in (layouts.per_tensor_affine, layouts.per_channel_affine)},
    ("torch._tensor", "_rebuild_from_type_v2"): _rebuild_from_type_v2,
    ("torch.serialization", "_get_layout"): _get_layout,
    ("torch", "Size"): Size,
    ("torch", "Tensor"): Tensor,
    ("torch", "device"): devices.device,
    ("torch.nn.parameter", "Parameter"): Parameter,
}

_LACKING = {"sparse": "sparse", "nested": "nested", "wrapper": "wrapped"}


def missing_kind(module: str, name: str) -> NotImplementedError | None:
    """The error for a kind of tensor that PyTorch can save and torchlike does not have, if the name is of that kind."""
    if module == "torch._utils" and name.startswith("_rebuild_"):
        kind = next((word for part, word in _LACKING.items() if part in name), name)
        return NotImplementedError(f"the file holds {kind} tensors, which torchlike does not support ({module}.{name})")
    return None
