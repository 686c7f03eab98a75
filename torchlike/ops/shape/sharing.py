"""Memory that processes share, and pinned memory."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..._core import devices, file_memory
from ..._core.annotations import DeviceLike
from ..._core.fields import is_whole_storage, leaf_alias, root_of, storage_of
from ..._core.subclasses import as_class
from ..._core.tensor import Tensor, from_storage
from ..._core.torch_function import DisableTorchFunction
from ...dispatch.register import Form, composite
from ...engine.aval import Placement
from .storages import UntypedStorage
from .strided_views import as_strided

__all__: list[str] = []


@composite(forms=Form.METHOD)
def is_shared(self: Tensor) -> bool:
    """Whether other processes can see the tensor's memory: after ``share_memory_`` on the CPU, always on a GPU."""
    return UntypedStorage(storage_of(self)).is_shared()


@composite(forms=Form.METHOD)
def share_memory_(self: Tensor) -> Tensor:
    """Moves the tensor's memory to where other processes see it, and see what is written to it. Does nothing on a GPU.

    Sent to a process of ``torch.multiprocessing``, the tensor has the same memory there. Others arrive as copies.

    >>> x = torch.zeros(2).share_memory_()
    >>> x.is_shared(), x[1:].is_shared()
    (True, True)

    Raises:
        NotImplementedError: the system is one whose processes cannot hand open files to each other.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.share_memory_.html
    """
    if not self.is_cuda:
        _make_sendable()
        file_memory.share(storage_of(self))
    return self


def _make_sendable() -> None:
    """Tells the standard library how tensors, parameters and buffers travel."""
    from multiprocessing import reduction  # few programs come here

    if not hasattr(reduction, "DupFd"):
        raise NotImplementedError(f"torchlike does not support Tensor.share_memory_ on {sys.platform}")
    kinds: list[type[Tensor]] = [Tensor]
    for kind in kinds:
        if kind.__reduce_ex__ is Tensor.__reduce_ex__:  # those that have a way of their own keep it
            reduction.ForkingPickler.register(kind, _reduce)
        kinds.extend(kind.__subclasses__())


def _reduce(tensor: Tensor) -> Any:
    root = root_of(tensor)
    if not file_memory.is_shared(root):
        return tensor.__reduce_ex__(2)
    if tensor.grad_fn is not None:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing process "
            "boundaries.  If you just want to transfer the data, call detach() on the tensor before serializing (e.g., putting it on "
            "the queue)."
        )
    from multiprocessing.reduction import DupFd

    memory, at = file_memory.share(root), None
    if not is_whole_storage(tensor):
        at = tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.storage_offset()
    lying = memory.array.shape, memory.array.dtype, root.value.aval.placement
    return _attach_file, (
        type(tensor), DupFd(memory.file), lying, at, tensor.requires_grad, dict(tensor.__dict__),
    )  # fmt: skip


def _attach_file(
    cls: type[Tensor],
    file: Any,
    lying: tuple[tuple[int, ...], np.dtype, Placement],
    at: Any,
    requires_grad: bool,
    attributes: Mapping[str, object],
) -> Tensor:
    tensor = from_storage(file_memory.attach(file.detach(), *lying))
    if at is not None:
        dtype, *place = at
        tensor = as_strided(tensor.view(-1).view(dtype), *place)
    return leaf_alias(tensor, cls, requires_grad, attributes)


@composite(forms=Form.METHOD)
def as_subclass(self: Tensor, cls: object) -> Tensor:
    """The same memory, with its history, as an object of a subclass of Tensor.

    Raises:
        TypeError: it is no such class.

    >>> class Labels(torch.Tensor):
    ...     pass
    >>> torch.ones(2).as_subclass(Labels) + 1
    Labels([2., 2.])
    """
    return viewed_as(cls, self)


def viewed_as(cls: object, tensor: Tensor) -> Tensor:
    """As ``as_subclass``, without a check of whether ``cls`` is one; neither subclasses nor modes are asked."""
    with DisableTorchFunction():
        return as_class(cls, tensor[...])  # pyright: ignore[reportIndexIssue]  # an alias to autograd


@composite(forms=Form.METHOD)
def is_pinned(self: Tensor, device: DeviceLike | None = None) -> bool:
    """Whether the memory is pinned for copies to an accelerator: never, for JAX does that with memory of its own."""
    _without_device("is_pinned", device)
    return False


@composite(forms=Form.METHOD)
def pin_memory(self: Tensor, device: DeviceLike | None = None) -> Tensor:
    """The tensor itself: JAX copies to accelerators through pinned memory of its own.

    Raises:
        RuntimeError: there is no accelerator, or the tensor is not on the CPU.
    """
    _without_device("pin_memory", device)
    if devices.accelerator() is None:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    if not self.is_cpu:
        raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")  # pyright: ignore[reportAttributeAccessIssue]
    return self


def _without_device(name: str, device: DeviceLike | None) -> None:
    if device is not None:
        warnings.warn(
            f"The argument 'device' of Tensor.{name}() is deprecated. Please do not pass this argument.",
            DeprecationWarning,
            stacklevel=4,
        )
