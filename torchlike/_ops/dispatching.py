"""Calls ``__torch_dispatch__`` of active modes and of subclasses, for each operator that a call of a public function is in PyTorch."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from .._core.fields import node_of, requires_grad_flag, storage_of
from .._core.modes import DISPATCHED, dispatch_state, hooks, modes, undispatched
from .._core.overridable import Route
from .._core.signatures import Args, Kwargs
from .._core.tensor import Tensor
from .._core.torch_function import ALL_OFF, add_overloading, settings
from ..autograd.grad_mode import no_grad
from ..dispatch.bindings import FUNCTIONS
from ..dispatch.inplace import check_writable, write
from ..random_streams.rng import Generator, default_generator
from . import operator, packet_of
from .derivatives import Call, is_copied
from .expansions import HIDDEN, PROPERTIES, WHOLE, call_expansion, expansion_of, operator_name
from .seen_backward import remember
from .signatures import Signature, choose
from .stand_ins import with_stand_ins

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
    if route.part == "__set__" and route.name == "data":
        _say(route.name)
    if route.part:
        make = PROPERTIES.get(route.name) if route.part == "__get__" else None
        return route.original(*args, **kwargs) if make is None else make(route.original, *args)
    if route.space == "torch.nn.init":
        return route.original(*args, **kwargs)
    if route.name in HIDDEN:
        _say(route.name)
        with undispatched():
            return route.original(*args, **kwargs)
    whole = route.name in WHOLE and dispatch_state.stack and getattr(dispatch_state.stack[-1], "sees_whole", False)
    expansion = None if whole else expansion_of(route.space, route.name)
    if expansion is not None:
        return call_expansion(expansion, route, args, kwargs)
    name = route.name if whole else operator_name(route.space, route.name)
    chosen = choose(name, args, kwargs, _defaults(route))
    if chosen is None:
        return route.original(*args, **kwargs)  # made of functions that are seen themselves
    signature, positional, keywords = chosen
    function = operator(name, signature.overload)
    result = call_operator(function, tuple(positional), keywords, lambda: route.original(*args, **kwargs), signature)
    if kwargs.get("requires_grad"):
        result._require_grad()
    return result


def _say(name: str) -> None:
    """Tells a mode that wants to know it that a function is called which no mode sees."""
    unseen = getattr(dispatch_state.stack[-1], "unseen", None) if dispatch_state.stack else None
    if unseen is not None:
        unseen(name)


def _defaults(route: Route) -> Kwargs:
    """The defaults of a public function by parameter. Some are not the operator's: ``torch.kl_div`` does not reduce."""
    if route.parameters is None:
        route.parameters = inspect.signature(route.original)
    return {name: parameter.default for name, parameter in route.parameters.parameters.items()}


class _Question:
    """The call that a handler is asked about: calling the operator with the same arguments computes it, with its history."""

    def __init__(self, function: object, args: Args, kwargs: Kwargs, compute: Callable[[], Any], grad: bool) -> None:
        self.function, self.args, self.kwargs, self.compute, self.grad = function, args, dict(kwargs), compute, grad
        self.answered = False

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
    question = state.question
    if question is not None and question.is_same(function, args, kwargs):
        state.question, question.answered = None, True
        before, modes.grad_enabled = modes.grad_enabled, question.grad
        try:
            return call_operator(function, args, kwargs, question.compute, signature)
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
    call = Call(function, args, kwargs, tracked)
    if call.writes and isinstance(args[0], Tensor):
        check_writable(args[0])
    if tracked:
        call.before = _before_writing(call)
    layout = _layout(args[0]) if call.writes and tracked else None
    question = _Question(function, args, kwargs, compute, grad)
    result = _ask(function, overloading, args, kwargs, question)
    wrapped = any(type(tensor) in DISPATCHED for tensor in (*tensors, *tensors_in((result,))))
    if not wrapped and not question.answered:
        result = _own_view(call, compute, result)
    if layout is not None and not wrapped and not question.answered and layout != _layout(args[0]):
        raise NotImplementedError(_BY_ANOTHER_CALL.format(function))
    if tracked:
        _give_history(call, tensors, compute, result, wrapped, question.answered)
    return result


_BY_ANOTHER_CALL = (
    "torchlike does not support that a handler of __torch_dispatch__ computes {} by another call while gradients are recorded: call it "
    "with the same arguments"
)


def _layout(value: object) -> object:
    """Shape and strides, which operators like ``transpose_`` change in place."""
    return (value.shape, value.stride(), value.storage_offset()) if isinstance(value, Tensor) else None


def _before_writing(call: Call) -> Tensor | None:
    """A copy, with its history, of what an operator in place is about to replace."""
    tensor = call.positional[0]
    if not call.writes or not isinstance(tensor, Tensor):
        return None
    if is_copied(call.name, call.positional):
        return operator("clone")(tensor)  # PyTorch makes it too
    with undispatched(), no_grad():
        before = FUNCTIONS["clone"](tensor)
    node = node_of(tensor)
    if node is not None:
        before._set_history(node, tensor.output_nr)
    return before


def _own_view(call: Call, compute: Callable[[], Any], result: Any) -> Any:
    """The result of an operator that is a view, where a handler returned the same view made of other objects.

    PyTorch makes views itself, above its handlers: writing to the result must reach the tensor that the operator was given.
    """
    first = call.positional[0] if call.positional else None
    signature = call.function._signature
    if not isinstance(first, Tensor) or call.writes or signature is None or "(a" not in signature.schema.returns:
        return result
    results = tensors_in((result,))
    if not results or not all(storage_of(tensor) is storage_of(first) for tensor in results):
        return result
    with undispatched():
        own = compute()
    views = tensors_in((own,))
    same = len(views) == len(results) and all(
        view.is_set_to(tensor) for view, tensor in zip(views, results, strict=True)
    )
    return own if same else result


def _ask(function: Any, overloading: list[object], args: Args, kwargs: Kwargs, question: _Question) -> Any:
    state, kinds = dispatch_state, tuple(map(type, overloading))
    stack, before, grad = state.stack, state.question, modes.grad_enabled
    off = settings.off
    modes.grad_enabled, settings.off, state.question = False, ALL_OFF, question
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
        state.stack, state.question, modes.grad_enabled, settings.off = stack, before, grad, off
    lines = [f"  - mode object {stack[-1]!r}\n"] if stack else []
    lines += [f"  - tensor subclass {type(tensor)!r}\n" for tensor in overloading]
    raise TypeError(
        f"Multiple dispatch failed for 'torch._ops.{function}'; all __torch_dispatch__ handlers returned "
        f"NotImplemented:\n\n{''.join(lines)}\nFor more information, try re-running with TORCH_LOGS=not_implemented"
    )


def _give_history(
    call: Call, tensors: list[Tensor], compute: Callable[[], Any], result: Any, wrapped: bool, answered: bool
) -> None:
    """Gives the results of a handler the history that the operator's own results have, unless they are those.

    Args:
        wrapped: tensors of a subclass that computes are among the arguments or results.
        answered: the handler called the operator with the same arguments, which gave its results their history.
    """
    results = tensors_in((result,))
    if call.writes and not wrapped:
        if not answered:
            _write_history(call, compute, results)
    elif results and (wrapped or not any(node_of(tensor) is not None for tensor in results)):
        own = _without_elements(call) if wrapped else _computed_again(call, compute)
        for tensor, theirs in zip(results, own, strict=False):
            is_argument = not call.writes and any(tensor is argument for argument in tensors)
            node = node_of(theirs)
            if node is not None and tensor.shape == theirs.shape and not is_argument:
                tensor._set_history(node, theirs.output_nr)
    remember(call, results, wrapped)


def _write_history(call: Call, compute: Callable[[], Any], results: list[Tensor]) -> None:
    """Records that a handler has written what it did into the tensors of an operator in place, and into what they are views of."""
    for tensor, theirs in zip(results, _computed_again(call, compute), strict=False):
        if tensor._geometry.overlaps:  # the gradients depend on the order in which the operator wrote
            raise NotImplementedError(
                _BY_ANOTHER_CALL.format(f"{call.function}, which writes to windows that overlap,")
            )
        with undispatched(), no_grad():
            copy = FUNCTIONS["clone"](tensor)
        node = node_of(theirs)
        if node is not None:
            copy._set_history(node, theirs.output_nr)
        with undispatched():
            write(tensor, copy)


def _computed_again(call: Call, compute: Callable[[], Any]) -> list[Tensor]:
    """The operator's own results, for their history: nobody reads their elements, so they are never computed."""
    generators = [default_generator, *[value for value in call.keywords.values() if isinstance(value, Generator)]]
    before = [generator.raw_state() for generator in generators]
    with undispatched():
        again = call.compute(*call.inputs, **call.keywords) if call.writes else compute()
    for generator, state in zip(generators, before, strict=True):
        if (generator.raw_state() != state).any():
            # The results of the handler have other random numbers than these, and the next numbers must not depend on this.
            generator.set_raw_state(state)
            raise NotImplementedError(_BY_ANOTHER_CALL.format(call.function))
    return tensors_in((again,))


def _without_elements(call: Any) -> list[Tensor]:
    """Results that have the history of the operator's own ones, of tensors on the meta device in place of those of a subclass."""
    with undispatched():
        positional, keywords = with_stand_ins(call.positional), with_stand_ins(call.keywords)
        if "device" in keywords:
            keywords["device"] = "meta"
        known = packet_of("aten", call.name) is not None  # the derivative of an operator without a formula is not
        plain = operator(call.name, call.function._overloadname or "default") if known else call.function
        again = plain._op(*positional, **keywords)
    return tensors_in((again,))


def _call_by_name(name: str, overload: str, *args: object, **kwargs: object) -> Any:
    return operator(name, overload)(*args, **kwargs)


hooks.call = call_public
hooks.call_operator = call_operator
hooks.operator = _call_by_name
