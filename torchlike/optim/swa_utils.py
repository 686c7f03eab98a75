"""Averages of models over the steps of a training, and the schedule that goes with them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from typing import Any, Literal

from .._core.annotations import DeviceLike
from .._core.tensor import Tensor
from ..autograd.grad_mode import no_grad
from ..nn.modules.batchnorm import _BatchNorm
from ..nn.modules.module import Module
from ..ops.creation.from_data import tensor
from .lr_scheduler import LRScheduler
from .lr_scheduler._base import per_group
from .optimizer import Optimizer

__all__ = [
    "AveragedModel", "SWALR", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
    "update_bn",
]  # fmt: skip


def get_ema_avg_fn(decay: float = 0.999) -> Callable[[Any, Any, Any], Any]:
    """``decay mean + (1 - decay) param`` as a function of mean, parameter and count."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: object) -> Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable[[Any, Any, Any], Any]:
    """``mean + (param - mean) / (count + 1)`` as a function of mean, parameter and count."""

    @no_grad()
    def swa_update(averaged_param: Tensor, current_param: object, num_averaged: Tensor) -> Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[[Sequence[Tensor], Sequence[Tensor], Tensor | int], None]:
    """``get_ema_avg_fn`` for lists, whose means it changes in place."""
    _check_decay(decay)
    return _in_place(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> Callable[[Sequence[Tensor], Sequence[Tensor], Tensor | int], None]:
    """``get_swa_avg_fn`` for lists, whose means it changes in place."""
    return _in_place(get_swa_avg_fn())


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def _in_place(
    average: Callable[[object, object, object], object],
) -> Callable[[Sequence[Tensor], Sequence[Tensor], Tensor | int], None]:
    @no_grad()
    def update(averaged: Sequence[Tensor], current: Sequence[Tensor], num_averaged: object) -> None:
        for mean, param in zip(averaged, current, strict=True):
            mean.copy_(average(mean, param, num_averaged))

    return update


class AveragedModel(Module):
    """A copy of a model whose parameters are a running average of the model's.

    Args:
        model: the model to copy.
        device: the device of the copy (default: the model's).
        avg_fn: from mean, parameter and count to the new mean (default: the mean of all parameters so far).
        multi_avg_fn: the same for lists, changing the means in place; only one of the two may be passed.
        use_buffers: average the buffers too; otherwise they are copied.

    >>> model = torch.nn.Linear(1, 1)
    >>> averaged = torch.optim.swa_utils.AveragedModel(model)
    >>> for value in (1.0, 3.0):
    ...     _ = torch.nn.init.constant_(model.weight, value)
    ...     averaged.update_parameters(model)
    >>> averaged.module.weight.item(), averaged.n_averaged
    (2.0, tensor(2))

    Source: https://docs.pytorch.org/docs/stable/optim.html#weight-averaging-swa-and-ema; https://arxiv.org/abs/1803.05407
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: DeviceLike | None = None,
        avg_fn: Callable[..., object] | None = None,
        multi_avg_fn: Callable[..., object] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: object, **kwargs: object) -> Any:
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Adds the current parameters of a model to the average."""
        pairs = list(zip(self._averaged(self.module), self._averaged(model), strict=True))
        means = [mean.detach() for mean, _ in pairs]
        params = [param.detach().to(mean.device) for mean, param in pairs]
        if self.n_averaged == 0:
            for mean, param in zip(means, params, strict=True):
                mean.copy_(param)
        elif self.avg_fn is not None:
            for mean, param in zip(means, params, strict=True):
                mean.copy_(self.avg_fn(mean, param, self.n_averaged.to(mean.device)))
        else:
            average = self.multi_avg_fn or get_swa_multi_avg_fn()
            for kind in dict.fromkeys((mean.device, mean.dtype) for mean in means):
                indices = [i for i, mean in enumerate(means) if (mean.device, mean.dtype) == kind]
                average([means[i] for i in indices], [params[i] for i in indices], self.n_averaged.to(kind[0]))
        if not self.use_buffers:
            for own, buffer in zip(self.module.buffers(), model.buffers(), strict=True):
                own.detach().copy_(buffer.detach().to(own.device))
        self.n_averaged += 1

    def _averaged(self, model: Module) -> Iterator[Tensor]:
        return itertools.chain(model.parameters(), model.buffers()) if self.use_buffers else model.parameters()


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: DeviceLike | None = None) -> None:
    """Computes the running statistics of a model's batch normalisations anew, from one pass over the data.

    Args:
        loader: gives batches; of a list or tuple the first is the input.
        device: where the inputs go.
    """
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    if not norms:
        return
    training, momenta = model.training, [norm.momentum for norm in norms]
    for norm in norms:
        if norm.running_mean is not None:
            norm.reset_running_stats()
        norm.momentum = None  # the mean over all batches
    model.train()
    for batch in loader:
        inputs = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(inputs if device is None else inputs.to(device))
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    model.train(training)


class SWALR(LRScheduler):
    """Moves the rates to ``swa_lr`` within some epochs, and keeps them there.

    Args:
        optimizer: the optimizer whose groups get the rates.
        swa_lr: the last rate, or one for each group.
        anneal_epochs: the number of epochs until then.
        anneal_strategy: ``"cos"`` or ``"linear"``.
        last_epoch: how many times ``step`` was called before, minus one.

    >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
    >>> schedule = torch.optim.swa_utils.SWALR(optimizer, swa_lr=0.05, anneal_epochs=2, anneal_strategy="linear")
    >>> rates = []
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     schedule.step()
    ...     rates += [round(rate, 6) for rate in schedule.get_last_lr()]
    >>> rates
    [0.075, 0.05, 0.05]

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.swa_utils.SWALR.html
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: object,
        anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        last_epoch: int = -1,
    ) -> None:
        for rate, group in zip(per_group("swa_lr", swa_lr, optimizer), optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share_complete(self, epoch: int) -> float:
        """The share of the change that is complete at an epoch."""
        t = max(0.0, min(1.0, epoch / max(1, self.anneal_epochs)))
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        # The first rate is computed from the current one, so that another schedule may change the rate too.
        epoch = self._step_count - 1
        if self.anneal_epochs == 0:
            epoch = max(1, epoch)
        before, now = self._share_complete(max(0, epoch - 1)), self._share_complete(epoch)
        rates = []
        for group in self.optimizer.param_groups:
            last, rate = group["swa_lr"], group["lr"]
            start = last if before == 1 else (rate - before * last) / (1 - before)
            rates.append(last * now + start * (1 - now))
        return rates
