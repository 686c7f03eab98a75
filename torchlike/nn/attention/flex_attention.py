"""Attention with functions for scores and masks: ``torch.nn.attention.flex_attention``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.extend.core import jaxpr_as_fun

from ... import ops
from ..._core.annotations import DeviceLike
from ..._core.attributes import next_period
from ..._core.devices import device
from ..._core.dtypes import bool_, dtype
from ..._core.fields import root_of
from ..._core.node import Node
from ..._core.tensor import Tensor
from ..._core.vmapped import Vmapped, within
from ...autograd.function import FunctionNode
from ...autograd.grad_mode import is_grad_enabled
from ...backends.cuda import kernels
from ...dispatch.apply import apply, internal_dispatcher
from ...dispatch.autocast import under_autocast
from ...dispatch.opdef import Autocast, Saves
from ...engine.jax_settings import tracing
from ...interop import from_jax
from ...numerics.attention import LARGE, Attention, attend_changed
from ...numerics.attention_blocks import block_sizes, sums_of
from ...numerics.matmul_precision import precision
from ...ops.nn.attention import WHOLE_ON_ACCELERATORS, attention
from ...utils._pytree import tree_flatten as tree_flatten, tree_leaves, tree_map_only, tree_unflatten as tree_unflatten

_DEFAULT_SPARSE_BLOCK_SIZE = 128  # the default size of a block

__all__ = ["BlockMask", "and_masks", "create_block_mask", "create_mask", "flex_attention", "noop_mask", "or_masks"]

Mask = Callable[..., Tensor]


def _grid(batch: int, heads: int, queries: int, keys: int, device: DeviceLike | None) -> list[object]:
    """The numbers of batch, head, query and key, each along its own dimension, so that functions of them broadcast."""
    sizes = (batch, heads, queries, keys)
    return [ops.arange(n, device=device).reshape([n if at == d else 1 for d in range(4)]) for at, n in enumerate(sizes)]


def _mapping() -> Any:
    """While a function runs: PyTorch maps it, so random functions are an error."""
    level = Vmapped(1, "error")
    level.shared = True
    return within(level)


def noop_mask(batch: Tensor, head: object, token_q: object, token_kv: object) -> Tensor:
    """The mask that keeps everything."""
    return batch.new_ones((), dtype=bool_)


def and_masks(*mask_mods: Mask) -> Mask:
    """The mask that is True where all masks are."""
    return _combine_masks(mask_mods, lambda a, b: a & b)


def or_masks(*mask_mods: Mask) -> Mask:
    """The mask that is True where any mask is."""
    return _combine_masks(mask_mods, lambda a, b: a | b)


def _combine_masks(mask_mods: tuple[Mask, ...], join: Callable[..., object]) -> Mask:
    if not all(callable(mask_mod) for mask_mod in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def mask(b: object, h: object, q_idx: object, kv_idx: object) -> Any:
        first, *others = (mask_mod(b, h, q_idx, kv_idx) for mask_mod in mask_mods)
        for further in others:
            first = join(first, further)
        return first

    return mask


def create_mask(
    mod_fn: Mask, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: DeviceLike | None = None
) -> Tensor:
    """A mask function's values, (B, H, Q_LEN, KV_LEN); B and H are 1 where they are None.

    >>> torch.nn.attention.flex_attention.create_mask(lambda b, h, q, k: q >= k, None, None, 2, 2)
    tensor([[[[ True, False],
              [ True,  True]]]])
    """
    shape = (B or 1, H or 1, Q_LEN, KV_LEN)
    with _mapping():
        return mod_fn(*_grid(*shape, device)).expand(shape)  # pyright: ignore[reportReturnType]


class BlockMask:
    """A mask for ``flex_attention``, made by ``create_block_mask``: its function and its values.

    Args:
        dense: what makes ``dense``.
        shape: of it. mask_mod: the function.
        block: the sizes of blocks, as in PyTorch. Attention takes its own.
    """

    def __init__(self, dense: Callable[[], Tensor], shape: tuple[int, ...], mask_mod: Mask, block: Any) -> None:
        self._dense, self.shape, self.mask_mod, self.BLOCK_SIZE = dense, shape, mask_mod, block
        self.seq_lengths = shape[-2:]

    @functools.cached_property
    def dense(self) -> Tensor:
        """(B, H, Q_LEN, KV_LEN), True where a query may attend to a key. It is made when it is asked for."""
        return self._dense()

    def to_dense(self) -> Tensor:
        """The values."""
        return self.dense

    def sparsity(self) -> float:
        """Returns the percentage of pairs that are masked out."""
        return 100 * (1 - self.dense.float().mean().item())

    def __repr__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"


def create_block_mask(
    mask_mod: Mask,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: DeviceLike | None = None,
    BLOCK_SIZE: int | tuple[int, int] = 128,
    _compile: bool = False,
) -> BlockMask:
    """A mask made of a function.

    Args:
        mask_mod: takes the numbers of batch, head, query and key as tensors that broadcast, returns a boolean tensor.
        B, H: the numbers of batches and heads for which the mask differs; None: it is the same for all.
        BLOCK_SIZE, _compile: options of PyTorch's implementation. They do not change the result.

    Source: https://docs.pytorch.org/docs/stable/nn.attention.flex_attention.html
    """
    block = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    dense = functools.partial(create_mask, mask_mod, B, H, Q_LEN, KV_LEN, device)
    return BlockMask(dense, (B or 1, H or 1, Q_LEN, KV_LEN), mask_mod, block)


@under_autocast(cpu=Autocast.LOWER, cuda=Autocast.LOWER)
def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Callable[..., Any] | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: object = None,
) -> Any:
    """``softmax(score_mod(scale * query @ key.T)) @ value``, with 0 for a query that may attend to no key.

    Args:
        query: (B, Hq, L, E). key: (B, Hkv, S, E). value: (B, Hkv, S, Ev).
        score_mod: takes a block of scores (B, Hq, l, s) and the numbers of batch, head, query and key as tensors that broadcast to it,
            and returns scores. PyTorch calls it with single numbers: what is computed element by element, or looked up in a tensor by
            these numbers, is the same for both.
        block_mask: from ``create_block_mask``.
        scale: default 1 / sqrt(E).
        enable_gqa: heads of queries share heads of keys and values.
        return_lse: the logarithms of the sums of ``exp(scores)`` as well, (B, Hq, L).
        kernel_options: options of PyTorch's kernels. They do not change the result.

    >>> x = torch.ones(1, 1, 2, 3)
    >>> torch.nn.attention.flex_attention.flex_attention(x, x, x, lambda score, b, h, q, k: score - (q - k).abs())
    tensor([[[[1., 1., 1.],
              [1., 1., 1.]]]])

    Raises:
        ValueError: the shapes are inconsistent. NotImplementedError: a tensor does not have four dimensions.

    Source: https://docs.pytorch.org/docs/stable/nn.attention.flex_attention.html
    """
    _check(query, key, value, block_mask, enable_gqa)
    mask_mod = None if block_mask is None else block_mask.mask_mod
    platform, way = query._aval.placement.platform, kernels.way
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    if score_mod is None and not return_lse and (mask_mod is None or platform == "gpu"):  # whose kernel takes masks
        mask = None if block_mask is None else block_mask.dense[..., : query.shape[-2], : key.shape[-2]]
        return attention(query, key, value, mask, None, False, scale, query.shape[1] != key.shape[1], platform, way)
    found = _in_blocks(query, key, value, score_mod, block_mask, scale, way)
    return found if return_lse else found[0]


def _check(query: Tensor, key: Tensor, value: Tensor, block_mask: object, enable_gqa: bool) -> None:
    if not query.dim() == key.dim() == value.dim() == 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    if query.shape[1] != key.shape[1]:
        if not enable_gqa:
            raise ValueError(
                f"Expect query and key/value to have the same number of heads but got Hq={query.shape[1]} and Hkv={key.shape[1]}. "
                "Try setting enable_gqa=True for GQA."
            )
        if query.shape[1] % key.shape[1]:
            raise ValueError(
                f"Expect number of query heads to be a multiple of kv heads for GQA but got Hq={query.shape[1]} and Hkv={key.shape[1]}."
            )
    if block_mask is not None:
        if not isinstance(block_mask, BlockMask):
            raise TypeError(f"block_mask must be a BlockMask, got {type(block_mask)}")
        queries, keys = block_mask.seq_lengths
        if queries < query.shape[-2] or keys < key.shape[-2]:
            raise ValueError(
                f"block_mask was created for block_mask.shape={block_mask.shape} but got q_len={query.shape[-2]} and "
                f"kv_len={key.shape[-2]}. As the block mask was created for a smaller length than you're using it for, you likely need "
                "to create a new block mask."
            )


# ---- in blocks


class _Captured:
    """A TorchFunctionMode that gives a function others for the tensors from outside that it uses: these in turn, or zeros.

    ``plain``: the gradient is that of the arithmetic, since all that is computed of tensors with gradients has one.
    """

    def __init__(self, given: Iterator[Array] | None) -> None:
        self.given, self.period, self.plain = given, next_period(), True
        self.others: dict[Tensor, Tensor] = {}

    def other(self, tensor: Tensor) -> Tensor:
        if root_of(tensor).made_in >= self.period:
            return tensor
        if tensor not in self.others:
            array = jnp.zeros(tensor.shape, tensor._aval.dtype) if self.given is None else next(self.given)
            self.others[tensor] = self.input(array)
        return self.others[tensor]

    def input(self, array: Array) -> Tensor:
        tensor = from_jax(array)
        return tensor if self.given or not tensor.is_floating_point() else tensor._require_grad().clone()

    def __torch_function__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> Any:
        args, kwargs = tree_map_only(Tensor, self.other, (args, kwargs or {}))
        result = func(*args, **kwargs)
        if any(_moves(x) for x in tree_leaves((args, kwargs))):
            self.plain &= is_grad_enabled() and all(_moves(x) is not False for x in tree_leaves(result))
        return result


@functools.cache
def _mode() -> Any:
    from ...overrides import TorchFunctionMode  # from then on each function asks who overrides it

    return type("_Captured", (_Captured, TorchFunctionMode), {})


def _own_rules(node: Node | None) -> bool:
    """Whether the gradient goes by a Function of the user's."""
    nodes, seen = [node], set[Node | None]()
    while nodes:
        node = nodes.pop()
        if isinstance(node, FunctionNode):
            return True
        if node is not None and node not in seen:
            seen.add(node)
            nodes += [n for n, _ in node.next_functions]
    return False


def _moves(x: object) -> bool | None:
    """Whether a gradient goes through a result; None where none can."""
    if isinstance(x, Tensor):
        return x._tracked if x.is_floating_point() else None
    return None if x is None or isinstance(x, (int, float, str, dtype, device)) else False


class _Traced:
    """A function of arrays of these shapes, and of the tensors that it captures.

    Two that compute the same are equal, so that a step that makes its function anew each time is compiled once.

    ``first``: how many tensors another function has captured.
    """

    def __init__(self, function: Callable[..., Any], shapes: Sequence[Any], first: int) -> None:
        self.count, self.first, self.plain = len(shapes), first, True
        self.tensors: list[Tensor] = []
        self._trace(function, shapes, False)
        closed = self._trace(function, [*shapes, *(_shape(t.shape, t._aval.dtype) for t in self.tensors)], True)
        self._run = jaxpr_as_fun(closed)
        self._key = first, str(closed.jaxpr), *[(x.shape, x.dtype, x.tobytes()) for x in map(np.asarray, closed.consts)]

    def _trace(self, function: Callable[..., Any], shapes: Sequence[Any], again: bool) -> Any:
        def compute(*arrays: Array) -> Array:
            mode = _mode()(iter(arrays[self.count :]) if again else None)
            inputs = [*map(mode.input, arrays[: self.count])]
            with mode, _mapping():
                result = function(*inputs)
            result = mode.other(result)
            self.tensors, self.plain = list(mode.others), self.plain and mode.plain and not _own_rules(result.grad_fn)
            return result.jax

        return tracing(jax.make_jaxpr(compute))(*shapes)

    def __call__(self, *arrays: Array) -> Array:
        first = self.count + self.first
        return self._run(*arrays[: self.count], *arrays[first : first + len(self.tensors)])[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Traced) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _compute(arrays: Sequence[Array], of: Any) -> tuple[Array, Array]:
    found: Any = attend_changed(Attention(*of), *arrays)  # a tuple by now
    return found[0], jnp.where(found[1] == jnp.inf, -jnp.inf, found[1])


_shape = jax.ShapeDtypeStruct
_compute.__annotations__ = {"arrays": "list[Array]", "of": "Any", "return": "Any"}
_ATTENTION = internal_dispatcher(
    _compute, "_flex_attention", saves=Saves.INPUTS, several=True, backward="FlexAttentionAutogradOpBackward"
)


def _by_formula(q: Tensor, k: Tensor, v: Tensor, score_mod: Any, block_mask: BlockMask | None, scale: float) -> Any:
    """The same with the square of scores, where a gradient does not go by the arithmetic of a function."""
    shape = (*q.shape[:3], k.shape[2])
    k, v = (x.repeat_interleave(shape[1] // x.shape[1], 1) for x in (k, v))
    scores = q.matmul(k.transpose(-2, -1))
    scores = score_mod((scores.float() if scores.element_size() < 4 else scores) * scale, *_grid(*shape, q.device))  # pyright: ignore[reportCallIssue]
    if block_mask is not None:
        scores = scores.masked_fill(~block_mask.dense[..., : shape[2], : shape[3]], float("-inf"))
    sums = scores.logsumexp(-1, keepdim=True)
    weights = (scores - sums.masked_fill(sums == float("-inf"), 0.0)).exp()
    return weights.to(v.dtype).matmul(v), sums.squeeze(-1)


def _in_blocks(q: Tensor, k: Tensor, v: Tensor, score_mod: Any, block_mask: Any, scale: float, way: str) -> Any:
    """Attention with functions, and the logarithms of its sums. ``way``: see ``ops/nn/attention.py``."""
    (batch, heads, length, _), keys = q.shape, k.shape[2]
    on_cpu, pairs = q._aval.placement.platform == "cpu", length * keys
    whole = way == "math" or (not on_cpu and not way and pairs <= WHOLE_ON_ACCELERATORS)
    for each in ((length, keys) if whole else None if on_cpu else LARGE), (length, keys):
        of = Attention(scale, False, precision(), each)
        rows, columns = block_sizes(of, length, keys)
        shapes = (batch, 1, 1, 1), (heads, 1, 1), (1, 1, rows, 1), (1, 1, 1, columns)
        numbers = [_shape(shape, np.int64) for shape in shapes]
        scores = _shape((batch, heads, rows, columns), sums_of(q._aval.dtype))
        change = _Traced(score_mod or (lambda score, *_: score), [scores, *numbers], 0)
        if not change.plain and is_grad_enabled():
            return _by_formula(q, k, v, score_mod, block_mask, scale)
        moving = tuple(n for n, t in enumerate(change.tensors) if t._tracked and t.is_floating_point())
        if sum(change.tensors[n].numel() for n in moving) < pairs:
            break  # else each block would add to gradients as large as the square
    seen = block_mask and _Traced(block_mask.mask_mod, numbers, len(change.tensors))
    captured = [*change.tensors, *(seen.tensors if seen else ())]
    return apply(_ATTENTION, ([q, k, v, *captured], of._replace(change=change, seen=seen, moving=moving)))
