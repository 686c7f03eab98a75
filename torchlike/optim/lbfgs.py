"""L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from .._core.dtypes import from_numpy_dtype
from .._core.tensor import Tensor, from_value
from ..autograd.grad_mode import enable_grad, no_grad
from ..engine import Aval, Kernel, Value
from ..engine.interpreter import scan
from ..engine.recorder import Operation, recorder
from ..ops.creation.filled import zeros_like
from ..ops.creation.from_data import tensor
from ..ops.shape.complex_numbers import view_as_real
from ..ops.shape.joining import cat
from ._line_search import Point, strong_wolfe
from ._options import check_learning_rate, check_numbers
from .optimizer import Optimizer

__all__ = ["LBFGS"]


class LBFGS(Optimizer):
    """L-BFGS: Newton steps with a curvature estimated from the last gradients.

    ``d = -H g``, where ``H`` is computed from pairs ``s = p_new - p``, ``y = g_new - g``; ``p = p + t d``, where ``t`` is ``lr`` or comes
    from the line search.

    Args:
        params: tensors, or one group of them.
        lr: the size of a step; a program may change them in ``param_groups`` at any time.
        max_iter: iterations in one ``step``.
        max_eval: evaluations of the loss in one ``step`` (default: a quarter more than ``max_iter``).
        tolerance_grad: a step ends when no element of the gradient is larger than this.
        tolerance_change: a step ends when the parameters or the loss change by less than this.
        history_size: the number of pairs to keep.
        line_search_fn: None or ``"strong_wolfe"``.

    Raises:
        ValueError: the rate is negative, or there are several groups.
        RuntimeError: in ``step``, for another line search.

    >>> w = torch.nn.Parameter(torch.tensor([1.0, -2.0]))
    >>> optimizer = torch.optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((w - 3) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure).item()
    29.0
    >>> [round(x, 4) for x in w.tolist()]
    [3.0, 3.0]

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.LBFGS.html; Nocedal and Wright, Numerical
    Optimization, 2nd edition, algorithm 7.4.
    """

    _by_elements = False

    def __init__(
        self,
        params: object,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_learning_rate(lr)
        check_numbers(learning_rate=lr)
        defaults = {
            "lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change, "history_size": history_size,
            "line_search_fn": line_search_fn,
        }  # fmt: skip
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @no_grad()
    def step(self, closure: Callable[[], object]) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Takes up to ``max_iter`` steps.

        Args:
            closure: clears the gradients, computes the loss and its gradients, and returns the loss.

        Returns:
            The loss before the first step.
        """
        (group,) = self.param_groups
        most, small, still = group["max_iter"], group["tolerance_grad"], group["tolerance_change"]
        compute = enable_grad()(closure)
        state = self.state[group["params"][0]]  # the state of all parameters, which PyTorch keeps at the first
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = compute()
        state["func_evals"] += 1
        loss, grad, evals, rounds = float(first_loss), self._gradient(), 1, 0
        if _largest(grad) <= small:
            return first_loss
        while rounds < most:
            rounds += 1
            state["n_iter"] += 1
            direction = _direction(state, grad, group["history_size"])
            t = group["lr"]
            if state["n_iter"] == 1:
                # The first direction is the gradient itself, whose length says nothing about a good step. PyTorch bounds it in this way.
                t = min(1.0, 1.0 / grad.abs().sum()) * t
            state |= {"t": t, "prev_flat_grad": grad.clone(), "prev_loss": loss}
            slope, before = grad.dot(direction), loss
            # Along this direction the loss would hardly fall, so no further point is tried.
            if slope.item() > -still:
                break
            if group["line_search_fn"] is not None:
                if group["line_search_fn"] != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                start = Point(0, loss, _number(slope), grad)
                (reached, loss, _, grad), probed = self._search(compute, direction, start, t, still)
                t = state["t"] = _state_number(reached, grad)
                self._move(t, direction)
            else:
                probed = 0
                self._move(t, direction)
                if rounds != most:  # after the last round, the next call computes the same loss again
                    loss, grad, probed = float(compute()), self._gradient(), 1
            evals += probed
            state["func_evals"] += probed
            if (
                rounds == most
                or evals >= group["max_eval"]
                or _largest(grad) <= small
                or _largest(direction * t) <= still
                or abs(loss - before) < still
            ):
                break
        return first_loss

    def _search(
        self, compute: Callable[[], Any], direction: Tensor, start: Point, t: object, still: float
    ) -> tuple[Point, int]:
        params = self.param_groups[0]["params"]
        originals = [p.detach().clone() for p in params]

        def probe(t: Tensor) -> Point:
            self._move(t, direction)
            loss, grad = float(compute()), self._gradient()
            for param, original in zip(params, originals, strict=True):
                # Copied back and not moved back: subtracting the step again would leave rounding errors in the parameters.
                param.copy_(original)
            return Point(t, loss, _number(grad.dot(direction)), grad)

        with np.errstate(all="ignore"):  # an infinite loss is refused by the comparisons
            return strong_wolfe(probe, start, _number(t), _number(direction.abs().max()), still)

    def _gradient(self) -> Tensor:
        """All gradients as one vector."""
        params = self.param_groups[0]["params"]
        grads = [zeros_like(p) if p.grad is None else p.grad.to_dense() for p in params]
        return cat([(view_as_real(g) if g.is_complex() else g).reshape(-1) for g in grads])

    def _move(self, t: Tensor | float, direction: Tensor) -> None:
        """Adds to each parameter its part of the direction, ``t`` times."""
        start = 0
        for param in self.param_groups[0]["params"]:
            parts = view_as_real(param) if param.is_complex() else param
            end = start + parts.numel()
            parts.add_(direction[start:end].view(parts.shape), alpha=float(t))
            start = end


def _direction(state: dict[str, Any], grad: Tensor, history: int) -> Any:
    """``-H grad``, by two loops over the pairs. Before that, it appends the newest pair."""
    if state["n_iter"] == 1:
        state |= {"d": -grad, "old_dirs": [], "old_stps": [], "ro": [], "H_diag": 1}
        return state["d"]
    turns, steps, weights = state["old_dirs"], state["old_stps"], state["ro"]
    turn, step = grad - state["prev_flat_grad"], state["d"] * state["t"]
    product = turn.dot(step)
    weight, scale = 1.0 / product, product / turn.dot(turn)
    # A pair with a smaller product would make ``H`` indefinite, and the next direction might lead uphill.
    if product.item() > 1e-10:
        if len(turns) == history:
            for column in (turns, steps, weights):
                column.pop(0)
        turns.append(turn)
        steps.append(step)
        weights.append(weight)
        state["H_diag"] = scale
    shares = state.setdefault("al", [None] * history)
    count = len(turns)
    if count == 0:
        state["d"] = -grad * state["H_diag"]
        return state["d"]
    # The history is padded with pairs of zeros, which change nothing, so that four programs serve for all its lengths. Each zero is an
    # array of its own: one array in several places would be recorded as another program.
    missing = next(size for size in (1, 4, 16, 64, history) if size >= count) - count
    columns = [[t._value() for t in column] for column in (turns, steps, weights)]
    for column in columns:
        aval = column[0].aval
        column += [Value.full(aval.shape, aval.dtype, aval.placement) for _ in range(missing)]
    inputs = [grad._value(), state["H_diag"]._value(), *columns[0], *columns[1], *columns[2]]
    values = recorder().record(_TWO_LOOPS, (), inputs, ())[1]
    state["d"], *new_shares = [from_value(value) for value in values]
    shares[:count] = new_shares[:count]
    return state["d"]


class _TwoLoops(Operation):
    """From the gradient, the scale of ``H``, and the pairs with their weights: the direction, and the shares of the first loop."""

    name = "LBFGS"

    def lower(self, args: tuple[object, ...], avals: tuple[Aval, ...]) -> Kernel:
        count = (len(avals) - 2) // 3
        for aval in avals[2 + count : 2 + 2 * count]:  # the steps: of another dtype after ``model.half()``
            if aval.dtype != avals[0].dtype:
                dtypes_of_both = " and ".join(from_numpy_dtype(vector.dtype).scalar_name for vector in (aval, avals[0]))
                raise RuntimeError(f"dot : expected both vectors to have same dtype, but found {dtypes_of_both}")

        def fn(grad: Array, scale: Array, *history: Array) -> tuple[Array, ...]:
            # A scan over stacked pairs, since XLA takes ten seconds to compile a hundred pairs written out one by one.
            pairs = tuple(jnp.stack(history[i : i + count]) for i in range(0, 3 * count, count))

            def forget(direction: Array, pair: tuple[Array, Array, Array]) -> tuple[object, object]:
                turn, step, weight = pair
                share = jnp.dot(step, direction) * weight
                return direction - turn * share, share

            def remember(direction: Array, pair: tuple[tuple[Array, ...], Array]) -> tuple[object, None]:
                (turn, step, weight), share = pair
                return direction + step * (share - jnp.dot(turn, direction) * weight), None

            direction, shares = scan(forget, -grad, pairs, reverse=True)
            direction, _ = scan(remember, direction * scale, (pairs, shares))
            return direction, *(shares[i] for i in range(count))

        return Kernel(self.name, fn, avals, avals[0].placement)


_TWO_LOOPS = _TwoLoops()


def _largest(vector: Tensor) -> float:
    return vector.abs().max().item()


def _number(value: object) -> Any:
    """A number for the line search. A tensor becomes a NumPy scalar, which rounds as the tensor's dtype does."""
    return value.dtype.numpy.type(value.item()) if isinstance(value, Tensor) else value


def _state_number(value: object, like: Tensor) -> Any:
    """The inverse of ``_number``: what was a tensor becomes a tensor again, as PyTorch has it in the state."""
    return tensor(value.item(), dtype=like.dtype, device=like.device) if isinstance(value, np.generic) else value
