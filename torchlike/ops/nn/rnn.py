"""Recurrent networks: a stack of layers over whole sequences as one op, and single steps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jax import Array

from ..._core import dtypes
from ..._core.annotations import Dtype
from ..._core.meta import on_meta
from ..._core.modes import modes
from ..._core.tensor import Tensor, from_value, records
from ...dispatch.register import Autocast, Category, Form, Indices, Promote, Sample, Saves, composite, op
from ...dispatch.type_names import type_name
from ...engine import onednn
from ...engine.aval import Aval, Placement
from ...engine.value import Value
from ..creation.drawing import keep
from ..linalg.matmul import rows_by_matrix
from ._lstm_layer import FASTER_FROM, computes
from ._recurrence import CELLS, Cell, Inputs, LayerInputs, Plan, outputs, plan_of, run

_FLOAT = np.dtype(np.float32)

# ---- what PyTorch says to weights and inputs that do not go together


def _check_dtypes(x: Array, w: Array) -> None:
    if x.dtype != w.dtype:
        input_name, weight_name = (dtypes.from_numpy_dtype(a.dtype).scalar_name for a in (x, w))
        raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {input_name} and {weight_name}")


def _check_product(rows: int, x: Array, w: Array) -> None:
    _check_dtypes(x, w)
    if x.shape[-1] != w.shape[1]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{x.shape[-1]} and {w.shape[1]}x{w.shape[0]})"
        )


def _check_stack(plan: Plan, inputs: Inputs) -> None:
    directions = 2 if plan.bidirectional else 1
    stack_size = plan.num_layers * directions
    if any(h.shape[0] < stack_size for h in inputs.hidden):
        raise RuntimeError("Expected more hidden states in stacked_rnn")
    weights_per_layer = 2 + 2 * plan.has_biases + plan.projected
    if len(inputs.weights) != stack_size * weights_per_layer:
        raise RuntimeError(
            f"expected {stack_size * weights_per_layer} weights of the recurrent layers, got {len(inputs.weights)}"
        )
    width = inputs.data.shape[-1]
    for number in range(stack_size):
        w = plan.weights(inputs.weights, number)
        if width != w.ih.shape[1]:
            rows = math.prod(inputs.data.shape[:-1])
            raise RuntimeError(
                f"mat1 and mat2 shapes cannot be multiplied ({rows}x{width} and {w.ih.shape[1]}x{w.ih.shape[0]})"
            )
        _check_dtypes(inputs.data, w.ih)
        state = inputs.hidden[0][number]
        _check_product(state.shape[0], state, w.hh)
        if number % directions == directions - 1:
            width = (w.hh.shape[1] if w.hr is None else w.hr.shape[0]) * directions


# ---- under autocast


def _as_hidden(*args: Any, **kwargs: Any) -> Autocast:
    """Under autocast on the CPU the gates of these are computed beside the hidden state, and in its dtype."""
    hidden = kwargs["hx"] if "hx" in kwargs else args[1] if not _is_integer(args[1]) else args[2]
    if isinstance(hidden, (list, tuple)):
        hidden = hidden[-1]
    return Autocast.LOWER if hidden.dtype in dtypes.HALVES else Autocast.FLOAT32


def _is_integer(value: object) -> bool:
    return isinstance(value, Tensor) and value.dtype.category == dtypes.INTEGER


# ---- the two ops


def _backward_name(
    input: Any,
    hidden: Sequence[Aval],
    weights: Tensor,
    masks: object,
    kept: Sequence[Aval],
    batch_sizes: object,
    plan: Plan,
) -> str:
    if batch_sizes is not None or plan.bidirectional:
        return "CatBackward0"
    plain = plan.mode != "LSTM" or plan.projected or np.dtype(input.dtype) == np.float64
    return "StackBackward0" if plain else "MkldnnRnnLayerBackward0"


@op(name="_rnn_run", promote=Promote.NONE, accepts=Category.FLOAT, forms=Form.NONE, samples=[])
def rnn_run(
    input: Array,
    hidden: list[Array],
    weights: list[Array],
    masks: list[Array],
    batch_sizes: Indices | None,
    plan: Plan,
    keep: bool,
) -> tuple[Array, ...]:
    """All layers over all steps: the output, the last states and cells; if ``keep``, what the derivative reads as well."""
    inputs, fixed = Inputs(input, list(hidden), list(weights)), LayerInputs(list(masks), batch_sizes)
    _check_stack(plan, inputs)
    return tuple(run(plan, inputs, fixed, keep))


@op(
    name="_rnn_outputs",
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    backward=_backward_name,
    samples=[],
)
def rnn_outputs(
    input: Array,
    hidden: list[Array],
    weights: list[Array],
    masks: list[Array],
    results: list[Array],
    batch_sizes: Indices | None,
    plan: Plan,
) -> tuple[Array, ...]:
    """The results among what ``rnn_run`` has found, linked with what they were computed from."""
    inputs, fixed = Inputs(input, list(hidden), list(weights)), LayerInputs(list(masks), batch_sizes)
    return tuple(outputs(plan, inputs, fixed, list(results)))


@op(
    name="_rnn_last",
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    saves=Saves.NOTHING,
    backward="StackBackward0",
    samples=[],
)
def rnn_last(state: Array) -> Array:
    """The last states of all layers as they are. PyTorch stacks them, and its graph says so."""
    return state


def _stack(
    plan: Plan, input: Tensor, hidden: list[Tensor], weights: list[Tensor], masks: list[Tensor], batch_sizes: object
) -> tuple[Tensor, ...]:
    """Runs the layers, and links the results into the graph where a gradient may be asked for."""
    tensors = [input, *hidden, *weights]
    if not records(*tensors) or any(t._value().traced for t in tensors):  # JAX differentiates what it traces by itself
        return rnn_run(input, hidden, weights, masks, batch_sizes, plan, False)
    before, modes.grad_enabled = modes.grad_enabled, False
    try:
        results = rnn_run(input, hidden, weights, masks, batch_sizes, plan, True)
    finally:
        modes.grad_enabled = before
    output, *last = rnn_outputs(input, hidden, weights, masks, list(results), batch_sizes, plan)
    is_stacked = output.grad_fn is None or output.grad_fn.name() == "StackBackward0"
    return output, *(last if is_stacked else map(rnn_last, last))


def _masks(input: Tensor, shape: tuple[int, ...], layers: int, p: float, train: bool) -> list[Tensor]:
    """Dropout's factors between layers, drawn in PyTorch's order."""
    if p == 0 or not train or layers < 2:
        return []
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    kind, masks = input.dtype.numpy, []
    for _ in range(layers - 1):
        if p == 1 or on_meta(input):
            masks.append(from_value(Value.on_host(np.zeros((), kind), input._aval.placement)))
        else:
            masks.append(keep(input, shape, p))
    return masks


_REST = {"params": (list, tuple), "has_biases": bool, "num_layers": int, "dropout": (int, float), "train": bool}
_PADDED = {"input": Tensor, "hx": object, **_REST, "bidirectional": bool, "batch_first": bool}
_PACKED = {"data": Tensor, "batch_sizes": Tensor, "hx": object, **_REST, "bidirectional": bool}


def _bound(
    overload: dict[str, tuple[type, ...] | type], args: tuple[object, ...], kwargs: Mapping[str, object], is_lstm: bool
) -> Any:
    """The arguments by name; None where they do not fit this overload."""
    arguments = dict(zip(overload, args, strict=False))
    if len(args) > len(overload) or not arguments.keys().isdisjoint(kwargs):
        return None
    arguments |= kwargs
    kinds = overload | {"hx": (list, tuple) if is_lstm else Tensor}
    fits = arguments.keys() == overload.keys() and all(
        isinstance(arguments[name], kind) for name, kind in kinds.items()
    )
    return arguments if fits else None


def _threads_of_onednn(plan: Plan, data: Tensor, hidden: list[Tensor], weights: Sequence[Tensor]) -> int:
    """For how many threads oneDNN computes these layers; 0 if it does not."""
    aval = data._aval
    placement, shape = aval.placement, aval.shape
    if placement.platform != "cpu" or type(placement) is not Placement or len(shape) != 3 or shape[0] < FASTER_FROM:
        return 0
    size = hidden[0]._aval.shape[-1]
    threads, state = onednn.threads(), (plan.num_layers * (2 if plan.bidirectional else 1), shape[1], size)
    if not threads or any(h._aval.shape != state for h in hidden):
        return 0
    for tensor in (data, *hidden, *weights):
        if not isinstance(tensor, Tensor):
            return 0  # and the op says what is wrong
        aval = tensor._aval
        # JAX differentiates and maps what it traces by itself; such an array has an aval of another class.
        if aval.__class__ is not Aval or aval.dtype is not _FLOAT or aval.placement is not placement:
            return 0
    shapes = tuple([weight._aval.shape for weight in weights])
    fits = computes(shape, size, plan.num_layers, plan.bidirectional, threads, shapes, plan.has_biases)
    return threads if fits else 0


def _unsupported_call(name: str, args: tuple[object, ...], kwargs: Mapping[str, object], is_lstm: bool) -> TypeError:
    hx = "tuple of Tensors hx" if is_lstm else "Tensor hx"
    options = "tuple of Tensors params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional"
    types = ", ".join([type_name(a) for a in args] + [f"{k}={type_name(v)}" for k, v in kwargs.items()])
    return TypeError(
        f"{name}() received an invalid combination of arguments - got ({types}), but expected one of:\n"
        f" * (Tensor data, Tensor batch_sizes, {hx}, {options})\n * (Tensor input, {hx}, {options}, bool batch_first)\n"
    )


def _recurrent(mode: str, name: str, args: tuple[object, ...], kwargs: Mapping[str, object]) -> tuple[Tensor, ...]:
    """Both overloads: of padded sequences, and of packed ones."""
    is_lstm = mode == "LSTM"
    arguments = _bound(_PADDED, args, kwargs, is_lstm) or _bound(_PACKED, args, kwargs, is_lstm)
    if arguments is None:
        raise _unsupported_call(name, args, kwargs, is_lstm)
    sizes, batch_first = arguments.get("batch_sizes"), arguments.get("batch_first", False)
    data = arguments["input" if sizes is None else "data"]
    hidden = list(arguments["hx"]) if is_lstm else [arguments["hx"]]
    if is_lstm and len(hidden) != 2:
        raise RuntimeError("lstm expects two hidden states")
    projected = is_lstm and hidden[0].size(2) != hidden[1].size(2)
    options = mode, arguments["has_biases"], arguments["num_layers"], arguments["bidirectional"], projected
    plan = plan_of(*options)
    if batch_first:
        data = data.transpose(0, 1)
    if not data.shape[0]:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    if is_lstm and not projected and sizes is None:
        plan = plan_of(*options, _threads_of_onednn(plan, data, hidden, arguments["params"]))
    between = (*data.shape[:-1], hidden[0].size(2) * (2 if plan.bidirectional else 1))
    masks = _masks(data, between, plan.num_layers, arguments["dropout"], arguments["train"])
    results = _stack(plan, data, hidden, list(arguments["params"]), masks, sizes)
    if not batch_first:
        return tuple(results)
    output, *last = results
    # In place where PyTorch does it so: the graph of the output names the operation.
    in_place = not is_lstm and output.grad_fn is not None
    return (output.transpose_ if in_place else output.transpose)(0, 1), *last


@composite(forms=Form.FUNCTION, autocast=Autocast.LOWER)
def lstm(*args: object, **kwargs: object) -> tuple[Tensor, ...]:
    """Layers of long short-term memory over a sequence: ``(output, h_n, c_n)``.

    ``lstm(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)``, or for packed sequences
    ``lstm(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)``.

    Args:
        input: (T, B, F). hx: the first states and cells, each (layers * directions, B, H).
        params: the weights, layer after layer, as ``torch.nn.LSTM`` keeps them.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTM.html; Hochreiter, Schmidhuber, "Long short-term
    memory" (1997).
    """
    return _recurrent("LSTM", "lstm", args, kwargs)


@composite(forms=Form.FUNCTION, autocast={"cpu": _as_hidden, "cuda": Autocast.LOWER})
def gru(*args: object, **kwargs: object) -> tuple[Tensor, ...]:
    """Layers of gated recurrent units over a sequence: ``(output, h_n)``. Arguments as ``lstm``, ``hx`` one tensor.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.GRU.html; Cho et al. (2014).
    """
    return _recurrent("GRU", "gru", args, kwargs)


@composite(forms=Form.FUNCTION, autocast=Autocast.LOWER)
def rnn_tanh(*args: object, **kwargs: object) -> tuple[Tensor, ...]:
    """Plain recurrent layers, ``h = tanh(W x + b + U h + c)``: ``(output, h_n)``. Arguments as ``gru``."""
    return _recurrent("RNN_TANH", "rnn_tanh", args, kwargs)


@composite(forms=Form.FUNCTION, autocast=Autocast.LOWER)
def rnn_relu(*args: object, **kwargs: object) -> tuple[Tensor, ...]:
    """Plain recurrent layers, ``h = relu(W x + b + U h + c)``: ``(output, h_n)``. Arguments as ``gru``."""
    return _recurrent("RNN_RELU", "rnn_relu", args, kwargs)


# ---- single steps


def _step(
    cell: Cell,
    input: Array,
    hidden: Array,
    memory: Array | None,
    w_ih: Array,
    w_hh: Array,
    b_ih: Array | None,
    b_hh: Array | None,
) -> Any:
    if input.shape[1] != w_ih.shape[1]:
        raise RuntimeError(f"input has inconsistent input_size: got {input.shape[1]} expected {w_ih.shape[1]}")
    width = w_hh.shape[0] // cell.gates
    for number, state in enumerate((hidden, memory)):
        if state is None:
            continue
        if state.shape[0] != input.shape[0]:
            raise RuntimeError(
                f"Input batch size {input.shape[0]} doesn't match hidden{number} batch size {state.shape[0]}"
            )
        if state.shape[1] != width:
            raise RuntimeError(f"hidden{number} has inconsistent hidden_size: got {state.shape[1]}, expected {width}")
    _check_product(input.shape[0], input, w_ih)
    _check_product(hidden.shape[0], hidden, w_hh)
    x, h = rows_by_matrix(input, w_ih, b_ih), rows_by_matrix(hidden, w_hh, b_hh)
    if x.dtype.kind in "iu" and cell is CELLS["RNN_TANH"]:
        x, h = (y.astype(dtypes.get_default_dtype().numpy) for y in (x, h))
    return cell.forward(x, h, hidden, memory)


ONE_STEP = [
    Sample(shapes=((2, 3), (2, 4), (4, 3), (4, 4), (4,), (4,))),
    Sample(shapes=((2, 3), (2, 4), (4, 3), (4, 4))),
]


def _refuse(name: str, dtype: Dtype) -> str | Exception:
    if dtype.category == dtypes.BOOL:
        return NotImplementedError("\"addmm_impl_cpu_\" not implemented for 'Bool'")
    if dtype.is_complex:
        return NotImplementedError("clamp is not supported for complex types")
    return f"result type Float can't be cast to the desired output type {dtype.scalar_name}"


@op(
    promote=Promote.NONE,
    accepts=Category.INTEGER | Category.FLOAT | Category.COMPLEX,
    forms=Form.FUNCTION,
    backward="TanhBackward0",
    refuse=_refuse,
    samples=ONE_STEP,
    autocast=Autocast.LOWER,
)
def rnn_tanh_cell(
    input: Array, hx: Array, w_ih: Array, w_hh: Array, b_ih: Array | None = None, b_hh: Array | None = None
) -> Array:
    """One step of a plain recurrent layer: ``tanh(w_ih x + b_ih + w_hh h + b_hh)``.

    Args:
        input: x, (B, F). hx: h, (B, H). w_ih: (H, F). w_hh: (H, H).
    """
    return _step(CELLS["RNN_TANH"], input, hx, None, w_ih, w_hh, b_ih, b_hh)[0]


@op(
    promote=Promote.NONE,
    accepts=Category.INTEGER | Category.FLOAT,
    forms=Form.FUNCTION,
    backward="ReluBackward0",
    refuse=_refuse,
    samples=ONE_STEP,
    autocast=Autocast.LOWER,
)
def rnn_relu_cell(
    input: Array, hx: Array, w_ih: Array, w_hh: Array, b_ih: Array | None = None, b_hh: Array | None = None
) -> Array:
    """As ``rnn_tanh_cell``, with relu."""
    return _step(CELLS["RNN_RELU"], input, hx, None, w_ih, w_hh, b_ih, b_hh)[0]


@op(
    promote=Promote.NONE,
    accepts=Category.INEXACT,
    forms=Form.FUNCTION,
    backward="AddBackward0",
    refuse=_refuse,
    samples=[Sample(shapes=((2, 3), (2, 4), (12, 3), (12, 4), (12,), (12,)))],
    autocast={"cpu": _as_hidden, "cuda": Autocast.LOWER},
)
def gru_cell(
    input: Array, hx: Array, w_ih: Array, w_hh: Array, b_ih: Array | None = None, b_hh: Array | None = None
) -> Array:
    """One step of a gated recurrent unit; the weights of the reset, update and new gates lie one under the other."""
    return _step(CELLS["GRU"], input, hx, None, w_ih, w_hh, b_ih, b_hh)[0]


@op(
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.FUNCTION,
    backward="MulBackward0",
    samples=[],
    autocast={"cpu": _as_hidden, "cuda": Autocast.LOWER},
)
def lstm_cell(
    input: Array, hx: list[Array], w_ih: Array, w_hh: Array, b_ih: Array | None = None, b_hh: Array | None = None
) -> tuple[Array, Array]:
    """One step of long short-term memory: the new state and cell.

    Args:
        hx: state and cell, each (B, H). w_ih, w_hh: of the input, forget, cell and output gates, one under the other.
    """
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    return _step(CELLS["LSTM"], input, hx[0], hx[1], w_ih, w_hh, b_ih, b_hh)[:2]
