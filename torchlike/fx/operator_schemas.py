"""The signatures of operators, and the arguments of a call in the order and under the names that a signature gives them."""

from __future__ import annotations

import inspect
import numbers
import re
import types
import typing
from typing import Any, NamedTuple

from .._core import devices
from .._core.signatures import Args, Function, Kwargs
from .._core.tensor import Tensor
from .._library.infer_schema import FunctionSchema
from .._ops import OpOverload, OpOverloadPacket, packet_of
from .._ops.signatures import is_operator
from ..nn import Module
from ._targets import compiled_name

__all__ = [
    "ArgsKwargsPair",
    "check_for_mutable_operation",
    "create_type_hint",
    "get_signature_for_torch_op",
    "normalize_function",
    "normalize_module",
    "type_matches",
]


class ArgsKwargsPair(NamedTuple):
    """The arguments of a call: those by position and those by name."""

    args: Args
    kwargs: Kwargs


# What the types of a schema are in Python. A dtype, a layout and a memory format count as the numbers that they are in PyTorch's schemas.
_TYPES: dict[str, Any] = {
    "Tensor": Tensor,
    "Scalar": numbers.Number,
    "SymInt": int,
    "int": int,
    "float": float,
    "bool": bool,
    "str": str,
    "ScalarType": int,
    "Layout": int,
    "MemoryFormat": int,
    "Device": devices.device,
    "Generator": Any,
    "complex": complex,
}
_LISTED = re.compile(r"(?P<inner>.+)\[\d*\]$")


def _python_type(word: str) -> Any:
    if word.endswith("?"):
        return typing.Optional[_python_type(word[:-1])]  # noqa: UP045  # the form that ``type_matches`` and programs read
    if (listed := _LISTED.match(word)) is not None:
        return typing.List[_python_type(listed["inner"])]  # noqa: UP006  # as it prints in PyTorch
    return _TYPES.get(word, Any)


def _returned(text: str) -> Any:
    text = re.sub(r"\([a-z!|*\-> ]+\)", "", text)  # what the result shares memory with
    if text.startswith("("):
        parts = [part.split()[0] for part in text[1:-1].split(",") if part.strip()]
        return tuple(_python_type(part) for part in parts) if len(parts) > 1 else None
    return _python_type(text.split()[0])


def _signature(schema: FunctionSchema) -> inspect.Signature:
    parameters: list[inspect.Parameter] = []
    for argument in schema.arguments:
        kind = inspect.Parameter.KEYWORD_ONLY if argument.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
        if argument.name == "from":  # no name in Python, so neither it nor those before it can be given by name
            parameters = [each.replace(kind=inspect.Parameter.POSITIONAL_ONLY) for each in parameters]
            kind = inspect.Parameter.POSITIONAL_ONLY
        name = "input" if argument.name == "self" else argument.name
        parameters.append(
            inspect.Parameter(name, kind, default=argument.default, annotation=_python_type(argument.type))
        )
    return inspect.Signature(parameters, return_annotation=_returned(schema.returns))


def _schemas(op: object) -> list[FunctionSchema] | None:
    if isinstance(op, OpOverload):
        return [op._schema]
    if not isinstance(op, OpOverloadPacket):
        name = compiled_name(op) or _private_name(op)
        op = None if name is None else packet_of("aten", name)
    if not isinstance(op, OpOverloadPacket):
        return None
    try:
        return [getattr(op, name)._schema for name in op.overloads()]
    except NotImplementedError:  # an operator whose schema is not recorded
        return None


def _private_name(op: object) -> str | None:
    """The name of an operator that PyTorch's own programs call, and nobody overrides: ``torch._segment_reduce``."""
    name = getattr(op, "__name__", "")
    packet = packet_of("aten", name) if name.startswith("_") else None
    if packet is None or packet._function is not op:
        return None
    return name if is_operator(name) else name.removeprefix("_")  # ``torch._segment_reduce`` is ``aten.segment_reduce``


def get_signature_for_torch_op(op: Function, return_schemas: bool = False) -> Any:
    """The signatures of an operator, one for each overload; None for what is no operator.

    Args:
        return_schemas: whether the result is a pair of the signatures and the schemas that they come from.

    >>> from torchlike.fx.operator_schemas import get_signature_for_torch_op
    >>> [list(signature.parameters) for signature in get_signature_for_torch_op(torch.sin)]
    [['input'], ['input', 'out']]
    """
    schemas = _schemas(op)
    signatures = None if schemas is None else [_signature(schema) for schema in schemas]
    return (signatures, schemas) if return_schemas else signatures


def create_type_hint(x: object) -> Any:
    """The list or tuple type that fits a list or tuple of types."""
    if not isinstance(x, (list, tuple)):
        return x
    a_list: Any = list
    a_tuple: Any = tuple
    if not x:
        return a_list[Any] if isinstance(x, list) else a_tuple[Any, ...]
    common = next((each for each in x if all(_is_subclass(other, each) for other in x)), Any)
    return a_list[common] if isinstance(x, list) else a_tuple[common, ...]


def _is_subclass(one: object, other: object) -> bool:
    return isinstance(one, type) and isinstance(other, type) and issubclass(one, other)


def type_matches(signature_type: object, argument_type: object) -> bool:
    """Whether a parameter of a signature takes an argument of a type.

    >>> from torchlike.fx.operator_schemas import type_matches
    >>> type_matches(list[int], int), type_matches(float, str)
    (True, False)
    """
    origin = typing.get_origin(signature_type)
    if signature_type == argument_type:
        return True
    if origin in (typing.Union, types.UnionType):
        return any(type_matches(each, argument_type) for each in typing.get_args(signature_type))
    if origin is list:
        (inner,) = typing.get_args(signature_type)
        if inner is int and argument_type is int:  # one size stands for all
            return True
        if typing.get_origin(argument_type) in (list, tuple):
            given = [each for each in typing.get_args(argument_type) if each is not Ellipsis]
            return all(type_matches(inner, each) or each is Any for each in given)
        return False
    if signature_type is numbers.Number and argument_type in (int, float, complex):
        return True
    return _is_subclass(argument_type, signature_type)


def _bound(signature: inspect.Signature, args: Args, kwargs: Kwargs, by_name: bool) -> ArgsKwargsPair | None:
    """The arguments, completed by the defaults. None where one has no name and all must be given by name."""
    names = list(signature.parameters.values())
    if any(each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) for each in names):
        return None
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    positional, named = [], {}
    for i, each in enumerate(names):
        value = bound.arguments[each.name]
        if each.kind is each.POSITIONAL_ONLY or (i < len(args) and not by_name):
            positional.append(value)
        else:
            named[each.name] = value
    return ArgsKwargsPair(tuple(positional), named)


def _fits(signature: inspect.Signature, args: Args, kwargs: Kwargs) -> bool:
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def normalize_function(
    target: Function,
    args: Args,
    kwargs: Kwargs | None = None,
    arg_types: Args | None = None,
    kwarg_types: Kwargs | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The arguments of a call as the function's signature has them, with the defaults of those that are left out.

    Args:
        arg_types, kwarg_types: their types, which choose among the overloads of an operator.
        normalize_to_only_use_kwargs: whether all are given by name.

    Returns:
        The arguments; None where no signature fits.

    Raises:
        RuntimeError: several overloads fit, and no types are given.

    >>> from torchlike.fx.operator_schemas import normalize_function
    >>> normalize_function(torch.nn.functional.relu, (1,), normalize_to_only_use_kwargs=True)
    ArgsKwargsPair(args=(), kwargs={'input': 1, 'inplace': False})
    """
    kwargs = kwargs or {}
    signatures = get_signature_for_torch_op(target)
    if signatures is None:
        if isinstance(target, types.BuiltinFunctionType):
            return None
        try:
            return _bound(inspect.signature(inspect.unwrap(target)), args, kwargs, normalize_to_only_use_kwargs)
        except (TypeError, ValueError):
            return None
    fitting = [signature for signature in signatures if _fits(signature, args, kwargs)]
    if len(fitting) > 1:
        if arg_types is None and kwarg_types is None:
            raise RuntimeError(
                f"Tried to normalize arguments to {_full_name(target)} but the schema match was ambiguous! Please provide argument types "
                f"to the normalize_arguments() call. Available schemas:\n{chr(10).join(map(str, fitting))}"
            )
        given = arg_types or (), kwarg_types or {}
        fitting = [signature for signature in fitting if _typed(signature, *given)]
    return _bound(fitting[0], args, kwargs, normalize_to_only_use_kwargs) if fitting else None


def _full_name(target: object) -> str:
    name = compiled_name(target)
    return str(target) if name is None else f"torch._VariableFunctionsClass.{name}"


def _typed(signature: inspect.Signature, arg_types: Args, kwarg_types: Kwargs) -> bool:
    try:
        bound = signature.bind(*arg_types, **kwarg_types)
    except TypeError:
        return False
    parameters = signature.parameters
    return all(type_matches(parameters[name].annotation, kind) for name, kind in bound.arguments.items())


def normalize_module(
    root: Module,
    target: str,
    args: Args,
    kwargs: Kwargs | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The arguments of a call of a layer of torch's in ``root`` as its ``forward`` has them; None for layers of other classes.

    Raises:
        RuntimeError: there is no such layer.
    """
    try:
        layer = root.get_submodule(target)
    except AttributeError:
        raise RuntimeError(f"Tried to normalize node with target {target} but root did not have that target!") from None
    from .. import nn

    if getattr(nn, type(layer).__name__, None) is not type(layer):
        return None
    return _bound(inspect.signature(layer.forward), args, kwargs or {}, normalize_to_only_use_kwargs)


def check_for_mutable_operation(target: Function, args: Args, kwargs: Kwargs) -> None:
    """Refuses a call that writes to one of its arguments.

    Raises:
        RuntimeError: it does.
    """
    signatures, schemas = get_signature_for_torch_op(target, return_schemas=True)
    if not signatures:
        return
    fitting = [schema for signature, schema in zip(signatures, schemas, strict=True) if _fits(signature, args, kwargs)]
    if len(fitting) == 1 and fitting[0].is_mutable:
        raise RuntimeError(
            f"Tried to trace mutable operation {fitting[0]}. FX only supports functional code, so operations that mutate operands "
            "in-place (e.g. via `out` arguments) are not supported"
        )
