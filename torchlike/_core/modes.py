"""Per-thread switches: gradients, inference mode, anomaly detection, hooks on saved tensors; and who sees operators."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from ..engine.aval import MappedAval

_Result = TypeVar("_Result")


class Modes(threading.local):
    """One set of switches for each thread, each thread starting from the defaults.

    ``any_slow_mode`` is true while a switch other than ``grad_enabled`` is on. The dispatcher reads these two alone, so whoever
    changes another switch calls ``modes.update()`` afterwards.
    """

    grad_enabled: bool = True
    any_slow_mode: bool = False
    inference: bool = False
    anomaly: bool = False
    anomaly_nan: bool = True
    saved_tensors_hooks: tuple[Any, ...] = ()  # (pack, unpack) pairs, innermost last
    derivatives: tuple[Any, ...] = ()  # of ``torch.func``, in progress, outermost first: see ``func/_levels.py``
    forward_levels: int = 0  # how many of them go forwards
    # Instead of ``grad_enabled = False`` where one goes forwards: what is recorded then is no part of any backward pass.
    forward_only: bool = False
    # The level of ``torch.autograd.forward_ad``, which is the same for all threads: see ``autograd/dual.py``.
    duals: Any = None
    forward_grad: bool = True  # whether tangents are computed
    autocast: dict[str, object] | None = None  # by type of device: the dtype that matrix products and the like run in
    backward_pass: Any = None  # what runs the backward pass that is running in this thread
    vmaps: tuple[Any, ...] = ()  # in progress, outermost first

    def record(self, on: bool) -> None:
        """Switches the recording of gradients. Forward derivatives are not switched off with it."""
        self.forward_only = bool(self.forward_levels) and not on and not self.inference
        self.grad_enabled = on or self.forward_only
        if self.forward_levels:
            self.update()

    def update(self) -> None:
        if (
            self.inference
            or self.anomaly
            or self.saved_tensors_hooks
            or self.forward_only
            or self.derivatives
            or self.autocast is not None
        ):
            self.any_slow_mode = True
        else:  # A thread that has no value of its own sees that of the class, which says whether there is a level of duals.
            self.__dict__.pop("any_slow_mode", None)

    @property
    def level(self) -> Any:
        """The level for which tangents are computed here and now; None where there is none."""
        return self.duals if self.forward_grad and not self.inference else None

    @classmethod
    def set_duals(cls, level: object) -> None:
        """Begins or ends the level, in all threads."""
        cls.duals, cls.any_slow_mode = level, level is not None


modes = Modes()


NO_LEAF = (
    "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph that doesn't require "
    "differentiation use var_no_grad = var.detach()."
)
SWITCHING = "requires_grad_() (or perhaps using torch.autograd.functional.* APIs)"


def no_bool(given: object) -> TypeError:
    """The error of ``requires_grad_`` for what is no bool."""
    kind = type(given)
    name = f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__
    return TypeError(f"requires_grad_(): argument 'requires_grad' (position 1) must be bool, not {name}")


def refuse_in_transform(method: str, call: str) -> None:
    """Raises PyTorch's error if a function is being transformed by ``torch.func`` in this thread."""
    if modes.derivatives or modes.vmaps:
        raise RuntimeError(
            f"You are attempting to call Tensor.{method} inside of a function being transformed by a functorch transform. This is "
            "unsupported, please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call "
            f"{call} outside of a function being transformed instead."
        )


def refuse_saved_tensor_hooks() -> None:
    """Raises PyTorch's error where hooks for saved tensors and a derivative of ``torch.func`` backwards would meet."""
    raise RuntimeError(
        "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an issue with your use case."
    )


def set_forward_grad(on: bool) -> None:
    """Switches the computation of tangents on or off.

    Raises:
        NotImplementedError: off, within ``torch.func.jvp``.
    """
    if not on and modes.forward_levels:  # it records a graph, whose nodes do not know of this switch
        raise NotImplementedError("torchlike does not support _set_fwd_grad_enabled(False) within torch.func.jvp")
    modes.forward_grad = bool(on)


def refuse_other_memory(tensor: Any, new: Any) -> None:
    """Raises PyTorch's error for ``tensor.data = new`` where a function is transformed that would not see it."""
    if modes.derivatives:
        raise RuntimeError("mutating directly with `.data` inside functorch transform is not allowed.")
    if modes.vmaps and (tensor._aval.__class__ is MappedAval or new._aval.__class__ is MappedAval):
        raise RuntimeError("mutating directly with `.data` under vmap transform is not allowed.")


def computes_tangents() -> bool:
    """Whether tangents of dual tensors are computed in this thread."""
    return modes.forward_grad and not modes.inference


def tangent_of(tensor: object) -> Any:
    """The tangent that a tensor carries here and now; None if there is none."""
    level = modes.level if modes.any_slow_mode else None
    return None if level is None else level.tangent(tensor)


def carries(*tensors: object) -> bool:
    """Whether one of the tensors carries a tangent."""
    return modes.any_slow_mode and any(tangent_of(tensor) is not None for tensor in tensors)


def tangent_shown(tensor: object) -> str | None:
    """The tangent as it is printed."""
    tangent = tangent_of(tensor)
    return None if tangent is None else f"{tangent}"


def same_tangent(result: _Result, tensor: object) -> _Result:
    """The result, with the tangent of a tensor that it is another object for."""
    level = modes.level if modes.any_slow_mode else None
    if level is not None:
        level.put(result, level.tangent(tensor))
    return result


class DispatchState(threading.local):
    """Of each thread: the active modes of ``__torch_dispatch__``, innermost last; whether nobody is asked; and the call in question."""

    stack: tuple[Any, ...] = ()
    off: bool = False
    question: Any = None


class DispatchHooks:
    """What ``_ops`` adds when ``load`` imports it, which is above this layer.

    Attributes:
        on: how many modes are active in all threads, and one more from the first subclass on. While it is 0 nobody looks further.
        load: imports what sets the others.
        call: computes a call of a public function that somebody may ask to see.
        call_operator: the same of an operator.
        operator: calls an operator by its name, seen by who asks.
        step: computes the gradients of a node in a backward pass that somebody sees.
        pull: what ``step`` calls for a derivative that has a derivative itself.
        accumulate: adds a gradient to that of a leaf, seen by who asks.
        call_node: what a node computes when a program calls it; ``autograd/engine.py`` sets this one.
        saved, saved_names: what a node has saved under a name, and the names; ``autograd/saved.py`` sets them.
    """

    on: int = 0
    load: Callable[[], object]
    call: Callable[..., Any]
    call_operator: Callable[..., Any]
    operator: Callable[..., Any]
    step: Callable[..., Any]
    pull: Callable[..., Any]
    accumulate: Callable[..., Any]
    call_node: Callable[..., object]
    saved: Callable[..., object]
    saved_names: Callable[..., list[str]]


dispatch_state = DispatchState()

# What makes a graph for torch.jit._get_trace_graph, in which a call of a custom function is one node.
tracers: list[Any] = []
hooks = DispatchHooks()
# The subclasses of Tensor that define ``__torch_dispatch__`` and have had an object.
DISPATCHED: set[type] = set()


def asks(*tensors: object) -> bool:
    """Whether a mode is active in this thread, or one of the tensors is of a subclass that asks."""
    if not hooks.on or dispatch_state.off:
        return False
    return bool(dispatch_state.stack) or any(type(tensor) in DISPATCHED for tensor in tensors)


@contextmanager
def undispatched() -> Iterator[None]:
    """Within it nobody is asked."""
    before, dispatch_state.off = dispatch_state.off, True
    try:
        yield
    finally:
        dispatch_state.off = before
