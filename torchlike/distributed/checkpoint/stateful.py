"""Stateful: what a checkpoint asks of the objects in it."""

from typing import Any, Protocol, TypeVar, runtime_checkable

__all__ = ["Stateful", "StatefulT"]


@runtime_checkable
class Stateful(Protocol):
    """An object with a state of its own. ``save`` keeps what ``state_dict`` returns, and ``load`` gives it to ``load_state_dict``.

    >>> import torchlike.distributed.checkpoint.stateful as stateful
    >>> isinstance(torch.nn.Linear(1, 1), stateful.Stateful)
    True
    """

    def state_dict(self) -> dict[str, Any]:
        """The state, as a dictionary that can be saved."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores a state that ``state_dict`` returned."""
        ...


StatefulT = TypeVar("StatefulT", bound=Stateful)
