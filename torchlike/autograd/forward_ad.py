"""Forward-mode derivatives: tensors that carry a tangent, within a level."""

from __future__ import annotations

import math
from types import TracebackType
from typing import Any, NamedTuple

from .. import ops
from .._core.fields import stored_value
from .._core.modes import computes_tangents, modes, set_forward_grad
from .._core.tensor import Tensor, alias
from ..dispatch.type_names import type_name
from ..ops.shape.complex_numbers import is_conj, is_neg, neg_view
from ._decorating import DecoratorContextManager
from .crossings import Crossing
from .dual import DualLevel
from .grad_mode import without_tangents

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

_current_level = -1


class UnpackedDualTensor(NamedTuple):
    """The result of ``unpack_dual``; the tangent is None if the tensor depends on no dual tensor."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Begins a level, within which dual tensors can be made. Returns its number, which is always 0, since levels do not nest.

    Raises:
        RuntimeError: there is one already.
    """
    global _current_level
    if modes.duals is not None or modes.forward_levels:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    modes.set_duals(DualLevel())
    _current_level = 0
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Ends the level: its tangents are forgotten.

    Raises:
        RuntimeError: there is no such level.
    """
    global _current_level
    if level is not None and level != _current_level:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    if _current_level < 0:
        raise RuntimeError("Dual level must be a positive number.")
    modes.set_duals(None)
    _current_level = -1


class dual_level(DecoratorContextManager):
    """A level as a context.

    >>> with torch.autograd.forward_ad.dual_level():
    ...     x = torch.autograd.forward_ad.make_dual(torch.tensor(3.0), torch.tensor(1.0))
    ...     torch.autograd.forward_ad.unpack_dual(x * x)
    UnpackedDualTensor(primal=tensor(9.), tangent=tensor(6.))

    Source: https://docs.pytorch.org/docs/stable/generated/torch.autograd.forward_ad.dual_level.html
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """The tensor with a tangent. Results computed from it have tangents too, which ``unpack_dual`` returns.

    It shares the memory of the tensor: what is written into one is seen in both. The tangent is kept as it is where it lies in memory as
    the tensor does, and copied otherwise.

    Args:
        tangent: of the tensor's shape.

    Raises:
        RuntimeError: there is no level, the shapes differ, or one of the two carries a tangent already.
        ValueError: one of the two is neither floating point nor complex.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.autograd.forward_ad.make_dual.html
    """
    if (_current_level if level is None else level) < 0:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for name, value in (("primal", tensor), ("tangent", tangent)):
        if not (value.is_floating_point() or value.is_complex()):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {value.dtype}")
    if level not in (None, 0):
        raise RuntimeError("Invalid level given to _make_dual")
    if modes.inference:
        return alias(tensor, type(tensor)) if not tensor.is_inference() else tensor.detach()  # pyright: ignore[reportAttributeAccessIssue]
    active = modes.level
    if active is None:
        return tensor.view_as(tensor)  # pyright: ignore[reportAttributeAccessIssue]
    if active.tangent(tensor) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not supported."
        )
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. "
            f"Tensor is of size {list(tensor.shape)} while the given forward gradient is of size {list(tangent.shape)}."
        )
    if active.tangent(tangent) is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level0 is not supported."
        )
    with without_tangents():
        if not _lie_alike(tensor, tangent):
            tangent = _laid_as(tensor, tangent)
        dual = tensor.view_as(tensor)  # pyright: ignore[reportAttributeAccessIssue]
    active.put(dual, tangent)
    return dual


def _lie_alike(tensor: Tensor, tangent: Tensor) -> bool:
    """Whether a tangent has the layout of its primal. PyTorch keeps such a tangent itself, and a copy of any other."""
    if not tensor.numel():
        return True
    if is_conj(tensor) is not is_conj(tangent) or is_neg(tensor) is not is_neg(tangent):
        return False
    geometry, tangent_geometry = tensor._geometry, tangent._geometry
    strides = [
        [s for s, n in zip(layout.strides, layout.shape, strict=True) if n != 1]
        for layout in (geometry, tangent_geometry)
    ]
    if strides[0] != strides[1] or geometry.offset != tangent_geometry.offset:
        return False
    return _places(tensor) == _places(tangent)


def _places(tensor: Tensor) -> int:
    """How many elements of the tensor's dtype the memory has."""
    stored = stored_value(tensor).aval
    return math.prod(stored.shape) * stored.dtype.itemsize // tensor.element_size()


def _laid_as(tensor: Tensor, tangent: Tensor) -> Tensor:
    """A copy of a tangent that lies in memory as its primal does."""
    memory = ops.zeros(_places(tensor), dtype=tangent.dtype, device=tangent.device)
    copy: Any = ops.as_strided(memory, tuple(tensor.shape), tensor.stride(), tensor.storage_offset())
    copy = copy.conj() if is_conj(tensor) and copy.is_complex() else copy
    return (neg_view(copy) if is_neg(tensor) else copy).copy_(tangent)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """A tensor without its tangent, and the tangent. Where there is no level, no tensor has one.

    The first is a view of the tensor; the second is the tangent itself.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.autograd.forward_ad.unpack_dual.html
    """
    if (_current_level if level is None else level) < 0:
        return UnpackedDualTensor(tensor, None)
    if not isinstance(tensor, Tensor):
        raise TypeError(f"_unpack_dual(): argument 'dual' (position 1) must be Tensor, not {type_name(tensor)}")
    active = modes.level if level in (None, 0) else None
    with without_tangents():
        primal = tensor.view_as(tensor)  # pyright: ignore[reportAttributeAccessIssue]
    if primal.grad_fn is not None:
        node: Any = _IDENTITY.node_class.create(_IDENTITY, (tensor._edge(),), (), (), (primal._aval,))
        primal._set_history(node)
    if active is None:
        return UnpackedDualTensor(primal, None)
    active.drop(primal)
    return UnpackedDualTensor(primal, active.tangent(tensor))


_IDENTITY: Any = Crossing("torch::autograd::Identity", (), lambda value, _: value, lambda gradient, _: gradient)


_is_fwd_grad_enabled = computes_tangents


class _set_fwd_grad_enabled(DecoratorContextManager):
    """Switches the computation of tangents on or off, from the call on; at the end of a ``with`` block it is as before."""

    def __init__(self, mode: bool) -> None:
        self.mode, self.prev = mode, modes.forward_grad
        set_forward_grad(mode)

    def clone(self) -> _set_fwd_grad_enabled:
        return _set_fwd_grad_enabled(self.mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        modes.forward_grad = self.prev
