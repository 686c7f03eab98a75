"""Module.to and its relatives: they move a module's tensors to a device, or cast them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Self

from ..._core import devices, dtypes
from ..._core.annotations import DeviceLike
from ..._core.fields import grad_of
from ..._core.layouts import memory_format
from ..._core.meta import on_meta
from ..._core.tensor import Tensor
from ...autograd.grad_mode import no_grad
from ...dispatch.type_names import type_name
from ..parameter import Parameter

if TYPE_CHECKING:
    from ..._core.annotations import Dtype
    from ..._core.devices import device


class Movable:
    """The part of Module that moves its tensors to another device or dtype."""

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]

    if TYPE_CHECKING:

        def children(self) -> Iterator[Any]: ...

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replaces the value of each parameter, gradient and buffer by ``fn`` of it. Parameters stay the same objects."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, parameter in list(self._parameters.items()):
            if parameter is None:
                continue
            with no_grad():
                new, grad = fn(parameter), grad_of(parameter)
                new_grad: Any = None if grad is None else fn(grad)
            if on_meta(new) is on_meta(parameter):
                # The parameter stays the same object: optimizers, ties and the user's variables refer to it.
                parameter.data = new
                if grad is not None:
                    grad.data = new_grad
            else:  # ``data`` cannot move between the meta device and others, so the parameter is replaced
                self._parameters[name] = moved = Parameter(new, parameter.requires_grad)
                moved.grad = new_grad
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: object, **kwargs: object) -> Self:
        """Moves parameters and buffers to a device, floating point ones to a dtype, or both; in place.

        Call it as ``to(device)``, ``to(dtype)``, ``to(device, dtype)`` or ``to(tensor)``. ``memory_format`` is of those with 4 or 5
        dimensions.

        >>> torch.nn.Linear(1, 1).to(torch.float64).weight.dtype
        torch.float64
        """
        device, dtype = _where_to(args, kwargs)
        if dtype is not None and dtype.category < dtypes.FLOAT:
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )
        place = {} if device is None else {"device": device}
        layout = kwargs.get("memory_format")

        def moved(tensor: Tensor) -> Tensor:
            if place and on_meta(tensor) and device != tensor.device:
                raise NotImplementedError(
                    "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() "
                    "when moving module from meta to a different device."
                )
            how: dict[str, Any] = dict(place)
            if dtype is not None and tensor.dtype.category >= dtypes.FLOAT:
                how["dtype"] = dtype
            if layout is not None and tensor.dim() in (4, 5):
                how["memory_format"] = layout
            return tensor.to(**how) if how else tensor

        return self._apply(moved)

    def cpu(self) -> Self:
        """Moves parameters and buffers to the CPU."""
        return self.to("cpu")

    def cuda(self, device: DeviceLike | None = None) -> Self:
        """Moves parameters and buffers to a GPU, the first if no number is given."""
        return self.to("cuda" if device is None else devices.as_device(device))

    def xpu(self, device: DeviceLike | None = None) -> Self:
        """Raises an error: torchlike has no device of type "xpu"."""
        return self.to(devices.as_device("xpu"))

    def ipu(self, device: DeviceLike | None = None) -> Self:
        """Raises an error: torchlike has no device of type "ipu"."""
        return self.to(devices.as_device("ipu"))

    def mtia(self, device: DeviceLike | None = None) -> Self:
        """Raises an error: torchlike has no device of type "mtia"."""
        return self.to(devices.as_device("mtia"))

    def type(self, dst_type: object) -> Self:
        """Casts all parameters and buffers to a dtype."""
        dtype = _named_type(dst_type) if isinstance(dst_type, str) else dst_type
        return self._apply(lambda t: t.to(dtype=dtype))

    def float(self) -> Self:
        """Casts floating point parameters and buffers to float32."""
        return _cast(self, dtypes.float32)

    def double(self) -> Self:
        """Casts floating point parameters and buffers to float64."""
        return _cast(self, dtypes.float64)

    def half(self) -> Self:
        """Casts floating point parameters and buffers to float16."""
        return _cast(self, dtypes.float16)

    def bfloat16(self) -> Self:
        """Casts floating point parameters and buffers to bfloat16."""
        return _cast(self, dtypes.bfloat16)

    def to_empty(self, *, device: DeviceLike, recurse: bool = True) -> Self:
        """Moves parameters and buffers to a device without their values."""
        where = devices.as_device(device)
        return self._apply(lambda t: t.new_empty(t.shape, device=where), recurse)

    def share_memory(self) -> Self:
        """Moves all parameters and buffers to memory that processes share; see ``Tensor.share_memory_``."""
        return self._apply(lambda t: t.share_memory_())


def _cast(module: Movable, dtype: dtypes.dtype) -> Any:
    return module._apply(lambda t: t.to(dtype=dtype) if t.is_floating_point() else t)


def _where_to(args: tuple[object, ...], kwargs: dict[str, Any]) -> tuple[device | None, Dtype | None]:
    """Returns the device and the dtype in the arguments of ``Module.to``."""
    first, second = (*args, None, None)[:2]
    first = kwargs.get("tensor", first)
    device, dtype, flags = kwargs.get("device"), kwargs.get("dtype"), list(args[1:])
    if isinstance(first, Tensor):
        device, dtype = first.device, first.dtype
    elif isinstance(first, dtypes.dtype):
        dtype = first
    else:
        device = device if first is None else first
        dtype = second if isinstance(second, dtypes.dtype) else dtype
        flags = list(args[2:])
        if second is not None and not isinstance(second, (dtypes.dtype, bool)):
            flags.append(second)
    is_valid = device is None or isinstance(device, (devices.device, str, int))
    is_valid = (
        is_valid and (dtype is None or isinstance(dtype, dtypes.dtype)) and all(isinstance(f, bool) for f in flags)
    )
    is_valid = is_valid and isinstance(kwargs.get("memory_format"), (memory_format, type(None)))
    if not is_valid or set(kwargs) - {"device", "dtype", "tensor", "non_blocking", "copy", "memory_format"}:
        argument_types = ", ".join([type_name(a) for a in args] + [f"{k}={type_name(v)}" for k, v in kwargs.items()])
        raise TypeError(
            f"to() received an invalid combination of arguments - got ({argument_types}), but expected one of:\n"
            " * (torch.device device = None, torch.dtype dtype = None, bool non_blocking = False, bool copy = False, *, "
            "torch.memory_format memory_format = None)\n"
            " * (torch.dtype dtype, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)\n"
            " * (Tensor tensor, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)\n"
        )
    return (None if device is None else devices.as_device(device)), dtype


def _named_type(name: str) -> dtypes.dtype:
    for dtype in dtypes.ALL:
        if name in (f"torch.{dtype.scalar_name}Tensor", f"torch.cuda.{dtype.scalar_name}Tensor"):
            return dtype
    raise ValueError(f"invalid type: '{name}'")
