"""Every layer has PyTorch's first weights, results, gradients, running statistics and text."""

import copy
import io
import pickle
from typing import Any

import numpy as np
import pytest
from flax import nnx

import torchlike as torch
from tests.nn.modules.layers import LAYERS, SEED, Layer, run

pytestmark = pytest.mark.composed

# PyTorch sums float32 in another order, so the last bits of the largest term may differ.
RTOL, ATOL = 1e-5, 1e-6

every_layer = pytest.mark.parametrize("row", LAYERS, ids=lambda row: row.name)
with_state = pytest.mark.parametrize(
    "row",
    [r for r in LAYERS if r.name in ("Linear", "Conv2d", "BatchNorm1d", "Embedding", "Sequential")],
    ids=lambda r: r.name,
)


@pytest.mark.costly
@every_layer
def test_a_layer_does_what_pytorchs_does(golden, row: Layer):
    recorded = golden("nn_layers")
    expected = {k.split("/", 1)[1]: v for k, v in recorded.items() if k.startswith(f"{row.name}/")}
    found = run(torch, row, lambda t: t.numpy().copy())
    assert list(found) == list(expected)
    for name, array in found.items():
        assert array.dtype == expected[name].dtype, name
        assert array.shape == expected[name].shape, name
        if name.startswith("start."):
            assert array.tobytes() == expected[name].tobytes(), f"{name}: the weights are drawn otherwise"
        else:
            largest = max(1.0, np.abs(expected[name]).max(initial=0))
            np.testing.assert_allclose(array, expected[name], rtol=RTOL, atol=ATOL * largest, err_msg=name)


@every_layer
def test_a_layer_prints_as_pytorchs(golden, row: Layer):
    assert repr(row.make(torch)) == golden("nn_words")["repr"][row.name]


@every_layer
def test_a_layer_is_an_nnx_module_that_splits_and_merges(row: Layer):
    module: Any = row.make(torch)
    assert issubclass(type(module), nnx.Module)
    again: Any = nnx.merge(*nnx.split(module))
    assert repr(again) == repr(module)
    assert [n for n, _ in again.named_parameters()] == [n for n, _ in module.named_parameters()]
    for name, tensor in module.state_dict().items():
        assert torch.equal(again.state_dict()[name], tensor), name


@with_state
def test_copies_pickles_and_state_carry_a_layer_over(row: Layer):
    torch.manual_seed(SEED)
    module = row.make(torch).eval()
    inputs = row.inputs(torch)
    expected = module(*inputs).detach().numpy()
    loaded = row.make(torch).eval()
    assert str(loaded.load_state_dict(module.state_dict())) == "<All keys matched successfully>"
    unpickled = pickle.load(io.BytesIO(pickle.dumps(module)))
    for other in (copy.deepcopy(module), unpickled, loaded):
        np.testing.assert_array_equal(other(*inputs).detach().numpy(), expected)
        for name, parameter in other.named_parameters():
            assert parameter is not module.get_parameter(name)


@with_state
def test_a_layer_moves_to_another_dtype_in_place(row: Layer):
    module = row.make(torch)
    before = list(module.parameters())
    assert module.double() is module
    assert all(a is b for a, b in zip(before, module.parameters(), strict=True))
    assert {p.dtype for p in module.parameters()} == {torch.float64}
    assert {b.dtype for b in module.buffers()} <= {torch.float64, torch.int64}


def test_an_empty_batch_leaves_running_statistics():
    norm = torch.nn.BatchNorm1d(3)
    assert norm(torch.ones(0, 3)).shape == (0, 3)
    assert (norm.running_mean.tolist(), norm.running_var.tolist()) == ([0, 0, 0], [1, 1, 1])
    assert norm.num_batches_tracked.item() == 1
