"""The public forms of an op: function, method, in-place form, ``out=``, all derived from its declaration."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from functools import update_wrapper
from inspect import Parameter
from typing import Any

from .._core import dtypes, overridable
from .._core.devices import accelerator
from .._core.fields import storage_of
from .._core.modes import carries, modes
from .._core.python_functions import FORWARDED_TO_METHOD, PYTHON
from .._core.tensor import Tensor
from .._core.torch_function import overloaded_arguments
from .apply import Dispatcher, apply
from .arguments import NumbersOf, Parameters, check_call, missing
from .autocast import cast_arguments, cast_call, without_autocast
from .inplace import check_not_inference, check_writable, into, watch_in_place, write, write_in_turn
from .opdef import Composite, Form, Op, Promote, declarations
from .options import resized
from .out_dtypes import exactly
from .overlap import Inner, Reading, reading, reading_in_place, refuse_overlap, refuse_overlap_with_out
from .overloads import OLDER, as_called_now, invalid_combination
from .type_names import type_name

FUNCTIONS: dict[str, Callable[..., Any]] = {}  # public name -> function form
DISPATCHER_OF: dict[str, Dispatcher] = {}
FUNCTIONAL = "torchlike.nn.functional"
FUNCTIONAL_OF_PYTORCH = "torch.nn.functional"
NOTHING: Mapping[str, object] = {}
NAMESPACES = ("fft", "linalg", "special")  # the name of an op in one of them begins with the namespace
_POSITION = re.compile(r" \(position (\d+)\)")
_ALONE = re.compile(
    r"^(?P<name>\w+)\(\) received an invalid combination of arguments - got \(Tensor\), but expected \((?P<parameters>.*)\)$"
)
_COUNTS = re.compile(
    r"^(?P<name>\w+)\(\) takes (from (?P<least>\d+) to )?(?P<most>\d+) positional arguments? but (?P<given>\d+) were given$"
)


# Reductions that take ``dtype=`` compute in the dtype of ``out=``.
_IN_DTYPE_OF_OUT = {Promote.REDUCE_INT_TO_LONG}


def function_form(op: Op, name: str | None = None, method: bool = False) -> Callable[..., Any]:
    """The function a user calls: ``torch.add(input, other, *, alpha=1, out=None)``.

    Args:
        name: another name of the same op.
        method: the form that Tensor gets, whose messages count arguments without ``self``.
    """
    dispatcher = DISPATCHER_OF.get(op.name) or Dispatcher(op)
    name = name or op.name
    parameters = op.parameters
    bind, complete, variadic = parameters.bind, parameters.complete, parameters.variadic
    # How many arguments a call has that gives them all by position; -1 if some of them cannot be given so.
    total = parameters.total if parameters.total == parameters.positional else -1
    # For calls that give the first arguments by position, by their number: the defaults of the others.
    tails = {} if variadic else parameters.tails
    takes_out = Form.OUT in op.forms
    casts, reads = bool(op.autocast), reading(op)
    in_dtype_of_out = takes_out and op.dtype_rule.promote in _IN_DTYPE_OF_OUT

    def call(*arguments: Any, **kwargs: Any) -> Any:
        args = arguments
        if kwargs and takes_out and "out" in kwargs:
            out = kwargs.pop("out")
            if out is not None:
                if in_dtype_of_out and isinstance(out, Tensor) and kwargs.get("dtype") is None:
                    kwargs["dtype"] = out.dtype
                if reads is not Reading.ANYWHERE:
                    # Before anything is computed, as in PyTorch: a call that is refused must not draw random numbers, for example.
                    refuse_overlap_with_out(reads, out, (*arguments, *kwargs.values()))
                if casts and modes.any_slow_mode and modes.autocast:
                    with without_autocast():
                        return _with_out(op, out, call(*arguments, **kwargs))
                return _with_out(op, out, call(*arguments, **kwargs))
        try:
            if kwargs:
                args = bind(name, args, kwargs)
            # The usual call gives all arguments by position, and needs nothing filled in.
            elif len(args) != total or variadic:
                tail = tails.get(len(args))
                args = complete(name, args) if tail is None else args + tail
            if casts and modes.any_slow_mode and modes.autocast:
                args = cast_arguments(op.autocast, args, {})[0]
            return apply(dispatcher, args)
        except TypeError as error:
            # Functions do not look for ``__torch_function__`` until an object with one has made a call fail, so that other programs pay
            # nothing.
            if first_to_override(arguments, kwargs):
                return call(*arguments, **kwargs)
            older = as_called_now(name, arguments, kwargs, method)
            if older is not None:
                return call(*older[0], **older[1])
            words = str(error)
            if method or kwargs:
                words = _with_argument_position(words, method, kwargs)
            if not name.startswith("_"):  # else a composite of the public name knows what was given
                words = invalid_combination(words, method, arguments, kwargs, parameters.expected())
            error.args = (words,)
            raise

    _dress(call, op.compute, name, op.forms)
    call.declared = op  # pyright: ignore[reportFunctionMemberAccess]
    if not method:
        FUNCTIONS[name] = call
        DISPATCHER_OF[name] = dispatcher
    return call


def first_to_override(args: tuple[object, ...], kwargs: Mapping[str, object]) -> bool:
    """Whether an argument overrides functions while these do not ask yet: now they do, and the call is to be made again."""
    if overridable.is_active() or not overloaded_arguments((*args, *kwargs.values())):
        return False
    overridable.activate()
    return True


def _with_argument_position(message: str, method: bool, kwargs: Mapping[str, object]) -> str:
    """Corrects an argument's position in a message: methods count without ``self``, and keyword arguments have none."""
    if any(f"argument '{name}' (position" in message for name in kwargs):
        return _POSITION.sub("", message)
    if not method:
        return message
    alone = _ALONE.match(message)
    if alone is not None:
        further = alone["parameters"].partition(", *")[0].split(", ")[1:]
        return str(missing(alone["name"], [parameter.split(" ")[-1] for parameter in further if "=" not in parameter]))
    message = message.replace(" - got (Tensor, ", " - got (", 1)
    message = _POSITION.sub(lambda at: f" (position {int(at[1]) - 1})", message)
    return _COUNTS.sub(_counted_without_self, message)


def _counted_without_self(match: re.Match[str]) -> str:
    name, least, most, count = match["name"], match["least"], int(match["most"]) - 1, int(match["given"]) - 1
    if not most:
        return f"TensorBase.{name}() takes no arguments ({count} given)"
    bounds = f"from {int(least) - 1} to {most}" if least else f"{most}"
    return f"{name}() takes {bounds} positional argument{'s' * (bool(least) or most != 1)} but {count} were given"


def _of_in_place(name: str, message: str, kwargs: Mapping[str, object]) -> str:
    """The message of a function as its in-place form gives it."""
    if not message.startswith(f"{name}("):
        return message
    return _with_argument_position(f"{name}_{message.removeprefix(name)}", True, kwargs)


def composite_form(composite: Composite, name: str | None = None, method: bool = False) -> Callable[..., Any]:
    """The function a user calls for something composed of ops; ``out=`` is handled here.

    Args:
        method: the form that Tensor gets, whose messages count arguments without ``self``.
    """
    function, name = composite.function, name or composite.name
    if "pin_memory" in (function.__kwdefaults__ or ()):
        function = _asking_for_pinned(function, name)

    rules, casts, reads = composite.autocast, bool(composite.autocast), reading(composite)
    numbers = NumbersOf(name, function, method)
    numbered, plans, parameters = numbers.needed, numbers.plans, numbers.parameters
    in_python = name in PYTHON["torch.Tensor" if method else "torch"] or (
        Form.FUNCTIONAL in composite.forms and Form.FUNCTION not in composite.forms
    )

    def after(
        error: Exception, args: tuple[object, ...], kwargs: dict[str, object], more: Mapping[str, object] = NOTHING
    ) -> object:
        """Makes a call that has failed again as PyTorch's functions in C++ read it besides, or raises its error in PyTorch's words.

        Args:
            more: the argument ``out``.
        """
        if first_to_override((*args, *more.values()), kwargs):
            return call(*args, **kwargs, **more)  # pyright: ignore[reportArgumentType]
        renamed = None if in_python else parameters.renamed(kwargs)
        gathered = parameters.gathered(args) if method and not in_python else None
        if renamed is not None or gathered is not None:
            with parameters.named_as_given(kwargs):
                return call(*(gathered or args), **(renamed or kwargs), **more)  # pyright: ignore[reportArgumentType]
        older = as_called_now(name, args, kwargs, method)
        if older is not None:
            return call(*older[0], **older[1], **more)  # pyright: ignore[reportArgumentType]
        check_call(name, function, args, kwargs, method)
        numbers.reword(error, args, kwargs)
        raise error

    def plain(*args: object, **kwargs: Any) -> object:
        if numbered:
            kinds = (*map(type, args), *kwargs, *map(type, kwargs.values())) if kwargs else tuple(map(type, args))
            if plans.get(kinds) != ():
                args, kwargs = numbers.checked(args, kwargs)
        try:
            if casts and modes.any_slow_mode and modes.autocast:
                return cast_call(rules, function, args, kwargs)
            return function(*args, **kwargs)
        except (TypeError, AttributeError) as error:
            return after(error, args, kwargs)

    def with_out(*args: object, out: Tensor | None = None, **kwargs: object) -> object:
        if reads is not Reading.ANYWHERE and out is not None:
            refuse_overlap_with_out(reads, out, (*args, *kwargs.values()))
        if numbered:
            kinds = (*map(type, args), *kwargs, *map(type, kwargs.values())) if kwargs else tuple(map(type, args))
            if plans.get(kinds) != ():
                args, kwargs = numbers.checked(args, kwargs)
        try:
            if casts and modes.any_slow_mode and modes.autocast:
                if out is None:
                    return cast_call(rules, function, args, kwargs)
                with without_autocast():
                    result = function(*args, **kwargs)
            else:
                result = function(*args, **kwargs)
        except (TypeError, AttributeError) as error:
            return after(error, args, kwargs, {"out": out})
        return result if out is None else _with_out(composite, out, result)

    call = with_out if Form.OUT in composite.forms else _OF_ITEMS[name](function, after) if name in _OF_ITEMS else plain
    _dress(call, function, name, composite.forms)
    call.declared = composite  # pyright: ignore[reportFunctionMemberAccess]
    if not method:
        FUNCTIONS[name] = call
    return call


def _reading_item(function: Callable[..., object], after: Callable[..., object]) -> Callable[..., object]:
    """``x[index]``. Python gives the arguments by position; programs with many small tensors call nothing more often."""

    def call(self: object, index: object) -> object:
        try:
            return function(self, index)
        except (TypeError, AttributeError) as error:
            return after(error, (self, index), {})

    return call


def _writing_item(function: Callable[..., object], after: Callable[..., object]) -> Callable[..., object]:
    """``x[index] = value``."""

    def call(self: object, index: object, value: object) -> object:
        try:
            return function(self, index, value)
        except (TypeError, AttributeError) as error:
            return after(error, (self, index, value), {})

    return call


_OF_ITEMS = {"__getitem__": _reading_item, "__setitem__": _writing_item}


def _asking_for_pinned(function: Callable[..., object], name: str) -> Callable[..., Any]:
    """A function that makes tensors, with a check of ``pin_memory``, which needs an accelerator."""

    def call(*args: object, **kwargs: object) -> object:
        pinned = kwargs.get("pin_memory")
        if pinned is not None and pinned is not False:
            if pinned is not True:
                raise TypeError(f"{name}(): argument 'pin_memory' must be bool, not {type_name(pinned)}")
            if accelerator() is None:
                raise RuntimeError(
                    "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is available on this "
                    "system."
                )
        return function(*args, **kwargs)

    return update_wrapper(call, function)


def inplace_form(name: str) -> Callable[..., Any]:
    """``Tensor.add_``: computes as the function does and puts the result into the tensor."""
    function = FUNCTIONS[name]
    validate, casts = function.declared.validation.inplace, bool(function.declared.autocast)
    reads, keeps_history = reading_in_place(function.declared), name.startswith("logical_")
    declared = function.declared
    # Whether each element of the result depends on the same element alone, as in what works element by element, and in what writes to
    # the places that an index names. All other operations are refused where elements share places.
    by_element = reads in (Reading.ELSEWHERE, Reading.NUMBERS_ASIDE) or (
        reads is Reading.SAME_PLACES and declared.overlap is None
    )
    inner = Inner.ANYWHERE if declared.validation.expanded else Inner.IN_WINDOWS if by_element else Inner.NOWHERE

    most = len(OLDER[name].tensors) if name in OLDER else None

    def call(self: Tensor, *args: object, **kwargs: object) -> Tensor:
        if most is not None and len(args) > most:
            older = as_called_now(name, (self, *args), kwargs, method=True, shown=f"{name}_")
            if older is not None:
                return call(*older[0], **older[1])  # pyright: ignore[reportArgumentType]
        if validate is not None:
            validate(self, *args, **kwargs)
        # Before the operation is recorded: a call that is refused must not leave work behind.
        view = check_writable(self)
        if reads is not Reading.ANYWHERE and (args or kwargs):
            refuse_overlap(reads, self, (*args, *kwargs.values()))
        if view is not None and view.overlaps(storage_of(self)):
            return write_in_turn(self, lambda shown: function(shown, *args, **kwargs), inner, keeps_history)
        if casts and modes.any_slow_mode and modes.autocast:
            with without_autocast():
                result = function(self, *args, **kwargs)
        else:
            try:
                result = function(self, *args, **kwargs)
            except TypeError as error:
                error.args = (_of_in_place(name, str(error), kwargs),)
                raise
        watch_in_place(self, result)
        return write(self, result, keeps_history)

    _dress(call, function, name + "_")
    return call


def top_level() -> dict[str, Callable[..., Any]]:
    """The functions that declarations give to the package itself: ``torch.relu`` and ``torch.relu_``."""
    functions: dict[str, Callable[..., object]] = {}
    for name, _, forms in declarations():
        if Form.FUNCTION in forms:
            functions[name] = FUNCTIONS[name]
        if Form.INPLACE_FUNCTION in forms:
            functions[f"{name}_"] = inplace_form(name)
    return functions


def functional() -> dict[str, Callable[..., Any]]:
    """The functions that declarations give to ``torch.nn.functional``."""
    functions: dict[str, Callable[..., object]] = {}
    for name, record, forms in declarations():
        if Form.FUNCTIONAL in forms:
            functions[name] = FUNCTIONS[name]
            if Form.FUNCTION in forms and name in PYTHON[FUNCTIONAL_OF_PYTORCH] | FORWARDED_TO_METHOD:
                functions[name] = overridable.own_copy(FUNCTIONS[name])  # pyright: ignore[reportArgumentType]
                functions[name].__module__ = FUNCTIONAL
        if Form.INPLACE_ARGUMENT in forms:
            functions[name] = functional_form(record, name)
        if Form.INPLACE_FUNCTIONAL in forms:
            functions[f"{name}_"] = functional_form(record, name, always_inplace=True)
    return functions


def functional_form(record: Op | Composite, name: str, always_inplace: bool = False) -> Callable[..., Any]:
    """``torch.nn.functional.silu``, which has a further argument ``inplace``; or ``torch.nn.functional.elu_``, which has none.

    It is compiled from text, as ``dataclasses`` compiles ``__init__``. So Python itself binds the arguments and words the errors,
    as with PyTorch's functions of that namespace, which are written in Python.
    """
    parameters = Parameters(record.source)
    if parameters.positional < parameters.total:
        raise TypeError(f"{name!r}: a form with ``inplace`` needs parameters that can be given by position")
    names = ", ".join(parameters.names)
    in_place, doc = f"_into({parameters.names[0]}, True, _function({names}))", record.source.__doc__
    if always_inplace:
        text, doc = f"def {name}_({names}): return {in_place}", f"``{name}`` in place."
    else:
        text = f"def {name}({names}, inplace): return {in_place} if inplace else _function({names})"
    defined: dict[str, Any] = {}
    exec(text, {"__name__": FUNCTIONAL, "_into": into, "_function": FUNCTIONS[name]}, defined)
    (call,) = defined.values()
    further = {} if always_inplace else {"inplace": "bool"}
    defaults = [default for default in parameters.defaults if default is not Parameter.empty]
    call.__defaults__ = (*defaults, *[False for _ in further])
    annotations = {n: _SHOWN.get(a, a) for n, a in zip(parameters.names, parameters.annotations, strict=True)}
    call.__annotations__ = annotations | further | {"return": "Tensor"}
    call.__doc__ = doc
    return call


_SHOWN = {"Array": "Tensor", "Number": "float"}  # annotations of ``compute`` as users read them


def namespaced(name: str) -> bool:
    """Whether users find the op of this name in a namespace: ``linalg_inv`` is ``torch.linalg.inv``."""
    return name.split("_")[0] in NAMESPACES


def _dress(call: Callable[..., object], source: Callable[..., object], name: str, forms: Form = Form.NONE) -> None:
    if call is not source:
        update_wrapper(call, source)
    module = FUNCTIONAL if Form.FUNCTIONAL in forms and Form.FUNCTION not in forms else "torchlike"
    if namespaced(name):
        namespace, _, name = name.partition("_")
        module = f"torchlike.{namespace}"
    call.__name__ = call.__qualname__ = name
    call.__module__ = module


def _with_out(op: Op | Composite, out: Tensor | None, result: Any, part: bool = False) -> Any:
    """Writes results into the tensors given as ``out=``, by PyTorch's rules, and returns those. ``part``: it is one of several results."""
    if isinstance(result, tuple):
        if not isinstance(out, (tuple, list)) or len(out) != len(result):
            raise TypeError(f"{op.name}(): argument 'out' must be tuple of Tensors, not {type(out).__name__}")
        filled = [_with_out(op, o, r, part=True) for o, r in zip(out, result, strict=True)]
        return type(result)(*filled) if hasattr(result, "_fields") else tuple(filled)
    if not isinstance(out, Tensor):
        raise TypeError(f"{op.name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if carries(result, out):
        raise NotImplementedError(
            f"Trying to use forward AD with {op.name}_out that does not support it because it is an out= function"
        )
    if modes.grad_enabled and (result._requires_grad or out._tracked):
        raise RuntimeError(
            f"{op.name}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
            "requires grad."
        )
    check_not_inference(out)
    if out.device is not result.device:
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found at least two devices, {result.device} and {out.device}!"
        )
    if out.dtype is not result.dtype:
        promotes_nothing = part or (isinstance(op, Op) and op.dtype_rule.promote is Promote.NONE)
        find_error = (op.validation.outs if part else op.validation.out) or (exactly if promotes_nothing else None)
        error = None if find_error is None else find_error(result.dtype, out.dtype)
        if error is not None:
            raise error
    if not dtypes.can_cast(result.dtype, out.dtype):
        raise RuntimeError(
            f"result type {result.dtype.scalar_name} can't be cast to the desired output type {out.dtype.scalar_name}"
        )
    if out.shape != result.shape:
        if out.numel():
            warnings.warn(
                f"An output with one or more elements was resized since it had shape {list(out.shape)}, which does not match the "
                f"required output shape {list(result.shape)}. This behavior is deprecated, and in a future PyTorch release "
                "outputs will not be resized unless they have zero elements. You can explicitly reuse an out tensor t by "
                "resizing it, inplace, to zero elements with t.resize_(0).",
                UserWarning,
                stacklevel=3,
            )
        return resized(out, result.to(out.dtype))
    return write(out, result, inner=Inner.IN_WINDOWS)
