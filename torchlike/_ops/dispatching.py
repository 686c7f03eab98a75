"""Calls ``__torch_dispatch__`` of active modes and of subclasses, for each operator that a call of a public function is in PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .._core.fields import node_of, requires_grad_flag, set_requires_grad
from .._core.modes import DISPATCHED, dispatch_state, hooks, modes, undispatched
from .._core.overridable import Route
from .._core.signatures import Args, Kwargs
from .._core.tensor import Tensor, from_value
from .._core.torch_function import ALL_OFF, add_overloading, settings
from ..engine.aval import META, Aval
from ..engine.value import Value
from . import operator, packet_of
from .derivatives import Call, filled, reads_itself
from .expansions import EXPANSIONS, HIDDEN, PROPERTIES, WHOLE, operator_name
from .seen_backward import remember
from .signatures import Signature, choose

__all__ = ["call_operator", "call_public", "tensors_in"]


def tensors_in(values: Iterable[Any]) -> list[Tensor]:
    """The tensors among some values, and in the lists among them."""
    tensors: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            tensors.append(value)
        elif isinstance(value, (list, tuple)):
            tensors += tensors_in(value)
    return tensors


def call_public(route: Route, args: Args, kwargs: Kwargs) -> Any:
    """A call of a public function: as the operators that it is in PyTorch, each seen by who asks."""
    tensors = tensors_in((*args, *kwargs.values()))
    if dispatch_state.off or not (dispatch_state.stack or any(type(tensor) in DISPATCHED for tensor in tensors)):
        return route.original(*args, **kwargs)
    if route.part:
        make = PROPERTIES.get(route.name) if route.part == "__get__" else None
        return route.original(*args, **kwargs) if make is None else make(route.original, *args)
    if route.space == "torch.nn.init":
        return route.original(*args, **kwargs)
    if route.name in HIDDEN:
        with undispatched():
            return route.original(*args, **kwargs)
    name = operator_name(route.space, route.name)
    composed = EXPANSIONS.get(name)
    if route.name in WHOLE and dispatch_state.stack and getattr(dispatch_state.stack[-1], "sees_whole", False):
        name, composed = route.name, None
    if composed is not None:
        return composed(*args, **kwargs)
    chosen = choose(name, args, kwargs)
    if chosen is None:
        return route.original(*args, **kwargs)  # made of functions that are seen themselves
    signature, given, keywords = chosen
    function = operator(name, signature.overload)
    result = call_operator(function, tuple(given), keywords, lambda: route.original(*args, **kwargs), signature)
    if kwargs.get("requires_grad"):
        result.requires_grad_()
    return result


class _Asked:
    """The call that a handler is asked about: calling the operator with the same arguments computes it, with its history."""

    def __init__(self, function: object, args: Args, kwargs: Kwargs, compute: Callable[[], Any], grad: bool) -> None:
        self.function, self.args, self.kwargs, self.compute, self.grad = function, args, dict(kwargs), compute, grad

    def is_same(self, function: object, args: Args, kwargs: Kwargs) -> bool:
        """Whether this is the call."""
        if function is not self.function or len(args) != len(self.args) or kwargs.keys() != self.kwargs.keys():
            return False
        return _are_same(args, self.args) and all(_are_same((kwargs[name],), (self.kwargs[name],)) for name in kwargs)


def _are_same(values: Iterable[Any], others: Iterable[Any]) -> bool:
    for value, other in zip(values, others, strict=True):
        if isinstance(value, (list, tuple)) and isinstance(other, (list, tuple)):
            if len(value) != len(other) or not _are_same(value, other):
                return False
        elif value is not other and (isinstance(value, Tensor) or isinstance(other, Tensor) or value != other):
            return False
    return True


def call_operator(
    function: Any, args: Args, kwargs: Kwargs, compute: Callable[[], Any], signature: Signature | None = None
) -> Any:
    """Calls an operator: asks the innermost mode, then the subclasses among the arguments; with nobody to ask it computes.

    Args:
        compute: what the operator does.
    """
    state = dispatch_state
    asked = state.asked
    if asked is not None and asked.is_same(function, args, kwargs):
        state.asked = None
        before, modes.grad_enabled = modes.grad_enabled, asked.grad
        try:
            return call_operator(function, args, kwargs, asked.compute, signature)
        finally:
            modes.grad_enabled = before
    tensors = tensors_in((*args, *kwargs.values()))
    overloading: list[object] = []
    for tensor in tensors:
        if type(tensor) in DISPATCHED:
            add_overloading(overloading, tensor)
    if state.off or not (state.stack or overloading):
        return compute()
    grad = modes.grad_enabled
    tracked = [tensor for tensor in tensors if requires_grad_flag(tensor)] if grad else []
    edges = [tensor._edge() for tensor in tracked]
    before = _before_writing(function, args) if tracked else None
    result = _ask(function, overloading, args, kwargs, _Asked(function, args, kwargs, compute, grad))
    if tracked:
        call = Call(function, args, kwargs, edges)
        call.tracked, call.before = tracked, before
        _give_history(call, tensors, compute, result)
    return result


def _before_writing(function: Any, args: Args) -> Tensor | None:
    """A copy of what an operator in place is about to replace, if its derivative reads it."""
    if function._signature is None or not function._signature.schema.is_mutable:
        return None
    return operator("clone")(args[0]) if reads_itself(function._overloadpacket.__name__[:-1], args) else None


def _ask(function: Any, overloading: list[object], args: Args, kwargs: Kwargs, asked: _Asked) -> Any:
    state, kinds = dispatch_state, tuple(map(type, overloading))
    stack, before, grad = state.stack, state.asked, modes.grad_enabled
    off = settings.off
    modes.grad_enabled, settings.off, state.asked = False, ALL_OFF, asked
    try:
        if stack:
            state.stack = stack[:-1]  # a mode is not asked about the operators that it calls itself
            result = stack[-1].__torch_dispatch__(function, kinds, args, kwargs)
            if result is not NotImplemented:
                return result
            state.stack = stack
        for tensor in overloading:
            result = type(tensor).__torch_dispatch__(function, kinds, args, kwargs)  # pyright: ignore[reportAttributeAccessIssue]
            if result is not NotImplemented:
                return result
    finally:
        state.stack, state.asked, modes.grad_enabled, settings.off = stack, before, grad, off
    lines = [f"  - mode object {stack[-1]!r}\n"] if stack else []
    lines += [f"  - tensor subclass {type(tensor)!r}\n" for tensor in overloading]
    raise TypeError(
        f"Multiple dispatch failed for 'torch._ops.{function}'; all __torch_dispatch__ handlers returned "
        f"NotImplemented:\n\n{''.join(lines)}\nFor more information, try re-running with TORCH_LOGS=not_implemented"
    )


def _give_history(call: Any, tensors: list[Tensor], compute: Callable[[], Any], result: Any) -> None:
    """Gives the results of a handler the history that the operator's own results have, unless they are those."""
    function, args = call.function, call.given
    results = tensors_in(result if isinstance(result, (list, tuple)) else (result,))
    wrapped = any(type(tensor) in DISPATCHED for tensor in (*tensors, *results))
    writes = function._signature is not None and function._signature.schema.is_mutable
    if wrapped or not any(node_of(each) is not None for each in results):
        own = _without_elements(call) if wrapped else _computed_again(function, args, compute, writes)
        for mine, theirs in zip(results, own, strict=False):
            given = not writes and any(mine is each for each in tensors)
            node = node_of(theirs)
            if node is not None and mine.shape == theirs.shape and not given:
                mine._set_history(node, theirs.output_nr)
    remember(call, results, wrapped)


def _computed_again(function: Any, args: Args, compute: Callable[[], Any], writes: bool) -> list[Tensor]:
    """The operator's own results, for their history: nobody reads their elements, so they are never computed."""
    with undispatched():
        if not writes:
            again = compute()
        else:
            name = function._overloadpacket.__name__.removesuffix("_")
            again = packet_of("aten", name)(*args)  # pyright: ignore[reportOptionalCall]
    return tensors_in(again if isinstance(again, (list, tuple)) else (again,))


def _without_elements(call: Any) -> list[Tensor]:
    """Results that have the history of the operator's own ones, of tensors on the meta device in place of those of a subclass."""

    def stand_in(tensor: Tensor) -> Tensor:
        value = Value.without_data(Aval(tensor._aval.shape, tensor._aval.dtype, META))
        stand = from_value(value)
        set_requires_grad(stand, requires_grad_flag(tensor))
        return stand

    tensors = map(stand_in, tensors_in((*call.given, *call.keywords.values())))
    with undispatched():
        given, keywords = filled(call.given, tensors), filled(call.keywords, tensors)
        if "device" in keywords:
            keywords["device"] = "meta"
        plain = operator(call.name, call.function._overloadname or "default")
        again = plain._op(*given, **keywords)
    return tensors_in(again if isinstance(again, (list, tuple)) else (again,))


def _call_by_name(name: str, overload: str, *args: object, **kwargs: object) -> Any:
    return operator(name, overload)(*args, **kwargs)


hooks.call = call_public
hooks.call_operator = call_operator
hooks.operator = _call_by_name
