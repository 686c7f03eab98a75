"""The adapter to flax: a Module is a graph node to NNX, its parameters show as ``nnx.Param``, its buffers as ``nnx.Variable``.

What flax asks of a graph node is here and nowhere else: taking a module apart into variables, submodules and the rest, and putting one
together again. Each module class is registered with flax as a type of node, rather than made a subclass of ``nnx.Module``: that would
bring flax's metaclass, and then no class of a user could have a metaclass of its own. A variable reads and writes the tensor it stands
for, so an update from either side is seen in both.
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

from .._core.storage import Storage
from .._core.tensor import Tensor
from ..engine.value import Value
from ._abstract import AbstractTensor, abstract
from .parameter import Parameter

try:
    from flax.nnx import graphlib
except ImportError:  # flax before 0.12.5
    from flax.nnx import graph as graphlib

__all__ = ["FLAX_METHODS", "FlaxKind", "SHOWN", "GraphNode", "admit", "show"]

_REST = "_rest"  # the key under which all that is neither variable nor module travels
# The key under which a module keeps the variables that flax has seen last. flax tells nodes of a graph apart by ``id``, also for a walk
# over a whole model in which it holds none of its variables: these must not be freed on the way, and have their ids given to others.
SHOWN = "_shown_to_flax"
_TABLES = {"_parameters": "parameter", "_buffers": "buffer", "_modules": "module"}


class _Linked:
    """A variable whose value is a tensor's. Copies, and variables flax makes, get a tensor of their own when asked for one."""

    __slots__ = ()

    tensor_class: type[Tensor] = Tensor
    get_metadata: Any
    _held: Any
    _tensor: Tensor | None

    @property
    def _raw_value(self) -> Any:
        tensor = self._tensor
        if tensor is None:
            return self._held
        return tensor.declared if isinstance(tensor, AbstractTensor) else tensor.jax

    @_raw_value.setter
    def _raw_value(self, value: Any) -> None:
        try:
            tensor = object.__getattribute__(self, "_tensor")
        except AttributeError:  # flax's constructor sets the value first of all
            tensor = None
        if tensor is not None and isinstance(value, (Array, np.ndarray)):
            wide = _as_value(_widened(value, tensor.dtype.numpy))
            tensor.fill(wide) if isinstance(tensor, AbstractTensor) else tensor._storage.write(wide)
            return
        # A mark that flax leaves in place of the value, or a value that has no tensor yet.
        object.__setattr__(self, "_held", value)
        object.__setattr__(self, "_tensor", None)

    @property
    def tensor(self) -> Tensor:
        """The tensor; made now if there is none yet."""
        if self._tensor is None:
            trained = self.tensor_class is Parameter and self.get_metadata().get("requires_grad", True)
            if isinstance(self._held, jax.ShapeDtypeStruct):
                tensor = abstract(self.tensor_class, self._held, trained)
            else:
                tensor = object.__new__(self.tensor_class)
                tensor._storage = Storage(_as_value(self._held))
                tensor._requires_grad = trained
            _link(self, tensor)
        assert self._tensor is not None
        return self._tensor


class Param(_Linked, nnx.Param):
    """A parameter, as flax sees it."""

    __slots__ = ("_held", "_tensor", "__weakref__")

    tensor_class = Parameter


class Variable(_Linked, nnx.Variable):
    """A buffer, as flax sees it."""

    __slots__ = ("_held", "_tensor", "__weakref__")


def _as_value(array: Any) -> Value:
    if isinstance(array, np.ndarray):
        return Value.on_host(np.array(array))
    if not isinstance(array, Array):
        raise NotImplementedError(f"a module's tensor needs an array: it cannot be made of a {type(array).__name__}")
    return Value.of(array)


def _widened(array: Any, dtype: np.dtype[Any]) -> Any:
    """What has gone through JAX without its 64-bit types gets them back: counts of batches stay int64."""
    if array.dtype == dtype or jax.dtypes.canonicalize_dtype(dtype) != array.dtype:
        return array
    if isinstance(array, Tracer):
        return array
    if isinstance(array, jax.ShapeDtypeStruct):
        return jax.ShapeDtypeStruct(array.shape, dtype)
    return np.asarray(array).astype(dtype)


def _link(variable: Any, tensor: Any) -> None:
    object.__setattr__(variable, "_tensor", tensor)
    # Weak, so that showing a parameter to flax once does not tie it up in a reference cycle.
    tensor._variable = weakref.ref(variable)


def variable_of(tensor: Any) -> Any:
    """The variable that stands for a tensor: the same one for as long as anybody holds it, so that flax sees ties."""
    reference = getattr(tensor, "_variable", None)
    variable = None if reference is None else reference()
    if variable is None:
        variable = (Param if isinstance(tensor, Parameter) else Variable)(None)
        _link(variable, tensor)
    if isinstance(tensor, Parameter) and tensor.requires_grad is not variable.get_metadata().get("requires_grad", True):
        variable.set_metadata(requires_grad=tensor.requires_grad)
    return variable


class _Shown(list[Any]):
    """The variables under that key. A copy or pickle that a user's ``__getstate__`` makes of them is empty."""

    def __reduce__(self) -> Any:
        return list, ()


class _Rest:
    """All else that a module has: its plain attributes, the order of its parameters, buffers and modules, and 64-bit dtypes."""

    __slots__ = ("attributes", "order")

    def __init__(self, module: Any) -> None:
        own = vars(module)
        self.attributes = {k: v for k, v in own.items() if k not in _TABLES and k != SHOWN}
        self.order = tuple(
            (table, tuple((n, v is None, _wide_dtype(v)) for n, v in own.get(table, {}).items())) for table in _TABLES
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Rest) or self.order != other.order:
            return False
        mine, theirs = self.attributes, other.attributes
        return mine.keys() == theirs.keys() and all(_same(v, theirs[k]) for k, v in mine.items())

    def __hash__(self) -> int:
        return hash((self.order, tuple(self.attributes)))


def _wide_dtype(member: Any) -> Any:
    dtype = member._aval.dtype if isinstance(member, Tensor) else None
    return None if dtype is None or dtype.itemsize < 8 else dtype


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    return type(a) is type(b) and isinstance(a, (str, int, float, tuple, dict, set, list)) and repr(a) == repr(b)


class _Kind(weakref.ref):
    """A module class as flax's table of node types has it: equal to the class, whose life it does not prolong.

    flax asks its table for ``type(module)``. A table of the classes themselves would keep every one of them for ever, also those that
    a function makes at each of its calls.
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
    """What flax calls the class in its descriptions of modules."""
    return graphlib.GRAPH_REGISTRY[cls].type


def show(cls: Any) -> None:
    """Makes known to flax how modules of this class are taken apart and put together."""
    type.__setattr__(cls, "_known_to_flax", cls)
    try:
        known = cls in graphlib.GRAPH_REGISTRY
    except TypeError:  # its metaclass has no hash: flax could not look the class up
        return
    if not known:
        kind: Any = _Kind(cls, _forget)
        graphlib.register_graph_node_type(kind, _flatten, _set_key, _pop_key, object.__new__, _clear, _init)


def _forget(kind: Any) -> None:
    graphlib.GRAPH_REGISTRY.pop(kind, None)


def admit(cls: type) -> None:
    """Makes ``isinstance(module, nnx.Module)`` true for the class and its subclasses, as abstract classes allow."""
    show(cls)
    FlaxKind.register(nnx.Module, cls)  # pyright: ignore[reportAttributeAccessIssue]


class GraphNode:
    """What flax finds on a module. It is a plain class: a user's module classes may have any metaclass."""

    _known_to_flax: Any = None  # the class itself once flax knows it; what is inherited is another class
    _pytree__is_pytree = False  # NNX's modules may be pytrees as well; ours are graph nodes only

    def __init_subclass__(cls, **kwargs: Any) -> None:
        own = isinstance(cls, FlaxKind)  # a class may have both nn.Module and nnx.Module for bases, in this order
        super().__init_subclass__(**{"pytree": False, **kwargs} if own else kwargs)
        if own:
            _forget(cls)  # how flax itself would take it apart
        show(cls)

    def _check_valid_context(self, error_msg: Any) -> None:
        """flax asks whether the module belongs to the current trace; tensors answer for themselves."""

    def __treescope_repr__(self, path: Any, subtree_renderer: Any) -> Any:
        children = dict(_flatten(self)[0])
        rest: _Rest = children.pop(_REST)
        plain = {k: v for k, v in rest.attributes.items() if not k.startswith("_")}
        return nnx.visualization.render_object_constructor(
            object_type=type(self), attributes=plain | children, path=path, subtree_renderer=subtree_renderer
        )


def _flatten(module: Any) -> tuple[list[tuple[str, Any]], type]:
    children: list[tuple[str, Any]] = []
    for table in ("_parameters", "_buffers"):
        children += [(n, variable_of(t)) for n, t in vars(module)[table].items() if t is not None]
    vars(module)[SHOWN] = _Shown(variable for _, variable in children)
    children += [(n, m) for n, m in vars(module)["_modules"].items() if m is not None]
    return [*sorted(children, key=lambda child: child[0]), (_REST, _Rest(module))], type(module)


def _set_key(module: Any, key: Any, value: Any) -> None:
    if isinstance(value, nnx.Variable):
        known = _member(module, key)
        if isinstance(known, Tensor):
            variable_of(known).update_from_state(value)
            return
        value = _tensor_of(value)
        if not isinstance(value, Parameter):
            module.register_buffer(key, value)
            return
    setattr(module, str(key), value)


def _pop_key(module: Any, key: Any) -> Any:
    value = _member(module, key)
    delattr(module, str(key))
    return variable_of(value) if isinstance(value, Tensor) else value


def _member(module: Any, key: Any) -> Any:
    return next((vars(module)[t][str(key)] for t in _TABLES if str(key) in vars(module)[t]), None)


def _clear(module: Any) -> None:
    vars(module).clear()


def _init(module: Any, attributes: Iterable[tuple[Any, Any]]) -> None:
    given = {str(k): v for k, v in attributes}
    rest: _Rest = given.pop(_REST)
    own = vars(module)
    own.update(rest.attributes)
    for table, names in rest.order:
        own[table] = {n: None if absent else given.pop(n, None) for n, absent, _ in names}
        if table != "_modules":
            wide = {n: dtype for n, _, dtype in names}
            own[table] = {n: None if v is None else _tensor_of(v, wide[n]) for n, v in own[table].items()}


def _tensor_of(variable: Any, wide: Any = None) -> Any:
    """The tensor of a variable that flax hands in: its own, or a new one for a variable that is not ours.

    Args:
        wide: the 64-bit dtype that a new tensor gets back.
    """
    own: Any = variable
    if not isinstance(variable, _Linked):
        own = (Param if isinstance(variable, nnx.Param) else Variable)(variable.get_raw_value())
    if wide is not None and own._tensor is None and hasattr(own._held, "dtype"):
        object.__setattr__(own, "_held", _widened(own._held, wide))
    return own.tensor


# Methods of ``nnx.Module`` that PyTorch does not have. A module has them where its class, its members and its attributes have nothing
# of the name.
FLAX_METHODS: dict[str, Any] = {
    name: function
    for name, function in vars(nnx.Module).items()
    if not name.startswith("_") and name not in ("train", "eval")
}

FlaxKind: type = type(nnx.Module)
