"""Copies a module to several devices. Gradients flow from the copies back to its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._core.devices import device as device_
from ..modules.module import Module

__all__ = ["replicate"]


def replicate(network: Module, devices: Sequence[Any], detach: bool = False) -> list[Any]:
    """Copies the module to each device. The parameters of the copies are not leaves: they are computed from the module's.

    Args:
        detach: make copies through which no gradients flow back.
    """
    return [_copy(network, device_(device), detach, {}) for device in devices]


def _copy(module: Module, where: device_, detach: bool, replicas: dict[Module, Any]) -> Any:
    if module in replicas:
        return replicas[module]
    replica = object.__new__(type(module))
    replicas[module] = replica
    attributes: dict[str, Any] = dict(module.__dict__)
    for table in ("_parameters", "_buffers", "_modules"):
        attributes[table] = dict(attributes[table])
    replica.__dict__.update(attributes)
    for name, child in module._modules.items():
        replica._modules[name] = None if child is None else _copy(child, where, detach, replicas)
    for name, parameter in module._parameters.items():
        if parameter is None:
            continue
        copy_of_parameter = parameter.detach() if detach else parameter.view_as(parameter)  # pyright: ignore[reportAttributeAccessIssue]
        # Set as a plain attribute, since a parameter would have to be a leaf.
        del replica._parameters[name]
        object.__setattr__(replica, name, copy_of_parameter.to(where))
    for name, buffer in module._buffers.items():
        if buffer is not None:
            replica._buffers[name] = buffer.detach().to(where)
    return replica
