"""Saves and loads exported programs. A file holds no code: operators by name, constants, parameters and buffers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from .. import _torch_ops
from .._core import layouts
from .._core.layouts import memory_format
from ..fx import Graph, Node
from ..nn.parameter import Parameter
from ..serialization import load as load_objects, save as save_objects
from ._program import (
    ArgumentSpec,
    ExportedProgram,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
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
        _MARK: 1,
        "nodes": [
            (node.op, node.name, _written_target(node), _written(node.args), _written(node.kwargs))
            for node in ep.graph.nodes
        ],
        "inputs": [(spec.kind.name, spec.arg.name, spec.target, spec.persistent) for spec in signature.input_specs],
        "outputs": [(spec.kind.name, spec.arg.name, spec.target) for spec in signature.output_specs],
        "result": _written(ep._result),
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
    graph, nodes = Graph(), {}
    for op, name, target, args, kwargs in content["nodes"]:
        args, kwargs = _read(args, nodes), _read(kwargs, nodes)
        if op == "output":
            nodes[name] = graph.output(*args)
        elif op == "placeholder":
            nodes[name] = graph.placeholder(target)
        else:
            found = _operator(target) if op == "call_function" else target
            nodes[name] = graph.create_node(op, found, args, kwargs, name=name)
    signature = ExportGraphSignature(
        [
            InputSpec(InputKind[kind], ArgumentSpec(name), target, persistent)
            for kind, name, target, persistent in content["inputs"]
        ],
        [OutputSpec(OutputKind[kind], ArgumentSpec(name), target) for kind, name, target in content["outputs"]],
    )
    state: dict[str, Any] = {
        name: tensor if isinstance(tensor, Parameter) or name in content["buffers"] else Parameter(tensor)
        for name, tensor in content["state_dict"].items()
    }
    buffers = {name: state.get(name, tensor) for name, tensor in content["buffers"].items()}
    for name in extra_files or {}:
        extra_files[name] = content["extra_files"].get(name, extra_files[name])  # pyright: ignore[reportOptionalSubscript]
    result = _read(content["result"], nodes)
    return ExportedProgram(
        graph, signature, result, content["example_inputs"], state, buffers, dict(content["constants"])
    )


def _written_target(node: Node) -> str:
    return "getitem" if node.target is operator.getitem else str(node.target)


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
