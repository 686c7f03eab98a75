"""Normalised, parametrised, pruned and fused layers: PyTorch's state, outputs, gradients, text and errors."""

import pickle
from typing import Any

import numpy as np
import pytest

import torchlike as torch
from tests.nn.utils.cases import CASES
from torchlike import nn
from torchlike.nn import utils
from torchlike.nn.utils import parametrize, prune

pytestmark = pytest.mark.composed


def assert_same(found: Any, expected: Any, where: str = "") -> None:
    if isinstance(expected, list):
        assert len(found) == len(expected), where
        for i, (a, b) in enumerate(zip(found, expected, strict=True)):
            assert_same(a, b, f"{where}[{i}]")
    elif isinstance(expected, float):
        assert np.isclose(found, expected, rtol=2e-5, atol=2e-6), (where, found, expected)
    else:
        assert found == expected, where


@pytest.mark.costly
@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore")  # some of these are deprecated, and warn
def test_what_layers_do_is_pytorchs(golden, name: str):
    assert_same(CASES[name](torch), golden("nn_utils")[name])


def old_weight_norm(layer: Any) -> Any:
    with pytest.warns(FutureWarning, match="`torch.nn.utils.weight_norm` is deprecated in favor of"):
        return utils.weight_norm(layer)


class Cut(nn.Module):
    def forward(self, x: Any) -> Any:
        return x[0]


class Wider(nn.Module):
    def forward(self, x: Any) -> Any:
        return x.double()


class Number(nn.Module):
    def forward(self, x: Any) -> Any:
        return 3


class Shift(nn.Module):
    def forward(self, x: Any) -> Any:
        return x + 1


def linear() -> Any:
    return nn.Linear(2, 2)


TEXT = "Linear(in_features=2, out_features=2, bias=True)"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: parametrize.register_parametrization(linear(), "w", Shift()), ValueError,
            f"Module '{TEXT}' does not have a parameter, a buffer, or a parametrized element with name 'w'",
        ),
        (
            lambda: parametrize.register_parametrization(linear(), "weight", Cut()), ValueError,
            "Registering a parametrization may not change the shape of the tensor, unless `unsafe` flag is enabled.\n"
            "unparametrized shape: torch.Size([2, 2])\nparametrized shape: torch.Size([2])",
        ),
        (
            lambda: parametrize.register_parametrization(linear(), "weight", Wider()), ValueError,
            "Registering a parametrization may not change the dtype of the tensor, unless `unsafe` flag is enabled.\n"
            "unparametrized dtype: torch.float32\nparametrized dtype: torch.float64",
        ),
        (
            lambda: parametrize.register_parametrization(linear(), "weight", Number()), ValueError,
            "A parametrization must return a tensor. Got int.",
        ),
        (
            lambda: parametrize.remove_parametrizations(linear(), "weight"), ValueError,
            f"Module {TEXT} does not have a parametrization on weight",
        ),
        (
            lambda: setattr(parametrize.register_parametrization(linear(), "weight", Shift()), "weight", torch.ones(2, 2)),
            RuntimeError, "parametrization Shift does not implement right_inverse.",
        ),
        (
            lambda: pickle.dumps(utils.parametrizations.weight_norm(linear())), RuntimeError,
            "Serialization of parametrized modules is only supported through state_dict(). See:\n"
            "https://pytorch.org/tutorials/beginner/saving_loading_models.html#saving-loading-a-general-checkpoint-for-inference"
            "-and-or-resuming-training",
        ),
        (
            lambda: utils.parametrizations.spectral_norm(linear(), "w"), ValueError,
            f"Module '{TEXT}' has no parameter or buffer with name 'w'",
        ),
        (
            lambda: utils.spectral_norm(linear(), n_power_iterations=0), ValueError,
            "Expected n_power_iterations to be positive, but got n_power_iterations=0",
        ),
        (
            lambda: old_weight_norm(old_weight_norm(linear())), RuntimeError,
            "Cannot register two weight_norm hooks on the same parameter weight",
        ),
        (
            lambda: utils.spectral_norm(utils.spectral_norm(linear())), RuntimeError,
            "Cannot register two spectral_norm hooks on the same parameter weight",
        ),
        (lambda: utils.remove_weight_norm(linear()), ValueError, f"weight_norm of 'weight' not found in {TEXT}"),
        (lambda: utils.remove_spectral_norm(linear()), ValueError, f"spectral_norm of 'weight' not found in {TEXT}"),
        (lambda: utils.fuse_conv_bn_eval(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2)), AssertionError, "Fusion only for eval!"),
        (
            lambda: utils.fuse_linear_bn_eval(linear().eval(), nn.BatchNorm1d(3).eval()), AssertionError,
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got linear.out_features=2 and "
            "bn.num_features=3",
        ),
        (lambda: utils.skip_init(int), RuntimeError, "Expected a Module; got <class 'int'>"),
        (lambda: utils.skip_init(nn.ReLU), RuntimeError, "Module must support a 'device' arg to skip initialization"),
        (
            lambda: prune.l1_unstructured(linear(), "weight", 5), ValueError,
            "amount=5 should be smaller than the number of parameters to prune=4",
        ),
        (
            lambda: prune.l1_unstructured(linear(), "weight", 1.5), ValueError,
            "amount=1.5 should either be a float in the range [0, 1] or a non-negative integer",
        ),
        (
            lambda: prune.l1_unstructured(linear(), "weight", "a"), TypeError,
            "Invalid type for amount: a. Must be int or float.",
        ),
        (
            lambda: prune.ln_structured(linear(), "weight", 1, 2, 5), IndexError,
            "Invalid index 5 for tensor of size torch.Size([2, 2])",
        ),
        (
            lambda: prune.ln_structured(linear(), "bias", 1, 2, 0), ValueError,
            "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape torch.Size([2]) with 1 "
            "dims",
        ),
        (
            lambda: prune.remove(linear(), "weight"), ValueError,
            f"Parameter 'weight' of module {TEXT} has to be pruned before pruning can be removed",
        ),
        (
            lambda: prune.l1_unstructured(linear(), "weight", 1, torch.ones(1)), AssertionError,
            f"importance_scores should have the same shape as parameter weight of {TEXT}, got torch.Size([1]) vs "
            "torch.Size([2, 2])",
        ),
        (
            lambda: prune.custom_from_mask(linear(), "weight", torch.ones(3)), AssertionError,
            "default_mask shape torch.Size([2, 2]) must match self.mask shape torch.Size([3])",
        ),
        (
            lambda: utils.stateless.call_with(linear(), {"weight": torch.ones(2, 2)}, torch.ones(2), strict=True), RuntimeError,
            "Error(s) in reparametrizing for Linear:\n\tMissing key(s): 'bias'.",
        ),
        (lambda: utils.stateless.call_with(linear(), {"weight": 3}, torch.ones(2)), TypeError, "3 is not an instance of torch.Tensor"),
    ],
)  # fmt: skip
def test_what_is_refused(call: Any, error: type[Exception], message: str):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == message


def test_cached_parametrizations_are_computed_once():
    layer = utils.parametrizations.weight_norm(linear())
    with parametrize.cached():
        assert layer.weight is layer.weight
    assert layer.weight is not layer.weight


def test_the_new_weight_norm_reads_the_state_of_the_old():
    old, new = old_weight_norm(linear()), utils.parametrizations.weight_norm(linear())
    new.load_state_dict(old.state_dict())
    assert torch.allclose(new.weight, old.weight)


def test_skip_init_leaves_the_stream_of_random_numbers():
    torch.manual_seed(0)
    utils.skip_init(nn.Linear, 3, 4)
    drawn = torch.rand(1).item()
    torch.manual_seed(0)
    assert torch.rand(1).item() == drawn


def test_a_call_with_other_tensors_changes_nothing_but_what_it_is_given():
    model = nn.Sequential(linear(), nn.BatchNorm1d(2))
    model.tied = model[0]
    before = model[0].weight
    given = {"0.weight": torch.zeros(2, 2), "0.bias": torch.ones(2), "1.running_mean": torch.zeros(2)}
    with pytest.warns(FutureWarning, match="Please use `torch.func.functional_call` instead"):
        out = utils.stateless.functional_call(model, given, torch.ones(3, 2))
    assert out.shape == (3, 2)
    assert model[0].weight is before
    assert given["1.running_mean"].tolist() == pytest.approx([0.1, 0.1])
    assert model[1].running_mean.tolist() == [0.0, 0.0]


def test_a_pruning_whose_arguments_are_refused_leaves_what_pytorch_leaves():
    layer = linear()
    with pytest.raises(ValueError, match="amount=5 should be smaller"):
        prune.l1_unstructured(layer, "weight", 5)
    assert list(layer._parameters) == ["bias", "weight"]
    prune.l1_unstructured(layer, "weight", 1)
    with pytest.raises(ValueError, match="amount=1.5"):
        prune.l1_unstructured(layer, "weight", 1.5)
    with pytest.raises(TypeError, match="cannot assign 'torch.FloatTensor' object to parameter 'weight_orig'"):
        prune.l1_unstructured(layer, "weight", 1)


def test_a_spectral_norm_follows_another_parametrization():
    class Symmetric(torch.nn.Module):
        def forward(self, weight):
            return weight.triu() + weight.triu(1).T

    layer = torch.nn.Linear(3, 3)
    utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    utils.parametrizations.spectral_norm(layer, n_power_iterations=50)
    assert torch.equal(layer.weight, layer.weight.T)
    assert torch.linalg.matrix_norm(layer.weight, 2).item() == pytest.approx(1.0, rel=1e-3)


def test_spectral_norm_of_a_complex_matrix_has_length_one():
    module = nn.Linear(2, 2, dtype=torch.complex64)
    with torch.no_grad():
        module.weight.copy_(torch.tensor([[3 + 1j, 1j], [0.5, 1 - 2j]]))
    torch.manual_seed(1)
    nn.utils.parametrizations.spectral_norm(module, n_power_iterations=50)
    values = torch.linalg.svdvals(module.weight)
    torch.testing.assert_close(values, torch.tensor([1.0, 0.6517]), rtol=0, atol=1e-4)
    module.weight.abs().sum().backward()
    expected = torch.tensor([[-0.2163 - 0.0948j, -0.0682 + 0.0599j], [0.2906 + 0.1364j, 0.0804 - 0.2290j]])
    torch.testing.assert_close(module.parametrizations.weight.original.grad, expected, rtol=0, atol=1e-3)


@pytest.mark.parametrize(
    ("inverse", "words"),
    [
        (lambda x: (x, x), "parametrization.right_inverse must return a tensor. Got: tuple"),
        (
            lambda x: x.double(),
            "must have the same dtype as module.weight, unless the `unsafe` flag is enabled.\nmodule.",
        ),
        (lambda x: x[:1], "must have the same shape as module.weight, unless the `unsafe` flag is enabled.\nmodule."),
    ],
)
def test_a_further_parametrization_is_inverted_to_a_tensor_like_the_first(inverse, words):
    class Same(torch.nn.Module):
        def forward(self, x):
            return x

    class Inverted(Same):
        def right_inverse(self, x):
            return inverse(x)

    layer = torch.nn.Linear(2, 2)
    torch.nn.utils.parametrize.register_parametrization(layer, "weight", Same())
    with pytest.raises(ValueError, match=words):
        torch.nn.utils.parametrize.register_parametrization(layer, "weight", Inverted())
    torch.nn.utils.parametrize.register_parametrization(layer, "weight", Inverted(), unsafe=True)
