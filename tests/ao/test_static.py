"""Static quantization, after training and in it, has PyTorch's recorded values, texts and messages."""

import warnings
from typing import Any

import pytest

import torchlike as torch
from tests.ao.static import BACKENDS, CALLS, LAYERS, after_training, in_training, layer, network, said
from torchlike import nn
from torchlike.ao import quantization as ao
from torchlike.ao.nn import intrinsic as nni, quantized as nnq

pytestmark = [pytest.mark.composed, pytest.mark.filterwarnings("ignore")]  # PyTorch calls all of it deprecated


@pytest.fixture(autouse=True)
def _engine(monkeypatch):
    """Sets the engine back after a test."""
    monkeypatch.setattr(torch.backends.quantized, "engine", "x86")


@pytest.mark.parametrize("line", CALLS)
def test_a_call_gives_what_pytorchs_gives(golden, line):
    assert said(torch, line) == golden("static_quantization")["calls"][line]


@pytest.mark.costly
@pytest.mark.parametrize("line", LAYERS)
def test_a_quantized_layer_computes_what_pytorchs_does(golden, line):
    assert layer(torch, line) == golden("static_quantization")["layers"][line]


@pytest.mark.costly
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_model_quantized_after_training_prints_what_pytorchs_prints(golden, backend):
    assert after_training(torch, backend) == golden("static_quantization")["after training"][backend]


@pytest.mark.parametrize("backend", BACKENDS)
def test_training_with_fake_quantization_prints_what_pytorchs_prints(golden, backend):
    assert in_training(torch, backend) == golden("static_quantization")["in training"][backend]


def test_prepare_leaves_the_model_alone_unless_it_is_told_to_change_it():
    model = network(torch).eval()
    model.qconfig = ao.get_default_qconfig()
    assert ao.prepare(model) is not model and not hasattr(model.last, "activation_post_process")
    assert ao.prepare(model, inplace=True) is model and hasattr(model.last, "activation_post_process")


def test_a_module_without_qconfig_stays_as_it_is():
    model = nn.Sequential(ao.QuantStub(), nn.Linear(2, 2), ao.DeQuantStub(), nn.Linear(2, 2)).eval()
    model.qconfig = ao.get_default_qconfig()
    model[3].qconfig = None
    observed = ao.prepare(model)
    observed(torch.randn(4, 2))
    kinds = [type(module) for module in ao.convert(observed).children()]
    assert kinds == [nnq.Quantize, nnq.Linear, nnq.DeQuantize, nn.Linear]


def test_quantize_does_all_steps_and_add_quant_dequant_wraps_layers():
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 2)).eval()
    model[0].qconfig = model[2].qconfig = ao.default_qconfig
    wrapped = ao.add_quant_dequant(model)
    batches = [(torch.randn(4, 3), None)]
    result = ao.quantize(wrapped, ao.default_eval_fn, [batches])
    assert [type(module).__name__ for module in result.children()] == ["QuantWrapper", "ReLU", "QuantWrapper"]
    assert torch.allclose(result(batches[0][0]), model(batches[0][0]), atol=0.1)


def test_quantize_qat_trains_and_converts():
    model = ao.QuantWrapper(nn.Linear(3, 2))
    model.qconfig = ao.get_default_qat_qconfig()
    batch = torch.randn(4, 3)
    result = ao.quantize_qat(model, lambda trained: trained(batch), [])
    assert isinstance(result.module, nnq.Linear) and result(batch).shape == (4, 2)


def test_hooks_of_the_program_stay():
    seen = []
    model = ao.QuantWrapper(nn.Linear(2, 2)).eval()
    model.module.register_forward_hook(lambda *args: seen.append(args[2].is_quantized))
    model.qconfig = ao.default_qconfig
    observed = ao.prepare(model)
    observed(torch.randn(2, 2))
    ao.convert(observed)(torch.randn(2, 2))
    assert seen == [False, True]


def test_a_fake_quantizer_used_twice_gives_gradients():
    model = nn.Linear(2, 2)
    model.qconfig = ao.get_default_qat_qconfig(version=0)
    trained = ao.prepare_qat(nn.Sequential(model))
    loss = trained(trained(torch.ones(1, 2))).sum()
    loss.backward()
    assert next(trained.parameters()).grad.abs().sum() > 0


def test_what_cannot_be_quantized_is_refused_by_name():
    model = nn.Sequential(nn.Embedding(3, 2)).eval()
    model.qconfig = ao.default_qconfig
    with pytest.raises(NotImplementedError, match=r"Embedding \(0\)"):
        ao.convert(ao.prepare(model))
    with pytest.raises(NotImplementedError, match="is_reference"):
        ao.convert(nn.Sequential(), is_reference=True)
    with pytest.raises(NotImplementedError, match="Cannot fuse modules"):
        ao.fuse_modules(nn.Sequential(nn.Linear(2, 2), nn.Tanh()), ["0", "1"])
    with pytest.raises(AssertionError, match="training mode"):
        ao.prepare_qat(nn.Sequential().eval())
    with pytest.raises(AssertionError, match="Incorrect types for input modules"):
        nni.ConvReLU2d(nn.Linear(2, 2), nn.ReLU())


def test_the_older_names_are_the_same_objects():
    older: Any = torch
    assert older.nn.quantized.FloatFunctional is nnq.FloatFunctional
    assert older.nn.intrinsic.qat.ConvBn2d is older.ao.nn.intrinsic.qat.ConvBn2d
    assert older.nn.qat.Linear is older.ao.nn.qat.Linear
    assert older.quantization.prepare is ao.prepare


def test_pytorchs_warning_is_given():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DeprecationWarning, match=r"torch\.ao\.quantization is deprecated"):
            ao.prepare(nn.Linear(2, 2))
