"""class OptaxOptimizer: the step that all optimizers over an optax chain share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._core.fields import grad_of, root_of, steps_of, stored_value
from .._core.sparse import SparseValue, is_sparse
from .._core.tensor import Tensor, from_value
from ..autograd.grad_mode import enable_grad, no_grad
from ._update import (
    SCALAR_STATES,
    Hyperparameters,
    NewState,
    Numbers,
    Update,
    replace_all,
    scalar_state_value,
    step_group,
    step_with_history,
)
from .optimizer import Optimizer, loss_of

if TYPE_CHECKING:
    from ..engine.value import Value


__all__ = ["OptaxOptimizer", "scalar_state"]


class OptaxOptimizer(Optimizer):
    """An optimizer whose update is an optax chain. A subclass defines the chain, and which of a group's options it reads."""

    _by_elements = False

    _op: Update
    _defaults_of_old_files: dict[
        str, object
    ] = {}  # options that a file of an older PyTorch lacks, and the values they had
    _numbers: dict[int, Numbers] | None = None  # by the number of the group

    def _hyperparameters(self, group: Mapping[str, object], params: Sequence[object]) -> Hyperparameters:
        raise NotImplementedError

    def _partition(self, params: list[Tensor]) -> list[list[Tensor]]:
        """The parameters of a group, in lists that have the same hyperparameters."""
        return [params]

    def _initial_state(self, group: Mapping[str, object], param: Tensor) -> dict[str, Any]:
        """The state of a parameter before its first step, for an algorithm whose state does not begin with zeros."""
        return {}

    def _check_params(self, params: Sequence[object]) -> None:
        """Raises for parameters that the algorithm cannot step."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        cls._has_initial_state = cls._initial_state is not OptaxOptimizer._initial_state

    # Whether a subclass defines ``_initial_state``. If not, a step need not call it for each parameter.
    _has_initial_state = False

    def __setstate__(self, state: dict[str, object]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, default in self._defaults_of_old_files.items():
                group.setdefault(name, default)
        for param, own in self.state.items():
            if not isinstance(param, Tensor):  # a number from a file, for which there is no parameter here
                continue
            for name in SCALAR_STATES:
                if not isinstance(own.get(name, param), Tensor):  # older files have Python numbers
                    own[name] = scalar_state(own[name], param)
        self._look_for_kernel_options()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the parameters from their gradients.

        Args:
            closure: computes the loss and its gradients, and returns the loss.
        """
        _ = self.defaults  # as in ``zero_grad``
        loss = loss_of(closure)
        if self._numbers is None:
            self._numbers = {}
        tensors: list[Tensor] = []
        values: list[Value] = []
        states: list[NewState] = []
        for number, group in enumerate(self.param_groups):
            # PyTorch skips parameters without a gradient, so their step count and momentum stay as well.
            params = [p for p in group["params"] if grad_of(p) is not None]
            if not params:
                continue
            if SparseValue.met:
                params = self._without_sparse(group, params)
                if not params:
                    continue
            self._check_params(params)
            # Kept from step to step, so that the array of an option is made only when its number has changed.
            known_numbers = self._numbers.get(number)
            if known_numbers is None:
                known_numbers = self._numbers[number] = Numbers()
            if self._has_initial_state:
                for param in params:
                    if not self.state[param]:
                        self.state[param].update(self._initial_state(group, param))
            update = self._update_function(group, params) if self._has_kernel_options else step_group
            op = self._op.fused if group.get("fused") else self._op
            for part in self._partition(params):
                for turn, round_tensors in enumerate(_rounds(part, tensors)):
                    if turn:
                        replace_all(tensors, values, states)
                        tensors, values, states = [], [], []
                    if round_tensors:
                        hyperparameters = self._hyperparameters(group, round_tensors)
                        stepped, outs, entries = update(op, round_tensors, self.state, hyperparameters, known_numbers)
                        tensors += stepped
                        values += outs
                        states += entries
        replace_all(tensors, values, states)
        return loss

    # ---- sparse gradients

    _instead_for_sparse = ""  # how PyTorch's error continues

    def _without_sparse(self, group: Mapping[str, object], params: list[Tensor]) -> list[Tensor]:
        """The parameters with dense gradients, after a step of those with sparse ones."""
        sparse = [param for param in params if is_sparse(grad_of(param))]
        if sparse:
            with no_grad():
                for param in sparse:
                    self._step_sparse(group, param, grad_of(param))
        return [param for param in params if not is_sparse(grad_of(param))] if sparse else params

    def _step_sparse(self, group: Mapping[str, object], param: Tensor, grad: Tensor | None) -> None:
        """Steps one parameter whose gradient is sparse.

        Raises:
            RuntimeError: the algorithm has no such step.
        """
        # PyTorch writes the name of its own class into the message, whatever a subclass is called.
        name = next(cls.__name__ for cls in reversed(type(self).__mro__) if cls not in _BASES)
        raise RuntimeError(f"{name} does not support sparse gradients{self._instead_for_sparse}")

    # ---- options that choose between PyTorch's kernels. Here they choose nothing, but PyTorch's errors come with them

    _has_kernel_options = False  # whether a group has one of them
    # PyTorch's error names these devices where ``capturable`` needs an accelerator.
    _capturable_words = "params and state_steps"
    _capturable_words_foreach = ""  # the same with ``foreach``, where PyTorch has other words for it
    # A device besides _GRAPH_DEVICES: without ``foreach``, and with it.
    _capturable_devices: tuple[str, ...] = ("xla", "")
    _foreach_is_differentiable = False  # whether ``foreach`` and ``differentiable`` go together

    def add_param_group(self, param_group: dict[str, object]) -> None:
        super().add_param_group(param_group)
        self._look_for_kernel_options()

    def _look_for_kernel_options(self) -> None:
        self._has_kernel_options = any(g.get("capturable") or g.get("differentiable") for g in self.param_groups)

    def _update_function(self, group: Mapping[str, object], params: list[Tensor]) -> Callable[..., Any]:
        """``step_group`` or ``step_with_history``, for a group with such options; PyTorch's error where it has no kernel."""
        foreach = bool(group.get("foreach"))
        if group.get("capturable") and not group.get("fused") and any(p.is_cpu for p in params):
            words = (self._capturable_words_foreach if foreach else "") or self._capturable_words
            devices = [*_GRAPH_DEVICES, *filter(None, [self._capturable_devices[foreach]])]
            raise AssertionError(f"If capturable=True, {words} must be on supported devices: {devices}.")
        if not group.get("differentiable"):
            return step_group
        if foreach and not self._foreach_is_differentiable:
            raise AssertionError("_foreach ops don't support autograd")
        return enable_grad()(step_with_history)


_BASES = (*OptaxOptimizer.__mro__,)


def _rounds(params: list[Tensor], stepped: list[Tensor]) -> list[list[Tensor]]:
    """Divides the parameters into rounds. No two parameters of a round share memory; each round's results are written before the next one.

    PyTorch steps one parameter after the other, so of two that share memory the second starts from the result of the first. Tied
    weights become such parameters by ``load_state_dict(assign=True)``.
    """
    values = set(map(stored_value, params))
    if len(values) == len(params) and values.isdisjoint(map(stored_value, stepped)):
        return [params]  # where memory is the same, the value is
    turns = Counter({_memory(t) for t in stepped})
    rounds: list[list[Tensor]] = [[] for _ in range(len(params) + 1)]
    for param in params:
        memory = _memory(param)
        rounds[turns[memory]].append(param)
        turns[memory] += 1
    return [round_params for number, round_params in enumerate(rounds) if round_params or not number]


def _memory(tensor: Tensor) -> tuple[object, ...]:
    return id(root_of(tensor)), *[step.place for step in steps_of(tensor)]


# Devices on which PyTorch captures graphs of kernels.
_GRAPH_DEVICES = ("cuda", "xpu", "hpu", "privateuseone")


def scalar_state(number: float, param: Tensor) -> Tensor:
    """State that is one number, on the device of its parameter."""
    return from_value(scalar_state_value(number, param._value().aval.placement))
