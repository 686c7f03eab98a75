"""Transforms that differentiate: grad, vjp, jvp, Jacobians, Hessian."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .. import ops
from .._core.tensor import Tensor
from .._core.vmapped import Vmapped, levels_of, within
from ..autograd.crossings import enter, leave
from ..utils._pytree import TreeSpec, tree_flatten, treespec_pprint
from . import _printing as _printing
from ._levels import Derivative

__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"]

ArgNums = int | tuple[int, ...]


def grad(func: Callable[..., object], argnums: ArgNums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that computes the gradient of ``func``, which returns a scalar.

    Args:
        argnums: with respect to which positional arguments; a tuple gives a tuple of gradients. An argument may be a nest of tensors.
        has_aux: ``func`` returns ``(output, aux)``, and so does the gradient function: ``(gradient, aux)``.

    >>> torch.func.grad(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))
    tensor([ 3., 12.])

    Raises:
        RuntimeError: the output is no scalar tensor.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.func.grad.html
    """

    @functools.wraps(func)
    def wrapper(*args: object, **kwargs: object) -> Any:
        result = grad_and_value(func, argnums, has_aux)(*args, **kwargs)
        return (result[0], result[1][1]) if has_aux else result[0]

    return wrapper


def grad_and_value(func: Callable[..., object], argnums: ArgNums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that computes ``(gradient, value)`` of ``func``; with ``has_aux`` ``(gradient, (value, aux))``. See ``grad``.

    >>> torch.func.grad_and_value(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))
    (tensor([ 3., 12.]), tensor(9.))

    Source: https://docs.pytorch.org/docs/stable/generated/torch.func.grad_and_value.html
    """

    @functools.wraps(func)
    def wrapper(*args: object, **kwargs: object) -> Any:
        differentiated = _ChosenArguments(args, argnums)
        derivative = Derivative(differentiated.tensors)
        with derivative:
            value, aux = func(*differentiated.filled(derivative.leaves), **kwargs), ()
            if has_aux:
                if not (isinstance(value, tuple) and len(value) == 2):
                    raise RuntimeError(
                        "grad_and_value(f)(*args): output of function f should be a tuple: (output, aux) if has_aux is True"
                    )
                value, aux = value
            if not isinstance(value, Tensor):
                raise RuntimeError(f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(value)}")
            if value.dim() != 0:
                raise RuntimeError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
                    f"{value.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
                )
            aside = _Aside(aux)
        derivative.keep_writes()
        gradient = differentiated.nest(derivative.gradients([value], [None], in_progress=True))
        (value,) = derivative.outside([value])
        return (gradient, (value, aside.outside(derivative))) if has_aux else (gradient, value)

    return wrapper


def vjp(func: Callable[..., object], *primals: object, has_aux: bool = False) -> Any:
    """``func(*primals)``, and the function from a cotangent of the output to gradients of the primals.

    Args:
        primals: tensors or nests of them; all are differentiated with respect to.
        has_aux: ``func`` returns ``(output, aux)``; ``aux`` then comes as a third result.

    >>> output, pull = torch.func.vjp(torch.sin, torch.zeros(2))
    >>> pull(torch.ones(2))
    (tensor([1., 1.]),)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.func.vjp.html
    """
    leaves, shape = tree_flatten(primals)
    _check_tensors(leaves)
    derivative, outs, out_shape, aside = _called(
        func, leaves, shape, has_aux, "vjp(f, *primals): expected f(*primals)", "vjp(f, *primals)"
    )

    def pull(cotangents: object, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        cotangent_leaves, given_shape = tree_flatten(cotangents)
        if given_shape != out_shape:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. cotangents: "
                f"{_stars(given_shape)}, primal output: {_stars(out_shape)}"
            )
        for number, (cotangent, out) in enumerate(zip(cotangent_leaves, outs, strict=False)):
            if cotangent.shape != out.shape:
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[{number}] has a shape of {cotangent.shape} and output[{number}] has a shape of "
                    f"{out.shape}."
                )

        return shape.unflatten(derivative.gradients(outs, cotangent_leaves))

    result = out_shape.unflatten(derivative.outside(outs))
    return (result, pull, aside.outside(derivative)) if has_aux else (result, pull)


def jvp(
    func: Callable[..., object], primals: object, tangents: object, *, strict: bool = False, has_aux: bool = False
) -> Any:
    """``func(*primals)`` and its change along ``tangents``: the Jacobian times a vector.

    Args:
        primals, tangents: tuples of the same structure.
        strict: without effect: what does not depend on the primals has a tangent of zeros.

    >>> torch.func.jvp(torch.sin, (torch.zeros(2),), (torch.ones(2),))
    (tensor([0., 0.]), tensor([1., 1.]))

    Source: https://docs.pytorch.org/docs/stable/generated/torch.func.jvp.html
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    leaves, shape = tree_flatten(primals)
    along, along_shape = tree_flatten(tangents)
    if shape != along_shape:
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. For example, if primals is "
            f"a tuple of 3 tensors, tangents also must be. Got primals with structure {shape} and tangents with structure "
            f"{along_shape}"
        )
    for kind, given in (("primals", leaves), ("tangents", along)):
        for leaf in given:
            if not isinstance(leaf, Tensor):
                raise RuntimeError(
                    f"jvp(f, primals, tangents): Expected {kind} to only contain Tensors, got {type(leaf)}"
                )
    if not leaves:
        raise RuntimeError("jvp(f, primals, tangents): Expected primals to contain at least one Tensor.")
    for primal, tangent in zip(leaves, along, strict=True):
        if primal.shape != tangent.shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. "
                f"Tensor is of size {list(primal.shape)} while the given forward gradient is of size {list(tangent.shape)}."
            )
    whose = "jvp(f, primals, tangents)"
    derivative, outs, out_shape, aside = _called(
        func, leaves, shape, has_aux, f"{whose}: expected f(*primals)", whose, forwards=True
    )
    changes = []
    for out, change in zip(outs, derivative.changes(outs, along), strict=True):
        if change is None and strict:
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed with "
                "strict=True."
            )
        changes.append(ops.zeros_like(out.detach()) if change is None else change)  # pyright: ignore[reportAttributeAccessIssue]
    result = out_shape.unflatten(derivative.outside(outs)), out_shape.unflatten(changes)
    return (*result, aside.outside(derivative)) if has_aux else result


def linearize(func: Callable[..., object], *primals: object) -> Any:
    """``func(*primals)``, and the function from tangents of the primals to the change of the output.

    >>> output, push = torch.func.linearize(torch.sin, torch.zeros(2))
    >>> push(torch.ones(2))
    tensor([1., 1.])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.func.linearize.html
    """
    leaves, shape = tree_flatten(primals)
    _check_tensors(leaves)
    derivative, outs, out_shape, _ = _called(
        func,
        leaves,
        shape,
        False,
        "linearize(f, *primals): expected f(*primals)",
        "linearize(f, *primals)",
        forwards=True,
    )

    def along(*tangents: object) -> Any:
        tangent_leaves, given_shape = tree_flatten(tangents)
        if given_shape != shape:
            raise RuntimeError(f"Expected the tangents {given_shape} to have the same argspec as the primals {shape}")
        _check_tensors(tangent_leaves)
        for number, (tangent, primal) in enumerate(zip(tangent_leaves, leaves, strict=True)):
            for kind in ("shape", "dtype"):
                given, own = getattr(tangent, kind), getattr(primal, kind)
                if given != own:
                    raise RuntimeError(
                        f"tangent:{number} with {kind} {given} in flattened pytree doesn't match the {kind} {own} of the corresponding "
                        "primal."
                    )
        changes = derivative.changes(outs, tangent_leaves)
        return out_shape.unflatten([
            ops.zeros_like(out.detach()) if change is None else change  # pyright: ignore[reportAttributeAccessIssue]
            for out, change in zip(outs, changes, strict=True)
        ])  # fmt: skip

    return out_shape.unflatten(derivative.outside(outs)), along


def jacrev(
    func: Callable[..., object],
    argnums: ArgNums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """The function that computes the Jacobian of ``func``, row by row: one backward pass for each element of the output, all at once.

    Args:
        argnums: with respect to which positional arguments.
        chunk_size: how many rows at once; None for all.

    Shapes: that of the output followed by that of the argument.

    >>> torch.func.jacrev(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.func.jacrev.html
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapper(*args: object, **kwargs: object) -> Any:
        differentiated = _ChosenArguments(args, argnums)
        _check_real("jacrev", "inputs", differentiated.tensors)
        whose = "vjp(f, *primals)"
        derivative, outs, out_shape, aside = _called(
            functools.partial(func, **kwargs), differentiated, None, has_aux, f"{whose}: expected f(*primals)", whose
        )
        _check_real("jacrev", "outputs", outs)
        sizes = [out.numel() for out in outs]

        def rows(*seeds: Tensor) -> list[Tensor]:
            return derivative.gradients(outs, seeds)

        # One row for each element of an output. ``blocks``: by input, all rows of all outputs.
        blocks = _for_each(_basis(outs), rows, chunk_size)
        by_output = zip(*[block.split(sizes) for block in blocks], strict=True)
        jacobian = out_shape.unflatten([
            differentiated.nest([
                rows.reshape(out.shape + rows.shape[1:]) for rows in by_input  # pyright: ignore[reportAttributeAccessIssue]
            ])
            for out, by_input in zip(outs, by_output, strict=True)
        ])  # fmt: skip
        return (jacobian, aside.outside(derivative)) if has_aux else jacobian

    return wrapper


def jacfwd(
    func: Callable[..., object], argnums: ArgNums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """The function that computes the Jacobian of ``func``, column by column: one forward derivative for each element of the input.

    Arguments and shapes as for ``jacrev``.

    >>> torch.func.jacfwd(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.func.jacfwd.html
    """

    @functools.wraps(func)
    def wrapper(*args: object, **kwargs: object) -> Any:
        differentiated = _ChosenArguments(args, argnums)
        _check_real("jacfwd", "inputs", differentiated.tensors)
        sizes = [tensor.numel() for tensor in differentiated.tensors]
        level, whose = Vmapped(sum(sizes), randomness), "jvp(f, primals, tangents)"
        # The function runs once. Only what it draws at random may differ for each column.
        level.shared = randomness != "different"
        with within(level):
            derivative, outs, out_shape, aside = _called(
                functools.partial(func, **kwargs),
                differentiated,
                None,
                has_aux,
                f"{whose}: expected f(*primals)",
                whose,
                forwards=True,
            )
        _check_real("jacfwd", "outputs", outs)
        along = [enter(rows, level) for rows in _basis(differentiated.tensors)]
        by_output = []
        for out, change in zip(outs, derivative.changes(outs, along), strict=True):
            columns = leave(ops.zeros_like(out.detach()) if change is None else change, level)  # pyright: ignore[reportAttributeAccessIssue]
            by_output.append([
                column.movedim(0, -1).reshape(out.shape + tensor.shape)
                for column, tensor in zip(columns.split(sizes), differentiated.tensors, strict=True)  # pyright: ignore[reportAttributeAccessIssue]
            ])  # fmt: skip
        jacobian = out_shape.unflatten([differentiated.nest(blocks) for blocks in by_output])
        if not has_aux:
            return jacobian
        first = [
            leave(out, level)[0] if level in levels_of(out._aval) else out for out in derivative.outside(aside.tensors)
        ]
        return jacobian, aside.shape.unflatten(first)

    return wrapper


def hessian(func: Callable[..., object], argnums: ArgNums = 0) -> Callable[..., Any]:
    """The function that computes the matrix of second derivatives of ``func``: ``jacfwd(jacrev(func))``.

    >>> torch.func.hessian(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.func.hessian.html
    """
    return jacfwd(jacrev(func, argnums), argnums)


def _called(
    func: Callable[..., object],
    leaves: _ChosenArguments | Sequence[Tensor],
    shape: TreeSpec | None,
    has_aux: bool,
    expected: str,
    whose: str,
    forwards: bool = False,
) -> tuple[Derivative, list[Tensor], TreeSpec, _Aside]:
    """The derivative in which the function was called, its outputs, flat, how they hang together, and what it returned aside.

    Args:
        leaves: the tensors, whose nest is ``shape``, or the chosen arguments.
    """
    chosen: _ChosenArguments | None = leaves if isinstance(leaves, _ChosenArguments) else None
    tensors: Sequence[Tensor] = leaves if chosen is None else chosen.tensors  # pyright: ignore[reportAssignmentType]
    derivative = Derivative(tensors, forwards)
    with derivative:
        if chosen is None:
            assert shape is not None
            args = shape.unflatten(derivative.leaves)
        else:
            args = chosen.filled(derivative.leaves)
        value, aux = func(*args), ()
        if has_aux:
            if not (isinstance(value, tuple) and len(value) == 2):
                raise RuntimeError(f"{whose}: output of function f should be a tuple: (output, aux) if has_aux is True")
            value, aux = value
        outs, out_shape = tree_flatten(value)
        if not outs or (len(outs) == 1 and outs[0] is None):
            raise RuntimeError(f"{whose}: Expected f to be a function that has non-empty output (got output = {outs})")
        for out in outs:
            if not isinstance(out, Tensor):
                raise RuntimeError(f"{expected} to return only tensors, got unsupported type {type(out)}")
            if not (forwards or out.is_floating_point() or out.is_complex()):
                raise RuntimeError(
                    f"vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype {out.dtype}"
                )
        aside = _Aside(aux)
    derivative.keep_writes()
    return derivative, outs, out_shape, aside


def _basis(tensors: Sequence[Tensor]) -> list[Tensor]:
    """For each element of all tensors a row: for each tensor what is 1 at that element and 0 elsewhere. Shapes (rows, *shape)."""
    sizes = [tensor.numel() for tensor in tensors]
    basis, start = [], 0
    for tensor, size in zip(tensors, sizes, strict=True):
        rows = ops.zeros((sum(sizes), size), dtype=tensor.dtype, device=tensor.device)
        rows[start : start + size].fill_diagonal_(1) if size else None
        basis.append(rows.reshape((sum(sizes), *tensor.shape)))
        start += size
    return basis


def _for_each(basis: list[Tensor], function: Callable[..., list[Tensor]], size: int | None) -> list[Tensor]:
    """The results of a function for each row of the basis, stacked: for so many rows at once."""
    count = len(basis[0])
    step = count if size is None else size
    parts = []
    if step == 1:  # PyTorch makes no examples of single rows
        columns = zip(*[function(*[rows[i] for rows in basis]) for i in range(count)], strict=True)
        return [ops.stack(column) for column in columns] if count else function(*[rows.sum(0) for rows in basis])
    for start in range(0, max(count, 1), max(step, 1)):
        chunk = basis if step >= count else [rows[start : start + step] for rows in basis]
        level = Vmapped(len(chunk[0]), "error")
        with within(level):
            results = function(*[enter(rows, level) for rows in chunk])
        parts.append([leave(result, level) for result in results])
    return parts[0] if len(parts) == 1 else [ops.cat(part) for part in zip(*parts, strict=True)]


class _ChosenArguments:
    """The arguments that ``argnums`` names, flat, and what is needed to put others into their places."""

    def __init__(self, args: tuple[object, ...], argnums: ArgNums) -> None:
        self.args, self.argnums = args, argnums
        if isinstance(argnums, bool) or not isinstance(argnums, (int, tuple)):
            raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
        numbers = (argnums,) if isinstance(argnums, int) else argnums
        if not numbers:
            raise RuntimeError("argnums must be non-empty")
        places = []
        for number in numbers:
            if not isinstance(number, int):
                raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {argnums}")
            if not -len(args) <= number < len(args):
                raise RuntimeError(f"Got argnum={number}, but only {len(args)} positional inputs")
            places.append(number % len(args))
        if len(set(places)) != len(places):
            raise RuntimeError(f"argnums elements must be unique, got {argnums}")
        self.places = places
        self.tensors, self.shape = tree_flatten(tuple(args[i] for i in places))
        _check_tensors(self.tensors)

    def filled(self, tensors: Sequence[Tensor]) -> tuple[Any, ...]:
        args = list(self.args)
        for place, value in zip(self.places, self.shape.unflatten(tensors), strict=True):
            args[place] = value
        return tuple(args)

    def nest(self, tensors: Sequence[Tensor]) -> Any:
        """As ``argnums`` says: the structure of the one argument, or a tuple of several."""
        gradients = self.shape.unflatten(tensors)
        return gradients[0] if isinstance(self.argnums, int) else gradients


class _Aside:
    """The auxiliary output of a function."""

    def __init__(self, aux: object) -> None:
        leaves, self.shape = tree_flatten(aux)
        for leaf in leaves:
            if not isinstance(leaf, Tensor):
                raise RuntimeError(f"Expected tensors, got unsupported type {type(leaf)}")
        self.tensors = leaves

    def outside(self, derivative: Derivative) -> object:
        """It, as the transform returns it."""
        return self.shape.unflatten(derivative.outside(self.tensors))


def _check_tensors(leaves: Sequence[object]) -> None:
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(leaf)}")


def _check_real(name: str, kind: str, tensors: Sequence[Tensor]) -> None:
    for number, tensor in enumerate(tensors):
        if tensor.is_complex():
            raise RuntimeError(
                f"{name}: Expected all {kind} to be real but received complex tensor at flattened {kind[:-1]} idx: {number}"
            )


def _stars(shape: TreeSpec) -> str:
    return treespec_pprint(shape)
