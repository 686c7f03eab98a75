"""Errors of functions with several signatures, and of calls that lack arguments, in PyTorch's words."""

from typing import Any

import pytest

import torchlike

torch: Any = torchlike  # for calls that a type checker refuses

X, INDEX = torch.ones(3), torch.tensor([0, 1])
SCATTER = """scatter() received an invalid combination of arguments - got (int, Tensor, str), but expected one of:
 * (int dim, Tensor index, Tensor src)
      didn't match because some of the arguments have invalid types: (int, Tensor, !str!)
 * (int dim, Tensor index, Tensor src, *, str reduce)
 * (int dim, Tensor index, Number value)
      didn't match because some of the arguments have invalid types: (int, Tensor, !str!)
 * (int dim, Tensor index, Number value, *, str reduce)
"""
RESULT_TYPE = """result_type() received an invalid combination of arguments - got (int, str), but expected one of:
 * (Tensor tensor, Tensor other)
      didn't match because some of the arguments have invalid types: (!int!, !str!)
 * (Number scalar, Tensor tensor)
      didn't match because some of the arguments have invalid types: (!int!, !str!)
 * (Tensor tensor, Number other)
      didn't match because some of the arguments have invalid types: (!int!, !str!)
 * (Number scalar1, Number scalar2)
      didn't match because some of the arguments have invalid types: (!int!, !str!)
"""


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: X.scatter(0, INDEX, "a"), SCATTER),
        (lambda: torch.result_type(1, "a"), RESULT_TYPE),
        (lambda: torch.complex(X), 'complex() missing 1 required positional arguments: "imag"'),
        (lambda: torch.gather(X), 'gather() missing 2 required positional argument: "dim", "index"'),
        (lambda: X.scatter_reduce(0, INDEX, X), 'scatter_reduce() missing 1 required positional arguments: "reduce"'),
        (
            lambda: torch.promote_types(1, 2),
            "promote_types(): argument 'type1' (position 1) must be torch.dtype, not int",
        ),
        (
            lambda: torch.can_cast(1, torch.float),
            "can_cast(): argument 'from_' (position 1) must be torch.dtype, not int",
        ),
    ],
)
def test_words(call, words):
    with pytest.raises(TypeError) as error:
        call()
    assert str(error.value) == words


@pytest.mark.parametrize("name", ["linspace", "logspace"])
def test_four_signatures_of_spaced_numbers(name):
    with pytest.raises(TypeError) as error:
        getattr(torch, name)(0, 1)
    first, *signatures = str(error.value).splitlines()
    assert first == f"{name}() received an invalid combination of arguments - got (int, int), but expected one of:"
    starts = [line.split(" end")[0] for line in signatures]
    assert starts == [f" * ({a} start, {b}" for a, b in
                      (("Tensor", "Tensor"), ("Number", "Tensor"), ("Tensor", "Number"), ("Number", "Number"))]  # fmt: skip


def test_shapes_and_dtypes_that_do_not_fit():
    with pytest.raises(RuntimeError, match=r"The size of tensor a \(2\) must match the size of tensor b \(3\)"):
        torch.complex(torch.ones(2), torch.ones(3))
    with pytest.raises(RuntimeError, match="expected scalar type Int but found Float"):
        torch.linalg.cross(X.int(), X)
    with pytest.raises(RuntimeError, match="but got start with 1 dimension"):
        torch.linspace(torch.ones(2), 1, 3)
    with pytest.raises(IndexError, match="index 0 is out of bounds for dimension 2 with size 0"):
        torch.ones(2, 3)[..., ..., 0]
