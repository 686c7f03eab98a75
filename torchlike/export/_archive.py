"""Saves and loads exported programs. A file holds no code: operators by name, constants, parameters and buffers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from .. import _torch_ops
from .._core import layouts
from .._core.layouts import memory_format
from ..fx import Graph, GraphModule, Node
from ..nn.parameter import Parameter
from ..serialization import load as load_objects, save as save_objects
from ..utils._pytree import tree_flatten, tree_leaves, tree_unflatten
from ._inputs import Input
from ._program import ExportedProgram
from ._signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)

__all__ = ["load", "save"]

_MARK = "torchlike.export"
_PLAIN = (type(None), bool, int, float, complex, str)
_FORMATS = {str(each): each for each in vars(layouts).values() if isinstance(each, memory_format)}


def save(
    ep: ExportedProgram,
    f: Any,
    *,
    extra_files: dict[str, str | bytes] | None = None,
    opset_version: dict[str, int] | None = None,
    pickle_protocol: int = 2,
) -> None:
    """Writes an exported program to a file, which ``torch.export.load`` of torchlike reads, without the module's class.

    PyTorch's ``.pt2`` files are others: neither reads the other's.

    Args:
        ep: the program.
        f: a path, or a binary file.
        extra_files: texts or bytes that are kept beside it, by name.
        opset_version, pickle_protocol: taken, and without a meaning for this format.

    Raises:
        TypeError: ``ep`` is no exported program.
        NotImplementedError: the program takes or returns objects that a file cannot hold without their class, or has sizes that vary.

    >>> import io
    >>> program, file = torch.export.export(torch.nn.ReLU(), (torch.ones(2),)), io.BytesIO()
    >>> torch.export.save(program, file)
    >>> torch.export.load(io.BytesIO(file.getvalue())).module()(torch.tensor([-1.0, 1.0]))
    tensor([0., 1.])

    Source: https://docs.pytorch.org/docs/stable/export/api_reference.html#torch.export.save
    """
    if not isinstance(ep, ExportedProgram):
        raise TypeError(
            f"The 'ep' parameter must be an instance of 'ExportedProgram', got '{type(ep).__name__}' instead."
        )
    if ep.range_constraints:
        raise NotImplementedError(
            "torchlike does not support torch.export.save of a program with sizes that vary: its graphs are made from the module"
        )
    signature = ep.graph_signature
    content = {
        _MARK: 2,
        "graph": _written_graph(ep.graph, ep._modules),
        "inputs": [
            (each.kind.name, *_written_argument(each.arg), each.target, each.persistent)
            for each in signature.input_specs
        ],
        "outputs": [(each.kind.name, *_written_argument(each.arg), each.target) for each in signature.output_specs],
        "arguments": [(each.name, each.shown) for each in ep._inputs],
        "result": _written(tree_unflatten(range(ep._out_spec.num_leaves), ep._out_spec)),
        "example_inputs": ep.example_inputs,
        "state_dict": ep.state_dict,
        "buffers": dict(ep.named_buffers()),
        "constants": ep.constants,
        "extra_files": dict(extra_files or {}),
    }
    save_objects(content, f)


def load(
    f: Any, *, extra_files: dict[str, str | bytes] | None = None, expected_opset_version: dict[str, int] | None = None
) -> ExportedProgram:
    """Reads a program that ``torch.export.save`` has written.

    Args:
        f: a path, or a binary file.
        extra_files: a dictionary whose values become what was kept under their names.
        expected_opset_version: taken, and without a meaning for this format.

    Raises:
        NotImplementedError: the file is PyTorch's.

    Source: https://docs.pytorch.org/docs/stable/export/api_reference.html#torch.export.load
    """
    content = load_objects(f, map_location=None, weights_only=True)
    if not isinstance(content, dict) or _MARK not in content:
        raise NotImplementedError("torchlike does not support torch.export.load of a file that torchlike did not write")
    if content[_MARK] != 2:
        raise NotImplementedError("torchlike does not support torch.export.load of a file of another version")
    graph, modules = _read_graph(content["graph"])
    signature = ExportGraphSignature(
        [
            InputSpec(InputKind[kind], _read_argument(*argument), target, persistent)
            for kind, *argument, target, persistent in content["inputs"]
        ],
        [
            OutputSpec(OutputKind[kind], _read_argument(*argument), target)
            for kind, *argument, target in content["outputs"]
        ],
    )
    parameters = set(signature.parameters)
    state: dict[str, Any] = {
        name: Parameter(tensor) if name in parameters and not isinstance(tensor, Parameter) else tensor
        for name, tensor in content["state_dict"].items()
    }
    buffers = {name: state.get(name, tensor) for name, tensor in content["buffers"].items()}
    for name in extra_files or {}:
        extra_files[name] = content["extra_files"].get(name, extra_files[name])  # pyright: ignore[reportOptionalSubscript]
    examples = content["example_inputs"]
    inputs = [
        Input(name, shown, leaf)
        for (name, shown), leaf in zip(content["arguments"], tree_leaves(examples), strict=True)
    ]
    out_spec = tree_flatten(_read(content["result"], {}))[1]
    constants = {name: buffers.get(name, tensor) for name, tensor in content["constants"].items()}
    return ExportedProgram(graph, signature, modules, inputs, out_spec, examples, state, buffers, constants)


def _written_argument(argument: TensorArgument | ConstantArgument) -> tuple[str, bool, object]:
    constant = isinstance(argument, ConstantArgument)
    return argument.name, constant, _written(argument.value) if constant else None


def _read_argument(name: str, constant: bool, value: object) -> TensorArgument | ConstantArgument:
    return ConstantArgument(name, _read(value, {})) if constant else TensorArgument(name)


def _written_graph(graph: Graph, modules: Mapping[str, Any]) -> dict[str, object]:
    nodes = [
        (node.op, node.name, _written_target(node), _written(node.args), _written(node.kwargs), node.meta.get("shape"))
        for node in graph.nodes
    ]
    return {
        "nodes": nodes,
        "graphs": {name: _written_graph(part.graph, part._modules) for name, part in modules.items()},
    }


def _read_graph(content: dict[str, Any]) -> tuple[Graph, dict[str, GraphModule]]:
    graph, nodes = Graph(), {}
    modules = {name: _read_module(part) for name, part in content["graphs"].items()}
    for op, name, target, args, kwargs, shape in content["nodes"]:
        args, kwargs = _read(args, nodes), _read(kwargs, nodes)
        if op == "output":
            nodes[name] = graph.output(*args)
        elif op == "placeholder":
            nodes[name] = graph.placeholder(target)
        else:
            found = _operator(target) if op == "call_function" else target
            nodes[name] = graph.create_node(op, found, args, kwargs, name=name)
        if shape is not None:
            nodes[name].meta["shape"] = tuple(shape)
    return graph, modules


def _read_module(content: dict[str, Any]) -> GraphModule:
    graph, modules = _read_graph(content)
    return GraphModule(dict(modules), graph)  # pyright: ignore[reportArgumentType]


def _written_target(node: Node) -> str:
    namespace = getattr(node.target, "namespace", None)
    if node.target is operator.getitem:
        return "getitem"
    return f"higher_order.{node.target}" if namespace == "higher_order" else str(node.target)


def _operator(name: str) -> Callable[..., object]:
    if name == "getitem":
        return operator.getitem
    found: Any = _torch_ops
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _written(value: Any) -> tuple[str, object]:
    """What a file holds for an argument: each container is a pair of its kind and what is in it."""
    if isinstance(value, Node):
        return "node", value.name
    if type(value) in _PLAIN:
        return "value", value
    if isinstance(value, dict):
        return "dict", [(key, _written(each)) for key, each in value.items()]
    if isinstance(value, list):
        return "list", [_written(each) for each in value]
    if type(value) is tuple or type(value).__name__ == "Size":
        return "tuple", [_written(each) for each in value]
    if isinstance(value, slice):
        return "slice", [_written(each) for each in (value.start, value.stop, value.step)]
    if isinstance(value, memory_format):
        return "memory_format", str(value)
    if type(value).__name__ in ("dtype", "device", "layout"):
        return "value", value
    raise NotImplementedError(
        f"torchlike does not support torch.export.save of a program with a {type(value).__name__}"
    )


def _read(written: Any, nodes: dict[str, Node]) -> Any:
    kind, content = written
    if kind == "node":
        return nodes[content]
    if kind == "value":
        return content
    if kind == "dict":
        return {key: _read(each, nodes) for key, each in content}
    if kind == "memory_format":
        return _FORMATS[content]
    items = [_read(each, nodes) for each in content]
    return items if kind == "list" else tuple(items) if kind == "tuple" else slice(*items)
