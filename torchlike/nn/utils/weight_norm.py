"""Weight normalisation by a hook, PyTorch's old way."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from ..._core.tensor import Tensor
from ..parameter import Parameter, UninitializedParameter
from ._norms import norm_except, weight_of

if TYPE_CHECKING:
    from ..modules.module import Module

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]


class WeightNorm:
    """The hook that computes a weight from its size and its direction before each ``forward``."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: object) -> Tensor:
        """The current weight of a module."""
        return weight_of(getattr(module, self.name + "_g"), getattr(module, self.name + "_v"), self.dim)

    @staticmethod
    def apply(module: Any, name: str, dim: int | None) -> WeightNorm:
        """Adds the hook to a module."""
        if any(isinstance(hook, WeightNorm) and hook.name == name for hook in module._forward_pre_hooks.values()):
            raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        hook = WeightNorm(name, dim)
        weight = getattr(module, name)
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run the dummy forward before applying "
                "weight normalization"
            )
        del module._parameters[name]
        module.register_parameter(name + "_g", Parameter(norm_except(weight.detach(), hook.dim)))
        module.register_parameter(name + "_v", Parameter(weight.detach()))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module: Module) -> None:
        """Makes the weight a parameter again, with its current value."""
        weight = self.compute_weight(module).detach()
        delattr(module, self.name)
        del module._parameters[self.name + "_g"]
        del module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight))

    def __call__(self, module: object, inputs: Tensor) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: object, name: str = "weight", dim: int | None = 0) -> Any:
    """Splits a weight into its size and its direction: ``w = g v / |v|``. ``parametrizations.weight_norm`` is the newer form.

    Args:
        name: the name of the parameter.
        dim: the dimension that keeps a norm for each of its elements; None: one norm for all.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", FutureWarning)
    ...     layer = torch.nn.utils.weight_norm(torch.nn.Linear(2, 3))
    >>> [(name, tuple(p.shape)) for name, p in layer.named_parameters()]
    [('bias', (3,)), ('weight_g', (3, 1)), ('weight_v', (3, 2))]

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.weight_norm.html; https://arxiv.org/abs/1602.07868
    """
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Removes ``weight_norm``. The weight keeps its current value."""
    hooks = module._forward_pre_hooks
    for key, hook in hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del hooks[key]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
