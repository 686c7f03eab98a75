"""swap_tensors: exchanges the contents, classes and attributes of two tensors."""

from __future__ import annotations

from typing import Any

from .._core.attributes import Fields, Instance, copy_fields, new
from .._core.fields import in_graph

__all__ = ["swap_tensors"]

_dict_of = Instance.__dict__["__dict__"].__get__


def swap_tensors(t1: Any, t2: Any) -> None:
    """Exchanges everything of two tensors, classes included; each keeps its identity.

    Raises:
        RuntimeError: a graph leads through one of them.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.utils.swap_tensors.html
    """
    for tensor in (t1, t2):
        if in_graph(tensor):
            raise RuntimeError(
                "Expected no accumulated gradients' nodes: cannot swap a tensor that a graph leads through"
            )
    first, second = _contents(t1), _contents(t2)
    kind = type(t1)
    t1.__class__ = type(t2)
    t2.__class__ = kind
    for tensor, (fields, attributes) in ((t1, second), (t2, first)):
        own = _dict_of(tensor)
        own.clear()
        own.update(attributes)
        copy_fields(fields, tensor)


def _contents(tensor: Any) -> tuple[Fields, dict[str, object]]:
    fields = new(Instance)
    copy_fields(tensor, fields)
    return fields, dict(_dict_of(tensor))
