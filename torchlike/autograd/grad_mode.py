"""Switching the recording of gradients on and off, as context managers and decorators."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from .._core.modes import modes
from ..dispatch.type_names import type_name
from ._decorating import DecoratorContextManager, NoParamDecoratorContextManager

__all__ = [
    "enable_grad",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]


def is_grad_enabled() -> bool:
    """Whether operations are recorded for ``backward`` in this thread.

    >>> torch.is_grad_enabled()
    True
    """
    return modes.grad_enabled and not modes.forward_only


def is_inference_mode_enabled() -> bool:
    """Whether this thread is inside ``inference_mode``."""
    return modes.inference


class _Switch(DecoratorContextManager):
    """A context manager that sets this thread's modes, and decorates functions and generator functions with itself."""

    grad: bool = False
    inference: bool | None = None  # None: it stays as it is

    def __new__(cls, function: object = None, *args: object, **kwargs: object) -> Any:
        self = super().__new__(cls)
        if callable(function) and not isinstance(function, bool):
            self.__init__()
            return self(function)  # @torch.no_grad without parentheses
        return self

    def __init__(self, *args: object) -> None:
        self._before: list[tuple[bool, bool, bool]] = []

    def __enter__(self) -> None:
        self._before.append((modes.grad_enabled, modes.inference, modes.forward_only))
        if self.inference is not None:
            modes.inference = self.inference
            modes.update()
        modes.record(self.grad)

    def __exit__(self, *exc: object) -> None:
        modes.grad_enabled, modes.inference, modes.forward_only = self._before[
            -1
        ]  # before any call, since Ctrl-C may end one
        self._before.pop()
        modes.update()

    def __call__(self, function: Callable[..., object]) -> Callable[..., Any]:
        if inspect.isclass(function) or inspect.isgeneratorfunction(function):
            return super().__call__(function)

        @functools.wraps(function)
        def wrapped(*args: object, **kwargs: object) -> Any:
            # ``with`` would call ``__exit__``, and Ctrl-C at the beginning of that call would leave the modes as they are here.
            grad, inference, forward_only = modes.grad_enabled, modes.inference, modes.forward_only
            try:
                self.clone().__enter__()
                return function(*args, **kwargs)
            finally:
                modes.grad_enabled = grad
                if modes.inference is not inference or modes.forward_only is not forward_only:
                    modes.inference, modes.forward_only = inference, forward_only
                    modes.update()

        return wrapped


class no_grad(_Switch, NoParamDecoratorContextManager):
    """Within it nothing is recorded: results do not require gradients.

    >>> x = torch.tensor([1.0], requires_grad=True)
    >>> with torch.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False

    Source: https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html
    """

    grad = False


class enable_grad(_Switch, NoParamDecoratorContextManager):
    """Within it operations are recorded, also inside ``no_grad``.

    >>> x = torch.tensor([1.0], requires_grad=True)
    >>> with torch.no_grad(), torch.enable_grad():
    ...     y = x * 2
    >>> y.requires_grad
    True
    """

    grad = True


class set_grad_enabled(_Switch):
    """Switches recording on or off: at once as a function, or for a block as a context manager.

    >>> with torch.set_grad_enabled(False):
    ...     torch.is_grad_enabled()
    False
    """

    def __new__(cls, mode: bool) -> set_grad_enabled:
        return object.__new__(cls)

    def __init__(self, mode: bool) -> None:
        super().__init__()
        if not isinstance(mode, bool):
            raise TypeError(f"set_grad_enabled(): argument 'enabled' (position 1) must be bool, not {type_name(mode)}")
        self.mode = self.grad = mode
        self._outer = modes.grad_enabled, modes.inference, modes.forward_only
        modes.record(mode)

    def clone(self) -> set_grad_enabled:
        return set_grad_enabled(self.mode)

    def __call__(self, function: Callable[..., object]) -> Callable[..., Any]:
        modes.grad_enabled, _, modes.forward_only = self._outer  # it is used as a decorator
        return super().__call__(function)

    def __enter__(self) -> None:
        self._before.append(self._outer)
        modes.record(self.mode)


class inference_mode(_Switch):
    """``no_grad``, and the tensors made inside can never take part in a recorded computation.

    >>> with torch.inference_mode():
    ...     torch.ones(1).is_inference()
    True

    Source: https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad_mode.inference_mode.html
    """

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self.mode = mode
        self.grad, self.inference = not mode, mode

    def clone(self) -> inference_mode:
        return inference_mode(self.mode)

    def __enter__(self) -> None:
        super().__enter__()
        if not self.mode:
            modes.record(True)


class recording:
    """Switches recording as ``set_grad_enabled`` does, forward derivatives too: for computations of torchlike's own."""

    def __init__(self, on: bool) -> None:
        self._on = on

    def __enter__(self) -> None:
        self._before = modes.grad_enabled, modes.forward_only
        modes.grad_enabled, modes.forward_only = self._on, False

    def __exit__(self, *exc: object) -> None:
        modes.grad_enabled, modes.forward_only = self._before


class deriving:
    """Within it these derivatives of ``torch.func`` are in progress in this thread, and no others."""

    def __init__(self, derivatives: tuple[Any, ...]) -> None:
        self._derivatives = derivatives

    def __enter__(self) -> None:
        self._before, modes.derivatives = modes.derivatives, self._derivatives

    def __exit__(self, *exc: object) -> None:
        modes.derivatives = self._before


class without_tangents:
    """Within it no tangents of dual tensors are computed in this thread."""

    def __enter__(self) -> None:
        self._before, modes.forward_grad = modes.forward_grad, False

    def __exit__(self, *exc: object) -> None:
        modes.forward_grad = self._before


class set_multithreading_enabled(DecoratorContextManager):
    """Whether PyTorch's backward passes may use several threads: at once as a function, or for a block as a context manager.

    Here each backward pass runs in the thread that calls it; the setting has no effect.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad_mode.set_multithreading_enabled.html
    """

    _enabled = True

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self.prev = set_multithreading_enabled._enabled
        set_multithreading_enabled._enabled = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        set_multithreading_enabled._enabled = self.prev

    def clone(self) -> set_multithreading_enabled:
        return set_multithreading_enabled(self.mode)


def is_multithreading_enabled() -> bool:
    """The last value given to ``set_multithreading_enabled``; True at first."""
    return set_multithreading_enabled._enabled
