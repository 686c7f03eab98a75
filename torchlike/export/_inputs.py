"""The arguments of an exported program: their names, and the checks that others are like them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .._core.tensor import Tensor
from ..utils._pytree import TreeSpec, tree_flatten, tree_flatten_with_path
from ..utils._pytree.keys import MappingKey, SequenceKey, keystr

__all__ = ["Input", "flat", "in_order", "inputs_of"]

# Of which a graph can hold the value.
_CONSTANTS = (type(None), bool, int, float, complex, str)
_UNSUPPORTED = (
    "Unsupported input type {}. Export only supports pytree containers of basic types (Tensor, int, float, ...) as input. To register a "
    "custom dataclass, use torch.export.register_dataclass. To register a custom container type, use "
    "torch.utils._pytree.register_pytree_node. To register a constant input, use torch.utils._pytree.register_constant"
)


class Input(NamedTuple):
    """One argument, or one leaf of it: its name in the graph, how guards show it, and the example."""

    name: str
    shown: str
    example: Any

    def check(self, value: object) -> None:
        """Raises an AssertionError if this holds for another constant than the one that is given."""
        if self.example is None or isinstance(self.example, Tensor):
            return
        same = value == self.example
        if not (same if isinstance(same, bool) else bool(same)):
            raise AssertionError(f"Guard failed: {self.shown} == {self.example!r}")


def in_order(forward: Callable[..., object], kwargs: dict[str, object]) -> dict[str, object]:
    """Arguments by keyword in the order of the parameters; what the function takes besides comes last."""
    order = [name for name in inspect.signature(forward).parameters if name in kwargs]
    return {name: kwargs[name] for name in (*order, *[name for name in kwargs if name not in order])}


def inputs_of(forward: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]) -> list[Input]:
    """The leaves of the arguments.

    Raises:
        ValueError: one of them is neither a tensor nor of a plain type.
    """
    found: list[Input] = []
    for name, value in _named(forward, args, kwargs):
        for path, leaf in tree_flatten_with_path(value)[0]:
            if not isinstance(leaf, (Tensor, *_CONSTANTS)):
                raise ValueError(_UNSUPPORTED.format(type(leaf)))
            words = [str(_key(key)) for key in path]
            found.append(Input("_".join((name, *words)), name + keystr(path), leaf))
    return found


def _key(key: object) -> object:
    if isinstance(key, SequenceKey):
        return key.idx
    return key.key if isinstance(key, MappingKey) else getattr(key, "name", key)


def _named(
    forward: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]
) -> Iterator[tuple[str, object]]:
    names: list[str] = []
    rest = "args"
    for parameter in inspect.signature(forward).parameters.values():
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
        elif parameter.kind is parameter.VAR_POSITIONAL:
            rest = parameter.name
    for number, value in enumerate(args):
        yield (names[number] if number < len(names) else f"{rest}_{number - len(names)}"), value
    yield from kwargs.items()


def flat(args: tuple[object, ...], kwargs: dict[str, object], example: Any, spec: TreeSpec) -> list[Any]:
    """The leaves of the arguments of a call, whose structure must be that of the example.

    Raises:
        ValueError: it is another one.
    """
    if kwargs.keys() != example[1].keys():
        raise ValueError(
            f"Ran into a kwarg keyword mismatch: Got the following keywords {list(kwargs)} but expected {list(example[1])}"
        )
    leaves, own = tree_flatten((args, {name: kwargs[name] for name in example[1]}))
    if own == spec:
        return leaves
    if not _same_keys(own, spec):
        raise ValueError(
            f"Trying to flatten user inputs with exported input tree spec: \n{spec}\nbut actually got inputs with tree spec of: \n{own}."
            "\nPlease check that the inputs have the same number and type of args and kwargs as the ones you used when tracing."
        )
    return spec.flatten_up_to((args, kwargs))


def _same_keys(own: TreeSpec, spec: TreeSpec) -> bool:
    """Whether the structures are the same but for the order of keys."""
    if own.type is not spec.type or own.num_children != spec.num_children:
        return False
    if own.type is dict:
        if set(own.context) != set(spec.context):
            return False
        children = dict(zip(own.context, own.children(), strict=True))
        return all(_same_keys(children[key], child) for key, child in zip(spec.context, spec.children(), strict=True))
    return own.context == spec.context and all(map(_same_keys, own.children(), spec.children()))
