"""Products: each dimension has a letter, and a mesh may cut any one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..placement_types import Partial, Placement, Replicate, Shard
from ._choices import Call, Choice, Plan

__all__ = ["PRODUCTS"]

Term = Sequence[str | None]  # the letters of a tensor's dimensions; None for one that is broadcast


def _choices(inputs: Sequence[Term], output: Term, added: Sequence[int] = ()) -> list[Choice]:
    """The choices of a sum of products.

    Args:
        added: which inputs are added to the product, and are no factors.
    """
    count = len(inputs)
    choices = [Choice((Replicate(),) * count, Replicate())]
    letters = dict.fromkeys(letter for term in (*inputs, output) for letter in term if letter is not None)
    for letter in letters:
        if letter in output:
            placed = [Shard(list(term).index(letter)) if letter in term else Replicate() for term in inputs]
            choices.append(Choice(tuple(placed), Shard(list(output).index(letter))))
        else:
            placed = [
                Partial() if n in added else Shard(list(term).index(letter)) if letter in term else Replicate()
                for n, term in enumerate(inputs)
            ]
            choices.append(Choice(tuple(placed), Partial()))
    for factor in range(count):
        if factor not in added:
            terms: list[Placement] = [Partial() if n == factor or n in added else Replicate() for n in range(count)]
            choices.append(Choice(tuple(terms), Partial()))
    return choices


def _named(shape: Sequence[int], names: Sequence[str]) -> list[str | None]:
    """Letters for the dimensions; those of size 1 among the batch are broadcast."""
    return [None if size == 1 and name.isdigit() else name for size, name in zip(shape, names, strict=True)]


def _batch(count: int, longest: int) -> list[str]:
    return [str(n) for n in range(longest - count, longest)]


def _terms(a: Sequence[int], b: Sequence[int]) -> tuple[list[str | None], list[str | None], list[str | None]]:
    """The letters of two factors and of their product."""
    longest = max(len(a), len(b), 2) - 2
    of_a = [*_batch(len(a) - 2, longest), "m", "k"] if len(a) > 1 else ["k"]
    of_b = [*_batch(len(b) - 2, longest), "k", "n"] if len(b) > 1 else ["k"]
    rows, columns = (["m"] if len(a) > 1 else []), (["n"] if len(b) > 1 else [])
    return _named(a, of_a), _named(b, of_b), [*_batch(longest, longest), *rows, *columns]


def _matmul(call: Call) -> Plan:
    a, b, product = _terms(*call.shapes)
    return Plan(_choices([a, b], product))


def _linear(call: Call) -> Plan:
    x, weight = call.shapes[:2]
    letters = _batch(len(x) - 1, len(x) - 1)
    inputs: list[Term] = [[*letters, "k"], ["n", "k"]]
    if len(weight) == 1:
        return Plan(_choices([[*letters, "k"], ["k"]], letters))
    if len(call.pieces) == 3:
        inputs.append(["n"])
    return Plan(_choices(inputs, [*letters, "n"], (2,) if len(call.pieces) == 3 else ()))


def _added(call: Call) -> Plan:
    """addmm, baddbmm, addmv and addbmm's relatives: a tensor plus a product."""
    bias, *factors = call.shapes
    a, b, product = _terms(*factors)
    ending = product[len(product) - len(bias) :]
    letters: Term = [None if size == 1 else name for size, name in zip(bias, ending, strict=True)]
    return Plan(_choices([letters, a, b], product, (0,)))


def _einsum(call: Call) -> Plan | None:
    equation: Any = call.args[0]
    if not isinstance(equation, str) or "." in equation:
        return None
    left, arrow, right = equation.replace(" ", "").partition("->")
    inputs = left.split(",")
    if not arrow:
        right = "".join(sorted(letter for letter in set(left) if letter.isalpha() and left.count(letter) == 1))
    if any(len(set(term)) != len(term) for term in inputs):
        return None  # a diagonal
    return Plan(_choices([list(term) for term in inputs], list(right)))


def _outer(call: Call) -> Plan:
    return Plan(_choices([["m"], ["n"]], ["m", "n"]))


PRODUCTS = {
    **dict.fromkeys(["matmul", "mm", "bmm", "mv", "dot", "vdot"], _matmul),
    **dict.fromkeys(["addmm", "baddbmm", "addmv"], _added),
    "linear": _linear, "einsum": _einsum, "outer": _outer, "ger": _outer,
}  # fmt: skip
