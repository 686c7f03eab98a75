"""ShapeProp: runs a graph, and notes the shape and the dtype of each tensor at its node."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..._core.tensor import Tensor
from ..interpreter import Interpreter
from ..node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """The properties of a tensor that ``ShapeProp`` records."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: object
    is_quantized: bool
    qparams: dict[str, object]


def _extract_tensor_metadata(result: Tensor, include_contiguity: bool = True) -> TensorMetadata:
    from ..._core.layouts import contiguous_format

    form = contiguous_format if include_contiguity and result.is_contiguous() else None
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, result.stride(), form, False, {})


class ShapeProp(Interpreter):
    """Runs a graph, and notes at each node ``meta["tensor_meta"]`` and ``meta["type"]``.

    Source: https://docs.pytorch.org/docs/stable/fx.html
    """

    def __init__(self, gm: Any, fake_mode: object = None) -> None:
        super().__init__(gm)
        if fake_mode is not None:
            raise NotImplementedError("torchlike does not support ShapeProp with a fake_mode")

    def run_node(self, n: Node) -> Any:
        """Runs one node, and notes what it gave."""
        result = super().run_node(n)
        has_tensor = False

        def note(value: object) -> Any:
            nonlocal has_tensor
            if isinstance(value, Tensor):
                has_tensor = True
                return _extract_tensor_metadata(value)
            return value

        meta = map_aggregate(result, note)
        if has_tensor:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: object) -> Any:
        """Runs the graph for these arguments."""
        return super().run(*args)
