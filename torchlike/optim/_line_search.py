"""A line search for steps that fulfil the strong Wolfe conditions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from .._core.tensor import Tensor

__all__ = ["Point", "strong_wolfe"]

# The two conditions: the loss falls by at least this share of what the first slope predicts, and the slope's magnitude is at most
# this share of the first one's.
SUFFICIENT, FLAT = 1e-4, 0.9


class Point(NamedTuple):
    """One point on the line. Its numbers are NumPy scalars of the parameters' dtype, so that they round as PyTorch's tensors do."""

    t: Any  # the position on the line
    loss: float
    slope: float  # the derivative of the loss along the line
    grad: Tensor  # the gradient, for the caller


def strong_wolfe(
    probe: Callable[[Any], Point], start: Point, t: Tensor, length: object, smallest: float, most: int = 25
) -> tuple[Point, int]:
    """A point where the loss has fallen enough and the slope has become flat enough.

    First it takes growing steps, until it reaches such a point or has gone past one. Then it narrows the interval, by the minima of
    cubics.

    Args:
        probe: computes the point at a position.
        start: the point at position 0, where the slope is negative.
        t: the first step.
        length: the largest element of the direction.
        smallest: the search ends when the interval is shorter than this.
        most: the number of probes after which the search ends, approximately.

    Returns:
        The point, and the number of probes.

    Source: Nocedal and Wright, Numerical Optimization, 2nd edition, algorithms 3.5 and 3.6.
    """

    def is_too_high(point: Point) -> bool:
        return point.loss > start.loss + SUFFICIENT * point.t * start.slope

    def is_flat(point: Point) -> bool:
        return abs(point.slope) <= -FLAT * start.slope

    before, current, rounds = start, probe(t), 0
    while rounds < most:
        if is_too_high(current) or (rounds > 1 and current.loss >= before.loss):
            break
        if is_flat(current):
            return current, rounds + 1
        if current.slope >= 0:
            break
        bounds = current.t + 0.01 * (current.t - before.t), current.t * 10
        before, current = current, probe(_lowest(before, current, bounds))
        rounds += 1
    else:
        before = start
    ends = [before, current]
    low = 0 if before.loss <= current.loss else 1  # the number of the end with the lower loss
    stuck = False
    probes = rounds + 1
    while rounds < most and abs(ends[1].t - ends[0].t) * length >= smallest:
        first, last = sorted((ends[0].t, ends[1].t))
        t = _lowest(ends[0], ends[1], (first, last))
        margin = 0.1 * (last - first)
        if min(last - t, t - first) >= margin:
            stuck = False
        elif stuck or t >= last or t <= first:  # for the second time too near to an end of the interval, or at it
            t = last - margin if abs(t - last) < abs(t - first) else first + margin
            stuck = False
        else:
            stuck = True
        point = probe(t)
        rounds += 1
        probes += 1
        if is_too_high(point) or point.loss >= ends[low].loss:
            ends[1 - low] = point
            low = 0 if ends[0].loss <= ends[1].loss else 1
            continue
        if is_flat(point):
            return point, probes
        if point.slope * (ends[1 - low].t - ends[low].t) >= 0:
            ends[1 - low] = ends[low]
        ends[low] = point
    return ends[low], probes


def _lowest(first: Point, second: Point, bounds: tuple[float, float]) -> Any:
    """The position of the minimum of the cubic through two points, within bounds; the middle of the bounds if there is none."""
    least, most = bounds
    tilt = first.slope + second.slope - 3 * (first.loss - second.loss) / (first.t - second.t)
    inside = tilt * tilt - first.slope * second.slope
    if not inside >= 0:
        return (least + most) / 2.0
    root = math.sqrt(inside)
    a, b = (first, second) if first.t <= second.t else (second, first)
    t = b.t - (b.t - a.t) * ((b.slope + root - tilt) / (b.slope - a.slope + 2 * root))
    return min(max(t, least), most)
