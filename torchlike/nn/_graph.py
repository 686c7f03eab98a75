"""The door to flax: a Module is an ``nnx.Module``, its parameters show as ``nnx.Param``, its buffers as ``nnx.Variable``.

What flax asks of a graph node is here and nowhere else: taking a module apart into variables, submodules and the rest, and
putting one together again. A variable reads and writes the tensor it stands for, so an update from either side is seen in both.
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

__all__ = ["GraphModule"]

_REST = "_rest"  # the key under which all that is neither variable nor module travels
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


class _Rest:
    """All else that a module has: its plain attributes, the order of its parameters, buffers and modules, and 64-bit dtypes."""

    __slots__ = ("attributes", "order")

    def __init__(self, module: Any) -> None:
        own = vars(module)
        self.attributes = {k: v for k, v in own.items() if k not in _TABLES}
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


class _FlaxMethod:
    """A method of ``nnx.Module`` that PyTorch does not have. A parameter or submodule of that name goes first, as it would there."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, module: Any, owner: type | None = None) -> Any:
        if module is None:
            return self.function
        for table in _TABLES:
            members = vars(module).get(table)
            if members and self.name in members:
                return members[self.name]
        return self.function.__get__(module, owner)


class ModuleKind(type(nnx.Module)):
    """The class of module classes: making an instance is plain Python's business, abstract methods bind only where ABC is a base."""

    __call__ = type.__call__

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **kwargs: Any) -> Any:
        cls = super().__new__(mcs, name, bases, namespace, **kwargs)
        # flax's metaclass is ABCMeta, PyTorch's is not: there, a class with abstract methods can be instantiated.
        if cls.__abstractmethods__ and not any(b.__module__ == "abc" for b in cls.__mro__):
            cls.__abstractmethods__ = frozenset()
        return cls


class GraphModule(nnx.Module, metaclass=ModuleKind, pytree=False):  # pyright: ignore[reportGeneralTypeIssues, reportCallIssue]
    """An ``nnx.Module`` that keeps its members in PyTorch's tables. Attribute access and calls are left to the subclass."""

    register_buffer: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        # flax resolves annotations, which a user's need not allow; it finds none on a class that says so.
        cls.__no_type_check__ = True
        try:
            super().__init_subclass__(pytree=False, **kwargs)
        finally:
            del cls.__no_type_check__

    # Copying and printing are PyTorch's, not flax's.
    __deepcopy__: Any = None
    __str__ = object.__str__

    def _check_valid_context(self, error_msg: Any) -> None:
        """flax asks whether the module belongs to the current trace; tensors answer for themselves."""

    def _graph_node_flatten(self) -> tuple[list[tuple[str, Any]], type]:
        children: list[tuple[str, Any]] = []
        for table in ("_parameters", "_buffers"):
            children += [(n, variable_of(t)) for n, t in vars(self)[table].items() if t is not None]
        children += [(n, m) for n, m in vars(self)["_modules"].items() if m is not None]
        return [*sorted(children, key=lambda child: child[0]), (_REST, _Rest(self))], type(self)

    def _graph_node_set_key(self, key: Any, value: Any) -> None:
        if isinstance(value, nnx.Variable):
            known = self._member(key)
            if isinstance(known, Tensor):
                variable_of(known).update_from_state(value)
                return
            value = _tensor_of(value)
            if not isinstance(value, Parameter):
                self.register_buffer(key, value)
                return
        setattr(self, str(key), value)

    def _graph_node_pop_key(self, key: Any) -> Any:
        value = self._member(key)
        delattr(self, str(key))
        return variable_of(value) if isinstance(value, Tensor) else value

    def _member(self, key: Any) -> Any:
        return next((vars(self)[t][str(key)] for t in _TABLES if str(key) in vars(self)[t]), None)

    @staticmethod
    def _graph_node_create_empty(node_type: Any) -> Any:
        return object.__new__(node_type)

    def _graph_node_clear(self) -> None:
        own: Any = self.__dict__
        own.clear()

    def _graph_node_init(self, attributes: Iterable[tuple[Any, Any]]) -> None:
        given = {str(k): v for k, v in attributes}
        rest: _Rest = given.pop(_REST)
        own: Any = self.__dict__
        own.update(rest.attributes)
        for table, names in rest.order:
            own[table] = {n: None if absent else given.pop(n, None) for n, absent, _ in names}
            if table != "_modules":
                wide = {n: dtype for n, _, dtype in names}
                own[table] = {n: None if v is None else _tensor_of(v, wide[n]) for n, v in own[table].items()}

    def __treescope_repr__(self, path: Any, subtree_renderer: Any) -> Any:
        children = dict(self._graph_node_flatten()[0])
        rest: _Rest = children.pop(_REST)
        plain = {k: v for k, v in rest.attributes.items() if not k.startswith("_")}
        return nnx.visualization.render_object_constructor(
            object_type=type(self), attributes=plain | children, path=path, subtree_renderer=subtree_renderer
        )


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


for _name, _function in vars(nnx.Module).items():
    if not _name.startswith("_") and _name not in ("train", "eval"):
        _method = _FlaxMethod(_function)
        _method.__set_name__(GraphModule, _name)
        setattr(GraphModule, _name, _method)

FLAX_METHODS = frozenset(n for n, v in vars(GraphModule).items() if isinstance(v, _FlaxMethod))
