"""Transforms that differentiate: grad, vjp, jvp, Jacobians, Hessian."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from .._core.tensor import Tensor
from ..utils._pytree import TreeSpec, tree_flatten, treespec_pprint
from ._trace import array_of, differentiable, pull_back, push_forward, tensor_of

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
        after = {}

        def run(tensors: list[Tensor]) -> list[Tensor]:
            def inner(tensors: list[Tensor]) -> tuple[list[Tensor], Any]:
                value, aux = func(*differentiated.filled(tensors), **kwargs), ()
                if has_aux:
                    if not (isinstance(value, tuple) and len(value) == 2):
                        raise RuntimeError(
                            "grad_and_value(f)(*args): output of function f should be a tuple: (output, aux) if has_aux is True"
                        )
                    value, aux = value
                if not isinstance(value, Tensor):
                    raise RuntimeError(
                        f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(value)}"
                    )
                if value.dim() != 0:
                    raise RuntimeError(
                        "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
                        f"{value.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
                    )
                after["aux"] = aux_arrays = _Aside(aux)
                return [value], aux_arrays.arrays

            (value,), pull, aside = pull_back(inner, tensors)
            grads = pull([jnp.ones(value.shape, value.dtype)])
            return [tensor_of(a) for a in (*grads, value, *aside)]

        outs = differentiable(run, differentiated.tensors)
        count = len(differentiated.tensors)
        gradient, value = differentiated.nest(outs[:count]), outs[count]
        return (gradient, (value, after["aux"].nest(outs[count + 1 :]))) if has_aux else (gradient, value)

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
    after = {}

    def inner(tensors: list[Tensor]) -> tuple[list[Tensor], Any]:
        return _call_flat(
            func, shape.unflatten(tensors), has_aux, after, "vjp(f, *primals): expected f(*primals)", "vjp(f, *primals)"
        )

    def forwards(tensors: list[Tensor]) -> list[Tensor]:
        outs, after["pull"], aside = pull_back(inner, tensors)
        return [tensor_of(a) for a in (*outs, *aside)]

    outs = differentiable(forwards, leaves)
    pulled = after["pull"]
    out_shape: TreeSpec = after["shape"]
    count = out_shape.num_leaves

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

        def backwards(tensors: list[Tensor]) -> list[Tensor]:
            at, along = tensors[: len(leaves)], tensors[len(leaves) :]
            function = pulled if all(a is b for a, b in zip(at, leaves, strict=True)) else pull_back(inner, at)[1]
            return [tensor_of(g) for g in function([array_of(c) for c in along])]

        return shape.unflatten(differentiable(backwards, [*leaves, *cotangent_leaves]))

    result = out_shape.unflatten(outs[:count])
    return (result, pull, after["aux"].nest(outs[count:])) if has_aux else (result, pull)


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
    _check_tensors([*leaves, *along])
    for primal, tangent in zip(leaves, along, strict=True):
        if primal.shape != tangent.shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. "
                f"Tensor is of size {list(primal.shape)} while the given forward gradient is of size {list(tangent.shape)}."
            )
    after = {}
    whose = "jvp(f, primals, tangents)"

    def inner(tensors: list[Tensor]) -> tuple[list[Tensor], Any]:
        return _call_flat(func, shape.unflatten(tensors), has_aux, after, f"{whose}: expected f(*primals)", whose)

    def run(tensors: list[Tensor]) -> list[Tensor]:
        outs, push, aside = push_forward(inner, tensors[: len(leaves)])
        changes = push([array_of(t) for t in tensors[len(leaves) :]])
        return [tensor_of(a) for a in (*outs, *changes, *aside)]

    outs = differentiable(run, [*leaves, *along])
    count = after["shape"].num_leaves
    result = after["shape"].unflatten(outs[:count]), after["shape"].unflatten(outs[count : 2 * count])
    return (*result, after["aux"].nest(outs[2 * count :])) if has_aux else result


def linearize(func: Callable[..., object], *primals: object) -> Any:
    """``func(*primals)``, and the function from tangents of the primals to the change of the output.

    >>> output, push = torch.func.linearize(torch.sin, torch.zeros(2))
    >>> push(torch.ones(2))
    tensor([1., 1.])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.func.linearize.html
    """
    leaves, shape = tree_flatten(primals)
    _check_tensors(leaves)
    after = {}

    def inner(tensors: list[Tensor]) -> tuple[list[Tensor], Any]:
        return _call_flat(
            func, shape.unflatten(tensors), False, after, "linearize(f, *primals): expected f(*primals)", ""
        )

    outs, push, _ = push_forward(inner, leaves)
    out_shape = after["shape"]

    def along(*tangents: object) -> Any:
        tangent_leaves, given_shape = tree_flatten(tangents)
        if given_shape != shape:
            raise RuntimeError(f"Expected the tangents {given_shape} to have the same argspec as the primals {shape}")
        _check_tensors(tangent_leaves)
        for tangent, primal in zip(tangent_leaves, leaves, strict=True):
            if tangent.shape != primal.shape or tangent.dtype != primal.dtype:
                raise RuntimeError(
                    f"Expected a tangent of shape {tuple(primal.shape)} and dtype {primal.dtype}, got {tuple(tangent.shape)} and "
                    f"{tangent.dtype}"
                )
        return out_shape.unflatten([tensor_of(c) for c in push([array_of(t) for t in tangent_leaves])])

    return out_shape.unflatten([tensor_of(o) for o in outs]), along


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

    def derive(inner: Any, tensors: list[Tensor]) -> Any:
        outs, pull, aside = pull_back(inner, tensors)
        blocks = []  # by output, then by input: (*out, *in)
        for number, out in enumerate(outs):
            basis = _basis(out)
            pieces = [
                jax.vmap(
                    lambda one, number=number: pull(
                        [one if i == number else jnp.zeros_like(o) for i, o in enumerate(outs)]
                    )
                )(chunk)
                for chunk in _chunks(basis, chunk_size)
            ]
            rows = [jnp.concatenate(parts) for parts in zip(*pieces, strict=True)]
            blocks.append([r.reshape(out.shape + r.shape[1:]) for r in rows])
        return outs, blocks, aside

    return _jacobian("jacrev", func, argnums, has_aux, derive, "vjp(f, *primals)")


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

    def derive(inner: Any, tensors: list[Tensor]) -> Any:
        outs, push, aside = push_forward(inner, tensors)
        arrays = [array_of(t) for t in tensors]
        blocks = [[] for _ in outs]
        for number, array in enumerate(arrays):
            columns = jax.vmap(
                lambda one, number=number: push(
                    [one if i == number else jnp.zeros_like(a) for i, a in enumerate(arrays)]
                )
            )(_basis(array))
            for block, column in zip(blocks, columns, strict=True):
                block.append(jnp.moveaxis(column, 0, -1).reshape(column.shape[1:] + array.shape))
        return outs, blocks, aside

    return _jacobian("jacfwd", func, argnums, has_aux, derive, "jvp(f, primals, tangents)")


def hessian(func: Callable[..., object], argnums: ArgNums = 0) -> Callable[..., Any]:
    """The function that computes the matrix of second derivatives of ``func``: ``jacfwd(jacrev(func))``.

    >>> torch.func.hessian(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.func.hessian.html
    """
    return jacfwd(jacrev(func, argnums), argnums)


def _jacobian(
    name: str, func: Callable[..., object], argnums: ArgNums, has_aux: bool, derive: Any, whose: str
) -> Callable[..., Any]:
    """``derive(function, tensors)`` gives outputs, the derivative of each with respect to each tensor, and what was handed on."""

    @functools.wraps(func)
    def wrapper(*args: object, **kwargs: object) -> Any:
        differentiated = _ChosenArguments(args, argnums)
        _check_real(name, "inputs", differentiated.tensors)
        after = {}

        def run(tensors: list[Tensor]) -> list[Tensor]:
            def inner(tensors: list[Tensor]) -> tuple[list[Tensor], Any]:
                outs, aside = _call_flat(
                    func,
                    differentiated.filled(tensors),
                    has_aux,
                    after,
                    f"{whose}: expected f(*primals)",
                    whose,
                    kwargs,
                )
                _check_real(name, "outputs", outs)
                return outs, aside

            outs, blocks, aside = derive(inner, tensors)
            after["outs"] = len(outs)
            return [tensor_of(a) for a in (*(b for row in blocks for b in row), *aside)]

        results = differentiable(run, differentiated.tensors)
        count, outs = len(differentiated.tensors), after["outs"]
        rows = [differentiated.nest(results[i * count : (i + 1) * count]) for i in range(outs)]
        result = after["shape"].unflatten(rows)
        return (result, after["aux"].nest(results[outs * count :])) if has_aux else result

    return wrapper


def _basis(array: Any) -> Array:
    """The standard basis: for each element an array that is 1 there and 0 elsewhere. Shape (size, *shape)."""
    return jnp.eye(array.size, dtype=array.dtype).reshape((array.size, *array.shape))


def _chunks(basis: Any, size: int | None) -> list[object]:
    if size is None or not len(basis):
        return [basis]
    return [basis[i : i + size] for i in range(0, len(basis), size)]


class _ChosenArguments:
    """The arguments that ``argnums`` names, flat, and what is needed to put others into their places."""

    def __init__(self, args: tuple[object, ...], argnums: ArgNums) -> None:
        self.args, self.argnums = args, argnums
        if isinstance(argnums, bool) or not isinstance(argnums, (int, tuple)):
            raise RuntimeError(f"argnum must be int or Tuple[int, ...], got: {type(argnums)}")
        numbers = (argnums,) if isinstance(argnums, int) else argnums
        if not numbers:
            raise RuntimeError("argnums must be non-empty")
        places = []
        for number in numbers:
            if not isinstance(number, int):
                raise RuntimeError(f"argnum must be int or Tuple[int, ...], got: {argnums}")
            if not -len(args) <= number < len(args):
                raise RuntimeError(f"Got argnum={number}, but only {len(args)} positional inputs")
            places.append(number % len(args))
        if len(set(places)) != len(places):
            raise RuntimeError(f"argnums elements must be unique, got {argnums}")
        self.places = places
        self.tensors, self.shape = tree_flatten(tuple(args[i] for i in places))
        _check_tensors(self.tensors)
        for tensor in self.tensors:
            if not (tensor.is_floating_point() or tensor.is_complex()):
                raise RuntimeError("only Tensors of floating point dtype can require gradients")

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
    """The auxiliary output of a function: its tensors pass through the transform, other objects are kept aside."""

    def __init__(self, aux: object) -> None:
        leaves, self.shape = tree_flatten(aux)
        for leaf in leaves:
            if not isinstance(leaf, Tensor):
                raise RuntimeError(f"Expected tensors, got unsupported type {type(leaf)}")
        self.arrays = [array_of(leaf) for leaf in leaves]

    def nest(self, tensors: Sequence[Tensor]) -> Any:
        return self.shape.unflatten(tensors)


def _call_flat(
    func: Any, args: Any, has_aux: bool, after: dict[str, object], expected: str, whose: str, kwargs: Any = None
) -> tuple[list[Tensor], object]:
    """The outputs of a function, flat; how they hang together, and ``aux``, go into ``after``."""
    value, aux = func(*args, **(kwargs or {})), ()
    if has_aux:
        if not (isinstance(value, tuple) and len(value) == 2):
            raise RuntimeError(f"{whose}: output of function f should be a tuple: (output, aux) if has_aux is True")
        value, aux = value
    outs, shape = tree_flatten(value)
    if not outs:
        raise RuntimeError(f"{expected} to return at least one tensor, got no output.")
    for out in outs:
        if not isinstance(out, Tensor):
            raise RuntimeError(f"{expected} to return only tensors, got unsupported type {type(out)}")
    after["shape"], after["aux"] = shape, _Aside(aux)
    return outs, after["aux"].arrays


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
