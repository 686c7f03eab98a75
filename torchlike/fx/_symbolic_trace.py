"""Tracer: runs a function with proxies for its arguments, and gets its graph."""

from __future__ import annotations

import builtins
import functools
import inspect
import math
from collections.abc import Callable
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any

from .._core.signatures import Function, Kwargs
from .._core.tensor import Tensor
from ..nn import Module, Parameter, Sequential
from ..ops.settings.checks import _assert
from . import graph_module
from ._targets import from_torch
from .graph import Graph
from .graph_module import GraphModule
from .node import base_types
from .proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase

__all__ = ["PH", "Tracer", "symbolic_trace", "wrap"]

HAS_VARSTUFF = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_is_fx_tracing_flag = False
_proxyable_classes: dict[type, object] = {}

# Registrations of ``wrap``: functions by name with the globals they are in, and methods.
_wrapped_fns_to_patch: dict[tuple[int, str], Kwargs] = {}
_wrapped_methods_to_patch: list[tuple[type, str]] = []


class PHBase:
    """Marks an argument among the concrete ones as not concrete."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


def is_fx_tracing() -> bool:
    """Whether a function is being traced."""
    return _is_fx_tracing_flag


def _assert_is_none(value: object, msg: str) -> None:
    if value is not None:
        raise AssertionError(msg)


class ProxyableClassMeta(type):
    """The metaclass of classes whose objects are made by nodes of their own, where a proxy is among the arguments."""

    def __init__(cls, name: str, bases: tuple[type, ...], attrs: Kwargs) -> None:
        _proxyable_classes.setdefault(cls, None)
        super().__init__(name, bases, attrs)

    def __call__(cls, *args: object, **kwargs: object) -> object:
        proxy = _find_proxy(args, kwargs) if _is_fx_tracing_flag else None
        if proxy is not None:
            return proxy.tracer.create_proxy("call_function", cls, args, kwargs)
        return super().__call__(*args, **kwargs)


class Tracer(TracerBase):
    """Traces functions and modules.

    Args:
        autowrap_modules: Python modules whose functions are called by nodes of their own.
        autowrap_functions: further functions that are called by nodes of their own.
        param_shapes_constant: shapes of parameters are numbers, not nodes.

    Source: https://docs.pytorch.org/docs/stable/fx.html#torch.fx.Tracer
    """

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Function, ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        super().__init__()
        self._autowrap_function_ids = {
            id(value) for module in autowrap_modules for name, value in vars(module).items()
            if not name.startswith("_") and callable(value)
        } | {id(function) for function in autowrap_functions}  # fmt: skip
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Module, str] | None = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack: Kwargs = {}
        self.num_calls: dict[str, int] = {}
        self.node_name_to_scope: dict[str, tuple[str, object]] = {}
        self.tensor_attrs: dict[object, str] = {}
        self.root: Any = None

    # ---- what subclasses may override

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether calls of a module become one node: true of the modules of ``torch.nn`` except Sequential."""
        return from_torch(type(m).__module__).startswith(("torch.nn", "torch.ao.nn")) and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """The path of a module within the traced module.

        Raises:
            NameError: the traced module does not contain it.
        """
        if self.submodule_paths:
            path = self.submodule_paths.get(mod)
            if path is None:
                raise NameError("module is not installed as a submodule")
            return path
        for name, module in self.root.named_modules():
            if mod is module:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(self, m: Module, forward: Function, args: Any, kwargs: Any) -> Any:
        """Called when the traced function calls a module: makes a node for a leaf module, else traces its forward."""
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))):
            self.num_calls[path] = self.num_calls.get(path, 0) + 1
            key = path if self.num_calls[path] == 1 else f"{path}@{self.num_calls[path] - 1}"
            self.module_stack[key] = (path, type(m))
            if self.is_leaf_module(m, path):
                result = self.create_proxy("call_module", path, args, kwargs)
            else:
                result = forward(*args, **kwargs)
            self.module_stack.pop(key, None)
        return result

    def getattr(self, attr: str, attr_val: object, parameter_proxy_cache: Kwargs) -> Any:
        """Called when the traced function reads an attribute of a module: parameters become nodes."""
        if isinstance(attr_val, Parameter):
            members = self.root.named_parameters()
        elif self.proxy_buffer_attributes and isinstance(attr_val, Tensor):
            members = self.root.named_buffers()
        else:
            return attr_val
        for name, member in members:
            if attr_val is member:
                if name not in parameter_proxy_cache:
                    further = {}
                    if self.param_shapes_constant:
                        further["proxy_factory_fn"] = partial(self._parameter_proxy, name, attr_val)
                    parameter_proxy_cache[name] = self.create_proxy("get_attr", name, (), {}, **further)
                return parameter_proxy_cache[name]
        return attr_val

    def _parameter_proxy(self, name: str, parameter: object, node: Any) -> ParameterProxy:
        return ParameterProxy(self, node, name, parameter)

    def create_arg(self, a: object) -> Any:
        """As for any tracer; tensors that are attributes of the module, and other tensors, become nodes."""
        if isinstance(a, Parameter):
            for name, parameter in self.root.named_parameters():
                if a is parameter:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, Tensor):
            for name, buffer in self.root.named_buffers():
                if a is buffer:
                    return self.create_node("get_attr", name, (), {})
        if isinstance(a, Module):
            for name, module in self.root.named_modules():
                if a is module:
                    return self.create_node("get_attr", name, (), {})
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node("call_function", type(a), tuple(self.create_arg(element) for element in a), {})
        if isinstance(a, Tensor):
            return self._constant(a, "_tensor_constant")
        if type(a) in _proxyable_classes:
            return self._constant(a, f"_{type(a).__name__}_constant_")
        return super().create_arg(a)

    def _constant(self, value: object, prefix: str) -> Any:
        name = self.tensor_attrs.get(value)
        if not name:
            name = self.get_fresh_qualname(prefix)
            self.tensor_attrs[value] = name
            setattr(self.root, name, value)
        return self.create_node("get_attr", name, (), {})

    def get_fresh_qualname(self, prefix: str) -> str:
        """A name with this beginning that the module does not have yet."""
        number = 0
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        return f"{prefix}{number}"

    # ---- tracing

    def create_args_for_root(
        self, root_fn: Callable[..., object], is_module: bool, concrete_args: Any = None
    ) -> tuple[Function, list[Any]]:
        """The function to run, and a proxy for each of its parameters."""
        function = inspect.unwrap(root_fn)
        code = function.__code__
        total = code.co_argcount + code.co_kwonlyargcount
        names = list(code.co_varnames)
        args: list[Any] = []
        skip = int(is_module)
        if is_module:
            if total == 0:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            args.append(self.root)
        parameters = inspect.signature(function).parameters
        if isinstance(concrete_args, tuple):
            if len(concrete_args) != total - skip:
                raise RuntimeError(
                    f"Tracing expected {total - skip} arguments but got {len(concrete_args)} concrete arguments"
                )
            concrete_args = dict(zip(names[skip:total], concrete_args, strict=True))
        annotations = getattr(function, "__annotations__", {})
        concrete = _Concrete(self, concrete_args)
        args += [concrete.placeholder(name, parameters.get(name), annotations.get(name)) for name in names[skip:total]]
        if code.co_kwonlyargcount > 0 or code.co_flags & HAS_VARSTUFF:
            at = total
            if code.co_flags & inspect.CO_VARARGS:
                args.append(concrete.placeholder(f"*{names[at]}", None, None))
                at += 1
            if code.co_flags & inspect.CO_VARKEYWORDS:
                args.append(concrete.placeholder(f"**{names[at]}", None, None))
            root_fn = _patch_function(function, len(args))
        return root_fn, args

    def trace(self, root: Module | Function, concrete_args: Kwargs | None = None) -> Graph:
        """The graph of a module's forward, or of a function.

        Args:
            concrete_args: values for parameters, which the graph then does not depend on.

        Raises:
            TraceError: the function depends on values.
        """
        global _is_fx_tracing_flag
        before, _is_fx_tracing_flag = _is_fx_tracing_flag, True
        try:
            fn = self._enter(root)
            self.graph = Graph(tracer_cls=type(self))
            self.tensor_attrs = {}
            self._collect_tensors(self.root, [])
            globals_ = fn.__globals__
            fn, args = self.create_args_for_root(fn, isinstance(root, Module), concrete_args)
            with _Patcher() as patcher:
                self._patch(patcher, globals_)
                result = self.create_arg(fn(*args))
                annotations = getattr(inspect.unwrap(fn), "__annotations__", {})
                self.create_node("output", "output", (result,), {}, type_expr=annotations.get("return"))
            self.submodule_paths = None
        finally:
            _is_fx_tracing_flag = before
        return self.graph

    def _enter(self, root: object) -> Any:
        if isinstance(root, Module):
            self.root = root
            self.root_module_name = root._get_name()
            self.submodule_paths = {module: name for name, module in root.named_modules(remove_duplicate=False)}
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}")
            return builtins.getattr(type(root), self.traced_func_name)
        self.root = Module()
        if not isinstance(root, FunctionType):
            raise AssertionError(f"Expected root to be a function, got {type(root)}")
        return root

    def _collect_tensors(self, module: Any, prefix: list[str]) -> None:
        for name, value in module.__dict__.items():
            if isinstance(value, Tensor):
                self.tensor_attrs[value] = ".".join([*prefix, name])
        for name, child in module.named_children():
            self._collect_tensors(child, [*prefix, name])

    def _patch(self, patcher: _Patcher, globals_: Kwargs) -> None:
        """While the function runs, modules are called through the tracer, and wrapped functions record."""
        proxies: Kwargs = {}
        original_call, original_getattr = Module.__call__, Module.__getattr__

        @functools.wraps(original_getattr)
        def module_getattr(module: Any, name: str) -> Any:
            return self.getattr(name, original_getattr(module, name), proxies)

        @functools.wraps(original_call)
        def module_call(module: Any, *args: object, **kwargs: object) -> Any:
            def forward(*args: object, **kwargs: object) -> Any:
                return original_call(module, *args, **kwargs)

            self._autowrap(patcher, builtins.getattr(builtins.getattr(module, "forward", module), "__globals__", {}))
            return self.call_module(module, forward, args, kwargs)

        patcher.patch(Module, "__getattr__", module_getattr)
        patcher.patch(Module, "__call__", module_call)
        for (_, name), scope in _wrapped_fns_to_patch.items():
            original = scope.get(name, builtins.__dict__.get(name))
            patcher.patch_dict(scope, name, _recording(original))
        for kind, name in _wrapped_methods_to_patch:
            patcher.patch(kind, name, _recording_method(kind, name))
        self._autowrap(patcher, globals_)
        for module in self._autowrap_search:
            self._autowrap(patcher, module.__dict__)

    def _autowrap(self, patcher: _Patcher, scope: Kwargs) -> None:
        if not patcher.visit(scope):
            return
        for name, value in list(scope.items()):
            if not name.startswith("_") and callable(value) and id(value) in self._autowrap_function_ids:
                patcher.patch_dict(scope, name, _recording(value))

    def __deepcopy__(self, memo: object) -> Tracer:
        copied = Tracer.__new__(type(self))
        copied.__dict__.update({name: value for name, value in self.__dict__.items() if name != "_autowrap_search"})
        copied._autowrap_search = list(self._autowrap_search)
        return copied


class _Concrete:
    """Makes placeholders, with a check where a parameter has a given value."""

    def __init__(self, tracer: Tracer, values: Kwargs | None) -> None:
        self.tracer, self.values, self.count = tracer, values, 0

    def placeholder(self, name: str, parameter: Any, kind: object) -> Any:
        tracer = self.tracer
        default = () if parameter is None or parameter.default is parameter.empty else (parameter.default,)
        if self.values is None or name not in self.values:
            return tracer.create_proxy("placeholder", name, default, {}, type_expr=None if name[0] == "*" else kind)
        value = self.values[name]
        self.count += 1
        if isinstance(value, PHBase):
            return tracer.create_proxy("placeholder", name, default, {})
        if isinstance(value, (tuple, list, dict)):
            raise NotImplementedError("torchlike does not support concrete_args that are tuples, lists or dicts")
        out = tracer.create_proxy("placeholder", f"{name}_1", default, {})
        words = f"{name} has been specialized to have value {value} but got another value"
        if value is None:
            tracer.create_proxy("call_function", _assert_is_none, (out, words), {})
        elif isinstance(value, base_types) and not isinstance(value, Tensor):
            tracer.create_proxy("call_function", _assert, (out == value, words), {})
        else:
            import warnings

            warnings.warn(
                f"Was not able to add assertion to guarantee correct input {name} to specialized function. It is up to the user to "
                "make sure that your inputs match the inputs you specialized the function with."
            )
        return value


def _patch_function(fn: FunctionType, nargs: int) -> FunctionType:
    """The function with all its parameters positional, those behind stars as well."""
    code = fn.__code__
    plain: CodeType = code.replace(
        co_argcount=nargs, co_posonlyargcount=0, co_kwonlyargcount=0, co_flags=code.co_flags & ~HAS_VARSTUFF
    )
    return FunctionType(plain, fn.__globals__, fn.__name__, None, fn.__closure__)


def _find_proxy(*objects: object) -> Proxy | None:
    """The first proxy among objects and what they hold."""
    from .node import map_aggregate

    proxies: list[Proxy] = []
    map_aggregate(objects, lambda element: proxies.append(element) if isinstance(element, Proxy) else None)
    return proxies[0] if proxies else None


def _recording(original: Any) -> Any:
    @functools.wraps(original)
    def wrapped(*args: object, **kwargs: object) -> Any:
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return original(*args, **kwargs)
        result = proxy.tracer.create_proxy("call_function", original, args, kwargs)
        result.node.meta["is_wrapped"] = True
        return result

    return wrapped


def _recording_method(kind: type, name: str) -> Any:
    original = getattr(kind, name)

    @functools.wraps(original)
    def wrapped(*args: object, **kwargs: object) -> Any:
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return original(*args, **kwargs)
        return proxy.tracer.create_proxy("call_method", name, args, kwargs)

    return wrapped


class _Patcher:
    """Replaces attributes and dictionary entries until the context ends."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], object]] = []
        self._visited: set[int] = set()

    def patch(self, owner: object, name: str, value: object) -> None:
        had, before = name in vars(owner), vars(owner).get(name)
        setattr(owner, name, value)
        self._undo.append(lambda: setattr(owner, name, before) if had else delattr(owner, name))

    def patch_dict(self, scope: Kwargs, name: str, value: object) -> None:
        had, before = name in scope, scope.get(name)
        scope[name] = value
        self._undo.append(lambda: scope.__setitem__(name, before) if had else scope.pop(name, None))

    def visit(self, scope: object) -> bool:
        """Whether this namespace is visited for the first time."""
        if id(scope) in self._visited:
            return False
        self._visited.add(id(scope))
        return True

    def __enter__(self) -> _Patcher:
        return self

    def __exit__(self, *exception: object) -> None:
        while self._undo:
            self._undo.pop()()
        self._visited.clear()


def wrap(fn_or_name: str | Function) -> Any:
    """Makes calls of a function nodes of their own; it must be called at the top of a file.

    Args:
        fn_or_name: a function of the file, or the name of one.

    Returns:
        the argument, so that ``wrap`` can be used as a decorator.

    Source: https://docs.pytorch.org/docs/stable/fx.html#torch.fx.wrap
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    if callable(fn_or_name):
        if isinstance(fn_or_name, str):
            raise AssertionError
        name = fn_or_name.__name__  # pyright: ignore[reportFunctionMemberAccess]  # by which the file knows it, decorated or not
    else:
        name = fn_or_name
    frame: Any = inspect.currentframe()
    frame = frame.f_back
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped_fns_to_patch[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name


def wrap_method(cls: type, name: str) -> None:
    """Makes calls of a method nodes of their own."""
    _wrapped_methods_to_patch.append((cls, name))


def symbolic_trace(root: Module | Function, concrete_args: Kwargs | None = None) -> GraphModule:
    """A module, or a function, as a GraphModule.

    Args:
        concrete_args: values for parameters, which the graph then does not depend on.

    >>> print(torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1).code.strip())
    def forward(self, x):
        relu = torch.relu(x);  x = None
        add = relu + 1;  relu = None
        return add

    Source: https://docs.pytorch.org/docs/stable/fx.html#torch.fx.symbolic_trace
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = root._get_name() if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


class _KeepModules(Tracer):
    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        return True


graph_module.retrace = lambda module: _KeepModules().trace(module)
