"""class Module: registers parameters, buffers and submodules, iterates over them, and calls ``forward``."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from inspect import signature
from types import BuiltinFunctionType, FunctionType, MethodType, NoneType
from typing import Any, NoReturn, Self, TypeVar

from ..._core.modes import modes
from ..._core.tensor import Tensor
from ...engine import boundary
from .._graph_node import SHOWN, GraphNode, connect, flax, is_foreign_module, wrappers
from .._member import Member
from ..parameter import Buffer, Parameter
from . import _scripted
from ._hooked import call_with_hooks
from ._hooks import HookHandle, everywhere
from ._moving import Movable
from ._names import typename
from ._state import (
    _EXTRA_STATE_KEY_SUFFIX as _EXTRA_STATE_KEY_SUFFIX,
    Stateful,
    _IncompatibleKeys as _IncompatibleKeys,
    _WrappedHook as _WrappedHook,
)

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

# The dictionaries of hooks that __init__ makes, besides the three dictionaries of parameters, buffers and modules.
_HOOK_TABLES = (
    "_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_hooks_with_kwargs", "_forward_hooks_always_called",
    "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_state_dict_hooks", "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
)  # fmt: skip

# Types whose values are never a parameter, a buffer or a module. For them, __setattr__ skips all further checks.
_NO_MEMBERS = frozenset(
    (NoneType, bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset, type, FunctionType, MethodType,
     BuiltinFunctionType, OrderedDict)
)  # fmt: skip


class _Calls(threading.local):
    depth = 0  # the depth of calls of modules that run with gradients off


_calls = _Calls()


def _missing_forward(self: Module, *input: object) -> NoReturn:
    """The computation of the module, called by ``module(...)``. A subclass has to define it."""
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


class Module(Stateful, Movable, GraphNode):
    """The base class of all layers and models.

    A subclass calls ``super().__init__()``, assigns parameters, buffers and other modules as attributes, and defines
    ``forward``. It is also a ``flax.nnx.Module``, in which parameters are ``nnx.Param`` and buffers ``nnx.Variable``.

    >>> class Double(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = torch.nn.Parameter(torch.tensor(2.0))
    ...     def forward(self, x):
    ...         return x * self.factor
    >>> Double()(torch.ones(2))
    tensor([2., 2.], grad_fn=<MulBackward0>)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html
    """

    training: bool
    call_super_init: bool = False
    dump_patches: bool = False
    T_destination = TypeVar("T_destination", bound=dict[str, Any])
    _compiled_call_impl = None  # PyTorch's ``compile`` sets it, and libraries read it

    def __init__(self, *args: object, **kwargs: object) -> None:
        go_on = self.call_super_init
        if not go_on and (args or kwargs):
            if kwargs:
                raise TypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
                )
            raise TypeError(
                f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given"
            )
        cls = type(self)
        if cls._known_to_flax is not cls:  # the user's __init_subclass__ has not called super()
            flax.adapter.show(cls)
        attributes = self.__dict__
        attributes["training"] = True
        attributes["_parameters"] = {}
        attributes["_buffers"] = {}
        attributes["_non_persistent_buffers_set"] = set()
        for table in _HOOK_TABLES:
            attributes[table] = OrderedDict()
        attributes["_is_full_backward_hook"] = None
        attributes["_modules"] = {}
        if go_on:
            super().__init__(*args, **kwargs)

    forward: Callable[..., object] = _missing_forward

    # ---- members as attributes

    def __getattr__(self, name: str) -> Any:
        attributes = self.__dict__
        try:
            return attributes["_parameters"][name]
        except KeyError:
            pass
        if "_modules" in attributes and name in (members := attributes["_modules"]):
            return members[name]
        if "_buffers" in attributes and name in (members := attributes["_buffers"]):
            return members[name]
        # flax's methods are no attributes of the class, so that they hide no name of a user's. A class with its own ``__getattr__`` expects
        # that a name which it does not know is missing.
        if name in flax.adapter.methods and type(self).__getattr__ is Module.__getattr__:
            return MethodType(flax.adapter.methods[name], self)
        if name in _scripted.ATTRIBUTES and _scripted.is_scripted(self):
            return _scripted.ATTRIBUTES[name](self)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        attributes = self.__dict__
        if type(value) in _NO_MEMBERS:
            try:
                plain = (
                    name not in attributes["_parameters"]
                    and name not in attributes["_modules"]
                    and name not in attributes["_buffers"]
                )
            except KeyError:  # Module.__init__ has not run yet
                plain = False
            if plain:
                super().__setattr__(name, value)
                return
        parameters = attributes.get("_parameters")
        if isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            _forget(self, name, "_buffers", "_modules")
            self.register_parameter(name, value)
            return
        if parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, None)
            return
        modules = attributes.get("_modules")
        is_module = isinstance(value, Module)
        if not is_module and is_foreign_module(value):
            value, is_module = _wrapped_foreign_module(value), True
        if is_module:
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            _forget(self, name, "_parameters", "_buffers")
            _put_module(self, name, value)
            return
        if modules is not None and name in modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            _put_module(self, name, None)
            return
        buffers = attributes.get("_buffers")
        is_buffer = isinstance(value, Tensor) and isinstance(value, Buffer)
        if is_buffer or (buffers is not None and name in buffers):
            if buffers is None:
                raise AttributeError("cannot assign buffer before Module.__init__() call")
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(
                    f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)"
                )
            # A buffer that is assigned anew keeps what it was, unless the new tensor is a Buffer that says so itself.
            persistent = (
                vars(value)["persistent"] if is_buffer else name not in attributes["_non_persistent_buffers_set"]
            )
            _put_buffer(self, name, value, persistent)
            return
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        attributes = self.__dict__
        if name in attributes.get("_parameters", ()):
            del attributes["_parameters"][name]
            attributes.pop(SHOWN, None)
        elif name in attributes.get("_buffers", ()):
            del attributes["_buffers"][name]
            attributes["_non_persistent_buffers_set"].discard(name)
        elif name in attributes.get("_modules", ()):
            del attributes["_modules"][name]
        else:
            super().__delattr__(name)

    def __dir__(self) -> list[str]:
        # Names that begin with a digit (of Sequential) cannot be written as attributes, so completion must not offer them.
        names = {*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers}
        return sorted(n for n in names if not n[0].isdigit())

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a parameter under a name. None registers the name without a parameter."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        _check_name(self, name, "parameter", self._parameters)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
                )
            if param.grad_fn is not None:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To "
                    f"express '{name}' as a function of another Tensor, compute the value in the forward() method."
                )
            for hook in everywhere.parameter_registration.values():
                replaced: Any = hook(self, name, param)
                param = param if replaced is None else replaced
        if self._parameters.get(name) is not None:
            self.__dict__.pop(SHOWN, None)  # an ordinary attribute would keep the old parameter alive
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Adds a tensor that belongs to the module's state, but is not trained.

        Args:
            persistent: whether ``state_dict`` includes it.

        >>> module = torch.nn.Module()
        >>> module.register_buffer("running_mean", torch.zeros(2))
        >>> module.running_mean
        tensor([0., 0.])
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        _check_name(self, name, "buffer", self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        for hook in everywhere.buffer_registration.values():
            replaced: Any = hook(self, name, tensor)
            tensor = tensor if replaced is None else replaced
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Adds a submodule under a name."""
        if not isinstance(module, Module) and module is not None:
            if not is_foreign_module(module):
                raise TypeError(f"{typename(module)} is not a Module subclass")
            module = _wrapped_foreign_module(module)
        _check_name(self, name, "module", self._modules)
        _put_module(self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Another name for ``add_module``."""
        self.add_module(name, module)

    def get_submodule(self, target: str) -> Module:
        """The submodule with this dotted name; the module itself for the empty name."""
        module = self
        for item in target.split(".") if target else ():
            if not hasattr(module, item):
                raise AttributeError(f"{module._get_name()} has no attribute `{item}`")
            module = getattr(module, item)
            if not isinstance(module, Module):
                raise AttributeError(f"`{item}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Replaces the submodule with this dotted name, or adds it unless ``strict``."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        *path, name = target.split(".")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        parent = self.get_submodule(".".join(path))
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter with this dotted name."""
        module, name = _owner_of(self, target)
        parameter = getattr(module, name)
        if not isinstance(parameter, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return parameter

    def get_buffer(self, target: str) -> Tensor:
        """The buffer with this dotted name."""
        module, name = _owner_of(self, target)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return getattr(module, name)

    # ---- iteration over members

    def _named_members(
        self, get_members_fn: Any, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        members = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, member in get_members_fn(module):
                if member is None or member in members:
                    continue
                if remove_duplicate:
                    members.add(member)
                yield f"{path}.{name}" if path else name, member

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """All parameters with their dotted names. With ``remove_duplicate`` each parameter comes once."""
        yield from self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters, submodules' included if ``recurse``.

        >>> [p.shape for p in torch.nn.Linear(2, 3).parameters()]
        [torch.Size([3, 2]), torch.Size([3])]
        """
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """All buffers with their dotted names."""
        yield from self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The direct submodules with their names."""
        children = set()
        for name, module in self._modules.items():
            if module is not None and module not in children:
                children.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """The direct submodules."""
        for _, module in self.named_children():
            yield module

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all below it, with their dotted names."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        """This module and all below it."""
        for _, module in self.named_modules():
            yield module

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Calls ``fn`` on every module below this one, then on itself.

        >>> def zero(module):
        ...     if isinstance(module, torch.nn.Linear):
        ...         torch.nn.init.zeros_(module.weight)
        >>> torch.nn.Linear(2, 1, bias=False).apply(zero).weight
        Parameter containing:
        tensor([[0., 0.]], requires_grad=True)
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # ---- modes

    def train(self, mode: bool = True) -> Self:
        """Sets training mode on this module and all below it: dropout is active, and batch norm uses the statistics of the batch."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Sets evaluation mode: ``train(False)``."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Switches gradients on or off for all parameters."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops the gradients of all parameters, or makes them zero."""
        for parameter in self.parameters():
            if parameter.grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                if parameter.grad.grad_fn is None:
                    parameter.grad.requires_grad_(False)
                else:
                    parameter.grad.detach_()
                parameter.grad.zero_()

    def compile(self, *args: object, **kwargs: object) -> None:
        """Does nothing, because torchlike compiles every loop."""

    # ---- calling

    def __call__(self, *args: object, **kwargs: object) -> Any:
        attributes = self.__dict__
        try:
            plain = not (
                attributes["_forward_pre_hooks"]
                or attributes["_forward_hooks"]
                or attributes["_backward_hooks"]
                or attributes["_backward_pre_hooks"]
                or everywhere.forward_pre
                or everywhere.forward
                or everywhere.backward
                or everywhere.backward_pre
            )
        except KeyError:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '_backward_hooks'") from None
        call = self.forward if plain else partial(call_with_hooks, self)
        if modes.grad_enabled:
            return call(*args, **kwargs)
        outer = _calls.depth
        _calls.depth = outer + 1
        try:
            return call(*args, **kwargs)
        finally:
            _calls.depth = outer
            if not outer:
                # A call without gradients ends a step here, so each iteration of an evaluation loop becomes one program.
                boundary()

    # Libraries call these names to skip a ``__call__`` that a subclass defines.
    _call_impl = _wrapped_call_impl = __call__

    # ---- hooks

    def register_forward_pre_hook(
        self, hook: Callable[..., object], *, prepend: bool = False, with_kwargs: bool = False
    ) -> HookHandle:
        """Calls ``hook(module, args)`` before each ``forward``; what it returns, if not None, replaces the arguments.

        Args:
            prepend: run it before the hooks that are already registered.
            with_kwargs: call ``hook(module, args, kwargs)``, which may return ``(args, kwargs)``.
        """
        marks = (self._forward_pre_hooks_with_kwargs,) if with_kwargs else ()
        return HookHandle(self._forward_pre_hooks, hook, prepend=prepend, marks=marks)

    def register_forward_hook(
        self,
        hook: Callable[..., object],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> HookHandle:
        """Calls ``hook(module, args, output)`` after each ``forward``; what it returns, if not None, replaces the output.

        Args:
            prepend: run it before the hooks that are already registered.
            with_kwargs: call ``hook(module, args, kwargs, output)``.
            always_call: call it even if ``forward`` raises.

        >>> layer = torch.nn.Identity()
        >>> handle = layer.register_forward_hook(lambda module, args, output: output * 2)
        >>> layer(torch.ones(1))
        tensor([2.])
        >>> handle.remove()
        """
        marks = (self._forward_hooks_with_kwargs,) if with_kwargs else ()
        marks += (self._forward_hooks_always_called,) if always_call else ()
        return HookHandle(self._forward_hooks, hook, prepend=prepend, marks=marks)

    def register_full_backward_hook(self, hook: Callable[..., object], prepend: bool = False) -> HookHandle:
        """Calls ``hook(module, grad_input, grad_output)`` when the gradients of the inputs have been computed; it may replace them."""
        if self._is_full_backward_hook is False:
            raise RuntimeError(_BOTH_KINDS.format("a single Module"))
        self._is_full_backward_hook = True
        return HookHandle(self._backward_hooks, hook, prepend=prepend)

    def register_full_backward_pre_hook(self, hook: Callable[..., object], prepend: bool = False) -> HookHandle:
        """Calls ``hook(module, grad_output)`` when the gradients of the outputs have been computed; it may replace them."""
        return HookHandle(self._backward_pre_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook: Callable[..., object]) -> HookHandle:
        """Deprecated: calls ``hook`` with the gradients of the last operation of ``forward``, which need not be the module's."""
        if self._is_full_backward_hook is True:
            raise RuntimeError(_BOTH_KINDS.format("a single Module"))
        self._is_full_backward_hook = False
        return HookHandle(self._backward_hooks, hook)

    # ---- showing and copying

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """The text between the brackets of ``repr``. A subclass defines it."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_without_blanks(_indent(repr(module)))}" for name, module in self._modules.items()]
        if not children and len(lines) <= 1:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines + children) + "\n)"

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != SHOWN}

    def __setstate__(self, state: Mapping[str, object]) -> None:
        flax.adapter.show(type(self))
        attributes = self.__dict__
        attributes.update(state)
        for table in _HOOK_TABLES:  # a module from a pickle of an older version may lack it
            attributes.setdefault(table, OrderedDict())
        attributes.setdefault("_non_persistent_buffers_set", set())
        attributes.setdefault("_is_full_backward_hook", None)


connect(Module)


def _forget(module: Module, name: str, *tables: str) -> None:
    """Removes a name from the attributes and from the members of other kinds, before a member is registered under it."""
    attributes = module.__dict__
    attributes.pop(name, None)
    for table in tables:
        if attributes[table].pop(name, None) is not None:
            attributes.pop(SHOWN, None)
    attributes["_non_persistent_buffers_set"].discard(name)


def _put_module(owner: Any, name: str, module: Module | None) -> None:
    for hook in everywhere.module_registration.values():
        replaced: Any = hook(owner, name, module)
        module = module if replaced is None else replaced
    owner._modules[name] = module


def _check_name(module: Module, name: str, kind: str, table: Mapping[str, object]) -> None:
    if not isinstance(name, str):
        raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
    if "." in name:
        raise KeyError(f'{kind} name can\'t contain "."' + (f", got: {name}" if kind == "module" else ""))
    if name == "":
        raise KeyError(f'{kind} name can\'t be empty string ""')
    if name not in table and hasattr(module, name) and not _is_flax_method(module, name):
        raise KeyError(f"attribute '{name}' already exists")


def _is_flax_method(module: Module, name: str) -> bool:
    """Whether only flax's methods have the name, so that a member may take it."""
    method = flax.adapter.methods.get(name)
    return method is not None and getattr(getattr(module, name), "__func__", None) is method


def _owner_of(root: Module, target: str) -> tuple[Module, str]:
    path, _, name = target.rpartition(".")
    module = root.get_submodule(path)
    if not hasattr(module, name):
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    return module, name


def _put_buffer(module: Module, name: str, tensor: Tensor | None, persistent: bool) -> None:
    """Registers a tensor that is assigned as an attribute, by the class's own ``register_buffer`` if it defines one."""
    kind = type(module)
    if kind.register_buffer is Module.register_buffer or "persistent" in signature(kind.register_buffer).parameters:
        module.register_buffer(name, tensor, persistent)
        return
    if not persistent:
        raise RuntimeError(
            "Registering a non-persistent buffer on a Module subclass that implements register_buffer() without the persistent "
            "argument is not allowed."
        )
    module.register_buffer(name, tensor)


def _wrapped_foreign_module(module: object) -> Module:
    """Wraps a flax module into a torchlike module."""
    return wrappers[-1](module)


_BOTH_KINDS = "Cannot use both regular backward hooks and full backward hooks on {}. Please use only one of them."


def _indent(text: str) -> str:
    return text.replace("\n", "\n  ")


def _without_blanks(text: str) -> str:
    """The text with nothing in lines of blanks."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(line if line.strip() else "" for line in rest)])


# ---- hooks for all modules


def register_module_forward_pre_hook(hook: Callable[..., object]) -> HookHandle:
    """Calls ``hook(module, args)`` before the ``forward`` of every module."""
    return HookHandle(everywhere.forward_pre, hook)


def register_module_forward_hook(
    hook: Callable[..., object], *, with_kwargs: bool = False, always_call: bool = False
) -> HookHandle:
    """Calls ``hook(module, args, output)`` after the ``forward`` of every module."""
    marks = (everywhere.forward_with_kwargs,) if with_kwargs else ()
    marks += (everywhere.forward_always,) if always_call else ()
    return HookHandle(everywhere.forward, hook, marks=marks)


def member() -> Any:
    """An attribute for the body of a class, of a parameter, buffer or submodule that its ``forward`` reads: see ``Member``."""
    return Member(Module.__getattr__)


def register_module_backward_hook(hook: Callable[..., object]) -> HookHandle:
    """Deprecated: as ``Module.register_backward_hook``, for every module."""
    if everywhere.full_backward is True:
        raise RuntimeError(_BOTH_KINDS.format("global Module hook"))
    everywhere.full_backward = False
    return HookHandle(everywhere.backward, hook)


def register_module_full_backward_hook(hook: Callable[..., object]) -> HookHandle:
    """Calls ``hook(module, grad_input, grad_output)`` for every module."""
    if everywhere.full_backward is False:
        raise RuntimeError(_BOTH_KINDS.format("global Module hook"))
    everywhere.full_backward = True
    return HookHandle(everywhere.backward, hook)


def register_module_full_backward_pre_hook(hook: Callable[..., object]) -> HookHandle:
    """Calls ``hook(module, grad_output)`` for every module."""
    return HookHandle(everywhere.backward_pre, hook)


def register_module_parameter_registration_hook(hook: Callable[..., object]) -> HookHandle:
    """Calls ``hook(module, name, parameter)`` whenever a module registers a parameter; it may return another one."""
    return HookHandle(everywhere.parameter_registration, hook)


def register_module_buffer_registration_hook(hook: Callable[..., object]) -> HookHandle:
    """Calls ``hook(module, name, buffer)`` whenever a module registers a buffer; it may return another one."""
    return HookHandle(everywhere.buffer_registration, hook)


def register_module_module_registration_hook(hook: Callable[..., object]) -> HookHandle:
    """Calls ``hook(module, name, submodule)`` whenever a module registers a submodule; it may return another one."""
    return HookHandle(everywhere.module_registration, hook)
