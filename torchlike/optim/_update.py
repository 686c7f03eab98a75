"""The update of a parameter group as one recorded operation: from parameters, gradients, state and numbers to parameters and state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from .._core.dtypes import C_NAMES, float64, from_numpy_dtype, get_default_dtype, promote_types
from .._core.fields import grad_of, is_whole_storage, replace_contents, values_of, write_value
from .._core.modes import modes
from .._core.tensor import Tensor, from_value
from ..dispatch.apply import apply, internal_dispatcher
from ..dispatch.inplace import write
from ..dispatch.opdef import Category
from ..engine import Aval, Kernel, Pieces, Placement, Value
from ..engine.aval import CPU
from ..engine.disk.coded import name_in_package
from ..engine.interpreter import for_numpy, found_or_traced, traced_once
from ..engine.recorder import Operation, recorder
from ..ops.shape.reshape import common_shape
from ._chain import Transformation, apply_to

# State that is one number, a tensor of no dimension.
SCALAR_STATES = ("step", "mu_product", "eta", "mu")
# State with the parameter's shape but for one dimension, which has one element. All other state has the parameter's shape.
REDUCED_STATES = {"row_var": -1, "col_var": -2}

# The state of a parameter, and what it gets in its first step.
NewState = tuple[dict[str, Any], dict[str, Any]]
# Tensors, the value that each of them gets, and new states.
Replacements = tuple[list[Tensor], list[Value], list[NewState]]
# (dtype, whether this is the first step, **numbers, **flags) -> a chain.
MakeChain = Callable[..., Transformation]


class Hyperparameters(NamedTuple):
    """The options of a group, sorted for one step: numbers become inputs of the program, flags choose the program."""

    numbers: dict[str, Any]  # inputs of the program, by the names of MakeChain's arguments: a change compiles nothing
    flags: dict[str, Any]  # arguments of MakeChain that decide which parts the chain has: each combination is a program
    leaves: tuple[str, ...]  # PyTorch's names of the leaves of the chain's state, in the order of jax.tree.leaves
    saved: tuple[str, ...]  # the same names in the order of PyTorch's state_dict


class Update(Operation):
    """One step of an algorithm.

    Args:
        name: the name that the engine's reports show.
        make: returns the chain.
        interpolated: the state that PyTorch writes by ``lerp_``, which refuses two dtypes. They differ after ``model.double()``.
        fused: whether state of another dtype than the parameter's is refused altogether, as PyTorch's fused kernels do.
    """

    ends_step = True

    def __init__(self, name: str, make: MakeChain, interpolated: tuple[str, ...] = (), fused: bool = False) -> None:
        super().__init__()
        self.name = name
        self.make = make
        self.interpolated = interpolated
        self.is_fused = fused
        self.fused = self if fused else Update(name, make, interpolated, fused=True)
        self._owner: type | None = None

    def __set_name__(self, owner: type, name: str) -> None:
        """``owner``: the class of optimizers that it belongs to, where it is ``_op``."""
        self._owner = self.fused._owner = owner

    def _name_on_disk(self) -> str:
        """By what its traces are found in the next process; empty unless it belongs to an optimizer of this package."""
        owner = self._owner
        is_its_own = owner is not None and getattr(owner.__dict__.get("_op"), "fused", None) is self.fused
        return name_in_package(owner) if is_its_own else ""

    def lower(self, args: tuple[object, ...], avals: tuple[Aval, ...]) -> Kernel:
        replaces = self._replaces(args)
        # New parameters and states lie where the old ones do, so that they can take over their memory.
        placements = [avals[i].placement for i in replaces]
        fn, traced = self.function(args), None
        if all(placement is CPU for placement in placements):
            key = args, self.is_fused, avals
            traced, _ = found_or_traced(self._name_on_disk(), key, fn, avals)
        kernel = Kernel(self.name, fn, avals, placements, traced=traced)
        kernel.replaces = replaces
        kernel.pieces = self._pieces(args, avals)
        return kernel

    def _pieces(self, args: tuple[Any, ...], avals: Sequence[Aval]) -> Pieces:
        """The update of some of the parameters."""
        flags, numbers, leaves, saved, first, in_step = args
        given, count = len(numbers), len(first)
        shared = saved.index("step") if in_step and "step" in saved else None

        def some(chosen: range) -> tuple[Callable[..., tuple[Array, ...]], list[int], list[int | None]]:
            part = (flags, numbers, leaves, saved, tuple([first[i] for i in chosen]), in_step)
            blocks = range(given, given + (2 + len(saved)) * count, count)
            inputs = [*range(given), *[block + i for block in blocks for i in chosen]]
            outputs: list[int | None] = [*chosen]
            place = count
            for block in range(len(saved)):
                if block == shared:
                    outputs.append(place if 0 in chosen else None)
                    place += 1
                else:
                    outputs += [place + i for i in chosen]
                    place += count
            return self.function(part), inputs, outputs

        kinds = [
            (tuple([avals[block + i] for block in range(given, len(avals), count)]), first[i]) for i in range(count)
        ]
        return Pieces(kinds, some)

    @staticmethod
    def _replaces(args: tuple[Any, ...]) -> tuple[int, ...]:
        """For each output of ``function``, the number of the input that it replaces."""
        _, numbers, _, saved, first, in_step = args
        count = len(first)
        replaces = [len(numbers) + i for i in range(count)]
        states = len(numbers) + 2 * count  # behind the parameters and the gradients
        for block, name in enumerate(saved):
            shared = in_step and name == "step"
            replaces += [states + block * count + i for i in range(1 if shared else count)]
        return tuple(replaces)

    def function(self, args: tuple[Any, ...]) -> Callable[..., tuple[Array, ...]]:
        """The function of the program: from numbers, parameters, gradients and states to parameters and states."""
        flags, numbers, leaves, saved, first, in_step = args
        count = len(first)

        def fn(*arrays: Array) -> tuple[Array, ...]:
            inputs = iter(arrays)
            # PyTorch computes with Python's floats. In float64 a schedule's learning rate, or a bias correction after many steps, has the
            # same bits.
            values = {name: next(inputs).astype(jnp.float64).reshape(()) for name in numbers}
            params, grads = [next(inputs) for _ in range(count)], [next(inputs) for _ in range(count)]
            states: list[dict[str, Any]] = [{} for _ in range(count)]
            for name in saved:
                given = [next(inputs) for _ in states]
                for state, array in zip(states, given, strict=True):
                    # The counter of parameters that started together is one array for all of them.
                    state[name] = given[0] if in_step and name == "step" else array

            def step(param: Array, grad: Array, state: Any, is_first: bool, values: Any) -> tuple[Any, Any]:
                return self._step_parameter(param, grad, state, is_first, values, dict(flags), leaves)

            # Traced once for all parameters of one shape.
            step = traced_once(step) if for_numpy() else jax.jit(step, static_argnums=3)
            results = [
                step(param, grad, state, is_first, values)
                for param, grad, state, is_first in zip(params, grads, states, first, strict=True)
            ]
            outs = [param for param, _ in results]
            for name in saved:
                outs += [state[name] for _, state in (results[:1] if in_step and name == "step" else results)]
            return tuple(outs)

        return fn

    def _step_parameter(
        self,
        param: Array,
        grad: Array,
        state: dict[str, Array],
        first: bool,
        numbers: Mapping[str, object],
        flags: dict[str, bool],
        leaves: tuple[str, ...],
    ) -> tuple[Any, dict[str, Any]]:
        for name, array in state.items():
            if name not in SCALAR_STATES:
                _check_shape(name, array.shape, param.shape)
        is_complex = jnp.iscomplexobj(param)
        if is_complex:  # PyTorch steps real and imaginary parts as two parameters
            param, grad = _as_real(param), _as_real(grad)
            state = {n: _as_real(s) if jnp.iscomplexobj(s) else s for n, s in state.items()}
        dtypes = {name: array.dtype for name, array in state.items()}
        step_dtype = self._dtype_of_step(param, state)
        state = {n: s if n in SCALAR_STATES else s.astype(step_dtype) for n, s in state.items()}
        chain = self.make(step_dtype, first, **numbers, **flags)
        new_param, new_state = apply_to(chain, param.astype(step_dtype), grad.astype(step_dtype), state, leaves)
        new_param = new_param.astype(param.dtype)
        new_state = {name: array.astype(dtypes[name]) for name, array in new_state.items()}  # it is written in place
        if is_complex:
            new_param = _as_complex(new_param)
            new_state = {n: _as_complex(s) if s.ndim else s for n, s in new_state.items()}
        return new_param, new_state

    def _dtype_of_step(self, param: Array, state: dict[str, Array]) -> np.dtype:
        """The dtype that holds the parameter and its state, which keeps its own where the program gives the parameter another.

        Raises:
            RuntimeError: PyTorch refuses such a step.
        """
        step_dtype = expected = from_numpy_dtype(param.dtype)
        for name in sorted(state, key=self.interpolated.count, reverse=True):
            own = from_numpy_dtype(state[name].dtype)
            if name in SCALAR_STATES or own is expected:
                continue
            if self.is_fused:
                raise RuntimeError(f"expected scalar type {expected.scalar_name} but found {own.scalar_name}")
            if name in self.interpolated:
                names = C_NAMES[own.name], C_NAMES[expected.name]
                raise RuntimeError(f"expected dtype {names[0]} for `end` but got dtype {names[1]}")
            step_dtype = promote_types(step_dtype, own)
        return step_dtype.numpy


def _check_shape(name: str, state: tuple[int, ...], param: tuple[int, ...]) -> None:
    """Raises PyTorch's error for state of another shape than its parameter's, as a checkpoint of another model brings it."""
    own = list(param)
    if name in REDUCED_STATES:
        own[REDUCED_STATES[name]] = 1
    if list(state) == own:
        return
    common = list(common_shape([state, own]))
    if list(state) == common:
        own, common = list(param), list(common_shape([state, param]))
    else:
        own = list(state)
    raise RuntimeError(f"output with shape {own} doesn't match the broadcast shape {common}")


def _as_real(array: Array) -> Array:
    return jnp.stack([array.real, array.imag], -1)


def _as_complex(array: Array) -> Array:
    return lax.complex(array[..., 0], array[..., 1])


class Numbers:
    """The numbers of one group as values. A value is made again only when its number has changed."""

    __slots__ = ("last_numbers", "placement", "values")

    def __init__(self) -> None:
        self.placement: Placement | None = None
        self.last_numbers: dict[str, object] = {}
        self.values: dict[str, Value] = {}

    def take(self, numbers: Mapping[str, object], placement: Placement) -> list[Value]:
        if placement is not self.placement:
            self.placement = placement
            self.last_numbers.clear()
        last_numbers, values = self.last_numbers, self.values
        for name, number in numbers.items():
            if last_numbers.get(name) is not number:
                values[name] = _number_value(number, placement)
                if not isinstance(number, Tensor):  # a tensor is read at each step, since the program may write into it
                    last_numbers[name] = number
        return [values[name] for name in numbers]


def _number_value(number: object, placement: Placement) -> Value:
    if isinstance(number, Tensor):
        value = number._value()
        return value if value.aval.placement.home is placement else Value.on_host(value.numpy(), placement)
    value = Value.on_host(np.asarray(number, np.float64), placement)
    value.pin()
    return value


def step_group(
    op: Update,
    params: list[Tensor],
    state: Any,
    hyperparameters: Hyperparameters,
    known_numbers: Numbers,
) -> Replacements:
    """Records one step of these parameters, all of which have a gradient. Returns what ``replace_all`` takes.

    It changes nothing: an interrupt leaves no state behind by which the next step would not be the first.

    Args:
        state: the optimizer's state: from a parameter to a dictionary of tensors.
        known_numbers: the values of the group's numbers, from the last step.
    """
    numbers, flags, leaves, saved = hyperparameters
    damped = "dampening" in numbers
    values = values_of(params)
    placement = values[0].aval.placement.home
    several = len({id(value.aval.placement) for value in values}) > 1
    if several and any(value.aval.placement.home is not placement for value in values):
        return _step_by_placement(op, params, values, state, hyperparameters)
    states = [state[param] for param in params] if saved else []
    # Only momentum with dampening treats the first step differently. All other chains have one program for all steps.
    first = tuple([damped and not own for own in states]) if damped else (False,) * len(params)
    # Numbers are inputs and not constants of the program: a learning rate that changes at every step must not compile it again.
    inputs = known_numbers.take(numbers, placement)
    inputs += values
    inputs += values_of(map(grad_of, params))
    in_step = False
    made: list[dict[str, Any]] = []
    state_tensors: list[list[Tensor]] = []
    for name in saved:
        try:
            named = [own[name] for own in states]
            state_values = values_of(named)
        except (KeyError, AttributeError):  # there is no state yet, or it is None
            made = made or [{} for _ in states]
            _make_zeros(name, states, made, values, params)
            named = [new[name] if name in new else own[name] for own, new in zip(states, made, strict=True)]
            state_values = values_of(named)
        state_tensors.append(named)
        if name == "step":  # parameters that have made the same number of steps share the counter
            # One counter for all of them saves an input and an output for each parameter. Compared by identity, since looking at the
            # numbers would wait for the device.
            in_step = all(value is state_values[0] for value in state_values)
        inputs += state_values
    static = (tuple(flags.items()), tuple(numbers), leaves, saved, first, in_step)
    # One record for the whole group: XLA then updates all parameters in one program, with no call of Python for each.
    outs = recorder().record(op, static, inputs, static)[1]
    if not saved:
        return params, outs, []
    position = count = len(params)
    tensors, results = [*params], outs[:count]
    for name, named in zip(saved, state_tensors, strict=True):
        shared = in_step and name == "step"
        tensors += named
        results += outs[position : position + 1] * count if shared else outs[position : position + count]
        position += 1 if shared else count
    return tensors, results, list(zip(states, made, strict=False))


def _step_by_placement(
    op: Update, params: list[Tensor], values: list[Value], state: object, hyperparameters: Hyperparameters
) -> Replacements:
    """Calls ``step_group`` for the parameters of each device separately."""
    tensors, results, states = [], [], []
    for placement in {value.aval.placement.home for value in values}:
        neighbours = [p for p, v in zip(params, values, strict=True) if v.aval.placement.home is placement]
        stepped, outs, entries = step_group(op, neighbours, state, hyperparameters, Numbers())
        tensors += stepped
        results += outs
        states += entries
    return tensors, results, states


class _Step:
    """The function of an update, as an argument of an op: equal for equal updates, so that it is traced once."""

    def __init__(self, op: Update, static: tuple[object, ...]) -> None:
        self.key = op, static
        self.run = op.function(static)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Step) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def _run(arrays: list[Array], step: Any) -> list[Array]:
    return list(step.run(*arrays))


_WITH_HISTORY = internal_dispatcher(_run, "step", accepts=Category.INTEGER | Category.INEXACT, several=True)


def step_with_history(
    op: Update,
    params: list[Tensor],
    state: Any,
    hyperparameters: Hyperparameters,
    known_numbers: Numbers,
) -> Replacements:
    """A differentiable ``step_group``: gradients flow through the step to parameters, gradients and numbers.

    It writes into each parameter at once, since the parameter's history continues from there. So it returns nothing to replace.
    """
    numbers, flags, leaves, saved = hyperparameters
    for param in params:
        if param.requires_grad and param.is_leaf:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        own, value = state[param], param._value()
        first = saved == ("momentum_buffer",) and own.get("momentum_buffer") is None  # SGD's first step is different
        new: dict[str, Any] = {}
        for name in saved:
            if own.get(name) is None:
                _make_zeros(name, [own], [new], [value], [param])
        own.update(new)
        number_tensors = [
            n if isinstance(n, Tensor) else from_value(_number_value(n, value.aval.placement.home))
            for n in numbers.values()
        ]
        step = _Step(op, (tuple(flags.items()), tuple(numbers), leaves, saved, (first,), False))
        states = [own[name] for name in saved]
        results = apply(_WITH_HISTORY, ([*number_tensors, param, grad_of(param), *states], step))
        for tensor, result in zip([param, *states], results, strict=True):
            write(tensor, result)
    return [], [], []


def replace_all(tensors: list[Tensor], values: list[Value], states: Sequence[NewState] = ()) -> None:
    """Gives each tensor its new value, and parameters the states that are new.

    A signal leaves all of the parameters as they were before the step, or as they are after it. Views, and tensors that share memory
    with NumPy, are written afterwards, one by one.
    """
    for tensor, value in replace_contents(tensors, values, states):
        if is_whole_storage(tensor):
            write_value(tensor, value)
        else:
            _write_to_view(tensor, value)


def scalar_state_value(number: float, placement: Placement) -> Value:
    """A number that is part of the state, such as a count of steps: float64 if that is the default dtype, else float32."""
    double = get_default_dtype() is float64
    return Value.on_host(np.asarray(number, np.float64 if double else np.float32), placement)


def _make_zeros(
    name: str,
    states: Sequence[dict[str, Any]],
    made: Sequence[dict[str, Any]],
    values: list[Value],
    params: Sequence[Tensor],
) -> None:
    """Makes the state of this name where there is none: one number for a counter, else a tensor like the parameter.

    Args:
        states: of the parameters before this step.
        made: gets the new ones.

    Raises:
        KeyError: a parameter has other state than this, since the group's options were changed after its first step.
    """
    count = scalar_state_value(0, values[0].aval.placement.home)
    for own, new, value, param in zip(states, made, values, params, strict=True):
        if own and name not in own:
            raise KeyError(name)
        if own.get(name) is None:
            aval = value.aval
            # Zeros lie on the host and are copied when the program first runs, so that making the state records nothing.
            zeros = count if name == "step" else Value.full(aval.shape, aval.dtype, aval.placement)
            new[name] = from_value(zeros)
            as_its_kind = getattr(param, "_as_its_kind", None)  # of a DTensor over several processes
            if as_its_kind is not None and name not in SCALAR_STATES:
                new[name] = as_its_kind(new[name])


def _write_to_view(param: Tensor, value: Value) -> None:
    before, modes.grad_enabled = modes.grad_enabled, False
    try:
        write(param, from_value(value))
    finally:
        modes.grad_enabled = before
