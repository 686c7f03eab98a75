"""A line search for steps that fulfil the strong Wolfe conditions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from .._core.tensor import Tensor

__all__ = ["Point", "strong_wolfe"]

SUFFICIENT, FLAT = 1e-4, 0.9  # how much of the slope has to be gained, and how much may be left


class Point(NamedTuple):
    """What is known of one place on the line. Numbers are NumPy scalars of the parameters' dtype, and round as such."""

    t: Any  # where on the line
    loss: float
    slope: Any  # of the loss along the line
    grad: Any  # whatever the caller keeps with the place


def strong_wolfe(
    probe: Callable[[Any], Point], start: Point, t: Tensor, length: object, smallest: float, most: int = 25
) -> tuple[Point, int]:
    """A place where the loss has fallen enough and the slope has become flat enough.

    First steps grow until such a place, or one behind it, is found; then what lies between is narrowed down by cubics.

    Args:
        probe: goes to a place and tells about it.
        start: the place of 0, where the slope is negative.
        t: the first step.
        length: the largest element of the direction.
        smallest: below this size of an interval the search ends.
        most: so many probes it may take, about.

    Returns:
        The place, and how many were probed.

    Source: Nocedal and Wright, Numerical Optimization, 2nd edition, algorithms 3.5 and 3.6.
    """

    def too_high(point: Point) -> bool:
        return point.loss > start.loss + SUFFICIENT * point.t * start.slope

    def flat(point: Point) -> bool:
        return abs(point.slope) <= -FLAT * start.slope

    before, here, rounds = start, probe(t), 0
    while rounds < most:
        if too_high(here) or (rounds > 1 and here.loss >= before.loss):
            break
        if flat(here):
            return here, rounds + 1
        if here.slope >= 0:
            break
        bounds = here.t + 0.01 * (here.t - before.t), here.t * 10
        before, here = here, probe(_lowest(before, here, bounds))
        rounds += 1
    else:
        before = start
    ends = [before, here]
    low = 0 if before.loss <= here.loss else 1  # which of them is the better one
    stuck = False
    probes = rounds + 1
    while rounds < most and abs(ends[1].t - ends[0].t) * length >= smallest:
        left, right = sorted((ends[0].t, ends[1].t))
        t = _lowest(ends[0], ends[1], (left, right))
        margin = 0.1 * (right - left)
        if min(right - t, t - left) >= margin:
            stuck = False
        elif stuck or t >= right or t <= left:  # too near to an end, twice or upon it
            t = right - margin if abs(t - right) < abs(t - left) else left + margin
            stuck = False
        else:
            stuck = True
        point = probe(t)
        rounds += 1
        probes += 1
        if too_high(point) or point.loss >= ends[low].loss:
            ends[1 - low] = point
            low = 0 if ends[0].loss <= ends[1].loss else 1
            continue
        if flat(point):
            return point, probes
        if point.slope * (ends[1 - low].t - ends[low].t) >= 0:
            ends[1 - low] = ends[low]
        ends[low] = point
    return ends[low], probes


def _lowest(first: Point, second: Point, bounds: tuple[Any, Any]) -> Any:
    """Where the cubic through two places has its minimum, within bounds; their middle where it has none."""
    least, most = bounds
    tilt = first.slope + second.slope - 3 * (first.loss - second.loss) / (first.t - second.t)
    inside = tilt * tilt - first.slope * second.slope
    if not inside >= 0:
        return (least + most) / 2.0
    root = math.sqrt(inside)
    left, right = (first, second) if first.t <= second.t else (second, first)
    t = right.t - (right.t - left.t) * ((right.slope + root - tilt) / (right.slope - left.slope + 2 * root))
    return min(max(t, least), most)
