"""torch.utils._contextlib: context managers that decorate, which libraries derive from."""

from ..autograd._decorating import (
    DecoratorContextManager as _DecoratorContextManager,
    NoParamDecoratorContextManager as _NoParamDecoratorContextManager,
    context_decorator as context_decorator,
    wrap_generator as _wrap_generator,
)

__all__ = ["_DecoratorContextManager", "_NoParamDecoratorContextManager", "_wrap_generator", "context_decorator"]
