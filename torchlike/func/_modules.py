"""Calls modules as functions of their parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._core.tensor import Tensor
from ..autograd.grad_mode import no_grad
from ..nn.modules.batchnorm import _BatchNorm
from ..nn.modules.module import Module
from ..nn.utils.stateless import call_with
from ..ops import stack

__all__ = ["functional_call", "functionalize", "replace_all_batch_norm_modules_", "stack_module_state"]


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: object = None,
    kwargs: Mapping[str, object] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Calls a module with other tensors in the places of its parameters and buffers, which it has again afterwards.

    Args:
        parameter_and_buffer_dicts: from dotted names to tensors or None, or several such dictionaries without a common name. What the
            module assigns in their places is in the dictionary afterwards.
        args: positional arguments; a single one need not be a tuple.
        tie_weights: a tensor given for one name of a shared parameter stands for its other names too.
        strict: every parameter and buffer must be given, and nothing else.

    >>> linear = torch.nn.Linear(2, 1)
    >>> given = {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}
    >>> torch.func.functional_call(linear, given, torch.ones(2))
    tensor([2.])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.func.functional_call.html
    """
    if isinstance(parameter_and_buffer_dicts, dict):
        tensors_by_name = parameter_and_buffer_dicts
    elif isinstance(parameter_and_buffer_dicts, Sequence):
        if not all(isinstance(d, dict) for d in parameter_and_buffer_dicts):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        names = [name for d in parameter_and_buffer_dicts for name in d]
        repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        tensors_by_name = {name: tensor for d in parameter_and_buffer_dicts for name, tensor in d.items()}
    else:
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(parameter_and_buffer_dicts)}"
        )
    return call_with(module, tensors_by_name, args, kwargs, tie_weights, strict)


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of several models of one class, each stacked along a new first dimension, for ``vmap``.

    >>> models = [torch.nn.Linear(2, 3) for _ in range(4)]
    >>> parameters, buffers = torch.func.stack_module_state(models)
    >>> parameters["weight"].shape
    torch.Size([4, 3, 2])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.func.stack_module_state.html
    """
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or not any(m.training for m in models)):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = _stacked([dict(m.named_parameters()) for m in models])
    return parameters, _stacked([dict(m.named_buffers()) for m in models])


def _stacked(tables: list[dict[str, Tensor]]) -> dict[str, object]:
    stacks = {}
    for name in tables[0]:
        tensors = [table[name] for table in tables]
        wants = [t.requires_grad for t in tensors]
        if any(wants) and not all(wants):
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        with no_grad():
            stacks[name] = stack(tensors)._require_grad(wants[0])
    return stacks


def functionalize(func: Callable[..., object], *, remove: str = "mutations") -> Callable[..., Any]:
    """The function itself: in-place operations are recorded as what they compute in any case.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.func.functionalize.html
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
            "     remove='mutations': all inplace and out= operators will be removed from the program, and replaced with their "
            "out-of-place equivalents.\n"
            "     remove='mutations_and_views': In addition to the above, all aliasing operators {{view}} will be replaced with their "
            "non-aliasing counterparts, {{view}}_copy.\n"
        )
    return func


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Makes all batch normalisations of a model keep no running statistics, which a transform could not update; returns the model."""
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
