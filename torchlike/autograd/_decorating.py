"""Context managers that decorate functions, generator functions and classes with themselves."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from typing import Any

__all__ = ["DecoratorContextManager", "NoParamDecoratorContextManager", "context_decorator", "wrap_generator"]


def wrap_generator(
    new_context: Callable[[], AbstractContextManager[object]],
    function: Callable[..., Generator[object, object, object]],
) -> Callable[..., Generator[object, object, object]]:
    """A generator function like ``function``, within a new context whenever the generator itself runs.

    Between two of its items the caller's code runs outside of the context.
    """

    @functools.wraps(function)
    def wrapped(*args: object, **kwargs: object) -> Generator[object, object, object]:
        generator = function(*args, **kwargs)
        try:
            with new_context():
                item = generator.send(None)
            while True:
                try:
                    value_sent = yield item
                except GeneratorExit:
                    with new_context():
                        generator.close()
                    raise
                except BaseException as error:
                    with new_context():
                        item = generator.throw(error)
                else:
                    with new_context():
                        item = generator.send(value_sent)
        except StopIteration as stop:
            return stop.value

    return wrapped


def context_decorator(ctx: object, func: Callable[..., object]) -> Callable[..., object]:
    """``func`` within a context, which is entered anew at each call: ``ctx`` is a context manager, or makes one.

    Raises:
        AssertionError: ``ctx`` can be called and entered, so it may be either.
        RuntimeError: ``func`` is a class.
    """
    if callable(ctx) and hasattr(ctx, "__enter__"):
        raise AssertionError(
            f"Passed in {ctx} is both callable and also a valid context manager (has __enter__), making it ambiguous which interface "
            "to use.  If you intended to pass a context manager factory, rewrite your call as context_decorator(lambda: ctx()); if you "
            "intended to pass a context manager directly, rewrite your call as context_decorator(lambda: ctx)"
        )
    new_context: Callable[[], Any] = ctx if callable(ctx) else lambda: ctx
    if inspect.isclass(func):
        raise RuntimeError(
            "Cannot decorate classes; it is ambiguous whether or not only the constructor or all methods should have the context manager "
            "applied; additionally, decorating a class at definition-site will prevent use of the identifier as a conventional type.  To "
            "specify which methods to decorate, decorate each of them individually."
        )
    if inspect.isgeneratorfunction(func):
        return wrap_generator(new_context, func)

    @functools.wraps(func)
    def wrapped(*args: object, **kwargs: object) -> object:
        with new_context():
            return func(*args, **kwargs)

    return wrapped


class DecoratorContextManager:
    """A context manager that decorates functions and generator functions with itself, and classes by their ``__init__``."""

    def __call__(self, function: Callable[..., object]) -> Callable[..., Any]:
        if inspect.isclass(function):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You should only decorate functions or "
                "methods. To preserve the current behavior of class decoration, you can directly decorate the `__init__` method and "
                "nothing else.",
                FutureWarning,
                stacklevel=2,
            )
            function.__init__ = self(function.__init__)
            return function
        return context_decorator(self.clone, function)

    def __enter__(self) -> object:
        raise NotImplementedError

    def __exit__(self, *exc: object) -> bool | None:
        raise NotImplementedError

    def clone(self) -> Any:
        """One like it, for one use."""
        return type(self)()


class NoParamDecoratorContextManager(DecoratorContextManager):
    """One that decorates without parentheses too: ``@torch.no_grad``."""

    def __new__(cls, orig_func: object = None) -> Any:
        if orig_func is None:
            return super().__new__(cls)
        return cls()(orig_func)  # pyright: ignore[reportArgumentType]
