"""class LRScheduler, and how rates are read from an optimizer's groups and written to them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, TypeAlias

from ..._core.tensor import Tensor
from ..optimizer import Optimizer

__all__ = ["LRScheduler"]

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

_OVERRIDDEN = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, make sure to call "
    "`optimizer.step()` before `lr_scheduler.step()`. See more details at "
    "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)


Rate: TypeAlias = float | Tensor


def copy_of(rate: Any) -> Any:
    """A copy of the rate as it is now: ``set_option`` writes into a rate that is a tensor, which would change a kept reference too."""
    return rate.clone() if isinstance(rate, Tensor) else rate


def set_option(group: dict[str, Any], key: str, value: object) -> None:
    """Changes an option of a group. A tensor is written into, since the program may hold it too."""
    if isinstance(group[key], Tensor):
        group[key].fill_(value.item() if isinstance(value, Tensor) else value)
    else:
        group[key] = value


def check_optimizer(optimizer: Optimizer) -> None:
    """Raises a TypeError unless the object is an optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def per_group(name: str, value: object, optimizer: Optimizer) -> list[Any]:
    """A list with one value for each group, from such a list or from one value for all groups. Tensors are copied: the program may write
    to its own.

    Args:
        name: the argument's name, for the error.
    """
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [copy_of(value) for _ in range(count)]
    if len(value) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, param_groups has {count}."
        )
    return [copy_of(each) for each in value]


class LRScheduler:
    """The base class of all schedules.

    Args:
        optimizer: the optimizer whose groups get the rates.
        last_epoch: how many times ``step`` was called before, minus one; -1 begins a new schedule.

    A subclass defines ``get_lr``, which gives the next rate of each group.

    Source: https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate
    """

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copy_of(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{number}] when resuming scheduler with last_epoch >= "
                    "0.\nThis typically happens when:\n1. You're trying to resume training from a checkpoint but haven't "
                    "properly loaded the optimizer state\n2. You're using last_epoch >= 0 for a fresh training run (not "
                    "recommended)"
                )
        self.base_lrs: list[Rate] = [copy_of(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self) -> None:
        """The step that each schedule makes when it is created: it sets the rates of epoch 0."""
        # Steps before the first schedule do not count, those before a second one do.
        if not self.optimizer._has_schedule:
            self.optimizer._has_schedule, self.optimizer._opt_called = True, False
        self.optimizer._scheduled_step = vars(self.optimizer).get("step")
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """All attributes except the optimizer."""
        return {k: v for k, v in self.__dict__.items() if k != "optimizer"}

    def load_state_dict(self, state_dict: Mapping[str, object]) -> None:
        """Restores what ``state_dict`` returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Rate]:
        """The rates that were set last, one for each group."""
        return self._last_lr

    def get_lr(self) -> list[Rate]:
        """The next rate of each group. A subclass defines it."""
        raise NotImplementedError

    def _rates(self) -> list[Rate]:
        """The rates that the groups have now."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def _copies_of_rates(self) -> list[Rate]:
        return [copy_of(rate) for rate in self._rates()]

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )

    def step(self, epoch: int | None = None) -> None:
        """Sets the next rates. Call it after ``optimizer.step()``."""
        if self._step_count == 1 and vars(self.optimizer).get("step") is not self.optimizer._scheduled_step:
            warnings.warn(_OVERRIDDEN, UserWarning, stacklevel=2)
        elif self._step_count == 1 and not self.optimizer._opt_called:
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
                closed_form = getattr(self, "_get_closed_form_lr", None)
                rates = self.get_lr() if closed_form is None else closed_form()
        finally:
            self._get_lr_called_within_step = False
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_option(group, "lr", rate)
        self._last_lr: list[Rate] = self._copies_of_rates()
