"""Gradient clipping."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from ..._core.tensor import Tensor
from ...autograd.grad_mode import no_grad
from ...ops.creation.from_data import tensor
from ...ops.shape.joining import stack

_tensor_or_tensors = Tensor | Iterable[Tensor]
_no_grad = no_grad()  # PyTorch has both names here, and libraries import them

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def _as_list(tensors: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


@no_grad()
def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all tensors together, as one vector.

    Args:
        norm_type: the p of the p-norm; may be infinite.
        error_if_nonfinite: raise where the norm is NaN or infinite.
        foreach: has no effect here.

    >>> torch.nn.utils.get_total_norm([torch.tensor([3.0]), torch.tensor([4.0])])
    tensor(5.)
    """
    grads = _as_list(tensors)
    norm_type = float(norm_type)
    if not grads:
        return tensor(0.0)
    norms = stack([t.detach().norm(norm_type) for t in grads])
    total = norms.norm(norm_type)
    if error_if_nonfinite and bool((total.isnan() | total.isinf()).item()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be clipped. To "
            "disable this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


@no_grad()
def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scales gradients in place so that their norm, which is known to be ``total_norm``, is at most ``max_norm``."""
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for parameter in _as_list(parameters):
        if parameter.grad is not None:
            # Multiplies even if the factor is 1, because reading the factor would wait for the device.
            parameter.grad.mul_(factor)


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scales gradients in place so that the norm of all of them together is at most ``max_norm``.

    Args:
        parameters: tensors with gradients, or one.
        max_norm: the largest norm.
        norm_type: the p of the p-norm; may be infinite.
        error_if_nonfinite: raise where the norm is NaN or infinite.
        foreach: has no effect here.

    Returns:
        The norm that the gradients had.

    >>> w = torch.nn.Parameter(torch.ones(2))
    >>> w.grad = torch.tensor([3.0, 4.0])
    >>> torch.nn.utils.clip_grad_norm_(w, 1.0)
    tensor(5.)
    >>> w.grad
    tensor([0.6000, 0.8000])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html
    """
    if not isinstance(parameters, Tensor):
        is_generator = not isinstance(parameters, (list, tuple))
        parameters = list(parameters)
        if is_generator and not parameters:
            warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=2)
    with_grad = [p for p in _as_list(parameters) if p.grad is not None]
    total = get_total_norm([p.grad for p in with_grad], norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(with_grad, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The old name of ``clip_grad_norm_``, deprecated."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad()
def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Clamps every element of the gradients to ±``clip_value``, in place.

    Raises:
        RuntimeError: there is no gradient at all.

    >>> w = torch.nn.Parameter(torch.ones(2))
    >>> w.grad = torch.tensor([-3.0, 0.5])
    >>> torch.nn.utils.clip_grad_value_(w, 1.0)
    >>> w.grad
    tensor([-1.0000,  0.5000])
    """
    limit = float(clip_value)
    grads = [p.grad for p in _as_list(parameters) if p.grad is not None]
    if not grads:
        raise RuntimeError(
            "Expected !nested_tensorlist[0].empty() to be true, but got false.  (Could this error message be improved?  If so, "
            "please report an enhancement request to PyTorch.)"
        )
    for gradient in grads:
        gradient.clamp_(min=-limit, max=limit)
