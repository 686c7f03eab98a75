"""torch.ao.quantization and quantized tensors have PyTorch's recorded values and messages."""

import io
import warnings

import pytest

import torchlike as torch
from tests.ao.quantized import LINES, MODELS, OBSERVERS, WORDS, observed, quantized_model, said
from torchlike import nn
from torchlike.ao.quantization import quantize_dynamic


@pytest.mark.parametrize("line", [*LINES, *WORDS])
def test_it_says_what_pytorch_says(golden, line):
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


def test_the_gradient_passes_where_nothing_was_clipped():
    x = torch.tensor([-1.0, 0.12, 9.0], requires_grad=True)
    torch.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 10).sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 0.0]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_name_stands_for_all_layers_within():
    model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU(), nn.Linear(2, 2)))
    kinds = [type(module).__module__.rpartition(".")[0] for module in quantize_dynamic(model, {"1"}).modules()]
    assert (
        kinds.count("torchlike.ao.nn.quantized.dynamic.modules") == 2
    )  # the layer, and the module that holds its weight
    assert kinds.count("torchlike.nn.modules") == 4


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_it_cannot_quantize_it_refuses_by_name():
    with pytest.raises(NotImplementedError, match=r"LSTM \(0\)"):
        quantize_dynamic(nn.Sequential(nn.LSTM(2, 3)))
    with pytest.raises(NotImplementedError, match="mapping"):
        quantize_dynamic(nn.Linear(2, 3), mapping={})
    with pytest.raises(NotImplementedError, match="torch.qint8"):
        torch.zeros(2, dtype=torch.qint8)
    with pytest.raises(NotImplementedError, match="QuantizedCPU"):
        torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8).sum()
