"""Barrier that keeps XLA from merging checkpoint's recomputation with the original."""

from __future__ import annotations

from jax import Array, lax

from ...dispatch.register import Category, Form, Promote, Sample, Saves, op
from ...engine.executable import RECOMPUTED

__all__: list[str] = []


@op(
    name=RECOMPUTED,
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward="AliasBackward0",
    saves=Saves.NOTHING,
    samples=[Sample(shapes=((2, 3),)), Sample(shapes=((2, 3), (4,)))],
)
def recomputed(input: Array, gradient: Array | None = None) -> Array:
    """Returns the input behind a barrier. XLA would otherwise find that the recomputed steps equal the first ones, and keep those.

    With a gradient, nothing of what follows can begin before that is there: all recomputations at once would need as much memory as
    what they replace.
    """
    return lax.optimization_barrier(input) if gradient is None else lax.optimization_barrier((input, gradient))[0]
