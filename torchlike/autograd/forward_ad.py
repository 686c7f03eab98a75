"""Forward-mode derivatives: tensors that carry a tangent. Tangents are computed from the pullbacks of the graph."""

from __future__ import annotations

import math
import weakref
from types import TracebackType
from typing import Any, NamedTuple

from .. import ops
from .._core.fields import stored_value
from .._core.modes import modes
from .._core.node import AccumulateGrad
from .._core.tensor import Tensor
from ._decorating import DecoratorContextManager
from .engine import grad
from .grad_mode import enable_grad

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

# Of the current level: the tensor where each tangent enters the graph, and the tangent. None: no level.
_seeds: list[tuple[Tensor, Tensor]] | None = None
# By the id of a tensor: a reference to it, the node that made it, and the tangent that ``unpack_dual`` returned, to return it again.
_unpacked: dict[int, tuple[Any, Any, Any]] = {}


class UnpackedDualTensor(NamedTuple):
    """The result of ``unpack_dual``; the tangent is None if the tensor depends on no dual tensor."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Begins a level, within which dual tensors can be made. Returns its number, which is always 0, since levels do not nest.

    Raises:
        RuntimeError: there is one already.
    """
    global _seeds
    if _seeds is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _seeds = []
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Ends the level: its tangents are forgotten.

    Raises:
        RuntimeError: there is no such level.
    """
    global _seeds
    if _seeds is None or level not in (None, 0):
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    _seeds = None
    _unpacked.clear()


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
        exit_dual_level(level=0)


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """The tensor with a tangent. Results computed from it have tangents too, which ``unpack_dual`` returns.

    Unlike in PyTorch, it is a copy that requires a gradient, since tangents are computed from the graph of the backward pass. Results
    computed under ``no_grad`` therefore have no tangent.

    Args:
        tangent: of the tensor's shape.

    Raises:
        RuntimeError: there is no level, the shapes differ, or the tensor carries a tangent already.
        ValueError: one of the two is neither floating point nor complex.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.autograd.forward_ad.make_dual.html
    """
    if _seeds is None:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for name, value in (("primal", tensor), ("tangent", tangent)):
        if not (value.is_floating_point() or value.is_complex()):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {value.dtype}")
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. "
            f"Tensor is of size {list(tensor.shape)} while the given forward gradient is of size {list(tangent.shape)}."
        )
    if not modes.grad_enabled:
        raise NotImplementedError("torchlike does not support make_dual() under no_grad() yet")
    if _tangent(tensor) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not supported."
        )
    seed = tensor.clone() if tensor.requires_grad else tensor.detach().requires_grad_()
    if not _lie_alike(tensor, tangent):
        tangent = ops.empty_strided(tuple(tensor.shape), tensor.stride(), dtype=tangent.dtype).copy_(tangent)
    _seeds.append((seed, tangent))
    dual = seed.clone()
    _remember(dual, tangent)
    return dual


def _lie_alike(tensor: Tensor, tangent: Tensor) -> bool:
    """Whether a tangent has the layout of its primal. PyTorch keeps such a tangent itself, and a copy of any other."""
    geometry, tangent_geometry = tensor._geometry, tangent._geometry
    strides = [
        [s for s, n in zip(layout.strides, layout.shape, strict=True) if n != 1]
        for layout in (geometry, tangent_geometry)
    ]
    if strides[0] != strides[1] or geometry.offset != tangent_geometry.offset:
        return False
    sizes = [math.prod(stored_value(memory).aval.shape) for memory in (tensor, tangent)]
    return sizes[0] == sizes[1]


def _remember(tensor: Tensor, tangent: object) -> None:
    _unpacked[id(tensor)] = weakref.ref(tensor), tensor.grad_fn, tangent


def _tangent_seen_before(tensor: Tensor) -> Tensor | None:
    """The tangent that was returned for this tensor before; None if there is none, or the tensor was written to since."""
    entry = _unpacked.get(id(tensor))
    return entry[2] if entry is not None and entry[0]() is tensor and entry[1] is tensor.grad_fn else None


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """A tensor without its tangent, and the tangent. Where there is no level, no tensor has one.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.autograd.forward_ad.unpack_dual.html
    """
    if _seeds is None:
        return UnpackedDualTensor(tensor, None)
    tangent, others = _tangent_seen_before(tensor), _reaches_others(tensor)
    if tangent is None:
        tangent = _tangent(tensor)
        if tangent is None:
            return UnpackedDualTensor(tensor, None)
        if not others and tangent.grad_fn is not None:
            tangent = tangent.detach()
        _remember(tensor, tangent)
    return UnpackedDualTensor(tensor.view_as(tensor) if others else tensor.detach(), tangent)


def _tangent(tensor: Tensor) -> Tensor | None:
    """The tangent of a tensor: its derivative along the tangents of the dual tensors. None if it depends on none of them."""
    if not (_seeds and tensor.requires_grad):
        return None
    with enable_grad():
        # The backward pass is linear in its cotangent, so the derivative with respect to the cotangent is the forward mode.
        along = ops.zeros_like(tensor).requires_grad_()
        back = grad(
            tensor, [seed for seed, _ in _seeds], along, retain_graph=True, create_graph=True, allow_unused=True
        )
        reached = [(g, tangent) for g, (_, tangent) in zip(back, _seeds, strict=True) if g is not None]
        live = [(g, tangent.to(g.dtype)) for g, tangent in reached if g.requires_grad]
        if not live:
            return ops.zeros_like(tensor) if reached else None
        roots, tangents = zip(*live, strict=True)
        (result,) = grad(roots, along, tangents, create_graph=True, materialize_grads=True)
    return result


def _reaches_others(tensor: Tensor) -> bool:
    """Whether the graph of a tensor reaches leaves that have no tangent."""
    seeds = _seeds or ()
    seed_ids = {id(seed) for seed, _ in seeds}
    nodes, visited = [tensor.grad_fn, *(tangent.grad_fn for _, tangent in seeds)], set()
    while nodes:
        node = nodes.pop()
        if node is None or id(node) in visited:
            continue
        visited.add(id(node))
        if isinstance(node, AccumulateGrad) and id(node.variable) not in seed_ids:
            return True
        nodes += [following for following, _ in node.next_functions]
    return False
