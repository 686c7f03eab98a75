"""Hooks that pack and unpack tensors saved in the graph, and access to its nodes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .._core.fields import count_write
from .._core.modes import modes, refuse_saved_tensor_hooks
from .._core.node import Node as Node, RemovableHandle as RemovableHandle
from .._core.tensor import Tensor, from_value
from .edges import GradientEdge as GradientEdge

__all__ = [
    "GradientEdge", "Node", "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks", "get_gradient_edge", "increment_version", "register_multi_grad_hook",
    "save_on_cpu", "saved_tensors_hooks",
]  # fmt: skip


class _Disabled:
    message: str | None = None  # why hooks on saved tensors are refused now


class saved_tensors_hooks:
    """Within it, every tensor that an op saves for its backward goes through ``pack``, and ``unpack`` gives it back when needed.

    >>> packed = []
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t.shape) or t, lambda t: t):
    ...     y = torch.tensor([1.0, 2.0], requires_grad=True).exp()

    Source: https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.graph.saved_tensors_hooks
    """

    def __init__(self, pack_hook: Callable[[Tensor], object], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if _Disabled.message is not None:
            raise RuntimeError(_Disabled.message)
        if not all(derivative.forwards for derivative in modes.derivatives):
            refuse_saved_tensor_hooks()
        modes.saved_tensors_hooks = (*modes.saved_tensors_hooks, (self.pack_hook, self.unpack_hook))
        modes.update()

    def __exit__(self, *exc: object) -> None:
        modes.saved_tensors_hooks = modes.saved_tensors_hooks[:-1]
        modes.update()


class save_on_cpu(saved_tensors_hooks):
    """Within it, tensors that are saved for the backward pass are kept in the host's memory, and go back to their device when needed.

    Args:
        pin_memory: accepted; transfers block in any case.

    Source: https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.graph.save_on_cpu
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Tensor) -> tuple[object, Tensor]:
            # A copy, as in PyTorch: later writes to the tensor do not change it.
            return tensor.device, tensor.detach().cpu() if not tensor.is_cpu else tensor.detach().clone()

        def unpack(packed: Any) -> Tensor:
            device, tensor = packed
            return tensor.to(device)

        super().__init__(pack, unpack)


class _AllowMutationOnSavedContext:
    """The context of ``allow_mutation_on_saved_tensors``. The two tables are empty: what is saved is not copied when it is written to."""

    active = False  # whether one is, in any thread

    def __init__(self) -> None:
        self.cloned: dict[object, object] = {}
        self.original: dict[object, object] = {}
        self.open = True

    def clear(self) -> None:
        """Forgets all."""
        self.cloned.clear()
        self.original.clear()

    def pack(self, tensor: Tensor) -> Tensor:
        """What the tensor holds now, with its history. Values do not change, so that this is no copy."""
        kept = from_value(tensor._value())
        if tensor._tracked:
            kept._set_history(*tensor._edge())
        return kept

    def unpack(self, tensor: Tensor) -> Tensor:
        if not self.open:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' contextin which the graph was originally recorded."
            )
        return tensor


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_AllowMutationOnSavedContext]:
    """Within it tensors that are saved for the backward pass may be written to: gradients are those of what they held before.

    >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     a = torch.ones(2, requires_grad=True)
    ...     b = a.clone()
    ...     out = (b * b).sum()
    ...     b.zero_().shape
    ...     out.backward()
    torch.Size([2])
    >>> a.grad
    tensor([2., 2.])

    Raises:
        RuntimeError: within another one. AssertionError: a backward pass through the graph outside of it.

    Source: https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.graph.allow_mutation_on_saved_tensors
    """
    if _AllowMutationOnSavedContext.active:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    context = _AllowMutationOnSavedContext()
    _AllowMutationOnSavedContext.active = True
    try:
        with saved_tensors_hooks(context.pack, context.unpack):
            yield context
    finally:
        context.open = _AllowMutationOnSavedContext.active = False
        context.clear()


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Within it, hooks on saved tensors are refused with a RuntimeError of this message.

    Source: https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.graph.disable_saved_tensors_hooks
    """
    before, _Disabled.message = _Disabled.message, error_message
    try:
        yield
    finally:
        _Disabled.message = before


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Counts one more write to a tensor, or to each of several: a graph that saved it finds that it has changed.

    >>> x = torch.ones(1)
    >>> torch.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    tensors = (tensor,) if isinstance(tensor, Tensor) else tensor
    if not isinstance(tensors, Iterable):
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input")
    for changed in tensors:
        if not isinstance(changed, Tensor):
            raise RuntimeError("increment_version expects each element of the iterable to be a tensor")
        count_write(changed)


class _Arrivals:
    """The state of one backward pass: the gradients that have arrived so far."""

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes
        self.lock = threading.Lock()
        self.running: object = None
        self.gradients: list[Tensor | None] = []
        self.count = self.expected = 0

    def add(self, number: int, gradient: Tensor) -> None:
        """Notes a gradient. The first one of another pass makes a new list."""
        if self.running is not modes.backward_pass:
            self.running = modes.backward_pass
            self.gradients = [None] * len(self.nodes)
            self.count, self.expected = 0, sum(modes.backward_pass.reaches(self.nodes))
        self.gradients[number] = gradient
        self.count += 1
        if self.count == self.expected:
            self.running = None  # so that a finished pass is freed, and is not mistaken for a later one


class _Several(RemovableHandle):
    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: str = "all"
) -> RemovableHandle:
    """A hook for the gradients of several tensors.

    Args:
        tensors: each requires a gradient.
        fn: is called once in each backward pass that reaches some of them: as soon as all their gradients are there, with the list of
            the gradients, None for a tensor that the pass does not reach ("all"); or with the first gradient that is there ("any").
        mode: "all" or "any".

    Raises:
        ValueError: another mode. RuntimeError: a tensor does not require a gradient.

    >>> x, y = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    >>> handle = torch.autograd.graph.register_multi_grad_hook((x, y), lambda grads: print(grads))
    >>> (2 * x + 3 * y).backward()
    [tensor([2.]), tensor([3.])]

    Source: https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.graph.register_multi_grad_hook
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    state = _Arrivals([tensor._edge()[0] for tensor in tensors])

    def hook_of(number: int) -> Callable[[Tensor], None]:
        def hook(gradient: Tensor) -> None:
            with state.lock:
                state.add(number, gradient)
                gradients = list(state.gradients)
                first, last = state.count == 1, state.count == state.expected
            if mode == "any" and first:
                fn(gradient)
            elif mode == "all" and last:
                fn(gradients)

        return hook

    return _Several([tensor.register_hook(hook_of(number)) for number, tensor in enumerate(tensors)])


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The node and output number to which a tensor's gradient is sent.

    Raises:
        RuntimeError: the tensor does not require a gradient.
    """
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*tensor._edge())


GradientEdge.__module__ = __name__  # users find it here
