"""Containers: Sequential, and lists and dictionaries of modules and of parameters."""

from __future__ import annotations

import operator
import warnings
from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from itertools import chain, islice
from typing import Any, Self, SupportsIndex

from ..._core.tensor import Tensor
from ..parameter import Parameter
from ._names import typename
from .module import Module, _indent

__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class Container(Module):
    """An old class that registers modules by name. ``Module`` does the same."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        warnings.warn(
            "`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. Subclass that instead.",
            FutureWarning,
            stacklevel=2,
        )
        for name, module in kwargs.items():
            self.add_module(name, module)


class Sequential(Module):
    """Calls its modules one after the other, each on what the one before returned.

    Args:
        args: modules in order, or one ``OrderedDict`` of modules by name.

    >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2), torch.nn.ReLU())
    >>> model(torch.ones(3, 2, 2)).shape
    torch.Size([3, 2])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Sequential.html
    """

    _modules: dict[str, Module]  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self, *args: Any) -> None:
        super().__init__()
        pairs = args[0].items() if len(args) == 1 and isinstance(args[0], OrderedDict) else enumerate(args)
        for name, module in pairs:
            self.add_module(str(name) if isinstance(name, int) else name, module)

    def forward(self, input: object) -> Any:
        """Returns the result of the last module."""
        for module in self._modules.values():
            input = module(input)
        return input

    def _name_at(self, index: SupportsIndex) -> str:
        return next(islice(self._modules, _position(index, len(self)), None))

    def _renumber(self, modules: Iterable[Module]) -> None:
        self._modules.clear()
        self._modules.update((str(i), module) for i, module in enumerate(modules))

    def __getitem__(self, idx: SupportsIndex | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)(OrderedDict(list(self._modules.items())[idx]))
        return self._modules[self._name_at(idx)]

    def __setitem__(self, idx: SupportsIndex, module: Module) -> None:
        setattr(self, self._name_at(idx), module)

    def __delitem__(self, idx: SupportsIndex | slice) -> None:
        for name in list(self._modules)[idx] if isinstance(idx, slice) else [self._name_at(idx)]:
            delattr(self, name)
        self._renumber(list(self._modules.values()))

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __add__(self, other: Any) -> Sequential:
        return self._joined("add", other, lambda: chain(self, other))

    def __iadd__(self, other: Any) -> Self:
        self._joined("add", other, lambda: ())
        for module in list(other):
            self.append(module)
        return self

    def _joined(self, operator: str, other: object, modules: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(
                f"{operator} operator supports only objects of Sequential class, but {type(other)} is given."
            )
        return Sequential(*modules())

    def __mul__(self, other: int) -> Sequential:
        self._check_factor(other)
        return Sequential(*(module for _ in range(other) for module in self))

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Self:
        self._check_factor(other)
        modules = list(self)
        for _ in range(other - 1):
            self.extend(modules)
        return self

    def _check_factor(self, other: object) -> None:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")

    def pop(self, key: SupportsIndex | slice) -> Module:
        """Removes and returns the module at a position."""
        module = self[key]
        del self[key]
        return module

    def append(self, module: Module) -> Self:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> Self:
        """Adds a module before a position."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        size = len(self)
        if not -size <= index <= size:
            raise IndexError(f"Index out of range: {index}")
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Adds modules at the end."""
        for module in sequential:
            self.append(module)
        return self

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]


def _position(index: SupportsIndex, size: int) -> int:
    """Returns the position for an index of a list. A negative index counts from the end."""
    number = operator.index(index)
    if not -size <= number < size:
        raise IndexError(f"index {number} is out of range")
    return number % size


class ModuleList(Module):
    """A list of modules that registers them as its submodules.

    >>> layers = torch.nn.ModuleList([torch.nn.Linear(2, 2) for _ in range(3)])
    >>> layers
    ModuleList(
      (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)
    )

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.ModuleList.html
    """

    _modules: dict[str, Module]  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self += modules

    def __getitem__(self, idx: SupportsIndex | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)(list(self._modules.values())[idx])
        return self._modules[str(_position(idx, len(self)))]

    def __setitem__(self, idx: SupportsIndex, module: Module) -> None:
        setattr(self, str(_position(idx, len(self))), module)

    def __delitem__(self, idx: SupportsIndex | slice) -> None:
        for name in list(self._modules)[idx] if isinstance(idx, slice) else [str(_position(idx, len(self)))]:
            delattr(self, name)
        self._renumber(list(self._modules.values()))

    _renumber = Sequential._renumber

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def insert(self, index: int, module: Module) -> None:
        """Adds a module before a position."""
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)

    def append(self, module: Module) -> Self:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: SupportsIndex | slice) -> Module:
        """Removes and returns the module at a position."""
        module = self[key]
        del self[key]
        return module

    def extend(self, modules: Iterable[Module]) -> Self:
        """Adds modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for module in list(modules):
            self.append(module)
        return self

    def __repr__(self) -> str:
        texts = [repr(module) for module in self]
        if not texts:
            return self._get_name() + "()"
        lines, start = [], 0
        for end in range(1, len(texts) + 1):
            if end < len(texts) and texts[end] == texts[start]:
                continue  # equal neighbours are shown in one line
            count = end - start
            label = f"({start}): " if count == 1 else f"({start}-{end - 1}): {count} x "
            lines.append(_indent(label + texts[start]))
            start = end
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]


class ModuleDict(Module):
    """A dictionary of modules that registers them as its submodules.

    >>> heads = torch.nn.ModuleDict({"a": torch.nn.Linear(2, 1), "b": torch.nn.Identity()})
    >>> list(heads.keys())
    ['a', 'b']

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.ModuleDict.html
    """

    def __init__(self, modules: object = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: Tensor) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Removes all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Removes and returns a module."""
        module = self[key]
        del self[key]
        return module

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._modules.keys()

    def items(self) -> ItemsView[str, Module]:
        """Names and modules."""
        return self._modules.items()

    def values(self) -> ValuesView[Module]:
        """The modules."""
        return self._modules.values()

    def update(self, modules: object) -> None:
        """Adds modules from a mapping, or from pairs of name and module."""
        for key, module in _pairs(modules, "ModuleDict", "ModuleDict"):
            self[key] = module


def _pairs(elements: object, update_of: str, element_of: str) -> Iterable[tuple[str, Any]]:
    """The names and values of a mapping, or of an iterable of pairs, which are checked one by one."""
    if not isinstance(elements, Iterable):
        raise TypeError(
            f"{update_of}.update should be called with an iterable of key/value pairs, but got {type(elements).__name__}"
        )
    if isinstance(elements, (Mapping, ModuleDict, ParameterDict)):
        yield from elements.items()
        return
    for number, pair in enumerate(elements):
        if not isinstance(pair, Iterable):
            raise TypeError(
                f"{element_of} update sequence element #{number} should be Iterable; is{type(pair).__name__}"
            )
        pair = tuple(pair)
        if len(pair) != 2:
            raise ValueError(f"{element_of} update sequence element #{number} has length {len(pair)}; 2 is required")
        yield pair


def _shape_in_words(tensor: Tensor) -> str:
    return "x".join(map(str, tensor.shape))


class ParameterList(Module):
    """A list whose tensors are registered as parameters; it may have other values too.

    >>> torch.nn.ParameterList([torch.ones(2), torch.ones(2, 3)])
    ParameterList(
        (0): Parameter containing: [torch.float32 of size 2]
        (1): Parameter containing: [torch.float32 of size 2x3]
    )

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.ParameterList.html
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def __getitem__(self, idx: SupportsIndex | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)(getattr(self, str(i)) for i in range(*idx.indices(len(self))))
        return getattr(self, str(_position(idx, len(self))))

    def __setitem__(self, idx: SupportsIndex, param: Tensor) -> None:
        setattr(self, str(_position(idx, len(self))), _as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])

    def __iadd__(self, parameters: Iterable[object]) -> Self:
        return self.extend(parameters)

    def append(self, value: Tensor) -> Self:
        """Adds a value at the end; a tensor becomes a parameter."""
        self._size += 1
        self[len(self) - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Adds values at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        lines = []
        for i, value in enumerate(self):
            if isinstance(value, Tensor):
                kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
                place = "" if value.is_cpu else f" ({value.device})"
                lines.append(f"  ({i}): {kind} containing: [{value.dtype} of size {_shape_in_words(value)}{place}]")
            else:
                lines.append(f"  ({i}): Object of type: {type(value).__name__}")
        return "\n".join(lines)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        raise RuntimeError("ParameterList should not be called.")

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]


def _as_parameter(value: object) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


class ParameterDict(Module):
    """A dictionary whose tensors are registered as parameters; it may have other values too.

    >>> weights = torch.nn.ParameterDict({"left": torch.ones(2)})
    >>> weights["left"].requires_grad
    True

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.ParameterDict.html
    """

    def __init__(self, parameters: object = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    @staticmethod
    def _attribute(key: object) -> str:
        if not isinstance(key, str):
            raise TypeError(f"Index given to ParameterDict cannot be used as a key as it is not a string (type is '{type(key).__name__}'). Open an issue on github if you need non-string keys.")  # fmt: skip  # noqa: E501
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._attribute(key))

    def __setitem__(self, key: str, value: object) -> None:
        name = self._attribute(key)
        self._keys[key] = None
        setattr(self, name, _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._attribute(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: Tensor) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """A new dictionary of the same parameters."""
        return ParameterDict(OrderedDict((k, self[k]) for k in self._keys))

    def setdefault(self, key: str, default: object = None) -> Any:
        """Returns the value of a key. A missing key is set to ``default`` first."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Removes everything."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Removes and returns a value."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Removes and returns the last key and its value."""
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def get(self, key: str, default: object = None) -> Any:
        """The value of a key, or ``default``."""
        return self[key] if key in self else default  # noqa: SIM401  # this is that method

    def fromkeys(self, keys: Iterable[str], default: object = None) -> ParameterDict:
        """A new dictionary with these keys, all of one value."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> KeysView[str]:
        """The keys."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Keys and values."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """The values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: object) -> None:
        """Adds values from a mapping, or from pairs of key and value."""
        pairs = _pairs(parameters, "ParametersDict", "ParameterDict")
        # PyTorch sorts the items of a plain mapping, and keeps the order of all others.
        plain = isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict)
        for key, value in sorted(pairs) if plain else pairs:
            self[key] = value

    def extra_repr(self) -> str:
        lines = []
        for key, value in self.items():
            if isinstance(value, Tensor):
                kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
                place = "" if value.is_cpu else f" ({value.device})"
                lines.append(
                    f"  ({key}): {kind} containing: [{typename(value)} of size {_shape_in_words(value)}{place}]"
                )
            else:
                lines.append(f"  ({key}): Object of type: {type(value).__name__}")
        return "\n".join(lines)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: ParameterDict) -> ParameterDict:
        joined = self.copy()
        joined.update(other)
        return joined

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        joined = other.copy()
        joined.update(self)
        return joined

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self
