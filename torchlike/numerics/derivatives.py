"""Functions with derivatives of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import jax
from jax import Array

from ..engine.interpreter import runs_undifferentiated, tie

__all__ = ["custom_jvp"]

if TYPE_CHECKING:
    custom_jvp = jax.custom_jvp
else:

    class custom_jvp(jax.custom_jvp):
        """``jax.custom_jvp`` for functions of arrays alone.

        Where nothing is differentiated, the function is called as it stands: JAX takes 80 us to prepare for a derivative.
        """

        fun: Callable[..., Array]

        def __call__(self, *args: Array) -> Array:
            if not runs_undifferentiated():
                return super().__call__(*args)
            out = self.fun(*args)
            tie(jax.tree.leaves(out), args)
            return out
