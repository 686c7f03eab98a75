"""An optimizer's state for whole parameters, from what the processes keep for their chunks, and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...._core.tensor import Tensor
from ....distributed._groups import ProcessGroup
from ....distributed._objects import objects_of_all
from ....ops import tensor, zeros
from ...modules.module import Module
from .flat_param import FlatParamHandle

__all__ = ["loadable_state", "whole_state"]

INNER = "_fsdp_wrapped_module."


def _units(model: Module) -> Iterator[tuple[str, FlatParamHandle]]:
    """The units of a model with the paths of their modules, without wrappers."""
    for path, module in model.named_modules():
        handle = module.__dict__.get("_handle")
        if isinstance(handle, FlatParamHandle):
            path = (path + ".").replace(INNER, "") if path else ""
            yield path, handle


def _names(model: Module) -> dict[int, list[str]]:
    """The names of the whole parameters for each parameter that an optimizer may have."""
    names: dict[int, list[str]] = {}
    for path, handle in _units(model):
        own = [path + name for name in handle.names]
        if handle.original:
            names |= {id(leaf): [name] for leaf, name in zip(handle.leaves, own, strict=True)}
        else:
            names[id(handle.leaves[0])] = own
    for name, parameter in model.named_parameters():
        names.setdefault(id(parameter), [name.replace(INNER, "")])
    return names


def _of_leaves(
    optim: Any, given: dict[str, Any] | None
) -> tuple[dict[int, dict[str, Any]], list[dict[str, Any]], list[Any]]:
    """The state by the ``id`` of the parameter, the groups, and all parameters in the optimizer's order."""
    given = optim.state_dict() if given is None else given
    assert given is not None
    leaves = [leaf for group in optim.param_groups for leaf in group["params"]]
    states = {id(leaves[number]): state for number, state in given["state"].items()}
    return states, given["param_groups"], leaves


def whole_state(
    model: Module, optim: object, given: dict[str, object] | None, group: ProcessGroup, rank0_only: bool
) -> dict[str, object]:
    """The state of an optimizer for whole parameters, by name; with ``rank0_only`` empty in other processes than the first.

    Args:
        given: what the optimizer's ``state_dict`` has returned.
    """
    states, groups, leaves = _of_leaves(optim, given)
    names, found = _names(model), {}
    units = list(_units(model))
    # A process has no state for a parameter of which it has no part. All must gather the same.
    kept = [
        {key: _form(value) for key, value in states.get(id(leaf), {}).items()} for _, h in units for leaf in h.leaves
    ]
    everywhere = objects_of_all(group, kept)
    number = 0
    for path, handle in units:
        count = len(handle.leaves)
        forms = [
            {key: form for process in everywhere for key, form in process[n].items()}
            for n in range(number, number + count)
        ]
        number += count
        found |= _whole_of_unit(path, handle, states, forms)
    in_units = {id(leaf) for _, handle in units for leaf in handle.leaves}
    for leaf in leaves:
        if id(leaf) not in in_units and id(leaf) in states:
            found[names[id(leaf)][0]] = states[id(leaf)]
    if rank0_only and group.rank() != 0:
        return {}
    named = [
        settings | {"params": [name for index in settings["params"] for name in names[id(leaves[index])]]}
        for settings in groups
    ]
    return {"state": found, "param_groups": named}


def _form(value: object) -> object:
    """What other processes need to know: the dtype of a tensor with the elements of a chunk; other values themselves."""
    if not isinstance(value, Tensor):
        return value
    own: Any = value
    return ("elements", own.dtype) if own.dim() > 0 else ("number", own.item(), own.dtype)


def _whole_of_unit(
    path: str, handle: FlatParamHandle, states: dict[int, dict[str, object]], forms: list[dict[str, object]]
) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = {}
    keys = list(dict.fromkeys(key for form in forms for key in form))
    names = [path + name for name in handle.names]
    pieces = handle.layout.pieces(handle.number)
    for key in keys:
        of_each = [form.get(key) for form in forms]
        if not handle.original:
            of_each = of_each * len(names)
        is_elements = [isinstance(form, tuple) and form[0] == "elements" for form in of_each]
        wholes: Sequence[object] = [None] * len(names)
        if any(is_elements):
            dtype: Any = next(form[1] for form in of_each if isinstance(form, tuple) and form[0] == "elements")
            tensors = [
                states.get(id(leaf), {}).get(key, zeros(end - begin, dtype=dtype))
                for leaf, (begin, end) in zip(
                    handle.leaves, pieces if handle.original else [(0, handle.layout.chunk)], strict=True
                )
            ]
            wholes = handle.gathered_state(tensors)
        for name, form, is_whole, whole in zip(names, of_each, is_elements, wholes, strict=True):
            if is_whole:
                found.setdefault(name, {})[key] = whole
            elif isinstance(form, tuple) and form[0] == "number":
                found.setdefault(name, {})[key] = tensor(form[1], dtype=form[2])
            elif form is not None:
                found.setdefault(name, {})[key] = form
    return found


def loadable_state(
    model: Module, optim: Any, given: dict[str, Any], group: ProcessGroup, rank0_only: bool
) -> dict[str, object]:
    """What an optimizer's ``load_state_dict`` takes in this process, from the state for whole parameters.

    Args:
        rank0_only: only process 0 has ``given``.
    """
    if rank0_only:
        given = objects_of_all(group, given if group.rank() == 0 else None)[0]
    names = _names(model)
    leaves = [leaf for settings in optim.param_groups for leaf in settings["params"]]
    of_leaf = {id(leaf): (handle, number) for _, handle in _units(model) for number, leaf in enumerate(handle.leaves)}
    state: dict[int, dict[str, object]] = {}
    for number, leaf in enumerate(leaves):
        own = [given["state"].get(name, {}) for name in names[id(leaf)]]
        keys = dict.fromkeys(key for each in own for key in each)
        if id(leaf) not in of_leaf:
            if keys:
                state[number] = dict(own[0])
            continue
        if leaf.numel() == 0 or not keys:
            continue
        handle, place = of_leaf[id(leaf)]
        state[number] = {key: _cut(handle, place, [each.get(key) for each in own]) for key in keys}
    groups = []
    number = 0
    for settings, own_settings in zip(given["param_groups"], optim.param_groups, strict=True):
        count = len(own_settings["params"])
        groups.append(settings | {"params": list(range(number, number + count))})
        number += count
    return {"state": state, "param_groups": groups}


def _cut(handle: FlatParamHandle, place: int, wholes: Sequence[Any]) -> object:
    """The part of this process in the state of one parameter, or of all parameters of a unit."""
    first = next(each for each in wholes if each is not None)
    if not isinstance(first, Tensor):
        return first
    kind: Any = first
    if kind.dim() == 0:
        return kind.clone()  # the optimizer counts in it
    shapes = handle.layout.shapes
    if handle.original:
        all_of_them = [wholes[0] if n == place else zeros(shape, dtype=kind.dtype) for n, shape in enumerate(shapes)]
        return handle.pieces_of(handle.cut(all_of_them))[place]
    all_of_them = [zeros(s, dtype=kind.dtype) if w is None else w for w, s in zip(wholes, shapes, strict=True)]
    return handle.cut(all_of_them)
