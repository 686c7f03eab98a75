"""Lazy layers: their state before the first input, and the layers that they become."""

import copy
import io
import pickle
from typing import Any

import numpy as np
import pytest

import torchlike as torch
from torchlike import nn

# the lazy layer, the input, the layer that it becomes
ROWS = {
    "LazyLinear": (lambda: nn.LazyLinear(3), (2, 4), lambda: nn.Linear(4, 3)),
    "LazyConv1d": (lambda: nn.LazyConv1d(3, 2), (1, 4, 5), lambda: nn.Conv1d(4, 3, 2)),
    "LazyConv2d": (lambda: nn.LazyConv2d(4, 3, groups=2), (1, 4, 5, 5), lambda: nn.Conv2d(4, 4, 3, groups=2)),
    "LazyConv3d": (lambda: nn.LazyConv3d(2, 2, bias=False), (1, 3, 3, 3, 3), lambda: nn.Conv3d(3, 2, 2, bias=False)),
    "LazyConvTranspose1d": (lambda: nn.LazyConvTranspose1d(3, 2), (1, 4, 5), lambda: nn.ConvTranspose1d(4, 3, 2)),
    "LazyConvTranspose2d": (lambda: nn.LazyConvTranspose2d(3, 2), (4, 5, 5), lambda: nn.ConvTranspose2d(4, 3, 2)),
    "LazyConvTranspose3d": (
        lambda: nn.LazyConvTranspose3d(2, 2),
        (1, 3, 3, 3, 3),
        lambda: nn.ConvTranspose3d(3, 2, 2),
    ),
    "LazyBatchNorm1d": (lambda: nn.LazyBatchNorm1d(), (4, 3), lambda: nn.BatchNorm1d(3)),
    "LazyBatchNorm2d": (
        lambda: nn.LazyBatchNorm2d(affine=False),
        (2, 3, 2, 2),
        lambda: nn.BatchNorm2d(3, affine=False),
    ),
    "LazyBatchNorm3d": (lambda: nn.LazyBatchNorm3d(bias=False), (2, 3, 1, 2, 2), lambda: nn.BatchNorm3d(3, bias=False)),
    "LazyInstanceNorm2d": (
        lambda: nn.LazyInstanceNorm2d(),
        (2, 3, 2, 2),
        lambda: nn.InstanceNorm2d(3, affine=True, track_running_stats=True),
    ),
}
every_row = pytest.mark.parametrize("name", ROWS)


def lazy(name: str) -> Any:
    return ROWS[name][0]()


@every_row
def test_the_first_input_makes_the_ordinary_layer_with_the_same_weights(name):
    _, shape, ordinary = ROWS[name]
    layer = lazy(name)
    assert type(layer).__name__ == name
    assert layer.has_uninitialized_params()
    x = torch.randn(shape)
    torch.manual_seed(3)
    result = layer(x)
    torch.manual_seed(3)
    expected = ordinary()
    assert type(layer) is type(expected)
    assert repr(layer) == repr(expected)
    np.testing.assert_array_equal(result.detach().numpy(), expected(x).detach().numpy())
    for (key, mine), (other, theirs) in zip(layer.state_dict().items(), expected.state_dict().items(), strict=True):
        assert key == other
        assert mine.shape == theirs.shape
        assert torch.equal(mine, theirs), key
    assert sorted(vars(layer)) == sorted(vars(expected))  # the layer has removed its hook


@every_row
def test_a_state_is_loaded_before_the_first_input(name):
    _, shape, ordinary = ROWS[name]
    layer, source = lazy(name), ordinary()
    assert str(layer.load_state_dict(source.state_dict())) == "<All keys matched successfully>"
    x = torch.randn(shape)
    np.testing.assert_array_equal(layer(x).detach().numpy(), source(x).detach().numpy())
    assert type(layer) is type(source)


@every_row
def test_a_lazy_layer_is_copied_pickled_and_moved(name):
    layer = lazy(name)
    for other in (copy.deepcopy(layer), pickle.load(io.BytesIO(pickle.dumps(layer)))):
        assert other.has_uninitialized_params()
        assert other(torch.randn(ROWS[name][1])).shape
        assert not hasattr(other, "has_uninitialized_params")
    assert layer.has_uninitialized_params()
    layer.double()
    layer(torch.randn(ROWS[name][1], dtype=torch.float64))
    assert {p.dtype for p in layer.parameters()} <= {torch.float64}


def test_lazy_layers_in_a_model_train():
    model = nn.Sequential(nn.LazyLinear(4), nn.LazyBatchNorm1d(), nn.ReLU(), nn.LazyLinear(1))
    model(torch.ones(3, 5))
    assert [p.shape for p in model.parameters()] == [(4, 5), (4,), (4,), (4,), (1, 4), (1,)]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = model[0].weight.detach().clone()
    model(torch.randn(3, 5)).sum().backward()
    optimizer.step()
    assert not torch.equal(before, model[0].weight)


def test_a_state_dict_holds_what_has_no_shape():
    state = lazy("LazyLinear").state_dict()
    assert list(state) == ["weight", "bias"]
    assert [repr(v) for v in state.values()] == ["<UninitializedParameter>"] * 2
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter or buffer"):
        nn.Linear(2, 3).load_state_dict(state)


def test_a_parameter_without_shape_knows_its_dtype_alone():
    parameter: Any = nn.UninitializedParameter(dtype=torch.float64)
    assert (parameter.dtype, parameter.device.type, parameter.requires_grad) == (torch.float64, "cpu", True)
    assert issubclass(type(parameter), nn.Parameter)
    assert repr(nn.UninitializedBuffer()) == "<UninitializedBuffer>"
    assert isinstance(nn.UninitializedBuffer(), nn.Buffer)
    assert torch.nn.parameter.is_lazy(parameter)
    for use in (lambda: parameter + 1, lambda: parameter.numel(), lambda: torch.add(1, parameter)):
        with pytest.raises((ValueError, RuntimeError), match="ninitialized parameter"):
            use()
    with pytest.raises(RuntimeError, match="Can't share memory on an uninitialized parameter or buffer"):
        parameter.share_memory_()
    parameter.materialize((2, 3))
    assert type(parameter) is nn.Parameter
    assert (parameter.shape, parameter.dtype) == ((2, 3), torch.float64)


def test_errors_name_what_is_wrong():
    layer = lazy("LazyConv2d")
    with pytest.raises(
        RuntimeError, match=r"Expected 3D \(unbatched\) or 4D \(batched\) input to LazyConv2d, but got input of size"
    ):
        layer(torch.ones(2, 2))
    with pytest.raises(ValueError, match="in_channels must be divisible by groups"):
        layer(torch.ones(1, 3, 4, 4))

    class Half(nn.modules.lazy.LazyModuleMixin, nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.UninitializedParameter()

        def initialize_parameters(self, x):
            pass

    half = Half()
    with pytest.raises(RuntimeError, match="module Half has not been fully initialized"):
        half(torch.ones(1))


@pytest.mark.parametrize("kind", [nn.UninitializedParameter, nn.UninitializedBuffer])
def test_what_has_no_values_yet_is_loaded_where_there_are_none(kind):
    class Lazy(nn.modules.lazy.LazyModuleMixin, nn.Module):
        def __init__(self):
            super().__init__()
            put = self.register_parameter if kind is nn.UninitializedParameter else self.register_buffer
            put("values", kind())

    first, second = Lazy(), Lazy()
    first.load_state_dict(second.state_dict())
    assert first.has_uninitialized_params()
