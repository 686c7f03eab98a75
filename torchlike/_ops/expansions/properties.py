"""Properties that are operators, and the functions that no handler sees or that it sees as a whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._core import devices
from ..._core.modes import DISPATCHED, dispatch_state
from ..._core.tensor import Tensor
from .table import op

__all__ = ["HIDDEN", "PROPERTIES", "WHOLE"]

# Functions within which no handler is asked: they answer questions about a tensor, or show it.
HIDDEN = frozenset(
    """
    size stride dim ndimension numel nelement is_floating_point is_complex is_signed is_contiguous storage_offset element_size get_device
    data_ptr requires_grad_ retain_grad register_hook register_post_accumulate_grad_hook is_set_to is_inference is_same_size result_type
    can_cast promote_types is_conj is_neg is_storage has_names untyped_storage storage __repr__ __str__ __format__ __hash__ __len__ tolist
    numpy __array__ __deepcopy__ __reduce_ex__ __setstate__ __dlpack__ __dlpack_device__ is_distributed is_coalesced is_pinned is_shared
    dim_order storage_type resolve_conj resolve_neg broadcast_shapes
    """.split()  # noqa: SIM905
)

# Functions that a mode with ``sees_whole`` sees by their own names, as PyTorch's export does.
WHOLE = frozenset(("linear", "conv1d", "conv2d", "conv3d", "flatten", "matmul", "reshape", "chunk"))

Property = Callable[..., Any]


def outer_device(original: Property, tensor: Tensor) -> devices.device:
    """The device of an object that may have no memory."""
    device = getattr(tensor, "_outer_device", None)
    return original(tensor) if device is None else device


def _from_outer_device(answer: Callable[[Any], Any]) -> Property:
    def get(original: Property, tensor: Tensor) -> Any:
        device = getattr(tensor, "_outer_device", None)
        return original(tensor) if device is None else answer(device)

    return get


def _data(original: Property, tensor: Tensor) -> Tensor:
    detached = op("detach")(tensor)
    # ``detach`` shares the version with the tensor, ``data`` does not. An object without memory has none to share, and who sees
    # whole programs must know what it is.
    seen = dispatch_state.stack and getattr(dispatch_state.stack[-1], "sees_whole", False)
    return detached if seen or type(detached) in DISPATCHED else original(detached)


# How properties are computed. Those that are not here answer by themselves.
PROPERTIES: dict[str, Property] = {
    "T": lambda original, x: op("permute")(x, list(range(x.dim()))[::-1]),
    "mT": lambda original, x: op("transpose", "int")(x, -2, -1) if x.dim() >= 2 else original(x),
    "data": _data,
    "device": outer_device,
    "is_meta": _from_outer_device(lambda device: device.type == "meta"),
    "is_cpu": _from_outer_device(lambda device: device.type == "cpu"),
    "is_cuda": _from_outer_device(lambda device: device.type == "cuda"),
}
