"""Functions that make tensors on a mesh. The elements equal those of the tensors that PyTorch's functions of the same names make."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ... import ops
from ..._core.annotations import Dtype
from ..._core.tensor import Tensor
from ..device_mesh import DeviceMesh
from ._dtensor import distribute_tensor
from .placement_types import Placement

__all__ = ["empty", "full", "ones", "rand", "randn", "zeros"]


def _spread(
    make: Callable[..., Tensor],
    args: Sequence[object],
    requires_grad: bool,
    device_mesh: DeviceMesh | None,
    placements: Sequence[Placement] | None,
    **options: object,
) -> Tensor:
    mesh = device_mesh or DeviceMesh.current()
    return distribute_tensor(make(*args, requires_grad=requires_grad, **options), mesh, placements)


def _sized(name: str, what: str) -> Callable[..., Tensor]:
    make: Callable[..., Tensor] = getattr(ops, name)

    def function(
        *size: object,
        requires_grad: bool = False,
        dtype: Dtype | None = None,
        layout: object = None,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
    ) -> Tensor:
        return _spread(make, size, requires_grad, device_mesh, placements, dtype=dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""A tensor {what}, spread over a mesh.

    Args:
        size: the shape, as integers or one sequence.
        device_mesh: by default the active one.
        placements: how it lies; by default each device has all of it.

    Source: https://docs.pytorch.org/docs/stable/distributed.tensor.html#torch.distributed.tensor.{name}
    """
    return function


empty = _sized("empty", "whose elements are not set")
ones = _sized("ones", "of ones")
rand = _sized("rand", "of numbers from 0 to 1, drawn by the generator that plain tensors use")
randn = _sized("randn", "of normally distributed numbers, drawn by the generator that plain tensors use")
zeros = _sized("zeros", "of zeros")


def full(
    size: object,
    fill_value: object,
    *,
    requires_grad: bool = False,
    dtype: Dtype | None = None,
    layout: object = None,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
) -> Tensor:
    """A tensor of one number, spread over a mesh.

    Source: https://docs.pytorch.org/docs/stable/distributed.tensor.html#torch.distributed.tensor.full
    """
    return _spread(ops.full, (size, fill_value), requires_grad, device_mesh, placements, dtype=dtype)
