"""The committed stubs are those that the declarations give, and `python -m torchlike.ops` prints the declarations."""

import subprocess
import sys

import pytest

from torchlike import Tensor, ops
from torchlike.dispatch.stubs import stubs
from torchlike.ops.__main__ import describe, main

pytestmark = pytest.mark.recorded

STUBS = stubs(list(ops.__all__))


@pytest.mark.parametrize("path", STUBS, ids=lambda path: path.name)
def test_the_committed_stub_is_the_generated_one(path):
    assert path.read_text(encoding="utf-8") == STUBS[path], (
        "run `python -m torchlike.ops --stubs` and commit what it writes"
    )


def test_the_stub_knows_methods_in_every_form():
    text = next(text for path, text in STUBS.items() if path.name == "tensor_methods.pyi")
    for line in (
        "def relu(self) -> Tensor: ...",
        "def relu_(self) -> Tensor: ...",
        "def add(self, other: _Operand, *, alpha: _Number = 1) -> Tensor: ...",
        "def permute(self, *dims: _Ints) -> Tensor: ...",
        "def __add__(self, other: Any) -> Tensor: ...",
    ):
        assert line in text
    assert "def relu(input: Tensor) -> Tensor: ..." in next(t for p, t in STUBS.items() if p.name == "__init__.pyi")


def test_every_method_in_the_stub_is_one():
    text = next(text for path, text in STUBS.items() if path.name == "tensor_methods.pyi")
    names = [line.split("def ")[1].split("(")[0] for line in text.splitlines() if "    def " in line]
    assert [n for n in names if not hasattr(Tensor, n)] == []


def test_a_description_tells_all_that_a_declaration_gives():
    text = describe("relu")
    for told in (
        "torchlike.ops.elementwise.activation",
        "torch.relu, torch.relu_, Tensor.relu, Tensor.relu_",
        "ReluBackward0",
        "integer float",
    ):
        assert told in text
    assert describe("absolute") == describe("abs")


def test_a_name_that_is_not_declared_is_said_so(capsys):
    assert main(["nonsense"]) == 1
    assert capsys.readouterr().out == "no op is declared as 'nonsense'\n"


def test_the_stub_generator_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "torchlike.ops", "relu"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("relu(input")
