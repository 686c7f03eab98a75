"""A declaration that says something nobody understands is refused where it is made."""

from __future__ import annotations

from typing import Any, Optional

import pytest
from jax import Array

from torchlike.dispatch.opdef import CATALOG, COMPOSITES
from torchlike.dispatch.register import Autocast, Promote, composite, op

FIELDS: dict[str, Any] = {"name": "_never", "promote": Promote.DEFAULT, "accepts": "float", "forms": "", "samples": []}


def plain(input: Array, dim: int = 0) -> Array:
    return input


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"forms": "functoin"}, ValueError, "op '_never': unknown form 'functoin': there are function, method, "),
        ({"accepts": "flaot"}, ValueError, "op '_never': unknown category of dtypes 'flaot': there are bool, integer, float, "),
        ({"promote": "default"}, TypeError, "op '_never': promote must be a Promote or a function, not 'default'"),
        ({"saves": "imput"}, ValueError, "op '_never': unknown value of saves 'imput': there are inputs, result, nothing"),
        ({"keep_scalar": "other"}, ValueError, "op '_never': unknown parameter 'other': there are input, dim, return"),
        ({"must_fit": "value"}, ValueError, "op '_never': unknown parameter 'value'"),
        ({"autocast": {"gpu": Autocast.LOWER}}, ValueError, "op '_never': unknown device in autocast 'gpu': there are cpu, cuda"),
        ({"autocast": {"cpu": "lower"}}, TypeError, "a rule of autocast must be an Autocast or a function, not 'lower'"),
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
    with pytest.raises(ValueError, match="'_never': unknown form 'out_of_place'"):
        composite(name="_never", forms="out_of_place")(plain)
    assert "_never" not in COMPOSITES
