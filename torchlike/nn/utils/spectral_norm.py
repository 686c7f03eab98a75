"""Spectral normalisation by a hook, PyTorch's old way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..._core.tensor import Tensor
from ...autograd.grad_mode import no_grad
from ...ops.creation.random import randn
from ...ops.linalg.solving import pinverse
from .. import functional as F
from ..parameter import Parameter, UninitializedParameter
from ._norms import as_matrix, iterate, spectral_dim

if TYPE_CHECKING:
    from ..modules.module import Module

__all__ = [
    "SpectralNorm", "SpectralNormLoadStateDictPreHook", "SpectralNormStateDictHook", "remove_spectral_norm", "spectral_norm",
]  # fmt: skip


class SpectralNorm:
    """The hook that divides a weight by its largest singular value before each ``forward``."""

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name, self.n_power_iterations, self.dim, self.eps = name, n_power_iterations, dim, eps

    def compute_weight(self, module: object, do_power_iteration: bool) -> Tensor:
        """The weight of a module divided by its largest singular value, after some steps of power iteration if ``do_power_iteration``."""
        weight, u, v = (getattr(module, self.name + suffix) for suffix in ("_orig", "_u", "_v"))
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            iterate(matrix, u, v, self.n_power_iterations, self.eps, left_first=False)
            u, v = u.clone(), v.clone()  # copies for backward, since the next iteration writes into u and v
        return weight / u.dot(matrix.mv(v))

    @staticmethod
    def apply(module: Any, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Adds the hook to a module."""
        if any(isinstance(hook, SpectralNorm) and hook.name == name for hook in module._forward_pre_hooks.values()):
            raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run the dummy forward before "
                "applying spectral normalization"
            )
        with no_grad():
            u, v = (
                F.normalize(randn(size, dtype=weight.dtype, device=weight.device), dim=0, eps=eps)
                for size in as_matrix(weight, dim).shape
            )
        del module._parameters[name]
        module.register_parameter(name + "_orig", weight)
        # The first value has no gradient. It is a plain attribute, so that copy.deepcopy(module) works.
        setattr(module, name, weight.detach())
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(SpectralNormStateDictHook(hook))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(hook))
        return hook

    def remove(self, module: Module) -> None:
        """Makes the weight a parameter again, with its current value."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        delattr(module, self.name)
        for suffix in ("_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Tensor) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))


class SpectralNormStateDictHook:
    """Marks a ``state_dict`` as one with both vectors."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self, module: object, state_dict: dict[str, object], prefix: str, local_metadata: dict[str, Any]
    ) -> None:
        marks = local_metadata.setdefault("spectral_norm", {})
        key = self.fn.name + ".version"
        if key in marks:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        marks[key] = 1


class SpectralNormLoadStateDictPreHook:
    """Computes the second vector if a ``state_dict`` lacks it: PyTorch before 1.0 wrote only the first one and the weight."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    @no_grad()
    def __call__(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        *_: object,
    ) -> None:
        name = self.fn.name
        if local_metadata.get("spectral_norm", {}).get(name + ".version") is not None:
            return
        key = prefix + name
        if all(key + suffix in state_dict for suffix in ("_orig", "_u", "_v")) and key not in state_dict:
            return  # both vectors are there, although the version is missing
        lacking = [key + suffix for suffix in ("_orig", "", "_u") if key + suffix not in state_dict]
        if lacking:
            missing_keys.extend(lacking if strict else ())
            return
        original, u = state_dict[key + "_orig"], state_dict[key + "_u"]
        largest = (original / state_dict.pop(key)).mean()
        matrix = as_matrix(original, self.fn.dim)
        # matrix.T @ matrix is singular for a wide matrix, so its inverse would consist of rounding errors. Use the pseudo-inverse.
        v = pinverse(matrix).mv(u)
        state_dict[key + "_v"] = v * (largest / u.dot(matrix.mv(v)))


def spectral_norm(
    module: object, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Divides a weight by its largest singular value, which a step of power iteration at each call estimates.

    ``parametrizations.spectral_norm`` is the newer form.

    Args:
        name: the name of the parameter.
        n_power_iterations: the steps of power iteration at each call in training.
        eps: the smallest length by which the vectors are divided.
        dim: the dimension of the outputs (default: it follows from the kind of layer).

    >>> layer = torch.nn.utils.spectral_norm(torch.nn.Linear(2, 3))
    >>> list(layer.state_dict())
    ['bias', 'weight_orig', 'weight_u', 'weight_v']

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.spectral_norm.html; https://arxiv.org/abs/1802.05957
    """
    SpectralNorm.apply(module, name, n_power_iterations, spectral_dim(module, dim), eps)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Removes ``spectral_norm``. The weight keeps its current value."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            for hooks in (module._state_dict_hooks, module._load_state_dict_pre_hooks):
                for key in [k for k, h in hooks.items() if getattr(getattr(h, "hook", h), "fn", None) is hook]:
                    del hooks[key]
            return module
    raise ValueError(f"spectral_norm of '{name}' not found in {module}")
