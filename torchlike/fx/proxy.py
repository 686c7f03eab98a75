"""Proxy: stands for a value while a function is traced, and records what is done with it."""

from __future__ import annotations

import dis
import inspect
import operator
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from .._core.overridable import activate
from .._core.signatures import Kwargs
from ._codegen import MAGIC_METHODS
from ._targets import name_of
from .graph import Graph
from .node import Node, base_types, map_aggregate
from .operator_schemas import check_for_mutable_operation
from .traceback import has_preserved_node_meta, take_over

__all__ = [
    "Attribute",
    "GraphAppendingTracer",
    "ParameterProxy",
    "Proxy",
    "Scope",
    "ScopeContextManager",
    "TraceError",
    "TracerBase",
]


class TraceError(ValueError):
    """A function that cannot be traced, since it depends on values."""


class Scope:
    """The module that is being traced: its path and its type."""

    def __init__(self, module_path: str, module_type: object) -> None:
        self.module_path, self.module_type = module_path, module_type


class ScopeContextManager:
    """Makes a scope the current one for a while."""

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._before = Scope(scope.module_path, scope.module_type)
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type
        self._scope = scope

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *exception: object) -> None:
        self._scope.module_path, self._scope.module_type = self._before.module_path, self._before.module_type


class TracerBase:
    """The methods of a tracer that proxies call."""

    graph: Graph
    record_stack_traces: bool = False
    check_mutable_operations: bool = False
    trace_asserts: bool = False
    proxy_buffer_attributes: bool = False
    traced_func_name: str = "forward"
    scope: Scope
    module_stack: Any
    node_name_to_scope: dict[str, tuple[str, Any]]

    def create_node(
        self, kind: str, target: Any, args: Any, kwargs: Any, name: str | None = None, type_expr: object = None
    ) -> Node:
        """Makes a node in the graph."""
        if kind == "call_function" and self.check_mutable_operations:
            check_for_mutable_operation(target, args, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        if hasattr(self, "node_name_to_scope"):
            self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        if has_preserved_node_meta():
            take_over(node)
        elif getattr(self, "module_stack", None):
            node.meta["nn_module_stack"] = dict(self.module_stack)
        return node

    def proxy(self, node: Node) -> Proxy:
        """The proxy for what a node computes."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: object,
        args: object,
        kwargs: object,
        name: str | None = None,
        type_expr: object = None,
        proxy_factory_fn: Callable[[Node], Any] | None = None,
    ) -> Any:
        """Makes a node from arguments that hold proxies, and returns its proxy."""
        args_, kwargs_ = self.create_arg(args), self.create_arg(kwargs)
        if not isinstance(args_, tuple):
            raise AssertionError(f"Expected args_ to be tuple, got {type(args_)}")
        node = self.create_node(kind, target, args_, kwargs_, name, type_expr)
        proxy = proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)
        if self.record_stack_traces and not proxy.node.stack_trace:
            frames = traceback.extract_stack(inspect.currentframe())
            proxy.node.stack_trace = "".join(traceback.StackSummary.from_list(frames[:-1]).format())
        return proxy

    def create_arg(self, a: Any) -> Any:
        """An argument as a node may hold it: nodes for proxies, in tuples, lists, dicts, slices and ranges."""
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            if hasattr(a, "_fields"):
                return (
                    self.create_node("call_function", type(a), tuple(self.create_arg(e) for e in a), {})
                    if any(isinstance(e, Proxy) for e in a)
                    else type(a)(*map(self.create_arg, a))
                )
            return tuple(self.create_arg(e) for e in a)
        if isinstance(a, list):
            return [self.create_arg(e) for e in a]
        if isinstance(a, dict):
            return {self._key(k): self.create_arg(v) for k, v in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, base_types) or a is None or a is ... or callable(a) or type(a).__name__ in _STATIC:
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _key(self, key: object) -> Any:
        key = self.create_arg(key)
        if isinstance(key, Node):
            raise RuntimeError(f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {key}")
        return key

    def to_bool(self, obj: Proxy) -> bool:
        """Called for the truth value of a proxy; raises, as the value is unknown while tracing."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """Called for a loop over a proxy."""
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or **kwargs function "
            "argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what types of control flow can be traced, "
            "and check out the Proxy docstring for help troubleshooting Proxy iteration errors"
        )

    def keys(self, obj: Proxy) -> Any:
        """Called for ``**proxy``."""
        return Attribute(obj, "keys")()


_STATIC = ("layout", "memory_format", "generator", "Generator")


class GraphAppendingTracer(TracerBase):
    """Appends to a graph that is there."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph
        self.scope = Scope("", None)
        self.module_stack = {}
        self.node_name_to_scope = {}


class Proxy:
    """Stands for a value while a function is traced: what is done with it becomes nodes.

    Args:
        node: what computes the value.
        tracer: who records. None: nodes are appended to the node's graph.

    Source: https://docs.pytorch.org/docs/stable/fx.html#torch.fx.Proxy
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        activate()  # not when this module is imported: many programs do that, to ask of a value whether it is a proxy
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    records_operators = True  # as they are, and not the functions of torch that they call

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        return Attribute(self, k)

    def __getstate__(self) -> Kwargs:
        return self.__dict__

    def __setstate__(self, d: Kwargs) -> None:
        self.__dict__ = d

    def __deepcopy__(self, memo: dict[int, object]) -> Proxy:
        import copy

        return Proxy(copy.deepcopy(self.node, memo), copy.deepcopy(self.tracer, memo))

    def __call__(self, *args: object, **kwargs: object) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        frame = inspect.currentframe()
        calling = None if frame is None else frame.f_back
        if calling is None:
            raise AssertionError("Failed to get calling frame")
        for instruction in dis.get_instructions(calling.f_code):
            if instruction.offset == calling.f_lasti:
                if instruction.opname == "UNPACK_SEQUENCE":
                    return (_item(self, i) for i in range(int(instruction.argval)))
                break
        return self.tracer.iter(self)

    def __abs__(self) -> Any:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """Called for ``**proxy``."""
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call torch.fx.wrap('len') "
            "at module scope"
        )

    @classmethod
    def __torch_function__(
        cls, orig_method: Callable[..., object], types: object, args: object = None, kwargs: object = None
    ) -> Any:
        from ..overrides import is_tensor_method_or_property  # makes all functions look for overrides

        args, kwargs = args or (), kwargs or {}
        tracers: dict[Any, None] = {}
        map_aggregate(args, lambda a: tracers.setdefault(a.tracer) if isinstance(a, Proxy) else None)
        map_aggregate(kwargs, lambda a: tracers.setdefault(a.tracer) if isinstance(a, Proxy) else None)
        if len(tracers) > 1:
            raise RuntimeError(
                f"Found multiple different tracers {list(tracers)} while trying to trace operations {orig_method}"
            )
        tracer = next(iter(tracers))
        if is_tensor_method_or_property(orig_method):
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs)
        name = tracer.graph._target_to_str(name_of(orig_method))
        return tracer.create_proxy("call_function", orig_method, args, kwargs, name=name)


class Attribute(Proxy):
    """An attribute of a value. It becomes a node only if it is used, and none if it is a method that is called."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr = root, attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # pyright: ignore[reportIncompatibleVariableOverride]
        if self._node is None:
            node: Node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
            self._node = node
            return node
        return self._node

    def __call__(self, *args: object, **kwargs: object) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A parameter of the traced module, whose shape is known."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Any) -> None:
        super().__init__(node, tracer)
        self.param, self.name = param, name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        return self.param.shape

    def size(self) -> Any:
        return self.param.size()

    def dim(self) -> int:
        return self.param.dim()

    @property
    def ndim(self) -> int:
        return self.param.ndim

    def numel(self) -> int:
        return self.param.numel()

    def nelement(self) -> int:
        return self.param.nelement()


def _item(proxy: Any, i: int) -> Proxy:
    return proxy[i]


def _magic(name: str) -> Any:
    target = getattr(operator, name)

    def call(*args: object, **kwargs: object) -> Any:
        tracer = next(a for a in args if isinstance(a, Proxy)).tracer
        return tracer.create_proxy("call_function", target, args, kwargs)

    return call


def _reflected(name: str) -> Any:
    target = getattr(operator, name)

    def call(self: Proxy, rhs: object) -> Any:
        return self.tracer.create_proxy("call_function", target, (rhs, self), {})

    return call


_REFLECTED = (
    "add",
    "sub",
    "mul",
    "floordiv",
    "truediv",
    "mod",
    "pow",
    "lshift",
    "rshift",
    "and_",
    "or_",
    "xor",
    "getitem",
    "matmul",
)

for _name in MAGIC_METHODS:
    if _name != "div":
        setattr(Proxy, f"__{_name.strip('_')}__", _magic(_name))
for _name in _REFLECTED:
    setattr(Proxy, f"__r{_name.strip('_')}__", _reflected(_name))
Proxy.__hash__ = object.__hash__  # ``__eq__`` records, and would take it away
