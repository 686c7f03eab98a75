"""Barrier that keeps XLA from merging checkpoint's recomputation with the original."""

from __future__ import annotations

from jax import Array, lax

from ...dispatch.register import Category, Form, Promote, Sample, Saves, op

__all__: list[str] = []


@op(
    name="_recomputed",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward="AliasBackward0",
    saves=Saves.NOTHING,
    samples=[Sample(shapes=((2, 3),))],
)
def recomputed(input: Array) -> Array:
    """Returns the input behind a barrier. XLA would otherwise find that the recomputed steps equal the first ones, and keep those."""
    return lax.optimization_barrier(input)
