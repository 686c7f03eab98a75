"""functorch's older functions, which give a module as a function of its parameters. ``torch.func.functional_call`` replaced them."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any

from .._core.tensor import Tensor
from ..autograd.grad_mode import no_grad
from ..nn import Module, Parameter
from ..ops import stack
from ._modules import functional_call

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "make_functional",
    "make_functional_with_buffers",
]


def warn_of(name: str, instead: str) -> None:
    """Warns, where a program calls it, that ``functorch`` has a function for older programs only."""
    warnings.warn(
        "We've integrated functorch into PyTorch. As the final step of the integration, "
        f"`functorch.{name}` is deprecated as of PyTorch 2.0 and will be deleted in a future version of PyTorch >= 2.3. Please use "
        f"`{instead}` instead; see the PyTorch 2.0 release notes and/or the `torch.func` migration guide for more details "
        "https://pytorch.org/docs/main/func.migrating.html",
        FutureWarning,
        stacklevel=3,
    )


class FunctionalModuleWithBuffers(Module):
    """A module as a function of parameters, buffers and its arguments. It has none of its own."""

    def __init__(self, model: Module) -> None:
        super().__init__()
        self.stateless_model = copy.deepcopy(model).to("meta")
        self.param_names = tuple(name for name, _ in model.named_parameters())
        self.buffer_names = tuple(name for name, _ in model.named_buffers())
        # On meta each name has a tensor of its own, so the names that share one are looked up in the model itself.
        names: dict[int, list[str]] = {}
        for named in (model.named_parameters, model.named_buffers):
            for name, tensor in named(remove_duplicate=False):
                names.setdefault(id(tensor), []).append(name)
        self._shared = {group[0]: group for group in names.values()}

    def forward(self, params: Sequence[Tensor], buffers: Sequence[Tensor], *args: object, **kwargs: object) -> Any:
        given = [*zip(self.param_names, params, strict=True), *zip(self.buffer_names, buffers, strict=True)]
        state = {name: tensor for first, tensor in given for name in self._shared[first]}
        return functional_call(self.stateless_model, state, args, kwargs)


class FunctionalModule(FunctionalModuleWithBuffers):
    """A module as a function of parameters and its arguments."""

    def forward(self, params: Sequence[Tensor], *args: object, **kwargs: object) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return super().forward(params, (), *args, **kwargs)


def _parameters(model: Module, tracked: bool) -> tuple[Tensor, ...]:
    with no_grad():
        return tuple(Parameter(each.clone(), requires_grad=tracked) for each in model.parameters())


def make_functional(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
    """A module as a function, and copies of its parameters to call it with.

    Args:
        disable_autograd_tracking: whether the copies require no gradients.

    Raises:
        RuntimeError: the module has buffers.
    """
    warn_of("make_functional", "torch.func.functional_call")
    if any(True for _ in model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    return FunctionalModule(model), _parameters(model, not disable_autograd_tracking)


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """A module as a function, and copies of its parameters and buffers to call it with."""
    warn_of("make_functional_with_buffers", "torch.func.functional_call")
    buffers = tuple(each.detach().clone() for each in model.buffers())
    return FunctionalModuleWithBuffers(model), _parameters(model, not disable_autograd_tracking), buffers


def combine_state_for_ensemble(
    models: Sequence[Module],
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Modules of one class as one function, and their parameters and buffers, stacked, for ``vmap``.

    Raises:
        RuntimeError: there is no module, they have several classes, or only some are in training mode.
    """
    warn_of("combine_state_for_ensemble", "torch.func.stack_module_state")
    name = "combine_state_for_ensemble: Expected"
    if not models:
        raise RuntimeError(f"{name} at least one model, got 0.")
    if not (all(m.training for m in models) or not any(m.training for m in models)):
        raise RuntimeError(f"{name} all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError(f"{name} all models to be of the same class.")
    with no_grad():
        parameters = tuple(stack(each).detach() for each in zip(*(m.parameters() for m in models), strict=True))
        buffers = tuple(stack(each).detach() for each in zip(*(m.buffers() for m in models), strict=True))
    return FunctionalModuleWithBuffers(models[0]), parameters, buffers
