"""The adapter to flax: NNX sees a Module as a graph node, its parameters as ``nnx.Param`` and its buffers as ``nnx.Variable``.

All that flax needs of a graph node is in this file: splitting a module into variables, submodules and other attributes, and building one
from them. ``_graph_node.py`` imports this file as soon as the program has imported flax. Each module class is registered with flax as a
type of node. It is not a subclass of ``nnx.Module``, which would bring flax's metaclass, and then no class of a user could have another
metaclass. A variable reads and writes the tensor that it represents, so both sides see each update.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

import jax
import numpy as np
from flax import nnx
from jax import Array
from jax.core import Tracer

from .._core.attributes import new
from .._core.fields import move_to_storage, set_requires_grad, write_value
from .._core.storage import Storage
from .._core.tensor import Tensor
from ..engine.value import Value
from ._abstract import AbstractTensor, abstract
from ._graph_node import SHOWN, Adapter, flax, use
from .parameter import Parameter

try:
    from flax.nnx import graphlib
except ImportError:  # flax before 0.12.5
    from flax.nnx import graph as graphlib

__all__ = ["FlaxAdapter"]

_REST = "_rest"  # flax's key for the attributes that are neither variables nor modules
_TABLES = {"_parameters": "parameter", "_buffers": "buffer", "_modules": "module"}


class _TensorVariable:
    """A variable whose value is in a tensor. Copies, and variables that flax makes, get their own tensor when it is first read."""

    __slots__ = ()

    tensor_class: type[Tensor] = Tensor
    get_metadata: Any
    _content: Any
    _tensor: Tensor | None

    @property
    def _raw_value(self) -> Array:
        tensor = self._tensor
        if tensor is None:
            return self._content
        return tensor.declared if isinstance(tensor, AbstractTensor) else tensor.jax

    @_raw_value.setter
    def _raw_value(self, value: object) -> None:
        try:
            tensor = object.__getattribute__(self, "_tensor")
        except AttributeError:  # flax's constructor sets the value before any attribute
            tensor = None
        if tensor is not None and isinstance(value, (Array, np.ndarray)):
            new = _as_value(_widened(value, tensor.dtype.numpy))
            tensor.fill(new) if isinstance(tensor, AbstractTensor) else write_value(tensor, new)
            return
        # flax has put a marker in place of the value, or the value has no tensor yet.
        object.__setattr__(self, "_content", value)
        object.__setattr__(self, "_tensor", None)

    @property
    def tensor(self) -> Tensor:
        """The tensor, which is created here if there is none yet."""
        if self._tensor is None:
            trained = self.tensor_class is Parameter and self.get_metadata().get("requires_grad", True)
            if isinstance(self._content, jax.ShapeDtypeStruct):
                tensor = abstract(self.tensor_class, self._content, trained)
            else:
                tensor = new(self.tensor_class)
                move_to_storage(tensor, Storage(_as_value(self._content)))
                set_requires_grad(tensor, trained)
            _link(self, tensor)
        assert self._tensor is not None
        return self._tensor


class Param(_TensorVariable, nnx.Param):
    """A parameter, as flax sees it."""

    __slots__ = ("_content", "_tensor", "__weakref__")

    tensor_class = Parameter


class Variable(_TensorVariable, nnx.Variable):
    """A buffer, as flax sees it."""

    __slots__ = ("_content", "_tensor", "__weakref__")


def _as_value(array: object) -> Value:
    if isinstance(array, np.ndarray):
        return Value.on_host(np.array(array))
    if not isinstance(array, Array):
        raise NotImplementedError(f"a module's tensor needs an array: it cannot be made of a {type(array).__name__}")
    return Value.of(array)


def _widened(array: Any, dtype: np.dtype) -> Any:
    """Restores a 64-bit dtype that JAX has narrowed: the count of batches stays int64."""
    if array.dtype == dtype or jax.dtypes.canonicalize_dtype(dtype) != array.dtype:
        return array
    if isinstance(array, Tracer):
        return array
    if isinstance(array, jax.ShapeDtypeStruct):
        return jax.ShapeDtypeStruct(array.shape, dtype)
    return np.asarray(array).astype(dtype)


def _link(variable: object, tensor: Tensor) -> None:
    object.__setattr__(variable, "_tensor", tensor)
    # A weak reference: a strong one would be a cycle, which keeps each parameter alive until the collector runs.
    tensor._variable = weakref.ref(variable)


def variable_of(tensor: Tensor) -> Any:
    """Returns the variable of a tensor. It is the same object as long as it is referenced, so that flax recognises tied parameters."""
    reference = getattr(tensor, "_variable", None)
    variable = None if reference is None else reference()
    if variable is None:
        variable = (Param if isinstance(tensor, Parameter) else Variable)(None)
        _link(variable, tensor)
    if isinstance(tensor, Parameter) and tensor.requires_grad is not variable.get_metadata().get("requires_grad", True):
        variable.set_metadata(requires_grad=tensor.requires_grad)
    return variable


class _Shown(list[Any]):
    """The variables that flax has seen last. Its copy or pickle is empty, since a user's ``__getstate__`` may include it."""

    def __reduce__(self) -> Any:
        return list, ()


class _Rest:
    """The part of a module that is not a variable: plain attributes, the order of its members, and 64-bit dtypes."""

    __slots__ = ("attributes", "order")

    def __init__(self, module: object) -> None:
        attributes = vars(module)
        self.attributes = {k: v for k, v in attributes.items() if k not in _TABLES and k != SHOWN}
        self.order = tuple(
            (table, tuple((n, v is None, _wide_dtype(v)) for n, v in attributes.get(table, {}).items()))
            for table in _TABLES
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Rest) or self.order != other.order:
            return False
        attributes, other_attributes = self.attributes, other.attributes
        return attributes.keys() == other_attributes.keys() and all(
            _same_value(v, other_attributes[k]) for k, v in attributes.items()
        )

    def __hash__(self) -> int:
        return hash((self.order, tuple(self.attributes)))


def _wide_dtype(member: object) -> Any:
    dtype = member._aval.dtype if isinstance(member, Tensor) else None
    return None if dtype is None or dtype.itemsize < 8 else dtype


def _same_value(a: object, b: object) -> bool:
    if a is b:
        return True
    return type(a) is type(b) and isinstance(a, (str, int, float, tuple, dict, set, list)) and repr(a) == repr(b)


class _Kind(weakref.ref):
    """The key of a module class in flax's table of node types: equal to the class, but holding it weakly.

    flax looks ``type(module)`` up in this table. With the classes themselves as keys it would keep each of them alive for ever, even one
    that a function defines at each call.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        cls = self()
        return cls is not None and cls is (other() if type(other) is _Kind else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = weakref.ref.__hash__

    @property
    def __name__(self) -> str:
        return getattr(self(), "__name__", "a class that is gone")

    def __repr__(self) -> str:
        return repr(self())

    def __reduce__(self) -> Any:
        return _kind_of, (self(),)

    def __treescope_repr__(self, path: Any, subtree_renderer: Any) -> Any:
        return subtree_renderer(self(), path=path)


def _kind_of(cls: type) -> Any:
    """The key of the class, by which flax names it in its descriptions of modules."""
    return graphlib.GRAPH_REGISTRY[cls].type


def _forget(kind: Any) -> None:
    graphlib.GRAPH_REGISTRY.pop(kind, None)


def _flatten(module: object) -> tuple[list[tuple[str, Any]], type]:
    children: list[tuple[str, Any]] = []
    for table in ("_parameters", "_buffers"):
        children += [(n, variable_of(t)) for n, t in vars(module)[table].items() if t is not None]
    vars(module)[SHOWN] = _Shown(variable for _, variable in children)
    children += [(n, m) for n, m in vars(module)["_modules"].items() if m is not None]
    return [*sorted(children, key=lambda child: child[0]), (_REST, _Rest(module))], type(module)


def _set_key(module: Any, key: object, value: object) -> None:
    if isinstance(value, nnx.Variable):
        member = _member(module, key)
        if isinstance(member, Tensor):
            variable_of(member).update_from_state(value)
            return
        value = _tensor_of(value)
        if not isinstance(value, Parameter):
            module.register_buffer(key, value)
            return
    setattr(module, str(key), value)


def _pop_key(module: object, key: object) -> Any:
    value = _member(module, key)
    delattr(module, str(key))
    return variable_of(value) if isinstance(value, Tensor) else value


def _member(module: object, key: object) -> Any:
    return next((vars(module)[t][str(key)] for t in _TABLES if str(key) in vars(module)[t]), None)


def _clear(module: object) -> None:
    vars(module).clear()


def _init(module: object, attributes: Iterable[tuple[Any, Any]]) -> None:
    children = {str(k): v for k, v in attributes}
    remainder: _Rest = children.pop(_REST)
    own = vars(module)
    own.update(remainder.attributes)
    for table, names in remainder.order:
        own[table] = {n: None if absent else children.pop(n, None) for n, absent, _ in names}
        if table != "_modules":
            dtype_by_name = {n: dtype for n, _, dtype in names}
            own[table] = {n: None if v is None else _tensor_of(v, dtype_by_name[n]) for n, v in own[table].items()}


def _tensor_of(variable: Any, dtype64: Any = None) -> Tensor:
    """Returns the tensor of a variable that flax passes: its own tensor, or a new one if flax made the variable.

    Args:
        dtype64: the 64-bit dtype that the tensor had, for a new tensor.
    """
    tensor_variable = variable
    if not isinstance(variable, _TensorVariable):
        tensor_variable = (Param if isinstance(variable, nnx.Param) else Variable)(variable.get_raw_value())
    if dtype64 is not None and tensor_variable._tensor is None and hasattr(tensor_variable._content, "dtype"):
        object.__setattr__(tensor_variable, "_content", _widened(tensor_variable._content, dtype64))
    return tensor_variable.tensor


class FlaxAdapter(Adapter):
    """The functions of flax that modules use, after flax has been imported.

    Args:
        module: the class of our modules. ``isinstance(module, nnx.Module)`` becomes true for its instances, as abstract classes allow.
    """

    methods = {n: f for n, f in vars(nnx.Module).items() if not n.startswith("_") and n not in ("train", "eval")}
    module_kind = type(nnx.Module)

    def __init__(self, module: type) -> None:
        kind: Any = self.module_kind
        kind.register(nnx.Module, module)

    def show(self, cls: type) -> None:
        type.__setattr__(cls, "_known_to_flax", cls)
        try:
            is_registered = cls in graphlib.GRAPH_REGISTRY
        except TypeError:  # the metaclass makes classes unhashable, so flax cannot look the class up
            return
        if not is_registered:
            kind: Any = _Kind(cls, _forget)
            graphlib.register_graph_node_type(kind, _flatten, _set_key, _pop_key, object.__new__, _clear, _init)

    def forget(self, cls: type) -> None:
        _forget(cls)

    def render(self, module: object, path: Any, subtree_renderer: Any) -> Any:
        children = dict(_flatten(module)[0])
        remainder: _Rest = children.pop(_REST)
        plain = {k: v for k, v in remainder.attributes.items() if not k.startswith("_")}
        return nnx.visualization.render_object_constructor(
            object_type=type(module), attributes=plain | children, path=path, subtree_renderer=subtree_renderer
        )


use(FlaxAdapter(flax.base))
