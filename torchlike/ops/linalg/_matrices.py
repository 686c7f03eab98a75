"""Checks that the functions of matrices share, with PyTorch's error messages, and small helpers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from ..._core import dtypes
from ...dispatch.register import Category, Promote
from ...engine.aval import Aval

# Fields of Op that most of them share.
FIELDS: dict[str, Any] = {"promote": Promote.NONE, "accepts": Category.ALL}
NUMERIC: dict[str, Any] = FIELDS | {"accepts": Category.INEXACT}


class LinAlgError(RuntimeError):
    """A matrix for which an algorithm of linear algebra fails: a singular one, or one that is not positive-definite."""


# PyTorch's class has this name, in a module of its own: the runner says torch._C._LinAlgError.
LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"
LinAlgError.__module__ = "torchlike.linalg"


def said(dtype: np.dtype) -> str:
    return dtypes.from_numpy_dtype(np.dtype(dtype)).scalar_name


def floating(name: str, x: Any, half: bool = False, kernel: str = "") -> Array:
    """The array; an error where its dtype is not floating point or complex, or is a half type: of ``kernel``, where one is named."""
    if x.dtype.kind in "iub":
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {said(x.dtype)}")
    if kernel:
        return wide(kernel, x)
    if x.dtype.itemsize < 4 and not half:
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {said(x.dtype)}")
    return x


def wide(kernel: str, x: Array) -> Array:
    """The array; NotImplementedError where its dtype is none of those that PyTorch's kernels of linear algebra take."""
    if x.dtype.kind in "iub" or x.dtype.itemsize < 4:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{said(x.dtype)}'")
    return x


def matrices(name: str, x: Array, argument: str = "A") -> Array:
    if x.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")
    return x


def square(name: str, x: Array, argument: str = "A") -> Array:
    matrices(name, x, argument)
    if x.shape[-1] != x.shape[-2]:
        raise RuntimeError(
            f"{name}: {argument} must be batches of square matrices, but they are {x.shape[-2]} by {x.shape[-1]} matrices"
        )
    return x


def adjoint(x: Array) -> Array:
    """The conjugate transposes."""
    return jnp.conj(jnp.swapaxes(x, -1, -2))


def mm(a: Array, b: Array) -> Array:
    """The product of matrices, exactly."""
    return jnp.matmul(a, b, precision="highest")


def first_bad(info: Array) -> tuple[Array, Array]:
    """From LAPACK's info codes, one for each matrix: whether any failed; the first index and its code, packed into one integer."""
    flat = info.reshape(-1)
    if flat.size == 0:
        return jnp.zeros((), np.bool_), jnp.zeros((), np.int64)
    at = jnp.argmax(flat != 0)
    return jnp.any(flat != 0), at.astype(np.int64) * (1 << 32) + flat[at].astype(np.int64)


def failed(message: str, batched: Any) -> Any:
    """A ``make_error`` for ``first_bad``: ``message`` names the op, a colon, and then what went wrong, with ``{}`` for the number."""

    def make_error(value: int, *args: object, avals: Sequence[Aval]) -> Exception:
        at, number = divmod(int(value), 1 << 32)
        name, _, text = message.partition(": ")
        batch = f"(Batch element {at}): " if len(avals[batched].shape) > 2 else ""
        return LinAlgError(f"{name}: {batch}{text.format(number)}")

    return make_error


def zero_on_diagonal(upper: Array) -> Array:
    """For each triangular matrix the number of the first zero on its diagonal, counted from 1; 0 where there is none."""
    zero = jnp.diagonal(upper, axis1=-2, axis2=-1) == 0
    if zero.shape[-1] == 0:
        return jnp.zeros(zero.shape[:-1], np.int32)
    return jnp.where(jnp.any(zero, -1), jnp.argmax(zero, -1) + 1, 0).astype(np.int32)
