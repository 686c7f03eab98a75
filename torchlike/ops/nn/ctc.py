"""Connectionist temporal classification: the loss of sequences that are not aligned with their labels."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from ..._core import dtypes
from ..._core.tensor import Tensor, from_value
from ...dispatch.register import Autocast, Category, Form, Indices, Promote, ValueCheck, composite, op
from ...engine.interpreter import scan
from ...engine.value import Value
from ..indexing.selecting import where

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}
_CHECKED = "argument #{} '{}' (while checking arguments for ctc_loss_allocate_outputs)"


def _log_sum(*terms: Array) -> Array:
    """``log(sum(exp(terms)))``, with gradients of 0 where all terms are -inf."""
    stacked = jnp.stack(terms)
    top = jax.lax.stop_gradient(jnp.max(stacked, axis=0))
    top = jnp.where(jnp.isneginf(top), jnp.zeros((), top.dtype), top)
    total = jnp.sum(jnp.exp(stacked - top), axis=0)
    none = total == 0
    safe = jnp.log(jnp.where(none, jnp.ones((), total.dtype), total)) + top
    return jnp.where(none, jnp.asarray(-np.inf, total.dtype), safe)


def _negative_log_likelihood(log_probs: Array, targets: Array, times: Array, lengths: Array, blank: int) -> Array:
    """``-log`` of the probability of all alignments, by the forward recursion over (time, batch, 2 * labels + 1)."""
    steps, batch, _ = log_probs.shape
    states = 2 * targets.shape[1] + 1
    low = jnp.asarray(-np.inf, log_probs.dtype)
    # An alignment may have a blank before, between and after all labels: blank, first label, blank, second label, ..., blank.
    labels = jnp.full((batch, states), blank, np.int64).at[:, 1::2].set(targets)
    before_last = jnp.concatenate([jnp.full((batch, 2), blank, np.int64), labels[:, :-2]], 1)[:, :states]
    # The blank between two labels may be left out, unless the labels are equal: then it separates them.
    skips = (labels != blank) & (labels != before_last)
    emitted = jnp.take_along_axis(log_probs, jnp.broadcast_to(labels, (steps, batch, states)), axis=2, mode="clip")
    number = np.arange(states)

    def forward(alpha: Array, at: tuple[Array, Array]) -> tuple[Array, None]:
        time, heard = at
        from_previous = jnp.concatenate([jnp.full((batch, 1), low), alpha[:, :-1]], 1)
        from_before_last = jnp.concatenate([jnp.full((batch, 2), low), alpha[:, :-2]], 1)[:, :states]
        new = _log_sum(alpha, from_previous, jnp.where(skips, from_before_last, low)) + heard
        # All sequences of the batch go through the same steps; one that has ended keeps what it had at its end.
        return jnp.where((time < times)[:, None], new, alpha), None

    alpha = jnp.where(number < 2, emitted[0], low)
    alpha, _ = scan(forward, alpha, (np.arange(1, steps), emitted[1:]))
    # An alignment ends with the last label or with the blank after it. No state has the number -1: an empty target has only the
    # blank.
    last, one_less = (
        jnp.where(number == end[:, None], alpha, low)
        for end in (2 * lengths, jnp.where(lengths > 0, 2 * lengths - 1, -1))
    )
    alphas = [jnp.moveaxis(a, 1, 0) for a in (last, one_less)]
    likelihood = _log_sum(*(row for a in alphas for row in a))
    nothing = jnp.where(lengths == 0, jnp.zeros((), low.dtype), low)  # of no time at all
    return -jnp.where(times > 0, likelihood, nothing)


@functools.partial(jax.custom_vjp, nondiff_argnums=(4, 5))
def _loss(log_probs: Array, targets: Array, times: Array, lengths: Array, blank: int, zero_infinity: bool) -> Array:
    return _negative_log_likelihood(log_probs, targets, times, lengths, blank)


def _loss_fwd(
    log_probs: Array, targets: Array, times: Array, lengths: Array, blank: int, zero_infinity: bool
) -> tuple[Array, object]:
    loss, pull = jax.vjp(lambda lp: _negative_log_likelihood(lp, targets, times, lengths, blank), log_probs)
    return loss, (pull, loss, log_probs, times)


def _loss_bwd(blank: int, zero_infinity: bool, saved: Any, cotangent: Array) -> tuple[Array, None, None, None]:
    """PyTorch's gradient takes for granted that the input is a log_softmax: it is that of the scores before it."""
    pull, loss, log_probs, times = saved
    (slopes,) = pull(jnp.ones_like(loss))
    impossible = jnp.isposinf(loss)[:, None]
    # The derivative of ``log_softmax`` adds the probabilities times the sum of the slopes, which is -1 for each step.
    slopes = (jnp.exp(log_probs) + slopes) * cotangent[:, None]
    slopes = jnp.where(impossible, jnp.asarray(0.0 if zero_infinity else np.nan, slopes.dtype), slopes)
    heard = np.arange(log_probs.shape[0])[:, None, None] < times[:, None]
    return jnp.where(heard, slopes, jnp.zeros((), slopes.dtype)), None, None, None


_loss.defvjp(_loss_fwd, _loss_bwd)


def _no_label(log_probs: Array, targets: Array, times: Array, lengths: Array, *others: object) -> tuple[object, object]:
    if targets.size == 0:
        return np.bool_(False), 0
    counted = np.arange(targets.shape[1]) < lengths[:, None]
    wrong = ((targets < 0) | (targets >= log_probs.shape[2])) & counted
    return wrong.any(), targets.reshape(-1)[wrong.reshape(-1).argmax()]


@op(
    name="_ctc_loss",
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    backward="CtcLossBackward0",
    check=ValueCheck(_no_label, lambda value, *args, avals: IndexError(f"Target {value} is out of bounds.")),
    refuse="ctc_loss_cpu",
    samples=[],
    autocast={"cpu": Autocast.FLOAT32},
)
def losses(
    log_probs: Array, targets: Indices, times: Indices, lengths: Indices, blank: int, zero_infinity: bool
) -> Array:
    """The loss of each sequence. Shapes: (T, N, C), (N, S), (N), (N) -> (N)."""
    if log_probs.dtype.itemsize < 4:
        kind = dtypes.from_numpy_dtype(log_probs.dtype).scalar_name
        raise NotImplementedError(f"\"ctc_loss_cpu\" not implemented for '{kind}'")
    return _loss(
        log_probs, targets.astype(np.int64), times.astype(np.int64), lengths.astype(np.int64), blank, zero_infinity
    )


def _numbers(name: str, lengths: Sequence[int]) -> list[int]:
    if isinstance(lengths, Tensor):
        if lengths.dtype.category > dtypes.INTEGER:
            raise RuntimeError(f"{name} must be integral")
        return [int(n) for n in lengths.reshape(-1).tolist()]
    return [int(n) for n in lengths]


def _check_lengths(name: str, values: list[int], batch: int, most: int | None = None) -> None:
    if len(values) != batch:
        raise RuntimeError(f"{name} must be of size batch_size")
    for value in values:
        if value < 0:
            raise RuntimeError(
                f"Expected {name} to have value at least 0, but got value {value} (while checking arguments for "
                "ctc_loss_allocate_outputs)"
            )
        if most is not None and value > most:
            raise RuntimeError(
                f"Expected {name} to have value at most {most}, but got value {value} (while checking arguments for "
                "ctc_loss_allocate_outputs)"
            )


def _in_rows(targets: Tensor, lengths: list[int]) -> Tensor:
    """The targets with a row for each sequence."""
    batch, longest = len(lengths), max(lengths, default=0)
    if targets.dim() == 2:
        if targets.shape[0] != batch:
            raise RuntimeError(
                f"Expected tensor to have size {batch} at dimension 0, but got size {targets.shape[0]} for "
                + _CHECKED.format(2, "targets")
            )
        if targets.shape[1] < longest:
            raise RuntimeError(
                f"Expected tensor to have size at least {longest} at dimension 1, but got size {targets.shape[1]} for "
                + _CHECKED.format(2, "targets")
            )
        return targets
    if targets.dim() != 1:
        raise RuntimeError(
            f"Expected 1 to 2 dimensions, but got {targets.dim()}-dimensional tensor for "
            + _CHECKED.format(2, "targets")
        )
    if targets.shape[0] != sum(lengths):
        raise RuntimeError(
            f"Expected tensor to have size {sum(lengths)} at dimension 0, but got size {targets.shape[0]} for "
            + _CHECKED.format(2, "targets")
        )
    starts = np.cumsum([0, *lengths])[:-1, None]
    places = np.minimum(starts + np.arange(longest), max(sum(lengths) - 1, 0))
    rows = targets if not longest else targets[_on(places, targets)]
    return rows if longest else rows.reshape(batch, 0)


def _on(numbers: object, like: Tensor) -> Tensor:
    return from_value(Value.on_host(np.asarray(numbers, np.int64), like._aval.placement))


@composite(forms=Form.FUNCTION)
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = 1,
    zero_infinity: bool = False,
) -> Tensor:
    """``-log`` of the probability that a sequence of distributions spells its target, over all alignments.

    Args:
        log_probs: shape (T, N, C) or (T, C): logarithms of probabilities, as ``log_softmax`` gives them.
        targets: shape (N, S), or all targets one after the other in one dimension.
        input_lengths, target_lengths: of each sequence: a tensor of shape (N), or numbers.
        blank: the label that stands for none.
        reduction: 0 none; 1 mean, of the losses divided by their target's length; 2 sum.
        zero_infinity: whether the loss of what cannot be spelled is 0.

    Source: Graves et al., "Connectionist temporal classification" (2006).
    """
    kinds = [isinstance(lengths, Tensor) for lengths in (input_lengths, target_lengths)]
    if kinds[0] != kinds[1]:
        raise TypeError(
            "ctc_loss() received an invalid combination of arguments - input_lengths and target_lengths must both be tensors, or "
            "both be tuples of ints"
        )
    times = _numbers("input_lengths", input_lengths)
    lengths = _numbers("target_lengths", target_lengths)
    single = log_probs.dim() == 2
    if single:
        log_probs, targets = log_probs.unsqueeze(1), targets.unsqueeze(0)
    if not log_probs.numel():
        raise RuntimeError("log_probs tensor must not be empty")
    steps, batch, classes = log_probs.shape
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    _check_lengths("input_lengths", times, batch)
    _check_lengths("target_lengths", lengths, batch)
    rows = _in_rows(targets, lengths)
    _check_lengths("input_lengths", times, batch, steps)
    result = losses(log_probs, rows, _on(times, log_probs), _on(lengths, log_probs), int(blank), bool(zero_infinity))
    if zero_infinity:
        result = where(result == float("inf"), 0.0, result)
    if reduction == 1:
        return (result / _on(np.maximum(lengths, 1), log_probs)).mean()
    if reduction == 2:
        return result.sum()
    return result.squeeze(0) if single else result
