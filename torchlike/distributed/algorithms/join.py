"""torch.distributed.algorithms.join: training where processes have different numbers of batches."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import NamedTuple

from ..._core.devices import device
from ..._core.tensor import Tensor
from ...ops import ones, zeros
from .._groups import ProcessGroup
from .._tensors import all_reduce
from .._works import Work

__all__ = ["Join", "JoinHook", "Joinable"]

# After so many rounds in which this process only shadows the others, it says so.
MANY_ROUNDS = 1000


class JoinHook:
    """What a process that has joined does for a Joinable while others still train: a subclass overrides what it needs."""

    def main_hook(self) -> None:
        """Called once for each round of the other processes; takes part in their collectives."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called when all processes have joined.

        Args:
            is_last_joiner: whether this is one of the processes that have joined last.
        """


class _Config(NamedTuple):
    enable: bool
    throw_on_early_termination: bool
    is_first_joinable: bool


class Joinable(ABC):
    """What can train with different numbers of batches. Its step begins with ``Join.notify_join_context(self)``."""

    _join_config = _Config(False, False, False)

    @abstractmethod
    def join_hook(self, **kwargs: object) -> JoinHook:
        """What joined processes do. The arguments are those that ``Join`` was given."""

    @property
    @abstractmethod
    def join_device(self) -> device:
        """The device of the collectives that ``Join`` itself needs."""

    @property
    @abstractmethod
    def join_process_group(self) -> ProcessGroup:
        """The processes."""


class Join:
    """A context in which processes may have different numbers of batches.

    A process that leaves it takes part in the collectives of the others until all have left.

    Args:
        joinables: what trains, such as a ``DistributedDataParallel`` module.
        enable: False: the context does nothing.
        throw_on_early_termination: raise in all processes as soon as one has no batch left.
        kwargs: for the ``join_hook`` of each.

    Raises:
        ValueError: there are no joinables, or they have different groups.

    Source: https://docs.pytorch.org/docs/stable/distributed.algorithms.join.html
    """

    def __init__(
        self, joinables: list[Joinable], enable: bool = True, throw_on_early_termination: bool = False, **kwargs: object
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._joinables = joinables
        self._join_hooks = [joinable.join_hook(**kwargs) for joinable in joinables]
        self._enable, self._throw_on_early_termination = enable, throw_on_early_termination
        for number, joinable in enumerate(joinables):
            joinable._join_config = _Config(enable, throw_on_early_termination, number == 0)
        groups = list(dict.fromkeys(joinable.join_process_group for joinable in joinables))
        if len(groups) > 1:
            raise ValueError("Using join context manager with multiple process groups")
        self._process_group, self._device = groups[0], joinables[0].join_device

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, value: object, traceback: object) -> None:
        if not self._enable or kind is not None:
            return
        rounds, is_last_joiner = 0, True
        while True:
            if rounds == MANY_ROUNDS + 1:
                warnings.warn(
                    "Detected uneven input skew of greater than "
                    f"{MANY_ROUNDS}. This means that rank {self._process_group.rank()} has at least {MANY_ROUNDS} fewer inputs than "
                    "other currently-active ranks. This level of skew could lead to performance degradation during training.",
                    stacklevel=2,
                )
            if _total(zeros(1, device=self._device), self._process_group) == 0:
                break
            if self._throw_on_early_termination:
                _total(ones(1, device=self._device), self._process_group)
                raise RuntimeError(f"Rank {self._process_group.rank()} exhausted all inputs.")
            is_last_joiner = False
            for hook in self._join_hooks:
                hook.main_hook()
            rounds += 1
        for hook in self._join_hooks:
            hook.post_hook(is_last_joiner)

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Work | None:
        """Tells processes that have joined that this one has not. A Joinable calls it at the beginning of each round.

        Returns:
            the handle of the exchange, if this is the first joinable of an enabled context.

        Raises:
            RuntimeError: the context raises as soon as a process has no batch left, and one has none.
        """
        if not hasattr(joinable, "_join_config"):
            raise AssertionError(f"Check that the {type(joinable)} constructor calls the ``Joinable`` constructor")
        config = joinable._join_config
        if not config.enable or not config.is_first_joinable:
            return None
        count = ones(1, device=joinable.join_device)
        work = all_reduce(count, group=joinable.join_process_group, async_op=True)
        if config.throw_on_early_termination and _total(
            zeros(1, device=joinable.join_device), joinable.join_process_group
        ):
            raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")
        return work


def _total(number: Tensor, group: ProcessGroup) -> float:
    all_reduce(number, group=group)
    return number.item()
