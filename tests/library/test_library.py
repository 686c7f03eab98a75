"""Operators that a program defines: their calls, gradients and errors are PyTorch's."""

import pytest

import torchlike as torch
from tests.library import operators

pytestmark = pytest.mark.recorded


@pytest.fixture(scope="module")
def found():
    return operators.everything(torch)


@pytest.mark.parametrize("name", operators.PROGRAMS)
def test_a_program_with_operators_says_what_it_says_under_pytorch(found, golden, name):
    assert found[name] == golden("operators")[name]


def test_operators_of_a_deleted_library_are_unregistered():
    library = torch.library.Library("tests_gone", "FRAGMENT")
    library.define("one(Tensor x) -> Tensor")
    library._destroy()
    with pytest.raises(RuntimeError, match="operator tests_gone::one does not exist"):
        torch.library.impl("tests_gone::one", "cpu", lambda x: x)


def test_an_operator_may_not_return_its_input():
    op = torch.library.custom_op("tests_same::same", lambda x: x, mutates_args=(), schema="(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="must not also be"):
        op(torch.ones(1))


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.library.triton_op("a::b", mutates_args=()),
        lambda: torch.library.register_vmap("a::b"),
        lambda: torch.library.register_autocast("a::b", "cpu", torch.float16),
        lambda: torch._inductor.aot_compile(None, ()),
        lambda: torch._dynamo.register_backend(lambda graph, inputs: graph),
    ],
)
def test_what_is_not_supported_says_its_name(call):
    with pytest.raises(NotImplementedError, match="torchlike does not support"):
        call()
