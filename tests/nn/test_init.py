"""Initialisers: PyTorch's random numbers, gains and errors."""

from typing import Any

import numpy as np
import pytest

import torchlike as torch
from tests.nn.initialisers import INITIALISERS, fill
from tests.nn.modules.layers import SEED
from torchlike.nn import init

pytestmark = pytest.mark.composed


@pytest.mark.parametrize("name", INITIALISERS)
def test_the_numbers_are_pytorchs(golden, name: str):
    expected = golden("nn_init")[name]
    torch.manual_seed(SEED)
    found = fill(torch, name).numpy()
    assert found.dtype == expected.dtype
    if name.startswith("orthogonal"):  # LAPACK's results differ in the last bits
        np.testing.assert_allclose(found, expected, atol=1e-6)
        np.testing.assert_allclose(
            *((found @ found.T, np.eye(3)) if len(found) == 3 else (found.T @ found, np.eye(3))), atol=1e-6
        )
    else:
        assert found.tobytes() == expected.tobytes()
    assert torch.rand(1).numpy().tobytes() == golden("nn_init")[name + ".next"].tobytes()


def test_filling_leaves_no_history_and_nothing_to_compute():
    weight = torch.nn.Parameter(torch.ones(2, 2))
    torch.explain(reset=True)
    assert init.zeros_(weight) is weight
    assert init.uniform_(weight) is weight
    torch.engine.flush()
    assert torch.explain().ops == 0
    assert weight.grad_fn is None
    assert weight.requires_grad


def test_filling_part_of_a_tensor():
    weight = torch.ones(2, 3)
    init.constant_(weight[0], 5.0)
    init.zeros_(weight[:, 2])
    assert weight.tolist() == [[5.0, 5.0, 0.0], [1.0, 1.0, 0.0]]


@pytest.mark.parametrize(
    ("arguments", "gain"),
    [
        (("linear",), 1),
        (("sigmoid",), 1),
        (("tanh",), 5 / 3),
        (("relu",), 2**0.5),
        (("leaky_relu", 0.2), (2 / 1.04) ** 0.5),
        (("selu",), 0.75),
    ],
)
def test_gains(arguments: Any, gain: float):
    assert init.calculate_gain(*arguments) == gain


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: init.calculate_gain("x"), "Unsupported nonlinearity x"),
        (lambda: init.calculate_gain("leaky_relu", True), "negative_slope True not a valid number"),
        (lambda: init.eye_(torch.empty(3)), "Only tensors with 2 dimensions are supported"),
        (lambda: init.dirac_(torch.empty(3)), "Only tensors with 3, 4, or 5 dimensions are supported"),
        (lambda: init.dirac_(torch.empty(3, 2, 2), groups=2), "dim 0 must be divisible by groups"),
        (
            lambda: init.xavier_uniform_(torch.empty(3)),
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions",
        ),
        (
            lambda: init.kaiming_uniform_(torch.empty(3, 3), mode="x"),
            "Mode x not supported, please use one of ['fan_in', 'fan_out']",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(act: Any, message: str):
    with pytest.raises(ValueError) as caught:
        act()
    assert str(caught.value) == message


def test_old_names_and_empty_tensors_are_warned_of():
    with pytest.warns(FutureWarning, match="`nn.init.uniform` is now deprecated in favor of `nn.init.uniform_`."):
        init.uniform(torch.empty(2))
    with pytest.warns(UserWarning, match="Initializing zero-element tensors is a no-op"):
        init.kaiming_uniform_(torch.empty(0, 3))


def test_libraries_find_pytorchs_private_count_of_inputs():
    tensor = torch.empty(3, 5)
    assert [torch.nn.init._calculate_correct_fan(tensor, mode) for mode in ("fan_in", "FAN_OUT")] == [5, 3]
    with pytest.raises(ValueError, match=r"^Mode x not supported, please use one of \['fan_in', 'fan_out'\]$"):
        torch.nn.init._calculate_correct_fan(tensor, "x")
