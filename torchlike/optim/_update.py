"""The update of a parameter group as one recorded op: parameters, gradients, state and numbers in, parameters and state out."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from .._core.dtypes import float64, get_default_dtype
from .._core.modes import modes
from .._core.storage import Storage
from .._core.tensor import Tensor, from_value
from ..dispatch.apply import Dispatcher, apply
from ..dispatch.inplace import write
from ..dispatch.opdef import Op, Promote
from ..engine import Aval, Kernel, Placement, Value
from ..engine.recorder import Operation, recorder
from ._chain import apply_to

Replacements = tuple[list[Any], list[Value]]
# How a chain is made: (dtype, whether this is the first step, numbers...; flags) -> a chain.
MakeChain = Callable[..., Any]


class Update(Operation):
    """One step of an algorithm.

    Args:
        name: shown by the engine's reports.
        make: makes the chain.
    """

    ends_step = True

    def __init__(self, name: str, make: MakeChain) -> None:
        super().__init__()
        self.name = name
        self.make = make

    def lower(self, args: tuple[object, ...], avals: tuple[Aval, ...]) -> Kernel:
        kernel = Kernel(self.name, self.function(args), avals, avals[0].placement)
        kernel.replaces = self._replaces(args)
        return kernel

    @staticmethod
    def _replaces(args: tuple[Any, ...]) -> tuple[int, ...]:
        """For each output of ``function`` the input that it is the new value of."""
        _, numbers, _, saved, first, in_step = args
        count = len(first)
        replaces = [len(numbers) + i for i in range(count)]
        states = len(numbers) + 2 * count  # behind the parameters and the gradients
        for block, name in enumerate(saved):
            shared = in_step and name == "step"
            replaces += [states + block * count + i for i in range(1 if shared else count)]
        return tuple(replaces)

    def function(self, args: tuple[Any, ...]) -> Callable[..., tuple[Any, ...]]:
        """From numbers, parameters, gradients and states to parameters and states."""
        flags, numbers, names, saved, first, in_step = args
        count = len(first)

        def fn(*arrays: Any) -> tuple[Any, ...]:
            given = iter(arrays)
            values = {name: next(given).astype(jnp.float64).reshape(()) for name in numbers}
            params, grads = [next(given) for _ in range(count)], [next(given) for _ in range(count)]
            states = [{} for _ in range(count)]
            for name in saved:
                for state in states:
                    state[name] = next(given)
            done = [
                self._one(param, grad, state, new, values, dict(flags), names)
                for param, grad, state, new in zip(params, grads, states, first, strict=True)
            ]
            outs = [param for param, _ in done]
            for name in saved:
                # A counter of parameters that started together is one array for all of them.
                outs += [state[name] for _, state in (done[:1] if in_step and name == "step" else done)]
            return tuple(outs)

        return fn

    def _one(
        self,
        param: Any,
        grad: Any,
        state: dict[str, Any],
        first: bool,
        numbers: Mapping[str, object],
        flags: dict[str, bool],
        names: tuple[str, ...],
    ) -> tuple[Any, dict[str, Any]]:
        unreal = jnp.iscomplexobj(param)
        if unreal:  # stepped as its two parts are
            param, grad = _real(param), _real(grad)
            state = {n: _real(s) if jnp.iscomplexobj(s) else s for n, s in state.items()}
        new, closed = apply_to(self.make(param.dtype, first, **numbers, **flags), param, grad, state, names)
        if unreal:
            new = _complex(new)
            closed = {n: _complex(s) if s.ndim else s for n, s in closed.items()}
        return new, closed


def _real(array: Any) -> Any:
    return jnp.stack([array.real, array.imag], -1)


def _complex(array: Any) -> Any:
    return lax.complex(array[..., 0], array[..., 1])


class Numbers:
    """The numbers of one group as values, made anew only where a number has changed."""

    __slots__ = ("placement", "seen", "values")

    def __init__(self) -> None:
        self.placement: Placement | None = None
        self.seen: dict[str, Any] = {}
        self.values: dict[str, Value] = {}

    def take(self, numbers: Mapping[str, object], placement: Placement) -> list[Value]:
        if placement is not self.placement:
            self.placement = placement
            self.seen.clear()
        seen, values = self.seen, self.values
        for name, number in numbers.items():
            if seen.get(name) is not number:
                values[name] = _number_value(number, placement)
                if not isinstance(number, Tensor):  # those are looked at each time: they may have been written to
                    seen[name] = number
        return [values[name] for name in numbers]


def _number_value(number: Any, placement: Placement) -> Value:
    if isinstance(number, Tensor):
        value = number._value()
        return value if value.aval.placement is placement else Value.on_host(value.numpy(), placement)
    value = Value.on_host(np.asarray(number, np.float64), placement)
    value.pin()
    return value


def step_group(
    op: Update,
    params: list[Any],
    state: Any,
    numbers: dict[str, Any],
    known: Numbers,
    flags: tuple[tuple[str, bool], ...],
    names: tuple[str, ...],
    saved: tuple[str, ...],
) -> Replacements:
    """Records one step of these parameters, all of which have a gradient. Returns the tensors and their new values.

    Args:
        state: the optimizer's: from a parameter to a dictionary of tensors.
        numbers: hyper-parameters that are inputs, by the names of the chain's arguments.
        flags: those that decide what the chain is made of.
        names: PyTorch's names of the leaves of the chain's state, in their order.
        saved: the same in PyTorch's order.
    """
    damped = "dampening" in numbers
    values = _values_of(params)
    placement = values[0].aval.placement
    for value in values:
        if value.aval.placement is not placement:
            return _step_by_placement(op, params, values, state, numbers, flags, names, saved)
    states = [state[param] for param in params] if saved else []
    # Only damped momentum treats the first step differently; elsewhere one program does for all steps.
    first = tuple([damped and not own for own in states]) if damped else (False,) * len(params)
    inputs = known.take(numbers, placement)
    inputs += values
    inputs += _values_of([param._grad for param in params])
    in_step = False
    for name in saved:
        try:
            held = _values_of([own[name] for own in states])
        except (KeyError, AttributeError):  # some have no state yet, or None
            _open(name, states, values)
            held = _values_of([own[name] for own in states])
        if name == "step":  # parameters that have made the same steps share the count
            in_step = all(h is held[0] for h in held)
        inputs += held
    static = (flags, tuple(numbers), names, saved, first, in_step)
    outs = recorder().record(op, static, inputs, static)[1]
    if not saved:
        return params, outs
    position = count = len(params)
    tensors, results = [*params], outs[:count]
    for name in saved:
        one = in_step and name == "step"
        tensors += [own[name] for own in states]
        results += outs[position : position + 1] * count if one else outs[position : position + count]
        position += 1 if one else count
    return tensors, results


def _step_by_placement(
    op: Update, params: Sequence[object], values: list[Value], state: Any, numbers: dict[str, Any], *rest: Any
) -> Replacements:
    """``step_group`` for the parameters of each device by themselves."""
    tensors, results = [], []
    for where in {value.aval.placement for value in values}:
        here = [p for p, v in zip(params, values, strict=True) if v.aval.placement is where]
        more, outs = step_group(op, here, state, numbers, Numbers(), *rest)
        tensors += more
        results += outs
    return tensors, results


class _Step:
    """One way of stepping; the same for steps that are alike."""

    def __init__(self, op: Update, static: tuple[object, ...]) -> None:
        self.key = op, static
        self.run = op.function(static)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Step) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def _run(arrays: list[Array], step: Any) -> list[Array]:
    return list(step.run(*arrays))


_WITH_HISTORY = Dispatcher(
    Op(
        compute=_run,
        name="step",
        promote=Promote.NONE,
        accepts=frozenset({"integer", "float", "complex"}),
        forms=frozenset(),
        samples=(),
        several=True,
        saves="nothing",
    )
)


def step_with_history(
    op: Update,
    params: list[Any],
    state: Any,
    numbers: dict[str, Any],
    known: Numbers,
    flags: tuple[tuple[str, bool], ...],
    names: tuple[str, ...],
    saved: tuple[str, ...],
) -> Replacements:
    """As ``step_group``, but with a history: gradients flow through the step to what parameters, gradients and numbers come from.

    Each parameter is written to at once, as its history goes on from there: nothing is left to replace.
    """
    for param in params:
        if param.requires_grad and param.is_leaf:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        own, value = state[param], param._value()
        first = saved == ("momentum_buffer",) and own.get("momentum_buffer") is None  # SGD treats it differently
        for name in saved:
            if own.get(name) is None:
                _open(name, [own], [value])
        given = [
            n if isinstance(n, Tensor) else from_value(_number_value(n, value.aval.placement)) for n in numbers.values()
        ]
        step = _Step(op, (flags, tuple(numbers), names, saved, (first,), False))
        olds = [param, *(own[name] for name in saved)]
        for old, new in zip(olds, apply(_WITH_HISTORY, ([*given, param, param._grad, *olds[1:]], step)), strict=True):
            write(old, new)
    return [], []


def replace_all(tensors: Sequence[Tensor], values: list[Value]) -> None:
    """Gives each tensor its new value, all of them or none.

    A signal may be handled after any call of a Python function, and what it raises must not leave half of a step behind. So the
    values go into their places in one call that runs no Python code. Versions are counted before: a version that is ahead
    of its value makes somebody look again, one that is behind would not. Views, and tensors that share memory with NumPy,
    are written to afterwards, one by one.
    """
    plain: list[Storage] = []
    new = values
    others = []
    for number, tensor in enumerate(tensors):
        storage = tensor._storage
        if tensor._view is None and storage.host is None and storage.__class__ is Storage:
            storage.version += 1
            storage.content_version += 1
            plain.append(storage)
        else:
            others.append((tensor, values[number]))
    if others:
        apart = {id(tensor) for tensor, _ in others}
        new = [value for tensor, value in zip(tensors, values, strict=True) if id(tensor) not in apart]
    deque(map(setattr, plain, repeat("value"), new), maxlen=0)
    for tensor, value in others:
        if tensor._view is not None:
            _write_to_view(tensor, value)
        else:
            tensor._storage.write(value)


def _values_of(tensors: list[Any]) -> list[Value]:
    """Their current values; the short way past ``Tensor._value`` for all that share memory with nobody."""
    return [t._storage.value if t._view is None and t._storage.host is None else t._value() for t in tensors]


def count_value(number: float, placement: Placement) -> Value:
    """A count of steps or a like number as state: of the default dtype where that is float64, else float32."""
    double = get_default_dtype() is float64
    return Value.on_host(np.asarray(number, np.float64 if double else np.float32), placement)


def _open(name: str, states: list[dict[str, Any]], values: list[Value]) -> None:
    """Puts zeros where there is no state of this name yet: one number for a count, else as the parameter is."""
    count = count_value(0, values[0].aval.placement)
    for own, value in zip(states, values, strict=True):
        if own.get(name) is None:
            aval = value.aval
            own[name] = from_value(
                count if name == "step" else Value.on_host(np.zeros(aval.shape, aval.dtype), aval.placement)
            )


def _write_to_view(param: Tensor, value: Value) -> None:
    before, modes.grad_enabled = modes.grad_enabled, False
    try:
        write(param, from_value(value))
    finally:
        modes.grad_enabled = before
