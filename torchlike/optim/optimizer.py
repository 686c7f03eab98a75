"""class Optimizer: parameter groups, state, hooks, and the format of ``state_dict``."""

from __future__ import annotations

import functools
import itertools
import warnings
import weakref
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from typing import Any, TypeAlias

from .._core.dtypes import from_numpy_dtype
from .._core.fields import drop_grads, grad_of
from .._core.node import RemovableHandle
from .._core.tensor import Tensor
from ..autograd.grad_mode import enable_grad
from ..engine import boundary, flush
from ..utils._foreach_utils import _group_tensors_by_device_and_dtype

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

Hook = Callable[..., object]
ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
_global_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
_global_post_hooks: OrderedDict[int, Hook] = OrderedDict()


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """On which devices PyTorch's optimizers can be parts of captured graphs."""
    return ["cuda", "xpu", "hpu", *(["xla"] if supports_xla else [])]


def _default_to_fused_or_foreach(
    params: list[Tensor], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """Whether PyTorch would use a fused step, and one over lists of tensors: it would use the latter on accelerators alone."""
    if differentiable:
        return False, False
    on_gpu = all(param is None or param.is_cuda for param in params)
    return use_fused and all(param is None or param.is_floating_point() for param in params), on_gpu and not use_fused


class _RequiredParameter:
    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()

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
    def hooked(self: Optimizer, *args: object, **kwargs: object) -> Any:
        if self._stepping:  # a subclass calls the step of its parent class
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

    # Marks the method, so that a subclass with ``step = Parent.step`` in its body is not wrapped a second time.
    vars(hooked)["hooked"] = True
    return hooked


# Classes whose optimizers were created through Optimizer.__init__. PyTorch wraps ``step`` in hooks only there: an optimizer whose own
# ``__init__`` does not call Optimizer's steps without hooks, as long as no other optimizer of its class was created through it.
_set_up: weakref.WeakSet[type] = weakref.WeakSet()


def _was_set_up(cls: type) -> bool:
    return any(ancestor in _set_up and getattr(ancestor, "step", None) is cls.step for ancestor in cls.__mro__)  # pyright: ignore[reportAttributeAccessIssue]


def _run_pre_hooks(
    optimizer: Optimizer, step: object, args: tuple[object, ...], kwargs: dict[str, object]
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
        params: tensors, or pairs of name and tensor, or a dictionary for each group of parameters.
        defaults: the options of groups that do not have their own.

    A subclass defines ``step``.

    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5)
    >>> isinstance(optimizer, torch.optim.Optimizer), optimizer.param_groups[0]["lr"]
    (True, 0.5)

    Source: https://docs.pytorch.org/docs/stable/optim.html#torch.optim.Optimizer
    """

    _stepping = False
    _opt_called = False  # whether step has run; learning rate schedulers ask
    _has_schedule = False  # whether a learning rate scheduler has been made for it
    _scheduled_step: object = None  # what the program had put in the place of ``step`` then
    # Whether each element is stepped by itself, so that a part of a parameter is stepped as the whole would be. None: a step written
    # with public functions, which refuse parts where they need the whole.
    _by_elements: bool | None = None
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

    _group_tensors_by_device_and_dtype = staticmethod(_group_tensors_by_device_and_dtype)

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
        flush()  # so that the operations which created the parameters are not part of the first step's program

    def _patch_step_function(self) -> None:
        """Lets steps run hooks, for an optimizer that does not call ``Optimizer.__init__``."""
        _set_up.add(type(self))

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
        params = param_group["params"]
        if isinstance(params, Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will "
                "change between runs. Please use a list instead."
            )
        else:
            params = list(params)
        has_name = [isinstance(p, tuple) for p in params]
        if any(has_name):
            if not all(has_name):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            param_group["param_names"] = [p[0] for p in params]
            params = [p[1] for p in params]
        param_group["params"] = params
        for param in params:
            if not isinstance(param, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {_typename(param)}")
            if not self.defaults.get("differentiable") and not (param.is_leaf or param.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
            if self._by_elements is False and hasattr(param, "_as_its_kind"):
                raise NotImplementedError(
                    f"torchlike does not support {type(self).__name__} of DTensors over several processes yet"
                )
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        if len(params) != len(set(params)):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; see "
                "github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        params_of_groups = {p for group in self.param_groups for p in group["params"]}
        if not params_of_groups.isdisjoint(params):
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
        """Updates the parameters from their gradients. A subclass defines it.

        Args:
            closure: computes the loss and its gradients, and returns the loss.
        """
        raise NotImplementedError

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops the gradients of all parameters, or makes them zero."""
        _ = self.defaults  # PyTorch reads its options first; if ``__init__`` was not called, this is where it fails
        for group in self.param_groups:
            if set_to_none:
                # One call for all parameters of a model: this runs at each step.
                drop_grads(group["params"])
                continue
            for param in group["params"]:
                grad = grad_of(param)
                if grad is not None:
                    if grad.grad_fn is not None:
                        grad.detach_()
                    else:
                        grad.requires_grad_(False)
                    grad.zero_()

    # ---- state

    def state_dict(self) -> dict[str, Any]:
        """The state and the groups in PyTorch's format, with numbers in place of the parameters."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            packed = {k: v for k, v in group.items() if k != "params"}
            for param in group["params"]:
                # PyTorch numbers parameters in the order of the groups. Its files depend on that.
                numbers.setdefault(id(param), len(numbers))
            packed["params"] = [numbers[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {numbers[id(k)] if isinstance(k, Tensor) else k: v for k, v in self.state.items()}
        state_dict = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed: Any = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        return state_dict

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads state and options from a ``state_dict``; the state is converted to the parameters' dtype and device.

        Raises:
            ValueError: this optimizer has another number of groups, or groups of another size.
        """
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed: Any = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        # A copy, because the caller's dictionary must not change with the optimizer's options.
        own_groups, loaded_groups = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(own_groups) != len(loaded_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(own_groups, loaded_groups, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        param_of_number = dict(
            zip(
                itertools.chain.from_iterable(g["params"] for g in loaded_groups),
                itertools.chain.from_iterable(g["params"] for g in own_groups),
                strict=True,
            )
        )
        state = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in param_of_number:
                state[param_of_number[key]] = _cast(param_of_number[key], value)
            else:
                state[key] = value
        groups = []
        for own, loaded in zip(own_groups, loaded_groups, strict=True):
            loaded["params"] = own["params"]
            if "param_names" in own and "param_names" not in loaded:
                loaded["param_names"] = own["param_names"]
            groups.append(loaded)
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def __getstate__(self) -> dict[str, object]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        _set_up.add(type(self))
        for table in _HOOK_TABLES:
            self.__dict__.setdefault(table, OrderedDict())
        # Checkpoints of older versions of PyTorch do not have this option.
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


def loss_of(closure: Callable[[], Any] | None) -> Any:
    """The loss that a closure returns, with gradients on; None if there is no closure."""
    if closure is None:
        return None
    with enable_grad():
        return closure()


def _typename(value: object) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _cast(param: Tensor, value: object, key: str | None = None) -> Any:
    """Loaded state in the dtype and on the device of its parameter. Counters of steps keep their own."""
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
