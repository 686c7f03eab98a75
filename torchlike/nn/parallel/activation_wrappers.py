"""checkpoint_wrapper: a module whose activations are computed a second time in the backward pass, to save memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum, auto
from functools import partial
from typing import Any

from ...autograd.graph import save_on_cpu
from ...utils.checkpoint import checkpoint
from ..modules.module import Module

__all__ = [
    "ActivationWrapper", "CheckpointImpl", "CheckpointWrapper", "OffloadWrapper", "apply_activation_checkpointing",
    "checkpoint_wrapper", "offload_wrapper",
]  # fmt: skip

_CHECKPOINT_WRAPPED_MODULE = "_checkpoint_wrapped_module"
_CHECKPOINT_PREFIX = _CHECKPOINT_WRAPPED_MODULE + "."


class CheckpointImpl(Enum):
    """The implementation of ``checkpoint``: an autograd Function (reentrant), or hooks on saved tensors."""

    REENTRANT = auto()
    NO_REENTRANT = auto()


class ActivationWrapper(Module):
    """Wraps a module. Names in its state do not include the wrapper."""

    def __init__(self, mod: Module) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self._register_state_dict_hook(self._post_state_dict_hook)
        self._register_load_state_dict_pre_hook(self._pre_load_state_dict_hook, with_module=True)

    def forward(self, *args: object, **kwargs: object) -> Any:
        raise ValueError("Subclasses should implement forward().")

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._checkpoint_wrapped_module, name)

    def __getitem__(self, key: int) -> Any:
        return self._checkpoint_wrapped_module.__getitem__(key)  # pyright: ignore[reportCallIssue, reportAttributeAccessIssue]

    def named_parameters(self, *args: Any, **kwargs: object) -> Iterator[tuple[str, Any]]:
        """Yields parameters with their names, which do not include the wrapper."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(_CHECKPOINT_PREFIX, ""), parameter

    @staticmethod
    def _post_state_dict_hook(
        module: object, state_dict: dict[str, object], prefix: str, *args: object
    ) -> dict[str, object]:
        _renamed(state_dict, f"{prefix}{_CHECKPOINT_PREFIX}", prefix)
        return state_dict

    @staticmethod
    def _pre_load_state_dict_hook(module: object, state_dict: dict[str, object], prefix: str, *args: object) -> None:
        _renamed(state_dict, prefix, f"{prefix}{_CHECKPOINT_PREFIX}")


def _renamed(state_dict: dict[str, object], old: str, new: str) -> None:
    for key in list(state_dict):
        if key.startswith(old):
            state_dict[new + key.removeprefix(old)] = state_dict.pop(key)


class CheckpointWrapper(ActivationWrapper):
    """Calls a module through ``torch.utils.checkpoint.checkpoint``.

    Args:
        checkpoint_fn: a function to use instead, called as ``checkpoint_fn(module, *args, **kwargs)``.
    """

    def __init__(
        self,
        mod: Module,
        checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable[..., object] | None = None,
        **checkpoint_fn_kwargs: object,
    ) -> None:
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        if checkpoint_fn is None:
            checkpoint_fn = partial(checkpoint, use_reentrant=checkpoint_impl is CheckpointImpl.REENTRANT)
        self.checkpoint_fn = partial(checkpoint_fn, **checkpoint_fn_kwargs)

    def forward(self, *args: object, **kwargs: object) -> Any:
        if self.checkpoint_impl is CheckpointImpl.REENTRANT and kwargs:
            # The reentrant checkpoint takes no keyword arguments.
            names, count = list(kwargs), len(args)

            def call(*values: object) -> Any:
                return self._checkpoint_wrapped_module(*values[:count], **dict(zip(names, values[count:], strict=True)))

            return self.checkpoint_fn(call, *args, *kwargs.values())
        return self.checkpoint_fn(self._checkpoint_wrapped_module, *args, **kwargs)


class OffloadWrapper(ActivationWrapper):
    """Calls a module, and keeps the tensors that it saves for the backward pass in the host's memory."""

    def forward(self, *args: object, **kwargs: object) -> Any:
        with save_on_cpu(pin_memory=True):
            return self._checkpoint_wrapped_module(*args, **kwargs)


def checkpoint_wrapper(
    module: Module,
    checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Callable[..., object] | None = None,
    **checkpoint_fn_kwargs: object,
) -> Module:
    """Wraps the module so that its activations are computed a second time in the backward pass."""
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def offload_wrapper(module: Module) -> Module:
    """Wraps the module so that the tensors it saves for the backward pass are kept in the host's memory."""
    return OffloadWrapper(module)


def apply_activation_checkpointing(
    model: Module,
    checkpoint_wrapper_fn: Callable[[Module], Module] = checkpoint_wrapper,
    check_fn: Callable[[Module], bool] = lambda _: True,
    auto_wrap_policy: Callable[..., bool] | None = None,
) -> None:
    """Wraps the submodules for which ``check_fn`` returns True, innermost first.

    Raises:
        NotImplementedError: ``auto_wrap_policy`` was given.
    """
    if auto_wrap_policy is not None:
        raise NotImplementedError("torchlike does not support auto_wrap_policy: check_fn says which modules to wrap")
    for name, child in list(model.named_children()):
        apply_activation_checkpointing(child, checkpoint_wrapper_fn, check_fn)
        if check_fn(child):
            setattr(model, name, checkpoint_wrapper_fn(child))
