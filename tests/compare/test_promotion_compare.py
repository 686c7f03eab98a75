"""Promotion and broadcasting, compared with PyTorch's: tensors of all dtypes with and without dimensions, Python numbers, shapes."""

import operator

import pytest
from hypothesis import given, strategies as st

import torchlike
from tests.cases import cases

torch = pytest.importorskip("torch")

pytestmark = [pytest.mark.compare, pytest.mark.filterwarnings("ignore:ComplexHalf support")]

# Without uint16, uint32 and uint64: PyTorch refuses most arithmetic with them, and to promote them with bool.
DTYPES = [
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip
NUMBERS = (True, 2, 2.5, 1 + 2j)
operands = st.tuples(st.sampled_from(DTYPES), st.sampled_from([(), (1,)])) | st.sampled_from(NUMBERS)


def made(module, operand):
    if not isinstance(operand, tuple):
        return operand
    dtype, shape = operand
    return module.ones(shape, dtype=getattr(module, dtype))


def outcome(action):
    try:
        return str(action()).replace("complex32", "complex64")  # half-precision complex numbers are only PyTorch's
    except (RuntimeError, NotImplementedError, TypeError) as error:
        return type(error).__name__


@cases(60)
@given(operands, operands)
def test_the_common_dtype(a, b):
    if not isinstance(a, tuple) and not isinstance(b, tuple):
        return
    ours, theirs = (outcome(lambda m=m: m.result_type(made(m, a), made(m, b))) for m in (torchlike, torch))
    assert ours == theirs


@cases(20)
@given(operands, operands, st.sampled_from(["add", "mul", "truediv", "eq", "pow"]))
def test_what_an_operator_gives(a, b, name):
    if not isinstance(a, tuple) and not isinstance(b, tuple):
        return
    operate = getattr(operator, name)
    ours, theirs = (outcome(lambda m=m: operate(made(m, a), made(m, b)).dtype) for m in (torchlike, torch))
    assert ours == theirs or theirs == "NotImplementedError"  # of complex32


@cases(20)
@given(st.lists(st.integers(0, 3), max_size=3), st.lists(st.integers(0, 3), max_size=3))
def test_shapes(a, b):
    def attempt(module):
        try:
            return tuple((module.zeros(a) + module.zeros(b)).shape)
        except RuntimeError as error:
            return str(error)

    assert attempt(torchlike) == attempt(torch)
