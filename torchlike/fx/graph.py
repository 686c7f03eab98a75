"""Graph: a function as a list of nodes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from .._core.signatures import Function, Kwargs
from ..dispatch.warned import warn
from ..nn import Module, Parameter
from ._codegen import CodeGen, PythonCode, format_target as _format_target  # noqa: F401
from ._namespace import Namespace as _Namespace, snake_case as _snake_case
from ._targets import name_of
from .node import Argument, Node, Target, map_arg

__all__ = ["CodeGen", "Graph", "PythonCode"]


def _is_magic(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


class _node_list:
    """The nodes of a graph in their order. Nodes may be added and removed during an iteration."""

    def __init__(self, graph: Graph, direction: str = "_next") -> None:
        self.graph, self.direction = graph, direction

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        root, direction = self.graph._root, self.direction
        current = getattr(root, direction)
        while current is not root:
            if not current._erased:
                yield current
            current = getattr(current, direction)

    def __reversed__(self) -> _node_list:
        return _node_list(self.graph, "_next" if self.direction == "_prev" else "_prev")


class Graph:
    """A function as a list of nodes, which can be changed and written as Python code.

    Args:
        owning_module: the GraphModule that has the graph.
        tracer_cls: the tracer that made it.

    >>> from torchlike import fx
    >>> graph = fx.Graph()
    >>> x = graph.placeholder("x")
    >>> result = graph.output(graph.call_function(torch.relu, (x,)))
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
        return relu

    Source: https://docs.pytorch.org/docs/stable/fx.html#torch.fx.Graph
    """

    def __init__(
        self, owning_module: object = None, tracer_cls: type | None = None, tracer_extras: Kwargs | None = None
    ) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._used_names: dict[str, int] = {}
        self._insert = self._root.prepend
        self._len = 0
        self._graph_namespace = _Namespace()
        self._owning_module = owning_module
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._codegen = CodeGen()
        self._co_fields: Kwargs = {}

    @property
    def owning_module(self) -> Any:
        """The GraphModule that has this graph."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, module: object) -> None:
        self._owning_module = module

    @property
    def nodes(self) -> Any:
        """The nodes in the order in which they run."""
        return _node_list(self)

    def output_node(self) -> Node:
        """The node that returns."""
        return next(iter(self.find_nodes(op="output")))

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """The nodes of one kind, and of one target if that is given."""
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    # ---- making nodes

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        name: str | None = None,
        type_expr: object = None,
    ) -> Node:
        """Makes a node at the current place of insertion, which is the end at first."""
        args, kwargs = args or (), kwargs or {}
        if not isinstance(args, tuple):
            raise AssertionError(f"args must be a tuple, got {type(args)}")
        if not isinstance(kwargs, dict):
            raise AssertionError(f"kwargs must be a dict, got {type(kwargs)}")
        candidate = name if name is not None else self._target_to_str(target)
        node = Node(self, self._graph_namespace.create_name(candidate, None), op, target, args, kwargs, type_expr)
        self._graph_namespace.associate_name_with_obj(node.name, node)
        self._insert(node)
        self._len += 1
        return node

    def placeholder(self, name: str, type_expr: object = None, default_value: object = ...) -> Node:
        """A parameter of the function."""
        return self.create_node(
            "placeholder", name, () if default_value is ... else (default_value,), type_expr=type_expr
        )

    def get_attr(self, qualified_name: str, type_expr: object = None) -> Node:
        """A parameter or another attribute of the module; warns where the module has no parameter, buffer or module there."""
        if self.owning_module is not None:
            self._warn_of_missing(qualified_name)
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def _warn_of_missing(self, path: str) -> None:
        prefix, _, name = path.rpartition(".")
        try:
            holder = self.owning_module.get_submodule(prefix)
        except AttributeError:
            warn(f"Failed to fetch module {prefix}!")
            holder = None
        if holder is None or not (
            isinstance(getattr(holder, name, None), (Module, Parameter)) or name in holder._buffers
        ):
            warn(
                "Attempted to insert a get_attr Node with no underlying reference in the owning GraphModule! Call "
                "GraphModule.add_submodule to add the necessary submodule, GraphModule.add_parameter to add the necessary Parameter, or "
                "nn.Module.register_buffer to add the necessary buffer"
            )

    def call_module(self, module_name: str, args: Any = None, kwargs: Any = None, type_expr: object = None) -> Node:
        """A call of a module within the module.

        Raises:
            AttributeError: it is not there.
        """
        if self.owning_module is not None:
            self.owning_module.get_submodule(module_name)
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name: str, args: Any = None, kwargs: Any = None, type_expr: object = None) -> Node:
        """A call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Function,
        args: Any = None,
        kwargs: Any = None,
        type_expr: object = None,
        name: str | None = None,
    ) -> Node:
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result: Argument, type_expr: object = None) -> Node:
        """Adds the node of the function's return value."""
        return self.create_node(op="output", target="output", args=(result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Argument] = lambda x: x) -> Node:
        """A copy of a node of another graph. ``arg_transform``: from its inputs to nodes of this one."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        result = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        result.meta = copy.copy(node.meta)
        return result

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """Copies all nodes of another graph but its output, and returns what that returns. ``val_map`` is filled."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def _target_to_str(self, target: Target | None) -> str:
        if callable(target):
            name = name_of(target)
        else:
            name = str(target)
            if _is_magic(name):
                name = name[2:-2]
        return _snake_case(name)

    # ---- changing it

    def erase_node(self, to_erase: Node) -> None:
        """Removes a node that nothing uses.

        Raises:
            RuntimeError: something uses it.
        """
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: {to_erase.users}!"
            )
        if to_erase.graph != self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            import warnings

            warnings.warn(f"erase_node({to_erase}) on an already erased node")
            return
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1
        to_erase._set((), {})

    @contextmanager
    def _inserting(self, insert: Callable[[Node], None]) -> Iterator[None]:
        before, self._insert = self._insert, insert
        try:
            yield
        finally:
            self._insert = before

    def inserting_before(self, n: Node | None = None) -> AbstractContextManager[None]:
        """A context in which nodes are put before this one; None: at the beginning."""
        if n is None:
            return self.inserting_after(self._root)
        if n.graph != self:
            raise AssertionError("Node to insert before is not in graph.")
        return self._inserting(n.prepend)

    def inserting_after(self, n: Node | None = None) -> AbstractContextManager[None]:
        """A context in which nodes are put after this one, in their order; None: at the end."""
        if n is None:
            return self.inserting_before(self._root)
        if n.graph != self:
            raise AssertionError("Node to insert after is not in graph.")
        return self._inserting(n._next.prepend)

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Removes the nodes whose results nothing uses and that have no other effect. Returns whether there were any."""
        self.lint()
        changed = False
        for node in reversed(self.nodes):
            impure = node.is_impure() if is_impure_node is None else is_impure_node(node)
            if not impure and not node.users:
                self.erase_node(node)
                changed = True
        return changed

    def lint(self) -> None:
        """Checks that nodes come after those that they use, that names are distinct, and that attributes are there.

        Raises:
            RuntimeError: one of these does not hold.
        """
        earlier_nodes: set[Node] = set()
        names: set[str] = set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for argument in node.all_input_nodes:
                if argument.graph is not self:
                    raise RuntimeError(
                        f"Argument '{argument}' of Node '{node}' does not belong to this Graph, but was used as an argument! If you "
                        "are copying nodes from another graph, make sure to use ``arg_transform`` on node_copy() to remap values\n"
                        f"{self}"
                    )
                if argument not in earlier_nodes:
                    raise RuntimeError(
                        f"Argument '{argument}' of Node '{node}' was used before it has been defined! Please check that Nodes in the "
                        f"graph are topologically ordered\n{self}"
                    )
            earlier_nodes.add(node)
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            names.add(node.name)
            if self.owning_module is not None and node.op in ("get_attr", "call_module"):
                self._check_attribute(node)

    def _check_attribute(self, node: Node) -> None:
        at, parts = self.owning_module, str(node.target).split(".")
        for i, name in enumerate(parts):
            if not hasattr(at, name):
                raise RuntimeError(
                    f"Node {node} target {node.target} references nonexistent attribute {name} of {'.'.join(parts[:i])}"
                )
            at = getattr(at, name)

    # ---- showing it

    def python_code(self, root_module: str, *, verbose: bool = False, **options: object) -> PythonCode:
        """The code of the function. ``root_module``: the name under which it reaches its module."""
        namespace = _Namespace()
        before: list[tuple[Node, Any]] = []

        def name(node: Node) -> str:
            return namespace.create_name(node.name, node)

        for node in self.nodes:
            before.append((node, node._repr_fn))
            node._repr_fn = name
        try:
            return self._codegen._gen_python_code(self.nodes, root_module, namespace, verbose=verbose)
        finally:
            for node, repr_fn in before:
                node._repr_fn = repr_fn

    def process_inputs(self, *args: object) -> tuple[object, ...]:
        """The values for the placeholders, from the arguments of a call."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: object) -> Any:
        """The result of a call, from what the output node gives."""
        return self._codegen.process_outputs(out)

    def set_codegen(self, codegen: CodeGen) -> None:
        """Sets the object that writes the code."""
        self._codegen = codegen

    def on_generate_code(self, make_transformer: Callable[..., object]) -> AbstractContextManager[None]:
        """Registers a function that changes the lines of the code; returns a context, at whose end it is unregistered.

        Args:
            make_transformer: takes the present function from lines to lines, or None, and returns the new one.
        """
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)

        @contextmanager
        def undone() -> Iterator[None]:
            try:
                yield
            finally:
                self._codegen._body_transformer = before

        return undone()

    def print_tabular(self) -> None:
        """Prints the nodes as a table; it needs the package tabulate."""
        try:
            from tabulate import tabulate  # pyright: ignore[reportMissingModuleSource, reportMissingImports]
        except ImportError:
            print(  # noqa: T201
                "`print_tabular` relies on the library `tabulate`, which could not be found on this machine. Run `pip install "
                "tabulate` to install the library."
            )
            raise
        rows = [[n.op, n.name, n.target, n.args, n.kwargs] for n in self.nodes]
        print(tabulate(rows, headers=["opcode", "name", "target", "args", "kwargs"]))  # noqa: T201

    def __str__(self) -> str:
        parameters: list[str] = []
        lines = [node.format_node(parameters) for node in self.nodes]
        return "graph():" + "".join(f"\n    {line}" for line in lines if line)

    __repr__ = __str__

    def __deepcopy__(self, memo: dict[int, object] | None = None) -> Graph:
        memo = {} if memo is None else memo
        copied = Graph(tracer_cls=self._tracer_cls)
        values: dict[Node, Node] = {}
        result = copied.graph_copy(self, values, return_output_node=True)
        copied._codegen = copy.deepcopy(self._codegen)
        if result is not None:
            value, old = result
            new = copied.output(value, type_expr=getattr(old, "type", None))
            new.meta = copy.copy(old.meta)
        memo[id(self)] = copied
        return copied
