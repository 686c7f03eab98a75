"""torch.ao.quantization and quantized tensors have PyTorch's recorded values and messages."""

import io
import warnings

import numpy as np
import pytest

import torchlike as torch
from tests.ao.quantized import LINES, MODELS, OBSERVERS, WORDS, observed, quantized_model, said
from torchlike import nn
from torchlike.ao.quantization import (
    FakeQuantize,
    HistogramObserver,
    MinMaxObserver,
    get_observer_state_dict,
    load_observer_state_dict,
    quantize_dynamic,
)


@pytest.mark.parametrize("line", [*LINES, *WORDS])
def test_output_equals_pytorchs(golden, line):
    assert said(torch, line) == golden("quantization")["said"][line]


@pytest.mark.parametrize("line", OBSERVERS)
def test_an_observer_finds_what_pytorchs_finds(golden, line):
    assert observed(torch, line) == golden("quantization")["observed"][line]


@pytest.mark.parametrize("spec", MODELS)
def test_a_model_quantized_dynamically_computes_what_pytorchs_does(golden, spec):
    assert quantized_model(torch, spec) == golden("quantization")["models"][spec]


def test_quantized_tensors_are_saved_and_read_back():
    x = torch.tensor([[-1.0, 0.26], [2.0, 0.5]])
    tensors = [
        torch.quantize_per_tensor(x, 0.1, 10, torch.quint8),
        torch.quantize_per_channel(x, torch.tensor([0.1, 0.2]), torch.tensor([0, 3]), 1, torch.qint8),
    ]
    file = io.BytesIO()
    torch.save({"tensors": tensors, "dtype": torch.qint32}, file)
    file.seek(0)
    read = torch.load(file)
    assert [repr(tensor) for tensor in read["tensors"]] == [repr(tensor) for tensor in tensors]
    assert read["dtype"] is torch.qint32


def test_a_state_dict_of_a_quantized_model_is_loaded():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        first, second = (quantize_dynamic(nn.Sequential(nn.Linear(4, 3)), {nn.Linear}) for _ in range(2))
    x = torch.randn(2, 4)
    assert not torch.equal(first(x), second(x))
    second.load_state_dict(first.state_dict())
    assert torch.equal(first(x), second(x))


def bell(seed: int, count: int) -> np.ndarray:
    """Numbers around 0 that do not depend on a library's random generator: a triangular wave's cube."""
    wave = (np.arange(count, dtype=np.float64) * 0.6180339887 + seed * 0.37) % 1.0
    return ((wave * 2 - 1) ** 3 * (1 + seed)).astype(np.float32)


@pytest.mark.parametrize("seed", range(4))
def test_a_histogram_keeps_what_it_has_counted_when_it_becomes_wider(seed):
    observer = HistogramObserver()
    total = 0
    for batch in range(4):
        values = bell(seed + batch, 500)
        observer(torch.from_numpy(values))
        total += values.size
        assert float(observer.histogram.sum()) == pytest.approx(total, rel=1e-6)
    assert observer.min_val <= -seed and observer.max_val >= seed


def test_the_range_of_a_histogram_leaves_out_what_is_rare():
    values = torch.cat([torch.linspace(-1, 1, 20000), torch.tensor([50.0])])
    errors = []
    for observer in (MinMaxObserver(), HistogramObserver()):
        observer(values)
        scale, zero_point = observer.calculate_qparams()
        rounded = torch.quantize_per_tensor(values, scale.item(), int(zero_point.item()), torch.quint8).dequantize()
        errors.append(float(((rounded - values)[:-1] ** 2).sum()))
    assert errors[1] < errors[0]


def test_infinite_elements_are_not_counted():
    observer = HistogramObserver(bins=4)
    with pytest.warns(UserWarning, match="torch.inf detected"):
        observer(torch.tensor([float("inf"), 1.0, 3.0]))
    assert observer.max_val == 3.0 and observer.histogram.tolist() == [1.0, 0.0, 0.0, 1.0]


def test_the_state_of_observers_is_taken_and_loaded():
    first, second = (nn.Sequential(FakeQuantize()) for _ in range(2))
    first(torch.tensor([-1.0, 2.0]))
    names = ["0.activation_post_process.eps", "0.activation_post_process.min_val", "0.activation_post_process.max_val"]
    state = get_observer_state_dict(first)
    assert list(state) == names
    load_observer_state_dict(second, state)
    assert second[0].activation_post_process.max_val == 2.0
    with pytest.raises(RuntimeError, match="Unexpected keys"):
        load_observer_state_dict(nn.Sequential(), state)


def test_the_gradient_passes_where_nothing_was_clipped():
    x = torch.tensor([-1.0, 0.12, 9.0], requires_grad=True)
    torch.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 10).sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 0.0]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_name_stands_for_all_layers_within():
    model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU(), nn.Linear(2, 2)))
    kinds = [type(module).__module__.rpartition(".")[0] for module in quantize_dynamic(model, {"1"}).modules()]
    quantized = ["torchlike.ao.nn.quantized.dynamic.modules", "torchlike.ao.nn.quantized.modules"]
    assert [
        kind for kind in kinds if kind.startswith("torchlike.ao")
    ] == quantized  # the layer, and what holds its weight
    assert kinds.count("torchlike.nn.modules") == 4


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_modules_that_cannot_be_quantized_are_refused_by_name():
    with pytest.raises(NotImplementedError, match=r"LSTM \(0\)"):
        quantize_dynamic(nn.Sequential(nn.LSTM(2, 3)))
    with pytest.raises(NotImplementedError, match="mapping"):
        quantize_dynamic(nn.Linear(2, 3), mapping={})
    with pytest.raises(NotImplementedError, match="torch.qint8"):
        torch.zeros(2, dtype=torch.qint8)
    with pytest.raises(NotImplementedError, match="QuantizedCPU"):
        torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8).sum()
