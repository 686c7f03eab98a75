"""The two contexts of a selective checkpoint: the first keeps results of operators, the second hands them out again."""

from __future__ import annotations

import functools
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

from .._core.fields import version_of
from .._core.tensor import Tensor
from .._ops import OpOverload, OpOverloadPacket
from ._python_dispatch import TorchDispatchMode
from ._pytree import tree_map

_NOT_ASKED = ("aten.detach.default",)


class _Kept:
    """A tensor without its history, and the version it had when it was kept."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor.detach()
        self.version = version_of(tensor)


class _Keeping(TorchDispatchMode):
    """Asks about each operator's result whether it is kept."""

    def __init__(self, keeps: Callable[..., bool], kept: dict[Any, deque[Any]]) -> None:
        super().__init__()
        self.keeps, self.kept = keeps, kept

    def __torch_dispatch__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if str(func) in _NOT_ASKED:
            return func(*args, **kwargs)
        result = func(*args, **kwargs)
        keep = self.keeps(func, *args, **kwargs)
        self.kept[func].append((True, tree_map(_keep, result)) if keep else (False, None))
        return result


class _HandingOut(TorchDispatchMode):
    """Gives the results that were kept, and computes the others."""

    def __init__(self, kept: dict[Any, deque[Any]], allow_changes: bool) -> None:
        super().__init__()
        self.kept, self.allow_changes = kept, allow_changes

    def __torch_dispatch__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> Any:
        if str(func) in _NOT_ASKED or func not in self.kept:
            return func(*args, **(kwargs or {}))
        if not self.kept[func]:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under selective "
                "activation checkpoint."
            )
        is_kept, result = self.kept[func].popleft()
        return tree_map(self._hand_out, result) if is_kept else func(*args, **(kwargs or {}))

    def _hand_out(self, value: object) -> object:
        if not isinstance(value, _Kept):
            return value
        if version_of(value.tensor) != value.version and not self.allow_changes:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return value.tensor.detach()


def _keep(value: object) -> object:
    return _Kept(value) if isinstance(value, Tensor) else value


def contexts(policy: Any, ask: Callable[..., bool], allow_changes: bool) -> tuple[TorchDispatchMode, TorchDispatchMode]:
    """The contexts for a policy, or for a list of the operators whose results are kept.

    Args:
        ask: ``ask(policy, operator, *args, **kwargs)`` says what the policy decides.
    """
    keeps = functools.partial(ask, policy)
    if isinstance(policy, list):
        for each in policy:
            if isinstance(each, OpOverload):
                continue
            hint = ""
            if isinstance(each, OpOverloadPacket):
                hint = (
                    "Please update the OpOverloadPacket to a specific OpOverload.For example, if you have `torch.ops.aten.mm`, change it "
                    "to `torch.ops.aten.mm.default`."
                )
            kind = f"{type(each).__module__}.{type(each).__name__}".removeprefix("builtins.")
            raise ValueError(
                f"Expected op in `op_list` to be an OpOverload but got: {each} of type <class '{kind}'>. {hint}"
            )
        operators = set(policy)

        def keeps(func: object, *args: object, **kwargs: object) -> bool:
            return func in operators

    elif not callable(policy):
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    kept: dict[Any, deque[Any]] = defaultdict(deque)
    return _Keeping(keeps, kept), _HandingOut(kept, allow_changes)
