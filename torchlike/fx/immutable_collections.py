"""The lists and dicts in a graph. They refuse changes in place, which the graph would not see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from ..utils._pytree import MappingKey, SequenceKey, register_pytree_node

__all__ = ["immutable_dict", "immutable_list"]

_ADVICE = (
    "If you are attempting to modify the kwargs or args of a torch.fx.Node object,\n"
    "instead create a new copy of it and assign the copy to the node:\n\n"
    "    new_args = ...  # copy and mutate args\n"
    "    node.args = new_args"
)


def _refuse(self: object, *args: object, **kwargs: object) -> NoReturn:
    raise TypeError(f"'{type(self).__name__}' object does not support mutation. {_ADVICE}")


class immutable_list(list):
    """A list that refuses to be changed."""

    __delitem__ = __iadd__ = __imul__ = __setitem__ = append = clear = extend = insert = pop = remove = reverse = (
        sort
    ) = _refuse

    def __hash__(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return hash(tuple(self))

    def __reduce__(self) -> Any:
        return immutable_list, (tuple(iter(self)),)


class immutable_dict(dict):
    """A dict that refuses to be changed."""

    __delitem__ = __setitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse  # pyright: ignore[reportAssignmentType]

    def __hash__(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return immutable_dict, (dict(self),)


def _numbered(values: Iterable[object]) -> tuple[list[Any], object]:
    return [(SequenceKey(i), value) for i, value in enumerate(values)], None


def _named(values: Mapping[object, object]) -> tuple[list[Any], object]:
    return [(MappingKey(name), value) for name, value in values.items()], list(values)


register_pytree_node(
    immutable_list,
    lambda values: (list(values), None),
    lambda values, _: immutable_list(values),
    serialized_type_name="torch.fx.immutable_collections.immutable_list",
    flatten_with_keys_fn=_numbered,
)
register_pytree_node(
    immutable_dict,
    lambda values: (list(values.values()), list(values)),
    lambda values, names: immutable_dict(zip(names, values, strict=True)),
    serialized_type_name="torch.fx.immutable_collections.immutable_dict",
    flatten_with_keys_fn=_named,
)
