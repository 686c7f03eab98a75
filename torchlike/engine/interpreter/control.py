"""Rules of loops and branches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jax.extend.core import ClosedJaxpr

from .rules import Compute, Parameters, ShapedDtype, rule

if TYPE_CHECKING:
    from .plan import Plan


def _plan(closed: ClosedJaxpr) -> Plan:
    from .plan import interpret  # it needs the table of rules

    return interpret(closed)


@rule("cond")
def _cond(params: Parameters, ins: object, outs: object) -> Compute:
    branches = [_plan(branch) for branch in params["branches"]]
    last = len(branches) - 1
    return lambda which, *operands: branches[min(max(int(which), 0), last)](*operands)


@rule("while")
def _while(params: Parameters, ins: object, outs: object) -> Compute:
    condition, body = _plan(params["cond_jaxpr"]), _plan(params["body_jaxpr"])
    ours, theirs = params["cond_nconsts"], params["body_nconsts"]

    def loop(*arrays: np.ndarray) -> list[np.ndarray]:
        for_condition, for_body = arrays[:ours], arrays[ours : ours + theirs]
        state = list(arrays[ours + theirs :])
        while condition(*for_condition, *state)[0]:
            state = body(*for_body, *state)
        return state

    def loop_of_examples(*arrays: np.ndarray) -> list[np.ndarray]:
        """After ``vmap``: each example has a condition of its own, and its state stays as it is once that is false."""
        for_condition, for_body = arrays[:ours], arrays[ours : ours + theirs]
        state = list(arrays[ours + theirs :])
        while (going := condition(*for_condition, *state)[0]).any():
            following = body(*for_body, *state)
            state = [
                np.where(going.reshape(going.shape + (1,) * (new.ndim - going.ndim)), new, old)
                for new, old in zip(following, state, strict=True)
            ]
        return state

    return loop_of_examples if params["cond_jaxpr"].out_avals[0].shape else loop


@rule("scan")
def _scan(params: Parameters, ins: object, outs: Sequence[ShapedDtype]) -> Compute:
    constants, carried = _scan_counts(params)
    return scan_loop(_plan(params["jaxpr"]), params["length"], constants, outs[carried:], params["reverse"])


def _scan_counts(params: Parameters) -> tuple[int, int]:
    """How many inputs of a scan are constants, and how many are carried."""
    if "num_carry" in params:
        return params["num_consts"], params["num_carry"]
    constants, carried, _ = params["ft_in"].unpack()  # JAX 0.12 and newer: trees, with a leaf for each input
    return len(constants), len(carried)


def scan_loop(body: Plan, length: int, constants: int, rows: Sequence[ShapedDtype], reverse: bool) -> Compute:
    """Returns the function that runs the loop of a scan: it takes the constants, the carried values and the sequences.

    Args:
        body: the plan of one step, which takes the constants, the carried values, and one row of each sequence.
        rows: the avals of the results that are collected over the steps. Their first dimension is the number of steps.
    """
    steps = range(length)[::-1] if reverse else range(length)
    carried = body.outputs - len(rows)

    def loop(*arrays: np.ndarray) -> list[np.ndarray]:
        fixed, state = arrays[:constants], arrays[constants : constants + carried]
        sequences = arrays[constants + carried :]
        results = [np.empty(aval.shape, aval.dtype) for aval in rows]
        for i in steps:
            values = body(*fixed, *state, *[s[i] for s in sequences])
            state = values[:carried]
            for result, value in zip(results, values[carried:], strict=True):
                result[i] = value
        return [*state, *results]

    loop.extra_cost = body.cost * length  # type: ignore[attr-defined]
    loop.in_library = body.in_library * length  # type: ignore[attr-defined]
    loop.extra_calls = body.calls  # type: ignore[attr-defined]
    return loop


@rule("platform_index")
def _platform_index(params: Parameters, ins: object, outs: object) -> Compute:
    platforms = params["platforms"]
    number = next(n for n, names in enumerate(platforms) if names is None or "cpu" in names)
    return lambda: np.asarray(number, np.int32)


@rule("custom_linear_solve")
def _custom_linear_solve(params: Parameters, ins: object, outs: object) -> Compute:
    counts, solve = params["const_lengths"], _plan(params["jaxprs"].solve)
    first = counts.matvec + counts.vecmat
    constants = sum(counts)
    return lambda *arrays: solve(*arrays[first : first + counts.solve], *arrays[constants:])
