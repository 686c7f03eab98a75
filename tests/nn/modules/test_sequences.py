"""Recurrent layers, attention and transformers have PyTorch's weights, results, gradients, random streams and messages."""

import copy
import io
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from flax import nnx

import torchlike as torch
from tests.nn.modules.sequences import LINES, ROWS, Row, run, said, tensors
from torchlike import nn
from torchlike.nn.utils import rnn

pytestmark = pytest.mark.composed

RTOL, ATOL = 2e-5, 1e-6


@pytest.mark.costly
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_layer_does_what_pytorchs_does(golden, row: Row):
    recorded = golden("sequences")
    expected = {k.split("/", 1)[1]: v for k, v in recorded.items() if k.startswith(f"{row.name}/")}
    found = run(torch, row, lambda t: t.numpy().copy())
    assert list(found) == list(expected)
    for name, array in found.items():
        assert array.dtype == expected[name].dtype, name
        assert array.shape == expected[name].shape, name
        if name == "next" or name.startswith("start."):
            assert array.tobytes() == expected[name].tobytes(), f"{name}: other numbers are drawn"
        else:
            largest = max(1.0, np.abs(expected[name]).max(initial=0))
            np.testing.assert_allclose(array, expected[name], rtol=RTOL, atol=ATOL * largest, err_msg=name)


@pytest.mark.parametrize("line", LINES)
def test_a_line_gives_raises_and_warns_as_in_pytorch(golden, line: str):
    assert said(torch, line) == golden("sequence_words")["said"][line]


@pytest.mark.parametrize(
    "row", [r for r in ROWS if r.name in ("LSTM_dropout", "Attention", "Decoder")], ids=lambda r: r.name
)
def test_copies_pickles_state_and_nnx_carry_a_layer_over(row: Row):
    module = row.make(torch).eval()
    other: Any = row.make(torch).eval()
    other.load_state_dict(module.state_dict())

    def results(layer: Any) -> list[Any]:
        torch.manual_seed(0)
        with torch.op_by_op():  # a path that has become one program may differ in the last bits
            return [t.detach().numpy() for t in tensors(row.call(torch, layer))]

    expected = results(module)
    merged: Any = nnx.merge(*nnx.split(module))
    for again in (copy.deepcopy(module), pickle.load(io.BytesIO(pickle.dumps(module))), other, merged):
        assert repr(again) == repr(module)
        for got, wanted in zip(results(again), expected, strict=True):
            np.testing.assert_array_equal(got, wanted)


# ---- the recorded loop

LOOPS = {
    "LSTM": lambda: torch.nn.LSTM(3, 8, 2, dropout=0.2, bidirectional=True, batch_first=True),
    "GRU": lambda: torch.nn.GRU(3, 8, batch_first=True),
    "Attention": lambda: torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True),
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_training_loop_compiles_nothing_after_its_first_steps(name: str):
    model = LOOPS[name]()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    features = 4 if name == "Attention" else 3
    x: Any = torch.randn(4, 6, features)
    losses, compiled = [], None
    for step in range(6):
        result = model(x)
        loss = (tensors(result)[0] ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        if step == 2:
            compiled = torch.explain().compiles, torch.explain().op_compiles
    assert (torch.explain().compiles, torch.explain().op_compiles) == compiled, str(torch.explain())
    assert name == "Attention" or losses[-1] < losses[0]


def test_other_lengths_of_as_many_rows_compile_nothing():
    model = torch.nn.LSTM(3, 4)

    def step(lengths: list[int]) -> Any:
        packed = rnn.pack_padded_sequence(torch.ones(6, 3, 3), lengths)
        output, _ = model(packed)
        output.data.sum().backward()
        return model.weight_ih_l0.grad.clone()

    first = step([6, 4, 2])
    step([6, 4, 2])
    compiled = torch.explain().compiles, torch.explain().op_compiles
    other = step([6, 3, 3])
    assert (torch.explain().compiles, torch.explain().op_compiles) == compiled
    assert not torch.equal(first, other)


def test_a_sequence_of_a_batch_does_not_feel_the_longer_ones():
    torch.manual_seed(0)
    model = torch.nn.GRU(3, 4, 2, bidirectional=True)
    sequences: list[Any] = [torch.randn(n, 3) for n in (5, 2, 4)]
    together, _ = model(rnn.pack_sequence(sequences, enforce_sorted=False))
    for alone, sequence in zip(rnn.unpack_sequence(together), sequences, strict=True):
        np.testing.assert_allclose(alone.detach().numpy(), model(sequence)[0].detach().numpy(), rtol=1e-5, atol=1e-6)


def test_padding_that_is_nan_reaches_nothing():
    model = torch.nn.LSTM(3, 4, bidirectional=True)
    data: Any = torch.ones(4, 2, 3)
    data[2:, 1] = float("nan")
    output, _ = model(rnn.pack_padded_sequence(data, [4, 2]))
    output.data.sum().backward()
    assert all(p.grad.isfinite().all() for p in model.parameters())


def test_second_derivatives_through_a_loop():
    model: Any = torch.nn.LSTM(2, 2, bidirectional=True).double()
    x: Any = torch.randn(3, 1, 2, dtype=torch.float64, requires_grad=True)

    def gradient() -> Any:
        (found,) = torch.autograd.grad(model(x)[0].pow(2).sum(), x, create_graph=True)
        return found.pow(2).sum()

    (second,) = torch.autograd.grad(gradient(), model.bias_hh_l0)
    measured = []
    for i in range(8):
        values = []
        for change in (1e-5, -1e-5):
            with torch.no_grad():
                model.bias_hh_l0[i] += change
            values.append(gradient().item())
            with torch.no_grad():
                model.bias_hh_l0[i] -= change
        measured.append((values[0] - values[1]) / 2e-5)
    np.testing.assert_allclose(second.numpy(), measured, rtol=1e-6, atol=1e-8)


def test_padded_positions_come_out_as_zeros_in_inference():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2).eval()
    x, padding = torch.randn(2, 3, 4), torch.tensor([[False, False, True], [False, True, True]])
    assert not (model(x, src_key_padding_mask=padding) == 0).any()
    with torch.no_grad():
        result: Any = model(x, src_key_padding_mask=padding)
        assert ((result == 0).all(-1) == padding).all()
        assert not (model(x, src_key_padding_mask=~padding) == 0).any()  # not moved to the end, as in PyTorch


# The nodes of the output and of the last states, as PyTorch 2.13 names them: one direction, two directions, packed.
GRAPHS = {
    nn.RNN: ("StackBackward0", "CatBackward0", "CatBackward0"),
    nn.GRU: ("StackBackward0", "CatBackward0", "CatBackward0"),
    nn.LSTM: ("MkldnnRnnLayerBackward0", "CatBackward0", "CatBackward0"),
}


@pytest.mark.parametrize("layer", GRAPHS)
@pytest.mark.parametrize("batch_first", [False, True])
def test_the_graph_of_a_recurrent_layer_has_the_names_of_pytorch(layer, batch_first):
    def names(output, last):
        states = last if isinstance(last, tuple) else (last,)
        assert {state.grad_fn.name() for state in states} == {"StackBackward0"}
        return output.grad_fn.name()

    x, transposed = torch.ones(4, 2, 2), "TransposeBackward0" if layer is nn.LSTM else "TransposeBackward1"
    for bidirectional in (False, True):
        wanted = transposed if batch_first else GRAPHS[layer][bidirectional]
        assert names(*layer(2, 3, bidirectional=bidirectional, batch_first=batch_first)(x)) == wanted
    output, last = layer(2, 3)(nn.utils.rnn.pack_sequence([torch.ones(3, 2), torch.ones(1, 2)]))
    assert names(output.data, last) == GRAPHS[layer][2]
