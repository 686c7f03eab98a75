"""Integrals and derivatives of sampled functions: trapezoids and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core import dtypes
from ..._core.tensor import Tensor, wrap_dim
from ...dispatch.arguments import misfit_error
from ...dispatch.options import is_integer
from ...dispatch.register import Form, composite
from ...dispatch.type_names import type_name
from ..shape.joining import cat
from ..shape.slicing import narrow

_SIGNATURES = {
    "trapz": " * (Tensor y, *, float dx = 1, int dim = -1)\n * (Tensor y, Tensor x, *, int dim = -1)\n",
    "": " * (Tensor y, Tensor x, *, int dim = -1)\n * (Tensor y, *, Number dx = 1, int dim = -1)\n",
}
# What stands for an argument that is not given: PyTorch takes no None in its place.
_ABSENT: Any = None


def _checked_spacing(name: str, x: object, dx: object) -> float:
    """The distance between samples as a number: a tensor of no dimensions is read, and so leaves the dtype alone.

    Raises:
        TypeError: it is no number, or there are points as well. RuntimeError: it is not real.
    """
    if x is not None and not isinstance(x, Tensor):
        raise misfit_error(name, "x", 2, f"must be Tensor, not {type_name(x)}")
    if dx is None:
        return 1.0
    if x is not None:
        raise misfit_error(name, "dx", None, "must be left out beside x")
    # PyTorch takes a tensor of no dimensions for a number of C++, unless it requires a gradient.
    if isinstance(dx, Tensor) and not dx.dim() and not dx.requires_grad:
        dx = dx.item()
    kinds = (int, float, np.number, np.bool_) if name == "trapz" else (int, float, complex, np.number, np.bool_)
    if not isinstance(dx, kinds):
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got (Tensor, dx={type_name(dx)}), but expected one of:\n"
            + _SIGNATURES.get(name, _SIGNATURES[""])
        )
    if name != "trapz" and isinstance(dx, (bool, complex)):
        raise RuntimeError(f"{name}: Currently, we only support dx as a real number.")
    return float(dx)  # pyright: ignore[reportArgumentType]


def _halves(name: str, y: Tensor, x: Tensor | None, dim: int) -> Tensor:
    """The areas of the trapezoids between neighbours along a dimension, twice."""
    if y.dtype is dtypes.bool_ or (isinstance(x, Tensor) and x.dtype is dtypes.bool_):
        which = "`y`" if x is None else "`x` or `y`"
        raise RuntimeError(f"{name}: received a bool input for {which}, but bool is not supported")
    size = y.shape[dim]
    sums = narrow(y, dim, 1, size - 1) + narrow(y, dim, 0, size - 1)
    if x is None:
        return sums
    if x.dim() == 1 and y.dim() > 1 and x.shape[0] != size:
        raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
    if x.dim() == 1:
        x = x.reshape([size if d == dim else 1 for d in range(y.dim())] if y.dim() > 1 else -1)
    elif x.dim() < y.dim():
        x = x.reshape([1] * (y.dim() - x.dim()) + list(x.shape))
    count = max(x.shape[dim] - 1, 0)
    widths = narrow(x, dim, min(1, x.shape[dim]), count) - narrow(x, dim, 0, count)
    return sums * widths


def _integral(y: Tensor, x: Tensor | None, distance: float, dim: int) -> Tensor:
    if not y.dim():
        raise IndexError(f"Dimension specified as {dim if x is None else 0} but tensor has no dimensions")
    dim = wrap_dim(dim, y.dim())
    if y.shape[dim] == 0:
        return y.sum(dim) * 0.0 if x is None else y.new_zeros([n for d, n in enumerate(y.shape) if d != dim])
    area = _halves("trapezoid", y, x, dim).sum(dim)
    return area / 2.0 if x is not None else area * (distance / 2.0)


@composite(forms=Form.FUNCTION)
def trapezoid(y: Tensor, x: Tensor = _ABSENT, *, dx: Tensor | complex = _ABSENT, dim: int = -1) -> Tensor:
    """The integral along a dimension by the trapezoidal rule.

    Args:
        x: where the samples were taken, one number for each along ``dim``; None: ``dx`` apart, 1 by default.

    >>> torch.trapezoid(torch.tensor([1.0, 2.0, 3.0]))
    tensor(4.)
    """
    return _integral(y, x, _checked_spacing("trapezoid", x, dx), dim)


@composite(forms=Form.FUNCTION)
def trapz(y: Tensor, x: Tensor = _ABSENT, *, dx: Tensor | float = _ABSENT, dim: int = -1) -> Tensor:
    """As ``trapezoid``."""
    return _integral(y, x, _checked_spacing("trapz", x, dx), dim)


@composite(forms=Form.FUNCTION)
def cumulative_trapezoid(y: Tensor, x: Tensor = _ABSENT, *, dx: Tensor | complex = _ABSENT, dim: int = -1) -> Tensor:
    """The integrals along a dimension up to each sample but the first, by the trapezoidal rule.

    >>> torch.cumulative_trapezoid(torch.tensor([1.0, 2.0, 3.0]))
    tensor([1.5000, 4.0000])
    """
    distance = _checked_spacing("cumulative_trapezoid", x, dx)
    if not y.dim():
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, y.dim())
    if y.shape[dim] == 0:
        return y.new_zeros(y.shape) * 0.0
    areas = _halves("cumulative_trapezoid", y, x, dim)
    areas = areas / 2.0 if x is not None else areas * (distance / 2.0)
    return areas.cumsum(dim)


# ---- gradients


def _slope(x: Tensor, dim: int, spacing: Any, edge_order: int) -> Tensor:
    """Second-order central differences, one-sided ones of ``edge_order`` at the ends."""
    size = x.shape[dim]
    if size < edge_order + 1:
        raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    part = lambda start, count: narrow(x, dim, start, count)  # noqa: E731
    if isinstance(spacing, Tensor):
        shape = [1] * x.dim()
        shape[dim] = -1
        steps = spacing.diff()  # pyright: ignore[reportAttributeAccessIssue]
        left, right = steps[:-1].reshape(shape), steps[1:].reshape(shape)
        inner = (
            part(0, size - 2) * (-right / (left * (left + right)))
            + part(1, size - 2) * ((right - left) / (left * right))
            + part(2, size - 2) * (left / (right * (left + right)))
        )
        first, last = steps[0], steps[-1]
        near, far = (steps[1], steps[-2]) if edge_order == 2 else (None, None)
    else:
        inner = (part(2, size - 2) - part(0, size - 2)) / (2 * spacing)
        first = last = near = far = spacing
    if edge_order == 1:
        start = (part(1, 1) - part(0, 1)) / first
        end = (part(size - 1, 1) - part(size - 2, 1)) / last
    else:
        start = _one_sided(part(0, 1), part(1, 1), part(2, 1), first, near)
        end = -_one_sided(part(size - 1, 1), part(size - 2, 1), part(size - 3, 1), last, far)
    return cat([start, inner, end], dim)


def _one_sided(at: object, next_: object, after: object, near: Any, far: Any) -> Any:
    """The slope at the first of three samples, ``near`` and ``far`` apart, by the parabola through them."""
    return (
        at * (-(2 * near + far) / (near * (near + far)))
        + next_ * ((near + far) / (near * far))
        + after * (-near / (far * (near + far)))
    )


@composite(forms=Form.FUNCTION)
def gradient(input: Any, *, spacing: object = 1, dim: Any = None, edge_order: int = 1) -> list[Tensor]:
    """The derivative of a sampled function along each dimension, by differences of second order.

    Args:
        spacing: between samples: a number; one for each dimension; or the coordinates, a vector for each.
        dim: a dimension or several; None: all.
        edge_order: 1 or 2, of the one-sided differences at the ends.

    >>> torch.gradient(torch.tensor([1.0, 4.0, 9.0]))
    (tensor([3., 4., 5.]),)
    """
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    spacing = 1 if spacing is None else spacing
    is_sequence = isinstance(spacing, (tuple, list))
    if dim is None:
        dims = list(range(input.dim()))
    else:
        dims = [wrap_dim(int(d), input.dim()) for d in ([dim] if is_integer(dim) else dim)]
    if len(set(dims)) < len(dims):
        twice = next(d for d in dims if dims.count(d) > 1)
        raise RuntimeError(f"dim {twice} appears multiple times in the list of dims")
    if input.dtype is dtypes.uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    spacings = list(spacing) if is_sequence else [spacing] * len(dims)
    if is_sequence and len(spacings) != len(dims):
        if dim is None:
            raise RuntimeError(
                f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to 'self.dim() = {input.dim()}', "
                f"since dim argument was not given, but got a list of length {len(spacings)}"
            )
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the same length, but "
            f"got a spacing argument of length {len(spacings)} and a dim argument of length {len(dims)}."
        )
    for own, d in zip(spacings, dims, strict=True):
        if isinstance(own, Tensor) and own.dim() == 1 and own.numel() != input.shape[d]:
            raise RuntimeError(
                "torch.gradient expected each dimension size of the coordinates to match the size of the input along it"
            )
    return tuple(_slope(input, d, own, edge_order) for d, own in zip(dims, spacings, strict=True))  # pyright: ignore[reportReturnType]
