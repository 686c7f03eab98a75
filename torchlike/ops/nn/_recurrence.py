"""Recurrent layers over whole sequences, as one loop a layer and direction, with derivatives that run one more loop.

A loop that is differentiated as it stands would run twice: once for its result and again inside the pullback, since XLA does not
merge loops. So `run` hands out, besides the results, what the derivative reads (`kept`), and `outputs` is the same
function with these at hand: its derivative walks back through the sequence once, and everything that needs no loop (the
products with inputs, all gradients of weights) is one large product before or after it.

Where the plan says so, oneDNN computes the layers and their derivative (`_lstm_layer.py`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from ...engine.interpreter import scan
from ...numerics.exact_math import traced_platform
from ...numerics.picking import picked, summed_at
from ..linalg.matmul import contract, rows_by_matrix
from . import _lstm_layer

__all__ = ["CELLS", "Cell", "LayerInputs", "Inputs", "Plan", "outputs", "plan_of", "run"]


# Loops of so few steps read the weights of the hidden state as they lie.
FEW_STEPS = 3


class Cell(NamedTuple):
    """What happens at one step, after the products with weights.

    ``forward(x, h, state, cell)``: from the two products (``gates`` times the hidden size each), the state and the cell to the new
    state, the new cell and what the derivative reads. ``slopes(kept, new, state, new_cell, cell)``: the factors of the derivative, for
    all steps at once. ``backward(slopes, d_state, d_cell)``: gradients of both products, of the cell, and of the state as far as it
    does not come through the product.
    """

    gates: int
    has_cell: bool
    forward: Callable[..., Any]
    slopes: Callable[..., object]
    backward: Callable[..., Any]


def _tanh_forward(x: Array, h: Array, state: Array, cell: Array | None) -> tuple[Array, None, tuple[Array, ...] | None]:
    return jnp.tanh(x + h), None, ()


def _tanh_slopes(memory: object, new: Array, state: Array, new_cell: Array | None, cell: Array | None) -> Array:
    return 1 - new * new


def _relu_forward(x: Array, h: Array, state: Array, cell: Array | None) -> tuple[Array, None, tuple[Array, ...] | None]:
    total = x + h
    return jnp.where(total <= 0, jnp.zeros((), total.dtype), total), None, ()


def _relu_slopes(memory: object, new: Array, state: Array, new_cell: Array | None, cell: Array | None) -> Array:
    return (new > 0).astype(new.dtype)


def _plain_backward(slopes: Array, d_state: Array, d_cell: Array | None) -> tuple[Array, Array, None, None]:
    d = d_state * slopes
    return d, d, None, None


def _lstm_forward(x: Array, h: Array, state: Array, cell: Array) -> tuple[Array, Array, tuple[Array, ...]]:
    i, f, g, o = jnp.split(x + h, 4, axis=-1)
    # Several expressions read each gate, and XLA's CPU backend would compute the gate again for each of them.
    gates = lax.optimization_barrier((jax.nn.sigmoid(i), jax.nn.sigmoid(f), jnp.tanh(g), jax.nn.sigmoid(o)))
    i, f, g, o = gates
    new_cell = lax.optimization_barrier(f * cell + i * g)
    return o * jnp.tanh(new_cell), new_cell, gates


def _lstm_slopes(
    gates_before: tuple[Array, Array, Array, Array], new: Array, state: Array, new_cell: Array, cell: Array
) -> tuple[Array, Array, Array]:
    i, f, g, o = gates_before
    squashed = jnp.tanh(new_cell)
    through = o * (1 - squashed * squashed)
    gates = [g * i * (1 - i), cell * f * (1 - f), i * (1 - g * g), squashed * o * (1 - o)]
    return through, jnp.concatenate(gates, axis=-1), f


def _lstm_slopes_at(gates: Array, cell: Array) -> tuple[Array, Array, Array]:
    """The same for one step, from the gates side by side and the cell before it. The new cell is computed again."""
    i, f, g, o = jnp.split(gates, 4, axis=-1)
    return _lstm_slopes((i, f, g, o), gates, gates, f * cell + i * g, cell)


def _lstm_backward(
    slopes: tuple[Array, Array, Array], d_state: Array, d_cell: Array
) -> tuple[Array, Array, Array, None]:
    through, gates, forget = slopes
    d_new = d_cell + d_state * through
    d = gates * jnp.concatenate([d_new, d_new, d_new, d_state], axis=-1)
    return d, d, d_new * forget, None


def _gru_forward(x: Array, h: Array, state: Array, cell: Array | None) -> tuple[Array, None, tuple[Array, ...]]:
    (xr, xz, xn), (hr, hz, hn) = jnp.split(x, 3, axis=-1), jnp.split(h, 3, axis=-1)
    r, z = lax.optimization_barrier((jax.nn.sigmoid(xr + hr), jax.nn.sigmoid(xz + hz)))
    n = lax.optimization_barrier(jnp.tanh(xn + r * hn))
    return (state - n) * z + n, None, (r, z, n, hn)


def _gru_slopes(
    gates: tuple[Array, Array, Array, Array], new: Array, state: Array, new_cell: Array | None, cell: Array | None
) -> tuple[Array, Array, Array]:
    r, z, n, hn = gates
    to_n = (1 - z) * (1 - n * n)
    to_r, to_z = to_n * hn * r * (1 - r), (state - n) * z * (1 - z)
    return jnp.concatenate([to_r, to_z, to_n], axis=-1), jnp.concatenate([to_r, to_z, to_n * r], axis=-1), z


def _gru_backward(
    slopes: tuple[Array, Array, Array], d_state: Array, d_cell: Array | None
) -> tuple[Array, Array, None, Array]:
    to_x, to_h, direct = slopes
    d = jnp.concatenate([d_state] * 3, axis=-1)
    return d * to_x, d * to_h, None, d_state * direct


CELLS = {
    "RNN_TANH": Cell(1, False, _tanh_forward, _tanh_slopes, _plain_backward),
    "RNN_RELU": Cell(1, False, _relu_forward, _relu_slopes, _plain_backward),
    "LSTM": Cell(4, True, _lstm_forward, _lstm_slopes, _lstm_backward),
    "GRU": Cell(3, False, _gru_forward, _gru_slopes, _gru_backward),
}


class Weights(NamedTuple):
    """The weights of one layer and direction."""

    ih: Array  # (gates * hidden, input)
    hh: Array  # (gates * hidden, output)
    bias_ih: Array | None
    bias_hh: Array | None
    hr: Array | None  # (output, hidden): the projection of an LSTM


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything about a stack of layers that is not an array. Made by ``plan_of`` alone, so that one is itself a key."""

    mode: str
    has_biases: bool
    num_layers: int
    bidirectional: bool
    projected: bool
    threads: int  # oneDNN computes, with the batch cut for so many threads; 0: loops of XLA's

    @property
    def cell(self) -> Cell:
        return CELLS[self.mode]

    @property
    def results(self) -> int:
        """How many of the results of ``run`` are the user's."""
        return 3 if self.cell.has_cell else 2

    @property
    def overwrites(self) -> bool:
        """Whether what the derivative reads lies where products of the inputs lay, and gradients of these there in the end.

        So a layer keeps a third less for its backward pass. Only the compiler for TPUs was seen to copy nothing then.
        """
        return self.mode == "LSTM" and not self.projected and traced_platform() == "tpu"

    def weights(self, flat: list[Array], number: int) -> Weights:
        """Picks the weights of one layer and direction out of the flat list."""
        count = 2 + 2 * self.has_biases + self.projected
        own_weights = flat[number * count : (number + 1) * count]
        biases = own_weights[2:4] if self.has_biases else (None, None)
        return Weights(
            own_weights[0], own_weights[1], biases[0], biases[1], own_weights[-1] if self.projected else None
        )


@functools.cache
def plan_of(
    mode: str, has_biases: bool, num_layers: int, bidirectional: bool, projected: bool, threads: int = 0
) -> Plan:
    """The one plan there is for these values."""
    return Plan(mode, has_biases, num_layers, bidirectional, projected, threads)


class Inputs(NamedTuple):
    """The arrays that may require a gradient."""

    data: Array  # (T, B, F), or (N, F) if packed
    hidden: list[Array]  # state, and cell of an LSTM: (layers * directions, B, H)
    weights: list[Array]


class LayerInputs(NamedTuple):
    """The other arrays."""

    masks: list[Array]  # dropout between layers
    batch_sizes: Array | None  # (T,): how many sequences reach so far, if packed


def _rows(x: Array, weight: Array, bias: Array | None = None) -> Array:
    """``x @ weight.T + bias`` for any leading dimensions."""
    rows = rows_by_matrix(
        x.reshape(-1, x.shape[-1]), weight, bias
    )  # a bias may be longer than the weight's rows are many
    return rows.reshape(*x.shape[:-1], rows.shape[-1])


def _back(d: Array, weight: Array) -> Array:
    """``d @ weight`` for any leading dimensions."""
    return contract(d.reshape(-1, d.shape[-1]), weight, ((1,), (0,))).reshape(*d.shape[:-1], weight.shape[1])


def _outer(d: Array, x: Array) -> Array:
    """The gradient of a weight: ``d.T @ x`` over all steps and sequences."""
    return contract(d.reshape(-1, d.shape[-1]), x.reshape(-1, x.shape[-1]), ((0,), (0,)))


def _where(valid: Any, new: Array | None, old: Any) -> Any:
    return new if valid is None or new is None else jnp.where(valid[:, None], new, old)


def _over(buffer: Array, step: Callable[..., Any], first: Any, others: Any, reverse: bool) -> Any:
    """``scan(step, first, (buffer, *others))``, where the last that a step collects lies where its row of the buffer lay."""

    def at_row(carry: Any, at: Any) -> Any:
        (carry, buffer), (number, *others) = carry, at
        row = lax.dynamic_index_in_dim(buffer, number, keepdims=False)
        carry, (*collected, new) = step(carry, (row, *others))
        return (carry, lax.dynamic_update_index_in_dim(buffer, new, number, 0)), collected

    numbers = lax.iota(jnp.int32, buffer.shape[0])
    (last, buffer), collected = lax.scan(at_row, (first, buffer), (numbers, *others), reverse=reverse)
    return last, (*collected, buffer)


def _layer(
    cell: Cell,
    x: Array,
    state: Array,
    memory: Array | None,
    w: Weights,
    valid: Array | None,
    reverse: bool,
    in_place: bool = False,
) -> Any:
    """One layer and direction over (T, B, F): all states, all cells, the last of both, and what the derivative reads.

    ``valid`` (T, B) is False where a sequence has ended: there the state stays as it was. ``in_place``: the gates of an LSTM side by side,
    where the products of the inputs lay, and the cells as they were before each step.
    """
    # The inputs of all steps are multiplied at once, as one large product. Only the product with the state has to wait for the step before.
    products = _rows(x, w.ih, w.bias_ih)
    # Transposed once, not at every step; for few steps that would take longer than all their products.
    transposes = products.shape[0] > FEW_STEPS
    to_hidden = w.hh.T if transposes else w.hh

    def step(carry: Any, at: Any) -> Any:
        (state, memory), (product, valid) = carry, at
        hidden = rows_by_matrix(state, to_hidden, w.bias_hh, dim=0 if transposes else 1)
        new, new_memory, gates = cell.forward(product, hidden, state, memory)
        if w.hr is not None:
            new = _rows(new, w.hr)
        new, new_memory = _where(valid, new, state), _where(valid, new_memory, memory)
        if in_place:
            return (new, new_memory), (new, memory, jnp.concatenate(gates, axis=-1))
        return (new, new_memory), (new, new_memory, gates)

    if in_place:
        last, (states, memories, gates) = _over(products, step, (state, memory), (valid,), reverse)
        return states, memories, last, (gates,)
    last, (states, memories, gates) = scan(step, (state, memory), (products, valid), reverse=reverse)
    return states, memories, last, gates


def _previous_states(first: Array, all_: Array, reverse: bool) -> Array:
    """The state at the start of each step."""
    return jnp.concatenate([all_[1:], first[None]] if reverse else [first[None], all_[:-1]])


def _layer_gradients(
    cell: Cell,
    x: Array,
    state: Array,
    memory: Any,
    w: Weights,
    valid: object,
    reverse: bool,
    history: Any,
    cotangents: tuple[Array | None, ...],
) -> Any:
    """Gradients of x, the first state, the first cell, and the weights."""
    (states, memories, gates), (d_states, d_last, d_last_memory) = history, cotangents
    before = _previous_states(state, states, reverse)
    in_place = len(gates) == 1

    def step(carry: Any, at: Any) -> Any:
        (d_state, d_memory), (slopes, d_given, valid, *memories_before) = carry, at
        slopes = _lstm_slopes_at(slopes, *memories_before) if in_place else slopes
        d_out = d_state + d_given
        d_new = d_out if w.hr is None else _back(d_out, w.hr)
        d_x, d_h, d_memory_before, direct = cell.backward(slopes, d_new, d_memory)
        d_before = _back(d_h, w.hh) if direct is None else _back(d_h, w.hh) + direct
        nothing = jnp.zeros((), d_x.dtype)
        carry = _where(valid, d_before, d_out), _where(valid, d_memory_before, d_memory)
        projected = None if w.hr is None else _where(valid, d_out, nothing)
        d_other = None if d_h is d_x else _where(valid, d_h, nothing)
        return carry, (d_other, projected, _where(valid, d_x, nothing))

    first, given = (d_last, d_last_memory), (d_states, valid)
    if in_place:
        found = _over(gates[0], step, first, (*given, memories), not reverse)
    else:
        memories_before = None if memories is None else _previous_states(memory, memories, reverse)
        slopes = cell.slopes(gates, states, before, memories, memories_before)
        found = scan(step, first, (slopes, *given), reverse=not reverse)
    (d_state, d_memory), (d_h, d_out, d_x) = found
    d_h = d_x if d_h is None else d_h
    biases = (None, None) if w.bias_ih is None else (jnp.sum(d_x, (0, 1)), jnp.sum(d_h, (0, 1)))
    d_hr = None
    if w.hr is not None:
        assert memories is not None
        d_hr = _outer(d_out, gates[-1] * jnp.tanh(memories))  # only an LSTM is projected
    d_weights = Weights(_outer(d_x, x), _outer(d_h, before), *biases, d_hr)
    return _back(d_x, w.ih), d_state, d_memory, d_weights


class _Packing:
    """Sequences of several lengths, longest first, as rows (N, F) without gaps; here they get their gaps back."""

    def __init__(self, batch_sizes: Array, batch: int, rows: int) -> None:
        sizes = batch_sizes.astype(jnp.int32)
        ends = jnp.cumsum(sizes)
        starts, number = ends - sizes, lax.iota(jnp.int32, batch)
        self.valid = number < sizes[:, None]
        self.where = jnp.where(self.valid, starts[:, None] + number, 0)
        # A row belongs to the step before which as many steps end as up to that row. No search, which NumPy has to trace for each length.
        ended = summed_at(lax.full_like(ends, 1), ends, rows + 1, in_order=True)
        self.step = jnp.cumsum(ended)[:rows]
        self.sequence = lax.iota(jnp.int32, rows) - picked(starts, (self.step,))

    def spread(self, data: Array) -> Array:
        return jnp.where(self.valid[:, :, None], picked(data, (self.where,)), jnp.zeros((), data.dtype))

    def pack(self, padded: Array) -> Array:
        return picked(padded, (self.step, self.sequence))


def _packing(inputs: Inputs, fixed: LayerInputs) -> _Packing | None:
    if fixed.batch_sizes is None:
        return None
    return _Packing(fixed.batch_sizes, inputs.hidden[0].shape[1], inputs.data.shape[0])


def run(plan: Plan, inputs: Inputs, fixed: LayerInputs, keep: bool = True) -> list[Array]:
    """Output, last states, last cells of an LSTM; then, layer by layer, what the derivative reads, if ``keep``."""
    cell, directions = plan.cell, 2 if plan.bidirectional else 1
    packing = _packing(inputs, fixed)
    x = inputs.data if packing is None else packing.spread(inputs.data)
    valid = None if packing is None else packing.valid
    states, memories, kept_all = [], [], []
    for layer in range(plan.num_layers):
        outs = []
        for direction in range(directions):
            number = layer * directions + direction
            memory = inputs.hidden[1][number] if cell.has_cell else None
            w, state = plan.weights(inputs.weights, number), inputs.hidden[0][number]
            if plan.threads:
                out, *last, kept = _lstm_layer.forward(x, state, memory, w[:4], bool(direction), plan.threads, keep)
            else:
                in_place = keep and plan.overwrites
                out, all_memories, last, gates = _layer(cell, x, state, memory, w, valid, bool(direction), in_place)
                kept = [out, *([all_memories] if cell.has_cell else []), *gates]
            outs.append(out)
            states.append(last[0])
            memories.append(last[1])
            kept_all += kept
        x = _layer_output(plan, outs, fixed, layer, packing)
    result = x if packing is None else packing.pack(x)
    results = [result, jnp.stack(states), *([jnp.stack(memories)] if cell.has_cell else [])]
    return results + kept_all if keep else results


def _layer_output(plan: Plan, outs: list[Array], fixed: LayerInputs, layer: int, packing: _Packing | None) -> Array:
    """The output of a layer as the next layer reads it: directions side by side, dropout applied."""
    x = outs[0] if len(outs) == 1 else jnp.concatenate(outs, axis=-1)
    if fixed.masks and layer < plan.num_layers - 1:
        x = x * _mask(fixed, layer, packing)
    return x


def _mask(fixed: LayerInputs, layer: int, packing: _Packing | None) -> Array:
    mask = fixed.masks[layer]
    return mask if packing is None or not mask.ndim else packing.spread(mask)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def outputs(plan: Plan, inputs: Inputs, fixed: LayerInputs, arrays: list[Array]) -> list[Array]:
    """The user's results out of what ``run`` has found for the same arguments, with their derivative."""
    return arrays[: plan.results]


def _outputs_forward(
    plan: Plan, inputs: Inputs, fixed: LayerInputs, arrays: list[Array]
) -> tuple[list[Array], tuple[Inputs, LayerInputs, list[Array]]]:
    return arrays[: plan.results], (inputs, fixed, arrays)


def _outputs_backward(
    plan: Plan, saved: tuple[Inputs, LayerInputs, list[Array]], cotangents: list[Array]
) -> tuple[Inputs, None, None]:
    return _gradients(plan, *saved, cotangents), None, None


outputs.defvjp(_outputs_forward, _outputs_backward)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _gradients(plan: Plan, inputs: Inputs, fixed: LayerInputs, arrays: list[Array], cotangents: list[Array]) -> Inputs:
    cell, directions = plan.cell, 2 if plan.bidirectional else 1
    packing = _packing(inputs, fixed)
    valid = None if packing is None else packing.valid
    layers = _by_layer(plan, arrays)
    d_hidden: list[Any] = [[None] * len(layers) for _ in inputs.hidden]
    d_weights: list[Any] = [None] * len(layers)
    d_x = cotangents[0] if packing is None else packing.spread(cotangents[0])
    for layer in reversed(range(plan.num_layers)):
        first = layer * directions
        if layer:
            x = _layer_output(plan, [f[0] for f in layers[first - directions : first]], fixed, layer - 1, packing)
        else:
            x = inputs.data if packing is None else packing.spread(inputs.data)
        d_below = None
        for direction, d_out in enumerate(jnp.split(d_x, directions, axis=-1)):
            number = first + direction
            last = (d_out, cotangents[1][number], cotangents[2][number] if cell.has_cell else None)
            memory = inputs.hidden[1][number] if cell.has_cell else None
            w, state = plan.weights(inputs.weights, number), inputs.hidden[0][number]
            if plan.threads:
                kept = layers[number]
                found = _lstm_layer.gradients(x, state, memory, w[:4], bool(direction), plan.threads, kept, last)
            else:
                history = _history(plan, layers[number])
                found = _layer_gradients(cell, x, state, memory, w, valid, bool(direction), history, last)
            d_mine, d_state, d_memory, d_w = found
            d_below = d_mine if d_below is None else d_below + d_mine
            d_weights[number] = [d for d in d_w if d is not None]
            for hidden, d in zip(d_hidden, (d_state, d_memory), strict=False):
                hidden[number] = d
        assert d_below is not None
        d_x = d_below * _mask(fixed, layer - 1, packing) if fixed.masks and layer else d_below
    d_data = d_x if packing is None else packing.pack(d_x)
    return Inputs(d_data, [jnp.stack(h) for h in d_hidden], [d for layer in d_weights for d in layer])


def _by_layer(plan: Plan, arrays: list[Array]) -> list[list[Array]]:
    """What the derivative reads, for each layer and direction; the output first."""
    count = plan.num_layers * (2 if plan.bidirectional else 1)
    saved_arrays = arrays[plan.results :]
    arrays_per_layer = len(saved_arrays) // count
    return [saved_arrays[i * arrays_per_layer : (i + 1) * arrays_per_layer] for i in range(count)]


def _history(plan: Plan, kept: list[Array]) -> tuple[Array, Array | None, tuple[Array, ...]]:
    """States, cells and gates of a layer that was computed as a loop."""
    return kept[0], kept[1] if plan.cell.has_cell else None, tuple(kept[1 + plan.cell.has_cell :])


def _gradients_forward(
    plan: Plan, inputs: Inputs, fixed: LayerInputs, arrays: list[Array], cotangents: list[Array]
) -> Any:
    return _gradients(plan, inputs, fixed, arrays, cotangents), (inputs, fixed, cotangents)


def _gradients_backward(
    plan: Plan, saved: tuple[Inputs, LayerInputs, list[Array]], seconds: Inputs
) -> tuple[Inputs, None, None, list[Array]]:
    # Derivatives of derivatives begin again at the plain function: `found` depends on the inputs too. oneDNN has no such derivatives.
    inputs, fixed, cotangents = saved
    looped = plan_of(plan.mode, plan.has_biases, plan.num_layers, plan.bidirectional, plan.projected)

    def plain(inputs: Inputs, cotangents: list[Array]) -> Inputs:
        return jax.vjp(lambda arguments: run(looped, arguments, fixed, False), inputs)[1](cotangents)[0]

    d_inputs, d_cotangents = jax.vjp(plain, inputs, cotangents)[1](seconds)
    return d_inputs, None, None, d_cotangents


_gradients.defvjp(_gradients_forward, _gradients_backward)
