"""Layers for sequences as rows of a table for `test_sequences.py`: recurrent layers, attention, transformers.

Each row has a constructor and a call that run with PyTorch and with torchlike. Lines of code record errors and warnings.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

SEED = 11


@dataclass(frozen=True)
class Row:
    """One layer and one call of it.

    Args:
        name: The name of the row and of its golden values.
        make: Takes the `torch` namespace and returns a module.
        call: Takes the namespace and the module and returns the result of a call, tensors or tuples of them.
        training: Whether the module is in training mode.
    """

    name: str
    make: Callable[[Any], Any]
    call: Callable[[Any, Any], Any]
    training: bool = True


def steps(*shape: int) -> Callable[[Any, Any], Any]:
    return lambda torch, module: module(torch.randn(*shape))


def packed(torch: Any, module: Any) -> Any:
    rnn = torch.nn.utils.rnn
    x = rnn.pack_padded_sequence(torch.randn(4, 3, 3), [2, 4, 1], enforce_sorted=False)
    output, hidden = module(x)
    return rnn.pad_packed_sequence(output)[0], hidden


def with_state(cells: bool) -> Callable[[Any, Any], Any]:
    def call(torch: Any, module: Any) -> Any:
        x, h = torch.randn(5, 2, 3), torch.randn(2, 2, 4)
        return module(x, (h, torch.randn(2, 2, 4))) if cells else module(x, h)

    return call


def attend(**kwargs: Any) -> Callable[[Any, Any], Any]:
    """Calls MultiheadAttention; the values of `kwargs` are functions of the namespace, or plain values."""

    def call(torch: Any, module: Any) -> Any:
        given = {name: value(torch) if callable(value) else value for name, value in kwargs.items()}
        query, key, value = torch.randn(3, 2, 4), torch.randn(5, 2, module.kdim), torch.randn(5, 2, module.vdim)
        return module(query, key, value, **given)

    return call


def causal(size: int) -> Callable[[Any], Any]:
    return lambda torch: torch.nn.Transformer.generate_square_subsequent_mask(size)


def padding(torch: Any) -> Any:
    return torch.tensor([[False, False, False, True, True], [False, False, False, False, True]])


def random_mask(torch: Any) -> Any:
    return torch.randn(4, 3, 5)


def encoder(torch: Any, **kwargs: Any) -> Any:
    return torch.nn.TransformerEncoderLayer(4, 2, 6, **kwargs)


def transformer(torch: Any, module: Any) -> Any:
    mask = torch.nn.Transformer.generate_square_subsequent_mask(3)
    return module(torch.randn(5, 2, 4), torch.randn(3, 2, 4), tgt_mask=mask, tgt_is_causal=True)


ROWS = [
    Row("RNN", lambda t: t.nn.RNN(3, 4), steps(5, 2, 3)),
    Row("RNN_relu", lambda t: t.nn.RNN(3, 4, 2, "relu", bias=False), steps(5, 2, 3)),
    Row("RNN_bidirectional", lambda t: t.nn.RNN(3, 4, bidirectional=True, batch_first=True), steps(2, 5, 3)),
    Row("LSTM", lambda t: t.nn.LSTM(3, 4), steps(5, 2, 3)),
    Row("LSTM_state", lambda t: t.nn.LSTM(3, 4, 2), with_state(True)),
    Row("LSTM_unbatched", lambda t: t.nn.LSTM(3, 4, bidirectional=True), steps(5, 3)),
    Row(
        "LSTM_dropout", lambda t: t.nn.LSTM(3, 4, 3, dropout=0.4, bidirectional=True, batch_first=True), steps(2, 5, 3)
    ),
    Row("LSTM_projected", lambda t: t.nn.LSTM(3, 4, 2, proj_size=2, bidirectional=True), steps(5, 2, 3)),
    Row("LSTM_packed", lambda t: t.nn.LSTM(3, 4, 2, bidirectional=True, dropout=0.4), packed),
    Row("GRU", lambda t: t.nn.GRU(3, 4, batch_first=True), steps(2, 5, 3)),
    Row("GRU_state", lambda t: t.nn.GRU(3, 4, bidirectional=True, bias=False), with_state(False)),
    Row("GRU_packed", lambda t: t.nn.GRU(3, 4, 2), packed),
    Row("GRU_eval", lambda t: t.nn.GRU(3, 4, 2, dropout=0.5), steps(5, 2, 3), training=False),
    Row("RNNCell", lambda t: t.nn.RNNCell(3, 4, nonlinearity="relu"), steps(2, 3)),
    Row("LSTMCell", lambda t: t.nn.LSTMCell(3, 4), steps(2, 3)),
    Row("GRUCell", lambda t: t.nn.GRUCell(3, 4, bias=False), steps(3)),
    Row("Attention", lambda t: t.nn.MultiheadAttention(4, 2), attend()),
    Row("Attention_plain", lambda t: t.nn.MultiheadAttention(4, 2, bias=False), attend(need_weights=False)),
    Row("Attention_padding", lambda t: t.nn.MultiheadAttention(4, 2), attend(key_padding_mask=padding)),
    Row(
        "Attention_masks",
        lambda t: t.nn.MultiheadAttention(4, 2, dropout=0.3),
        attend(attn_mask=random_mask, need_weights=False),
    ),
    Row(
        "Attention_heads",
        lambda t: t.nn.MultiheadAttention(4, 2, dropout=0.3),
        attend(attn_mask=random_mask, average_attn_weights=False),
    ),
    Row(
        "Attention_more_keys",
        lambda t: t.nn.MultiheadAttention(4, 2, kdim=3, vdim=5, add_bias_kv=True, add_zero_attn=True),
        attend(key_padding_mask=padding, need_weights=False),
    ),
    Row("Attention_unbatched", lambda t: t.nn.MultiheadAttention(4, 1), lambda t, m: m(*[t.randn(3, 4)] * 3)),
    Row("Encoder_layer", encoder, steps(3, 2, 4)),
    Row(
        "Encoder_layer_causal",
        lambda t: encoder(t, norm_first=True, activation="gelu", batch_first=True, bias=False),
        lambda t, m: m(t.randn(2, 3, 4), src_mask=causal(3)(t), is_causal=True),
    ),
    Row(
        "Encoder",
        lambda t: t.nn.TransformerEncoder(encoder(t, batch_first=True), 2),
        lambda t, m: m(t.randn(2, 5, 4), src_key_padding_mask=padding(t)),
        training=False,
    ),
    Row(
        "Decoder",
        lambda t: t.nn.TransformerDecoder(t.nn.TransformerDecoderLayer(4, 2, 6), 2, t.nn.LayerNorm(4)),
        lambda t, m: m(t.randn(3, 2, 4), t.randn(5, 2, 4), memory_key_padding_mask=padding(t)),
    ),
    Row(
        "Transformer",
        lambda t: t.nn.Transformer(4, 2, 1, 1, 6, custom_encoder=t.nn.TransformerEncoder(encoder(t), 1, None, False)),
        transformer,
    ),
]


def tensors(result: Any) -> list[Any]:
    """Yields all tensors in a result, in order."""
    if isinstance(result, (tuple, list)):
        return [t for part in result for t in tensors(part)]
    return [] if result is None else [result]


def run(torch: Any, row: Row, numpy: Callable[[Any], Any]) -> dict[str, Any]:
    """Returns a row's first state, results and gradients, and the next random number, which shows how many were drawn."""
    torch.manual_seed(SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = row.make(torch).train(row.training)
        found = {f"start.{name}": numpy(tensor) for name, tensor in module.state_dict().items()}
        results = tensors(row.call(torch, module))
    found |= {f"result.{i}": numpy(r.detach()) for i, r in enumerate(results)}
    total = sum((r * torch.arange(1.0, r.numel() + 1).reshape(r.shape)).sum() for r in results)
    total.backward()  # pyright: ignore[reportAttributeAccessIssue]
    found |= {f"grad.{name}": numpy(p.grad) for name, p in module.named_parameters() if p.grad is not None}
    found["next"] = numpy(torch.rand(1))
    return found


# ---- messages

PACK = "torch.nn.utils.rnn.pack_padded_sequence"
X = "torch.ones(5, 2, 3)"
MHA = "torch.nn.MultiheadAttention(4, 2)"
QKV = "torch.ones(3, 2, 4), torch.ones(5, 2, 4), torch.ones(5, 2, 4)"
SDPA = "torch.nn.functional.scaled_dot_product_attention"
LINES = [
    "torch.nn.LSTM(3, 4, dropout=2)",
    "torch.nn.LSTM(3, 4, dropout=True)",
    "torch.nn.LSTM(3, 4, dropout=0.5)",
    "torch.nn.LSTM(3, 4.0)",
    "torch.nn.LSTM(3.0, 4, bias=1)",
    "torch.nn.LSTM(3.0, 0, batch_first=1)",
    "torch.nn.LSTM(3.0, 0)",
    "torch.nn.LSTM(0, 4.0)",
    "torch.nn.GRU(3, 4, 1, 2)",
    "torch.nn.RNN(3, 4, bias=None)",
    "torch.nn.RNN(3, 4, bidirectional=1)",
    "torch.nn.LSTM(3, 0)",
    "torch.nn.LSTM(0, 0.0)",
    "torch.nn.GRU(-1, 5)",
    "torch.nn.RNN(3.0, 4, batch_first=1)",
    "torch.nn.RNN('3', 4)",
    "torch.nn.RNN(3, 4, bias=1, batch_first=1)",
    "torch.nn.LinearCrossEntropyLoss(3, 2, weight=torch.ones(3), label_smoothing=2.0)",
    "torch.nn.LinearCrossEntropyLoss(3, 2, label_smoothing=-1)",
    "torch.nn.LSTM(3, 4, 0)",
    "torch.nn.LSTM(3, 4, proj_size=-1)",
    "torch.nn.LSTM(3, 4, proj_size=4)",
    "torch.nn.LSTM(3, 4, 2, False, True, 0.5, True, 2)",
    "torch.nn.RNN(3, 4, proj_size=2)",
    "torch.nn.RNN(3, 4, nonlinearity='x')",
    "torch.nn.RNN(3, 4, foo=1)",
    "torch.nn.RNNBase('X', 3, 4)",
    "torch.nn.RNNBase('LSTM', 3, 4)(1)",
    "torch.nn.RNN(3, 4)(torch.ones(3))",
    "torch.nn.GRU(3, 4)(torch.ones(3))",
    "torch.nn.GRU(3, 4)(torch.ones(5, 2, 7))",
    "torch.nn.GRU(3, 4)(torch.ones(0, 2, 3))",
    f"torch.nn.GRU(3, 4)({X}.double())",
    f"torch.nn.GRU(3, 4)({X}, torch.ones(1, 3, 4))",
    f"torch.nn.GRU(3, 4)({X}, torch.ones(1, 4))",
    f"torch.nn.GRU(3, 4)({X}[0], torch.ones(1, 2, 4))",
    f"torch.nn.LSTM(3, 4)({X}, (torch.ones(1, 2, 4), torch.ones(1, 2, 5)))",
    f"torch.nn.LSTM(3, 4)({X}, (torch.ones(1, 4), torch.ones(1, 4)))",
    f"torch.nn.GRU(3, 4)({PACK}({X}, [5, 3]), torch.ones(1, 3, 4))",
    "torch.nn.RNNCell(3, 4)(torch.ones(2, 5))",
    "torch.nn.RNNCell(3, 4)(torch.ones(2, 2, 3))",
    "torch.nn.RNNCell(3, 4)(torch.ones(2, 3), torch.ones(3, 4))",
    "torch.nn.RNNCell(3, 4)(torch.ones(2, 3), torch.ones(2, 5))",
    "torch.nn.RNNCell(3, 4, nonlinearity='x')(torch.ones(2, 3))",
    "torch.nn.LSTMCell(3, 4)(torch.ones(2, 3), (torch.ones(1, 2, 4), torch.ones(1, 2, 4)))",
    "torch.nn.GRUCell(3, 4)(torch.ones(2, 3).double())",
    "torch.lstm(1, 2)",
    "torch.gru()",
    "torch.gru_cell(1, 2, 3, 4)",
    f"{PACK}({X}, [5, 3])",
    f"{PACK}({X}, [3, 5])",
    f"{PACK}({X}, [3, 5], enforce_sorted=False)",
    f"{PACK}({X}, [5, 0])",
    f"{PACK}({X}, [5])",
    f"{PACK}({X}, [[5, 3]])",
    f"{PACK}([1], [5])",
    f"torch.nn.utils.rnn.pad_packed_sequence({PACK}({X}, [3, 5], enforce_sorted=False), True, -1.0, 6)",
    f"torch.nn.utils.rnn.pad_packed_sequence({PACK}({X}, [5, 3]), total_length=2)",
    f"torch.nn.utils.rnn.unpack_sequence({PACK}({X}, [2, 3], enforce_sorted=False))",
    f"{PACK}({X}, [5, 3]).double().data.dtype",
    f"{PACK}({X}, [5, 3]).to(torch.int32).data.dtype",
    "torch.nn.utils.rnn.PackedSequence(torch.ones(3))",
    "torch.nn.utils.rnn.pack_sequence([torch.ones(2), torch.zeros(3)])",
    "torch.nn.utils.rnn.pack_sequence([torch.ones(2), torch.zeros(3)], enforce_sorted=False)",
    "torch.nn.utils.rnn.pad_sequence([torch.ones(2), torch.zeros(3)], True, 9, 'left')",
    "torch.nn.utils.rnn.pad_sequence([torch.ones(2, 2), torch.zeros(3, 2, requires_grad=True)], padding_value=0.5)",
    "torch.nn.utils.rnn.pad_sequence([])",
    "torch.nn.utils.rnn.pad_sequence(5)",
    "torch.nn.utils.rnn.pad_sequence([torch.ones(2)], padding_side='up')",
    "torch.nn.utils.rnn.unpad_sequence(torch.arange(6.0).reshape(3, 2), torch.tensor([3, 1]))",
    "torch.nn.utils.rnn.invert_permutation(torch.tensor([2, 0, 1]))",
    "torch.nn.MultiheadAttention(5, 2)",
    "torch.nn.MultiheadAttention(0, 2)",
    f"{MHA}(*[torch.ones(4)] * 3)",
    f"{MHA}(torch.ones(3, 4), torch.ones(5, 2, 4), torch.ones(5, 2, 4))",
    f"{MHA}(torch.ones(3, 2, 4), torch.ones(5, 2, 4), torch.ones(4, 2, 4))",
    f"{MHA}(*[torch.ones(3, 2, 5)] * 3)",
    f"{MHA}({QKV}, attn_mask=torch.zeros(4, 5))",
    f"{MHA}({QKV}, attn_mask=torch.zeros(3, 3, 5))",
    f"{MHA}({QKV}, attn_mask=torch.zeros(5))",
    f"{MHA}({QKV}, attn_mask=torch.zeros(3, 5, dtype=torch.int64))",
    f"{MHA}({QKV}, key_padding_mask=torch.zeros(2, 4))",
    f"{MHA}({QKV}, key_padding_mask=torch.zeros(5))",
    f"{MHA}({QKV}, key_padding_mask=torch.zeros(2, 5, dtype=torch.int32))",
    f"{MHA}({QKV}, key_padding_mask=torch.zeros(2, 5, dtype=torch.bool), attn_mask=torch.zeros(3, 5))[1].shape",
    f"{MHA}({QKV}, is_causal=True)",
    f"{MHA}({QKV}, key_padding_mask=torch.ones(2, 5, dtype=torch.bool))[1].isnan().all()",
    f"{MHA}({QKV}, need_weights=False, key_padding_mask=torch.ones(2, 5, dtype=torch.bool))[0].sum().item()",
    f"{SDPA}(torch.ones(5), torch.ones(6, 5), torch.ones(6, 5))",
    f"{SDPA}(torch.ones(1, 4, 5), torch.ones(1, 6, 5), torch.ones(1, 6, 5), torch.ones(4, 7))",
    f"{SDPA}(torch.ones(1, 4, 5), torch.ones(1, 6, 5), torch.ones(1, 6, 5), torch.ones(4, 6, dtype=torch.int64))",
    f"{SDPA}(torch.ones(1, 4, 5), torch.ones(1, 6, 5), torch.ones(1, 6, 5), torch.ones(4, 6), is_causal=True)",
    f"{SDPA}(torch.ones(1, 4, 5), torch.ones(1, 6, 4), torch.ones(1, 6, 5))",
    f"{SDPA}(torch.ones(3, 4, 5), torch.ones(2, 6, 5), torch.ones(2, 6, 5))",
    f"{SDPA}(torch.ones(5, 4, 5), torch.ones(2, 6, 5), torch.ones(2, 6, 5), enable_gqa=True)",
    f"{SDPA}(torch.ones(4, 5), torch.ones(6, 5), torch.ones(6, 5), enable_gqa=True)",
    f"{SDPA}(torch.ones(4, 5), torch.ones(6, 5).double(), torch.ones(6, 5))",
    f"{SDPA}(*[torch.ones(1, 1, 4, 5, dtype=torch.int64)] * 3)",
    f"{SDPA}(*[torch.ones(4, 5)] * 3, dropout_p=1.5)",
    f"{SDPA}(*[torch.ones(1, 2, 3)] * 3, torch.tensor([[True, False], [False, False]]))",
    f"{SDPA}(*[torch.ones(1, 1, 2, 3, requires_grad=True)] * 3, is_causal=True)",
    f"{SDPA}(torch.ones(1, 4, 2, 3, requires_grad=True), *[torch.ones(1, 2, 2, 3)] * 2, enable_gqa=True).grad_fn.name()",
    "torch.nn.TransformerEncoderLayer(4, 2, 8, activation='x')",
    "torch.nn.TransformerEncoderLayer(4, 2, 8, activation=torch.nn.ReLU())",
    "torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(4, 2, 8), 2)",
    "torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True, norm_first=True), 2)",
    "torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(3, 1, 8, batch_first=True), 2)",
    "torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True, bias=False), 2)",
    "torch.nn.TransformerEncoder(torch.nn.Linear(2, 2), 2)",
    "torch.nn.Transformer(4, 2, 1, 1, 8)(torch.ones(5, 2, 4), torch.ones(3, 1, 4))",
    "torch.nn.Transformer(4, 2, 1, 1, 8)(torch.ones(5, 2, 4), torch.ones(3, 2, 5))",
    "torch.nn.Transformer(4, 2, 1, 1, 8)(torch.ones(5, 2, 4), torch.ones(3, 2, 4), tgt_is_causal=True)",
    "torch.nn.Transformer(4, 2, 1, 1, 8)",
    "torch.nn.Transformer.generate_square_subsequent_mask(3)",
]


def said(torch: Any, line: str) -> dict[str, Any]:
    """Returns the result of a line as text, or its error, and its warnings."""
    torch.manual_seed(SEED)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            told = {"gives": repr(eval(line, {"torch": torch}))}
        except Exception as error:
            told = {"raises": type(error).__name__, "says": str(error)}
    return told | {"warns": [f"{w.category.__name__}: {w.message}" for w in caught]}
