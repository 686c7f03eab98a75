"""RewritingTracer: traces functions whose ``assert`` statements depend on values, as nodes that check them when the graph runs."""

from __future__ import annotations

import ast
import copy
import inspect
import textwrap
from types import CodeType, FunctionType
from typing import Any

from ..._core.signatures import Function, Kwargs
from ...nn import Module
from ...ops.settings.checks import _assert
from .._symbolic_trace import Tracer
from ..annotate import annotate
from ..graph import Graph

__all__ = ["AST_Rewriter", "RewritingTracer"]

# How the rewritten code refers to ``torch._assert`` and ``annotate``: no names of the program's.
_ASSERT, _ANNOTATE = "_torchlike_assert", "_torchlike_annotate"


class AST_Rewriter(ast.NodeTransformer):
    """Rewrites a function: ``assert x, y`` becomes ``torch._assert(x, y)``, a call a tracer sees; ``y: int = x`` gives a node a type."""

    def rewrite(self, fn: FunctionType) -> FunctionType:
        """The function with another body, in the same globals and with the same closure. One that has no source of its own stays."""
        tree = ast.parse(textwrap.dedent(inspect.getsource(fn)))
        definition = next((each for each in tree.body if isinstance(each, ast.FunctionDef)), None)
        if definition is None:  # a lambda, within which there is no assert
            return fn
        definition.decorator_list = []
        # The function within another one, whose parameters are its free variables: it is never run, only its code is taken.
        free = [*fn.__code__.co_freevars, _ASSERT, _ANNOTATE]
        parameters = ast.arguments([], [ast.arg(name) for name in free], None, [], [], None, [])
        around: Any = ast.FunctionDef("around", parameters, [self.visit(definition)], [], None)
        around.type_params = []  # since Python 3.12
        compiled = compile(ast.fix_missing_locations(ast.Module([around], [])), inspect.getfile(fn), "exec")
        code = _inner(_inner(compiled, "around"), definition.name)
        cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
        cells |= {_ASSERT: _cell(_assert), _ANNOTATE: _cell(annotate)}
        closure = tuple(cells[name] for name in code.co_freevars)
        result = FunctionType(code, fn.__globals__, fn.__name__, fn.__defaults__, closure)
        result.__dict__.update(fn.__dict__)
        result.__kwdefaults__, result.__annotations__ = copy.copy(fn.__kwdefaults__), fn.__annotations__
        return result

    def visit_Assert(self, node: ast.Assert) -> ast.Expr:
        call = ast.Call(ast.Name(_ASSERT, ast.Load()), [node.test, node.msg or ast.Constant("")], [])
        return ast.copy_location(ast.Expr(call), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        if node.value is None or not isinstance(node.target, ast.Name):
            return node
        call = ast.Call(ast.Name(_ANNOTATE, ast.Load()), [node.value, node.annotation], [])
        return ast.copy_location(ast.Assign([node.target], call), node)


def _cell(value: object) -> Any:
    closure = (lambda: value).__closure__
    assert closure is not None
    return closure[0]


def _inner(code: CodeType, name: str) -> CodeType:
    """The code of a function that is defined in other code."""
    return next(each for each in code.co_consts if isinstance(each, CodeType) and each.co_name == name)


class RewritingTracer(Tracer):
    """A tracer that records the asserts of the function, or of the module's ``forward``, that it traces.

    >>> def checked(x):
    ...     assert x.sum() > 0, "positive"
    ...     return x + 1
    >>> from torchlike.fx.experimental.rewriter import RewritingTracer
    >>> [node.name for node in RewritingTracer().trace(checked).nodes]
    ['x', 'sum_1', 'gt', '_assert', 'add', 'output']
    """

    def trace(self, root: Module | Function, concrete_args: Kwargs | None = None) -> Graph:
        return super().trace(_rewritten(root), concrete_args)


def _rewritten(root: Any) -> Any:
    rewriter = AST_Rewriter()
    if not isinstance(root, Module):
        return rewriter.rewrite(root)
    kind = type(root)
    forward: Any = kind.forward
    result = copy.copy(root)
    result.__class__ = type(kind.__name__, (kind,), {"forward": rewriter.rewrite(forward)})
    return result
