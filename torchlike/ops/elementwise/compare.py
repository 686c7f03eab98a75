"""Element-wise comparisons, tests for NaN and infinities, and comparisons of whole tensors."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import Array

from ..._core import dtypes
from ..._core.annotations import Dtype
from ..._core.meta import on_meta, refuse_item, refuse_meta
from ..._core.tensor import Tensor
from ...dispatch.out_dtypes import words
from ...dispatch.register import Category, Form, Operand, Promote, Sample, Validation, alias, composite, op
from ...numerics import denormals as _denormals

INF, NAN = float("inf"), float("nan")
EDGES = Sample(values=([-INF, -1.0, -0.0, 0.0, INF, NAN],), dtypes=("float32",))


def _comparison(kernel: str | None = None) -> dict[str, Any]:
    return {
        "promote": Promote.ALWAYS_BOOL,
        "accepts": Category.ALL if kernel is None else Category.REAL,
        "forms": Form.ELEMENTWISE,
        "refuse": kernel,
        "differentiable": False,
        "samples": [
            Sample(shapes=((3, 4), (4,))),
            Sample(shapes=((3, 4),), args=(0,)),
            Sample(values=([1.0, 2.0, NAN, INF, -0.0], [1.0, 3.0, NAN, INF, 0.0]), dtypes=("float32",)),
        ],
    }


@op(**_comparison())
def eq(input: Array, other: Operand) -> Array:
    """``input == other``, element by element; NaN equals nothing.

    >>> torch.tensor([1, 2, 3]) == 2
    tensor([False,  True, False])
    """
    return _denormals.equal(input, other)


@op(**_comparison())
def ne(input: Array, other: Operand) -> Array:
    """``input != other``, element by element.

    >>> torch.ne(torch.tensor([1, 2, 3]), 2)
    tensor([ True, False,  True])
    """
    return _denormals.not_equal(input, other)


@op(**_comparison("lt_cpu"))
def lt(input: Array, other: Operand) -> Array:
    """``input < other``, element by element.

    >>> torch.lt(torch.tensor([1, 2, 3]), 2)
    tensor([ True, False, False])
    """
    return _denormals.less(input, other)


@op(**_comparison("le_cpu"))
def le(input: Array, other: Operand) -> Array:
    """``input <= other``, element by element.

    >>> torch.le(torch.tensor([1, 2, 3]), 2)
    tensor([ True,  True, False])
    """
    return _denormals.less_equal(input, other)


@op(**_comparison("gt_cpu"))
def gt(input: Array, other: Operand) -> Array:
    """``input > other``, element by element.

    >>> torch.gt(torch.tensor([1, 2, 3]), 2)
    tensor([False, False,  True])
    """
    return _denormals.greater(input, other)


@op(**_comparison("ge_cpu"))
def ge(input: Array, other: Operand) -> Array:
    """``input >= other``, element by element.

    >>> torch.ge(torch.tensor([1, 2, 3]), 2)
    tensor([False,  True,  True])
    """
    return _denormals.greater_equal(input, other)


# ---- kinds of numbers


def _test(
    accepts: Category = Category.ALL, forms: Form = Form.FUNCTION | Form.METHOD, **fields: object
) -> dict[str, Any]:
    common = {"promote": Promote.ALWAYS_BOOL, "differentiable": False, "samples": [Sample(shapes=((3, 4),)), EDGES]}
    return common | {"accepts": accepts, "forms": forms} | fields


@op(**_test())
def isnan(input: Array) -> Array:
    """Which elements are NaN.

    >>> torch.isnan(torch.tensor([1.0, float("inf"), float("nan")]))
    tensor([False, False,  True])
    """
    return input != input


@op(**_test())
def isinf(input: Array) -> Array:
    """Which elements are infinite (a complex one: in either part).

    >>> torch.isinf(torch.tensor([1.0, float("inf"), float("nan")]))
    tensor([False,  True, False])
    """
    if input.dtype.kind == "c":
        return jnp.isinf(input.real) | jnp.isinf(input.imag)
    return jnp.isinf(input) if input.dtype.kind not in "biu" else jnp.zeros(input.shape, bool)


@op(**_test())
def isfinite(input: Array) -> Array:
    """Which elements are neither infinite nor NaN.

    >>> torch.isfinite(torch.tensor([1.0, float("inf"), float("nan")]))
    tensor([ True, False, False])
    """
    return jnp.isfinite(input) if input.dtype.kind not in "biu" else jnp.ones(input.shape, bool)


@op(
    **_test(
        Category.REAL,
        Form.FUNCTION | Form.METHOD | Form.OUT,
        refuse=lambda name, dtype: f"{name} does not support complex inputs.",
    ),
    validation=Validation(out=words("isposinf does not support non-boolean outputs.")),
)
def isposinf(input: Array) -> Array:
    """Which elements are positive infinity."""
    return input == INF if input.dtype.kind not in "biu" else jnp.zeros(input.shape, bool)


@op(
    **_test(
        Category.REAL,
        Form.FUNCTION | Form.METHOD | Form.OUT,
        refuse=lambda name, dtype: f"{name} does not support complex inputs.",
    ),
    validation=Validation(out=words("isneginf does not support non-boolean outputs.")),
)
def isneginf(input: Array) -> Array:
    """Which elements are negative infinity."""
    return input == -INF if input.dtype.kind not in "biu" else jnp.zeros(input.shape, bool)


@op(**_test())
def isreal(input: Array) -> Array:
    """Which elements have no imaginary part."""
    return input.imag == 0 if input.dtype.kind == "c" else jnp.ones(input.shape, bool)


# ---- nearness, and whole tensors


def _same_dtype(input: Dtype, other: object, *others: object) -> None:
    if isinstance(other, dtypes.dtype) and other is not input:
        raise RuntimeError(f"{input.scalar_name} did not match {other.scalar_name}")


@op(
    promote=Promote.ALWAYS_BOOL,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD,
    differentiable=False,
    validation=Validation(call=_same_dtype),
    samples=[
        Sample(shapes=((3, 4), (3, 4))),
        Sample(values=([1.0, NAN, INF, INF, 1.0], [1.000001, NAN, INF, -INF, 2.0]), dtypes=("float32",)),
        Sample(values=([1.0, NAN], [1.1, NAN]), kwargs={"rtol": 0.2, "equal_nan": True}, dtypes=("float32",)),
    ],
)
def isclose(input: Array, other: Array, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Array:
    """Which elements differ by at most ``atol + rtol * abs(other)``.

    >>> torch.isclose(torch.tensor([1.0, 2.0]), torch.tensor([1.000001, 2.1]))
    tensor([ True, False])
    """
    if rtol < 0:
        raise RuntimeError(f"rtol must be greater than or equal to zero, but got {rtol:g}")
    if atol < 0:
        raise RuntimeError(f"atol must be greater than or equal to zero, but got {atol:g}")
    close = _denormals.equal(input, other)
    if equal_nan:
        close = close | ((input != input) & (other != other))
    if input.dtype.kind == "b" or (rtol == 0 and atol == 0):
        return close
    if input.dtype.kind in "iu":  # the allowance may be a fraction
        input, other = input.astype(jnp.float64), other.astype(jnp.float64)
    difference = jnp.abs(input - other)
    return close | (jnp.isfinite(difference) & (difference <= atol + jnp.abs(rtol * other)))


@composite(forms=Form.FUNCTION | Form.METHOD)
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements differ by at most ``atol + rtol * abs(other)``: a Python bool.

    >>> torch.allclose(torch.tensor([1.0]), torch.tensor([1.0 + 1e-7]))
    True
    """
    refuse_item(input)
    return bool(isclose(input, other, rtol, atol, equal_nan)._array().all())


@composite(forms=Form.FUNCTION | Form.METHOD)
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and equal elements: a Python bool.

    >>> torch.equal(torch.tensor([1, 2]), torch.tensor([1, 2]))
    True
    """
    for i, (name, arg) in enumerate((("input", input), ("other", other))):
        if not isinstance(arg, Tensor):
            raise TypeError(f"equal(): argument '{name}' (position {i + 1}) must be Tensor, not {type(arg).__name__}")
    refuse_meta(other if on_meta(other) else input, "equal")
    if input.shape != other.shape:
        return False
    return bool((input._array() == other._array()).all())


@composite(forms=Form.FUNCTION | Form.METHOD)
def is_nonzero(input: Tensor) -> bool:
    """Whether a tensor of one element is not zero."""
    return bool(input)


greater = alias("greater", gt)
greater_equal = alias("greater_equal", ge)
less = alias("less", lt)
less_equal = alias("less_equal", le)
not_equal = alias("not_equal", ne)
