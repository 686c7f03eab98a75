"""The door to jax2onnx, onnx and onnxruntime: programs of JAX become ONNX models, which are checked, written and run."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import jax
import numpy as np
from jax import lax
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn

from ..engine.jax_settings import tracing
from ..export._plain import evaluate, line_of, without_dead_code
from ._names import Model

__all__ = ["NEWEST_OPSET", "OLDEST_OPSET", "OnnxExporterError", "check", "convert", "library", "session_of"]

# The versions of ONNX's operators that jax2onnx writes and that were tried.
OLDEST_OPSET, NEWEST_OPSET = 18, 23


class OnnxExporterError(RuntimeError):
    """A model cannot be exported, or what exports it is not installed."""


OnnxExporterError.__module__ = "torchlike.onnx"


def library(name: str) -> ModuleType:
    """One of the libraries.

    Raises:
        OnnxExporterError: it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise OnnxExporterError(
            f"torch.onnx needs {(error.name or name).partition('.')[0]}, which is not installed: pip install 'torchlike[onnx]'"
        ) from error


# ---- programs as jax2onnx takes them


def _for_onnx(equation: JaxprEqn, operands: Sequence[Any]) -> Any:
    """An equation in the form that jax2onnx and onnxruntime know."""
    name, params = equation.primitive.name, dict(equation.params)
    if name == "optimization_barrier":
        return list(operands)
    if name == "select_n" and operands[1].dtype == bool and operands[0].dtype == bool and len(operands) == 3:
        which, no, yes = operands  # onnxruntime chooses among numbers alone
        return (which & yes) | (~which & no)
    if name == "scan" and params["reverse"]:  # ONNX's loops run forwards
        given, carried = params["num_consts"] + params["num_carry"], params["num_carry"]
        turned = [*operands[:given], *[lax.rev(each, (0,)) for each in operands[given:]]]
        outs = _for_onnx(equation.replace(params=params | {"reverse": False}), turned)
        return [*outs[:carried], *[lax.rev(each, (0,)) for each in outs[carried:]]]
    for key, value in params.items():
        if isinstance(value, ClosedJaxpr):
            params[key] = _adapted(value)
        elif isinstance(value, tuple) and value and all(isinstance(each, ClosedJaxpr) for each in value):
            params[key] = tuple(map(_adapted, value))
    return equation.primitive.bind(*operands, **params)


def _adapted(closed: ClosedJaxpr) -> ClosedJaxpr:
    specs = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in closed.in_avals]
    made = jax.make_jaxpr(lambda *args: evaluate(closed.jaxpr, closed.consts, args, _for_onnx))(*specs)
    return without_dead_code(made)


# ---- conversion


@tracing
def convert(closed: ClosedJaxpr, opset: int, name: str) -> Model:
    """A program as a ``ModelProto``, whose inputs and results are in the program's order.

    Raises:
        OnnxExporterError: an operation of it cannot be written as ONNX. The words name it, and the line that calls it.
    """
    library("onnx")
    api = library("jax2onnx.converter.conversion_api")
    finish = library("jax2onnx.converter.ir_postprocess").postprocess_ir_model
    library("jax2onnx.plugins.plugin_system").import_all_plugins()
    closed = _adapted(closed)
    jaxpr = closed.jaxpr
    specs = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in closed.in_avals]
    kinds = {aval.dtype for equation in jaxpr.eqns for aval in (v.aval for v in (*equation.invars, *equation.outvars))}  # pyright: ignore[reportAttributeAccessIssue]
    is_double = np.dtype(np.float64) in kinds and np.dtype(np.float32) not in kinds
    double: dict[str, bool] = {"enable_double_precision": is_double}
    context = api._create_ir_context(
        opset=opset, input_specs=specs, frozen_params={}, record_primitive_calls_file=None, **double
    )
    default = np.dtype(np.float64 if is_double else np.float32)
    api._bind_closed_jaxpr_constants(context, jaxpr, closed.consts, default_float=default, **double)
    api._bind_jaxpr_inputs(context, jaxpr, inputs_as_nchw=())
    lines = _lower(context, jaxpr)
    api._bind_jaxpr_outputs(context, jaxpr, outputs_as_nchw=(), **double)
    model = api._build_and_finalize_ir_model(context, model_name=name, protective_clone=False)
    finish(model, promote_to_double=is_double)
    proto = library("onnx_ir").to_proto(model)
    _check(proto, lines)
    return proto


def _lower(context: Any, jaxpr: Jaxpr) -> dict[str, str]:
    """Writes all equations. Returns of which operation and line each node comes, by the node's name."""
    lines: dict[str, str] = {}
    dispatch = library("jax2onnx.converter.lowering_dispatch")
    known = library("jax2onnx.plugins.plugin_system").PLUGIN_REGISTRY
    for equation in jaxpr.eqns:
        primitive = equation.primitive.name
        if primitive not in known:
            raise OnnxExporterError(f"torchlike cannot write {line_of(equation)} as ONNX: jax2onnx lacks {primitive}")
        try:
            before = len(context.builder.nodes)
            with dispatch.current_eqn_scope(context, equation):
                if primitive not in _OWN or not _OWN[primitive](context, equation):
                    one = jaxpr.replace(eqns=[equation])
                    dispatch.lower_jaxpr_with_plugins(ctx=context, jaxpr=one, registry=known, source="torchlike")
        except OnnxExporterError:
            raise
        except Exception as error:
            words = str(error).partition("\n")[0]
            raise OnnxExporterError(
                f"torchlike cannot write {line_of(equation)} as ONNX: jax2onnx says of {primitive}: {words}"
            ) from error
        lines.update((node.name, line_of(equation)) for node in list(context.builder.nodes)[before:] if node.name)
    return lines


def _max_pool(context: Any, equation: JaxprEqn) -> bool:
    """The largest of each window of images, where jax2onnx would make a pool over the batch and the channels too."""
    params, operand, out = equation.params, equation.invars[0], equation.outvars[0]
    aval: Any = operand.aval
    window, padding = params["window_dimensions"], params["padding"]
    flat = window[:2] == (1, 1) and tuple(map(tuple, padding[:2])) == ((0, 0), (0, 0)) and len(window) > 2
    if not flat or set(params["base_dilation"]) != {1} or aval.dtype not in (np.float16, np.float32, np.float64):
        return False
    result = context.builder.MaxPool(
        context.get_value_for_var(operand, name_hint=context.fresh_name("images")),
        _outputs=[context.fresh_name("max_pool")],
        kernel_shape=tuple(window[2:]),
        strides=tuple(params["window_strides"][2:]),
        pads=[low for low, _ in padding[2:]] + [high for _, high in padding[2:]],
        dilations=tuple(params["window_dilation"][2:]),
    )
    shapes = library("jax2onnx.plugins._ir_shapes")
    kind = library("jax2onnx.converter.ir_builder")._dtype_to_ir(np.dtype(aval.dtype), False)
    result.type = library("onnx_ir").TensorType(kind)
    shapes._stamp_type_and_shape(result, tuple(out.aval.shape))  # pyright: ignore[reportAttributeAccessIssue]
    shapes._ensure_value_metadata(context, result)
    context.bind_value_for_var(out, result)
    return True


# What is lowered here; a function says whether it did so.
_OWN: dict[str, Callable[[Any, JaxprEqn], bool]] = {"reduce_window_max": _max_pool}


# ---- models


def _check(model: Model, lines: dict[str, str]) -> None:
    try:
        check(model)
    except Exception as error:
        words = str(error)
        found = [line for name, line in lines.items() if re.search(rf"\b{re.escape(name)}\b", words)]
        what = found[0] if found else model.graph.name
        raise OnnxExporterError(f"torchlike cannot write {what} as ONNX: onnx.checker says: {words}") from error


def check(model: Model) -> None:
    """Raises an error of onnx's for a model that is not valid."""
    library("onnx").checker.check_model(model, full_check=True)


def session_of(model: str | bytes) -> Any:
    """What runs a model by onnxruntime on the CPU. ``model``: a path, or its bytes."""
    runtime = library("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 3  # else it tells which constants it has folded
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
