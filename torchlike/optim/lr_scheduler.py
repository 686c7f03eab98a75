"""Learning rate schedules: each changes ``lr`` in an optimizer's groups when its ``step`` is called."""

from __future__ import annotations

import math
import types
import warnings
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .._core.tensor import Tensor
from .optimizer import Optimizer

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR", "LRScheduler",
    "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR",
    "StepLR",
]  # fmt: skip

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed form is used "
    "instead of the new chainable form, where available. Please open an issue if you are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose."
)
_WRONG_ORDER = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call them in the "
    "opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in PyTorch skipping the "
    "first value of the learning rate schedule. See more details at "
    "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)


def _plain(value: object) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def _set(group: dict[str, Any], key: str, value: Any) -> None:
    """Changes an option of a group; one that is a tensor stays the same tensor."""
    if isinstance(group[key], Tensor):
        group[key].fill_(value.item() if isinstance(value, Tensor) else value)
    else:
        group[key] = value


def _for_each_group(name: str, value: object, optimizer: Optimizer) -> list[Any]:
    """One value for each group, from one for all or a list."""
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, param_groups has {count}."
        )
    return list(value)


class LRScheduler:
    """The base of schedules.

    Args:
        optimizer: whose groups' ``lr`` is set.
        last_epoch: how often ``step`` has been called before, minus one; -1 starts anew.

    A subclass defines ``get_lr``, which gives the next rate of each group.

    Source: https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate
    """

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _plain(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{number}] when resuming scheduler with last_epoch >= "
                    "0.\nThis typically happens when:\n1. You're trying to resume training from a checkpoint but haven't "
                    "properly loaded the optimizer state\n2. You're using last_epoch >= 0 for a fresh training run (not "
                    "recommended)"
                )
        self.base_lrs: list[Any] = [_plain(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self) -> None:
        self.optimizer._opt_called = False
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer."""
        return {k: v for k, v in self.__dict__.items() if k != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes back what ``state_dict`` gave."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The rates that were set last, one for each group."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The next rate of each group; for a subclass to define."""
        raise NotImplementedError

    def _rates(self) -> list[Any]:
        return [group["lr"] for group in self.optimizer.param_groups]

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )

    def step(self, epoch: int | None = None) -> None:
        """Sets the next rates. Call it after ``optimizer.step()``."""
        if self._step_count == 1 and not self.optimizer._opt_called:
            warnings.warn(_WRONG_ORDER, UserWarning, stacklevel=2)
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                closed = getattr(self, "_get_closed_form_lr", None)
                rates = self.get_lr() if closed is None else closed()
        finally:
            self._get_lr_called_within_step = False
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            _set(group, "lr", rate)
        self._last_lr: list[Any] = [_plain(rate) for rate in self._rates()]


_LRScheduler = LRScheduler


class _WithFunctions(LRScheduler):
    """A schedule that is made of functions, one for each group, which ``state_dict`` leaves out unless they are objects."""

    lr_lambdas: list[Any]

    def __init__(self, optimizer: Optimizer, lr_lambda: object, last_epoch: int = -1) -> None:
        if isinstance(lr_lambda, (list, tuple)):
            if len(lr_lambda) != len(optimizer.param_groups):
                raise ValueError(f"Expected {len(optimizer.param_groups)} lr_lambdas, but got {len(lr_lambda)}")
            self.lr_lambdas = list(lr_lambda)
        else:
            self.lr_lambdas = [lr_lambda] * len(optimizer.param_groups)
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer and plain functions."""
        state = {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "lr_lambdas")}
        state["lr_lambdas"] = [
            None if isinstance(f, types.FunctionType) else f.__dict__.copy() for f in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes back what ``state_dict`` gave."""
        self.__dict__.update({k: v for k, v in state_dict.items() if k != "lr_lambdas"})
        for function, saved in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if saved is not None:
                function.__dict__.update(saved)


class LambdaLR(_WithFunctions):
    """The initial rate times a function of the epoch.

    Args:
        lr_lambda: from the epoch to a factor, or a list of such functions, one for each group.

    >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
    >>> scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5**epoch)
    >>> optimizer.step(); scheduler.step()
    >>> scheduler.get_last_lr()
    [0.05]

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.LambdaLR.html
    """

    def get_lr(self) -> list[Any]:
        """``base_lr lr_lambda(epoch)``."""
        self._warn_outside_step()
        return [base * f(self.last_epoch) for f, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_WithFunctions):
    """The last rate times a function of the epoch.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.MultiplicativeLR.html
    """

    def get_lr(self) -> list[Any]:
        """``lr lr_lambda(epoch)``."""
        self._warn_outside_step()
        if self._is_initial:
            return [_plain(rate) for rate in self._rates()]
        return [rate * f(self.last_epoch) for f, rate in zip(self.lr_lambdas, self._rates(), strict=True)]


class StepLR(LRScheduler):
    """The rate times ``gamma`` every ``step_size`` epochs.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.StepLR.html
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The last rate, times ``gamma`` where the time has come."""
        self._warn_outside_step()
        due = self.last_epoch != 0 and self.last_epoch % self.step_size == 0
        return [rate * self.gamma if due else _plain(rate) for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """The rate times ``gamma`` at each of the epochs ``milestones``.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.MultiStepLR.html
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The last rate, times ``gamma`` at a milestone."""
        self._warn_outside_step()
        times = self.milestones.get(self.last_epoch, 0)
        return [rate * self.gamma**times if times else _plain(rate) for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """The rate times ``factor`` for the first ``total_iters`` epochs.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ConstantLR.html
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The last rate, times ``factor`` at the first epoch and divided by it at the last."""
        self._warn_outside_step()
        if self.last_epoch == 0:
            return [rate * self.factor for rate in self._rates()]
        if self.last_epoch != self.total_iters:
            return [_plain(rate) for rate in self._rates()]
        return [rate * (1.0 / self.factor) for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        done = self.last_epoch >= self.total_iters
        return [base * (self.factor + done * (1 - self.factor)) for base in self.base_lrs]


class LinearLR(LRScheduler):
    """The rate times a factor that goes straight from ``start_factor`` to ``end_factor`` in ``total_iters`` epochs.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.LinearLR.html
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The last rate times the ratio of two neighbouring factors."""
        self._warn_outside_step()
        if self._is_initial:
            return [rate * self.start_factor for rate in self._rates()]
        if self.last_epoch > self.total_iters:
            return [_plain(rate) for rate in self._rates()]
        change = self.end_factor - self.start_factor
        ratio = 1.0 + change / (self.total_iters * self.start_factor + (self.last_epoch - 1) * change)
        return [rate * ratio for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        share = min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * (self.start_factor + (self.end_factor - self.start_factor) * share) for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """The rate times ``gamma`` every epoch.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ExponentialLR.html
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The last rate times ``gamma``."""
        self._warn_outside_step()
        if self._is_initial:
            return [_plain(rate) for rate in self._rates()]
        return [rate * self.gamma for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The rate times ``(1 - epoch / total_iters)^power``.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.PolynomialLR.html
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The last rate times the ratio of two neighbouring factors."""
        self._warn_outside_step()
        if self._is_initial or self.last_epoch > self.total_iters:
            return [_plain(rate) for rate in self._rates()]
        total, epoch = self.total_iters, self.last_epoch
        ratio = ((1.0 - epoch / total) / (1.0 - (epoch - 1) / total)) ** self.power
        return [rate * ratio for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * left**self.power for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """``eta_min + (base_lr - eta_min) (1 + cos(pi epoch / T_max)) / 2``.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.CosineAnnealingLR.html;
    https://arxiv.org/abs/1608.03983
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The next rate from the last one, so that other schedules may act as well."""
        self._warn_outside_step()
        if self._is_initial:
            return [_plain(rate) for rate in self._rates()]
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [
                rate + (base - self.eta_min) * rise for base, rate in zip(self.base_lrs, self._rates(), strict=True)
            ]
        now = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        before = 1 + math.cos(math.pi * (self.last_epoch - 1) / self.T_max)
        return [now / before * (rate - self.eta_min) + self.eta_min for rate in self._rates()]

    def _get_closed_form_lr(self) -> list[Any]:
        share = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Cosine annealing that starts again after ``T_0`` epochs, then after ``T_0 T_mult``, and so on.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.CosineAnnealingWarmRestarts.html;
    https://arxiv.org/abs/1608.03983
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rate at this place in the current period."""
        self._warn_outside_step()
        share = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Sets the next rates; ``epoch`` may be a fraction, to anneal within an epoch."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            if epoch < 0:
                raise ValueError(f"Expected non-negative epoch, but got {epoch}")
            self.T_cur, self.T_i = self._place(epoch)
        self.last_epoch = math.floor(epoch)
        self._get_lr_called_within_step = True
        try:
            for group, rate in zip(self.optimizer.param_groups, self.get_lr(), strict=True):
                _set(group, "lr", rate)
        finally:
            self._get_lr_called_within_step = False
        self._last_lr = [_plain(rate) for rate in self._rates()]

    def _place(self, epoch: float) -> tuple[float, int]:
        """How far into which period an epoch is."""
        if epoch < self.T_0:
            return epoch, self.T_0
        if self.T_mult == 1:
            return epoch % self.T_0, self.T_0
        n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
        return epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1), self.T_0 * self.T_mult**n


class CyclicLR(LRScheduler):
    """The rate goes up and down between ``base_lr`` and ``max_lr``, momentum the other way round. Step it every batch.

    Args:
        step_size_up, step_size_down: how many steps up, and down (default: as many).
        mode: "triangular", "triangular2" (half as high each time) or "exp_range" (times ``gamma`` each step).
        scale_fn, scale_mode: a scale of one's own instead of ``mode``, of the "cycle" or of the "iterations".

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.CyclicLR.html;
    https://arxiv.org/abs/1506.01186
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        if last_epoch == -1:
            for rate, group in zip(_for_each_group("base_lr", base_lr, optimizer), optimizer.param_groups, strict=True):
                _set(group, "lr", rate)
        self.max_lrs = _for_each_group("max_lr", max_lr, optimizer)
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
            if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
                raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
            self.use_beta1 = "betas" in optimizer.defaults
            self.base_momentums = _for_each_group("base_momentum", base_momentum, optimizer)
            self.max_momentums = _for_each_group("max_momentum", max_momentum, optimizer)
            if last_epoch == -1:
                for momentum, group in zip(self.max_momentums, optimizer.param_groups, strict=True):
                    self._set_momentum(group, momentum)
            for momentum, group in zip(self.base_momentums, optimizer.param_groups, strict=True):
                group["base_momentum"] = momentum
        super().__init__(optimizer, last_epoch)
        self.base_lrs = _for_each_group("base_lr", base_lr, optimizer)

    def _set_momentum(self, group: dict[str, Any], momentum: float) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum

    def scale_fn(self, x: float) -> float:
        """The factor at a cycle, or an iteration."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return 1 / 2.0 ** (x - 1) if self.mode == "triangular2" else self.gamma**x

    def get_lr(self) -> list[Any]:
        """The rates at this place of the cycle; sets momentum on the way, if it is to cycle."""
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
                self._set_momentum(group, top - (top - base) * height * scale)
        return rates

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer and a plain function as scale."""
        state = super().state_dict()
        function = state.pop("_scale_fn_custom")
        state["_scale_fn_custom"] = None
        if function is not None and not isinstance(function, types.FunctionType):
            state["_scale_fn_custom"] = function.__dict__.copy()
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes back what ``state_dict`` gave."""
        state = dict(state_dict)
        saved = state.pop("_scale_fn_custom", None)
        super().load_state_dict(state)
        if saved is not None and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(saved)


class OneCycleLR(LRScheduler):
    """The rate goes up to ``max_lr`` and then far down, momentum the other way round. Step it every batch.

    Args:
        max_lr: the highest rate, or one for each group.
        total_steps: how many steps there will be; or ``epochs`` and ``steps_per_epoch``.
        pct_start: the share of them that goes up.
        anneal_strategy: "cos" or "linear".
        cycle_momentum, base_momentum, max_momentum: whether, and between what, momentum changes.
        div_factor: ``max_lr`` over the first rate.
        final_div_factor: the first rate over the last.
        three_phase: go back to the first rate before going down.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.OneCycleLR.html;
    https://arxiv.org/abs/1708.07120
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
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
        # Each phase: where it ends, and between which of a group's rates and momenta it leads.
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
        tops = _for_each_group("max_lr", max_lr, optimizer)
        if last_epoch == -1:
            for top, group in zip(tops, optimizer.param_groups, strict=True):
                group["initial_lr"] = top / div_factor
                group["max_lr"] = top
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
                raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
            self.use_beta1 = "betas" in optimizer.defaults
            highs = _for_each_group("max_momentum", max_momentum, optimizer)
            lows = _for_each_group("base_momentum", base_momentum, optimizer)
            if last_epoch == -1:
                for high, low, group in zip(highs, lows, optimizer.param_groups, strict=True):
                    self._set_momentum(group, high)
                    group["max_momentum"] = high
                    group["base_momentum"] = low
        super().__init__(optimizer, last_epoch)

    _set_momentum = CyclicLR._set_momentum

    def _anneal(self, start: Any, end: Any, share: float) -> Any:
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)
        return (end - start) * share + start

    def get_lr(self) -> list[Any]:
        """The rates at this step; sets momentum on the way, if it is to cycle."""
        self._warn_outside_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"Tried to step {step} times. The total number of steps is {self.total_steps}"  # as PyTorch says it
            )
        rates = []
        for group in self.optimizer.param_groups:
            start: float = 0.0
            for number, phase in enumerate(self._schedule_phases):
                end = phase["end_step"]
                if step <= end or number == len(self._schedule_phases) - 1:
                    share = (step - start) / (end - start)
                    rates.append(self._anneal(group[phase["start_lr"]], group[phase["end_lr"]], share))
                    if self.cycle_momentum:
                        low, high = group[phase["start_momentum"]], group[phase["end_momentum"]]
                        self._set_momentum(group, self._anneal(low, high, share))
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


def _check_positive(name: str, value: Any) -> None:
    if value <= 0 or not isinstance(value, int):
        raise ValueError(f"Expected positive integer {name}, but got {value}")


class ReduceLROnPlateau(LRScheduler):
    """The rate times ``factor`` when a number has not become better for ``patience`` epochs.

    Args:
        mode: "min" or "max": which way is better.
        threshold, threshold_mode: how much better counts: "rel"ative or "abs"olute.
        cooldown: epochs to wait after a change.
        min_lr: the lowest rate, or one for each group.
        eps: smaller changes are not made.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ReduceLROnPlateau.html
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: Any = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        self.factor = factor
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        if isinstance(min_lr, (list, tuple)):
            if len(min_lr) != len(optimizer.param_groups):
                raise ValueError(f"expected {len(optimizer.param_groups)} min_lrs, got {len(min_lr)}")
            self.default_min_lr = None
            self.min_lrs = list(min_lr)
        else:
            self.default_min_lr = min_lr
            self.min_lrs = [min_lr] * len(optimizer.param_groups)
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = [_plain(rate) for rate in self._rates()]
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self._reset()

    def _reset(self) -> None:
        """Forgets the best number and the waiting."""
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Takes the number of this epoch, and lowers the rates if it is time."""
        current = float(metrics)
        if epoch is None:
            epoch = self.last_epoch + 1
        else:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self.last_epoch = epoch
        if self._is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(epoch)
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = [_plain(rate) for rate in self._rates()]

    def _reduce_lr(self, epoch: int) -> None:
        if len(self.optimizer.param_groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(self.optimizer.param_groups)}) differs from when "
                    f"`ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually due to a new param group being added "
                    "to the optimizer. Please modify the `min_lrs` field to match the length of the `optimizer` param groups."
                )
            self.min_lrs = [self.default_min_lr] * len(self.optimizer.param_groups)
        for group, lowest in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, lowest)
            if old - new > self.eps:
                _set(group, "lr", new)

    @property
    def in_cooldown(self) -> bool:
        """Whether it waits after a change."""
        return self.cooldown_counter > 0

    def _is_better(self, a: float, best: float) -> bool:
        if self.mode == "min":
            limit = best * (1.0 - self.threshold) if self.threshold_mode == "rel" else best - self.threshold
            return a < limit
        limit = best * (self.threshold + 1.0) if self.threshold_mode == "rel" else best + self.threshold
        return a > limit


class SequentialLR(LRScheduler):
    """One schedule after the other, changing at ``milestones``.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.SequentialLR.html
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        if len(schedulers) < 1:
            raise ValueError("SequentialLR expects at least one scheduler, but got no scheduler.")
        for number, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"SequentialLR at index {number} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    "SequentialLR does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                    f"specified when calling `step`, but got one at index {number} in the given schedulers sequence."
                )
            if optimizer is not scheduler.optimizer:
                raise ValueError(
                    f"SequentialLR expects all schedulers to belong to the same optimizer, but got scheduler "
                    f"{type(scheduler).__name__} at index {number} has {scheduler.optimizer}, which is different from "
                    f"{optimizer.__class__.__name__}."
                )
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone points, "
                f"but got number of schedulers {len(schedulers)} and the number of milestones to be equal to {len(milestones)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # Each schedule has set its first rates when it was made: begin again, with the first one alone.
        for group in optimizer.param_groups:
            _set(group, "lr", group["initial_lr"])
        for scheduler in schedulers:
            _unwind(scheduler)
        schedulers[0]._initial_step()
        self._last_lr = schedulers[0].get_last_lr()

    def step(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Steps the schedule whose time it is."""
        self.last_epoch += 1
        number = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[number]
        if number > 0 and self._milestones[number - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer, the schedules as their own ``state_dict``."""
        state = {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "_schedulers")}
        state["_schedulers"] = [scheduler.state_dict() for scheduler in self._schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes back what ``state_dict`` gave."""
        self.__dict__.update({k: v for k, v in state_dict.items() if k != "_schedulers"})
        for scheduler, saved in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(saved)


def _unwind(scheduler: Any) -> None:
    """Takes back the step that a schedule made when it was created, through all levels."""
    if hasattr(scheduler, "_schedulers"):
        for inner in scheduler._schedulers:
            _unwind(inner)
    scheduler.last_epoch -= 1


class ChainedScheduler(LRScheduler):
    """Several schedules at once, each acting on what the one before has set.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ChainedScheduler.html
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        if len(schedulers) < 1:
            raise ValueError("ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.")
        optimizer = optimizer or schedulers[0].optimizer
        for number, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"ChainedScheduler at index {number} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    "ChainedScheduler does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                    f"specified when calling `step`, but got one at index {number} in the given schedulers sequence."
                )
            if optimizer is not scheduler.optimizer:
                raise ValueError(
                    f"ChainedScheduler expects all schedulers to belong to the same optimizer, but got scheduler "
                    f"{type(scheduler).__name__} at index {number} has {scheduler.optimizer}, which is different from "
                    f"{optimizer.__class__.__name__}."
                )
        self._schedulers = schedulers
        self.optimizer = optimizer
        self._last_lr = [_plain(group["lr"]) for group in optimizer.param_groups]

    def step(self) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Steps all schedules, in order."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = [_plain(rate) for rate in self._rates()]

    state_dict = SequentialLR.state_dict
    load_state_dict = SequentialLR.load_state_dict
