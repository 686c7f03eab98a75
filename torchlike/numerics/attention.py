"""Primitives of JAX for attention, its tangent and its gradients, so that each platform computes them by the kernel that it has.

A GPU computes half types by cuDNN, and a TPU bfloat16 by a kernel of JAX's. Wherever neither can be used there are blocks
(``attention_blocks.py``, which says what the arrays are). Derivatives of derivatives are those of the formula as it stands.

Each primitive takes an ``Attention``, which says what to compute. With dropout the last of the inputs is the state from which the random
bits come: derivatives draw them again, and no kernel is used. What the forward pass gives besides its result, the logarithm of each
query's sum of exponentials, is read by the derivatives; it has none itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from . import attention_blocks as blocks, attention_kernels as kernels
from .attention_blocks import Attention
from .convolution import is_divided

forward_p = Primitive("torchlike_attention")
tangent_p = Primitive("torchlike_attention_tangent")
gradients_p = Primitive("torchlike_attention_gradients")
forward_p.multiple_results = gradients_p.multiple_results = True


def attend(
    of: Attention, query: Array, key: Array, value: Array, mask: Array | None = None, state: Array | None = None
) -> Array:
    """``softmax(scale * query @ key.T + mask) @ value``; zeros for a query that may look nowhere.

    Args:
        state: the generator's, from which dropout draws.
    """
    return forward_p.bind(query, key, value, *(x for x in (mask, state) if x is not None), of=of)[0]


# ---- operands: the inputs are query, key, value, the mask if there is one, and the state with dropout


def _parted(of: Attention, inputs: Sequence[Array]) -> tuple[Sequence[Array], blocks.Keep]:
    """Query, key, value and perhaps a mask; and dropout's factors."""
    if not of.below:
        return inputs, None
    *inputs, state = inputs
    return inputs, blocks.dropout(of, state, inputs[0], inputs[1])


def _masks(of: Attention, inputs: int) -> int:
    """How many of so many inputs are masks."""
    return inputs - 3 - bool(of.below)


def _forward(*inputs: Array, of: Attention) -> list[Array]:
    (query, key, value, *masks), keep = _parted(of, inputs)
    return list(blocks.forward(of, query, key, value, masks[0] if masks else None, keep))


def _tangent(*operands: Array, of: Attention, inputs: int) -> Array:
    """Operands: the inputs, out, the logarithms, and the changes of query, key, value and perhaps the mask."""
    return _changed_by(lambda *a: _forward(*a, of=of)[0], operands[:inputs], operands[inputs + 2 :])


def _changed_by(function: Callable[..., Array], inputs: Sequence[Array], changes: Sequence[Array]) -> Array:
    """The change of what a function gives with these of its first inputs."""
    moving, fixed = inputs[: len(changes)], inputs[len(changes) :]
    return jax.jvp(lambda *moving: function(*moving, *fixed), tuple(moving), tuple(changes))[1]


def _gradients(*operands: Array, of: Attention, of_mask: bool) -> list[Array]:
    """Operands: the inputs, out, the logarithms, and the gradient of out."""
    *inputs, out, sums, cotangent = operands
    given, keep = _parted(of, inputs)
    return list(blocks.gradients(of, given, out, sums, cotangent, of_mask, keep))


def plain(*inputs: Array, of: Attention) -> list[Array]:
    """The formula as it stands, which JAX can differentiate to any order: all is one block."""
    return _forward(*inputs, of=of._replace(sizes=(inputs[0].shape[2], inputs[1].shape[2])))


def _plain_gradients(of: Attention, inputs: Sequence[Array], cotangent: Array, of_mask: bool) -> list[Array]:
    moving = 4 if of_mask else 3
    fixed = inputs[moving:]
    return list(jax.vjp(lambda *inputs: plain(*inputs, *fixed, of=of)[0], *inputs[:moving])[1](cotangent))


# ---- shapes


@forward_p.def_abstract_eval
def _forward_abstract(
    query: ShapedArray, key: ShapedArray, value: ShapedArray, *more: ShapedArray, of: Attention
) -> list[ShapedArray]:
    batch, heads, rows, width = query.shape
    shared = key.shape[1]
    if key.shape != (batch, shared, key.shape[2], width) or value.shape[:3] != key.shape[:3] or heads % shared:
        raise ValueError(f"attention of {query.shape}, {key.shape} and {value.shape}")
    for mask in more[: _masks(of, 3 + len(more))]:
        if any(m not in (1, n) for m, n in zip(mask.shape, (batch, heads, rows, key.shape[2]), strict=True)):
            raise ValueError(f"a mask of {mask.shape} for attention of {query.shape} and {key.shape}")
    sums = blocks.sums_of(query.dtype)
    return [ShapedArray((batch, heads, rows, value.shape[3]), query.dtype), ShapedArray((batch, heads, rows), sums)]


@tangent_p.def_abstract_eval
def _tangent_abstract(*operands: ShapedArray, of: Attention, inputs: int) -> ShapedArray:
    return ShapedArray(operands[inputs].shape, operands[inputs].dtype)


@gradients_p.def_abstract_eval
def _gradients_abstract(*operands: ShapedArray, of: Attention, of_mask: bool) -> list[ShapedArray]:
    return [ShapedArray(x.shape, x.dtype) for x in operands[: 4 if of_mask else 3]]


# ---- derivatives


def _aval(x: Any) -> Any:
    return ShapedArray(x.shape, x.dtype)


def _all(tangents: Sequence[Any]) -> list[Array]:
    return [ad.instantiate_zeros(t) for t in tangents]


def _changes(of: Attention, inputs: Sequence[Any], tangents: Sequence[Any]) -> list[Array]:
    """The changes of query, key and value, and of the mask if it changes."""
    mask_moves = _masks(of, len(inputs)) and inputs[3].dtype != bool and type(tangents[3]) is not ad.Zero
    return _all(tangents[: 4 if mask_moves else 3])


def _forward_jvp(primals: Sequence[Array], tangents: Any, *, of: Attention) -> tuple[list[Array], list[Any]]:
    out, sums = forward_p.bind(*primals, of=of)
    change = tangent_p.bind(*primals, out, sums, *_changes(of, primals, tangents), of=of, inputs=len(primals))
    return [out, sums], [change, ad.Zero(_aval(sums))]


def _tangent_jvp(primals: Sequence[Array], tangents: Any, *, of: Attention, inputs: int) -> tuple[Array, Any]:
    """The changes are passed on as they are; what depends on the inputs is differentiated by the plain formula."""
    out, sums, *changes = primals[inputs:]
    found = tangent_p.bind(*primals, of=of, inputs=inputs)
    more = tangents[inputs + 2 :]
    moved = []
    if any(type(t) is not ad.Zero for t in more):
        moved.append(tangent_p.bind(*primals[:inputs], out, sums, *_all(more), of=of, inputs=inputs))
    if any(type(t) is not ad.Zero for t in tangents[:inputs]):
        given = _changes(of, primals[:inputs], tangents[:inputs])
        fixed = primals[len(given) : inputs]
        moved.append(
            jax.jvp(
                lambda *moving: _changed_by(lambda *a: plain(*a, of=of)[0], (*moving, *fixed), changes),
                tuple(primals[: len(given)]),
                tuple(given),
            )[1]
        )
    return found, sum(moved[1:], moved[0]) if moved else ad.Zero(_aval(found))


def _tangent_transpose(cotangent: Any, *operands: Any, of: Attention, inputs: int) -> list[Any]:
    changes = operands[inputs + 2 :]
    nothing: list[Any] = [None] * (inputs + 2)
    if type(cotangent) is ad.Zero:
        return nothing + [None] * len(changes)
    wanted = [ad.is_undefined_primal(x) for x in changes]
    given = operands[: inputs + 2]
    found = gradients_p.bind(*given, cotangent, of=of, of_mask=len(wanted) > 3 and wanted[3])
    found = [*found, *[None] * (len(wanted) - len(found))]
    return nothing + [x if asked else None for x, asked in zip(found, wanted, strict=True)]


def _gradients_jvp(
    primals: Sequence[Array], tangents: Any, *, of: Attention, of_mask: bool
) -> tuple[list[Array], list[Any]]:
    """What was kept of the forward pass is a function of the inputs, so its changes are among those of the plain formula."""
    *inputs, _, _, cotangent = primals
    found = gradients_p.bind(*primals, of=of, of_mask=of_mask)
    changes = _changes(of, inputs, tangents[:-3])
    moving, fixed = inputs[: len(changes)], inputs[len(changes) :]
    given = (*changes, ad.instantiate_zeros(tangents[-1]))
    return found, jax.jvp(
        lambda *operands: _plain_gradients(of, [*operands[:-1], *fixed], operands[-1], of_mask),
        (*moving, cotangent),
        given,
    )[1]


ad.primitive_jvps[forward_p] = _forward_jvp
ad.primitive_jvps[tangent_p] = _tangent_jvp
ad.primitive_transposes[tangent_p] = _tangent_transpose
ad.primitive_jvps[gradients_p] = _gradients_jvp


# ---- batches: they join the batch that is there


def _batched(primitive: Primitive) -> Callable[..., Any]:
    """The rule of a primitive for ``vmap``."""

    def rule(operands: Sequence[Any], places: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        if primitive is tangent_p:
            return jax.vmap(lambda *operands: _tangent(*operands, **params), places)(*operands), 0
        if params.get("of_mask"):  # the gradient of a mask that all share is a sum for each
            found = jax.vmap(lambda *operands: _gradients(*operands, **params), places)(*operands)
            return found, [0] * len(found)
        size = next(x.shape[p] for x, p in zip(operands, places, strict=True) if p is not None)
        batch = _shape_without(operands[0], places[0])[0]
        of: Attention = params["of"]
        inputs = len(operands) - (0 if primitive is forward_p else 3)
        state = inputs - 1 if of.below else None
        # What is computed for many drops the same weights for each.
        params = {**params, "of": of._replace(batch=of.batch or batch) if of.below else of}
        whole = []
        for n, (x, place) in enumerate(zip(operands, places, strict=True)):
            if n == state:
                if place is not None:
                    raise NotImplementedError("attention with dropout from many states of a generator at once")
                whole.append(x)
                continue
            mask = n == 3 and _masks(of, inputs)
            if place is None and mask and x.shape[0] == 1:
                whole.append(x)  # it stays one mask for all
                continue
            x = jnp.broadcast_to(x, (size, *x.shape)) if place is None else jnp.moveaxis(x, place, 0)
            if mask:
                x = jnp.broadcast_to(x, (size, batch, *x.shape[2:]))
            whole.append(x.reshape(size * batch, *x.shape[2:]))
        found = primitive.bind(*whole, **params)
        return [x.reshape(size, batch, *x.shape[1:]) for x in found], [0] * len(found)

    return rule


def _shape_without(x: Array, place: int | None) -> tuple[int, ...]:
    return tuple(x.shape[d] for d in range(x.ndim) if d != place)


for _primitive in (forward_p, tangent_p, gradients_p):
    batching.primitive_batchers[_primitive] = _batched(_primitive)


# ---- how a program computes it


# Queries and keys in a block on an accelerator, where each step of a loop starts several kernels.
LARGE = (512, 1024)


def _by(kernel: Callable[..., list[Array] | None], otherwise: Callable[..., list[Array]]) -> Callable[..., list[Array]]:
    """What computes by a kernel, or in blocks what it does not take."""

    def compute(*operands: Array, of: Attention, heads_inside: bool, **params: bool) -> list[Array]:
        found = None if of.below or params.get("of_mask") else kernel(of, heads_inside, *operands)
        return (
            otherwise(*operands, of=of if of.sizes else of._replace(sizes=LARGE), **params) if found is None else found
        )

    return compute


def _parts_heads(operand: Any) -> bool:
    """Whether an operand comes right out of an exchange of its second and third dimensions, (B, T, N, E) before."""
    owner = operand.owner
    return getattr(owner, "name", "") == "stablehlo.transpose" and list(owner.attributes["permutation"]) == [0, 2, 1, 3]


def _in_order(primitive: Primitive, abstract: Any, usual: Any, on_cuda: Any, on_tpu: Any) -> None:
    """Lowers a primitive in two steps, so that a kernel gets its operands in the order in which they lie in memory.

    Models mostly compute (B, T, N, E) and part the heads for attention by exchanging two dimensions. A kernel that takes the heads inside
    spares the copies. The order is seen where the program is lowered; the second step is a primitive of its own, which JAX lowers once
    for all equal ones of a program.
    """
    second = Primitive(f"{primitive.name}_in_order")
    second.multiple_results = True
    second.def_abstract_eval(lambda *operands, heads_inside, **params: abstract(*operands, **params))

    def lower(ctx: Any, *operands: Any, **params: Any) -> Any:
        inside = any(map(_parts_heads, operands[:3]))
        call = mlir.lower_fun(lambda *a: second.bind(*a, **params, heads_inside=inside), multiple_results=True)
        return call(ctx, *operands)

    def without_order(*operands: Array, heads_inside: bool, **params: Any) -> list[Array]:
        return usual(*operands, **params)

    primitive.def_impl(jax.jit(lambda *a, **params: primitive.bind(*a, **params), static_argnames=("of", "of_mask")))
    mlir.register_lowering(primitive, lower, cacheable=False)
    in_blocks, by_kernel = (mlir.lower_fun(way, multiple_results=True) for way in (without_order, _by(on_tpu, usual)))

    def lower_for_tpu(ctx: Any, *operands: Any, **params: Any) -> Any:
        # XLA does not divide a kernel among devices.
        return (in_blocks if is_divided(ctx) else by_kernel)(ctx, *operands, **params)

    mlir.register_lowering(second, in_blocks)
    mlir.register_lowering(second, lower_for_tpu, platform="tpu")
    mlir.register_lowering(second, mlir.lower_fun(_by(on_cuda, usual), multiple_results=True), platform="cuda")
    kernels.needs_devices(primitive, second)


# ---- with functions that change the scores


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def attend_changed(of: Attention, *inputs: Array) -> tuple[Array, Array]:
    """What ``blocks.forward`` gives. Inputs: query, key, value, and what the functions have captured."""
    query, key, value, *captured = inputs
    return blocks.forward(of, query, key, value, captured=captured)


def _changed_kept(of: Attention, *inputs: Array) -> tuple[Any, Any]:
    found = attend_changed(of, *inputs)
    return found, (inputs, found)


def _changed_pull(of: Attention, kept: Any, arrived: Any) -> tuple[Any, ...]:
    """JAX can differentiate this: the loops are of known length."""
    (query, key, value, *captured), (out, sums) = kept
    found = blocks.gradients(of, (query, key, value), out, sums, arrived[0], False, None, captured, arrived[1])
    return *found[:3], *map(dict(zip(of.moving, found[3:], strict=True)).get, range(len(captured)))


attend_changed.defvjp(_changed_kept, _changed_pull)


_in_order(forward_p, _forward_abstract, _forward, kernels.cudnn_forward, kernels.tpu_forward)
_in_order(gradients_p, _gradients_abstract, _gradients, kernels.cudnn_gradients, kernels.tpu_gradients)
tangent_p.def_impl(jax.jit(lambda *a, **params: tangent_p.bind(*a, **params), static_argnames=("of", "inputs")))
mlir.register_lowering(tangent_p, mlir.lower_fun(_tangent, multiple_results=False))
