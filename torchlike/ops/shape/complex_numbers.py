"""Complex numbers: their parts, the views that show those, and numbers made of parts."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from ..._core import dtypes
from ..._core.fields import view_record
from ..._core.strided import Strided
from ..._core.tensor import Tensor
from ...dispatch.bindings import FUNCTIONS
from ...dispatch.out_dtypes import FOUND
from ...dispatch.register import Autocast, Category, Form, Promote, Sample, Saves, Validation, composite, op
from .reshape import common_shape
from .slicing import select


def _pair_dtypes(name: str) -> Any:
    def check(first: Any, second: Any) -> None:
        if not (isinstance(first, dtypes.dtype) and isinstance(second, dtypes.dtype)):
            return
        if first.category != dtypes.FLOAT or second.category != dtypes.FLOAT or first.itemsize < 2:
            raise RuntimeError(
                f"Expected both inputs to be Half, Float or Double tensors but got {first.scalar_name} and {second.scalar_name}"
            )
        if first is not second:
            raise RuntimeError(
                f"Expected object of scalar type {first.scalar_name} but got scalar type {second.scalar_name} for second argument"
            )
        if first.itemsize == 2:
            raise NotImplementedError(
                f"torchlike has no complex numbers of {first!r}: {name} takes float32 and float64"
            )

    return check


def _exact_out(expected: dtypes.dtype, actual: dtypes.dtype) -> Exception:
    return RuntimeError(
        f"Expected object of scalar type {expected.scalar_name} but got scalar type {actual.scalar_name} for argument 'out'"
    )


def _alike(first: Array, second: Array) -> tuple[Array, ...]:
    shape = common_shape([first.shape, second.shape])
    return jnp.broadcast_to(first, shape), jnp.broadcast_to(second, shape)


@op(
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.FUNCTION | Form.OUT,
    validation=Validation(call=_pair_dtypes("complex"), out=_exact_out),
    saves=("real", "imag"),
    samples=[Sample(shapes=((3, 4), (3, 4)), dtypes=("float32", "float64"))],
)
def complex(real: Array, imag: Array) -> Array:
    """Complex numbers from their parts.

    >>> torch.complex(torch.tensor([1.0]), torch.tensor([2.0]))
    tensor([1.+2.j])
    """
    return lax.complex(*_alike(real, imag))


@op(
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.FUNCTION | Form.OUT,
    validation=Validation(call=_pair_dtypes("polar"), out=_exact_out),
    samples=[Sample(shapes=((3, 4), (3, 4)), low=0.1, high=3.0, dtypes=("float32", "float64"))],
    autocast={"cpu": Autocast.FLOAT32},
)
def polar(abs: Array, angle: Array) -> Array:
    """Complex numbers from absolute value and angle.

    >>> torch.polar(torch.tensor([2.0]), torch.tensor([0.0]))
    tensor([2.+0.j])
    """
    return _polar(*_alike(abs, angle))


@jax.custom_jvp
def _polar(size: Array, angle: Array) -> Array:
    return lax.complex(size * jnp.cos(angle), size * jnp.sin(angle))


@_polar.defjvp
def _polar_jvp(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    (size, angle), (by_size, by_angle) = primals, tangents
    # PyTorch divides the result by its absolute value, which leaves 0 at 0, and takes a negative size for a positive one.
    along, across = jnp.sign(size) * by_size, size * by_angle
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    return _polar(size, angle), lax.complex(cos * along - sin * across, sin * along + cos * across)


@op(
    name="_angle",
    promote=Promote.COMPLEX_TO_FLOAT,
    accepts=Category.INEXACT,
    forms=Form.NONE,
    backward="AngleBackward0",
    samples=[
        Sample(shapes=((3, 4),)),
        Sample(values=([-1.0, -0.0, 0.0, 1.0, float("nan")],), dtypes=("float32",), gradient=False),
    ],
)
def angle_of(input: Array) -> Array:
    """The angle; its derivative is 0 for real numbers and for complex 0."""
    if input.dtype.kind != "c":
        angles = jnp.where(input < 0, jnp.asarray(jnp.pi, input.dtype), jnp.where(input != input, input, 0))
        return lax.stop_gradient(angles)
    zero = input == 0
    # Zero must not reach the other branch: its derivative there would be 0 / 0.
    safe = jnp.where(zero, 1, input)
    return jnp.where(zero, lax.stop_gradient(jnp.atan2(input.imag, input.real)), jnp.atan2(safe.imag, safe.real))


@composite(forms=Form.FUNCTION | Form.METHOD | Form.OUT)
def angle(input: Tensor) -> Tensor:
    """The angle of complex numbers in radians; of real ones 0, or pi below zero.

    >>> torch.angle(torch.tensor([1j, -1.0]))
    tensor([1.5708, 3.1416])
    """
    if input.dtype.category < dtypes.FLOAT:
        input = input.to(dtypes.get_default_dtype())  # pyright: ignore[reportAttributeAccessIssue]
    return angle_of(input)


# ---- views


def _put_parts(whole: object, part: Array, *args: object) -> Array:
    return lax.complex(part[..., 0], part[..., 1])


@op(
    promote=Promote.NONE,
    accepts=Category.COMPLEX,
    forms=Form.FUNCTION,
    view=True,
    saves=Saves.NOTHING,
    scatter_into_base=_put_parts,
    refuse=lambda name, dtype: "view_as_real is only supported for complex tensors",
    samples=[Sample(shapes=((3, 4),))],
)
def view_as_real(input: Array) -> Array:
    """A view in which the real and the imaginary part stand in a new last dimension of size 2.

    Raises:
        RuntimeError: the tensor shows the conjugate of what its memory holds.

    >>> torch.view_as_real(torch.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
    if isinstance(input, Strided):
        return Strided((*input.shape, 2), (*(2 * s for s in input.strides), 1), 2 * input.offset)  # pyright: ignore[reportReturnType]
    return jnp.stack([input.real, input.imag], -1)


_parts_of_memory = view_as_real


@functools.wraps(_parts_of_memory)
def _parts(*args: object, **kwargs: object) -> Tensor:
    input = next(iter((*args, *kwargs.values())), None)
    if isinstance(input, Tensor) and input.is_conj():  # pyright: ignore[reportAttributeAccessIssue]
        raise RuntimeError(
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can view it as real, use "
            "self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the original."
        )
    return _parts_of_memory(*args, **kwargs)


FUNCTIONS["view_as_real"] = view_as_real = _parts


def _put_numbers(whole: object, part: Array, *args: object) -> Array:
    return jnp.stack([part.real, part.imag], -1)


def _pairs_in_memory(layout: Strided) -> None:
    """Raises PyTorch's errors unless the pairs of the last dimension lie in memory as complex numbers do."""
    if layout.strides[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(s % 2 for n, s in zip(layout.shape[:-1], layout.strides, strict=False) if n != 1):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    if layout.offset % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")


@op(
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.FUNCTION,
    view=True,
    saves=Saves.NOTHING,
    scatter_into_base=_put_numbers,
    refuse=lambda name, dtype: (
        "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
        f"{dtype.scalar_name}"
    ),
    samples=[Sample(shapes=((3, 2),), dtypes=("float32", "float64"))],
    autocast={"cpu": Autocast.FLOAT32},
)
def view_as_complex(input: Array) -> Array:
    """A view in which the last dimension, of size 2, holds real and imaginary parts.

    >>> torch.view_as_complex(torch.tensor([[1.0, 2.0]]))
    tensor([1.+2.j])
    """
    if not isinstance(input, Strided) and input.dtype.itemsize == 2:
        raise NotImplementedError(
            "torchlike has no complex numbers of float16: view_as_complex takes float32 and float64"
        )
    if input.ndim == 0:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if input.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if isinstance(input, Strided):
        _pairs_in_memory(input)
        return Strided(input.shape[:-1], [s // 2 for s in input.strides[:-1]], input.offset // 2)  # pyright: ignore[reportReturnType]
    return lax.complex(input[..., 0], input[..., 1])


_numbers_of_memory = view_as_complex


@functools.wraps(_numbers_of_memory)
def _numbers(*args: object, **kwargs: object) -> Tensor:
    input = next(iter((*args, *kwargs.values())), None)
    # The layout is looked at here: the op itself sees an array, which has none.
    if isinstance(input, Tensor) and view_record(input) is not None and input.dim() and input.shape[-1] == 2:
        _pairs_in_memory(input._geometry)
    return _numbers_of_memory(*args, **kwargs)


FUNCTIONS["view_as_complex"] = view_as_complex = _numbers


@composite(forms=Form.FUNCTION | Form.PROPERTY)
def real(input: Tensor) -> Tensor:
    """The real parts, as a view; the tensor itself if its dtype is real.

    >>> torch.real(torch.tensor([1 + 2j]))
    tensor([1.])
    """
    return (
        select(_parts_of_memory(conj_view(input) if is_conj(input) else input), -1, 0) if input.is_complex() else input
    )


@composite(forms=Form.FUNCTION | Form.PROPERTY)
def imag(input: Tensor) -> Tensor:
    """The imaginary parts, as a view; RuntimeError for real dtypes.

    >>> torch.imag(torch.tensor([1 + 2j]))
    tensor([2.])
    """
    if not input.is_complex():
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return select(neg_view(_parts_of_memory(conj_view(input))) if is_conj(input) else _parts_of_memory(input), -1, 1)


@op(
    name="_conj",
    promote=Promote.NONE,
    accepts=Category.COMPLEX,
    forms=Form.NONE,
    view=True,
    backward="ConjBackward0",
    saves=Saves.NOTHING,
    scatter_into_base=lambda whole, part: jnp.conj(part),
    samples=[Sample(shapes=((3, 4),))],
)
def conj_view(input: Array) -> Array:
    """The same memory, read with the other sign of the imaginary part."""
    return input if isinstance(input, Strided) else jnp.conj(input)


@composite(forms=Form.FUNCTION | Form.METHOD)
def conj(input: Tensor) -> Tensor:
    """The complex conjugate, as a view; the tensor itself if its dtype is real."""
    return conj_view(input) if input.is_complex() else input


@op(name="_conj_physical", promote=Promote.NONE, accepts=Category.COMPLEX, forms=Form.NONE, backward="ConjPhysicalBackward0",
    saves=Saves.NOTHING, samples=[Sample(shapes=((3, 4),))])  # fmt: skip
def conjugated(input: Array) -> Array:
    """The complex conjugate in memory of its own."""
    return jnp.conj(input)


@composite(
    forms=Form.UNARY,
    validation=Validation(out=FOUND),
)
def conj_physical(input: Tensor) -> Tensor:
    """The complex conjugate in memory of its own; the tensor itself if its dtype is real."""
    return conjugated(input) if input.is_complex() else input


@op(
    name="_neg_view",
    promote=Promote.NONE,
    accepts=Category.INTEGER | Category.FLOAT | Category.COMPLEX,
    forms=Form.FUNCTION | Form.METHOD,
    view=True,
    backward="NegViewBackward0",
    saves=Saves.NOTHING,
    scatter_into_base=lambda whole, part: jnp.negative(part),
    samples=[Sample(shapes=((3, 4),))],
)
def neg_view(input: Array) -> Array:
    """The same memory, read with the other sign."""
    return input if isinstance(input, Strided) else jnp.negative(input)


def _turned_by(input: Tensor, name: str) -> bool:
    """Whether an odd number of the view's steps are this operation."""
    view = view_record(input)
    return view is not None and sum(step.op.name == name for step in view.steps) % 2 == 1


@composite(forms=Form.FUNCTION | Form.METHOD)
def is_conj(input: Tensor) -> bool:
    """Whether the tensor shows the conjugate of what its memory holds."""
    return _turned_by(input, "_conj")


@composite(forms=Form.FUNCTION | Form.METHOD)
def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself, or a copy if it shows the conjugate of what its memory holds."""
    return input.clone() if is_conj(input) else input  # pyright: ignore[reportAttributeAccessIssue]


@composite(forms=Form.FUNCTION | Form.METHOD)
def is_neg(input: Tensor) -> bool:
    """Whether the tensor shows the negative of what its memory holds, as the imaginary parts of a conjugate do."""
    return _turned_by(input, "_neg_view")


@composite(forms=Form.FUNCTION | Form.METHOD)
def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself, or a copy if it shows the negative of what its memory holds."""
    return input.clone() if is_neg(input) else input  # pyright: ignore[reportAttributeAccessIssue]
