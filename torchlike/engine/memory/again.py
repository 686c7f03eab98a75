"""What a program for a TPU computes a second time for the backward pass, so that it need not be kept until then.

Of GELU between two products, the backward pass reads what enters, for the derivative, and what leaves, for the gradient of the second
product's weight. XLA computes cheap operations again in the product that reads them, but none with an error function or an exponential:
of these it may keep both. On a TPU such an operation takes little time beside the product, and becomes a part of it. On a GPU products
read their factors from memory, so that the result would be written once more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from jax import lax

from ..kernel import Kernel
from ..trace import Path, Step

PLATFORMS = ("tpu",)


class Again:
    """The results that a program computes anew, from what is kept in any case, for each pullback that reads them."""

    def __init__(self, path: Path, numbers: Sequence[int], live: Collection[int]) -> None:
        """``numbers``: of the steps that run. ``live``: the positions of the program's results, which are kept whatever reads them."""
        steps = [path.steps[number] for number in numbers]
        kept = {*path.leaves, *live}.union(*[step.inputs[: step.kernel.saved] for step in steps])
        self._steps = {
            step.outputs[0]: step
            for step in steps
            if step.kernel.repeatable and kept.issuperset(step.inputs) and step.outputs[0] not in live
        }

    def inputs(
        self, step: Step, table: Sequence[Any], functions: Mapping[Kernel, Callable[..., Sequence[Any]]]
    ) -> list[Any]:
        """The arrays that a step reads."""
        arrays = [table[position] for position in step.inputs]

        def anew(position: int) -> Any:
            made = self._steps.get(position)
            if made is None:
                # Behind the barrier XLA does not find that this was computed before, nor can it begin before the gradient is there.
                return lax.optimization_barrier((table[position], arrays[-1]))[0]
            return functions[made.kernel](*map(anew, made.inputs))[0]

        for place, position in enumerate(step.inputs[: step.kernel.saved]):
            if position in self._steps:
                arrays[place] = anew(position)
        return arrays
