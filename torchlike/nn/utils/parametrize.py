"""Parameters that are computed from others whenever they are read."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from ..._core.tensor import Tensor
from ...autograd.grad_mode import no_grad
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Buffer, Parameter

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "transfer_parametrizations_and_params", "type_before_parametrizations",
]  # fmt: skip

_cache: dict[tuple[int, str], object] = {}
_caching = 0


@contextmanager
def cached() -> Iterator[None]:
    """Inside the context, each parametrized tensor is computed only once.

    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
    >>> with torch.nn.utils.parametrize.cached():
    ...     layer.weight is layer.weight
    True
    """
    global _caching
    _caching += 1
    try:
        yield
    finally:
        _caching -= 1
        if not _caching:
            _cache.clear()


class ParametrizationList(ModuleList):
    """The parametrizations of a tensor, and the tensors from which they compute it: ``original``, or ``original0``, ``original1``...

    Args:
        modules: applied one after another.
        original: the tensor before; the modules' ``right_inverse`` convert it, the last one first.
        unsafe: do not check that shape and dtype stay the same.
    """

    original: Any

    def __init__(self, modules: Sequence[Module], original: Any, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with no_grad():
            new = original
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    with suppress(NotImplementedError):
                        new = module.right_inverse(new)
        if not isinstance(new, Tensor) and not isinstance(new, (list, tuple)):
            raise ValueError(
                f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if isinstance(new, Tensor):
            if original.dtype != new.dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {new.dtype}"
                )
            if original.device != new.device:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the device.\n"
                    f"original.device: {original.device}\nright_inverse(original).device: {new.device}"
                )
            with no_grad():
                original.data = new  # keeps the same object, because an optimizer may hold it
            _register(self, "original", original)
        else:
            for i, tensor in enumerate(new):
                if not isinstance(tensor, Tensor):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got element "
                        f"{i} of the sequence with type {type(tensor).__name__}."
                    )
                if isinstance(original, Parameter):
                    tensor = Parameter(tensor.detach(), original.requires_grad)
                _register(self, f"original{i}", tensor)
        if not unsafe:
            result = self()
            if not isinstance(result, Tensor):
                raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
            if result.dtype != dtype:
                raise ValueError(
                    "Registering a parametrization may not change the dtype of the tensor, unless `unsafe` flag is "
                    f"enabled.\nunparametrized dtype: {dtype}\nparametrized dtype: {result.dtype}"
                )
            if result.shape != shape:
                raise ValueError(
                    "Registering a parametrization may not change the shape of the tensor, unless `unsafe` flag is "
                    f"enabled.\nunparametrized shape: {shape}\nparametrized shape: {result.shape}"
                )

    def _originals(self) -> list[Parameter]:
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    @no_grad()
    def right_inverse(self, value: Tensor) -> None:
        """Sets the originals so that the tensor becomes ``value``."""
        new = value
        for module in reversed(list(self)):
            if not hasattr(module, "right_inverse"):
                raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
            new = module.right_inverse(new)
        many = [new] if self.is_tensor else new
        if len(many) != self.ntensors:
            raise ValueError(
                "'right_inverse' must return a sequence of tensors of length "
                f"{self.ntensors}. Got a sequence of length {len(many)}."
            )
        for original, tensor in zip(self._originals(), many, strict=True):
            if not isinstance(tensor, Tensor):
                raise ValueError(f"`right_inverse` should return a tensor. Got {type(tensor).__name__}")
            if original.dtype != tensor.dtype:
                raise ValueError(
                    f"The tensor returned by `right_inverse` has dtype {tensor.dtype} while `original` has dtype "
                    f"{original.dtype}"
                )
            original.data = tensor

    def forward(self) -> Tensor:
        first, *later_modules = self
        tensor = first(*self._originals())
        for module in later_modules:
            tensor = module(tensor)
        return tensor


def _register(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        persistent = vars(tensor).get("persistent", True) if isinstance(tensor, Buffer) else True
        module.register_buffer(name, tensor, persistent)


def _parametrized_class(module: Module) -> type:
    """Returns a class for this module alone, so that its properties do not appear on other modules of the original class."""
    cls = type(module)

    def refuse(self: object) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). See:\n"
            "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
            "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
        )

    def deepcopy_module(self: object, memo: dict[int, object]) -> Any:
        new_module = memo.get(id(self))
        if new_module is None:
            new_module = memo[id(self)] = object.__new__(type(self))
            vars(new_module).update(copy.deepcopy(vars(self), memo))
        return new_module

    body = {"__getstate__": refuse, "__deepcopy__": deepcopy_module, "__module__": __name__}
    metaclass: Any = type(cls)
    return metaclass(f"Parametrized{cls.__name__}", (cls,), body)


def _property(name: str) -> property:
    def compute(self: Any) -> Any:
        parametrization = self.parametrizations[name]
        if not _caching:
            return parametrization()
        key = id(self), name
        if key not in _cache:
            _cache[key] = parametrization()
        return _cache[key]

    def assign(self: Any, value: object) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(compute, assign)


def register_parametrization(module: Any, tensor_name: str, parametrization: Module, *, unsafe: bool = False) -> Any:
    """Makes ``module.tensor_name`` a property that computes ``parametrization(original)`` each time.

    Args:
        module: the module with a parameter or buffer of this name.
        parametrization: its ``forward`` computes the tensor; its ``right_inverse``, if it has one, turns an assigned tensor into
            one or several originals.
        unsafe: do not check that shape and dtype stay the same.

    Raises:
        ValueError: there is no such tensor, or shape or dtype would change.

    >>> class Positive(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.exp()
    ...     def right_inverse(self, y):
    ...         return y.log()
    >>> layer = torch.nn.Linear(2, 1)
    >>> layer.weight.data = torch.ones(1, 2)
    >>> layer = torch.nn.utils.parametrize.register_parametrization(layer, "weight", Positive())
    >>> layer.weight
    tensor([[1., 1.]], grad_fn=<ExpBackward0>)
    >>> layer.parametrizations.weight.original
    Parameter containing:
    tensor([[0., 0.]], requires_grad=True)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.parametrize.register_parametrization.html
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        chain = module.parametrizations[tensor_name]
        if not unsafe:
            now = getattr(module, tensor_name)
            new = parametrization(now)
            _check_same(now, new, tensor_name)
            _check_inverse(now, new, parametrization, tensor_name)
        chain.append(parametrization)
        chain.unsafe |= unsafe
        return module
    if tensor_name not in module._parameters and tensor_name not in module._buffers:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'"
        )
    original = getattr(module, tensor_name)
    chain = ParametrizationList([parametrization], original, unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        module.__class__ = _parametrized_class(module)
        module.parametrizations = ModuleDict()
    setattr(type(module), tensor_name, _property(tensor_name))
    module.parametrizations[tensor_name] = chain
    return module


def _check_inverse(old: Tensor, new: Tensor, parametrization: Any, name: str) -> None:
    """Raises unless ``right_inverse`` of a further parametrization, if it has one, gives a tensor like the parametrized one."""
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        original = parametrization.right_inverse(new)
    except NotImplementedError:
        return
    if not isinstance(original, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(original).__name__}")
    for what, before, after in (("dtype", old.dtype, original.dtype), ("shape", old.shape, original.shape)):
        if before != after:
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {what} as module.{name}, unless the `unsafe` "
                f"flag is enabled.\nmodule.{name}.{what}: {before}\nreturned {what}: {after}"
            )


def _check_same(old: Tensor, new: Tensor, name: str) -> None:
    if not isinstance(new, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(new).__name__}.")
    for word, before, after in (("dtype", old.dtype, new.dtype), ("shape", old.shape, new.shape)):
        if before != after:
            raise ValueError(
                f"Registering a parametrization may not change the {word} of the tensor, unless the `unsafe` flag is "
                f"enabled.\nmodule.{name}.{word}: {before}\nparametrization(module.{name}).{word}: {after}"
            )


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has parametrizations, or one of this name."""
    parametrizations = module._modules.get("parametrizations")
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Makes a tensor an ordinary one again.

    Args:
        leave_parametrized: whether it keeps its value; otherwise it gets the value of the original.

    Raises:
        ValueError: it is not parametrized, or there are several originals and ``leave_parametrized`` is False.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    chain = module.parametrizations[tensor_name]
    if chain.is_tensor:
        tensor = chain.original
        if leave_parametrized:
            with no_grad():
                tensor.data = getattr(module, tensor_name)
    elif leave_parametrized:
        with no_grad():
            value = getattr(module, tensor_name)
        originals = chain._originals()
        trains = any(o.requires_grad for o in originals)
        tensor = Parameter(value.detach(), trains) if isinstance(originals[0], Parameter) else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of "
            "tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, tensor)
    if not is_parametrized(module):
        del module._modules["parametrizations"]
        module.__class__ = type_before_parametrizations(module)
    return module


def type_before_parametrizations(module: object) -> type:
    """The class of a module as it was before it was parametrized."""
    cls = type(module)
    return cls.__bases__[0] if cls.__module__ == __name__ and cls.__name__.startswith("Parametrized") else cls


def transfer_parametrizations_and_params(from_module: Any, to_module: Module, tensor_name: str | None = None) -> Module:
    """Gives a module the parametrizations of another one, and the values of their tensors."""
    if not is_parametrized(from_module):
        return to_module
    names = list(from_module.parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach().clone()))
        source = from_module.parametrizations[name]
        for parametrization in source:
            register_parametrization(to_module, name, copy.deepcopy(parametrization))
        for target, original in zip(to_module.parametrizations[name]._originals(), source._originals(), strict=True):
            target.data = original.detach().clone()
    return to_module
