"""Orders, batches and errors of `torch.utils.data` are those that PyTorch gave for the same programs."""

import json

import pytest

import torchlike as torch
from tests.utils.data.scenarios import COLLATE, CONVERT, ERRORS, SCENARIOS, outcome

# Both libraries warn about more workers than processors. No test may depend on the machine.
pytestmark = [pytest.mark.composed, pytest.mark.filterwarnings("ignore:This DataLoader will create")]


def test_every_program_was_recorded(golden):
    recorded = golden("data")
    assert {"orders", "collate", "convert", "errors"} < recorded.keys()
    assert SCENARIOS.keys() == recorded["orders"].keys()
    assert ERRORS.keys() == recorded["errors"].keys()


@pytest.mark.costly
@pytest.mark.parametrize("name", SCENARIOS)
def test_orders(golden, name):
    assert json.loads(json.dumps(SCENARIOS[name](torch))) == golden("data")["orders"][name]


@pytest.mark.parametrize("name", COLLATE)
def test_collate(golden, name):
    assert json.loads(json.dumps(outcome(COLLATE[name], torch))) == golden("data")["collate"][name]


@pytest.mark.parametrize("name", CONVERT)
def test_convert(golden, name):
    assert json.loads(json.dumps(outcome(CONVERT[name], torch))) == golden("data")["convert"][name]


@pytest.mark.parametrize("name", ERRORS)
def test_errors(golden, name):
    assert outcome(ERRORS[name], torch) == golden("data")["errors"][name]
