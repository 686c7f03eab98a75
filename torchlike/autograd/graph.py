"""What is saved in the graph: hooks that pack and unpack it, and access to its nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.modes import modes
from .._core.node import Node as Node, RemovableHandle as RemovableHandle
from .._core.tensor import Tensor

__all__ = ["Node", "get_gradient_edge", "save_on_cpu", "saved_tensors_hooks"]


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
        def pack(tensor: Tensor) -> Any:
            # A copy, as in PyTorch: what is written to the tensor later is not seen.
            return tensor.device, tensor.detach().cpu() if not tensor.is_cpu else tensor.detach().clone()

        def unpack(packed: Any) -> Tensor:
            device, tensor = packed
            return tensor.to(device)

        super().__init__(pack, unpack)


def get_gradient_edge(tensor: Tensor) -> tuple[Node, int]:
    """The node and output number to which a tensor's gradient is sent.

    Raises:
        RuntimeError: the tensor does not require a gradient.
    """
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return tensor._edge()
