"""Orders, batches and errors of `torch.utils.data`, against what PyTorch gave for the same programs."""

import json

import pytest

import torchlike as torch
from tests.conftest import read_golden
from tests.utils.data.scenarios import COLLATE, CONVERT, ERRORS, SCENARIOS, outcome

GOLDEN = read_golden("data")

# Of more workers than this machine has processors: PyTorch says it too, and no test depends on the machine.
pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")


def test_every_program_was_recorded():
    assert {"orders", "collate", "convert", "errors"} < GOLDEN.keys()
    assert SCENARIOS.keys() == GOLDEN["orders"].keys()
    assert ERRORS.keys() == GOLDEN["errors"].keys()


@pytest.mark.parametrize("name", SCENARIOS)
def test_orders(name):
    assert json.loads(json.dumps(SCENARIOS[name](torch))) == GOLDEN["orders"][name]


@pytest.mark.parametrize("name", COLLATE)
def test_collate(name):
    assert json.loads(json.dumps(outcome(COLLATE[name], torch))) == GOLDEN["collate"][name]


@pytest.mark.parametrize("name", CONVERT)
def test_convert(name):
    assert json.loads(json.dumps(outcome(CONVERT[name], torch))) == GOLDEN["convert"][name]


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    assert outcome(ERRORS[name], torch) == GOLDEN["errors"][name]
