"""``torch.onnx.export``: a module becomes a program of JAX, and that an ONNX model."""

from __future__ import annotations

import enum
import inspect
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from .._core.tensor import Tensor
from ..export import ExportedProgram
from ..export._staged import RandomNumbers, tensors_of
from ..export._varying_program import Symbol, symbols_of, symbols_of_sizes, traced_program
from ..nn.modules.module import Module
from ..testing import assert_close
from . import _jax2onnx as door
from ._jax2onnx import OnnxExporterError
from ._names import Graph, Model, rename_sizes, rename_values, tensor_names
from ._program import ONNXProgram

__all__ = ["OperatorExportTypes", "TrainingMode", "export", "is_in_onnx_export"]

DEFAULT_OPSET = 20


class OperatorExportTypes(enum.IntEnum):
    """The modes in which PyTorch exports operators."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


class TrainingMode(enum.IntEnum):
    """Whether a model is exported as it trains or as it is evaluated."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class _Exporting:
    now = False


def is_in_onnx_export() -> bool:
    """Whether a model is being exported now."""
    return _Exporting.now


def export(
    model: object, args: Any = (), f: Any = None, *, kwargs: dict[str, object] | None = None, verbose: bool | None = None,
    input_names: Sequence[str] | None = None, output_names: Sequence[str] | None = None, opset_version: int | None = None,
    dynamo: bool = True, external_data: bool = True, dynamic_shapes: object = None,
    custom_translation_table: Mapping[object, object] | None = None, report: bool = False, optimize: bool = True, verify: bool = False,
    profile: bool = False, dump_exported_program: bool = False, artifacts_dir: str | os.PathLike[str] = ".", export_params: bool = True,
    keep_initializers_as_inputs: bool = False, dynamic_axes: Mapping[str, Mapping[int, str] | Sequence[int]] | None = None,
    training: TrainingMode = TrainingMode.EVAL, operator_export_type: OperatorExportTypes = OperatorExportTypes.ONNX,
    do_constant_folding: bool = True, custom_opsets: Mapping[str, int] | None = None,
    export_modules_as_functions: bool | Collection[type[Module]] = False, autograd_inlining: bool = True,
) -> ONNXProgram | None:  # fmt: skip
    """Exports a module as an ONNX model, by jax2onnx (``pip install 'torchlike[onnx]'``). The model is checked by ``onnx.checker``.

    Args:
        model: a module, an ``ExportedProgram``, or a function that was scripted.
        args: the example arguments; a dictionary at the end holds keyword arguments if ``kwargs`` is not given.
        f: a path or a binary file.
        kwargs: more arguments by name.
        verbose: whether the graph is printed.
        input_names: of the tensors among the arguments, in order; by default those of ``forward``.
        output_names: of the tensors in the result.
        opset_version: 18 to 23; 20 by default.
        dynamo: with False, as PyTorch's former exporter: no result, no file beside ``f``, and ``training`` decides about the mode.
        external_data: whether the weights lie in a file of their own beside ``f``; only with ``dynamo``.
        dynamic_shapes: which sizes may vary, by argument, as for ``torch.export.export``; names in the place of ``Dim`` s too.
        dynamic_axes: which sizes may vary, by the names of inputs.
        verify: whether onnxruntime's results are compared with the module's.
        export_params: whether the weights are in the file. Else they are inputs.
        keep_initializers_as_inputs: whether the weights are inputs as well.
        training: the module's mode while it is exported; only with ``dynamo=False``.
        optimize, do_constant_folding, autograd_inlining, artifacts_dir: without a meaning here.

    Raises:
        OnnxExporterError: an operation cannot be written, which the words name with its line; the module draws random numbers, or needs
            elements of its input; a library is not installed.
        UserError: a size that is said to vary does not.

    Source: https://docs.pytorch.org/docs/stable/onnx_export.html#torch.onnx.export
    """
    refused = {
        "custom_translation_table": custom_translation_table, "custom_opsets": custom_opsets, "report": report, "profile": profile,
        "dump_exported_program": dump_exported_program, "export_modules_as_functions": export_modules_as_functions,
        "operator_export_type": operator_export_type != OperatorExportTypes.ONNX,
    }  # fmt: skip
    for name, value in refused.items():
        if value:
            raise NotImplementedError(f"torchlike does not support the argument '{name}' of torch.onnx.export")
    if f is None and not dynamo:
        raise ValueError("torch.onnx.export with dynamo=False needs 'f', the path or file to write to")
    opset = DEFAULT_OPSET if opset_version is None else opset_version
    if not door.OLDEST_OPSET <= opset <= door.NEWEST_OPSET:
        raise NotImplementedError(
            f"torchlike does not support opset_version={opset} of torch.onnx.export, but {door.OLDEST_OPSET} to {door.NEWEST_OPSET}"
        )
    door.library("jax2onnx")  # before the module is traced
    module, args, kwargs = _called(model, args, kwargs)
    program_given = isinstance(model, ExportedProgram)
    inputs = model.graph_signature.user_inputs if program_given else _argument_names(module, args, kwargs)
    names = _input_names([*map(str, inputs)], tensors_of((args, kwargs)), input_names)
    symbols, labels = _sizes_that_vary(module, args, kwargs, names, dynamic_shapes, dynamic_axes)
    if program_given and not symbols:
        symbols = symbols_of_sizes(model._sizes)
        labels = {each.name: each.name for each in symbols}
    with _exporting(), _in_mode(module, PRESERVING if dynamo or program_given else training):
        proto = _model(module, args, kwargs, symbols, labels, names, output_names, opset)
        program = ONNXProgram(proto, model if isinstance(model, ExportedProgram) else None)
        if verify:
            _compare(program, module, args, kwargs)
    if verbose:
        sys.stdout.write(f"{program}\n")
    if f is not None:
        beside = external_data and dynamo and isinstance(f, (str, os.PathLike))
        program.save(
            f,
            include_initializers=export_params,
            keep_initializers_as_inputs=keep_initializers_as_inputs,
            external_data=True if beside else None,
        )
    return program if dynamo else None


PRESERVING = TrainingMode.PRESERVE


class _Calling(Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__()
        object.__setattr__(self, "forward", function)


def _called(
    model: object, args: Any, kwargs: dict[str, object] | None
) -> tuple[Module, tuple[object, ...], dict[str, object]]:
    """The module and its arguments."""
    if isinstance(args, Tensor):
        args = (args,)
    args = tuple(args)
    if kwargs is None and args and isinstance(args[-1], dict):
        *args, kwargs = args
    if isinstance(model, ExportedProgram):
        if not args and not kwargs:
            args, kwargs = model.example_inputs
        model = model._source or model.module()
    elif not isinstance(model, Module):
        if not callable(model):
            raise TypeError(
                f"torch.onnx.export takes a module, an ExportedProgram or a function, not {type(model).__name__}"
            )
        model = _Calling(model)
    return model, tuple(args), dict(kwargs or {})


def _argument_names(module: Module, args: tuple[object, ...], kwargs: dict[str, object]) -> list[str]:
    signature = inspect.signature(module.forward)
    bound = signature.bind(*args, **kwargs)
    names: list[str] = []
    for name, value in bound.arguments.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            names += [each for key, part in value.items() for each in tensor_names(key, part)]
        else:
            names += tensor_names(name, value)
    return names


def _input_names(names: list[str], tensors: list[Tensor], given: Sequence[str] | None) -> list[str]:
    given = list(given or ())
    if len(names) != len(tensors):  # numbers are inputs of a program, too
        names = [f"input_{number}" for number in range(len(tensors))]
    if len(given) > len(names):
        raise OnnxExporterError(
            f"input_names has {len(given)} names, and the module takes {len(names)} tensors: {names}"
        )
    return given + names[len(given) :]


def _sizes_that_vary(
    module: Module, args: tuple[object, ...], kwargs: dict[str, object], names: Sequence[str], shapes: object, axes: Any
) -> tuple[list[Symbol], dict[str, str]]:
    """The sizes, and what the model calls each."""
    if shapes is not None:
        if axes is not None:
            raise ValueError("torch.onnx.export takes dynamic_shapes or dynamic_axes, not both")
        symbols = symbols_of(module, args, kwargs, shapes)
        return symbols, {each.name: each.name for each in symbols}
    examples, found, labels = tensors_of((args, kwargs)), {}, {}
    for place, name in enumerate(names):
        said = (axes or {}).get(name, {})
        if not isinstance(said, Mapping):
            said = {dim: f"{name}_dynamic_axes_{number}" for number, dim in enumerate(said, 1)}
        for dim, label in said.items():
            size = examples[place].shape[dim]
            if (label, size) not in found:
                symbol = re.sub(r"\W", "_", label)
                symbol = symbol if symbol.isidentifier() else f"_{symbol}"
                while symbol in labels:  # one name for different sizes
                    symbol += "_"
                found[label, size] = Symbol(symbol, size)
                labels[symbol] = label
            found[label, size].sites.append((place, dim % examples[place].dim(), _itself))
    return list(found.values()), labels


def _itself(size: int) -> int:
    return size


def _model(
    module: Module,
    args: tuple[object, ...],
    kwargs: dict[str, object],
    symbols: list[Symbol],
    labels: dict[str, str],
    names: list[str],
    output_names: Sequence[str] | None,
    opset: int,
) -> Model:
    """The checked model."""
    try:
        program, jaxpr, _ = traced_program(module, args, kwargs, symbols)
    except RuntimeError as error:
        if not isinstance(error, RandomNumbers) and not str(error).startswith("vmap: "):
            raise
        words = str(error).removeprefix("vmap: ")
        raise OnnxExporterError(f"torchlike cannot export {type(module).__name__} as ONNX: {words}") from error
    if program.others:
        raise OnnxExporterError(
            f"torchlike cannot export {type(module).__name__} as ONNX: its result holds more than tensors"
        )
    proto = door.convert(jaxpr, opset, type(module).__name__)
    graph, helper = proto.graph, door.library("onnx.numpy_helper")
    inputs = {each.name: each for each in graph.input}
    weights = {f"in_{number}": name for number, name in enumerate(program.weights)}
    given = {f"in_{number}": name for number, name in enumerate(names, len(weights))}
    outputs = _output_names(output_names, len(graph.output))
    read = (
        {name for node in graph.node for name in node.input} | {each.name for each in graph.output} | _captured(graph)
    )
    del graph.input[:]
    graph.input.extend([inputs[each] for each in given])
    for inner, name in weights.items():
        if inner in read:
            graph.initializer.append(helper.from_array(program.weights[name].detach().numpy(), inner))
    _separate_results(proto)
    rename_values(graph, {**weights, **given, **dict(zip([each.name for each in graph.output], outputs, strict=True))})
    rename_sizes(graph, labels)
    proto.producer_name = "torchlike"
    door.check(proto)
    return proto


def _captured(graph: Graph) -> set[str]:
    """What the bodies of loops and branches read from outside."""
    found: set[str] = set()
    for node in graph.node:
        for attribute in node.attribute:
            for inner in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                found |= (
                    {name for each in inner.node for name in each.input}
                    | {each.name for each in inner.output}
                    | _captured(inner)
                )
    return found


def _output_names(given: Sequence[str] | None, count: int) -> list[str]:
    given = list(given or ())
    if len(given) > count:
        raise OnnxExporterError(f"output_names has {len(given)} names, and the module returns {count} tensors")
    return given + (["output"] if count == 1 else [f"output_{number}" for number in range(count)])[len(given) :]


def _separate_results(proto: Model) -> None:
    """Gives each result a value of its own: a module may return its input, or one tensor twice."""
    graph, helper = proto.graph, door.library("onnx.helper")
    seen = {each.name for each in (*graph.input, *graph.initializer)}
    for number, each in enumerate(graph.output):
        if each.name in seen:
            name = f"result_{number}"
            graph.node.append(helper.make_node("Identity", [each.name], [name]))
            each.name = name
        seen.add(each.name)


def _compare(program: ONNXProgram, module: Module, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
    expected = tensors_of(module(*args, **kwargs))
    for mine, other in zip(program(*args, **kwargs), expected, strict=True):
        assert_close(mine, other.detach(), rtol=1e-4, atol=1e-5)


@contextmanager
def _exporting() -> Iterator[None]:
    before, _Exporting.now = _Exporting.now, True
    try:
        yield
    finally:
        _Exporting.now = before


@contextmanager
def _in_mode(module: Module, training: TrainingMode) -> Iterator[None]:
    """Within it the module and all in it train, are evaluated, or stay as they are."""
    if training == PRESERVING:
        yield
        return
    before = {each: each.training for each in module.modules()}
    module.train(training == TrainingMode.TRAINING)
    try:
        yield
    finally:
        for each, was in before.items():
            each.training = was


for _public in (OperatorExportTypes, TrainingMode, export, is_in_onnx_export):
    _public.__module__ = "torchlike.onnx"
