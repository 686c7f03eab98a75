"""Recurrent layers and attention, compared with PyTorch's on random options: results and gradients."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import torchlike
from tests.nn.modules.sequences import tensors

torch = pytest.importorskip("torch")

pytestmark = [pytest.mark.compare, pytest.mark.filterwarnings("ignore:LSTM with projections")]

# Every example has shapes of its own, which have to be compiled.
QUICK = settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def both(make: Any, call: Any) -> None:
    """Compares the results of two modules with equal weights, and their gradients, in float64."""
    found = []
    for library in (torch, torchlike):
        library.manual_seed(3)
        module = make(library).double()
        results = tensors(call(library, module))
        sum((r * library.arange(1, r.numel() + 1).reshape(r.shape)).sum() for r in results).backward()
        arrays = [r.detach().numpy() for r in results]
        found.append(arrays + [p.grad.numpy() for p in module.parameters() if p.grad is not None])
    for expected, got in zip(*found, strict=True):
        assert got.shape == expected.shape
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9 * max(1, np.abs(expected).max(initial=0)))


@QUICK
@given(
    mode=st.sampled_from(["RNN", "LSTM", "GRU"]),
    layers=st.integers(1, 3),
    bidirectional=st.booleans(),
    bias=st.booleans(),
    batch_first=st.booleans(),
    dropout=st.sampled_from([0.0, 0.4, 1.0]),
    lengths=st.none() | st.lists(st.integers(1, 5), min_size=1, max_size=4),
    projection=st.integers(0, 2),
)
def test_recurrent_layers(mode, layers, bidirectional, bias, batch_first, dropout, lengths, projection):
    options: dict[str, Any] = {"num_layers": layers, "bidirectional": bidirectional, "bias": bias}
    options |= {"batch_first": batch_first, "dropout": dropout if layers > 1 else 0.0}
    if mode == "LSTM":
        options["proj_size"] = projection

    def call(library: Any, module: Any) -> Any:
        rnn = library.nn.utils.rnn
        if lengths is None:
            return module(library.randn(5, 2, 3, dtype=library.float64))
        shape = (len(lengths), max(lengths), 3) if batch_first else (max(lengths), len(lengths), 3)
        x = library.randn(*shape, dtype=library.float64)
        output, hidden = module(rnn.pack_padded_sequence(x, lengths, batch_first, enforce_sorted=False))
        return rnn.pad_packed_sequence(output, batch_first)[0], hidden

    both(lambda library: getattr(library.nn, mode)(3, 4, **options), call)


@QUICK
@given(
    bias=st.booleans(),
    more=st.booleans(),
    zero=st.booleans(),
    sizes=st.sampled_from([(None, None), (3, None), (6, 5)]),
    dropout=st.sampled_from([0.0, 0.5]),
    mask=st.sampled_from([None, "bool", "float", "heads"]),
    padding=st.booleans(),
    weights=st.sampled_from([True, False]),
)
def test_attention(bias, more, zero, sizes, dropout, mask, padding, weights):
    options = {
        "bias": bias,
        "add_bias_kv": more,
        "add_zero_attn": zero,
        "kdim": sizes[0],
        "vdim": sizes[1],
        "dropout": dropout,
    }

    def call(library: Any, module: Any) -> Any:
        query, key, value = (
            library.randn(length, 2, size, dtype=library.float64)
            for length, size in ((3, 6), (5, module.kdim), (5, module.vdim))
        )
        masks = {
            None: None,
            "bool": library.tensor(np.triu(np.ones((3, 5), bool), 2)),
            "float": library.randn(3, 5, dtype=library.float64),
            "heads": library.randn(4, 3, 5, dtype=library.float64),
        }
        pad = (
            library.tensor([[False] * 5, [False, False, False, True, True]])
            if padding and mask in (None, "bool")
            else None
        )
        return module(query, key, value, key_padding_mask=pad, need_weights=weights, attn_mask=masks[mask])

    both(lambda library: library.nn.MultiheadAttention(6, 2, **options), call)


@QUICK
@given(
    heads=st.sampled_from([(), (3,), (2, 3)]),
    causal=st.booleans(),
    mask=st.booleans(),
    scale=st.sampled_from([None, 0.3, 2.0]),
    shared=st.booleans(),
)
def test_scaled_dot_product(heads, causal, mask, scale, shared):
    few = (*heads[:-1], 1) if shared and heads else heads

    def call(library: Any, module: Any) -> Any:
        q, k, v = (library.randn(*shape, 4, dtype=library.float64) for shape in ((*heads, 4), (*few, 5), (*few, 5)))
        given = library.randn(4, 5, dtype=library.float64) > -1 if mask and not causal else None
        attend = library.nn.functional.scaled_dot_product_attention
        return attend(
            module(q), module(k), module(v), given, is_causal=causal, scale=scale, enable_gqa=bool(shared and heads)
        )

    both(lambda library: library.nn.Linear(4, 4), call)
