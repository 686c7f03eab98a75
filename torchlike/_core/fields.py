"""Functions that read and change the private fields of tensors, for the layers above.

A few files use the fields themselves, because a Python call would slow down every operation; ``tests/api/test_bounds.py`` lists them.
The readers are made by ``attrgetter``, which is written in C: calling them costs no Python frame.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat, starmap
from operator import attrgetter
from typing import Any, cast

from ..engine.value import Value
from .attributes import Contents, Fields, new
from .node import Node
from .storage import Storage
from .tensor import Tensor, alias
from .views import View, ViewStep

__all__ = [
    "awaits_first_gradient", "backward_hooks_of", "count_write", "drop_grads", "grad_of", "in_graph", "inference_flag", "is_marked",
    "is_whole_storage", "leaf_alias", "mark_as_parameter", "move_to_storage", "node_of", "output_number_of", "post_accumulate_hooks_of",
    "rebase", "replace_contents", "requires_grad_flag", "root_of", "set_grad", "set_requires_grad", "standing_in", "steps_of",
    "storage_of", "stored_value", "tensor_at", "values_of", "version_of", "view_record", "write_value",
]  # fmt: skip

storage_of: Callable[[Tensor], Storage] = attrgetter("_storage")
root_of: Callable[[Tensor], Storage] = attrgetter("_storage.root")  # one object for all tensors that share memory
stored_value: Callable[[Tensor], Value] = attrgetter("_storage.value")  # of the whole storage
version_of: Callable[[Tensor], int] = attrgetter("_storage.version")  # inference tensors, too, have one
view_record: Callable[[Tensor], View | None] = attrgetter("_view")  # where a view lies in its storage; None: no view
grad_of: Callable[[Tensor], Tensor | None] = attrgetter("_grad")  # ``Tensor.grad`` without its warning
inference_flag: Callable[[Tensor], bool] = attrgetter("_inference")  # made under ``inference_mode``
post_accumulate_hooks_of: Callable[[Tensor], dict[int, Any] | None] = attrgetter("_post_accumulate_hooks")
# These three are the ones from when the tensor was last read. Reading a view after a write to its base changes them.
requires_grad_flag: Callable[[Tensor], bool] = attrgetter("_requires_grad")
node_of: Callable[[Tensor], Node | None] = attrgetter("_grad_fn")
output_number_of: Callable[[Tensor], int] = attrgetter("_output_nr")  # which output of that node the tensor is


def is_whole_storage(tensor: Tensor) -> bool:
    """Whether a tensor is all of its storage, in the storage's shape and order: only such a tensor is no view."""
    return tensor._view is None


def steps_of(tensor: Tensor) -> tuple[ViewStep, ...]:
    """The steps that lead from the storage to a view; none for what is no view."""
    return () if tensor._view is None else tensor._view.steps


def in_graph(tensor: Tensor) -> bool:
    """Whether a graph leads to or through a tensor."""
    return tensor._accumulator is not None or tensor._grad_fn is not None


def tensor_at(storage: Storage, view: View, inference: bool) -> Tensor:
    """A tensor at a place in a storage."""
    tensor: Tensor = new(Tensor)  # without the constructor for users
    tensor._storage, tensor._view = storage, view
    if inference:
        tensor._inference = True
    return tensor


def as_inference(tensor: Tensor) -> Tensor:
    """The tensor itself, now an inference tensor: what shares the memory of one is one too."""
    tensor._inference = True
    return tensor


def set_grad(tensor: Tensor, grad: Tensor | None) -> None:
    """Sets the accumulated gradient without the checks of ``Tensor.grad``."""
    tensor._grad = grad


def drop_grads(tensors: Iterable[Tensor]) -> None:
    """Sets the accumulated gradients to None."""
    tensor: Fields
    for tensor in tensors:
        tensor._grad = None


def awaits_first_gradient(leaf: Fields) -> bool:
    """Whether a leaf requires a gradient and has none yet, and nothing is called after it gets one."""
    return leaf._requires_grad and leaf._grad is None and leaf._post_accumulate_hooks is None


def set_requires_grad(tensor: Tensor, flag: bool) -> None:
    """Sets the flag of a new tensor without the checks of ``requires_grad_``."""
    tensor._requires_grad = flag


def is_marked(tensor: Tensor) -> bool:
    """Whether a tensor of a subclass is one that a Module takes as a parameter."""
    return tensor._is_param


def mark_as_parameter(tensor: Tensor) -> None:
    """Makes a tensor of a subclass one that a Module takes as a parameter."""
    tensor._is_param = True


def leaf_alias(
    tensor: Tensor, cls: type[Tensor], requires_grad: bool, attributes: Mapping[str, object] | None = None
) -> Any:
    """A leaf of a class over the same memory, with the attributes that a program had set on another object."""
    leaf = alias(tensor, cls)
    leaf._requires_grad = requires_grad
    if attributes:
        leaf.__dict__.update(attributes)
    return leaf


def move_to_storage(tensor: Tensor, storage: Storage, view: View | None = None) -> None:
    """Makes a tensor all of another storage, or a view of it. Its history stays as it is."""
    tensor._storage, tensor._view = storage, view


def rebase(tensor: Tensor, base: Tensor | None, origin: int | None = None, version: int | None = None) -> None:
    """Makes a view follow the history of another base (None: of none).

    Args:
        origin: how the view was made (default: as before).
        version: the version of the storage at which the view got its history (default: as before).
    """
    view = tensor._view
    assert view is not None
    tensor._view = rebased = view.rebased(base, origin)
    if version is not None:
        rebased.version = version


def count_write(tensor: Tensor, number: int = 1) -> None:
    """Counts writes to a tensor: whatever saved it for ``backward`` finds that it has changed."""
    tensor._storage.version += number


def write_value(tensor: Tensor, value: Value) -> None:
    """Replaces the contents of a tensor that is no view."""
    assert tensor._view is None
    tensor._storage.write(value)


def backward_hooks_of(tensor: Tensor) -> dict[int, Callable[..., object]]:
    """The hooks on a tensor's gradient, by handle, without a look at whether a view has lost its history."""
    node = tensor._grad_fn or tensor._accumulator
    return {} if node is None else (node.tensor_hooks or {}).get(tensor._output_nr, {})


def values_of(tensors: Iterable[Any]) -> list[Value]:
    """The tensors' current values. For a tensor that shares its memory with no other, this skips the call of ``Tensor._value``."""
    tensor: Fields
    storage: Contents
    values = []
    for tensor in tensors:
        storage = tensor._storage
        whole = tensor._view is None and type(storage) is Storage and storage.host is None
        values.append(storage.value if whole else cast("Tensor", tensor)._value())
    return values


def replace_contents(
    tensors: Sequence[Tensor], values: Sequence[Value], entries: Sequence[Any] = ()
) -> list[tuple[Tensor, Value]]:
    """Replaces the contents of many tensors at once: of all of them, or of none. ``entries``: dicts, and what is put into them as well.

    Python may handle a signal after any call of a Python function, and the exception must not leave half of a step behind. So all
    values are assigned in one call that runs no Python code. The versions are increased before it: whoever finds a version that is
    ahead of its value reads the value again, but a version that is behind would hide a change.

    Returns:
        the tensors that cannot be written in this way, with their values: views, and those that share memory with NumPy or have a
        storage of another kind.
    """
    tensor: Fields
    storage: Contents
    storages: list[Contents] = []
    contents, others = [], []
    for tensor, value in zip(tensors, values, strict=True):
        storage = tensor._storage
        if tensor._view is None and type(storage) is Storage and storage.host is None:
            storage.version += 1
            storage.content_version += 1
            storages.append(storage)
            contents.append(value)
        else:
            others.append((tensor, value))
    deque(chain(map(setattr, storages, repeat("value"), contents), starmap(dict.update, entries)), maxlen=0)
    return others


@contextlib.contextmanager
def standing_in(tensors: list[Tensor], others: list[Tensor]) -> Iterator[None]:
    """Within the context, these tensors have the values of the others, and require no gradient."""
    states = [(t._storage, t._view, t._requires_grad, t._grad_fn) for t in tensors]
    for tensor, stand_in in zip(tensors, others, strict=True):
        tensor._storage, tensor._view, tensor._requires_grad, tensor._grad_fn = stand_in._storage, None, False, None
    try:
        yield
    finally:
        for tensor, (storage, view, requires_grad, node) in zip(tensors, states, strict=True):
            tensor._storage, tensor._view, tensor._requires_grad, tensor._grad_fn = storage, view, requires_grad, node
