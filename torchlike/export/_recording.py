"""Records what a module does as a graph of operators, each with the switches under which it was called.

What runs is a copy of the module, on copies of its arguments: they share the elements, since a copy is made when one is written to. So
the module, the arguments and the random numbers stay as they were.
"""

from __future__ import annotations

import gc
import operator
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from .._core.layouts import strided
from .._core.modes import dispatch_state, undispatched
from .._core.tensor import Tensor
from .._ops import operator as aten_operator
from .._subclasses.fake_tensor import FakeTensorMode
from ..autograd.grad_mode import no_grad
from ..compiler import while_exporting
from ..fx import Graph, Node
from ..fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from ..random import fork_rng
from ..random_streams.rng import Generator
from ..utils._python_dispatch import TorchDispatchMode
from ..utils._pytree import tree_leaves, tree_map
from ._regions import Switches

__all__ = ["Recording"]

# Functions that hand the elements to the program, and what it then makes of them would not be in the graph.
_READING = frozenset(("tolist", "numpy", "__array__", "__dlpack__", "untyped_storage", "storage"))


def _refuse(what: str, error: type[RuntimeError] = RuntimeError) -> NoReturn:
    raise error(f"torchlike does not support torch.export.export of a module that {what}")


class Recording(TorchDispatchMode):
    """Writes each operator into a graph.

    Attributes:
        graph: the operators so far.
        switches: under which each was called.
        constants: tensors that are neither arguments nor parameters, by the nodes that stand for them: their names, and the tensors.
    """

    sees_whole, inlines_functions = True, True

    def __init__(self) -> None:
        super().__init__()
        self.graph = Graph()
        self.switches: dict[Node, Switches] = {}
        self.constants: dict[Node, tuple[str, Tensor]] = {}
        self._nodes: dict[int, tuple[weakref.ref[Tensor], Node]] = {}
        self._known: dict[int, tuple[str | None, Tensor, Tensor]] = {}  # by the copy: name, copy, original
        self._generators: list[tuple[Generator, np.ndarray]] = []
        self._earlier: set[int] = set()  # the tensors that there were before the module ran
        self._fake = FakeTensorMode()

    @contextmanager
    def running(self) -> Iterator[None]:
        """While the module runs. Random numbers are drawn again afterwards."""
        kept = [each for each in gc.get_objects() if Tensor in type(each).__mro__]
        self._earlier = set(map(id, kept))
        try:
            with fork_rng(devices=[]), while_exporting(), self:
                yield
        finally:
            del kept[:]  # until now nothing else has had the identity of one of them
            for generator, state in reversed(self._generators):
                generator.set_raw_state(state)

    def knows(self, name: str | None, own: Tensor, original: Tensor) -> None:
        """Says that a tensor, if it is used, is a constant, which the module has under a name."""
        self._known[id(own)] = name, own, original

    def note(self, tensor: Tensor, node: Node) -> None:
        """Notes which node a tensor is."""
        self._nodes[id(tensor)] = weakref.ref(tensor), node
        with undispatched(), no_grad():
            if tensor.layout is strided:
                node.meta["val"] = self._fake.from_tensor(tensor)
        node.meta["shape"] = tuple(tensor.shape)

    def node_of(self, value: object) -> Any:
        """The node of a tensor, which may be one that the module made by itself; what is no tensor is itself."""
        if not isinstance(value, Tensor):
            return value
        node = self._found(value)
        if node is not None:
            return node
        if id(value) not in self._known and id(value) not in self._earlier:
            _refuse("computes a tensor by other means than operators, such as a derivative with create_graph=True")
        name, own, original = self._known.get(id(value), (None, value, value))
        return self._constant(name, own, original)

    def _found(self, tensor: Tensor) -> Node | None:
        found = self._nodes.get(id(tensor))
        return found[1] if found is not None and found[0]() is tensor else None

    def _constant(self, name: str | None, own: Tensor, original: Tensor) -> Node:
        if name is None:
            name = f"lifted_tensor_{sum(each.startswith('lifted_tensor_') for each, _ in self.constants.values())}"
        node = self.graph.placeholder(f"c_{name.replace('.', '_')}")
        self.constants[node] = name, original
        self._known[id(own)] = name, own, original  # so that no other tensor gets its identity
        self.note(own, node)
        return node

    def unseen(self, name: str) -> None:
        """Refuses a function that hands elements to the program, and one that puts others into a tensor unseen."""
        if name == "data":
            _refuse("sets the data of a tensor")
        if name in _READING:
            _refuse(f"reads the elements of a tensor ({name})")

    def __torch_dispatch__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        switches = Switches.now(dispatch_state.question.grad)
        leaves = tree_leaves((args, kwargs))
        for leaf in leaves:
            if isinstance(leaf, Generator) and not any(leaf is known for known, _ in self._generators):
                self._generators.append((leaf, leaf.raw_state()))
        if str(func) == "aten.lift_fresh.default":
            return self._lift(args[0], switches)
        if func._schema.is_mutable:
            self._check_written(args, kwargs)
        result = func(*args, **kwargs)
        results = tree_leaves(result)
        if any(isinstance(each, (bool, int, float, complex)) for each in results):
            if not any(isinstance(leaf, Tensor) and self._is_computed(leaf) for leaf in leaves):
                return result  # a constant
            if func._overloadpacket.__name__ == "_local_scalar_dense":
                _refuse("reads an element of a tensor (item, bool)", GuardOnDataDependentSymNode)
            _refuse(f"reads elements of a tensor ({func})")
        arguments = tree_map(self.node_of, tuple(args)), tree_map(self.node_of, kwargs)
        node = self.graph.create_node("call_function", func, *arguments, name=func._overloadpacket.__name__)
        self.switches[node] = switches
        if isinstance(result, Tensor):
            self.note(result, node)
        elif isinstance(result, (tuple, list)):
            for number, each in enumerate(result):
                if isinstance(each, Tensor):
                    part = self.graph.call_function(operator.getitem, (node, number))
                    self.switches[part] = switches
                    self.note(each, part)
        return result

    def _lift(self, tensor: Tensor, switches: Switches) -> Tensor:
        """A tensor that was made of numbers: the graph has a constant, and makes a copy of it each time, which may be written to."""
        with undispatched(), no_grad():
            kept: Any = tensor.clone()  # pyright: ignore[reportAttributeAccessIssue]
        constant = self._constant(None, kept, kept)
        node = self.graph.create_node("call_function", aten_operator("clone"), (constant,), {}, name="lift_fresh_copy")
        self.switches[node] = switches
        self.note(tensor, node)
        self._known[id(tensor)] = None, tensor, tensor  # its elements are known
        return tensor

    def _is_computed(self, tensor: Tensor) -> bool:
        node = self._found(tensor)
        return node is not None and node not in self.constants and id(tensor) not in self._known

    def _check_written(self, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        written = [args[0] if args else None, *[kwargs.get(name) for name in ("out", "self")]]
        for tensor in tree_leaves(written):
            if isinstance(tensor, Tensor) and self._found(tensor) is None and id(tensor) not in self._known:
                _refuse("writes to a tensor that is neither an argument nor a part of the module")
