"""The lists and dicts in a graph. They refuse changes in place, which the graph would not see."""

from __future__ import annotations

from typing import Any, NoReturn

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
