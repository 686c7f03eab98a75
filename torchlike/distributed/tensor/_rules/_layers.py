"""Functions of neural networks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .... import ops
from .._moving import index_in, own_part
from ..placement_types import Partial, Replicate, Shard
from ._choices import Call, Choice, Plan, Taken, along, along_others

__all__ = ["LAYERS"]

R = Replicate()


def _normalised(call: Call) -> Plan:
    """layer_norm and rms_norm: they need all elements along the last dimensions."""
    shape = call.option(1, "normalized_shape")
    count = len(shape) if isinstance(shape, (list, tuple)) else 1
    return Plan(along_others(call, range(call.ndim - count, call.ndim)))


def _of_samples(call: Call) -> Plan:
    return Plan(along_others(call, range(1, call.ndim)))


def _embedding(call: Call) -> Plan:
    """Rows of a table. Where the table's rows are spread, each process finds those that it has."""
    if len(call.pieces) == 1:
        return Plan([Choice((R,), R)])
    ndim = len(call.shapes[0])
    choices = [
        Choice((R, R), R),
        *(Choice((Shard(dim), R), Shard(dim)) for dim in range(ndim)),
        Choice((R, Shard(1)), Shard(ndim)),
    ]
    plain = not any(call.kwargs.get(name) for name in ("max_norm", "scale_grad_by_freq", "sparse"))
    padding = call.option(2, "padding_idx")
    if plain and padding is None and call.option(3, "max_norm") is None:
        choices.append(Choice((R, Shard(0)), Partial()))

    def run(call: Call, taken: Taken, input: Any, weight: Any, *args: object, **kwargs: object) -> object:
        rows = weight.shape[0]
        spread = [n for n, placement in enumerate(taken.inputs(1)) if placement == Shard(0)]
        if not spread:
            return call.func(input, weight, *args, **kwargs)
        length = call.pieces[1]._spec.replaced(taken.inputs(1)).stored(0)
        begin = 0
        for n in spread:
            begin = begin * taken.mesh.size(n) + index_in(taken.group(n), input)
        here = input - begin * length
        found = (here >= 0) & (here < rows)
        if not rows:
            # Plus a sum of nothing, so that this process takes part in the backward pass as the others do.
            return ops.zeros(*input.shape, weight.shape[1], dtype=weight.dtype) + weight.sum()
        return call.func(here.masked_fill(~found, 0), weight) * found.unsqueeze(-1)

    return Plan(choices, run)


def _attention(call: Call) -> Plan:
    """scaled_dot_product_attention: samples and heads are independent of each other."""
    query, key = call.shapes[:2]
    choices = [Choice((R,) * len(call.pieces), R)]
    for dim in range(len(query) - 2):
        if query[dim] == key[dim] or dim == len(query) - 3:
            mask = [
                Shard(dim - len(query) + len(shape)) if len(shape) == len(query) and shape[dim] != 1 else R
                for shape in call.shapes[3:]
            ]
            choices.append(Choice((Shard(dim),) * 3 + tuple(mask), Shard(dim)))
    return Plan(choices)


def _dropout(call: Call) -> Plan:
    """Each process draws for the whole tensor, so that all drop the same elements however it is spread."""
    everything = [Choice((Shard(dim),), Shard(dim)) for dim in range(call.ndim)]

    def run(call: Call, taken: Taken, tensor: Any, *args: object, **kwargs: object) -> object:
        spec = call.pieces[0]._spec.replaced(taken.inputs(0))
        kept = call.func(ops.ones(*spec.shape, dtype=tensor.dtype), *args, **kwargs)
        if call.option(2, "training", True) is False:
            return tensor.clone()
        kept = own_part(kept, spec)
        for dim, _ in spec.cut():
            kept = ops.narrow(kept, dim, 0, tensor.shape[dim])
        return tensor * kept

    return Plan([Choice((R,), R), *everything], run)


def _one_hot(call: Call) -> Plan:
    return Plan(along_others(call, []) if call.option(1, "num_classes", -1) > 0 else [Choice((R,), R)])


LAYERS: dict[str, Callable[[Call], Plan | None]] = {
    "softmax": along(1), "log_softmax": along(1), "softmin": along(1), "normalize": along(2, 1), "glu": along(1, -1),
    "cumsum": along(1), "cumprod": along(1), "logcumsumexp": along(1), "sort": along(1, -1), "argsort": along(1, -1),
    "topk": along(2, -1), "layer_norm": _normalised, "rms_norm": _normalised, "group_norm": _of_samples, "conv1d": _of_samples,
    "conv2d": _of_samples, "conv3d": _of_samples, "max_pool2d": _of_samples, "avg_pool2d": _of_samples, "embedding": _embedding,
    "scaled_dot_product_attention": _attention, "dropout": _dropout, "one_hot": _one_hot,
}  # fmt: skip
