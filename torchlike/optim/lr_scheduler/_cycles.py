"""Schedules that raise and lower the rate within a training run, and momentum the other way round."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..._core.tensor import Tensor
from ..optimizer import Optimizer
from ._base import LRScheduler, check_optimizer, per_group, set_option

if TYPE_CHECKING:
    from ._base import Rate


__all__ = ["CyclicLR", "OneCycleLR"]


def _momentum_is_beta1(optimizer: Optimizer) -> bool:
    """Whether the optimizer's momentum is the first of its ``betas``; a ValueError if it has no momentum at all."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
    return "betas" in optimizer.defaults


def _set_momentum(group: dict[str, Any], momentum: Tensor | float, is_beta1: bool) -> None:
    if is_beta1:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


class CyclicLR(LRScheduler):
    """The rate goes up and down between ``base_lr`` and ``max_lr``, momentum the other way round. Call ``step`` after every batch.

    Args:
        step_size_up, step_size_down: the number of steps up, and of steps down (default: the same number).
        mode: "triangular", "triangular2" (each cycle is half as high as the one before) or "exp_range" (the height is multiplied by
            ``gamma`` at each step).
        scale_fn, scale_mode: a function for the height, used instead of ``mode``; it gets the number of the "cycle" or of the
            "iterations".

    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    >>> schedule = torch.optim.lr_scheduler.CyclicLR(optimizer, base_lr=0.1, max_lr=1.0, step_size_up=4)
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     schedule.step()
    >>> round(schedule.get_last_lr()[0], 4)
    0.775

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.CyclicLR.html;
    https://arxiv.org/abs/1506.01186
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Rate | list[Rate],
        max_lr: Rate | list[Rate],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        if last_epoch == -1:
            for rate, group in zip(per_group("base_lr", base_lr, optimizer), optimizer.param_groups, strict=True):
                set_option(group, "lr", rate)
        self.max_lrs = per_group("max_lr", max_lr, optimizer)
        up = float(step_size_up)
        down = up if step_size_down is None else float(step_size_down)
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _momentum_is_beta1(optimizer)
            self.base_momentums = per_group("base_momentum", base_momentum, optimizer)
            self.max_momentums = per_group("max_momentum", max_momentum, optimizer)
            if last_epoch == -1:
                for high, low, group in zip(
                    self.max_momentums, self.base_momentums, optimizer.param_groups, strict=True
                ):
                    _set_momentum(group, high, self.use_beta1)
                    group["max_momentum"], group["base_momentum"] = high, low
        super().__init__(optimizer, last_epoch)
        self.base_lrs = per_group("base_lr", base_lr, optimizer)

    @property
    def _scale_fn_ref(self) -> Callable[[float], float]:
        """The function that ``scale_fn`` calls, which no state has."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom
        gamma, heights = self.gamma, {"triangular": lambda x: 1.0, "triangular2": lambda x: 1 / 2.0 ** (x - 1)}
        return heights.get(self.mode, lambda x: gamma**x)

    def scale_fn(self, x: float) -> float:
        """The height of the cycle ``x``, or at the iteration ``x``."""
        return self._scale_fn_ref(x)

    def get_lr(self) -> list[Any]:
        """The rates at this point of the cycle. Sets momentum too, with ``cycle_momentum``."""
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        rates = [base + (top - base) * height * scale for base, top in zip(self.base_lrs, self.max_lrs, strict=True)]
        if self.cycle_momentum:
            for base, top, group in zip(
                self.base_momentums, self.max_momentums, self.optimizer.param_groups, strict=True
            ):
                _set_momentum(group, top - (top - base) * height * scale, self.use_beta1)
        return rates

    def state_dict(self) -> dict[str, Any]:
        """All attributes except the optimizer and a ``scale_fn`` that is a plain function."""
        state = super().state_dict()
        function = state.pop("_scale_fn_custom")
        state["_scale_fn_custom"] = None
        if function is not None and not isinstance(function, types.FunctionType):
            state["_scale_fn_custom"] = function.__dict__.copy()
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores what ``state_dict`` returned."""
        state = dict(state_dict)
        attributes = state.pop("_scale_fn_custom", None)
        super().load_state_dict(state)
        if attributes is not None and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(attributes)


class OneCycleLR(LRScheduler):
    """The rate goes up to ``max_lr`` and then far down, momentum the other way round. Call ``step`` after every batch.

    Args:
        max_lr: the highest rate, or one for each group.
        total_steps: the number of steps; ``epochs`` and ``steps_per_epoch`` may be passed instead.
        pct_start: the share of the steps in which the rate rises.
        anneal_strategy: "cos" or "linear".
        cycle_momentum: change momentum too, between ``base_momentum`` and ``max_momentum``.
        div_factor: ``max_lr`` divided by the first rate.
        final_div_factor: the first rate divided by the last rate.
        three_phase: return to the first rate before going below it.

    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    >>> schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=2.0, total_steps=10)
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     schedule.step()
    >>> round(schedule.get_last_lr()[0], 4)
    1.901

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.OneCycleLR.html;
    https://arxiv.org/abs/1708.07120
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Rate | list[Rate],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        if total_steps is not None:
            _check_positive("total_steps", total_steps)
            self.total_steps = total_steps
        elif epochs is not None and steps_per_epoch is not None:
            _check_positive("epochs", epochs)
            _check_positive("steps_per_epoch", steps_per_epoch)
            self.total_steps = epochs * steps_per_epoch
        else:
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        up = float(pct_start * self.total_steps) - 1
        # For each phase: the step at which it ends, and the options of a group that name its first and last rate and momentum.
        if three_phase:
            self._schedule_phases = [
                _phase(up, "initial_lr", "max_lr", "max_momentum", "base_momentum"),
                _phase(2 * pct_start * self.total_steps - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
                _phase(self.total_steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
            ]
        else:
            self._schedule_phases = [
                _phase(up, "initial_lr", "max_lr", "max_momentum", "base_momentum"),
                _phase(self.total_steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum"),
            ]
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        tops = per_group("max_lr", max_lr, optimizer)
        if last_epoch == -1:
            for top, group in zip(tops, optimizer.param_groups, strict=True):
                group["initial_lr"] = top / div_factor
                group["max_lr"] = top
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _momentum_is_beta1(optimizer)
            highs = per_group("max_momentum", max_momentum, optimizer)
            lows = per_group("base_momentum", base_momentum, optimizer)
            if last_epoch == -1:
                for high, low, group in zip(highs, lows, optimizer.param_groups, strict=True):
                    _set_momentum(group, high, self.use_beta1)
                    group["max_momentum"] = high
                    group["base_momentum"] = low
        super().__init__(optimizer, last_epoch)

    def _anneal_func(self, start: Tensor | float, end: Tensor | float, share: float) -> Tensor | float:
        if "_anneal_func_type" not in vars(self):  # loaded from a state of early PyTorch, which holds the function
            return vars(self)["anneal_func"](start, end, share)
        if self._anneal_func_type == "cos":
            return self._annealing_cos(start, end, share)
        if self._anneal_func_type == "linear":
            return self._annealing_linear(start, end, share)
        raise ValueError(f"Unknown _anneal_func_type: {self._anneal_func_type}")

    @staticmethod
    def _annealing_cos(start: Tensor | float, end: Tensor | float, pct: float) -> Tensor | float:
        """Along a cosine from ``start`` to ``end``."""
        return end + (start - end) / 2.0 * (math.cos(math.pi * pct) + 1)

    @staticmethod
    def _annealing_linear(start: Tensor | float, end: Tensor | float, pct: float) -> Tensor | float:
        """Along a line from ``start`` to ``end``."""
        return (end - start) * pct + start

    def get_lr(self) -> list[Any]:
        """The rates at this step. Sets momentum too, with ``cycle_momentum``."""
        self._warn_outside_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        rates = []
        for group in self.optimizer.param_groups:
            start: float = 0.0
            for number, phase in enumerate(self._schedule_phases):
                end = phase["end_step"]
                if step <= end or number == len(self._schedule_phases) - 1:
                    share = (step - start) / (end - start)
                    rates.append(self._anneal_func(group[phase["start_lr"]], group[phase["end_lr"]], share))
                    if self.cycle_momentum:
                        start_momentum, end_momentum = group[phase["start_momentum"]], group[phase["end_momentum"]]
                        _set_momentum(group, self._anneal_func(start_momentum, end_momentum, share), self.use_beta1)
                    break
                start = end
        return rates


def _phase(end: float, start_lr: str, end_lr: str, start_momentum: str, end_momentum: str) -> dict[str, Any]:
    return {
        "end_step": end,
        "start_lr": start_lr,
        "end_lr": end_lr,
        "start_momentum": start_momentum,
        "end_momentum": end_momentum,
    }


def _check_positive(name: str, value: float) -> None:
    if value <= 0 or not isinstance(value, int):
        raise ValueError(f"Expected positive integer {name}, but got {value}")
