"""``torch.export.export``: what a module calls, as a graph of operators whose inputs are its parameters, buffers and arguments."""

from __future__ import annotations

import enum
import inspect
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .._core.tensor import Tensor
from ..autograd.grad_mode import no_grad
from ..fx import Graph, GraphModule, Node
from ..nn.modules.module import Module
from ..utils._python_dispatch import TorchDispatchMode
from ..utils._pytree import tree_flatten, tree_map
from ._sizes import Range, Sizes, snapshot, varying

__all__ = [
    "ArgumentSpec",
    "ExportGraphSignature",
    "ExportedProgram",
    "InputKind",
    "InputSpec",
    "OutputKind",
    "OutputSpec",
    "export",
]

_SAME = frozenset(("aten.detach.default", "aten.alias.default", "aten.lift_fresh.default"))


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
    GRADIENT_TO_PARAMETER = enum.auto()
    GRADIENT_TO_USER_INPUT = enum.auto()
    USER_INPUT_MUTATION = enum.auto()
    TOKEN = enum.auto()


@dataclass
class ArgumentSpec:
    """A tensor in the graph, by the name of its node."""

    name: str


@dataclass
class InputSpec:
    """An input of the graph. ``target``: the name of the parameter or buffer in the module."""

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
    """Which inputs of the graph are parameters, buffers and arguments."""

    input_specs: list[InputSpec] = field(default_factory=list)
    output_specs: list[OutputSpec] = field(default_factory=list)

    def _of(self, kind: InputKind) -> dict[str, str]:
        return {spec.arg.name: str(spec.target) for spec in self.input_specs if spec.kind is kind}

    @property
    def inputs_to_parameters(self) -> Mapping[str, str]:
        """The parameter of each input that is one."""
        return self._of(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> Mapping[str, str]:
        """The buffer of each input that is one."""
        return self._of(InputKind.BUFFER)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return tuple(self.inputs_to_parameters.values())

    @property
    def buffers(self) -> tuple[str, ...]:
        """The names of the buffers."""
        return tuple(self.inputs_to_buffers.values())

    @property
    def user_inputs(self) -> tuple[str, ...]:
        """The names of the arguments."""
        return tuple(self._of(InputKind.USER_INPUT))

    @property
    def user_outputs(self) -> tuple[str, ...]:
        """The names of the nodes that are results."""
        return tuple(spec.arg.name for spec in self.output_specs)


class _Recording(TorchDispatchMode):
    """Writes each operator into a graph."""

    sees_whole = True

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph
        self.nodes: dict[int, Node] = {}
        self.alive: list[Tensor] = []  # so that no other tensor gets the identity of one
        self.constants: dict[str, Tensor] = {}

    def note(self, tensor: Tensor, node: Node) -> None:
        """Notes which node a tensor is."""
        self.nodes[id(tensor)] = node
        self.alive.append(tensor)

    def node_of(self, value: Any) -> Any:
        """The node of a tensor, which may be one that the module made by itself; what is no tensor is itself."""
        if not isinstance(value, Tensor):
            return value
        if id(value) not in self.nodes:
            name = f"lifted_tensor_{len(self.constants)}"
            self.constants[name] = value
            self.note(value, self.graph.create_node("get_attr", name, (), {}, name=name))
        return self.nodes[id(value)]

    def __torch_dispatch__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> Any:
        if str(func) == "aten._local_scalar_dense.default" and id(args[0]) in self.nodes:
            raise RuntimeError(
                "torchlike does not support torch.export.export of a module that reads an element of a tensor (item, bool)"
            )
        result = func(*args, **(kwargs or {}))
        if str(func) in _SAME:
            self.note(result, self.node_of(args[0]))
            return result
        node_arguments = tree_map(self.node_of, tuple(args)), tree_map(self.node_of, dict(kwargs or {}))
        node = self.graph.create_node("call_function", func, *node_arguments, name=func._overloadpacket.__name__)
        if isinstance(result, Tensor):
            self.note(result, node)
            node.meta["val"] = result.detach()
        elif isinstance(result, (tuple, list)):
            for number, each in enumerate(result):
                if isinstance(each, Tensor):
                    self.note(each, self.graph.call_function(operator.getitem, (node, number)))
        return result


class ExportedProgram:
    """The graph of a module, with its parameters and buffers. ``export`` makes it.

    Attributes:
        graph: the nodes.
        graph_signature: what the inputs and outputs of the graph are.
        state_dict: the parameters and the buffers.
        example_inputs: the arguments that it was made with.
        range_constraints: the bounds of the sizes that vary.
    """

    def __init__(
        self,
        graph: Graph,
        graph_signature: ExportGraphSignature,
        result: Any,
        example_inputs: Any,
        state_dict: dict[str, Any],
        buffers: dict[str, Tensor],
        constants: dict[str, Tensor],
        sizes: Sizes | None = None,
        source: Module | None = None,
    ) -> None:
        self._sizes, self._source = sizes, source
        self.graph, self.graph_signature, self.example_inputs = graph, graph_signature, example_inputs
        self.state_dict, self.constants = state_dict, constants
        self._result, self._buffers = result, buffers

    @property
    def graph_module(self) -> GraphModule:
        """The graph as a module that takes parameters and buffers as arguments."""
        return GraphModule(dict(self.constants), self.graph)  # pyright: ignore[reportArgumentType]

    @property
    def range_constraints(self) -> dict[str, Range]:
        """The bounds of the sizes that vary, by names of torchlike's own."""
        return {} if self._sizes is None else dict(self._sizes.ranges())

    def named_parameters(self) -> Iterator[tuple[str, Any]]:
        """The parameters by name."""
        return ((name, self.state_dict[name]) for name in self.graph_signature.parameters)

    def parameters(self) -> Iterator[Any]:
        """The parameters."""
        return (parameter for _, parameter in self.named_parameters())

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """The buffers by name."""
        return ((name, self._buffers[name]) for name in self.graph_signature.buffers)

    def buffers(self) -> Iterator[Tensor]:
        """The buffers."""
        return (buffer for _, buffer in self.named_buffers())

    def module(self) -> Module:
        """A module that runs the graph with the parameters, and takes and returns what the exported one does."""
        return _Exported(self)

    def __str__(self) -> str:
        return f"ExportedProgram:\n{self.graph}\nGraph signature: {self.graph_signature}"


class _Exported(Module):
    """Runs the graph of a program."""

    def __init__(self, program: ExportedProgram) -> None:
        super().__init__()
        object.__setattr__(self, "_program", program)
        object.__setattr__(self, "_by_sizes", {})
        self.graph = program.graph
        for name, parameter in program.named_parameters():
            _place(self, name, parameter, Module.register_parameter)
        for name, buffer in program.named_buffers():
            _place(self, name, buffer, Module.register_buffer)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        program: ExportedProgram = self._program  # pyright: ignore[reportAssignmentType]
        own = dict(self.named_parameters(remove_duplicate=False)) | dict(self.named_buffers(remove_duplicate=False))
        program = self._for_sizes(program, args, kwargs)
        tensors = [each for each in tree_flatten((args, kwargs))[0] if isinstance(each, Tensor)]
        values: dict[Node, Any] = {}
        arguments = iter(tensors)
        for node, spec in zip(
            [n for n in program.graph.nodes if n.op == "placeholder"], program.graph_signature.input_specs, strict=True
        ):
            values[node] = own[spec.target] if spec.target is not None else next(arguments)

        def value(leaf: Any) -> Any:
            return values[leaf] if isinstance(leaf, Node) else leaf

        for node in program.graph.nodes:
            if node.op == "get_attr":
                values[node] = program.constants[str(node.target)]
            elif node.op == "call_function":
                function: Callable[..., Any] = node.target  # pyright: ignore[reportAssignmentType]
                values[node] = function(*tree_map(value, node.args), **tree_map(value, node.kwargs))
        return tree_map(value, program._result)

    def _for_sizes(
        self, program: ExportedProgram, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> ExportedProgram:
        """The program for the sizes of these arguments: the graph names sizes by number, so others need a graph of their own."""
        tensors = [each for each in tree_flatten((args, kwargs))[0] if isinstance(each, Tensor)]
        examples = [each for each in tree_flatten(program.example_inputs)[0] if isinstance(each, Tensor)]
        if len(tensors) != len(examples):
            given, taken = (tree_flatten(each)[1] for each in ((args, kwargs), program.example_inputs))
            raise ValueError(
                f"Trying to flatten user inputs with exported input tree spec: \n{taken}\nbut actually got inputs with tree spec of: "
                f"\n{given}.\nPlease check that the inputs have the same number and type of args and kwargs as the ones you used when "
                "tracing."
            )
        if program._sizes is None:  # read from a file
            names = program.graph_signature.user_inputs
            for name, each, example in zip(names, tensors, examples, strict=True):
                for dim, (size, expected_size) in enumerate(zip(each.shape, example.shape, strict=True)):
                    if size != expected_size:
                        raise AssertionError(f"Guard failed: {name}.size()[{dim}] == {expected_size}")
            return program
        program._sizes.check(tensors)
        shapes = tuple(each.shape for each in tensors)
        if shapes == tuple(each.shape for each in examples) or program._source is None:
            return program
        if shapes not in self._by_sizes:
            self._by_sizes[shapes] = _recorded(program._source, args, kwargs)
        return self._by_sizes[shapes]


def _place(module: Module, name: str, tensor: Any, register: Callable[..., None]) -> None:
    *path, last = name.split(".")
    for part in path:
        if part not in module._modules:
            module.add_module(part, Module())
        module = module._modules[part]  # pyright: ignore[reportAssignmentType]
    register(module, last, tensor)


def export(
    mod: Module, args: tuple[object, ...], kwargs: dict[str, object] | None = None, *, dynamic_shapes: object = None, strict: bool = False,
    preserve_module_call_signature: tuple[str, ...] = (), prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:  # fmt: skip
    """The graph of operators that a module calls for these arguments.

    Operators that write in place stay in the graph, where PyTorch replaces them.

    Args:
        mod: the module.
        args, kwargs: example arguments. The sizes of the graph are theirs.
        dynamic_shapes: for each argument, by name or in order, which of its sizes may vary: a dictionary from dimensions, or a list, of
            ``Dim`` s, hints (``Dim.AUTO``), numbers or None. The program then has a graph for each combination of sizes that comes.
        strict: taken and without a meaning, as are the two others: the module runs once.

    Raises:
        UserError: the module needs a size that is said to vary to be what it is.
        RuntimeError: what the module does depends on an element of a tensor.

    >>> program = torch.export.export(torch.nn.Linear(2, 1), (torch.ones(3, 2),))
    >>> [str(node.target) for node in program.graph.nodes]
    ['p_weight', 'p_bias', 'input', 'aten.linear.default', 'output']

    Source: https://docs.pytorch.org/docs/stable/export/api_reference.html#torch.export.export
    """
    if not isinstance(mod, Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    bound = inspect.signature(mod.forward).bind(*args, **(kwargs or {}))
    sizes = varying(mod, bound, dynamic_shapes)
    program = _recorded(mod, args, kwargs or {})
    program._sizes = sizes
    if sizes.symbols:
        program._source = snapshot(mod)
    return program


def _recorded(mod: Module, args: tuple[object, ...], kwargs: dict[str, object]) -> ExportedProgram:
    """The program for the sizes of these arguments."""
    graph, signature = Graph(), ExportGraphSignature()
    recorded = _Recording(graph)

    def enter(name: str, tensor: Tensor, kind: InputKind, target: str | None) -> None:
        node = graph.placeholder(name)
        recorded.note(tensor, node)
        signature.input_specs.append(InputSpec(kind, ArgumentSpec(node.name), target))

    for name, parameter in mod.named_parameters():
        enter(f"p_{name.replace('.', '_')}", parameter, InputKind.PARAMETER, name)
    for name, buffer in mod.named_buffers():
        enter(f"b_{name.replace('.', '_')}", buffer, InputKind.BUFFER, name)
    bound = inspect.signature(mod.forward).bind(*args, **kwargs)
    for name, value in bound.arguments.items():
        tensors = [each for each in tree_flatten(value)[0] if isinstance(each, Tensor)]
        for number, each in enumerate(tensors):
            enter(name if tensors == [value] else f"{name}_{number}", each, InputKind.USER_INPUT, None)
    with no_grad(), recorded:
        result = mod(*args, **kwargs)
    outputs = tree_map(recorded.node_of, result)
    flat = [each for each in tree_flatten(outputs)[0] if isinstance(each, Node)]
    graph.output(tuple(flat))
    signature.output_specs = [OutputSpec(OutputKind.USER_OUTPUT, ArgumentSpec(node.name), None) for node in flat]
    state = dict(mod.state_dict(keep_vars=True))
    return ExportedProgram(
        graph, signature, outputs, (args, kwargs), state, dict(mod.named_buffers()), recorded.constants
    )


draft_export = export
