"""Attention with functions for scores and masks: ``torch.nn.attention.flex_attention``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import ops
from ..._core.annotations import DeviceLike
from ..._core.dtypes import bool_
from ..._core.tensor import Tensor
from ...backends.cuda import kernels
from ...ops.nn.attention import attention
from ...utils._pytree import tree_flatten as tree_flatten, tree_unflatten as tree_unflatten

_DEFAULT_SPARSE_BLOCK_SIZE = 128  # the default size of a block

__all__ = ["BlockMask", "and_masks", "create_block_mask", "create_mask", "flex_attention", "noop_mask", "or_masks"]

Mask = Callable[..., Tensor]


def _grid(batch: int, heads: int, queries: int, keys: int, device: DeviceLike | None) -> list[object]:
    """The numbers of batch, head, query and key, each along its own dimension, so that functions of them broadcast."""
    sizes = (batch, heads, queries, keys)
    return [ops.arange(n, device=device).reshape([n if at == d else 1 for d in range(4)]) for at, n in enumerate(sizes)]


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
    return mod_fn(*_grid(*shape, device)).expand(shape)  # pyright: ignore[reportReturnType]


class BlockMask:
    """A mask for ``flex_attention``, made by ``create_block_mask``: its function and its values.

    Args:
        dense: (B, H, Q_LEN, KV_LEN), True where a query may attend to a key.
        mask_mod: the function.
        block: the sizes of blocks, as in PyTorch. XLA computes without blocks.
    """

    def __init__(self, dense: Tensor, mask_mod: Mask, block: tuple[int, int]) -> None:
        self.dense, self.mask_mod, self.BLOCK_SIZE = dense, mask_mod, block
        self.shape: tuple[int, ...] = tuple(dense.shape)
        self.seq_lengths = (dense.shape[-2], dense.shape[-1])

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
    return BlockMask(create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device), mask_mod, block)  # pyright: ignore[reportArgumentType]


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
        score_mod: takes the scores and the numbers of batch, head, query and key, all as tensors that broadcast to (B, Hq, L, S), and
            returns scores. PyTorch calls it with single numbers: what is computed element by element, or looked up in a tensor by
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
    batch, heads, queries, width = query.shape
    keys = key.shape[-2]
    if score_mod is None and not return_lse:
        mask = None if block_mask is None else block_mask.dense[..., :queries, :keys]
        platform, shares = query._aval.placement.platform, heads != key.shape[1]
        return attention(query, key, value, mask, None, False, scale, shares, platform, kernels.way)
    if heads != key.shape[1]:
        key, value = (x.repeat_interleave(heads // x.shape[1], 1) for x in (key, value))
    scores = query.matmul(key.transpose(-2, -1)) * (width**-0.5 if scale is None else scale)
    grid = _grid(batch, heads, queries, keys, query.device)
    if score_mod is not None:
        scores = score_mod(scores, *grid).to(query.dtype)
    if block_mask is not None:
        scores = scores.masked_fill(~block_mask.dense[..., :queries, :keys], float("-inf"))
    sums = scores.logsumexp(-1, keepdim=True)
    weights = (scores - sums.masked_fill(sums == float("-inf"), 0.0)).exp()
    out = weights.matmul(value)
    return (out, sums.squeeze(-1)) if return_lse else out


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
