"""``torch.export.export``: what a module calls, as a graph of operators whose inputs are its parameters, buffers and arguments."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from jax.export import Exported

from .._core.tensor import Tensor
from .._dynamo.exc import UserError
from .._ops import operator
from ..fx import Graph, GraphModule, Node
from ..nn.modules.module import Module
from ..nn.utils._copies import constants_of, copied, snapshot
from ..utils._pytree import TreeSpec, tree_flatten, tree_unflatten
from ._inputs import Input, flat, in_order, inputs_of
from ._recording import Recording
from ._regions import Switches, with_regions
from ._running import run
from ._signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from ._sizes import Range, Sizes, varying
from ._to_jax import artifact_of
from ._varying_program import symbols_of_sizes
from .dynamic_shapes import ABOVE

__all__ = ["ExportedProgram", "draft_export", "export"]


class ExportedProgram:
    """The graph of a module, with its parameters and buffers. ``export`` makes it.

    Attributes:
        graph: the nodes. Operators that ran with gradients or autocast switched otherwise are graphs of their own within it.
        graph_signature: what the inputs and outputs of the graph are.
        state_dict: the parameters and the buffers.
        constants: the tensors that the module has or makes besides, and the buffers that are not part of its state.
        example_inputs: the arguments that it was made with.
        range_constraints: the bounds of the sizes that vary.
    """

    def __init__(
        self, graph: Graph, graph_signature: ExportGraphSignature, modules: dict[str, GraphModule], inputs: list[Input],
        out_spec: TreeSpec, example_inputs: Any, state_dict: dict[str, Tensor], buffers: dict[str, Tensor],
        constants: dict[str, Tensor],
    ) -> None:  # fmt: skip
        self.graph, self.graph_signature, self.example_inputs = graph, graph_signature, example_inputs
        self.state_dict, self.constants = state_dict, constants
        self._modules, self._inputs, self._out_spec, self._buffers = modules, inputs, out_spec, buffers
        self._in_spec = tree_flatten(example_inputs)[1]
        self._sizes: Sizes | None = None
        self._source: Module | None = None

    @property
    def graph_module(self) -> GraphModule:
        """The graph as a module that takes parameters and buffers as arguments."""
        return GraphModule(dict(self._modules), self.graph)  # pyright: ignore[reportArgumentType]

    @property
    def range_constraints(self) -> dict[str, Range]:
        """The bounds of the sizes that vary, by names of torchlike's own."""
        return {} if self._sizes is None else dict(self._sizes.ranges())

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        """The parameters by name."""
        return ((name, self.state_dict[name]) for name in self.graph_signature.parameters)

    def parameters(self) -> Iterator[Tensor]:
        """The parameters."""
        return (parameter for _, parameter in self.named_parameters())

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """The buffers by name."""
        return ((name, self._buffers[name]) for name in self.graph_signature.buffers)

    def buffers(self) -> Iterator[Tensor]:
        """The buffers."""
        return (buffer for _, buffer in self.named_buffers())

    def module(self, check_guards: bool = True) -> Module:
        """A module that runs the graph with the parameters, and takes and returns what the exported one does."""
        return _Exported(self)

    def to_stablehlo(self) -> Exported:
        """The program as StableHLO with its weights and its sizes that vary, which JAX runs without torchlike: see ``export_jax``.

        >>> program = torch.export.export(torch.nn.Linear(2, 1), (torch.ones(3, 2),), dynamic_shapes=({0: torch.export.Dim("n")},))
        >>> program.to_stablehlo().out_avals
        (ShapedArray(float32[n,1]),)
        """
        args, kwargs = self.example_inputs
        return artifact_of(self._source or self.module(), args, kwargs, symbols_of_sizes(self._sizes))

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        raise RuntimeError(
            "Unable to call ExportedProgram directly. You should use `exported_program.module()` instead."
        )

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
        lasting = program.graph_signature.non_persistent_buffers
        for name, buffer in program.named_buffers():
            _place(self, name, buffer, Module.register_buffer, persistent=name not in lasting)

    def train(self, mode: bool = True) -> NoReturn:
        """Raises: a graph was made in one of the two."""
        raise NotImplementedError("Calling train() is not supported yet.")

    def eval(self) -> NoReturn:
        """Raises, as ``train``."""
        raise NotImplementedError("Calling eval() is not supported yet.")

    def forward(self, *args: object, **kwargs: object) -> Any:
        program: ExportedProgram = self._program  # pyright: ignore[reportAssignmentType]
        leaves = flat(args, kwargs, program.example_inputs, program._in_spec)
        program = self._for_sizes(program, args, kwargs, leaves)
        own = dict(self.named_parameters(remove_duplicate=False)) | dict(self.named_buffers(remove_duplicate=False))
        given = iter(leaves)
        values = [
            next(given) if spec.kind is InputKind.USER_INPUT
            else program.constants[str(spec.target)] if spec.kind is InputKind.CONSTANT_TENSOR
            else own[str(spec.target)]
            for spec in program.graph_signature.input_specs
        ]  # fmt: skip
        return tree_unflatten(run(program.graph, program._modules, values), program._out_spec)

    def _for_sizes(
        self, program: ExportedProgram, args: tuple[object, ...], kwargs: dict[str, object], leaves: list[Any]
    ) -> ExportedProgram:
        """The program for the sizes of these arguments: the graph names sizes by number, so others need a graph of their own."""
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        for each, leaf in zip(program._inputs, leaves, strict=True):
            if isinstance(each.example, Tensor) and not isinstance(leaf, Tensor):
                raise AttributeError(f"{type(leaf).__name__!r} object has no attribute 'size'")
        if program._sizes is None:  # read from a file
            for each, leaf in zip(program._inputs, leaves, strict=True):
                for dim, size in enumerate(each.example.shape if isinstance(each.example, Tensor) else ()):
                    if dim >= leaf.dim() or leaf.shape[dim] != size:
                        raise AssertionError(f"Guard failed: {each.shown}.size()[{dim}] == {size}")
        else:
            program._sizes.check(tensors)
        for each, leaf in zip(program._inputs, leaves, strict=True):
            each.check(leaf)
        shapes = tuple(each.shape for each in tensors)
        examples = tuple(each.example.shape for each in program._inputs if isinstance(each.example, Tensor))
        if program._source is None or shapes == examples:
            return program
        if shapes not in self._by_sizes:
            own = _recorded(program._source, args, {name: kwargs[name] for name in program.example_inputs[1]})
            _check_same_operators(own.graph, program.graph)
            self._by_sizes[shapes] = own
        return self._by_sizes[shapes]


def _check_same_operators(graph: Graph, other: Graph) -> None:
    """Checks that sizes alone distinguish two graphs.

    Raises:
        AssertionError: the module branches, or loops, by its sizes.
    """
    targets, others = ([(node.op, str(node.target)) for node in each.nodes] for each in (graph, other))
    if targets != others:
        raise AssertionError(
            "Guard failed: the module calls other operators for these sizes than for those of its example"
        )


def _place(module: Module, name: str, tensor: Tensor, register: Callable[..., None], **options: object) -> None:
    *path, last = name.split(".")
    for part in path:
        if part not in module._modules:
            module.add_module(part, Module())
        module = module._modules[part]  # pyright: ignore[reportAssignmentType]
    register(module, last, tensor, **options)


def export(
    mod: Module, args: tuple[object, ...], kwargs: dict[str, object] | None = None, *, dynamic_shapes: object = None, strict: bool = False,
    preserve_module_call_signature: tuple[str, ...] = (), prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:  # fmt: skip
    """The graph of operators that a module calls for these arguments.

    A copy of the module runs once, on copies of the arguments: neither they nor the random numbers change. The graph keeps ``detach``,
    and regions in which gradients or autocast are switched. Operators that write in place stay in it.

    Args:
        mod: the module.
        args, kwargs: example arguments. The sizes of the graph are theirs.
        dynamic_shapes: for each argument, by name or in order, which of its sizes may vary: a dictionary from dimensions, or a list, of
            ``Dim`` s, hints (``Dim.AUTO``), numbers or None. The program then has a graph for each combination of sizes that comes.
            What is no tensor is a constant: the program refuses other values.
        strict: taken and without a meaning, as are the two others: the module runs once.

    Raises:
        UserError: the module needs a size that is said to vary to be what it is, or ``args`` is no tuple.
        RuntimeError: what the module does depends on an element of a tensor.

    >>> program = torch.export.export(torch.nn.Linear(2, 1), (torch.ones(3, 2),))
    >>> [str(node.target) for node in program.graph.nodes]
    ['p_weight', 'p_bias', 'input', 'aten.linear.default', 'output']

    Source: https://docs.pytorch.org/docs/stable/export/api_reference.html#torch.export.export
    """
    if not isinstance(mod, Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if not isinstance(args, tuple):
        raise UserError(f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}{ABOVE}")
    kwargs = in_order(mod.forward, kwargs or {})
    inputs_of(mod.forward, args, kwargs)
    bound = inspect.signature(mod.forward).bind(*args, **kwargs)
    sizes = varying(mod, bound, dynamic_shapes)
    program = _recorded(mod, args, kwargs)
    program._sizes = sizes
    if sizes.symbols:
        program._source = snapshot(mod)
    return program


def _recorded(mod: Module, args: tuple[object, ...], kwargs: dict[str, object]) -> ExportedProgram:
    """The program for the sizes of these arguments."""
    recording, signature = Recording(), ExportGraphSignature()
    around = Switches.now()
    own, (own_args, own_kwargs), memo = copied(mod, arguments=(args, kwargs))
    nodes: list[Node] = []

    def enter(name: str, value: object, spec: InputSpec) -> None:
        node = recording.graph.placeholder(name)
        if isinstance(value, Tensor):
            recording.note(value, node)
        spec.arg.name = node.name
        signature.input_specs.append(spec)
        nodes.append(node)

    state = mod.state_dict(keep_vars=True)
    for name, parameter in own.named_parameters(remove_duplicate=False):
        enter(f"p_{name.replace('.', '_')}", parameter, InputSpec(InputKind.PARAMETER, TensorArgument(""), name))
    buffers = dict(own.named_buffers(remove_duplicate=False))
    for name, buffer in buffers.items():
        spec = InputSpec(InputKind.BUFFER, TensorArgument(""), name, name in state)
        enter(f"b_{name.replace('.', '_')}", buffer, spec)
    inputs = inputs_of(mod.forward, args, kwargs)
    leaves = tree_flatten((own_args, own_kwargs))[0]
    for each, leaf in zip(inputs, leaves, strict=True):
        argument = TensorArgument("") if isinstance(leaf, Tensor) else ConstantArgument("", leaf)
        enter(each.name, leaf, InputSpec(InputKind.USER_INPUT, argument, None))
    before = _attributes(mod, own, memo, recording)
    with recording.running():
        result = own(*own_args, **own_kwargs)
    _note_assigned(own, before, buffers, recording)
    results, out_spec = tree_flatten(result)
    outputs = [recording.node_of(each) for each in results]
    recording.graph.output(tuple(outputs))
    for node, (name, _) in recording.constants.items():
        spec = InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(node.name), name)
        place = len(nodes) - len(leaves)  # before the arguments
        signature.input_specs.insert(place, spec)
        nodes.insert(place, node)
    signature.output_specs = [
        OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(each.name) if isinstance(each, Node) else ConstantArgument("", each), None)
        for each in outputs
    ]  # fmt: skip
    for node in reversed(list(recording.graph.nodes)):
        if node.target is operator("detach") and not node.users:  # for a backward pass that does not come
            recording.graph.erase_node(node)
    graph, modules = with_regions(recording.graph, nodes, recording.switches, around)
    own_buffers = dict(mod.named_buffers(remove_duplicate=False))
    constants = {name: own_buffers[name] for name in signature.non_persistent_buffers} | dict(
        recording.constants.values()
    )
    return ExportedProgram(
        graph, signature, modules, inputs, out_spec, (args, kwargs), dict(state), own_buffers, constants
    )


def _attributes(mod: Module, own: Module, memo: dict[int, object], recording: Recording) -> dict[str, Tensor]:
    """The tensors that a copy of a module has as attributes, by name. A program that uses one has it as a constant."""
    for name, tensor in constants_of(mod):
        copy = memo.get(id(tensor))
        if isinstance(copy, Tensor):
            recording.knows(name, copy, tensor)
    return {name: tensor for name, tensor in constants_of(own) if name is not None}


def _note_assigned(own: Module, before: dict[str, Tensor], buffers: dict[str, Tensor], recording: Recording) -> None:
    """Writes into the graph that the module gave itself other tensors as buffers; it cannot hold other attributes."""
    for name, buffer in own.named_buffers(remove_duplicate=False):
        if name in buffers and buffer is not buffers[name]:
            nodes = recording.node_of(buffers[name]), recording.node_of(buffer)
            recording.graph.create_node("call_function", operator("copy_"), nodes, {}, name="copy__default")
    assigned = [name for name, tensor in constants_of(own) if name is not None and tensor is not before.get(name)]
    if assigned:
        names = ", ".join(f"self.{name}" for name in assigned)
        many = "attributes {} were" if len(assigned) > 1 else "attribute {} was"
        warnings.warn(
            f"The tensor {many.format(names)} assigned during export. Such attributes must be registered as buffers using the "
            "`register_buffer` API (https://pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_buffer).",
            stacklevel=4,
        )


draft_export = export
