"""Operators as objects, torchlike's and programs' own: ``torch.ops.namespace.name.overload``."""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from .. import ops as _operators
from .._core.modes import hooks, modes
from .._core.overridable import overridable_namespaces
from .._core.signatures import Args, Function as AnyFunction, Kwargs
from .._core.tensor import Tensor
from .._core.torch_function import ALL_OFF, PLAIN, ask, overloaded_arguments, refuse_dispatch, settings
from .._library._overload_names import OVERLOADS
from .._library.argument_types import misfit
from .._library.infer_schema import Argument, FunctionSchema, parse
from .._missing import DEFINED_IN
from ..autograd import Function
from ..autograd.grad_mode import no_grad
from ..dispatch.bindings import FUNCTIONS
from .inner import INNER
from .signatures import is_operator, overloads_of, signature_of

__all__ = [
    "DEFINED",
    "Definition",
    "OpOverload",
    "OpOverloadPacket",
    "define",
    "dl_open_guard",
    "forget",
    "operator",
    "packet_of",
]


@contextmanager
def dl_open_guard() -> Iterator[None]:
    """Does nothing: no library of PyTorch's operators is opened."""
    yield


_COMPOSITE = ("CompositeImplicitAutograd", "CompositeExplicitAutograd", "")


class Definition:
    """An operator that a program has defined: its signature and its implementations by device."""

    def __init__(self, qualname: str, schema: FunctionSchema, custom: bool = False) -> None:
        self.qualname, self.schema, self.custom = qualname, schema, custom
        self.kernels: dict[str, AnyFunction] = {}  # by dispatch key
        self.disabled: set[str] = set()
        self.fake: AnyFunction | None = None
        self.backward: AnyFunction | None = None
        self.setup_context: AnyFunction | None = None
        self.owner: Any = None

    def bind(self, args: Args, kwargs: Kwargs) -> Kwargs:
        """The arguments by parameter, defaults included; RuntimeError in PyTorch's words where they do not fit."""
        name, schema = self.qualname, self.schema
        positional = [argument for argument in schema.arguments if not argument.kwarg_only]
        if len(args) > len(positional):
            raise RuntimeError(
                f"{name}() expected at most {len(positional)} argument(s) but received {len(args) + len(kwargs)} argument(s). "
                f"Declaration: {self._declared()}"
            )
        bound_arguments: Kwargs = {}
        keywords = dict(kwargs)
        for place, argument in enumerate(schema.arguments):
            if place < len(args) and not argument.kwarg_only:
                bound_arguments[argument.name] = args[place]
            elif argument.name in keywords:
                bound_arguments[argument.name] = keywords.pop(argument.name)
            elif argument.has_default_value():
                bound_arguments[argument.name] = argument.default
            else:
                raise RuntimeError(
                    f"{name}() is missing value for argument '{argument.name}'. Declaration: {self._declared()}"
                )
            self._check(place, argument, bound_arguments[argument.name])
        for argument in positional[: len(args)]:
            if argument.name in keywords:
                raise RuntimeError(
                    f"Argument '{argument.name}' specified both as positional and keyword argument. Schema: {self._declared()}"
                )
        if keywords:
            raise RuntimeError(
                f"Unknown keyword argument '{next(iter(keywords))}' for operator '{name}'. Schema: {self._declared()}"
            )
        return bound_arguments

    def _declared(self) -> str:
        return f"{self.qualname}{str(self.schema)[len(self.schema.name) :]}"

    def _check(self, place: int, argument: Argument, value: object) -> None:
        words = misfit(argument, value)
        if words is not None:
            raise RuntimeError(
                f"{self.qualname}() {words[0]}\nPosition: {place}\n{words[1]}\nDeclaration: {self._declared()}\n{words[2]}"
            )

    def kernel_for(self, values: Kwargs) -> AnyFunction:
        """The implementation for these arguments.

        Raises:
            NotImplementedError: there is none for their device.
        """
        place = next((t.device.type for t in _tensors(values.values())), "cpu").upper()
        for key in (place, *_COMPOSITE):
            if key in self.kernels and not (self.custom and key.lower() in self.disabled):
                return self.kernels[key]
        raise NotImplementedError(
            f"Could not run '{self.qualname}' with arguments from the '{place}' backend: it has no implementation for it. It has "
            f"those for {', '.join(self.kernels) or 'nothing'}"
        )

    def __call__(self, *args: object, **kwargs: object) -> Any:
        values = self.bind(args, kwargs)
        if modes.autocast:
            place = next((t.device.type for t in _tensors(values.values())), "cpu")
            casting = self.kernels.get(f"Autocast{place.upper()}") if place in modes.autocast else None
            if casting is not None:
                return self._run(casting, values)
        for key in ("Autograd", "AutogradCPU", "AutogradCUDA"):
            if key in self.kernels:
                return self._run(self.kernels[key], values)
        kernel = self.kernel_for(values)
        if self.backward is None and not self.custom:
            return self._run(kernel, values)
        tensors = _tensors(values.values())
        if not any(t.requires_grad for t in tensors):
            return self._run(kernel, values)
        return _recorded(self, kernel, values)

    def _run(self, kernel: AnyFunction, values: Kwargs) -> Any:
        keywords = {a.name: values[a.name] for a in self.schema.arguments if a.kwarg_only}
        result = kernel(*[values[a.name] for a in self.schema.arguments if not a.kwarg_only], **keywords)
        if self.custom and any(r is t for r in _tensors((result,)) for t in _tensors(values.values())):
            raise RuntimeError(
                f"{self.qualname} (with implementation in {kernel.__module__}): The output of this custom operator (1) must not also be "
                "an input to this custom operator and (2) may not alias any inputs to this custom operator or other returns. The most "
                "common way to trigger this error is if we have y = custom_op(x) and y and x are the same Tensor. Please instead return "
                "a clone of the offending output tensor(s) (e.g. return x.clone()) or refactor the custom operator to not return y."
            )
        return result


def _tensors(values: Any) -> list[Tensor]:
    """The tensors among some values, and in the lists among them."""
    tensors: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            tensors.append(value)
        elif isinstance(value, (list, tuple)):
            tensors += [element for element in value if isinstance(element, Tensor)]
    return tensors


def _recorded(definition: Definition, kernel: AnyFunction, values: Kwargs) -> Any:
    """Runs an implementation as one node of the graph, with the backward that was registered."""
    names = list(values)
    lengths = {n: len(v) for n, v in values.items() if isinstance(v, (list, tuple)) and _tensors((v,))}
    flat: list[object] = []
    for name in names:
        flat += list(values[name]) if name in lengths else [values[name]]  # pyright: ignore[reportArgumentType]

    def grouped(flat_values: Any) -> Kwargs:
        remaining = iter(flat_values)
        return {n: [next(remaining) for _ in range(lengths[n])] if n in lengths else next(remaining) for n in names}

    by_name = [a.name for a in definition.schema.arguments if a.kwarg_only]

    class Recorded(Function):
        @staticmethod
        def forward(ctx: object, *flat_values: object) -> Any:
            inputs = grouped(flat_values)
            with no_grad():
                result = definition._run(kernel, inputs)
            if definition.setup_context is not None:
                positional = tuple(inputs[n] for n in names if n not in by_name)
                extra = {"keyword_only_inputs": {n: inputs[n] for n in by_name}} if by_name else {}
                definition.setup_context(ctx=ctx, inputs=positional, output=result, **extra)
            return tuple(result) if isinstance(result, list) else result

        @staticmethod
        def backward(ctx: object, *grads: object) -> Any:
            if definition.backward is None:
                raise RuntimeError(
                    f"Trying to backward through {definition.qualname.replace('::', '.')}.default but no autograd formula was registered. "
                    "Please use register_autograd to add one."
                )
            back = definition.backward(ctx, *grads)
            back = back if isinstance(back, tuple) else (back,)
            flat: list[Any] = []
            positional = [n for n in names if n not in by_name]
            if len(back) != len(positional):
                raise RuntimeError(
                    f"Expected {definition.qualname}'s backward function to return one grad for each input, {len(positional)}, but got "
                    f"{len(back)}"
                )
            by_parameter: dict[str, Any] = dict(zip(positional, back, strict=True))
            for name in names:
                grad = by_parameter.get(name)
                if name in lengths:
                    flat += [None] * lengths[name] if grad is None else list(grad)
                else:
                    flat.append(grad)
            return tuple(flat)

    Recorded.__name__ = Recorded.__qualname__ = f"GeneratedBackwardFor_{definition.qualname.replace('::', '_')}_default"
    return Recorded.apply(*flat)


DEFINED: dict[str, dict[str, Definition]] = {}  # by qualified name, by overload


_PACKAGE = __name__.partition(".")[0]


def _is_own(kind: type) -> bool:
    """Whether it is a tensor class or a mode of torchlike itself, which know public functions."""
    return kind.__module__.partition(".")[0] == _PACKAGE and not hasattr(kind, "records_operators")


def ask_about(operator: Any, args: Args, kwargs: Kwargs, compute: AnyFunction) -> Any:
    """Asks modes and arguments that override about an operator. What is torchlike's own is asked by the public function behind it."""
    if settings.off == ALL_OFF:
        return compute(*args, **kwargs)
    overriding = [] if settings.off else overloaded_arguments((*args, *kwargs.values()))
    asked = [arg for arg in overriding if not _is_own(type(arg))]
    is_mode = bool(settings.stack) and not _is_own(type(settings.stack[-1]))
    if not asked and not is_mode:
        return compute(*args, **kwargs)
    return ask(operator, asked, tuple(map(type, asked)), args, kwargs or None, refuse_dispatch(f"torch.ops.{operator}"))


class OpOverload:
    """``torch.ops.aten.add.Tensor``: one form of an operator."""

    def __init__(self, packet: OpOverloadPacket, function: AnyFunction, overload: str, schema: object = None) -> None:
        self._op = function
        self._overloadpacket = packet
        self._overloadname = "" if overload == "default" else overload
        self.namespace, _, name = packet._qualified_op_name.partition("::")
        self.__name__ = f"{name}.{overload}"
        self.__module__ = f"torch._ops.{self.namespace}"
        self.__qualname__ = self.__name__
        self.tags: list[object] = []
        self._defined_schema = schema
        self._signature = signature_of(name, overload) if self.namespace == "aten" else None

    @property
    def _schema(self) -> Any:
        if self._defined_schema is None:
            if self._signature is not None:
                return self._signature.schema
            raise NotImplementedError(
                f"torchlike does not have the schema of {self}: its operators have Python signatures"
            )
        return self._defined_schema

    @property
    def overloadpacket(self) -> OpOverloadPacket:
        """The operator of which this is one form."""
        return self._overloadpacket

    @property
    def op(self) -> AnyFunction:
        """The function that the operator calls."""
        return self._op

    def name(self) -> str:
        """``aten::add.Tensor``."""
        overload = f".{self._overloadname}" if self._overloadname else ""
        return f"{self._overloadpacket._qualified_op_name}{overload}"

    def __call__(self, /, *args: object, **kwargs: object) -> Any:
        for arg in (*args, *kwargs.values()):
            if arg.__class__ not in PLAIN:  # also while a mode is active somewhere
                return ask_about(self, args, kwargs, self._compute)
        return self._compute(*args, **kwargs)

    def _compute(self, /, *args: object, **kwargs: object) -> Any:
        if hooks.on:
            return hooks.call_operator(self, args, kwargs, lambda: self._op(*args, **kwargs))
        return self._op(*args, **kwargs)

    def __hash__(self) -> int:
        return hash(self._op)

    def __str__(self) -> str:
        return f"{self._overloadpacket}.{self._overloadname or 'default'}"

    def __repr__(self) -> str:
        space, _, name = self._overloadpacket._qualified_op_name.partition("::")
        return f"<OpOverload(op='{space}.{name}', overload='{self._overloadname or 'default'}')>"

    def __deepcopy__(self, memo: object = None) -> OpOverload:
        return self


class OpOverloadPacket:
    """``torch.ops.aten.add``: an operator with all its forms."""

    def __init__(self, qualified: str, function: AnyFunction | None) -> None:
        self._qualified_op_name = qualified
        self.__name__ = qualified.partition("::")[2]
        self.__module__ = f"torch.ops.{qualified.partition('::')[0]}"
        self._function = function
        self._overloads: dict[str, OpOverload] = {}

    def __getattr__(self, name: str) -> OpOverload:
        if name.startswith("__"):
            raise AttributeError(
                f"'{self}' can't have an overload name beginning with '__' and the underlying op '{self}' has no attribute {name}"
            )
        operator = self._overloads.get(name)
        if operator is None:
            if self._function is not None:
                overload_names = overloads_of(self.__name__) if self._qualified_op_name.startswith("aten::") else ()
                if name not in (overload_names or OVERLOADS):
                    raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")
                operator = OpOverload(self, self._function, name)
            else:
                definition = DEFINED.get(self._qualified_op_name, {}).get("" if name == "default" else name)
                if definition is None:
                    raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")
                operator = OpOverload(self, definition, name, definition.schema)
            self._overloads[name] = operator
        return operator

    def overloads(self) -> list[str]:
        """The names of the forms."""
        if self._function is not None:
            return [*overloads_of(self.__name__)] or ["default"]
        return [name or "default" for name in DEFINED.get(self._qualified_op_name, {})]

    def __call__(self, /, *args: object, **kwargs: object) -> Any:
        if self._function is not None:
            return ask_about(self, args, kwargs, self._function)
        forms = list(DEFINED[self._qualified_op_name].values())
        for form in forms[:-1]:
            try:
                form.bind(args, kwargs)
            except RuntimeError:
                continue
            return form(*args, **kwargs)
        return forms[-1](*args, **kwargs)

    def __str__(self) -> str:
        return self._qualified_op_name.replace("::", ".")

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"

    def __deepcopy__(self, memo: object = None) -> OpOverloadPacket:
        return self


_packets: dict[str, OpOverloadPacket] = {}


def packet_of(namespace: str, name: str) -> OpOverloadPacket | None:
    """The operator of this name; None where there is none."""
    qualified = f"{namespace}::{name}"
    packet = _packets.get(qualified)
    if packet is None:
        function = _function_of(name) if namespace in ("aten", "prims") else None
        if function is None and qualified not in DEFINED:
            if namespace != "aten" or not is_operator(name):
                return None
            function = _missing_operator(qualified)
        packet = _packets[qualified] = OpOverloadPacket(qualified, None if qualified in DEFINED else function)
    return packet


def operator(name: str, overload: str = "default") -> Any:
    """``torch.ops.aten.name.overload``."""
    return getattr(packet_of("aten", name), overload)


def _missing_operator(qualified: str) -> AnyFunction:
    """Stands for an operator that is not there: libraries name many of them, and call few."""

    def refuse(*args: object, **kwargs: object) -> NoReturn:
        raise NotImplementedError(f"torchlike does not support the operator {qualified} yet")

    return refuse


def _function_of(name: str) -> AnyFunction | None:
    """The function of torchlike that is the operator of this name."""
    if name in INNER:
        return INNER[name]
    for candidate in (
        vars(_operators).get(name),
        vars(Tensor).get(name),
        FUNCTIONS.get(name),
        _beside_torch(name),
        _functional(name),
    ):
        if isinstance(candidate, types.FunctionType):
            return _with_operators_defaults(name, candidate)
    return None


def _with_operators_defaults(name: str, function: AnyFunction) -> AnyFunction:
    """A function with the defaults that its operator has: ``torch.kl_div`` does not reduce if it is not told to, ``aten.kl_div`` does."""
    signature = overloads_of(name).get("default")
    parameters = inspect.signature(function).parameters
    others = [
        (place, argument.name, argument.default)
        for place, argument in enumerate(() if signature is None else signature.schema.arguments)
        if argument.name in parameters
        and type(parameters[argument.name].default) is type(argument.default)
        and parameters[argument.name].default != argument.default
    ]
    if not others:
        return function

    def call(*args: Any, **kwargs: Any) -> Any:
        missing = {key: default for place, key, default in others if place >= len(args)}
        return function(*args, **(missing | kwargs))

    return call


def _beside_torch(name: str) -> Any:
    """A function of the namespace ``torch`` that it gets when it is first asked for."""
    names: Any = overridable_namespaces()["torch"]
    torch = sys.modules[names["__name__"]]
    function = getattr(torch, name, None) if name in DEFINED_IN[torch.__name__] else None
    return function if isinstance(function, types.FunctionType) else None


def _functional(name: str) -> Any:
    """A function of ``torch.nn.functional``; for a name like ``silu_`` the function that has an argument ``inplace``."""
    names: Any = overridable_namespaces().get("torch.nn.functional", {})
    function = names.get(name.removesuffix("_"))
    if not isinstance(function, types.FunctionType) or not name.endswith("_"):
        return function
    if "inplace" not in inspect.signature(function).parameters:
        return None

    def write(*args: Any) -> Any:
        return function(*args, inplace=True)

    return write


def define(qualname: str, schema: str, custom: bool = False) -> Definition:
    """Defines an operator. RuntimeError where it is defined already."""
    parsed = parse(schema)
    forms = DEFINED.setdefault(qualname, {})
    if parsed.overload_name in forms:
        raise RuntimeError(
            f"Tried to register an operator ({qualname}{str(parsed)[len(parsed.name) :]}) with the same name and overload name multiple "
            "times. Each overload's schema should only be registered with a single call to def()."
        )
    parsed.name = qualname
    forms[parsed.overload_name] = definition = Definition(qualname, parsed, custom)
    return definition


def forget(definition: Definition) -> None:
    """Undoes ``define``."""
    forms = DEFINED.get(definition.qualname, {})
    forms.pop(definition.schema.overload_name, None)
    if not forms:
        DEFINED.pop(definition.qualname, None)
        _packets.pop(definition.qualname, None)
