"""The registry of nodes: how an object of a class is flattened into children and a context, and unflattened."""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

from ..._core.size import Size
from ...engine.threads import held_by_forks
from .keys import GetAttrKey, KeyEntry, MappingKey, SequenceKey

PyTree: TypeAlias = Any
Context: TypeAlias = Any
DumpableContext: TypeAlias = Any
FlattenFn = FlattenFunc = Callable[..., tuple[list[object], object]]
UnflattenFn = UnflattenFunc = Callable[..., object]
FlattenWithKeysFn = FlattenWithKeysFunc = Callable[..., tuple[list[tuple[KeyEntry, object]], object]]
ToDumpableContextFn = Callable[..., object]
FromDumpableContextFn = Callable[..., object]

NO_SERIALIZED_TYPE_NAME_FOUND = "NO_SERIALIZED_TYPE_NAME_FOUND"


class NodeDef(NamedTuple):
    """The functions that flatten and unflatten one class of nodes."""

    type: type[object]
    flatten_fn: FlattenFn
    unflatten_fn: UnflattenFn
    flatten_with_keys_fn: FlattenWithKeysFn | None


class _SerializeNodeDef(NamedTuple):
    """The functions that write and read one class of nodes in the JSON of a tree's structure."""

    typ: type[object]
    serialized_type_name: str
    to_dumpable_context: ToDumpableContextFn | None
    from_dumpable_context: FromDumpableContextFn | None


_NODE_REGISTRY_LOCK = held_by_forks(threading.RLock())
SUPPORTED_NODES: dict[type[object], NodeDef] = {}
SUPPORTED_SERIALIZED_TYPES: dict[type[object], _SerializeNodeDef] = {}
SERIALIZED_TYPE_TO_PYTHON_TYPE: dict[str, type[object]] = {}
CONSTANT_NODES: set[type] = set()

_namedtuple_kind: Any = namedtuple  # PyTorch registers all named tuples under this function
BUILTIN_TYPES: frozenset[type] = frozenset({tuple, list, dict, _namedtuple_kind, OrderedDict, defaultdict, deque})
STANDARD_DICT_TYPES: frozenset[type] = frozenset({dict, OrderedDict, defaultdict})


# ---- registration


def register_pytree_node(
    cls: type[object],
    flatten_fn: FlattenFn,
    unflatten_fn: UnflattenFn,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ToDumpableContextFn | None = None,
    from_dumpable_context: FromDumpableContextFn | None = None,
    flatten_with_keys_fn: FlattenWithKeysFn | None = None,
) -> None:
    """Makes objects of a class nodes of trees.

    Args:
        flatten_fn: returns an object's children, and the other data that is needed to rebuild it (the context).
        unflatten_fn: builds an object from children and context.
        serialized_type_name: the name of the class in ``treespec_dumps``.
        to_dumpable_context: converts a context to values that JSON can represent; ``from_dumpable_context`` converts back.
        flatten_with_keys_fn: like ``flatten_fn``, but each child is in a pair with its key.

    Raises:
        ValueError: the class is registered already, or one of the functions for contexts is missing.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _private_register_pytree_node(
        cls,
        flatten_fn,
        unflatten_fn,
        serialized_type_name=serialized_type_name,
        to_dumpable_context=to_dumpable_context,
        from_dumpable_context=from_dumpable_context,
        flatten_with_keys_fn=flatten_with_keys_fn,
    )


def _private_register_pytree_node(
    cls: type[object],
    flatten_fn: FlattenFn,
    unflatten_fn: UnflattenFn,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ToDumpableContextFn | None = None,
    from_dumpable_context: FromDumpableContextFn | None = None,
    flatten_with_keys_fn: FlattenWithKeysFn | None = None,
) -> None:
    with _NODE_REGISTRY_LOCK:
        if cls in SUPPORTED_NODES:
            import warnings

            warnings.warn(f"{cls} is already registered as pytree node, overwriting it.", stacklevel=2)
        if (to_dumpable_context is None) != (from_dumpable_context is None):
            raise ValueError(
                f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered."
            )
        SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
        name = NO_SERIALIZED_TYPE_NAME_FOUND if serialized_type_name is None else serialized_type_name
        SUPPORTED_SERIALIZED_TYPES[cls] = _SerializeNodeDef(cls, name, to_dumpable_context, from_dumpable_context)
        SERIALIZED_TYPE_TO_PYTHON_TYPE[name] = cls


def _register_pytree_node(
    cls: type[object],
    flatten_fn: FlattenFn,
    unflatten_fn: UnflattenFn,
    to_str_fn: object = None,
    maybe_from_str_fn: object = None,
    **options: Any,
) -> None:
    import warnings

    warnings.warn(
        "`torch.utils._pytree._register_pytree_node` is deprecated. Please use `torch.utils._pytree.register_pytree_node` instead.",
        FutureWarning,
        stacklevel=2,
    )
    if to_str_fn is not None or maybe_from_str_fn is not None:
        warnings.warn("`to_str_fn` and `maybe_from_str_fn` is deprecated. Please use `to_dumpable_context` and "
                      "`from_dumpable_context` instead.", FutureWarning, stacklevel=2)  # fmt: skip
    _private_register_pytree_node(cls, flatten_fn, unflatten_fn, **options)


def _deregister_pytree_node(cls: type[object]) -> None:
    """Makes objects of the class leaves again."""
    with _NODE_REGISTRY_LOCK:
        del SUPPORTED_NODES[cls]
        del SERIALIZED_TYPE_TO_PYTHON_TYPE[SUPPORTED_SERIALIZED_TYPES[cls].serialized_type_name]
        del SUPPORTED_SERIALIZED_TYPES[cls]
        CONSTANT_NODES.discard(cls)


def _register_namedtuple(cls: type[object], *, serialized_type_name: str) -> None:
    """Registers a name for a class of named tuples in ``treespec_dumps``. Named tuples are nodes of trees without registration."""
    with _NODE_REGISTRY_LOCK:
        SUPPORTED_SERIALIZED_TYPES[cls] = _SerializeNodeDef(cls, serialized_type_name, None, None)
        SERIALIZED_TYPE_TO_PYTHON_TYPE[serialized_type_name] = cls


def register_dataclass(
    cls: type[object],
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Makes objects of a dataclass nodes of trees, their fields the children.

    Args:
        field_names: the fields, required if the class is not a dataclass (default: all fields that its ``__init__`` takes).
        drop_field_names: fields that are left out. They have their defaults in rebuilt objects.

    Raises:
        ValueError: the names are not those of the class's fields, or the class is registered already.
    """
    names = _fields_of(cls, field_names, set(drop_field_names or ()))

    def flatten(obj: object) -> tuple[list[object], object]:
        present, absent = [], []
        values = []
        for name in names:
            value = getattr(obj, name)
            if value is None:
                absent.append(name)
            else:
                present.append(name)
                values.append(value)
        return values, [present, absent]

    def unflatten(values: Iterable[object], context: Context) -> Any:
        present, absent = context
        return cls(**dict(zip(present, values, strict=True)), **dict.fromkeys(absent))

    def flatten_with_keys(obj: object) -> tuple[list[tuple[KeyEntry, object]], object]:
        values, context = flatten(obj)
        assert isinstance(context, list)  # the names of the present and of the absent fields
        return _attributes(context[0], values), context

    _private_register_pytree_node(
        cls, flatten, unflatten, serialized_type_name=serialized_type_name, flatten_with_keys_fn=flatten_with_keys
    )


def _fields_of(cls: type[object], field_names: list[str] | None, dropped: set[str]) -> list[str]:
    """The names of the fields that become children."""
    import dataclasses

    if not dataclasses.is_dataclass(cls):
        if field_names is None:
            raise ValueError(
                f"field_names must be specified with a list of all fields used to initialize {cls}, as it is not a dataclass."
            )
        return [name for name in field_names if name not in dropped]
    fields = [field.name for field in dataclasses.fields(cls) if field.init]
    if field_names is None:
        return [name for name in fields if name not in dropped]
    words = "field_names does not include all dataclass fields.\n"
    fields_of_class = set(fields) - dropped
    fields_passed = set(field_names) - dropped
    if missing := fields_of_class - fields_passed:
        words += (
            f"Missing fields in `field_names`: {missing}. If you want to include these fields in the pytree, please add them to "
            "`field_names`, otherwise please add them to `drop_field_names`.\n"
        )
    if unexpected := fields_passed - fields_of_class:
        words += f"Unexpected fields in `field_names`: {unexpected}. Please remove these fields, or add them to `drop_field_names`.\n"
    if missing or unexpected:
        raise ValueError(words)
    return [name for name in field_names if name not in dropped]


class ConstantNode(NamedTuple("ConstantNode", [("value", Any)])):
    """The context of a constant: the object itself, which has no children."""

    __slots__ = ()


def register_constant(cls: type[object]) -> None:
    """Makes objects of a class parts of a tree's structure: they have no leaves. Trees have one structure if their constants are equal.

    Raises:
        TypeError: the class does not say which of its objects are equal.
    """
    if cls.__eq__ is object.__eq__:
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__eq__` implementation.")
    if cls.__hash__ is None or cls.__hash__ is object.__hash__:
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__hash__` implementation.")
    with _NODE_REGISTRY_LOCK:
        _private_register_pytree_node(
            cls,
            lambda obj: ([], ConstantNode(obj)),
            lambda _, context: context.value,
            flatten_with_keys_fn=lambda obj: ([], ConstantNode(obj)),
        )
        CONSTANT_NODES.add(cls)


def is_constant_class(cls: type[object]) -> bool:
    """Whether objects of the class are constants: see ``register_constant``."""
    return isinstance(cls, type) and cls in CONSTANT_NODES


# ---- kinds of tuples


def is_namedtuple_class(cls: type) -> bool:
    """Whether a class is one of named tuples, made by ``namedtuple`` or ``NamedTuple``, or derives from one."""
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and not is_structseq_class(cls)
        and isinstance(fields := getattr(cls, "_fields", None), tuple)
        and all(type(field) is str for field in fields)
        and callable(getattr(cls, "_make", None))
        and callable(getattr(cls, "_asdict", None))
    )


def is_namedtuple_instance(obj: object) -> bool:
    """Whether an object is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: object | type) -> bool:
    """Whether an object is a named tuple or a class of them."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def _is_namedtuple_instance(obj: object) -> bool:
    import warnings

    warnings.warn(
        "torch.utils._pytree._is_namedtuple_instance is private and will be removed in a future release. Please use "
        "torch.utils._pytree.is_namedtuple_instance instead.",
        FutureWarning,
        stacklevel=2,
    )
    return is_namedtuple_instance(obj)


def is_structseq_class(cls: type) -> bool:
    """Whether a class is one of C's named tuples, as ``time.struct_time``; those that operations return count as such."""
    if not (isinstance(cls, type) and issubclass(cls, tuple) and cls is not tuple):
        return False
    if cls.__module__ == "torchlike.return_types":  # Python classes in torchlike, structures of C in PyTorch
        return True
    return (
        cls.__bases__ == (tuple,)
        and all(type(getattr(cls, name, None)) is int for name in ("n_fields", "n_sequence_fields", "n_unnamed_fields"))
        and not cls.__flags__ & (1 << 10)  # the class must not be subclassable
    )


def is_structseq_instance(obj: object) -> bool:
    """Whether an object is one of C's named tuples: see ``is_structseq_class``."""
    return is_structseq_class(type(obj))


def is_structseq(obj: object | type) -> bool:
    """Whether an object is one of C's named tuples, or a class of them."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def _get_node_type(tree: object) -> Any:
    """The kind of an object, which is a key of ``SUPPORTED_NODES`` if it is a node."""
    kind = type(tree)
    if kind in SUPPORTED_NODES:
        return kind
    if issubclass(kind, tuple):
        if is_namedtuple_class(kind):
            return namedtuple
        if kind.__module__ == "torchlike.return_types":
            _register_result(kind)
    return kind


def _register_result(kind: type[object]) -> None:
    """Registers the class of an operation's result as a node at its first use, because there are many classes and a program uses few."""
    _private_register_pytree_node(
        kind,
        lambda result: (list(result), None),
        lambda values, _: kind(*values),
        flatten_with_keys_fn=lambda result: (_numbered(result), None),
        serialized_type_name=f"torch.return_types.{kind.__name__}",
    )


# ---- Python's containers


def _tuple_flatten(d: tuple[object, ...]) -> tuple[list[object], object]:
    return list(d), None


def _tuple_flatten_with_keys(d: tuple[object, ...]) -> tuple[list[tuple[KeyEntry, object]], object]:
    return _numbered(d), None


def _tuple_unflatten(values: Iterable[object], context: object) -> tuple[object, ...]:
    return tuple(values)


def _list_flatten(d: list[object]) -> tuple[list[object], object]:
    return d, None


def _list_flatten_with_keys(d: Sequence[object]) -> tuple[list[tuple[KeyEntry, object]], object]:
    return _numbered(d), None


def _list_unflatten(values: Iterable[object], context: object) -> list[object]:
    return list(values)


def _dict_flatten(d: Mapping[object, object]) -> tuple[list[object], object]:
    return list(d.values()), list(d)


def _dict_flatten_with_keys(d: Mapping[object, object]) -> tuple[list[tuple[KeyEntry, object]], object]:
    return _named_items(d), list(d)


def _dict_unflatten(values: Iterable[object], context: Context) -> dict[object, object]:
    return dict(zip(context, values, strict=True))


def _namedtuple_flatten(d: Any) -> tuple[list[object], object]:
    return list(d), type(d)


def _namedtuple_flatten_with_keys(d: Any) -> tuple[list[tuple[KeyEntry, object]], object]:
    return _attributes(d._fields, d), type(d)


def _namedtuple_unflatten(values: Iterable[object], context: Context) -> Any:
    return context(*values)


def _namedtuple_serialize(context: Context) -> DumpableContext:
    if context not in SUPPORTED_SERIALIZED_TYPES:
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {context} because we didn't register a serializated_type_name. Please "
            "register using `_register_namedtuple`."
        )
    name = SUPPORTED_SERIALIZED_TYPES[context].serialized_type_name
    if name == NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {context} because we couldn't find a serializated_type_name. Please "
            "register using `_register_namedtuple`."
        )
    return name


def _namedtuple_deserialize(dumpable_context: DumpableContext) -> Context:
    if dumpable_context not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(
            f"Can't deserialize TreeSpec of namedtuple class {dumpable_context} because we couldn't find a serializated name."
        )
    return SERIALIZED_TYPE_TO_PYTHON_TYPE[dumpable_context]


def _ordereddict_flatten(d: OrderedDict[object, object]) -> tuple[list[object], object]:
    return list(d.values()), list(d)


def _ordereddict_flatten_with_keys(d: OrderedDict[object, object]) -> tuple[list[tuple[KeyEntry, object]], object]:
    return _named_items(d), list(d)


def _ordereddict_unflatten(values: Iterable[object], context: Context) -> OrderedDict[object, object]:
    return OrderedDict(zip(context, values, strict=True))


_odict_flatten, _odict_unflatten = _ordereddict_flatten, _ordereddict_unflatten


def _defaultdict_flatten(d: defaultdict[object, object]) -> tuple[list[object], object]:
    return list(d.values()), [d.default_factory, list(d)]


def _defaultdict_flatten_with_keys(d: defaultdict[object, object]) -> tuple[list[tuple[KeyEntry, object]], object]:
    return _named_items(d), [d.default_factory, list(d)]


def _defaultdict_unflatten(values: Iterable[object], context: Context) -> defaultdict[object, object]:
    factory, keys = context
    return defaultdict(factory, zip(keys, values, strict=True))


def _defaultdict_serialize(context: Context) -> DumpableContext:
    factory, keys = context
    return {
        "default_factory_module": factory.__module__,
        "default_factory_name": factory.__qualname__,
        "dict_context": keys,
    }


def _defaultdict_deserialize(dumpable_context: DumpableContext) -> Context:
    import importlib

    module = importlib.import_module(dumpable_context["default_factory_module"])
    return [getattr(module, dumpable_context["default_factory_name"]), dumpable_context["dict_context"]]


def _deque_flatten(d: deque[object]) -> tuple[list[object], object]:
    return list(d), d.maxlen


def _deque_flatten_with_keys(d: deque[object]) -> tuple[list[tuple[KeyEntry, object]], object]:
    return _numbered(d), d.maxlen


def _deque_unflatten(values: Iterable[object], context: Context) -> deque[object]:
    return deque(values, maxlen=context)


def _attributes(names: Iterable[str], values: Iterable[object]) -> list[tuple[KeyEntry, Any]]:
    return [(cast(KeyEntry, GetAttrKey(name)), value) for name, value in zip(names, values, strict=True)]


def _numbered(values: Iterable[object]) -> list[tuple[KeyEntry, object]]:
    return [(cast(KeyEntry, SequenceKey(i)), value) for i, value in enumerate(values)]


def _named_items(values: Mapping[object, object]) -> list[tuple[KeyEntry, Any]]:
    return [(cast(KeyEntry, MappingKey(key)), value) for key, value in values.items()]


_private_register_pytree_node(
    tuple, _tuple_flatten, _tuple_unflatten, serialized_type_name="builtins.tuple",
    flatten_with_keys_fn=_tuple_flatten_with_keys,
)  # fmt: skip
_private_register_pytree_node(
    list, _list_flatten, _list_unflatten, serialized_type_name="builtins.list",
    flatten_with_keys_fn=_list_flatten_with_keys,
)  # fmt: skip
_private_register_pytree_node(
    dict, _dict_flatten, _dict_unflatten, serialized_type_name="builtins.dict",
    flatten_with_keys_fn=_dict_flatten_with_keys,
)  # fmt: skip
_private_register_pytree_node(
    _namedtuple_kind, _namedtuple_flatten, _namedtuple_unflatten, serialized_type_name="collections.namedtuple",
    to_dumpable_context=_namedtuple_serialize, from_dumpable_context=_namedtuple_deserialize,
    flatten_with_keys_fn=_namedtuple_flatten_with_keys,
)  # fmt: skip
_private_register_pytree_node(
    OrderedDict, _ordereddict_flatten, _ordereddict_unflatten, serialized_type_name="collections.OrderedDict",
    flatten_with_keys_fn=_ordereddict_flatten_with_keys,
)  # fmt: skip
_private_register_pytree_node(
    defaultdict, _defaultdict_flatten, _defaultdict_unflatten, serialized_type_name="collections.defaultdict",
    to_dumpable_context=_defaultdict_serialize, from_dumpable_context=_defaultdict_deserialize,
    flatten_with_keys_fn=_defaultdict_flatten_with_keys,
)  # fmt: skip
_private_register_pytree_node(
    deque, _deque_flatten, _deque_unflatten, serialized_type_name="collections.deque",
    flatten_with_keys_fn=_deque_flatten_with_keys,
)  # fmt: skip
_private_register_pytree_node(
    Size, lambda size: (list(size), None), lambda values, _: Size(values), serialized_type_name="torch.Size",
)  # fmt: skip
