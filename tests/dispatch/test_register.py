"""A declaration with an unknown or wrong field raises where it is made."""

from __future__ import annotations

import inspect
import pickle
from typing import Any, Optional

import pytest
from jax import Array

import torchlike as torch
import torchlike.nn.functional as F
from torchlike import ops
from torchlike.dispatch.bindings import functional_form
from torchlike.dispatch.opdef import CATALOG, COMPOSITES, declarations
from torchlike.dispatch.register import Autocast, Category, Form, Promote, composite, op

FIELDS: dict[str, Any] = {
    "name": "_never",
    "promote": Promote.DEFAULT,
    "accepts": Category.FLOAT,
    "forms": Form.NONE,
    "samples": [],
}


def plain(input: Array, dim: int = 0) -> Array:
    return input


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"forms": "function"}, TypeError, "op '_never': forms must be of Form (NONE, FUNCTION, METHOD, "),
        ({"accepts": "float"}, TypeError, "op '_never': accepts must be of Category (BOOL, INTEGER, FLOAT, COMPLEX, "),
        ({"promote": "default"}, TypeError, "op '_never': promote must be of Promote (NONE, DEFAULT, INT_TO_FLOAT, "),
        ({"saves": "result"}, TypeError, "op '_never': saves must be of Saves (INPUTS, RESULT, NOTHING), not 'result'"),
        ({"saves": ("imput",)}, ValueError, "op '_never': unknown parameter 'imput': there are input, dim"),
        ({"keep_scalar": ("other",)}, ValueError, "op '_never': unknown parameter 'other': there are input, dim"),
        ({"must_fit": ("value",)}, ValueError, "op '_never': unknown parameter 'value'"),
        ({"constant": "input"}, TypeError, "op '_never': names of parameters must be of tuple, not 'input'"),
        ({"check": print}, TypeError, "op '_never': check must be of ValueCheck, not <built-in function print>"),
        ({"validation": print}, TypeError, "op '_never': validation must be of Validation, not <built-in function print>"),
        ({"forms": Form.FUNCTIONAL | Form.INPLACE_ARGUMENT}, ValueError, "forms has FUNCTIONAL and INPLACE_ARGUMENT, which are two"),
        ({"autocast": {"gpu": Autocast.LOWER}}, ValueError, "op '_never': unknown device in autocast 'gpu': there are cpu, cuda"),
        ({"autocast": {"cpu": "lower"}}, TypeError, "a rule of autocast must be an Autocast or a function, not 'lower'"),
        ({"view": "yes"}, TypeError, "op '_never': view must be bool, not 'yes'"),
        ({"several": 1}, TypeError, "op '_never': several must be bool, not 1"),
        ({"used_once": None}, TypeError, "op '_never': used_once must be bool, not None"),
        ({"differentiable": 3}, TypeError, "op '_never': differentiable must be bool or str or a function, not 3"),
        ({"backward": 3}, TypeError, "op '_never': backward must be str or None or a function, not 3"),
        ({"refuse": 3}, TypeError, "op '_never': refuse must be str or None or a function, not 3"),
        ({"constant_results": 1}, TypeError, "op '_never': constant_results must be tuple, not 1"),
        ({"constant_results": ("indices",)}, TypeError, "op '_never': each of constant_results must be int, not 'indices'"),
        ({"overlap": "anywhere"}, TypeError, "op '_never': overlap must be Reading or None, not 'anywhere'"),
        ({"scatter_into_base": 3}, TypeError, "op '_never': scatter_into_base must be None or a function, not 3"),
        ({"samples": [3]}, TypeError, "op '_never': each of samples must be Sample, not 3"),
        ({"differentiabel": False}, TypeError, "unexpected keyword argument 'differentiabel'"),
    ],
)  # fmt: skip
def test_a_wrong_word_is_refused(wrong, error, message):
    with pytest.raises(error) as raised:
        op(**FIELDS | wrong)(plain)
    assert message in str(raised.value)
    assert "_never" not in CATALOG


def optional(input: Array, weight: Optional[Array] = None) -> Array:  # noqa: UP045
    return input


def misspelt(input: Aray) -> Array:  # pyright: ignore[reportUndefinedVariable]  # noqa: F821
    return input


def several(tensors: tuple[Array, ...]) -> Array:
    return tensors[0]


@pytest.mark.parametrize(
    ("compute", "annotation"), [(optional, "Optional[Array]"), (misspelt, "Aray"), (several, "tuple[Array, ...]")]
)
def test_an_annotation_that_says_nothing_is_refused(compute, annotation):
    with pytest.raises(TypeError, match="has the unknown annotation") as raised:
        op(**FIELDS)(compute)
    assert repr(annotation) in str(raised.value)
    assert "_never" not in CATALOG


def test_a_composite_is_looked_at_too():
    with pytest.raises(TypeError, match="'_never': forms must be of Form .*, not 'function'"):
        composite(name="_never", forms="function")(plain)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="'_never': overlap must be Reading or None, not 'anywhere'"):
        composite(name="_never", forms=Form.NONE, overlap="anywhere")(plain)
    with pytest.raises(TypeError, match="'_never': method must be None or a function, not 3"):
        composite(name="_never", forms=Form.NONE, method=3)(plain)
    assert "_never" not in COMPOSITES


def test_what_is_declared_as_a_function_is_exported():
    names = {name for name, _, forms in declarations() if Form.FUNCTION in forms}
    assert names - set(ops.__all__) == set(), "the file is missing in FAMILIES, in torchlike/ops/__init__.py"


def test_a_functional_form_has_the_parameters_of_the_function_and_inplace():
    assert (
        str(inspect.signature(F.elu)) == "(input: 'Tensor', alpha: 'float' = 1.0, inplace: 'bool' = False) -> 'Tensor'"
    )
    parameters = "(input: 'Tensor', negative_slope: 'float' = 0.01) -> 'Tensor'"
    assert str(inspect.signature(F.leaky_relu_)) == parameters
    assert F.elu.__name__ == "elu"
    assert pickle.loads(pickle.dumps(F.leaky_relu_)) is F.leaky_relu_
    elu, leaky_relu_ = vars(F)["elu"], vars(F)["leaky_relu_"]  # of no known type, since the calls are wrong
    with pytest.raises(TypeError, match=r"^elu\(\) missing 1 required positional argument: 'input'$"):
        elu()
    with pytest.raises(TypeError, match=r"^leaky_relu_\(\) got an unexpected keyword argument 'inplace'$"):
        leaky_relu_(torch.ones(1), inplace=True)


def test_a_functional_form_needs_parameters_by_position():
    with pytest.raises(
        TypeError, match="'gelu': a form with ``inplace`` needs parameters that can be given by position"
    ):
        functional_form(CATALOG["gelu"], "gelu")
