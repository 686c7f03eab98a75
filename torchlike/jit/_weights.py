"""Archives of PyTorch's ``torch.jit.save``: their modules with weights and attributes, without the program in TorchScript."""

from __future__ import annotations

import re
from collections import OrderedDict
from pickle import UnpicklingError
from typing import Any, NoReturn

from .._core.tensor import Tensor
from ..nn import Module
from ..nn.parameter import Parameter
from ..serialization._load import load_script

__all__ = ["load_weights"]

_LISTED = re.compile(r"^class (\w+)\(Module\):\n  __parameters__ = \[(.*?)\]\n  __buffers__ = \[(.*?)\]", re.MULTILINE)


class Loaded(Module):
    """A module of an archive of PyTorch's: its parameters, buffers, attributes and modules.

    Raises:
        NotImplementedError: it is called.
    """

    def forward(self, *args: object, **kwargs: object) -> NoReturn:
        raise NotImplementedError(
            f"torchlike does not run TorchScript, in which this file has the program of {self.original_name}. Make the module by its "
            "Python class, and give it the weights: module.load_state_dict(torch.jit.load(f).state_dict()). Where the class is lost, "
            "PyTorch can write the module anew, as by torch.onnx.export"
        )


class _Object:
    """What an archive says about an object of a class in TorchScript."""

    address: str


def load_weights(f: Any, map_location: Any) -> Loaded:
    """The module in an archive."""
    kinds: dict[str, type[_Object]] = {}

    def find(module: str, name: str) -> Any:
        if module.partition(".")[0] == "__torch__":
            address = f"{module}.{name}"
            return kinds.setdefault(address, type(name, (_Object,), {"address": address}))
        if module == "torch.jit._pickle":
            return _same
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch", "device"):
            return str
        raise UnpicklingError(f"torchlike does not know {module}.{name}, which this TorchScript archive uses")

    root, code = load_script(f, map_location, find)
    return _Modules(_Sources(code)).module(root)


def _same(value: object, *kind: object) -> object:
    """Lists and dictionaries are written with their types, which Python does not need."""
    return value


class _Sources:
    """Which tensors of the classes in an archive are parameters and buffers: its code says so."""

    def __init__(self, code: dict[str, str]) -> None:
        self._code = code
        self._known: dict[str, tuple[set[str], set[str]]] = {}

    def of(self, address: str) -> tuple[set[str], set[str]]:
        """The names of the parameters and of the buffers."""
        if address not in self._known:
            path = f"code/{address.rpartition('.')[0].replace('.', '/')}.py"
            for name, parameters, buffers in _LISTED.findall(self._code.get(path, "")):
                names = (set(re.findall(r'"(.*?)"', listed)) for listed in (parameters, buffers))
                self._known[f"{address.rpartition('.')[0]}.{name}"] = tuple(names)  # pyright: ignore[reportArgumentType]
            self._known.setdefault(address, (set(), set()))
        return self._known[address]


class _Modules:
    """Makes modules of what an archive says. What has two places in it has two in them."""

    def __init__(self, sources: _Sources) -> None:
        self._sources = sources
        self._made: dict[int, Loaded] = {}
        self._parameters: dict[int, Parameter] = {}

    def module(self, found: _Object) -> Loaded:
        """The module for an object."""
        if id(found) in self._made:
            return self._made[id(found)]
        module = self._made[id(found)] = Loaded()
        object.__setattr__(module, "original_name", found.address.rpartition(".")[2])
        parameters, buffers = self._sources.of(found.address)
        for name, value in vars(found).items():
            if isinstance(value, _Object):
                module.add_module(name, self.module(value))
            elif name in parameters:
                module.register_parameter(name, None if value is None else self._parameter(value))
            elif name in buffers:
                module.register_buffer(name, value)
            elif name == "training":
                module.training = bool(value)
            elif name != "_is_full_backward_hook":
                object.__setattr__(module, name, value)
        return module

    def _parameter(self, tensor: Tensor) -> Parameter:
        if id(tensor) not in self._parameters:
            self._parameters[id(tensor)] = Parameter(tensor.detach(), requires_grad=tensor.requires_grad)
        return self._parameters[id(tensor)]
