"""Random numbers: each process draws those of the whole tensor and keeps its part, so that they do not depend on how it is spread."""

from __future__ import annotations

from .... import ops
from ...._core.tensor import Tensor
from .._moving import own_part
from .._pieces import PieceOfDTensor, local_of, wrapped
from .._specs import of_gradient
from ._choices import Call, changes_placement, replaced

__all__ = ["FILLS"]


def _drawn(call: Call) -> Tensor:
    """What the function gives for a whole tensor."""
    piece = call.pieces[0]
    whole = ops.empty(*piece._spec.shape, dtype=local_of(piece).dtype)
    args = replaced(tuple(call.args), iter([whole]))
    return call.func(*args, **replaced(call.kwargs, iter([whole])))


def _fill(call: Call) -> PieceOfDTensor:
    (piece,) = call.pieces
    if piece._spec.partial():
        raise changes_placement(call)
    local_of(piece).copy_(own_part(_drawn(call), piece._spec))
    return piece


def _like(call: Call) -> PieceOfDTensor:
    spec = of_gradient(call.pieces[0]._spec)
    return wrapped(own_part(_drawn(call), spec), spec)


FILLS = {
    **dict.fromkeys(
        [
            "normal_",
            "uniform_",
            "bernoulli_",
            "exponential_",
            "log_normal_",
            "cauchy_",
            "geometric_",
            "random_",
            "kaiming_normal_",
            "kaiming_uniform_",
        ],
        _fill,
    ),
    **dict.fromkeys(["rand_like", "randn_like", "randint_like"], _like),
}
