"""PassManager: runs passes one after the other, in an order that constraints allow."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ....nn import Module
from ...graph_module import GraphModule
from .pass_base import PassResult

__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]

Pass = Callable[..., object]
Constraint = Callable[[Pass, Pass], bool]


def pass_result_wrapper(fn: Pass | None) -> Any:
    """A pass that returns a PassResult, of one that returns a module, or None since it has changed the given one."""
    if fn is None:
        return None

    @functools.wraps(fn)
    def wrapped(gm: Module) -> PassResult | None:
        result = fn(gm)
        if result is None:
            return PassResult(gm, True)
        return PassResult(result, True) if isinstance(result, Module) else result  # pyright: ignore[reportReturnType]

    if not inspect.isfunction(fn):
        wrapped.__name__ = type(fn).__name__
    return wrapped


def this_before_that_pass_constraint(this: Pass, that: Pass) -> Constraint:
    """The constraint that one pass runs before another."""
    return lambda a, b: not (a is that and b is this)


def _topological_sort_passes(passes: list[Pass], constraints: list[Constraint]) -> list[Pass]:
    """The passes in an order that the constraints allow; of those that could be next the first one that became so.

    Raises:
        RuntimeError: there is no such order.
    """
    if not constraints:
        return passes
    later: dict[Pass, list[Pass]] = {each: [] for each in passes}
    waits = dict.fromkeys(passes, 0)
    for i, a in enumerate(passes):
        for b in passes[:i] + passes[i + 1 :]:
            if not all(constraint(b, a) for constraint in constraints):
                later[a].append(b)  # b may not run before a
                waits[b] += 1
    ready = [each for each in passes if not waits[each]]
    ordered = []
    while ready:
        ordered.append(ready.pop(0))
        for each in later[ordered[-1]]:
            waits[each] -= 1
            if not waits[each]:
                ready.append(each)
    if len(ordered) != len(passes):
        stuck = [each for each in passes if waits[each]]
        raise RuntimeError(f"Circular dependency detected within the following passes: {stuck}")
    return ordered


class PassManager:
    """Runs passes.

    Args:
        passes: functions of a module that return a PassResult.
        constraints: functions of two passes, false where the first may not run before the second.
        steps: how often all passes run; they stop where none has changed anything.
        run_checks_after_each_pass: calls the functions of ``add_checks`` after each pass.
        suppress_check_failures: kept, and not heeded, as in PyTorch.
    """

    def __init__(
        self,
        passes: list[Pass] | None = None,
        constraints: list[Constraint] | None = None,
        steps: int | None = None,
        run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
    ) -> None:
        self.passes, self.constraints = passes or [], constraints or []
        self.steps = steps or 1
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._validated = False
        self.check: Callable[[Module], object] = lambda module: None  # what ``add_checks`` replaces

    def add_pass(self, _pass: Pass) -> None:
        """Adds a pass at the end."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Constraint) -> None:
        """Adds a constraint."""
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self) -> None:
        """Checks that the passes stand in an order that the constraints allow.

        Raises:
            RuntimeError: they do not.
        """
        if self._validated:
            return
        for constraint in self.constraints:
            for i, a in enumerate(self.passes):
                for j, b in enumerate(self.passes[i + 1 :]):
                    if not constraint(a, b):
                        raise RuntimeError(
                            f"pass schedule constraint violated. Expected {a} before {b} but found {a} at index {i} and {b} at index {j} "
                            "in pass list."
                        )
        self._validated = True

    def solve_constraints(self) -> None:
        """Puts the passes into an order that the constraints allow."""
        self.passes = _topological_sort_passes(self.passes, self.constraints)
        self._validated = True

    def add_checks(self, check: Callable[..., object]) -> None:
        """Adds a function of the module that raises where something is wrong; it takes ``module`` by position.

        Raises:
            TypeError: it takes more than that.
        """
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
        self.check = check

    def __call__(self, module: Module) -> PassResult:
        """Runs the passes.

        Raises:
            Exception: a pass failed, or did not return a PassResult.
        """
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        any_modified = False
        for _ in range(self.steps):
            modified = False
            for number, each in enumerate(self.passes):
                name = each.__name__ if inspect.isfunction(each) else type(each).__name__
                try:
                    result = each(module)
                    if not isinstance(result, PassResult):
                        raise TypeError(
                            f"The result of the pass {name} should be type PassResult. Please wrap it with pass_result_wrapper()"
                        )
                    module, modified = result.graph_module, modified or result.modified
                    if isinstance(module, GraphModule):
                        module.recompile()
                    if self.run_checks_after_each_pass:
                        self.check(module)
                except Exception as error:
                    before = [p.__name__ if inspect.isfunction(p) else type(p).__name__ for p in self.passes[:number]]
                    raise Exception(
                        f"An error occurred when running the '{name}' pass after the following passes: {before}"
                    ) from error
            any_modified = any_modified or modified
            if not modified:
                break
        self.check(module)
        return PassResult(module, any_modified)
