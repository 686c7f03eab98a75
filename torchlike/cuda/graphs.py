"""torch.cuda.graphs: raises errors, since torchlike captures no graphs. A compiled program already starts its kernels together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .devices import jax_device

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables"]

_INSTEAD = (
    "torchlike does not capture CUDA graphs: whatever a loop does again is compiled to one program, so run the function itself in place of "
    "the graph's replay"
)


class CUDAGraph:
    """A captured graph, which torchlike does not make.

    Raises:
        RuntimeError: there is no GPU. NotImplementedError: there is one.
    """

    def __new__(cls, keep_graph: bool = False) -> CUDAGraph:
        jax_device(None)
        raise NotImplementedError(_INSTEAD)

    def capture_begin(self, pool: object = None, capture_error_mode: str = "global") -> None:
        """Would begin to capture."""
        raise NotImplementedError(_INSTEAD)

    def capture_end(self) -> None:
        """Would end the capture."""
        raise NotImplementedError(_INSTEAD)

    def replay(self) -> None:
        """Would run what was captured."""
        raise NotImplementedError(_INSTEAD)

    def reset(self) -> None:
        """Would forget what was captured."""
        raise NotImplementedError(_INSTEAD)


class graph:
    """Within it a graph would be captured.

    Raises:
        RuntimeError: there is no GPU. NotImplementedError: there is one.
    """

    def __init__(self, cuda_graph: object, pool: object = None, stream: object = None, **options: object) -> None:
        jax_device(None)
        raise NotImplementedError(_INSTEAD)

    def __enter__(self) -> None:
        raise NotImplementedError(_INSTEAD)

    def __exit__(self, *exc: object) -> None:
        pass


def graph_pool_handle() -> Any:
    """Raises an error: there are no graphs whose memory could be shared."""
    jax_device(None)
    raise NotImplementedError(_INSTEAD)


def is_current_stream_capturing() -> bool:
    """Whether a graph is being captured: never."""
    return False


def make_graphed_callables(
    callables: Any,
    sample_args: object,
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: object = None,
) -> Any:
    """The functions or modules themselves: once they have been called a few times, they run as compiled programs."""
    jax_device(None)
    if isinstance(callables, tuple):
        return callables
    checked: Callable[..., object] = callables
    return checked
