"""torch.jit._get_trace_graph: the operators that a function calls, as a graph with the names that PyTorch's tracer gives them.

Tools that count operations read it: fvcore's ``FlopCountAnalysis``, for one. A mode sees each call of a public function. What PyTorch has
written in C++ is the node of its name there. What PyTorch has written in Python makes nodes of its own; _trace_plans.py has those that are
known, and all others raise an error. Sizes are numbers here, so there are no nodes of ``size``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from .._core.dtypes import bool_, float64, int64
from .._core.modes import tracers
from .._core.python_functions import PYTHON
from .._core.tensor import Tensor
from ..autograd.function import Function
from ..nn import Module
from ..ops.creation.from_data import as_tensor
from ..overrides import TorchFunctionMode, _pop_mode_temporarily, resolve_name
from ..utils._pytree import tree_leaves
from ._trace_plans import GETTERS, LISTS, PLANS, SILENT, WRAPPING, arguments_of, bound, own_name
from ._trace_values import Graph, Node, Value
from ._traced import while_tracing

__all__ = ["_get_trace_graph"]


class _State:
    """What ``torch._C._get_tracing_state`` returns: programs name the scope that the nodes after it are in."""

    def __init__(self) -> None:
        self.scopes: list[str] = []

    def push_scope(self, name: str) -> None:
        self.scopes.append(name)

    def pop_scope(self) -> None:
        self.scopes.pop()


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(
        f"torch.jit._get_trace_graph does not know which nodes PyTorch's tracer makes of {name}; torch.utils.flop_counter counts "
        "without a graph"
    )


class _Tracer(TorchFunctionMode):
    def __init__(self, inputs: Sequence[Tensor]) -> None:
        self.graph, self.state = Graph(), _State()
        self.values: dict[int, Value] = {}
        self.kept: list[Tensor] = []  # whose identities are keys
        first = Node("prim::Param", [], "")
        self.graph.taken = [self.know(tensor, first) for tensor in inputs]

    def know(self, tensor: Tensor, node: Node) -> Value:
        self.values[id(tensor)] = value = self.graph.value(node, tensor)
        self.kept.append(tensor)
        return value

    def node(self, kind: str, inputs: list[Value], constant: object = None) -> Node:
        self.graph.steps.append(Node(kind, inputs, "/".join(self.state.scopes), constant))
        return self.graph.steps[-1]

    def value(self, argument: object) -> Value:
        """That of an argument. What is not known is a constant."""
        if isinstance(argument, Tensor):
            known = self.values.get(id(argument))
            return known or self.know(argument, self.node("prim::Constant", [], argument))
        if isinstance(argument, (list, tuple)):
            node = self.node("prim::ListConstruct", [self.value(each) for each in argument])
        else:
            node = self.node("prim::Constant", [], argument)
        return self.graph.value(node, argument)

    def wrapped(self, operand: object) -> object:
        """A number as the tensor that PyTorch makes of it for some operators."""
        return (
            operand
            if isinstance(operand, Tensor)
            else as_tensor(operand, float64 if isinstance(operand, float) else None)
        )

    def function(self, cls: type[Function], args: tuple[object, ...], kwargs: dict[str, object]) -> Any:
        """The call of a custom function, which is one node whatever it calls."""
        tracers.pop()
        try:
            with _pop_mode_temporarily():
                result = cls.apply(*args, **kwargs)
        finally:
            tracers.append(self)
        tensors = [each for each in args if isinstance(each, Tensor)]
        self.note("prim::PythonOp", tensors, result if isinstance(result, tuple) else [result])
        self.graph.steps[-1].name = cls.__name__
        return result

    def note(self, kind: str, arguments: Sequence[object], results: Sequence[object]) -> None:
        node = self.node(kind if "::" in kind else f"aten::{kind}", [self.value(each) for each in arguments])
        if kind in LISTS:
            node = self.node("prim::ListUnpack", [self.graph.value(node, list(results))])
        for each in results:
            if isinstance(each, Tensor):
                self.know(each, node)

    def index(self, tensor: Any, index: object, result: Any) -> None:
        """The steps of ``x[...]``: each dimension by itself, then tensors of indices together."""
        index = index if isinstance(index, tuple) else (index,)
        if any(isinstance(each, bool) or (isinstance(each, Tensor) and each.dtype is bool_) for each in index):
            _refuse("indices that are bool")
        after = len([each for each in index[index.index(...) + 1 :] if each is not None]) if ... in index else 0
        dim, picked, now = 0, {}, tensor
        for each in index:
            before = now
            if each is ...:
                dim = now.dim() - after
                continue
            if each is None:
                now = before.unsqueeze(dim)
                self.note("unsqueeze", [before, dim], [now])
            elif isinstance(each, slice):
                now = before[(slice(None),) * dim + (each,)]
                start, stop, step = (each.start or 0, sys.maxsize if each.stop is None else each.stop, each.step or 1)
                self.note("slice", [before, dim, start, stop, step], [now])
            elif isinstance(each, (Tensor, list)):
                picked[dim] = each
                if isinstance(each, list):
                    made = tensor.new_tensor(each, dtype=int64)
                    picked[dim] = made.clone()
                    self.note("to", [made, tensor.device, int64, False, False, None], [picked[dim]])
            else:
                now = before.select(dim, each)
                self.note("select", [before, dim, each], [now])
                continue
            dim += 1
        if picked:
            self.note("index", [now, [picked.get(each) for each in range(max(picked) + 1)]], [result])
        else:
            self.values[id(result)] = self.value(now)
            self.kept.append(result)

    def __torch_function__(
        self, func: Any, types: object, args: tuple[object, ...] = (), kwargs: Mapping[str, object] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        results = result if isinstance(result, (tuple, list)) else [result]
        name = resolve_name(func) or repr(func)
        space, _, short = name.rpartition(".")
        if short == "__setitem__":
            _refuse(name)
        if short in SILENT or not any(isinstance(each, Tensor) for each in results):
            return result  # sizes, dtypes and the like
        if name == "torch.Tensor.__getitem__":
            self.index(args[0], args[1], result)
            return result
        if short == "__get__":
            attribute = space.rpartition(".")[2]
            if id(result) not in self.values:
                self.note(GETTERS[attribute], args, results) if attribute in GETTERS else _refuse(name)
            return result
        plan = PLANS.get(name)
        if plan is not None:
            kind, arguments = plan(**bound(func, args, kwargs))
        elif space == "torch.functional" or short in PYTHON.get(space, ()):
            _refuse(name)
        else:
            kind, arguments = own_name(func, space, short), arguments_of(func, args, kwargs)
            if kind.rstrip("_") in WRAPPING:
                arguments[:2] = [self.wrapped(each) for each in arguments[:2]]
        if not kind:
            _refuse(f"{name} as it is called here")
        self.note(kind, arguments, results)
        return result


def _get_trace_graph(
    f: Any,
    args: object = (),
    kwargs: Mapping[str, object] | None = None,
    strict: bool = True,
    _force_outplace: bool = False,
    return_inputs: bool = False,
    _return_inputs_states: bool = False,
) -> Any:
    """The graph of a call, and what it returns; parameters and buffers of a module are inputs of the graph, after the arguments.

    Raises:
        NotImplementedError: a function is called of which it is not known what PyTorch's tracer makes; or an option is asked for.
    """
    if _force_outplace or return_inputs or _return_inputs_states:
        raise NotImplementedError("torchlike's torch.jit._get_trace_graph makes graphs only: no options are supported")
    args = args if isinstance(args, tuple) else (args,)
    state = [*f.state_dict(keep_vars=True).values()] if isinstance(f, Module) else []
    given = [each for each in tree_leaves((args, kwargs or {})) if isinstance(each, Tensor)]
    with while_tracing({}), _Tracer([*given, *state]) as tracer:
        tracers.append(tracer)
        try:
            result = f(*args, **(kwargs or {}))
        finally:
            tracers.pop()
    tracer.graph.given = [tracer.value(each) for each in tree_leaves(result) if isinstance(each, Tensor)]
    return tracer.graph, result
