"""One program for all sizes, from programs for some: where they differ, what differs is computed from the sizes.

JAX writes the sizes of arrays into a program as numbers. Here the same module is traced for several sizes. The programs must be the same
but for numbers, and each number that differs must be an expression of the sizes: a sum or product of them, a part of one. The expression
holds for all of the traces.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.core import ShapedArray
from jax.errors import InconclusiveDimensionOperation
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Primitive, Var

from ._plain import bind_under, line_of

__all__ = ["Atom", "Bound", "Made", "NotGeneral", "evaluate_general", "made_p"]


class NotGeneral(RuntimeError):
    """A program for one size says something that no expression of the sizes gives."""


class Bound(RuntimeError):
    """An operation is known to be right only if a size is bounded. ``words``: the bound, as JAX writes it."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words


# ---- tensors that a module makes of numbers: ``arange``, ``ones``


class Made:
    """An array in the parameters of an equation."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self._key = array.shape, array.dtype.str, array.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Made) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


made_p = Primitive("torchlike_made")
made_p.def_abstract_eval(lambda *, made: ShapedArray(made.array.shape, made.array.dtype))
made_p.def_impl(lambda *, made: jnp.asarray(made.array))


# ---- expressions

# So many sizes that were found last may make up a number, as the height and the width by which a sum is divided.
RECENT = 6


@dataclass
class Atom:
    """A size that is known: its expression, which JAX takes for a number, and what it is in each trace."""

    expression: int
    values: tuple[int, ...]


class Sizes:
    """The sizes that vary, which numbers are computed from."""

    def __init__(self, symbols: Sequence[Atom]) -> None:
        self.symbols = list(symbols)
        self.known = {atom.values: atom.expression for atom in reversed(self.symbols)}

    def note(self, shape: Sequence[int], avals: Sequence[ShapedArray]) -> None:
        """Notes the sizes of an array: JAX does not know all equal expressions for equal, so each size keeps its first one."""
        for dim, expression in enumerate(shape):
            values = tuple(aval.shape[dim] for aval in avals)
            if isinstance(expression, int) or len(set(values)) == 1:
                continue
            before = self.known.setdefault(values, expression)
            if before != expression and str(before) != str(expression) and _letters(before) != _letters(expression):
                raise NotGeneral(f"{before} and {expression} are equal for all sizes that were tried")

    def expression(self, values: Sequence[int], near: Sequence[Atom] = ()) -> int:
        """What gives these numbers in the traces; ``near``: sizes at this place, which are tried first.

        Raises:
            NotGeneral: nothing does.
        """
        values = tuple(int(value) for value in values)
        if len(set(values)) == 1:
            return values[0]
        if values in self.known:
            return self.known[values]
        recent = [Atom(expression, at) for at, expression in list(self.known.items())[-RECENT:]]
        atoms = [*near, *self.symbols, *(atom for atom in recent if all(atom.values != each.values for each in near))]
        for found in itertools.chain(
            (_affine(atom, values) for atom in atoms),
            (_affine(atom, values) for atom in self._products(atoms)),
            (_affine(atom, values) for atom in self._sums(atoms)),
            (_part(atom, values) for atom in atoms),
        ):
            if found is not None:
                return found
        raise NotGeneral

    def _products(self, atoms: Sequence[Atom]) -> Iterator[Atom]:
        for count in (2, 3):
            for some in itertools.combinations_with_replacement(atoms, count):
                yield Atom(math.prod((a.expression for a in some), start=1), _each(math.prod, some))

    def _sums(self, atoms: Sequence[Atom]) -> Iterator[Atom]:
        for a, b in itertools.combinations(atoms, 2):
            for sign in (1, -1):
                values = tuple(x + sign * y for x, y in zip(a.values, b.values, strict=True))
                if len(set(values)) > 1:
                    yield Atom(a.expression + sign * b.expression, values)

    def number(self, values: Sequence[float], near: Sequence[Atom], dtype: np.dtype) -> Array | np.ndarray:
        """A number of a program, as a scalar array."""
        if all(float(value).is_integer() for value in values):
            return _as_array(self.expression([int(value) for value in values], near), dtype)
        # As the mean's factor: one divided by a size, in the dtype.
        inverse = [round(1 / float(value)) if value else 0 for value in values]
        if all(
            n and np.asarray(1 / n, dtype) == np.asarray(value, dtype) for n, value in zip(inverse, values, strict=True)
        ):
            return (1 / _as_array(self.expression(inverse, near), np.dtype(np.float64))).astype(dtype)
        raise NotGeneral


def _letters(expression: object) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", str(expression)))


def _each(combine: Callable[[tuple[int, ...]], int], atoms: Sequence[Atom]) -> tuple[int, ...]:
    return tuple(combine(row) for row in zip(*(atom.values for atom in atoms), strict=True))


def _affine(atom: Atom, values: tuple[int, ...]) -> int | None:
    """``a * size + b``, or ``size // a + b`` of a size that ``a`` divides; None if it is not that."""
    pairs = dict(zip(atom.values, values, strict=True))
    if len(pairs) < 2 or any(pairs[x] != y for x, y in zip(atom.values, values, strict=True)):
        return None
    (x, y), (u, v) = list(pairs.items())[:2]
    slope = Fraction(v - y, u - x)
    if slope == 0 or any(y + slope * (s - x) != t for s, t in pairs.items()):
        return None
    offset = y - slope * x
    top = slope.numerator * atom.expression + int(offset * slope.denominator)
    if (offset * slope.denominator).denominator != 1:
        return None
    return top if slope.denominator == 1 else top // slope.denominator


def _part(atom: Atom, values: tuple[int, ...]) -> int | None:
    """``(size + b) // a + c``, as of a convolution with a stride; None if it is not that."""
    span = max(atom.values) - min(atom.values)
    if span < 2 or len(set(values)) < 2:
        return None
    for a in range(2, 65):
        for b in range(a):
            offsets = {v - (x + b) // a for x, v in zip(atom.values, values, strict=True)}
            if len(offsets) == 1:
                return (atom.expression + b) // a + offsets.pop()
    return None


def _as_array(expression: int, dtype: np.dtype) -> Array | np.ndarray:
    if isinstance(expression, int):
        return np.asarray(expression, dtype)
    return jnp.asarray(expression).astype(dtype)


# ---- programs


def _numbered(jaxpr: Jaxpr) -> dict[Var, int]:
    """The variables by the order in which they are defined."""
    variables = [*jaxpr.constvars, *jaxpr.invars]
    for equation in jaxpr.eqns:
        variables += equation.outvars
    return {variable: number for number, variable in enumerate(variables)}


def _shape_of_equation(equation: JaxprEqn, numbers: dict[Var, int]) -> tuple[object, ...]:
    operands = [None if isinstance(atom, Literal) else numbers[atom] for atom in equation.invars]
    avals: list[Any] = [variable.aval for variable in equation.outvars]
    return equation.primitive, operands, [aval.ndim for aval in avals]


def _check_alike(programs: Sequence[ClosedJaxpr]) -> None:
    numbers = [_numbered(each.jaxpr) for each in programs]
    for equations in itertools.zip_longest(*(each.jaxpr.eqns for each in programs)):
        shapes = [None if e is None else _shape_of_equation(e, n) for e, n in zip(equations, numbers, strict=True)]
        if any(shape != shapes[0] for shape in shapes):
            at = next(e for e in equations if e is not None)
            raise NotGeneral(f"what it computes depends on the size, from {line_of(at)} on")


def evaluate_general(programs: Sequence[ClosedJaxpr], sizes: Sequence[Atom], args: Sequence[object]) -> list[object]:
    """The results of the program that these are instances of. The arguments' shapes have the expressions of the sizes.

    Raises:
        NotGeneral: they are no instances of one program. The words say at which line of the module.
    """
    _check_alike(programs)
    table = Sizes(sizes)
    consts = [
        _made_again([np.asarray(part) for part in parts], table, "a tensor that the module holds or makes")
        for parts in zip(*(each.consts for each in programs), strict=True)
    ]
    return _evaluate([each.jaxpr for each in programs], table, consts, args)


def _evaluate(jaxprs: Sequence[Jaxpr], table: Sizes, consts: Sequence[object], args: Sequence[object]) -> list[object]:
    first = jaxprs[0]
    values: dict[Var, object] = dict(zip(first.constvars, consts, strict=True)) | dict(
        zip(first.invars, args, strict=True)
    )
    for equations in zip(*(jaxpr.eqns for jaxpr in jaxprs), strict=True):
        equation = equations[0]
        try:
            near = _near(equations, values)
            operands = [
                _operand(atoms, values, table, near) for atoms in zip(*(e.invars for e in equations), strict=True)
            ]
            outs = bind_under(equation, lambda _, o, n=near, es=equations: _bind(es, o, table, n), operands)
        except NotGeneral as error:
            raise NotGeneral(
                str(error) or f"{line_of(equation)} depends on the size in a way that is not known"
            ) from None
        values.update(zip(equation.outvars, outs, strict=True))
        for variables, out in zip(zip(*(each.outvars for each in equations), strict=True), outs, strict=True):
            table.note(_shape(out), [variable.aval for variable in variables])
    return [_operand(atoms, values, table, ()) for atoms in zip(*(jaxpr.outvars for jaxpr in jaxprs), strict=True)]


def _near(equations: Sequence[JaxprEqn], values: dict[Var, object]) -> list[Atom]:
    """The sizes of an equation's operands."""
    found: list[Atom] = []
    for atoms in zip(*(each.invars for each in equations), strict=True):
        if isinstance(atoms[0], Literal):
            continue
        shape = _shape(values[atoms[0]])
        for dim, expression in enumerate(shape):
            sizes = tuple(atom.aval.shape[dim] for atom in atoms)
            if len(set(sizes)) > 1 and all(sizes != each.values for each in found):
                found.append(Atom(expression, sizes))
    return found


def _shape(array: object) -> tuple[int, ...]:
    return tuple(getattr(array, "shape", ()))


def _operand(atoms: Sequence[Var | Literal], values: dict[Var, object], table: Sizes, near: Sequence[Atom]) -> object:
    if not isinstance(atoms[0], Literal):
        return values[atoms[0]]
    numbers = [atom.val for atom in atoms if isinstance(atom, Literal)]
    if all(_same(number, numbers[0]) for number in numbers):
        return numbers[0]
    literal: Any = atoms[0]
    return table.number(numbers, near, np.dtype(literal.aval.dtype))


def _same(a: object, b: object) -> bool:
    return bool(np.asarray(a == b).all()) or (a != a and b != b)


def _bind(equations: Sequence[JaxprEqn], operands: Sequence[object], table: Sizes, near: Sequence[Atom]) -> object:
    equation = equations[0]
    if equation.primitive is made_p:
        return _made_again([each.params["made"].array for each in equations], table, "")
    params: dict[str, Any] = {
        name: _merged([each.params[name] for each in equations], table, near) for name in equation.params
    }
    try:
        return equation.primitive.bind(*operands, **params)
    except InconclusiveDimensionOperation:
        if equation.primitive is lax.slice_p:  # as of a table of positions, which is as long as the longest sequence
            for limit, size in zip(params["limit_indices"], _shape(operands[0]), strict=True):
                if not isinstance(limit, int) and isinstance(size, int):
                    raise Bound(f"{limit} <= {size}") from None
        raise


def _merged(values: Sequence[Any], table: Sizes, near: Sequence[Atom]) -> Any:
    """A parameter of an equation, from its values in the traces."""
    first = values[0]
    if isinstance(first, ClosedJaxpr):
        return _merged_programs(values, table)
    if isinstance(first, (tuple, list)) and all(len(each) == len(first) for each in values):
        parts = [_merged(each, table, near) for each in zip(*values, strict=True)]
        if hasattr(first, "_fields"):
            return type(first)(*parts)  # pyright: ignore[reportCallIssue]
        return type(first)(parts)
    if type(first) is int and all(type(each) is int for each in values):
        return table.expression(values, near)
    try:
        alike = all(bool(each == first) for each in values)
    except Exception:
        alike = False
    if alike or all(callable(each) or each is None for each in values):
        return first
    raise NotGeneral


def _merged_programs(programs: Sequence[ClosedJaxpr], table: Sizes) -> ClosedJaxpr:
    """The body of a loop or a branch."""
    _check_alike(programs)
    consts = [
        _made_again([np.asarray(c) for c in parts], table, "a loop")
        for parts in zip(*(p.consts for p in programs), strict=True)
    ]
    specs = []
    for variables in zip(*(each.jaxpr.invars for each in programs), strict=True):
        shapes = zip(*(variable.aval.shape for variable in variables), strict=True)
        specs.append(jax.ShapeDtypeStruct(tuple(map(table.expression, shapes)), variables[0].aval.dtype))
    jaxprs = [each.jaxpr for each in programs]
    return jax.make_jaxpr(lambda *args: _evaluate(jaxprs, table, consts, args))(*specs)


def _made_again(arrays: Sequence[np.ndarray], table: Sizes, what: str) -> Array | np.ndarray:
    """An array that a module makes of numbers, from those of the traces: the same, one number everywhere, or steps."""
    first = arrays[0]
    if all(each.shape == first.shape and each.tobytes() == first.tobytes() for each in arrays):
        return first
    if any(each.ndim != first.ndim or each.size == 0 for each in arrays):
        raise NotGeneral(what and f"{what} depends on the size")
    shape = tuple(table.expression([each.shape[dim] for each in arrays]) for dim in range(first.ndim))
    corners = [each.flat[0] for each in arrays]
    if all((each == corner).all() for each, corner in zip(arrays, corners, strict=True)):
        number = table.number(corners, (), first.dtype) if len({c.item() for c in corners}) > 1 else corners[0]
        return jnp.broadcast_to(number, shape)
    if first.ndim == 1 and min(each.size for each in arrays) > 1:
        steps = [each[1] - each[0] for each in arrays]
        rows = [
            (corner + np.arange(each.size) * step).astype(each.dtype)
            for each, corner, step in zip(arrays, corners, steps, strict=True)
        ]
        if all((row == each).all() for row, each in zip(rows, arrays, strict=True)):
            start = table.number(corners, (), first.dtype) if len(set(corners)) > 1 else corners[0]
            step = table.number(steps, (), first.dtype) if len(set(steps)) > 1 else steps[0]
            return (start + lax.iota(first.dtype, shape[0]) * step).astype(first.dtype)
    if first.ndim == 2:
        if not all((each == np.eye(*each.shape, dtype=each.dtype)).all() for each in arrays):
            return _triangle(arrays, shape, table)
        return (lax.broadcasted_iota(np.int32, shape, 0) == lax.broadcasted_iota(np.int32, shape, 1)).astype(
            first.dtype
        )
    raise NotGeneral(what and f"{what} depends on the size")


def _triangle(arrays: Sequence[np.ndarray], shape: tuple[int, ...], table: Sizes) -> Array:
    """A matrix with one number up to a diagonal and another one behind it."""
    last = []  # the diagonal, counted from the main one
    for each in arrays:
        distance = np.arange(each.shape[1]) - np.arange(each.shape[0])[:, None]
        behind = each != each[-1, 0]
        last.append(int(distance[behind].min()) - 1 if behind.any() else each.shape[1])
        if not (behind == (distance > last[-1])).all() or len(np.unique(each)) != 2:
            raise NotGeneral
    ends = [each[0, -1] for each in arrays]
    if not (all(_same(end, ends[0]) for end in ends) and all(_same(each[-1, 0], arrays[0][-1, 0]) for each in arrays)):
        raise NotGeneral
    distance = lax.broadcasted_iota(np.int64, shape, 1) - lax.broadcasted_iota(np.int64, shape, 0)
    return jnp.where(distance <= _as_array(table.expression(last), np.dtype(np.int64)), arrays[0][-1, 0], ends[0])
