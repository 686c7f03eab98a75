"""Records the operations of one call of a module, by module, for TensorBoard's graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .._core.signatures import Args, Kwargs
from .._core.tensor import Tensor
from ..autograd.grad_mode import no_grad
from ..overrides import TorchFunctionMode
from ._pytree import tree_leaves

__all__ = ["GraphNode", "graph_of"]


@dataclass
class GraphNode:
    """A node of the graph. The parts of ``name`` between slashes are the modules that contain it."""

    name: str
    op: str
    inputs: list[str] = field(default_factory=list)
    shapes: list[tuple[int, ...]] = field(default_factory=list)


class _Recording(TorchFunctionMode):
    """Records each public function that returns a tensor, the module that calls it, and the nodes of its inputs."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.nodes: list[GraphNode] = []
        self._taken: dict[str, int] = {}
        self._made_by: dict[int, str] = {}  # node by the id of its tensor
        self._alive: list[Tensor] = []  # keeps tensors alive, so that no other tensor gets the same id
        self._scopes: list[str] = []
        self._names = {}
        paths = dict(_scopes(model))
        for path, module in model.named_modules():
            for name, tensor in [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]:
                self._names[id(tensor)] = f"{paths[path][0]}/{name}"
        self._handles = []
        for scope, module in paths.values():
            self._handles.append(module.register_forward_pre_hook(lambda *_, scope=scope: self._scopes.append(scope)))
            self._handles.append(module.register_forward_hook(lambda *_: self._scopes.pop() and None, always_call=True))

    def stop(self) -> None:
        for handle in self._handles:
            handle.remove()

    def __torch_function__(self, func: Any, types: Any, args: Args = (), kwargs: Kwargs | None = None) -> Any:
        kwargs = kwargs or {}
        inputs = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        result = func(*args, **kwargs)
        outputs = [leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor)]
        name = getattr(func, "__name__", "")
        if outputs and name != "__get__":
            self.add(name.strip("_"), f"aten::{name}", inputs, outputs)
        return result

    def add(
        self, name: str, op: str, input_tensors: list[Tensor], outputs: list[Tensor], scope: str | None = None
    ) -> None:
        """Adds a node from some tensors to others."""
        scope = scope if scope is not None else self._scopes[-1] if self._scopes else ""
        inputs = [self._origin(tensor, scope) for tensor in input_tensors]
        node = GraphNode(self._fresh(f"{scope}/{name}".lstrip("/")), op, inputs, [tuple(t.shape) for t in outputs])
        self.nodes.append(node)
        for tensor in outputs:
            self._made_by[id(tensor)] = node.name
        self._alive += outputs

    def _origin(self, tensor: Tensor, scope: str) -> str:
        origin = self._made_by.get(id(tensor))
        if origin is None:
            name_of_input = self._names.get(id(tensor))
            op = "prim::Constant" if name_of_input is None else "prim::GetAttr"
            node = GraphNode(
                self._fresh(name_of_input or f"{scope}/constant".lstrip("/")), op, [], [tuple(tensor.shape)]
            )
            self.nodes.append(node)
            origin = self._made_by[id(tensor)] = node.name
            self._alive.append(tensor)
        return origin

    def _fresh(self, name: str) -> str:
        count = self._taken[name] = self._taken.get(name, -1) + 1
        return f"{name}_{count}" if count else name


def _scopes(model: Any) -> Iterator[tuple[str, tuple[str, Any]]]:
    """Yields for each module its path, its scope in the graph (``Sequential/Linear[0]``) and the module."""
    scopes = {"": type(model).__name__}
    for path, module in model.named_modules():
        if path:
            parent, _, name = path.rpartition(".")
            scopes[path] = f"{scopes[parent]}/{type(module).__name__}[{name}]"
        yield path, (scopes[path], module)


def graph_of(model: Any, inputs: tuple[object, ...]) -> tuple[list[GraphNode], object]:
    """The operations of a call of the module in evaluation mode, in order, with inputs, parameters and results; and what it returned."""
    recording = _Recording(model)
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        leaves = [leaf for leaf in tree_leaves(inputs) if isinstance(leaf, Tensor)]
        for leaf in leaves:
            recording.add("input", "IO Node", [], [leaf], scope="input")
        with no_grad(), recording:
            result = model(*inputs)
    finally:
        recording.stop()
        for module, training in modes.items():
            module.training = training
    for leaf in tree_leaves(result):
        if isinstance(leaf, Tensor):
            recording.add("output", "IO Node", [leaf], [leaf], scope="output")
    return recording.nodes, result
