"""Functions that distributions share: broadcasting of parameters, probabilities and logits, lazy properties."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from numbers import Number
from typing import TYPE_CHECKING, Any

from .. import ops
from .._core.annotations import DeviceLike, Dtype
from .._core.dtypes import finfo, get_default_dtype
from .._core.tensor import Tensor
from ..autograd.grad_mode import enable_grad
from ..nn import functional as F

if TYPE_CHECKING:
    from .._core.annotations import TensorOrNumber
    from .._core.size import Size


__all__ = [
    "broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits", "tril_matrix_to_vec", "vec_to_tril_matrix",
]  # fmt: skip

euler_constant = 0.57721566490153286060


def broadcast_all(*values: TensorOrNumber | None) -> tuple[Tensor, ...]:
    """Tensors and numbers as tensors of one shape; numbers take the dtype and device of the first tensor.

    >>> torch.distributions.utils.broadcast_all(1.0, torch.zeros(2))
    (tensor([1., 1.]), tensor([0., 0.]))

    Raises:
        ValueError: a value is neither.
    """
    if any(not isinstance(v, Tensor) and hasattr(type(v), "__torch_function__") for v in values):
        return tuple(ops.broadcast_tensors(*values))  # pyright: ignore[reportArgumentType]  # they say what this is
    if not all(isinstance(v, (Tensor, Number)) for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    first = next((v for v in values if isinstance(v, Tensor)), None)
    options: dict[str, Any] = (
        {"dtype": get_default_dtype()} if first is None else {"dtype": first.dtype, "device": first.device}
    )
    tensors = [v if isinstance(v, Tensor) else ops.tensor(v, **options) for v in values]
    return tuple(ops.broadcast_tensors(*tensors)) if len(tensors) > 1 else (tensors[0],)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities, at least the dtype's epsilon away from 0 and 1."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities from logits: element by element (log-odds), or along the last dimension (logarithms)."""
    return ops.sigmoid(logits) if is_binary else F.softmax(logits, dim=-1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Logits of probabilities, the inverse of ``logits_to_probs``; finite for 0 and 1 too."""
    clamped = clamp_probs(probs)
    logits = ops.log(clamped)
    return logits - ops.log1p(-clamped) if is_binary else logits


def _standard_normal(shape: Sequence[int], dtype: Dtype, device: DeviceLike) -> Tensor:
    """Normal numbers of mean 0 and variance 1."""
    return ops.randn(shape, dtype=dtype, device=device)


def uniform_numbers(shape: Sequence[int], like: Tensor) -> Tensor:
    """Numbers from [0, 1), in the dtype and on the device of another tensor."""
    return ops.rand(shape, dtype=like.dtype, device=like.device)


def _sum_rightmost(value: Tensor, dims: int) -> Tensor:
    """The sum over the last ``dims`` dimensions."""
    return value.reshape((*value.shape[: value.dim() - dims], -1)).sum(-1) if dims else value


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements of the lower triangle up to a diagonal, row by row, along one last dimension."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = ops.tril_indices(n, n, diag).unbind()
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The inverse of ``tril_matrix_to_vec``: a square matrix with zeros above the diagonal."""
    length = vec.shape[-1]
    n = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * length + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if round(n) - n > finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {length} which cannot be expressed as the lower triangular part of a square D x D matrix."
        )
    side = round(n)
    rows, columns = ops.tril_indices(side, side, diag).unbind()
    matrix = vec.new_zeros((*vec.shape[:-1], side, side))
    matrix[..., rows, columns] = vec
    return matrix


class lazy_property:
    """A property computed when it is first read, and then kept as a plain attribute."""

    def __init__(self, wrapped: Callable[..., object]) -> None:
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)  # pyright: ignore[reportArgumentType]

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class ProbsOrLogits:
    """The parameter of a distribution that takes ``probs`` or ``logits``; the other one is computed when it is first read."""

    is_binary = True
    param_name: str

    def set_param_name(self, probs: TensorOrNumber | None, logits: TensorOrNumber | None) -> str:
        """Sets ``param_name`` to the name of the parameter that is not None.

        Raises:
            ValueError: none of them, or both.
        """
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        self.param_name = "logits" if probs is None else "probs"
        return self.param_name

    @property
    def _param(self) -> Tensor:
        return getattr(self, self.param_name)

    @lazy_property
    def logits(self) -> Tensor:
        """The log-odds, or the logarithms of the probabilities."""
        return probs_to_logits(self.probs, self.is_binary)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return logits_to_probs(self.logits, self.is_binary)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._param.shape
