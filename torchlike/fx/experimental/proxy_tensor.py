"""make_fx: a function as the graph of the operators that it calls with tensors, those of derivatives and of vmap among them."""

from __future__ import annotations

import gc
import inspect
import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..._core.modes import undispatched
from ..._core.tensor import Tensor
from ..._ops import operator as aten_operator
from ...utils._python_dispatch import TorchDispatchMode
from ...utils._pytree import tree_flatten, tree_leaves, tree_map
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node

__all__ = ["make_fx"]

_PACKAGE = __name__.partition(".")[0]


class _Tracing(TorchDispatchMode):
    """Writes each operator into a graph. ``attributes``: the tensors that are neither arguments nor computed from them, by name."""

    inlines_functions = True

    def __init__(self, decompositions: Mapping[object, Callable[..., object]]) -> None:
        super().__init__()
        self.graph = Graph()
        self.attributes: dict[str, Tensor] = {}
        self._decompositions = decompositions
        self._nodes: dict[
            int, tuple[Tensor, Node]
        ] = {}  # the tensors are kept, so that no other one gets their identity
        self._values: dict[
            int, tuple[object, Node]
        ] = {}  # the same of what they held: transforms make other tensors of it
        self._earlier: set[int] = set()

    @contextmanager
    def running(self) -> Iterator[None]:
        """While the function runs."""
        kept = [each for each in gc.get_objects() if Tensor in type(each).__mro__]
        self._earlier = set(map(id, kept))
        with self:
            yield
        del kept[:]  # until now nothing else has had the identity of one of them

    def note(self, tensor: Tensor, node: Node) -> None:
        """Notes which node a tensor is."""
        self._nodes[id(tensor)] = tensor, node
        with undispatched():
            value = tensor._value()
        self._values[id(value)] = value, node

    def node_of(self, value: object) -> Any:
        """The node of a tensor; what is no tensor is itself."""
        if not isinstance(value, Tensor):
            return value
        if id(value) not in self._nodes:
            with undispatched():
                same = self._values.get(id(value._value()))
            if same is not None:
                return same[1]
            if id(value) not in self._earlier:
                raise NotImplementedError(
                    "torchlike does not support make_fx of a function that computes a tensor by other means than operators"
                )
            return self._attribute(value)
        return self._nodes[id(value)][1]

    def _attribute(self, value: Tensor) -> Node:
        kind = "_param_constant" if getattr(value, "_is_param", False) else "_tensor_constant"
        name = f"{kind}{sum(each.startswith(kind) for each in self.attributes)}"
        self.attributes[name] = value
        node = self.graph.create_node("get_attr", name, (), {}, name=name)
        self.note(value, node)
        return node

    def __torch_dispatch__(self, func: Any, types: object, args: tuple[object, ...] = (), kwargs: Any = None) -> object:
        kwargs = dict(kwargs or {})
        if str(func) == "aten.lift_fresh.default":
            constant = self._attribute(args[0])  # pyright: ignore[reportArgumentType]
            copied = self.graph.create_node(
                "call_function", aten_operator("clone"), (constant,), {}, name="lift_fresh_copy"
            )
            result = func(*args, **kwargs)
            self.note(result, copied)
            return result
        if func in self._decompositions:
            with self:
                return self._decompositions[func](*args, **kwargs)
        result = func(*args, **kwargs)
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        if not any(isinstance(each, Tensor) for each in tree_leaves(result)):
            if any(id(tensor) in self._nodes for tensor in tensors):
                raise RuntimeError(
                    f"It appears that you're trying to get value out of a tracing tensor with {func} - erroring out! It's likely that this "
                    "is caused by data-dependent control flow or similar.  It may be possible to trace this with dynamic shapes; try "
                    "setting tracing_mode='symbolic' in your make_fx call."
                )
            return result
        arguments = tree_map(self.node_of, tuple(args)), tree_map(self.node_of, kwargs)
        name = func._overloadpacket.__name__
        node = self.graph.create_node("call_function", func, *arguments, name=name)
        if isinstance(result, Tensor):
            self.note(result, node)
        elif isinstance(result, (tuple, list)):
            for number, each in enumerate(result):
                if isinstance(each, Tensor):
                    self.note(each, self.graph.call_function(operator.getitem, (node, number)))
        return result


def make_fx(
    f: Callable[..., object],
    decomposition_table: Mapping[Any, Callable[..., object]] | None = None,
    tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False,
    *,
    pre_dispatch: bool = False,
    record_module_stack: bool = False,
    _allow_fake_constant: bool = False,
    _error_on_data_dependent_ops: bool = True,
    record_stack_traces: bool = False,
) -> Callable[..., GraphModule]:
    """The function that runs ``f`` with its arguments and returns the operators that were called, as a ``GraphModule``.

    Args:
        decomposition_table: by operator, functions that compute the same with others.
        tracing_mode: "real" or "fake"; sizes are those of the arguments.

    >>> from torchlike.fx.experimental.proxy_tensor import make_fx
    >>> [node.name for node in make_fx(lambda x: x.sin() + 1)(torch.ones(2)).graph.nodes]
    ['x_1', 'sin', 'add', 'output']

    Raises:
        NotImplementedError: ``tracing_mode="symbolic"``.
    """
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError(f"Unexpected tracing type: {tracing_mode}")
    if tracing_mode == "symbolic" or pre_dispatch:
        option = "pre_dispatch=True" if pre_dispatch else 'tracing_mode="symbolic"'
        raise NotImplementedError(f"torchlike does not support make_fx with {option} yet")

    def traced(*args: object) -> GraphModule:
        tracing = _Tracing(decomposition_table or {})
        leaves, shape = tree_flatten(args)
        for name, arg in zip(_names(f, len(args)), args, strict=True):
            for number, leaf in enumerate(tree_leaves(arg), 1):
                node = tracing.graph.placeholder(f"{name}_{number}")
                if isinstance(leaf, Tensor):
                    tracing.note(leaf, node)
        with tracing.running():
            result = f(*shape.unflatten(leaves))
        named = tree_map(tracing.node_of, result)
        result = tuple(named) if isinstance(named, tuple) else named  # and not ``return_types.max``
        # PyTorch's own functions are built in and have no annotations.
        own = str(getattr(f, "__module__", "")).partition(".")[0] == _PACKAGE
        tracing.graph.output(result, None if own else getattr(f, "__annotations__", {}).get("return"))
        _drop_unused(tracing.graph)
        return GraphModule(tracing.attributes, tracing.graph, getattr(f, "__name__", type(f).__name__))

    return traced


def _names(f: Callable[..., object], count: int) -> list[str]:
    """The names of a function's parameters; by number where it does not name them, as a module's call does not."""
    numbered = [f"arg{number}" for number in range(count)]
    if not inspect.isfunction(f):
        return numbered
    parameters = inspect.signature(f).parameters.values()
    positional = [each.name for each in parameters if each.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    return [*positional, *numbered[len(positional) :]][:count]


def _drop_unused(graph: Graph) -> None:
    """Drops what nothing reads, if its operator writes nothing."""
    for node in reversed(list(graph.nodes)):
        writes = node.op == "call_function" and getattr(getattr(node.target, "_schema", None), "is_mutable", False)
        if node.op in ("call_function", "get_attr") and not node.users and not writes:
            graph.erase_node(node)
