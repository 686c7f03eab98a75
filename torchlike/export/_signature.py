"""What the inputs and outputs of an exported graph are: parameters, buffers, constants, arguments and results."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

__all__ = [
    "ArgumentSpec",
    "ConstantArgument",
    "ExportGraphSignature",
    "InputKind",
    "InputSpec",
    "OutputKind",
    "OutputSpec",
    "TensorArgument",
]


class InputKind(enum.Enum):
    """What an input of the graph is."""

    USER_INPUT = enum.auto()
    PARAMETER = enum.auto()
    BUFFER = enum.auto()
    CONSTANT_TENSOR = enum.auto()
    CUSTOM_OBJ = enum.auto()
    TOKEN = enum.auto()


class OutputKind(enum.Enum):
    """What an output of the graph is."""

    USER_OUTPUT = enum.auto()
    LOSS_OUTPUT = enum.auto()
    BUFFER_MUTATION = enum.auto()
    PARAMETER_MUTATION = enum.auto()
    GRADIENT_TO_PARAMETER = enum.auto()
    GRADIENT_TO_USER_INPUT = enum.auto()
    USER_INPUT_MUTATION = enum.auto()
    TOKEN = enum.auto()


@dataclass
class TensorArgument:
    """A tensor in the graph, by the name of its node."""

    name: str


@dataclass
class ConstantArgument:
    """An argument or result that is no tensor: a number, a text, None. The graph holds for this value alone."""

    name: str
    value: object = None


ArgumentSpec = TensorArgument | ConstantArgument


@dataclass
class InputSpec:
    """An input of the graph. ``target``: the name of the parameter, buffer or constant in the module."""

    kind: InputKind
    arg: ArgumentSpec
    target: str | None
    persistent: bool | None = None


@dataclass
class OutputSpec:
    """An output of the graph."""

    kind: OutputKind
    arg: ArgumentSpec
    target: str | None


@dataclass
class ExportGraphSignature:
    """Which inputs of the graph are parameters, buffers, constants and arguments."""

    input_specs: list[InputSpec] = field(default_factory=list)
    output_specs: list[OutputSpec] = field(default_factory=list)

    def _of(self, kind: InputKind) -> Mapping[str, str]:
        return MappingProxyType({spec.arg.name: str(spec.target) for spec in self.input_specs if spec.kind is kind})

    @property
    def inputs_to_parameters(self) -> Mapping[str, str]:
        """The parameter of each input that is one."""
        return self._of(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> Mapping[str, str]:
        """The buffer of each input that is one."""
        return self._of(InputKind.BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self) -> Mapping[str, str]:
        """The constant of each input that is one."""
        return self._of(InputKind.CONSTANT_TENSOR)

    @property
    def buffers_to_mutate(self) -> Mapping[str, str]:
        """Empty: operators that write in place stay in the graph, so no output stands for a buffer."""
        return MappingProxyType({})

    @property
    def user_inputs_to_mutate(self) -> Mapping[str, str]:
        """Empty, as ``buffers_to_mutate``."""
        return MappingProxyType({})

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return tuple(self.inputs_to_parameters.values())

    @property
    def buffers(self) -> tuple[str, ...]:
        """The names of the buffers."""
        return tuple(self.inputs_to_buffers.values())

    @property
    def non_persistent_buffers(self) -> set[str]:
        """The names of the buffers that are not part of the module's state."""
        return {
            str(spec.target) for spec in self.input_specs if spec.kind is InputKind.BUFFER and spec.persistent is False
        }

    @property
    def lifted_tensor_constants(self) -> tuple[str, ...]:
        """The names of the constants."""
        return tuple(self.inputs_to_lifted_tensor_constants.values())

    @property
    def user_inputs(self) -> tuple[object, ...]:
        """The arguments: names of tensors' nodes, and the values of the others."""
        return tuple(_shown(spec.arg) for spec in self.input_specs if spec.kind is InputKind.USER_INPUT)

    @property
    def user_outputs(self) -> tuple[object, ...]:
        """The results: names of tensors' nodes, and the values of the others."""
        return tuple(_shown(spec.arg) for spec in self.output_specs if spec.kind is OutputKind.USER_OUTPUT)


def _shown(argument: ArgumentSpec) -> object:
    return argument.value if isinstance(argument, ConstantArgument) else argument.name
