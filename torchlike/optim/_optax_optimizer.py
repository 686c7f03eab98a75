"""class OptaxOptimizer: the step that all optimizers over an optax chain share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.tensor import Tensor, from_value
from ..autograd.grad_mode import enable_grad
from ._update import Numbers, Update, count_value, replace_all, step_group, step_with_history
from .optimizer import Optimizer

__all__ = ["OptaxOptimizer", "count"]


class OptaxOptimizer(Optimizer):
    """An optimizer whose update is an optax chain: a subclass says which, and what of a group goes into it."""

    _op: Update
    _lacking: dict[str, Any] = {}  # options that a file of an older version may lack, and what they were then
    _numbers: dict[int, Numbers] | None = None  # by group

    def _hyperparameters(
        self, group: dict[str, Any], params: list[Any]
    ) -> tuple[dict[str, Any], dict[str, Any], tuple[str, ...], tuple[str, ...]]:
        """Numbers that are inputs, flags that decide what the chain is made of, names of the state: as leaves, and as saved."""
        raise NotImplementedError

    def _parts(self, params: list[Any]) -> list[list[Any]]:
        """The parameters of a group by what their hyperparameters are."""
        return [params]

    def _initial(self, group: dict[str, Any], param: Any) -> dict[str, Any]:
        """The state of a parameter before its first step, where not all of it is zeros; None for what is."""
        return {}

    def _check(self, params: list[Any]) -> None:
        """Raises for parameters with which the algorithm can do nothing."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, default in self._lacking.items():
                group.setdefault(name, default)
        for param, own in self.state.items():
            if not isinstance(param, Tensor):  # a number in a file that no parameter here has
                continue
            for name in _COUNTS:
                if not isinstance(own.get(name, param), Tensor):  # older files hold them as Python numbers
                    own[name] = count(own[name], param)
        self._look_for_special()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the parameters from their gradients.

        Args:
            closure: computes the loss and its gradients, and returns the loss.
        """
        _ = self.defaults  # as in ``zero_grad``
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        if self._numbers is None:
            self._numbers = {}
        tensors: list[Any] = []
        values: list[Any] = []
        for number, group in enumerate(self.param_groups):
            params = [p for p in group["params"] if p._grad is not None]
            if not params:
                continue
            self._check(params)
            known = self._numbers.get(number)
            if known is None:
                known = self._numbers[number] = Numbers()
            if self._starts:
                for param in params:
                    if not self.state[param]:
                        self.state[param].update(self._initial(group, param))
            update = self._special_update(group, params) if self._special else step_group
            for part in self._parts(params):
                numbers, flags, names, saved = self._hyperparameters(group, part)
                more, new = update(self._op, part, self.state, numbers, known, tuple(flags.items()), names, saved)
                tensors += more
                values += new
        replace_all(tensors, values)
        return loss

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._starts = cls._initial is not OptaxOptimizer._initial

    _starts = False  # whether there is an ``_initial`` to ask

    # ---- options that choose between PyTorch's kernels, where they matter here

    _special = False  # whether a group has one of them
    _captured = "params and state_steps"  # what ``capturable`` wants to find on an accelerator, in PyTorch's words
    _captured_together = ""  # the same where ``foreach`` says it differently
    _captured_on: tuple[str, ...] = ("xla", "")  # what it takes besides GPUs: without ``foreach``, and with it

    _together_with_history = False  # whether ``foreach`` goes with ``differentiable``

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        super().add_param_group(param_group)
        self._look_for_special()

    def _look_for_special(self) -> None:
        self._special = any(g.get("capturable") or g.get("differentiable") for g in self.param_groups)

    def _special_update(self, group: dict[str, Any], params: list[Any]) -> Callable[..., Any]:
        together = bool(group.get("foreach"))
        if group.get("capturable") and not group.get("fused") and any(p.is_cpu for p in params):
            words = (self._captured_together if together else "") or self._captured
            kinds = [*_GRAPHS, *filter(None, [self._captured_on[together]])]
            raise AssertionError(f"If capturable=True, {words} must be on supported devices: {kinds}.")
        if not group.get("differentiable"):
            return step_group
        if together and not self._together_with_history:
            raise AssertionError("_foreach ops don't support autograd")
        return enable_grad()(step_with_history)


# Devices on which PyTorch captures graphs of kernels.
_GRAPHS = ("cuda", "xpu", "hpu", "privateuseone")

# State that is one number, a tensor of no dimension.
_COUNTS = ("step", "mu_product", "eta", "mu")


def count(number: float, param: Any) -> Tensor:
    """State that is one number, on the device of its parameter."""
    return from_value(count_value(number, param._value().aval.placement))
