"""Subclasses of Tensor: how operations return them, and how a tensor becomes one of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from copyreg import _slotnames  # pyright: ignore[reportAttributeAccessIssue]
from typing import Any

from ..engine.aval import META, Aval
from ..engine.value import Value
from . import dtypes
from .annotations import DeviceLike
from .attributes import Instance, UsersAttributes, copy_fields, new
from .devices import as_device, device
from .layouts import layout, memory_format
from .meta import on_meta
from .modes import dispatch_state, same_tangent
from .overridable import defines_dispatch, meet
from .signatures import Args, Function, Kwargs
from .storage import Storage
from .tensor import Tensor, alias
from .torch_function import DisableTorchFunctionSubclass, know_plain

__all__ = ["as_class", "convert", "copied_wrapper", "default_torch_function", "make_subclass", "nowrap_functions"]

_dict_of = Instance.__dict__["__dict__"].__get__
_nowrap: set[object] = set()


def nowrap_functions() -> set[Any]:
    """The functions whose result stays of the class that it has."""
    if not _nowrap:
        members = vars(Tensor)
        _nowrap.update(members[name].__get__ for name in ("_base", "grad"))
    return _nowrap


def convert(result: object, cls: type[Tensor]) -> Any:
    """The tensors in a result as objects of a subclass."""
    if cls is Tensor:
        return result
    if isinstance(result, Tensor):
        return result if isinstance(result, cls) else result.as_subclass(cls)  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(result, (tuple, list)):
        converted = [convert(element, cls) for element in result]
        kind: object = type(result)
        return kind(*converted) if hasattr(result, "_fields") else kind(converted)
    return result


def default_torch_function(
    cls: type[Tensor],
    func: Function,
    types: tuple[type, ...],
    args: Args = (),
    kwargs: Kwargs | None = None,
) -> Any:
    """Computes as for plain tensors, and returns objects of this class.

    A class that overrides this one calls it for the functions that it does not treat itself.

    Source: https://docs.pytorch.org/docs/stable/notes/extending.html
    """
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
        return result if func in nowrap_functions() else convert(result, cls)


def as_class(cls: object, tensor: Tensor) -> Tensor:
    """The same tensor, history and all, as an object of a subclass."""
    if not isinstance(cls, type):
        raise TypeError(f"cls must be a type (got {type(cls).__name__})")
    if not issubclass(cls, Tensor):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your class inherits "
            "from Tensor."
        )
    meet(cls)
    result = new(cls)
    copy_fields(tensor, result)
    _dict_of(result).update({name: value for name, value in _dict_of(tensor).items() if name in Tensor._fields})
    return same_tangent(result, tensor)


def make_subclass(cls: object, data: object, require_grad: bool = False, **layout: object) -> Tensor:
    """An object of a subclass over the memory of a tensor, without its history."""
    if not isinstance(cls, type):
        raise TypeError(f"cls must be a type (got {type(cls).__name__})")
    if not isinstance(data, Tensor):
        raise TypeError(f"_make_subclass(): argument 'data' (position 2) must be Tensor, not {type(data).__name__}")
    for name, value in layout.items():
        if value:
            raise NotImplementedError(f"torchlike does not support _make_subclass with {name}")
    result = alias(data, cls)
    result._requires_grad = bool(require_grad)
    return result


def make_wrapper_subclass(
    cls: Any,
    size: Sequence[int],
    strides: Sequence[int] | None = None,
    storage_offset: int | None = None,
    memory_format: object = None,
    dtype: dtypes.dtype | None = None,
    layout: object = None,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    **options: object,
) -> Any:
    """An object of a subclass that has a shape, a dtype and a device, and no memory: its ``__torch_dispatch__`` computes.

    Raises:
        RuntimeError: the class defines no ``__torch_dispatch__``.
    """
    if not defines_dispatch(cls):
        raise RuntimeError(f"{cls.__name__} must define __torch_dispatch__")
    for name, value in options.items():
        if value and name not in ("dispatch_sizes_strides_policy", "dispatch_device", "dispatch_layout"):
            raise NotImplementedError(f"torchlike does not support _make_wrapper_subclass with {name}")
    meet(cls)
    kind = dtypes.get_default_dtype() if dtype is None else dtype
    result = new(cls)
    result._storage = Storage(Value.without_data(Aval(tuple(map(int, size)), kind.numpy, META)))
    result._requires_grad = bool(requires_grad)
    result._outer_device = as_device("cpu" if device is None else device)
    return result


know_plain(Tensor, dtypes.dtype, device, layout, memory_format)


def copied_wrapper(tensor: Tensor, memo: dict[int, Any]) -> Tensor | None:
    """A deep copy of an object without memory of a subclass, which its ``clone`` makes; None for another tensor.

    Raises:
        RuntimeError: the subclass has no ``clone``, or ``new_empty``, that returns one of its objects.
    """
    kind = type(tensor)
    if getattr(tensor, "_outer_device", None) is None and not on_meta(tensor):
        if type(tensor.new_empty([])) is not kind:  # pyright: ignore[reportAttributeAccessIssue]
            raise RuntimeError(
                "The default implementation of __deepcopy__() for non-wrapper subclasses only works for subclass types that implement "
                "new_empty() and for which that function returns another instance of the same subclass. You should either properly "
                "implement new_empty() for your subclass or override __deepcopy__() if it is intended behavior for new_empty() to "
                "return an instance of a different type."
            )
        return None
    before, dispatch_state.off = (
        dispatch_state.off,
        False,
    )  # ``__deepcopy__`` is no operation, but this one is the subclass's own
    try:
        copy = tensor.clone()  # pyright: ignore[reportAttributeAccessIssue]
    finally:
        dispatch_state.off = before
    if type(copy) is not kind:
        raise RuntimeError(
            "The default implementation of __deepcopy__() for wrapper subclasses only works for subclass types that implement clone() and "
            "for which cloning returns another instance of the same subclass. You should either properly implement clone() for your "
            "subclass or override __deepcopy__() if it is intended behavior for clone() to return an instance of a different type."
        )
    memo[id(tensor)] = copy
    if tensor.requires_grad:
        copy._require_grad()
    if tensor._grad is not None:
        copy._grad = tensor._grad.__deepcopy__(memo)
    copy_attributes(tensor, copy, memo)
    return copy


def own_slots(kind: type) -> list[str]:
    """The slots that a subclass declares, not those of Tensor."""
    return [name for name in _slotnames(kind) if name not in _slotnames(Tensor)]


def copy_attributes(tensor: Tensor, copy: Tensor, memo: dict[int, Any]) -> None:
    """Gives a copy deep copies of what a program has set, in slots of a subclass too."""
    copy.__dict__.update(deepcopy(dict(tensor.__dict__), memo))
    for name in own_slots(type(tensor)):
        if hasattr(tensor, name):
            setattr(copy, name, deepcopy(getattr(tensor, name), memo))


def state_of(tensor: Tensor) -> Any:
    """What a file keeps of a tensor beside its elements: what its class says, or what a program has set; with slots a pair."""
    kind = type(tensor)
    own = getattr(kind, "__getstate__", None)
    if own not in (getattr(Tensor, "__getstate__", None), getattr(object, "__getstate__", None)):
        return _with_plain_dicts(own(tensor))  # pyright: ignore[reportOptionalCall]
    state = dict(tensor.__dict__)
    slots = {name: getattr(tensor, name) for name in own_slots(kind) if hasattr(tensor, name)}
    return (state, slots) if slots else state


def _with_plain_dicts(state: Any) -> Any:
    """The state with dicts for what ``tensor.__dict__`` gives, whose class no file may name."""
    if isinstance(state, UsersAttributes):
        return dict(state)
    return type(state)(map(_with_plain_dicts, state)) if type(state) in (tuple, list) else state


def sets_its_state(kind: type) -> bool:
    """Whether a subclass defines ``__setstate__``."""
    return getattr(kind, "__setstate__", None) is not getattr(Tensor, "__setstate__", None)


Tensor._copy_attributes = copy_attributes  # pyright: ignore[reportAttributeAccessIssue]
Tensor._copied_by_its_class = copied_wrapper  # pyright: ignore[reportAttributeAccessIssue]
