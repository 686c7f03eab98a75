"""State dictionaries of models and optimizers by the names of parameters, independent of wrappers and of layouts on devices."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ..._core.tensor import Tensor
from ...dispatch.moving import move
from ...engine.aval import CPU, Meshed
from ...ops import zeros_like
from ..tensor._dtensor import distribute_tensor
from ..tensor._pieces import PieceOfDTensor

__all__ = [
    "StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict", "set_model_state_dict",
    "set_optimizer_state_dict", "set_state_dict",
]  # fmt: skip


@dataclass
class StateDictOptions:
    """Options of the functions of this module.

    Args:
        full_state_dict: return whole tensors on one device instead of tensors that are spread over devices.
        cpu_offload: return tensors on the host.
        ignore_frozen_params: leave out parameters that require no gradient.
        strict: whether all names must match.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _options(options: StateDictOptions | None, submodules: object = None) -> StateDictOptions:
    options = options or StateDictOptions()
    if submodules is not None:
        raise NotImplementedError("torchlike does not support state dictionaries of submodules yet")
    for name in ("broadcast_from_rank0", "flatten_optimizer_state_dict"):
        if getattr(options, name):
            raise NotImplementedError(f"torchlike does not support StateDictOptions({name}=True) yet")
    return options


def _inner(model: object) -> Any:
    """Returns the model inside of DistributedDataParallel."""
    return getattr(model, "module", model) if type(model).__name__ == "DistributedDataParallel" else model


def _given_out(value: object, options: StateDictOptions) -> Any:
    if not isinstance(value, Tensor):
        return value
    is_distributed = isinstance(value._aval.placement, Meshed)
    if isinstance(value, PieceOfDTensor):
        return value.detach().full_tensor() if options.full_state_dict else value  # pyright: ignore[reportAttributeAccessIssue]
    if options.cpu_offload or (options.full_state_dict and is_distributed):
        own: Any = value.detach()  # pyright: ignore[reportAttributeAccessIssue]
        return move(own, CPU) if options.cpu_offload else own.full_tensor()
    return value


def get_model_state_dict(
    model: object, *, submodules: set[object] | None = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The state dictionary of a model, by the names that it has without wrappers.

    Source: https://docs.pytorch.org/docs/stable/distributed.checkpoint.html#torch.distributed.checkpoint.state_dict.get_model_state_dict
    """
    options, inner = _options(options, submodules), _inner(model)
    frozen = {name for name, parameter in inner.named_parameters() if not parameter.requires_grad}
    excluded_names = frozen if options.ignore_frozen_params else ()
    return {
        name: _given_out(value, options) for name, value in inner.state_dict().items() if name not in excluded_names
    }


def set_model_state_dict(
    model: object, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> Any:
    """Loads a state dictionary into a model, each tensor in the layout that it has there.

    Source: https://docs.pytorch.org/docs/stable/distributed.checkpoint.html#torch.distributed.checkpoint.state_dict.set_model_state_dict
    """
    return _inner(model).load_state_dict(model_state_dict, strict=_options(options).strict)


def _names(model: object) -> dict[int, str]:
    return {id(parameter): name for name, parameter in _inner(model).named_parameters()}


def _as_list(optimizers: object) -> list[Any]:
    return list(optimizers) if isinstance(optimizers, Iterable) else [optimizers]


def _open_state(optimizer: Any) -> None:
    """Makes an optimizer create its state, by a step that changes no parameter."""
    groups = optimizer.param_groups
    parameters = [parameter for group in groups for parameter in group["params"]]
    if optimizer.state or any(parameter.grad is not None for parameter in parameters):
        return
    rates = [group["lr"] for group in groups]
    for parameter in parameters:
        if parameter.requires_grad:
            parameter.grad = zeros_like(parameter.detach())
    for group in groups:
        group["lr"] = 0.0
    optimizer.step()
    for group, rate in zip(groups, rates, strict=True):
        group["lr"] = rate
    optimizer.zero_grad(set_to_none=True)


def get_optimizer_state_dict(
    model: object, optimizers: object, *, submodules: set[object] | None = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The state dictionary of optimizers, by the names of the model's parameters. An optimizer without state gets one first.

    Source: https://docs.pytorch.org/docs/stable/distributed.checkpoint.html
    """
    options, names = _options(options, submodules), _names(model)
    state: dict[str, Any] = {}
    groups: list[Any] = []
    for optimizer in _as_list(optimizers):
        _open_state(optimizer)
        for parameter, own in optimizer.state.items():
            state[names[id(parameter)]] = {key: _given_out(value, options) for key, value in own.items()}
        groups += [
            {**group, "params": [names[id(each)] for each in group["params"]]} for group in optimizer.param_groups
        ]
    return {"state": state, "param_groups": groups}


def set_optimizer_state_dict(
    model: object, optimizers: object, optim_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> None:
    """Loads a result of ``get_optimizer_state_dict``. State that has the shape of its parameter gets the parameter's layout.

    Source: https://docs.pytorch.org/docs/stable/distributed.checkpoint.html
    """
    _options(options)
    names, groups = _names(model), iter(optim_state_dict["param_groups"])
    for optimizer in _as_list(optimizers):
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        numbers = {names[id(parameter)]: number for number, parameter in enumerate(parameters)}
        state = {}
        for name, number in numbers.items():
            if name in optim_state_dict["state"]:
                lay = _like(parameters[number])
                state[number] = {key: lay(value) for key, value in optim_state_dict["state"][name].items()}
        own_groups = []
        for _ in optimizer.param_groups:
            group = next(groups)
            own_groups.append({**group, "params": [numbers[name] for name in group["params"]]})
        optimizer.load_state_dict({"state": state, "param_groups": own_groups})


def _like(parameter: Any) -> Callable[[Any], Any]:
    placement = parameter._aval.placement

    def lay(value: Any) -> Any:
        same_shape = isinstance(value, Tensor) and value.shape == parameter.shape
        if same_shape and isinstance(parameter, PieceOfDTensor) and not isinstance(value, PieceOfDTensor):
            return distribute_tensor(value.detach(), parameter.device_mesh, parameter.placements, src_data_rank=None)
        return move(value, placement) if same_shape and isinstance(placement, Meshed) else value

    return lay


def get_state_dict(
    model: object, optimizers: object, *, submodules: set[object] | None = None, options: StateDictOptions | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The state dictionaries of a model and of its optimizers.

    Source: https://docs.pytorch.org/docs/stable/distributed.checkpoint.html#torch.distributed.checkpoint.state_dict.get_state_dict
    """
    of_model = get_model_state_dict(model, submodules=submodules, options=options)
    return of_model, get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options)


def set_state_dict(
    model: object,
    optimizers: object,
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> Any:
    """Loads the state dictionaries of a model and of its optimizers.

    Source: https://docs.pytorch.org/docs/stable/distributed.checkpoint.html#torch.distributed.checkpoint.state_dict.set_state_dict
    """
    if optim_state_dict:
        set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)
