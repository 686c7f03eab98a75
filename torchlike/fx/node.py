"""Node: one operation of a graph."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, TypeAlias

from .._core import devices, dtypes
from .._core.signatures import Args, Function, Kwargs
from .._core.tensor import Tensor
from ..nn import Module
from ._effects import has_effect, side_effectful_functions
from ._targets import from_torch, qualified_name as _get_qualified_name
from .immutable_collections import immutable_dict, immutable_list

__all__ = ["Node", "Target", "has_side_effect", "map_aggregate", "map_arg"]

Target: TypeAlias = "Function | str"
Argument: TypeAlias = object
base_types: tuple[type, ...] = (str, int, float, bool, complex, dtypes.dtype, Tensor, devices.device)
BaseArgumentTypes = base_types

_legal_ops = ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root")
_side_effectful_functions = side_effectful_functions


def has_side_effect(fn: object) -> Any:
    """Marks a function whose calls ``eliminate_dead_code`` must leave in the graph."""
    _side_effectful_functions.add(fn)
    return fn


def map_aggregate(a: object, fn: Callable[..., object]) -> Any:
    """The same lists, tuples, dicts and slices with ``fn`` of what is in them."""
    if isinstance(a, tuple):
        mapped = [map_aggregate(element, fn) for element in a]
        return type(a)(*mapped) if hasattr(a, "_fields") else tuple(mapped)
    if isinstance(a, list):
        return immutable_list([map_aggregate(element, fn) for element in a])
    if isinstance(a, dict):
        return immutable_dict({key: map_aggregate(value, fn) for key, value in a.items()})
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def map_arg(a: object, fn: Callable[[Node], object]) -> Any:
    """``map_aggregate`` for the nodes alone."""
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def _type_repr(obj: object) -> str:
    """A type as generated code names it."""
    if isinstance(obj, type) and not isinstance(obj, types.GenericAlias):
        module = from_torch(obj.__module__)
        return obj.__qualname__ if module == "builtins" else f"{module}.{obj.__qualname__}"
    if obj is ...:
        return "..."
    if isinstance(obj, types.FunctionType):
        return obj.__name__
    return repr(obj).replace("torchlike.", "torch.")


def _format_arg(arg: object, max_list_len: float = float("inf")) -> str:
    """An argument in the text of a graph, where nodes begin with ``%``."""
    if isinstance(arg, (list, tuple)) and not hasattr(arg, "_fields"):
        texts = [_format_arg(a) for i, a in enumerate(arg) if i < max_list_len]
        text = ", ".join(texts) + (f", ...[total_len={len(arg)}]" if len(arg) > max_list_len else "")
        if isinstance(arg, list):
            return f"[{text}]"
        return f"({text},)" if len(arg) == 1 else f"({text})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{key}: {_format_arg(value)}" for key, value in arg.items()) + "}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


class _Fields:
    """The fields of a node, which programs find on the class too."""

    __slots__ = ("graph", "meta", "name", "op", "target", "type", "users")

    graph: Any
    meta: Kwargs
    name: str
    op: str
    target: Target
    type: object
    users: dict[Node, None]


class Node(_Fields):
    """One operation: its inputs are nodes before it, its users nodes after it.

    Args:
        graph: where it is.
        name: its name, which is that of a variable in the generated code.
        op: "placeholder", "get_attr", "call_function", "call_module", "call_method" or "output".
        target: the parameter, attribute, function, module or method.
        args, kwargs: of the call.
        return_type: for the annotation in the generated code.

    Source: https://docs.pytorch.org/docs/stable/fx.html#torch.fx.Node
    """

    def __init__(
        self,
        graph: Any,
        name: str,
        op: str,
        target: Target,
        args: Args,
        kwargs: Kwargs,
        return_type: object = None,
    ) -> None:
        if op not in _legal_ops:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        if op == "call_function":
            if not callable(target):
                raise ValueError(
                    f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)} but a Callable is expected"
                )
        elif not isinstance(target, str):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)} but a str is expected"
            )
        self.graph, self.name, self.op, self.target = graph, name, op, target
        self._input_nodes: dict[Node, None] = {}
        self.users = {}
        self.type = return_type
        self.meta = {}
        self._repr_fn: Callable[[Node], str] | None = None
        self._prev = self._next = self
        self._erased = False
        self._args: Args = ()
        self._kwargs: Kwargs = {}
        self._set(args, kwargs)

    def _set(self, args: Any, kwargs: Any) -> None:
        for old in self._input_nodes:
            old.users.pop(self, None)
        self._args, self._kwargs = map_aggregate(tuple(args), _identity), map_aggregate(dict(kwargs), _identity)
        self._input_nodes = {}
        map_arg((self._args, self._kwargs), lambda node: self._input_nodes.setdefault(node))
        for new in self._input_nodes:
            new.users.setdefault(self)

    @property
    def args(self) -> Args:
        """The arguments given by position."""
        return self._args

    @args.setter
    def args(self, args: Args) -> None:
        self._set(args, self._kwargs)

    @property
    def kwargs(self) -> Kwargs:
        """The arguments given by name."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: Kwargs) -> None:
        self._set(self._args, kwargs)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among its arguments."""
        return list(self._input_nodes)

    @property
    def next(self) -> Node:
        """The node after this one."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one."""
        return self._prev

    @property
    def stack_trace(self) -> str | None:
        """The stack trace of the line that made the node, if the tracer recorded it."""
        return self.meta.get("stack_trace")  # pyright: ignore[reportReturnType]

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def prepend(self, x: Node) -> None:
        """Moves a node of the graph to before this one."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x

    def append(self, x: Node) -> None:
        """Moves a node of the graph to after this one."""
        self._next.prepend(x)

    def _remove_from_list(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    def update_arg(self, idx: int, arg: object) -> None:
        """Replaces an argument given by position."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: object) -> None:
        """Puts an argument before that with this position."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: object) -> None:
        """Replaces an argument given by name."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] = lambda user: True,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Makes the nodes that use this one use another one.

        Args:
            delete_user_cb: says for a user whether it shall.
            propagate_meta: the other one gets this one's ``meta``.

        Returns:
            the users that were changed.
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "Called node.replace_all_uses_with(replace_with, propagate_meta=True), but replace_with already has .meta keys"
                )
            replace_with.meta.update(self.meta)
        changed = [user for user in list(self.users) if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Replaces one of the nodes among the arguments."""

        def swap(node: Node) -> Node:
            return new_input if node is old_input else node

        self._set(map_arg(self.args, swap), map_arg(self.kwargs, swap))

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether ``eliminate_dead_code`` leaves it although nothing uses it."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            return has_effect(self.target, impure_random)
        if self.op == "call_module":
            module = self.graph.owning_module
            if module is None:
                raise AssertionError("self.graph.owning_module not set for purity check")
            return getattr(module.get_submodule(self.target), "_is_impure", False)
        return False

    def normalized_arguments(
        self,
        root: Module,
        arg_types: Args | None = None,
        kwarg_types: Kwargs | None = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> Any:
        """The arguments as the signature of what is called has them: see ``normalize_function``. None if that is unknown."""
        from .operator_schemas import normalize_function, normalize_module

        target: Any = self.target
        if self.op == "call_function":
            types = arg_types, kwarg_types
            return normalize_function(target, self.args, self.kwargs, *types, normalize_to_only_use_kwargs)
        if self.op == "call_module":
            return normalize_module(root, target, self.args, self.kwargs, normalize_to_only_use_kwargs)
        return None

    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
        **options: object,
    ) -> str | None:
        """The line of this node in the text of a graph."""
        if self.op == "placeholder":
            if placeholder_names:
                placeholder_names.append(f"{self.target} : {_type_repr(self.type)}" if self.type else f"{self.target}")
            default = f"(default={self.args[0]})" if self.args else ""
            return f"%{self.name} : {self._typed()}[num_users={len(self.users)}] = {self.op}[target={self.target}]{default}"
        if self.op == "get_attr":
            return f"%{self.name} : {self._typed()}[num_users={len(self.users)}] = {self.op}[target={self._shown_target()}]"
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self.args[0]}"
        return (
            f"%{self.name} : {self._typed()}[num_users={len(self.users)}] = {self.op}[target={self._shown_target()}]"
            f"(args = {_format_arg(self.args)}, kwargs = {_format_arg(self.kwargs)})"
        )

    def _typed(self) -> str:
        return f"{_type_repr(self.type)} " if self.type else ""

    def _shown_target(self) -> str:
        return self._pretty_print_target(self.target)

    def _pretty_print_target(self, target: Callable[..., object] | str) -> str:
        if isinstance(target, str):
            return target
        if hasattr(target, "__module__"):
            name = getattr(target, "__name__", None)
            if name is None:
                return _get_qualified_name(target)
            if target.__module__ == "builtins":
                return f"builtins.{name}"
            if target.__module__ == "_operator":
                return f"operator.{name}"
        return _get_qualified_name(target)

    def _rename(self, candidate: str) -> None:
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)

    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn else self.name

    def __lt__(self, other: Node) -> bool:
        return self._position() < other._position()

    def __gt__(self, other: Node) -> bool:
        return self._position() > other._position()

    def __le__(self, other: Node) -> bool:
        return self is other or self < other

    def __ge__(self, other: Node) -> bool:
        return self is other or self > other

    def _position(self) -> int:
        return next(i for i, node in enumerate(self.graph.nodes) if node is self)


def _identity(x: object) -> Any:
    return x
