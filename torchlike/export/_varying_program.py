"""The program of a module for sizes that vary: which sizes these are, for which ones the module is traced, and what comes of it."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
from jax import export as jax_export
from jax.errors import InconclusiveDimensionOperation
from jax.extend.core import ClosedJaxpr

from .._core.tensor import Tensor
from .._dynamo.exc import UserError
from ..engine.jax_settings import tracing
from ..nn.modules.module import Module
from ._generalized import Atom, Bound, NotGeneral, evaluate_general
from ._sizes import Sizes
from ._staged import Program, stage, tensors_of
from .dynamic_shapes import Dim, sites_of

__all__ = ["Symbol", "symbols_of", "symbols_of_sizes", "traced_program"]

# For so many sizes a module is traced. Two points give a line, and the others show that it is one.
TRACES = 6
# How much larger they are than the example: neighbours, and so far away that sizes differ after five halvings, too. Nothing is computed, so
# large sizes cost nothing; but a module may have a largest one, as of a table of positions.
FAR, NEAR = (0, 1, 2, 37, 101, 214, 390), (0, 1, 2, 3, 5, 7, 10)


@dataclass
class Symbol:
    """A size that varies: what the program calls it, and the dimensions that have it, each computed from it."""

    name: str
    example: int
    low: int = 1
    high: float = float("inf")
    hinted: bool = False  # whether it may turn out not to vary
    sites: list[tuple[int, int, Callable[[int], int]]] = field(default_factory=list)

    def candidates(self, steps: Sequence[int]) -> list[int]:
        """Sizes to trace for. A size of 1 is often another case than all others."""
        base = max(self.example, self.low, 2)
        found = [base + step for step in steps]
        return [size for size in found if max(self.low, 2) <= size <= self.high]


def symbols_of(module: Module, args: tuple[object, ...], kwargs: Mapping[str, object], said: object) -> list[Symbol]:
    """What ``dynamic_shapes`` says, with ``Dim`` s, hints, and names."""
    bound = inspect.signature(module.forward).bind(*args, **kwargs)
    symbols: dict[object, Symbol] = {}
    for site in sites_of(bound, _named(said)):
        each: Any = site.said
        if site.dim < 0 or each is None or isinstance(each, int) or getattr(each, "kind", "") == "STATIC":
            continue
        root, compute = getattr(each, "root", each), getattr(each, "compute", _itself)
        if isinstance(each, Dim):
            example = next((n for n in range(site.size + 1) if compute(n) == site.size), site.size)
            name, key, hinted = root.__name__, root.__name__, False
        else:
            example, name, key, hinted = site.size, f"s{len(symbols)}", object(), each.kind == "AUTO"
        low, high = root.min or 0, float("inf") if root.max is None else root.max
        symbol = symbols.setdefault(key, Symbol(name, example, max(int(low), 1), high, hinted))
        symbol.sites.append((site.tensor, site.dim, compute))
    return list(symbols.values())


def symbols_of_sizes(sizes: Sizes | None) -> list[Symbol]:
    """The sizes that vary in an exported program."""
    found = []
    for number, each in enumerate([] if sizes is None else sizes.symbols):
        name = each.name if each.name.isidentifier() else f"s{number}"
        sites = [(site.tensor, site.dim, compute) for site, compute in each.sites]
        found.append(Symbol(name, each.example, max(int(each.low), 1), each.high, not each.certain, sites))
    return found


def _named(said: Any) -> Any:
    """The same with a ``Dim`` for each name."""
    if isinstance(said, str):
        return Dim(said)
    if isinstance(said, Mapping):
        return {key: _named(each) for key, each in said.items()}
    if isinstance(said, (list, tuple)):
        return type(said)(map(_named, said)) if not hasattr(said, "_fields") else said
    return said


def _itself(size: int) -> int:
    return size


def _shapes(examples: Sequence[Tensor], symbols: Sequence[Symbol], sizes: Mapping[str, int]) -> list[tuple[int, ...]]:
    shapes = [list(each.shape) for each in examples]
    for symbol in symbols:
        for tensor, dim, compute in symbol.sites:
            shapes[tensor][dim] = compute(sizes[symbol.name])
    return [tuple(shape) for shape in shapes]


@tracing
def traced_program(
    module: Module, args: tuple[object, ...], kwargs: dict[str, object], symbols: list[Symbol]
) -> tuple[Program, ClosedJaxpr, list[Symbol]]:
    """The program of a module: for the example, and for all sizes. Also which sizes vary.

    Raises:
        UserError: the module does not run, or computes something else, for other sizes.
    """
    if not symbols:
        program = stage(module, args, kwargs)
        return program, program.jaxpr, []
    examples = tensors_of((args, kwargs))
    traces = _Traces(module, args, kwargs, examples)
    symbols, runs = traces.choose(symbols)
    if not symbols:
        return traced_program(module, args, kwargs, [])
    programs = [traces.program(symbols, sizes) for sizes in runs]
    jaxprs = [each.jaxpr for each in programs]
    bounds: list[str] = []
    for _ in range(64):
        scope = jax_export.SymbolicScope([*_said_bounds(symbols), *bounds])
        found: dict[str, Any] = {each.name: jax_export.symbolic_shape(each.name, scope=scope)[0] for each in symbols}
        atoms = [Atom(found[each.name], tuple(sizes[each.name] for sizes in runs)) for each in symbols]
        weights = programs[0].jaxpr.in_avals[: len(programs[0].weights)]
        specs = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in weights]
        for aval, shape in zip(
            programs[0].jaxpr.in_avals[len(weights) :], _shapes(examples, symbols, found), strict=True
        ):
            specs.append(jax.ShapeDtypeStruct(shape, aval.dtype))
        try:
            made = jax.make_jaxpr(lambda *arrays, atoms=atoms: evaluate_general(jaxprs, atoms, arrays))(*specs)
            return programs[0], made, symbols
        except Bound as bound:
            if bound.words in bounds:
                raise _refused(symbols, bound.words) from None
            bounds.append(bound.words)
        except (NotGeneral, InconclusiveDimensionOperation) as error:
            raise _refused(symbols, str(error).partition("\n")[0]) from None
    raise _refused(symbols, "it depends on too many bounds")


def _said_bounds(symbols: Sequence[Symbol]) -> list[str]:
    lows = [f"{each.name} >= {each.low}" for each in symbols if each.low > 1]
    return lows + [f"{each.name} <= {int(each.high)}" for each in symbols if each.high != float("inf")]


def _refused(symbols: Sequence[Symbol], reason: str) -> UserError:
    names = ", ".join(each.name for each in symbols)
    return UserError(f"torchlike cannot make one program for all sizes ({names}): {reason}")


class _Traces:
    """The programs of a module by the sizes that they are for."""

    def __init__(
        self, module: Module, args: tuple[object, ...], kwargs: dict[str, object], examples: Sequence[Tensor]
    ) -> None:
        self.module, self.args, self.kwargs, self.examples = module, args, kwargs, examples
        self.known: dict[tuple[object, ...], Program] = {}
        self.error: Exception | None = None

    def program(self, symbols: Sequence[Symbol], sizes: Mapping[str, int]) -> Program:
        shapes = _shapes(self.examples, symbols, sizes)
        key = tuple(shapes)
        if key not in self.known:
            self.known[key] = stage(self.module, self.args, self.kwargs, shapes)
        return self.known[key]

    def runs(self, symbols: Sequence[Symbol], sizes: Mapping[str, int]) -> bool:
        try:
            self.program(symbols, sizes)
        except Exception as error:
            self.error = error
            return False
        return True

    def choose(self, symbols: list[Symbol]) -> tuple[list[Symbol], list[dict[str, int]]]:
        """Which sizes vary, and the combinations for which the module is traced."""
        for steps in (FAR, NEAR, [-step for step in NEAR]):
            found = self._combinations(symbols, steps)
            if len(found) >= TRACES - 1:
                return symbols, found
        alone = [each for each in symbols if not self._varies([each], symbols)]
        groups = [list(some) for _, some in itertools.groupby(sorted(alone, key=_example), key=_example)]
        joined: list[Symbol] = []
        for group in groups:
            if len(group) > 1 and self._varies(group, symbols):  # they are one size, which has several names
                group[0].sites += [site for each in group[1:] for site in each.sites]
                joined += group[1:]
            elif all(each.hinted for each in group):
                joined += group
            else:
                raise UserError(
                    f"torchlike cannot make one program for all sizes ({', '.join(each.name for each in group)}): the module takes "
                    f"{group[0].example} and no other size. It says: {self.error}"
                ) from self.error
        remaining = [each for each in symbols if each not in joined]
        if not alone or len(remaining) == len(symbols):
            raise _refused(symbols, f"for other sizes the module says: {self.error}") from self.error
        return self.choose(remaining) if remaining else ([], [])

    def _combinations(self, symbols: Sequence[Symbol], steps: Sequence[int]) -> list[dict[str, int]]:
        candidates = [each.candidates(steps) for each in symbols]
        if not all(candidates):
            return []
        found: list[dict[str, int]] = []
        for number in range(len(steps)):
            sizes = {
                symbol.name: some[number * (place + 1) % len(steps) % len(some)]
                for place, (symbol, some) in enumerate(zip(symbols, candidates, strict=True))
            }
            if sizes not in found and self.runs(symbols, sizes):
                found.append(sizes)
            elif number - len(found) > 1:
                break
        return found

    def _varies(self, some: Sequence[Symbol], symbols: Sequence[Symbol]) -> bool:
        """Whether the module runs if these sizes are others, and the rest as they are."""
        sizes = {each.name: each.example for each in symbols}
        for change in (1, -1):
            other = {each.name: each.example + change for each in some}
            if all(each.low <= other[each.name] <= each.high for each in some):
                return self.runs(symbols, sizes | other)
        return False


def _example(symbol: Symbol) -> int:
    return symbol.example
