"""Sums of products by named dimensions: einsum and tensordot."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jax import Array

from ..._core import dtypes
from ..._core.tensor import Tensor, wrap_dim
from ...dispatch.lowering import convert
from ...dispatch.options import is_integer
from ...dispatch.register import Autocast, Category, Form, Promote, Sample, composite, op
from ...dispatch.type_names import type_name
from ...numerics.contraction_dtype import contraction, multiplied_with
from ...numerics.matmul_precision import precision
from .matmul import contract

LETTERS = string.ascii_uppercase + string.ascii_lowercase  # in PyTorch's order


def _on_cpu(operands: Sequence[Tensor], terms: tuple[str, ...], result: str) -> Autocast | None:
    """What autocast does on the CPU, where only products of matrices are on PyTorch's list."""
    shapes_and_dtypes = [(tuple(t.shape), dtypes.float32) for t in operands]
    return Autocast.LOWER if contraction(shapes_and_dtypes, terms, result).matrices else None


@op(
    name="_einsum",
    autocast={"cpu": _on_cpu},
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    saves=lambda operands, terms, result: multiplied_with([a.shape for a in operands], terms, result),
    backward="ViewBackward0",
    samples=[],
)
def summed(operands: list[Array], terms: Any, result: str) -> Array:
    """``jnp.einsum`` with every dimension named; dimensions of size 1 broadcast."""
    shapes_and_dtypes = [(array.shape, dtypes.from_numpy_dtype(array.dtype)) for array in operands]
    kind = contraction(shapes_and_dtypes, terms, result).dtype.numpy
    operands = [convert(array, kind) for array in operands]
    sizes: dict[str, int] = {}
    for array, term in zip(operands, terms, strict=True):
        for letter, n in zip(term, array.shape, strict=True):
            sizes[letter] = max(sizes.get(letter, 1), n) if n and sizes.get(letter, 1) else 0
    arrays, names = [], []
    for array, term in zip(operands, terms, strict=True):
        # A dimension of size 1 that broadcasts is left out: for ``jnp.einsum`` a letter has one size.
        full_dims = [d for d, letter in enumerate(term) if array.shape[d] == sizes[letter]]
        arrays.append(array.reshape([array.shape[d] for d in full_dims]))
        names.append("".join(term[d] for d in full_dims))
    letters = "".join(letter for letter in result if any(letter in n for n in names))
    half = kind.kind not in "iubc" and kind.itemsize < 4
    everything = "".join([*names, letters])
    if half and (len(arrays) != 2 or any(everything.count(letter) == 1 for letter in everything)):
        arrays = [array.astype(jnp.float32) for array in arrays]  # JAX sums one operand in one dtype only
    sum_dtype = jnp.float32 if half else None
    out = jnp.einsum(",".join(names) + "->" + letters, *arrays, precision=precision(), preferred_element_type=sum_dtype)
    return out.astype(kind).reshape([sizes[letter] for letter in result])


def _from_lists(args: tuple[object, ...]) -> tuple[str, tuple[Any, ...]]:
    """The equation for ``einsum(a, [0, 1], b, [1, 2], [0, 2])``."""

    def word(numbers: Any) -> str:
        letters = []
        for n in numbers:
            if n is Ellipsis:
                letters.append("...")
            elif 0 <= n < len(LETTERS):
                letters.append(LETTERS[n])
            else:
                raise RuntimeError(
                    "einsum(): subscripts given in sublist format are out of bounds, must be within [0, 52)"
                )
        return "".join(letters)

    operands = args[0::2] if len(args) % 2 == 0 else args[:-1:2]
    equation = ",".join(word(numbers) for numbers in args[1::2])
    return equation + ("->" + word(args[-1]) if len(args) % 2 else ""), operands


def _expand_ellipsis(term: str, number: int, rank: int, spare: str) -> str:
    """A term of the equation with its ellipsis spelt out, from the end of ``spare``."""
    plain = term.replace("...", "", 1)
    if "..." in term:
        if len(plain) > rank:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(plain)}) is more than the number of dimensions ({rank}) for "
                f"operand {number}"
            )
        ellipsis_rank = rank - len(plain)
        return term.replace("...", spare[len(spare) - ellipsis_rank :] if ellipsis_rank else "", 1)
    if len(plain) != rank:
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({len(plain)}) does not match the number of dimensions ({rank}) for "
            f"operand {number} and no ellipsis was given"
        )
    return plain


@composite(forms=Form.FUNCTION, autocast={"cuda": Autocast.LOWER})
def einsum(*args: Any) -> Tensor:
    """Sums of products written by naming dimensions: ``einsum("ij,jk->ik", a, b)`` multiplies matrices.

    Dimensions that share a name go together; names that are not in the result are summed over. ``...`` stands for dimensions
    without names. Without ``->`` the result has the names that occur once, in alphabetical order.

    >>> torch.einsum("ii", torch.tensor([[1, 2], [3, 4]]))
    tensor(5)

    Raises:
        RuntimeError: the equation is malformed, or does not fit the tensors.
    """
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts "
            "list"
        )
    equation, operands = (args[0], args[1:]) if isinstance(args[0], str) else ("", args)
    if not isinstance(args[0], str):
        if not isinstance(args[0], Tensor):
            raise TypeError(f"einsum(): argument 'equation' (position 1) must be str, not {type_name(args[0])}")
        equation, operands = _from_lists(args)
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    _check_letters(equation)
    terms = left.split(",")
    if len(terms) > len(operands):
        raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
    if len(terms) < len(operands):
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    used_letters = set(text) & set(LETTERS)
    ranks = [
        t.dim() - len(term.replace("...", "")) if "..." in term else 0 for t, term in zip(operands, terms, strict=True)
    ]
    spare = "".join([c for c in LETTERS if c not in used_letters][: max([0, *ranks])])
    explicit_terms = [
        _expand_ellipsis(term, i, t.dim(), spare) for i, (term, t) in enumerate(zip(terms, operands, strict=True))
    ]
    if arrow:
        for letter in right.replace("...", ""):
            if right.count(letter) > 1:
                raise RuntimeError(f"einsum(): output subscript {letter} appears more than once in the output")
            if not any(letter in term for term in explicit_terms):
                raise RuntimeError(
                    f"einsum(): output subscript {letter} does not appear in the equation for any input operand"
                )
        result = right.replace("...", spare, 1)
    else:
        result = spare + "".join(c for c in LETTERS if left.count(c) == 1)
    _check_sizes(operands, explicit_terms)
    return summed(list(operands), tuple(explicit_terms), result)


def _check_letters(equation: str) -> None:
    plain = equation.replace("...", "   ").replace("->", "  ")
    for i, letter in enumerate(plain):
        if letter not in LETTERS and letter not in " ,":
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {i} in the equation string, subscripts must be in [a-zA-Z]"
            )


def _check_sizes(operands: Any, terms: list[str]) -> None:
    sizes: dict[str, int] = {}
    for number, (operand, term) in enumerate(zip(operands, terms, strict=True)):
        term_sizes: dict[str, int] = {}
        for letter, n in zip(term, operand.shape, strict=True):
            if letter in term_sizes and term_sizes[letter] != n:
                raise RuntimeError(
                    f"einsum(): subscript {letter} is repeated for operand {number} but the sizes don't match, {n} != {term_sizes[letter]}"
                )
            term_sizes[letter] = n
            earlier_size = sizes.get(letter, 1)
            if earlier_size != n and 1 not in (earlier_size, n):
                raise RuntimeError(
                    f"einsum(): subscript {letter} has size {n} for operand {number} which does not broadcast with previously seen size "
                    f"{earlier_size}"
                )
            sizes[letter] = max(earlier_size, n) if n else 0


@op(
    name="_tensordot",
    autocast={"cpu": lambda a, b, dims_a, dims_b: Autocast.LOWER if max(a.dim(), b.dim()) > len(dims_a) else None},
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward="ViewBackward0",
    samples=[Sample(shapes=((2, 3, 4), (4, 3, 5)), args=((2, 1), (0, 1)))],
)
def contracted(a: Array, b: Array, dims_a: Sequence[int], dims_b: Sequence[int]) -> Array:
    """Sums of products over pairs of dimensions."""
    if a.dtype != b.dtype:
        raise RuntimeError("both inputs should have same dtype")
    return contract(a, b, (tuple(dims_a), tuple(dims_b)))


@composite(forms=Form.FUNCTION | Form.OUT, autocast={"cuda": Autocast.PROMOTE})
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Sums of products over pairs of dimensions: the last ``dims`` of ``a`` with the first of ``b``, or those listed.

    >>> torch.tensordot(torch.ones(2, 3), torch.ones(3, 2), 1)
    tensor([[3., 3.],
            [3., 3.]])

    Raises:
        RuntimeError: sizes that differ.
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if not isinstance(dims, (int, tuple, list)):
        raise RuntimeError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] containing two lists, but got "
            f"dims={dims}"
        )
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        first, second = list(range(-dims, 0)), list(range(dims))
    else:
        first, second = ([d] if is_integer(d) else list(d) for d in dims)
    if len(first) != len(second):
        raise RuntimeError("both dimension lists should have same length")
    own_a, own_b = [wrap_dim(d, a.dim()) for d in first], [wrap_dim(d, b.dim()) for d in second]
    for i, j, d, e in zip(own_a, own_b, first, second, strict=True):
        if a.shape[i] != b.shape[j]:
            if a.shape[i] == 1:
                b = b.sum(j, keepdim=True)  # pyright: ignore[reportAttributeAccessIssue]
            elif b.shape[j] == 1:
                a = a.sum(i, keepdim=True)  # pyright: ignore[reportAttributeAccessIssue]
            else:
                raise RuntimeError(
                    f"contracted dimensions need to match, but first has size {a.shape[i]} in dim {d} and second has size "
                    f"{b.shape[j]} in dim {e}"
                )
    return contracted(a, b, tuple(own_a), tuple(own_b))
