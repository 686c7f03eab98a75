"""What the compiler must take for something new, although it is the same."""

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
    """The input, from which the same steps lead to results of their own: XLA does not replace them by those it has already."""
    return lax.optimization_barrier(input)
