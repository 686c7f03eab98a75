"""Casts the tensors among an op's arguments under autocast, by the rules of the op's declaration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import update_wrapper
from typing import Any

from .._core import dtypes
from .._core.annotations import Dtype
from .._core.modes import modes
from .._core.tensor import Tensor
from .opdef import Autocast, AutocastRule

# By type of device: the list of rules for tensors there. PyTorch has one for each of the first two; other accelerators follow the GPU's.
LISTS = {"cpu": "cpu", "cuda": "cuda", "tpu": "cuda"}

_UNSAFE = (
    "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
    "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
    "In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_logits\n"
    "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
    "safe to autocast."
)


def cast_arguments(
    rules: Mapping[str, AutocastRule], args: Any, kwargs: dict[str, object]
) -> tuple[Any, dict[str, Any]]:
    """The arguments in the precision that autocast chooses for an op. Called only while autocast is on."""
    for device, half in (modes.autocast or {}).items():
        rule = rules.get(LISTS[device])
        if callable(rule):
            rule = rule(*args, **kwargs)
        if rule is None or rule is Autocast.KEEP:
            continue
        if rule is Autocast.UNSAFE:
            raise RuntimeError(_UNSAFE)
        dtype = {Autocast.LOWER: half, Autocast.FLOAT32: dtypes.float32}.get(rule)
        if dtype is None:
            dtype = _widest([*args, *kwargs.values()], device, half)
        args = tuple([converted(argument, device, dtype) for argument in args])
        kwargs = {name: converted(argument, device, dtype) for name, argument in kwargs.items()}
    return args, kwargs


def _is_cast(tensor: Tensor, device: str) -> bool:
    """Whether autocast casts this tensor. It leaves float64 tensors and those on other devices alone."""
    dtype = tensor.dtype
    return dtype.category == dtypes.FLOAT and dtype is not dtypes.float64 and tensor.device.type == device


# What casts a tensor, without the work of reading the arguments of ``to``.
_METHODS = {dtypes.bfloat16: "bfloat16", dtypes.float16: "half", dtypes.float32: "float"}


def converted(value: object, device: str, dtype: Dtype) -> Any:
    """A nested value in which the tensors that autocast casts have another dtype."""
    if value is None or value.__class__ is int:
        return value
    if isinstance(value, Tensor):
        converts = value.dtype is not dtype and _is_cast(value, device)
        return getattr(value, _METHODS[dtype])() if converts else value
    if isinstance(value, dict):
        return {name: converted(element, device, dtype) for name, element in value.items()}
    if isinstance(value, (list, tuple)):
        if {int}.issuperset(map(type, value)):  # sizes, strides, ...
            return value
        new = [converted(element, device, dtype) for element in value]
        if all(a is b for a, b in zip(new, value, strict=True)):
            return value
        return type(value)(*new) if hasattr(value, "_fields") else type(value)(new)
    return value


def _widest(values: Any, device: str, half: object) -> Any:
    """The widest type among tensors that are of the half type or float32."""
    widest = half
    for value in values:
        if isinstance(value, (list, tuple)):
            dtype = _widest(value, device, half)
        elif isinstance(value, Tensor) and _is_cast(value, device):
            dtype = value.dtype
        else:
            continue
        if dtype not in (half, dtypes.float32):
            raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
        if dtype is dtypes.float32:
            widest = dtype
    return widest


@contextmanager
def autocast_as(dtypes_by_device: dict[str, object] | None) -> Iterator[None]:
    """Within this context autocast is as it was when ``modes.autocast`` had this value: for what is computed again, elsewhere."""
    before, modes.autocast = modes.autocast, dtypes_by_device
    modes.update()
    try:
        yield
    finally:
        modes.autocast = before
        modes.update()


def without_autocast() -> AbstractContextManager[None]:
    """Switches autocast off: inside an op whose arguments are cast already, and for the in-place and ``out=`` forms, as in PyTorch."""
    return autocast_as(None)


def cast_call(
    rules: Mapping[str, AutocastRule], function: Callable[..., object], args: Any, kwargs: dict[str, object]
) -> Any:
    """Calls a composite. If it has a rule, its arguments are cast, and then nothing inside it is."""
    applied = any(_applies(rules.get(LISTS[device]), args, kwargs) for device in modes.autocast or ())
    if not applied:
        return function(*args, **kwargs)
    args, kwargs = cast_arguments(rules, args, kwargs)
    with without_autocast():
        return function(*args, **kwargs)


def _applies(rule: AutocastRule, args: Any, kwargs: Mapping[str, object]) -> bool:
    return (rule(*args, **kwargs) if callable(rule) else rule) is not None


def under_autocast(**rules: AutocastRule) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives a function that is not declared as an op the rules that ``autocast=`` gives an op."""

    def decorate(function: Callable[..., object]) -> Callable[..., Any]:
        def call(*args: object, **kwargs: object) -> Any:
            if modes.any_slow_mode and modes.autocast:
                return cast_call(rules, function, args, kwargs)
            return function(*args, **kwargs)

        return update_wrapper(call, function)

    return decorate
