"""Function: forward and backward written by the user."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from .._core.fields import (
    count_write,
    is_marked,
    move_to_storage,
    node_of,
    rebase,
    requires_grad_flag,
    storage_of,
    version_of,
    view_record,
)
from .._core.modes import dispatch_state, modes, same_tangent, tracers
from .._core.node import FREED, HAS_HOOKS, IS_NONE, SECOND_BACKWARD, Node, forward_trace, modified, next_number
from .._core.tensor import Tensor, alias, from_value
from .._core.views import DEFAULT, IN_FUNCTION, IN_INFERENCE, IN_NO_GRAD, ONE_OF_SEVERAL, View
from .._core.vmapped import Vmapped, levels_of
from ..dispatch.apply import packed, unpacked
from ..dispatch.inplace import adopt_write, check_writable
from ..dispatch.pullback import ForwardOnly
from ..dispatch.warned import warn
from ..engine.value import Value
from .crossings import drop, enter, leave, same_for_all
from .custom_jvp import carry_by_jvp
from .grad_mode import deriving, is_grad_enabled, no_grad, recording, set_grad_enabled, without_tangents

__all__ = ["Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]


class FunctionCtx:
    """The ``ctx`` of a ``Function``, which ``forward`` and ``backward`` share. Any attribute may be set on it."""

    needs_input_grad: tuple[bool, ...] = ()

    if TYPE_CHECKING:  # what a program sets on it has any type

        def __getattr__(self, name: str) -> Any: ...

        def __setattr__(self, name: str, value: object) -> None: ...

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps tensors for ``backward``, which finds them in ``ctx.saved_tensors``.

        PyTorch checks that they are tensors only where the call becomes part of a graph. Of several calls the last one counts.
        """
        self.to_save = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """In ``backward``: the tensors that ``save_for_backward`` has kept."""
        raise NotImplementedError

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keeps tensors for ``jvp``."""
        if not all(isinstance(tensor, Tensor) or tensor is None for tensor in tensors):
            raise AssertionError(
                "save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes on ctx."
            )
        self.saved_for_forward = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Says which inputs ``forward`` has written to."""
        self.dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Says which outputs have no gradient."""
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether ``backward`` gets zeros (True, the default) or None for outputs that no gradient reached."""
        self.materialize_grads = value


class _FunctionRule:
    """The rule of the nodes that a user's Function makes."""

    def __init__(self, function: type[Function]) -> None:
        self.function = function
        node_name = function._node_name
        self.name = node_name or f"{function.__name__}Backward"
        module = "builtins" if node_name else "torch.autograd.function"
        self.node_class = type(self.name, (FunctionNode,), {"__module__": module, "_forward_cls": function})

    def step(self, node: FunctionNode, cotangents: dict[int, Any], create: bool) -> list[Any]:
        """Calls the user's ``backward`` with tensors. Its gradients go on as values, or with ``create`` as tensors that have a history."""
        grad_outputs: list[Tensor | None] = []
        for number, aval in enumerate(node.avals):
            if number in cotangents:
                grad_outputs.append(cotangents[number] if create else from_value(cotangents[number]))
            elif (
                node.materialize_grads
                and aval is not None
                and (node._materialize_non_diff_grads or number not in node.without_gradient)
            ):
                grad_outputs.append(from_value(Value.on_host(np.zeros(aval.shape, aval.dtype), aval.placement)))
            else:
                grad_outputs.append(None)
        with recording(create and modes.grad_enabled):
            result = _backward_of(self.function)(node, *grad_outputs)
        results = result if isinstance(result, (tuple, list)) else (result,)
        count = len(node.is_tensor)
        # PyTorch ignores a surplus of None, so that a ``backward`` may return one for each argument with a default.
        if len(results) > count and all(r is None for r in results[count:]):
            results = results[:count]
        if len(results) != count:
            raise RuntimeError(
                f"function {self.name} returned an incorrect number of gradients (expected {count}, got {len(results)})"
            )
        grads = []
        levels = {level for aval in (*node.input_avals, *node.avals) if aval is not None for level in levels_of(aval)}
        for position, (gradient, is_tensor, edge_aval) in enumerate(
            zip(results, node.is_tensor, node.input_avals, strict=True)
        ):
            if not is_tensor:
                if gradient is not None:
                    raise RuntimeError(
                        f"function {self.name} returned a gradient different than None at position {position + 1}, but the "
                        "corresponding forward input was not a Variable"
                    )
                continue
            if gradient is not None:
                if not isinstance(gradient, Tensor):
                    raise RuntimeError(f"expected Variable or None (got {type(gradient).__name__})")
                if not node.needs_input_grad[position]:  # nobody gets it, so that PyTorch does not look at it
                    grads.append(None)
                    continue
                if levels:  # an input that all examples of a vmap share gets the sum of their gradients
                    gradient = drop(same_for_all(gradient, levels), levels.difference(levels_of(edge_aval)))
                gradient = _fit(gradient, edge_aval, self.name, position)
            # Without a graph only the value goes on: what the user's code may have recorded in ``backward`` has no part in the pass.
            grads.append(gradient if create or gradient is None else gradient._value())
        return grads


def _fit(gradient: Tensor, aval: Any, name: str, position: int) -> Tensor:
    """Converts a gradient to the input's shape and dtype; broadcast dimensions are summed, as in PyTorch."""
    if gradient._aval.shape != aval.shape:
        extra = gradient.dim() - len(aval.shape)
        lead = tuple(range(extra)) if extra > 0 else ()
        fits = extra >= 0 and all(n in (1, g) for n, g in zip(aval.shape, gradient.shape[max(extra, 0) :], strict=True))
        if not fits:
            raise RuntimeError(
                f"Function {name} returned an invalid gradient at index {position} - got {list(gradient.shape)} but expected shape "
                f"compatible with {list(aval.shape)}"
            )
        ones = tuple(extra + i for i, n in enumerate(aval.shape) if n == 1 and gradient.shape[extra + i] != 1)
        result = gradient
        if lead or ones:
            result = result.sum(lead + ones, True)
        gradient = result.reshape(aval.shape)
    if gradient._aval.dtype != aval.dtype:
        from .._core.dtypes import from_numpy_dtype

        gradient = gradient.to(from_numpy_dtype(aval.dtype))  # pyright: ignore[reportAttributeAccessIssue]
    return gradient


class FunctionNode(Node, FunctionCtx):
    """The graph's node of one call of a Function, and the ``ctx`` its forward and backward see."""

    def __init__(self, function: type[Function], inputs: tuple[object, ...]) -> None:
        tensors = [x for x in inputs if isinstance(x, Tensor)]
        edges = tuple(t._edge() if t._tracked else None for t in tensors)
        self.rule, self.edges, self.saved, self.watched, self.avals = _rule(function), edges, (), (), ()
        self.sequence = next_number()
        self.is_tensor = [isinstance(x, Tensor) for x in inputs]
        self.input_avals = [x._aval if isinstance(x, Tensor) else None for x in inputs]
        self.needs_input_grad = tuple(isinstance(x, Tensor) and x._tracked for x in inputs)
        self.to_save: tuple[Any, ...] = ()
        self.dirty_tensors: tuple[Tensor, ...] = ()
        self.non_differentiable: tuple[Tensor, ...] = ()
        self.materialize_grads = self._materialize_non_diff_grads = True
        self.without_gradient: Collection[int] = ()  # the numbers of the outputs that are marked so
        self.output_count = 1
        self.saved_for_forward: tuple[Any, ...] = ()
        self.in_jvp = False
        self.hidden_from: Any = None  # the derivative forwards for which nothing is recorded of ``jvp``
        self._kept: list[Any] | None = []

    def keep(self, outputs: tuple[Tensor, ...], record: bool) -> None:
        """Stores what was saved: outputs without their history (it would be a cycle), with the versions they have now.

        Args:
            record: whether the call is part of a graph. Only then are the saved objects checked and kept.
        """
        for number, tensor in enumerate(self.to_save):
            if tensor is None or isinstance(tensor, Tensor):
                continue
            if record:
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {number} is of type {type(tensor).__name__}"
                )
            self.to_save = ()
            break
        entries = []
        for tensor in self.to_save:
            if tensor is None:
                entries.append(None)
                continue
            number = next((i for i, o in enumerate(outputs) if o is tensor), None)
            # An output would refer to this node, and the node to the output. Memory would then be freed by the garbage collector only.
            entries.append((alias(tensor) if number is not None else tensor, version_of(tensor), number))
        if modes.saved_tensors_hooks:
            pack, self.unpack = modes.saved_tensors_hooks[-1]
            entries = [None if k is None else packed(pack, k[0]) for k in entries]
        self._kept = entries
        self.to_save = ()

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        if self.in_jvp:
            return self.saved_for_forward
        if self._kept is None:
            raise RuntimeError(SECOND_BACKWARD)
        unpack = self.unpack
        if unpack is not None:
            return tuple(None if each is None else unpacked(unpack, each) for each in self._kept)
        tensors = []
        for entry in self._kept or self._unsaved():
            if entry is None:
                tensors.append(None)
                continue
            if isinstance(entry, _PackedEntry):
                tensors.append(unpacked(entry.unpack, entry.packed))
                continue
            tensor, version, number = entry
            if version_of(tensor) != version:
                writer = self if number is not None else node_of(tensor)
                raise modified(storage_of(tensor), version, tensor._aval, None if writer is None else writer.operation)
            if number is not None:
                kept, tensor = tensor, alias(tensor)
                tensor._set_history(self, number)
                same_tangent(tensor, kept)
            tensors.append(tensor)
        return tuple(tensors)

    @property
    def _raw_saved_tensors(self) -> tuple[_RawTensor, ...]:
        """What ``save_for_backward`` has kept, for hooks that pack it."""
        if self._kept is None:
            raise RuntimeError(SECOND_BACKWARD)
        return tuple(_RawTensor(self, place) for place in range(len(self._kept)))

    def _unsaved(self) -> list[Any]:
        return [(t, version_of(t), None) if isinstance(t, Tensor) else None for t in self.to_save]

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The old name of ``saved_tensors``."""
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    def share_tangents(self, outputs: Sequence[Any]) -> None:
        """Gives the outputs that were saved the tangents that they have now."""
        for entry in self._kept or ():
            if self.unpack is None and entry is not None and entry[2] is not None:
                same_tangent(entry[0], outputs[entry[2]])

    def release(self) -> None:
        if self._kept:
            self._kept = None

    def __repr__(self) -> str:
        if self.rule.function._node_name is not None:
            return super().__repr__()
        return f"<torch.autograd.function.{self.name()} object at 0x{id(self):x}>"


class _PackedEntry(NamedTuple):
    """A saved tensor that hooks of its own have packed."""

    packed: object
    unpack: Callable[[object], Tensor]


class _RawTensor:
    """A tensor that a Function has saved, see ``SavedTensor``."""

    def __init__(self, node: FunctionNode, place: int) -> None:
        self._node, self._place = node, place

    def register_hooks(self, pack_hook: Callable[[Tensor], object], unpack_hook: Callable[[object], Tensor]) -> None:
        """Packs the tensor now, and unpacks it when the backward asks for it."""
        node, place = self._node, self._place
        entry = None if node._kept is None else node._kept[place]
        if node._kept is None or node.unpack is not None or isinstance(entry, _PackedEntry):
            raise RuntimeError(FREED if node._kept is None else HAS_HOOKS)
        if entry is None:
            raise RuntimeError(IS_NONE)
        node._kept[place] = _PackedEntry(packed(pack_hook, entry[0]), unpack_hook)


def _backward_of(function: type[Function]) -> Callable[..., object]:
    """The user's ``backward``, which may be called ``vjp``.

    Raises:
        RuntimeError: there are both.
    """
    if function.vjp is Function.vjp:
        return function.backward
    if function.backward is not Function.backward:
        raise RuntimeError(
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of them."
        )
    return function.vjp


_signature = functools.lru_cache(maxsize=1024)(inspect.signature)  # of ``forward``


@functools.cache
def _rule(function: type[Function]) -> _FunctionRule:
    return _FunctionRule(function)


class Function(FunctionCtx):
    """An operation with a forward and a backward of your own.

    Subclasses define static methods ``forward(ctx, *args)`` and ``backward(ctx, *grad_outputs)``, or ``forward(*args)`` with
    ``setup_context(ctx, inputs, output)``; call them by ``apply``.

    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return grad * 2
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> Double.apply(x).sum().backward()
    >>> x.grad
    tensor([2.])

    Source: https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function
    """

    _node_name: str | None = None  # what the nodes of a Function of torchlike's own are called

    def __init__(self, *args: object, **kwargs: object) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke them on "
            "the class itself. Instantiating an autograd function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    @staticmethod
    def forward(*args: object, **kwargs: object) -> Any:
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple[object, ...], output: object) -> Any:
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: FunctionCtx, *grad_outputs: object) -> Any:
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: FunctionCtx | None = None, *grad_inputs: object) -> object:
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    # Whether ``forward``, ``backward`` and ``jvp`` serve for all examples of a ``vmap``; ``vmap`` is not asked then.
    generate_vmap_rule = False

    @staticmethod
    def vmap(info: VmapInfo, in_dims: tuple[object, ...], *args: object) -> object:
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set generate_vmap_rule=True."
        )

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function with static "
            "forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @classmethod
    def apply(cls, *args: object, **kwargs: object) -> Any:
        """Runs ``forward`` without recording, and records the call itself."""
        if tracers and not cls.__module__.startswith(_PACKAGE):
            return tracers[-1].function(cls, args, kwargs)
        in_context = cls.setup_context is not Function.setup_context
        if in_context:  # which has all arguments by position, defaults too
            bound_arguments = _signature(cls.forward).bind(*args, **kwargs)
            bound_arguments.apply_defaults()
            args, kwargs = bound_arguments.args, bound_arguments.kwargs
        forward: Callable[..., Any] = cls.forward
        if dispatch_state.stack and getattr(dispatch_state.stack[-1], "inlines_functions", False):
            return _inlined(cls, in_context, args, kwargs)
        if (
            modes.derivatives or (modes.vmaps and any(not level.shared for level in modes.vmaps))
        ) and not cls.__module__.startswith(_PACKAGE):
            _check_transformable(cls, in_context, args)
            level = _newest_level(args)
            own_vmap = cls.vmap is not Function.vmap
            if level is not None and own_vmap is bool(cls.generate_vmap_rule):
                raise RuntimeError(
                    f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overriden vmap "
                    f"staticmethod. Please set generate_vmap_rule=False or delete the overriden vmap staticmethod to avoid ambiguity. "
                    f"{_DETAILS}"
                    if own_vmap
                    else f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement the "
                    f"vmap staticmethod or set generate_vmap_rule=True. {_DETAILS}"
                )
            if level is not None and own_vmap:
                if len(modes.derivatives) <= level.derivatives:
                    return _mapped_by_the_user(cls, level, args)
                forward = lambda *args: _mapped_by_the_user(cls, level, args)  # noqa: E731
        # Where a Function is called, PyTorch's ``no_grad`` holds for the innermost derivative alone.
        hidden = bool(modes.derivatives) and not (
            is_grad_enabled() or modes.inference or cls.__module__.startswith(_PACKAGE)
        )
        record = (hidden or modes.grad_enabled) and any(isinstance(x, Tensor) and x._tracked for x in args)
        # Made also if nothing is recorded: ``forward`` gets it as its ctx in any case.
        ctx = _rule(cls).node_class(cls, args)
        if modes.anomaly:
            ctx.trace = forward_trace()
        with recording(False), without_tangents():
            with deriving(()):  # PyTorch calls ``forward`` outside of all derivatives
                result = forward(*args, **kwargs) if in_context else forward(ctx, *args, **kwargs)
            if in_context:
                cls.setup_context(ctx, args, result)
        outputs = result if isinstance(result, tuple) else (result,)
        _all_tensors("mark_dirty can only accept variables, but argument ", ctx.dirty_tensors)
        _all_tensors("mark_non_differentiable only accepts variable arguments, but got ", ctx.non_differentiable)
        if not all(any(dirty is output for output in outputs) for dirty in ctx.dirty_tensors):
            raise RuntimeError(_NOT_RETURNED)
        if hidden and ctx.dirty_tensors:
            if modes.derivatives[-1].is_within(ctx.dirty_tensors):
                raise NotImplementedError(_DIRTY_IN_NO_GRAD)
            hidden, record = False, record and modes.grad_enabled
        ctx.output_count = len(outputs)
        if ctx.non_differentiable:
            ctx.without_gradient = [n for n, o in enumerate(outputs) if any(o is x for x in ctx.non_differentiable)]
        has_several = sum(_differentiable(ctx, o) for o in outputs) > 1
        wrapped = _outputs(ctx, outputs, args, record, has_several)
        ctx.avals = tuple(o._aval if isinstance(o, Tensor) else None for o in wrapped)
        ctx.to_save = tuple(_replaced(t, outputs, wrapped) for t in ctx.to_save)
        ctx.keep(wrapped, record)
        if modes.any_slow_mode and modes.level is not None:
            carry_by_jvp(ctx, cls.jvp, args, wrapped)
        if hidden:
            for output in wrapped:
                if isinstance(output, Tensor):
                    modes.derivatives[-1].hide(output)
        elif modes.forward_only:
            ctx.rule = ForwardOnly(ctx.rule)
        return wrapped if isinstance(result, tuple) else wrapped[0]


def _inlined(cls: type[Function], in_context: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The function as the operators that its ``forward`` calls, without its own rules: so PyTorch's export takes it."""
    ctx = _rule(cls).node_class(cls, args)
    if not in_context:
        return cls.forward(ctx, *args, **kwargs)
    result = cls.forward(*args, **kwargs)
    cls.setup_context(ctx, args, result)
    return result


_PACKAGE = __name__.partition(".")[0] + "."
_DETAILS = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


class VmapInfo(NamedTuple):
    """What a ``vmap`` of a Function is told of the mapping."""

    batch_size: int
    randomness: str


def _check_transformable(cls: type[Function], in_context: bool, args: tuple[object, ...]) -> None:
    if not in_context:
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override the "
            f"setup_context staticmethod. {_DETAILS}"
        )
    if modes.forward_levels and cls.jvp is Function.jvp:
        tracked = [arg for arg in args if isinstance(arg, Tensor) and arg._tracked]
        if any(d.forwards and d.leads_here(arg) for d in modes.derivatives for arg in tracked):
            Function.jvp()  # raises


def _newest_level(args: Iterable[object]) -> Vmapped | None:
    """The innermost vmap that has an example among the arguments; None where there is none."""
    levels: list[Any] = []
    _each(args, lambda arg: levels.extend(levels_of(arg._aval)) if isinstance(arg, Tensor) else None)
    return max(levels, key=lambda level: level.serial, default=None)


def _each(nest: Any, change: Callable[[Any], object]) -> Any:
    """A nest of tuples, lists and dicts with each of its leaves changed."""
    if nest.__class__ in (tuple, list):
        return nest.__class__(_each(element, change) for element in nest)
    return {key: _each(element, change) for key, element in nest.items()} if nest.__class__ is dict else change(nest)


def _mapped_by_the_user(cls: type[Function], level: Vmapped, args: tuple[object, ...]) -> Any:
    """Calls ``vmap`` of a Function with the whole tensors of a level."""
    at_level = lambda arg: isinstance(arg, Tensor) and level in levels_of(arg._aval)  # noqa: E731
    whole = _each(args, lambda arg: leave(arg, level) if at_level(arg) else arg)
    in_dims = _each(args, lambda arg: 0 if at_level(arg) else None)
    before, modes.vmaps = modes.vmaps, tuple(outer for outer in modes.vmaps if outer is not level)
    try:
        result = cls.vmap(VmapInfo(level.size, level.randomness), in_dims, *whole)
        if not (isinstance(result, tuple) and len(result) == 2):
            raise RuntimeError(
                f"Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible with the "
                f"output. Got a {len(result) if isinstance(result, tuple) else 1} returns"
            )
        output, out_dims = result
        outputs = output if isinstance(output, tuple) else (output,)
        dims = out_dims if isinstance(out_dims, (tuple, list)) else (out_dims,) * len(outputs)
        firsts = [
            out if dim is None or not isinstance(out, Tensor) else out.movedim(dim, 0)  # pyright: ignore[reportAttributeAccessIssue]
            for out, dim in zip(outputs, dims, strict=True)
        ]
        entered = tuple(
            out if dim is None or not isinstance(out, Tensor) else enter(out, level)
            for out, dim in zip(firsts, dims, strict=True)
        )
    finally:
        modes.vmaps = before
    return entered if isinstance(output, tuple) else entered[0]


def _all_tensors(message: str, arguments: tuple[object, ...]) -> None:
    """Raises PyTorch's error, whose message ends before it names the argument."""
    if not all(isinstance(argument, Tensor) for argument in arguments):
        raise RuntimeError(message)


def _replaced(tensor: Tensor, outputs: tuple[Tensor, ...], wrapped: tuple[Tensor, ...]) -> Any:
    return next((w for o, w in zip(outputs, wrapped, strict=True) if o is tensor), tensor)


def _differentiable(ctx: FunctionNode, output: object) -> bool:
    if not isinstance(output, Tensor) or output.dtype.category < 2:
        return False
    return not any(output is x for x in ctx.non_differentiable)


def _outputs(
    ctx: FunctionNode, outputs: tuple[Tensor, ...], inputs: tuple[object, ...], record: bool, several: bool
) -> tuple[Any, ...]:
    """Links what ``forward`` returned to the call's node. A tensor that it returned twice is one tensor, and the later output."""
    wrapped: list[object] = []
    for number, output in enumerate(outputs):
        same = next((w for w, o in zip(wrapped, outputs, strict=False) if w is o is output), None)
        if isinstance(same, Tensor) and not any(same is x for x in ctx.dirty_tensors):
            if requires_grad_flag(same):
                same._set_history(ctx, number)
            wrapped.append(same)
        else:
            wrapped.append(_output(ctx, output, number, inputs, record, several))
    return tuple(wrapped)


def _output(
    ctx: FunctionNode, output: Tensor, number: int, inputs: tuple[object, ...], record: bool, several: bool
) -> Any:
    """Links an output of ``forward`` to the call's node. ``several``: there are others that have a gradient."""
    if not isinstance(output, Tensor):
        return output
    is_input = any(output is x for x in inputs)
    differentiable = record and _differentiable(ctx, output)
    if any(output is x for x in ctx.dirty_tensors):
        wants_gradient = output.requires_grad  # of a view made without gradients too, which is no input of the node
        if differentiable or (wants_gradient and modes.grad_enabled and _differentiable(ctx, output)):
            _adopt_write(ctx, output, number, inputs)
        elif wants_gradient:
            output = output.detach()  # the input itself keeps its history
        count_write(output)  # PyTorch counts the mark as one more write
        return output
    view = view_record(output)
    base = output if view is None or view.base is None else view.base
    if is_input or (requires_grad_flag(output) and record):
        cls = type(output)
        without_memory = getattr(output, "_outer_device", None) is not None
        if without_memory:  # what it holds is known to its class alone
            with no_grad():
                output = output.detach()
        else:
            output = alias(output, Tensor if is_marked(output) or cls.__module__.startswith(_PACKAGE) else cls)
        if is_input and view is None and not without_memory:
            storage = storage_of(output)
            own_view = View((), storage.value, storage.content_version, None, DEFAULT, storage.version)
            move_to_storage(output, storage, own_view)
    if differentiable:
        if view_record(output) is not None:  # a write through it would go around ``backward``
            rebase(output, base, ONE_OF_SEVERAL if several else IN_FUNCTION, version_of(output))
        output._set_history(ctx, number)
    return output


def _adopt_write(ctx: FunctionNode, output: Tensor, number: int, inputs: tuple[object, ...]) -> None:
    """Makes the call's node the history of an input that ``forward`` has written to; and of its base, if it is a view."""
    view = view_record(output)
    is_view, of_leaf = view is not None and view.base is not None, node_of(output) is None
    if view is not None and view.refused:
        of_leaf = view.origin in (IN_NO_GRAD, IN_INFERENCE)
    if output.requires_grad and of_leaf:
        raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
    if not any(output is x for x in inputs):
        if is_view:
            raise RuntimeError(_NOT_AN_INPUT)
        warn(_NOT_AN_INPUT)
    if is_view and ctx.output_count > 1:
        raise RuntimeError(_SEVERAL_WITH_A_VIEW)
    with set_grad_enabled(True):
        check_writable(output)
    tensors = [x for x in inputs if isinstance(x, Tensor)]
    place = next((place for place, x in enumerate(tensors) if x is output), None)
    adopt_write(output, ctx, number, place)


_NOT_AN_INPUT = (
    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be passed to "
    "ctx.mark_dirty()."
)
_SEVERAL_WITH_A_VIEW = (
    "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more than one Tensor. "
    "This is not supported by the current autograd engine. You should either make sure the input is not a view (using .clone() for "
    "example) or make your Function only return one Tensor (potentially splitting it into two Functions: one doing the inplace that "
    "returns a single Tensor and a second one that does the other operations). You can ask on the forum https://discuss.pytorch.org/ if "
    "you need help to do this change."
)
_DIRTY_IN_NO_GRAD = (
    "torchlike does not support a Function that writes to its inputs (mark_dirty) within no_grad, where torch.func differentiates and "
    "another derivative outside of it does too"
)
_NOT_RETURNED = (
    "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified inplace must all "
    "be outputs of the Function."
)


class InplaceFunction(Function):
    """A Function that may write to its inputs. It is an ordinary one; the argument of the constructor is of old programs."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


def once_differentiable(backward: Callable[..., object]) -> Callable[..., Any]:
    """Decorates a ``backward`` whose own derivative would be wrong: differentiating through it raises."""

    @functools.wraps(backward)
    def wrapper(ctx: FunctionCtx, *grads: object) -> Any:
        with no_grad():
            outputs = backward(ctx, *grads)
        if not modes.grad_enabled or not any(isinstance(g, Tensor) and g.requires_grad for g in grads):
            return outputs
        is_tuple = isinstance(outputs, tuple)
        failed = tuple(
            _Refuse.apply(o, grads) if isinstance(o, Tensor) else o for o in (outputs if is_tuple else (outputs,))
        )
        return failed if is_tuple else failed[0]

    return wrapper


class _Refuse(Function):
    """Passes a tensor on, and raises when it is differentiated."""

    @staticmethod
    def forward(ctx: FunctionCtx, tensor: Tensor) -> Tensor:
        return alias(tensor)

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: object) -> NoReturn:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")

    @classmethod
    def apply(cls, tensor: Tensor, grads: tuple[object, ...]) -> Tensor:
        ctx = FunctionNode(cls, (tensor, *grads))  # the edges lead to where its derivative would be needed
        out = alias(tensor)
        ctx.avals = (out._aval,)
        out._set_history(ctx)
        return out
