"""Ready-made parametrizations: weight and spectral normalisation, orthogonal matrices."""

from __future__ import annotations

from typing import Any

from ..._core.tensor import Tensor
from ...autograd.grad_mode import no_grad
from ...ops.creation.random import randn
from .. import functional as F
from ..modules.module import Module
from ._norms import as_matrix, iterate, norm_except, spectral_dim, weight_of
from ._orthogonal import MAPS, _Orthogonal
from .parametrize import register_parametrization

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


class _WeightNorm(Module):
    """Computes a weight from its size and its direction, and the reverse."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: object, weight_v: object) -> Tensor:
        return weight_of(weight_g, weight_v, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Splits a weight into its size and its direction: ``w = g v / |v|``, where ``g`` and ``v`` are trained.

    Args:
        name: the name of the parameter.
        dim: the dimension that keeps a norm for each of its elements; None: one norm for all.

    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 3))
    >>> layer.parametrizations.weight.original0.shape
    torch.Size([3, 1])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.parametrizations.weight_norm.html;
    https://arxiv.org/abs/1602.07868
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def from_hook_form(state: dict[str, object], prefix: str, *_: object) -> None:
        # Names in the state of the old weight_norm.
        old = [f"{prefix}{name}_{letter}" for letter in "gv"]
        if all(key in state for key in old):
            for i, key in enumerate(old):
                state[f"{prefix}parametrizations.{name}.original{i}"] = state.pop(key)

    module._register_load_state_dict_pre_hook(from_hook_form)
    return module


class _SpectralNorm(Module):
    """A weight divided by its largest singular value, which a few steps of power iteration estimate."""

    _u: Any
    _v: Any

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        if dim >= weight.dim() or dim < -weight.dim():
            raise IndexError(
                "Dimension out of range (expected to be in range of "
                f"[-{weight.dim()}, {weight.dim() - 1}] but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + weight.dim()
        self.eps = eps
        if weight.dim() > 1:  # a vector has one singular value, its length
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight.detach(), self.dim)
            u, v = (randn(size, dtype=weight.dtype, device=weight.device) for size in matrix.shape)
            self.register_buffer("_u", F.normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", F.normalize(v, dim=0, eps=eps))
            iterate(matrix, self._u, self._v, 15, eps, left_first=True)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.dim() == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            iterate(matrix, self._u, self._v, self.n_power_iterations, self.eps, left_first=True)
        u, v = self._u.clone(), self._v.clone()  # copies for backward, since the next iteration writes into u and v
        return weight / u.vdot(matrix.mv(v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Divides a weight by its largest singular value.

    Args:
        name: the name of the parameter.
        n_power_iterations: the steps of power iteration each time that the weight is read in training.
        eps: the smallest length by which the vectors are divided.
        dim: the dimension of the outputs (default: it follows from the kind of layer).

    >>> layer = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(20, 40))
    >>> round(torch.linalg.matrix_norm(layer.weight, 2).item(), 1)
    1.0

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.parametrizations.spectral_norm.html;
    https://arxiv.org/abs/1802.05957
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    with no_grad():
        parametrization = _SpectralNorm(weight, n_power_iterations, spectral_dim(module, dim), eps)
    return register_parametrization(module, name, parametrization)


def orthogonal(
    module: object, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Any:
    """Keeps a matrix, or each of a batch of them, orthogonal: ``Q Q^H = I`` where it is wide, ``Q^H Q = I`` where it is tall.

    Args:
        name: of the parameter, (..., n, k).
        orthogonal_map: how ``Q`` comes from the numbers that are trained: ``"matrix_exp"``: the exponential of a skew-Hermitian
            matrix; ``"cayley"``: ``(I + A / 2) (I - A / 2)^-1`` of one; ``"householder"``: a product of reflections. Default: the first
            for square and for complex matrices, else the last.
        use_trivialization: whether ``Q`` is multiplied by the orthogonal matrix that was assigned last, so that training begins near
            zero; costs a square matrix.

    Raises:
        ValueError: there is no such parameter, it is no matrix, or the map is not known.

    >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(20, 40))
    >>> torch.allclose(layer.weight.T @ layer.weight, torch.eye(20), atol=1e-5)
    True

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.parametrizations.orthogonal.html;
    https://arxiv.org/abs/1909.09501
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in MAPS:
        choices = ", ".join(f'"{map_name}"' for map_name in MAPS)
        raise ValueError(f"orthogonal_map has to be one of {choices}. Got: {orthogonal_map}")
    parametrization = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return register_parametrization(module, name, parametrization, unsafe=True)
