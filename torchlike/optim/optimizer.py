"""class Optimizer: parameter groups, state, hooks, and the format of ``state_dict``."""

from __future__ import annotations

import functools
import itertools
import warnings
import weakref
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from .._core.dtypes import from_numpy_dtype
from .._core.node import RemovableHandle
from .._core.tensor import Tensor, from_value
from ..autograd.grad_mode import enable_grad
from ..engine import boundary, flush
from ._update import Numbers, Update, count_value, replace_all, step_group, step_with_history

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

Hook = Callable[..., Any]
_global_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
_global_post_hooks: OrderedDict[int, Hook] = OrderedDict()


class _Required:
    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()

_HOOK_TABLES = (
    "_optimizer_step_pre_hooks", "_optimizer_step_post_hooks", "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks", "_optimizer_load_state_dict_pre_hooks", "_optimizer_load_state_dict_post_hooks",
)  # fmt: skip


class _Handle(RemovableHandle):
    def __init__(self, hooks: OrderedDict[int, Hook], hook: Hook, prepend: bool = False) -> None:
        super().__init__(hooks, hook)
        if prepend:
            hooks.move_to_end(self.id, last=False)


def register_optimizer_step_pre_hook(hook: Hook) -> RemovableHandle:
    """Calls ``hook(optimizer, args, kwargs)`` before each ``step`` of every optimizer."""
    return _Handle(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Hook) -> RemovableHandle:
    """Calls ``hook(optimizer, args, kwargs)`` after each ``step`` of every optimizer."""
    return _Handle(_global_post_hooks, hook)


def _with_hooks(step: Callable[..., object]) -> Callable[..., Any]:
    """A ``step`` that runs the hooks around itself and then ends the engine's segment."""

    @functools.wraps(step)
    def hooked(self: Any, *args: object, **kwargs: object) -> Any:
        if self._stepping:  # a subclass calls its parent's
            return step(self, *args, **kwargs)
        if "_optimizer_step_pre_hooks" not in self.__dict__ and not _was_set_up(type(self)):
            result = step(self, *args, **kwargs)
            self._opt_called = True
            boundary()
            return result
        self._stepping = True
        try:
            if _global_pre_hooks or self._optimizer_step_pre_hooks:
                args, kwargs = _run_pre_hooks(self, step, args, kwargs)
            result = step(self, *args, **kwargs)
            if _global_post_hooks or self._optimizer_step_post_hooks:
                for hook in [*self._optimizer_step_post_hooks.values(), *_global_post_hooks.values()]:
                    hook(self, (self, *args), kwargs)
        finally:
            self._stepping = False
        self._opt_called = True
        boundary()
        return result

    vars(hooked)["hooked"] = True
    return hooked


# Classes of which an optimizer was made in the usual way. PyTorch puts the hooks around their ``step`` only then: one whose own
# ``__init__`` does not call that of Optimizer steps without hooks before, and fails for want of them afterwards.
_set_up: weakref.WeakSet[type] = weakref.WeakSet()


def _was_set_up(cls: type) -> bool:
    return any(each in _set_up and getattr(each, "step", None) is cls.step for each in cls.__mro__)  # pyright: ignore[reportAttributeAccessIssue]


def _run_pre_hooks(
    optimizer: Any, step: object, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    for hook in [*_global_pre_hooks.values(), *optimizer._optimizer_step_pre_hooks.values()]:
        changed = hook(optimizer, (optimizer, *args), kwargs)
        if changed is None:
            continue
        if not isinstance(changed, tuple) or len(changed) != 2:
            raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but got {changed}.")
        args, kwargs = tuple(changed[0][1:]), changed[1]
    return args, kwargs


class Optimizer:
    """The base of all optimizers.

    Args:
        params: tensors, or pairs of name and tensor, or dictionaries that each describe a group of them.
        defaults: options that hold for groups which do not state their own.

    A subclass defines ``step``.

    Source: https://docs.pytorch.org/docs/stable/optim.html#torch.optim.Optimizer
    """

    _stepping = False
    _opt_called = False  # whether step has run; learning rate schedulers ask
    state: Any
    param_groups: list[dict[str, Any]]
    _optimizer_step_pre_hooks: OrderedDict[int, Hook]
    _optimizer_step_post_hooks: OrderedDict[int, Hook]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Hook]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Hook]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Hook]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Hook]

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        step = cls.__dict__.get("step")
        if step is not None and not getattr(step, "hooked", False):
            cls.step = _with_hooks(step)

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        _set_up.add(type(self))
        for table in _HOOK_TABLES:
            setattr(self, table, OrderedDict())
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"torch.{from_numpy_dtype(params._aval.dtype).scalar_name}Tensor"
            )
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)
        flush()  # what made the parameters is no part of the first step

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group of parameters, with options of its own.

        >>> w, b = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(1))
        >>> optimizer = torch.optim.SGD([w], lr=0.1)
        >>> optimizer.add_param_group({"params": [b], "lr": 0.01})
        >>> [group["lr"] for group in optimizer.param_groups]
        [0.1, 0.01]
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        given = param_group["params"]
        if isinstance(given, Tensor):
            given = [given]
        elif isinstance(given, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will "
                "change between runs. Please use a list instead."
            )
        else:
            given = list(given)
        named = [isinstance(p, tuple) for p in given]
        if any(named):
            if not all(named):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            param_group["param_names"] = [p[0] for p in given]
            given = [p[1] for p in given]
        param_group["params"] = given
        for param in given:
            if not isinstance(param, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {_typename(param)}")
            if not self.defaults.get("differentiable") and not (param.is_leaf or param._retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        if len(given) != len(set(given)):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; see "
                "github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        there = {p for group in self.param_groups for p in group["params"]}
        if not there.isdisjoint(given):
            raise ValueError("some parameters appear in more than one parameter group")
        if self.param_groups and ("param_names" in param_group) != ("param_names" in self.param_groups[0]):
            word = "with" if "param_names" in param_group else "without"
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{word} names to the optimizer"
            )
        self.param_groups.append(param_group)

    # ---- a step

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the parameters from their gradients; for a subclass to define.

        Args:
            closure: computes the loss and its gradients, and returns the loss.
        """
        raise NotImplementedError

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops the gradients of all parameters, or makes them zero."""
        _ = self.defaults  # PyTorch reads its options first: where ``__init__`` was not called, that is the error
        for group in self.param_groups:
            for param in group["params"]:
                grad = param._grad
                if grad is None:
                    continue
                if set_to_none:
                    param._grad = None
                else:
                    if grad.grad_fn is not None:
                        grad.detach_()
                    else:
                        grad.requires_grad_(False)
                    grad.zero_()

    # ---- state

    def state_dict(self) -> dict[str, Any]:
        """The state and the groups in PyTorch's format: parameters are numbered through."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            packed = {k: v for k, v in group.items() if k != "params"}
            for param in group["params"]:
                numbers.setdefault(id(param), len(numbers))
            packed["params"] = [numbers[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {numbers[id(k)] if isinstance(k, Tensor) else k: v for k, v in self.state.items()}
        state_dict = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        return state_dict

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over state and options from a ``state_dict``; state goes to the parameters' dtype and device.

        Raises:
            ValueError: the groups are not as many, or not as large, as this optimizer's.
        """
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        mine, saved = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(mine) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(mine, saved, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        numbered = dict(
            zip(
                itertools.chain.from_iterable(g["params"] for g in saved),
                itertools.chain.from_iterable(g["params"] for g in mine),
                strict=True,
            )
        )
        state = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in numbered:
                state[numbered[key]] = _cast(numbered[key], value)
            else:
                state[key] = value
        groups = []
        for own, new in zip(mine, saved, strict=True):
            new["params"] = own["params"]
            if "param_names" in own and "param_names" not in new:
                new["param_names"] = own["param_names"]
            groups.append(new)
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        _set_up.add(type(self))
        for table in _HOOK_TABLES:
            self.__dict__.setdefault(table, OrderedDict())
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        for number, group in enumerate(self.param_groups):
            text += f"\nParameter Group {number}\n"
            text += "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
        return text + ")"

    # ---- hooks

    def register_step_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Calls ``hook(optimizer, args, kwargs)`` before each ``step``; it may return new ``(args, kwargs)``."""
        return _Handle(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Hook) -> RemovableHandle:
        """Calls ``hook(optimizer, args, kwargs)`` after each ``step``."""
        return _Handle(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Calls ``hook(optimizer)`` before ``state_dict``."""
        return _Handle(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Calls ``hook(optimizer, state_dict)`` after ``state_dict``; it may return another one."""
        return _Handle(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Calls ``hook(optimizer, state_dict)`` before ``load_state_dict``; it may return another one."""
        return _Handle(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Calls ``hook(optimizer)`` after ``load_state_dict``."""
        return _Handle(self._optimizer_load_state_dict_post_hooks, hook, prepend)


def _typename(value: object) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _cast(param: Tensor, value: object, key: str | None = None) -> Any:
    """A piece of loaded state, in the dtype and on the device of its parameter; counts of steps stay what they are."""
    if isinstance(value, Tensor):
        if key == "step":
            return value
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)
    if isinstance(value, dict):
        return {k: _cast(param, v, key=k) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping)):
        return type(value)(_cast(param, v) for v in value)  # pyright: ignore[reportCallIssue]
    return value


class OptaxOptimizer(Optimizer):
    """An optimizer whose update is an optax chain: a subclass says which, and what of a group goes into it."""

    _op: Update
    _lacking: dict[str, Any] = {}  # options that a file of an older version may lack, and what they were then
    _numbers: dict[int, Numbers] | None = None  # by group

    def _hyperparameters(
        self, group: Mapping[str, object], params: Sequence[object]
    ) -> tuple[dict[str, Any], dict[str, Any], tuple[str, ...], tuple[str, ...]]:
        """Numbers that are inputs, flags that decide what the chain is made of, names of the state: as leaves, and as saved."""
        raise NotImplementedError

    def _parts(self, params: list[Any]) -> list[list[Any]]:
        """The parameters of a group by what their hyperparameters are."""
        return [params]

    def _initial(self, group: Mapping[str, object], param: Tensor) -> dict[str, Any]:
        """The state of a parameter before its first step, where not all of it is zeros; None for what is."""
        return {}

    def _check(self, params: Sequence[Tensor]) -> None:
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
        tensors = []
        values = []
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

    def __init_subclass__(cls, **kwargs: object) -> None:
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


def check_flags(
    lr: float | Tensor, foreach: bool | None = None, fused: bool | None = None, differentiable: bool = False
) -> None:
    """What PyTorch says of ``foreach`` and ``fused``, which choose between kernels there and nothing here."""
    if fused:
        if differentiable:
            raise RuntimeError("`fused` does not support `differentiable`")
        if foreach:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")


def check_numbers(**numbers: Any) -> None:
    """Refuses what is not at least zero; ``learning_rate=-1`` is an ``Invalid learning rate: -1``."""
    for name, number in numbers.items():
        if not number >= 0.0:
            words = {"learning_rate": "learning rate", "eps": "epsilon value"}.get(name, f"{name} value")
            raise ValueError(f"Invalid {words}: {number}")


def check_betas(betas: tuple[Any, Any]) -> None:
    """Refuses decay rates outside of [0, 1)."""
    for i, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
