"""The structure of a tree as text, in PyTorch's format."""

from __future__ import annotations

import importlib
import json
from enum import Enum
from typing import Any

from .nodes import (
    NO_SERIALIZED_TYPE_NAME_FOUND,
    SERIALIZED_TYPE_TO_PYTHON_TYPE,
    SUPPORTED_SERIALIZED_TYPES,
    DumpableContext,
)
from .spec import _LEAF_SPEC, TreeSpec

DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL = 1


class EnumEncoder(json.JSONEncoder):
    """Writes members of enumerations, which may be keys of dictionaries."""

    def default(self, o: object) -> Any:
        """Called by JSON for an object that it cannot write."""
        if isinstance(o, Enum):
            cls = type(o)
            return {"__enum__": True, "fqn": f"{cls.__module__}:{cls.__qualname__}", "name": o.name}
        return super().default(o)


def enum_object_hook(obj: dict[str, Any]) -> Any:
    """Called by JSON for each dictionary: returns the enumeration's member if ``EnumEncoder`` wrote one."""
    if "__enum__" not in obj:
        return obj
    module, _, name = obj["fqn"].partition(":")
    enum: Any = importlib.import_module(module)
    for member in name.split("."):
        enum = getattr(enum, member)
    return enum[obj["name"]]


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A structure as text, which PyTorch reads as well.

    Raises:
        TypeError: the argument is no structure, or JSON cannot represent a context. NotImplementedError: a class has no registered name.
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}.")
    protocol = DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL if protocol is None else protocol
    _check_protocol(protocol)
    return json.dumps([protocol, _to_json(treespec)])


def treespec_loads(serialized: str) -> TreeSpec:
    """The structure that a text stands for."""
    protocol, schema = json.loads(serialized)
    _check_protocol(protocol)
    return _from_json(schema)


def _check_protocol(protocol: int) -> None:
    if protocol != DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL:
        raise ValueError(
            f"Unknown protocol {protocol}. Available protocols: {[DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL]}"
        )


def _to_json(spec: TreeSpec) -> dict[str, object]:
    if spec.type is None:
        return {"type": None, "context": None, "children_spec": []}
    serialized = SUPPORTED_SERIALIZED_TYPES.get(spec.type)
    if serialized is None:
        raise NotImplementedError(f"Serializing {spec.type} in pytree is not registered.")
    if serialized.serialized_type_name == NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your _register_pytree_node call with a "
            "`serialized_type_name` kwarg."
        )
    context: DumpableContext
    if serialized.to_dumpable_context is not None:
        context = serialized.to_dumpable_context(spec.context)
    else:
        try:
            context = json.dumps(spec.context, cls=EnumEncoder)
        except TypeError as error:
            raise TypeError(
                "Unable to serialize context. Please make the context json dump-able, or register a custom serializer using "
                "_register_pytree_node."
            ) from error
    return {
        "type": serialized.serialized_type_name,
        "context": context,
        "children_spec": [_to_json(child) for child in spec.children()],
    }


def _from_json(schema: Any) -> TreeSpec:
    if schema["type"] is None and schema["context"] is None and not schema["children_spec"]:
        return _LEAF_SPEC
    if schema["type"] not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(f"Deserializing {schema['type']} in pytree is not registered.")
    kind = SERIALIZED_TYPE_TO_PYTHON_TYPE[schema["type"]]
    read_context = SUPPORTED_SERIALIZED_TYPES[kind].from_dumpable_context
    if read_context is not None:
        context = read_context(schema["context"])
    else:
        try:
            context = json.loads(schema["context"], object_hook=enum_object_hook)
        except TypeError as error:
            raise TypeError(
                "Unable to deserialize context. Please make the context json load-able, or register a custom serializer using "
                "_register_pytree_node."
            ) from error
    return TreeSpec(kind, context, [_from_json(child) for child in schema["children_spec"]])


class _Asterisk(str):
    """A leaf in the printed structure."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "*"


_asterisk = _Asterisk("*")


def treespec_pprint(treespec: TreeSpec) -> str:
    """A structure as the tree would be printed, with an asterisk for each leaf."""
    return repr(treespec.unflatten([_asterisk] * treespec.num_leaves))


def pytree_to_str(treespec: TreeSpec) -> str:
    """``treespec_dumps`` under its former name."""
    _warn_renamed("pytree_to_str", "treespec_dumps")
    return treespec_dumps(treespec)


def str_to_pytree(json: str) -> TreeSpec:
    """``treespec_loads`` under its former name."""
    _warn_renamed("str_to_pytree", "treespec_loads")
    return treespec_loads(json)


def _warn_renamed(old: str, new: str) -> None:
    import warnings

    warnings.warn(f"`{old}` is deprecated. Please use `{new}` instead.", FutureWarning, stacklevel=3)
