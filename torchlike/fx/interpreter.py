"""Interpreter and Transformer: run a graph node by node, to compute or to make another graph."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

from .._core.signatures import Args, Kwargs
from ..nn import Module
from ._symbolic_trace import Tracer
from .graph import Graph
from .graph_module import GraphModule
from .node import Argument, Node, Target, map_aggregate, map_arg
from .proxy import Proxy
from .traceback import preserve_node_meta, set_current_meta

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs the graph of a module node by node. Subclasses override what happens at a node.

    Args:
        module: whose graph it is, and where its targets are.
        garbage_collect_values: values are let go of after their last use.
        graph: another graph over the same module.

    Source: https://docs.pytorch.org/docs/stable/fx.html#torch.fx.Interpreter
    """

    def __init__(self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module: Any = module
        self.submodules = dict(module.named_modules())
        self.graph: Graph = self.module.graph if graph is None else graph
        self.env: dict[Node, object] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.user_to_last_uses: dict[Node, list[Node]] = {}
        if garbage_collect_values:
            visited: set[Node] = set()
            for user in reversed(list(self.graph.nodes)):
                for argument in user.all_input_nodes:
                    if argument not in visited:
                        visited.add(argument)
                        self.user_to_last_uses.setdefault(user, []).append(argument)

    def run(
        self, *args: object, initial_env: dict[Node, object] | None = None, enable_io_processing: bool = True
    ) -> Any:
        """Runs the graph and returns its result.

        Args:
            initial_env: values for some nodes, which are then not computed.
        """
        self.env = {} if initial_env is None else initial_env
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter: Iterator[object] = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    message = f"While executing {node.format_node()}"
                    message = f"{error.args[0]}\n\n{message}" if error.args else message
                    message += f"\nOriginal traceback:\n{node.stack_trace}"
                    if not isinstance(error, KeyError):
                        error.args = (message, *error.args[1:])
                raise
            for argument in self.user_to_last_uses.get(node, ()):
                del self.env[argument]
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
        return None

    def _set_current_node(self, node: Node) -> AbstractContextManager[None]:
        return set_current_meta(node, f"Interpreter_{type(self).__name__}")

    def run_node(self, n: Node) -> Any:
        """Runs one node."""
        with self._set_current_node(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: Kwargs) -> Any:
        """The next argument; all that are left for ``*args``; the default where there is none."""
        if not isinstance(target, str):
            raise AssertionError(f"Expected target to be str, got {type(target)}")
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            ) from None

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: Kwargs) -> Any:
        """An attribute of the module."""
        return self.fetch_attr(str(target))

    def call_function(self, target: Target, args: tuple[Argument, ...], kwargs: Kwargs) -> Any:
        """Calls a function."""
        if isinstance(target, str):
            raise AssertionError("Expected target to be callable, got str")
        return target(*args, **kwargs)

    def call_method(self, target: Target, args: tuple[Argument, ...], kwargs: Kwargs) -> Any:
        """Calls a method of the first argument."""
        self_obj, *arguments = args
        return getattr(self_obj, str(target))(*arguments, **kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: Kwargs) -> Any:
        """Calls a module."""
        return self.fetch_attr(str(target))(*args, **kwargs)

    def output(self, target: Target, args: tuple[Argument, ...], kwargs: Kwargs) -> Any:
        """The result."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """An attribute of the module by its path.

        Raises:
            RuntimeError: there is none.
        """
        at, parts = self.module, target.split(".")
        for i, name in enumerate(parts):
            if not hasattr(at, name):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(parts[: i + 1])}")
            at = getattr(at, name)
        return at

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[Args, Kwargs]:
        """The values of a node's arguments."""
        args, kwargs = self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)
        if not isinstance(args, tuple) or not isinstance(kwargs, dict):
            raise AssertionError("a node has a tuple and a dict of arguments")
        return args, kwargs

    def map_nodes_to_values(self, args: Argument, n: Node) -> Any:
        """The same with values for nodes."""

        def load(node: Node) -> Any:
            if node not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose such issues"
                )
            return self.env[node]

        return map_arg(args, load)


class Transformer(Interpreter):
    """Makes another graph by running one with proxies. Subclasses override what a node becomes.

    Source: https://docs.pytorch.org/docs/stable/fx.html#torch.fx.Transformer
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)

        class TransformerTracer(Tracer):
            def __init__(self, graph: Graph) -> None:
                super().__init__()
                self.graph = graph
                self.tensor_attrs = {}

            def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
                return True

        self.tracer = TransformerTracer(self.new_graph)
        self.tracer.root = module

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: Kwargs) -> Proxy:
        """A placeholder of the new graph."""
        default = args[0] if args else ...
        return Proxy(self.new_graph.placeholder(str(target), default_value=default), self.tracer)

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: Kwargs) -> Proxy:
        """An attribute in the new graph."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: Kwargs) -> Any:
        """A call of a module in the new graph."""
        submodule = self.fetch_attr(str(target))
        return self.tracer.call_module(submodule, submodule.forward, args, kwargs)

    def call_function(self, target: Target, args: tuple[Argument, ...], kwargs: Kwargs) -> Any:
        """A call of a function in the new graph."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """Runs the graph, and returns the module of the new one."""
        with preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:
            nodes = map_aggregate(result, lambda a: a.node if isinstance(a, Proxy) else a)
            old = self.graph.output_node()
            new = self.new_graph.output(nodes)
            for key, value in old.meta.items():
                new.meta[key] = value
        return GraphModule(self.module, self.new_graph)
