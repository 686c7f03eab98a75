"""The dtype in which a sum of products is computed: PyTorch multiplies the operands pair by pair, by ``mul`` or by ``bmm``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import opt_einsum

from .._core import dtypes
from .._core.annotations import Dtype


class Part(NamedTuple):
    """An operand, or the product of two of them: the size of each letter, and the dtype."""

    sizes: dict[str, int]
    dtype: Any


class Contraction(NamedTuple):
    """What is known of a sum of products before it is computed."""

    dtype: Any  # of the result
    matrices: bool  # whether matrices are multiplied on the way; else elements are


def contraction(operands: Sequence[tuple[tuple[int, ...], object]], terms: tuple[str, ...], result: str) -> Contraction:
    """The dtype of ``einsum``.

    Args:
        operands: shape and dtype of each.
        terms: the letters of each operand's dimensions. result: those of the result.

    Raises:
        RuntimeError: matrices of different dtypes would be multiplied. NotImplementedError: matrices of bool.
    """
    parts = [
        Part(dict(zip(term, shape, strict=True)), dtype) for (shape, dtype), term in zip(operands, terms, strict=True)
    ]
    if len(parts) == 1:
        summed = set(parts[0].sizes).difference(result)
        return Contraction(_summed(parts[0].dtype) if summed else parts[0].dtype, False)
    matrices = False
    for first, second in _path(terms, result, [shape for shape, _ in operands]):
        right, left = parts.pop(max(first, second)), parts.pop(min(first, second))
        letters_needed_later = set(result).union(*(product.sizes for product in parts))
        product, multiplied = _pair(left, right, letters_needed_later)
        parts.append(product)
        matrices = matrices or multiplied
    return Contraction(parts[0].dtype, matrices)


def multiplied_with(shapes: Sequence[tuple[int, ...]], terms: tuple[str, ...], result: str) -> list[set[int]]:
    """The numbers of the operands that each operand is multiplied with itself, in a product of two.

    An operand that is summed first is not multiplied itself.
    """
    found: list[set[int]] = [set() for _ in terms]
    parts = [{number} for number in range(len(terms))]
    for first, second in _path(terms, result, shapes) if len(terms) > 1 else ():
        right, left = parts.pop(max(first, second)), parts.pop(min(first, second))
        for own, other in ((left, right), (right, left)):
            if len(own) == 1:
                (number,) = own
                found[number] = set() if _is_summed_first(number, shapes, terms, result) else other
        parts.append(left | right)
    return found


def _is_summed_first(number: int, shapes: Sequence[tuple[int, ...]], terms: tuple[str, ...], result: str) -> bool:
    """Whether an operand has a dimension that no other one has, nor the result."""
    elsewhere = set(result).union(*(term for other, term in enumerate(terms) if other != number))
    return any(n > 1 and letter not in elsewhere for letter, n in zip(terms[number], shapes[number], strict=True))


def _path(terms: tuple[str, ...], result: str, shapes: Sequence[tuple[int, ...]]) -> Any:
    """Which two operands are multiplied at each step; their product is appended to the remaining ones."""
    # With two operands there is only one order, and opt_einsum need not be asked.
    if len(terms) == 2:
        return [(0, 1)]
    common: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for letter, n in zip(term, shape, strict=True):
            common[letter] = n if common.get(letter, 1) == 1 else common[letter]
    # A letter that an operand repeats means its diagonal, and counts once.
    letters = ["".join(dict.fromkeys(term)) for term in terms]
    sizes = [tuple(common[letter] for letter in own) for own in letters]
    equation = f"{','.join(letters)}->{result}"
    return opt_einsum.contract_path(equation, *sizes, shapes=True, optimize="auto")[0]


def _pair(left: Part, right: Part, letters_needed_later: set[str]) -> tuple[Part, bool]:
    """The product of two parts, and whether it is one of matrices."""
    a, b = left.dtype, right.dtype
    contracted = False
    for letter in (left.sizes | right.sizes).keys() - letters_needed_later:
        in_left, in_right = left.sizes.get(letter, 1) != 1, right.sizes.get(letter, 1) != 1
        contracted = contracted or (in_left and in_right)
        if in_left and not in_right:
            a = _summed(left.dtype)
        if in_right and not in_left:
            b = _summed(right.dtype)
    sizes = {
        letter: right.sizes.get(letter, 1) if left.sizes.get(letter, 1) == 1 else left.sizes[letter]
        for letter in left.sizes | right.sizes
        if letter in letters_needed_later
    }
    if not contracted:
        return Part(sizes, dtypes.promote_types(a, b)), False
    if math.prod(left.sizes.values()) and math.prod(right.sizes.values()):
        if dtypes.bool_ is a:
            raise NotImplementedError("\"bmm\" not implemented for 'Bool'")
        if a is not b:
            raise RuntimeError(f"expected scalar type {a.scalar_name} but found {b.scalar_name}")
    return Part(sizes, b), True


def _summed(dtype: Dtype) -> Dtype:
    """The dtype of a sum."""
    return dtypes.int64 if dtype.category < dtypes.FLOAT else dtype
