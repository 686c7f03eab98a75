"""Losses: those of all elements, and the mean or the sum of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from .... import ops
from .._moving import index_in
from .._pieces import PieceOfDTensor
from ..placement_types import Partial, Replicate, Shard
from ._choices import Call, Choice, Plan, Taken

__all__ = ["LOSSES", "settings"]


class Answer(Protocol):
    """Computes what a rule says."""

    def __call__(self, asked: Call, plan: Plan) -> Any: ...


class _Settings:
    """Whether ``loss_parallel`` is active."""

    parallel = False


settings = _Settings()
R = Replicate()
_ELEMENTS = 2  # how many arguments of a loss are tensors of the same shape


def _reduced(losses: Any, reduction: str) -> object:
    return losses if reduction == "none" else losses.mean() if reduction == "mean" else losses.sum()


def _of_elements(call: Call, answer: Answer) -> object:
    """mse_loss and others that compare each element with another one."""
    ndim = call.ndim
    if any(shape != call.shapes[0] for shape in call.shapes) or len(call.args) > _ELEMENTS:
        return None
    count = len(call.pieces)
    choices = [Choice((R,) * count, R), *(Choice((Shard(dim),) * count, Shard(dim)) for dim in range(ndim))]

    def run(call: Call, taken: Taken, *args: object, **kwargs: object) -> object:
        return call.func(*args, **{**kwargs, "reduction": "none"})

    reduction = call.kwargs.get("reduction", "mean")
    return _reduced(answer(call, Plan(choices, run)), reduction) if reduction in ("none", "mean", "sum") else None


# ---- classes


def _pick(call: Call, answer: Answer, logits: Any, target: Any) -> Any:
    """The number that belongs to the class of each sample. A process finds those of the classes that it has."""
    dim = 0 if len(logits.shape) == 1 else 1
    others = [d for d in range(len(logits.shape)) if d != dim]
    at = {d: place for place, d in enumerate(others)}
    choices = [
        Choice((R, R), R),
        *(Choice((Shard(d), Shard(at[d])), Shard(at[d])) for d in others),
        Choice((Shard(dim), R), Partial()),
    ]

    def run(call: Call, taken: Taken, logits: Any, target: Any) -> object:
        here = target
        length = call.pieces[0]._spec.replaced(taken.inputs(0)).stored(dim)
        spread = [n for n, placement in enumerate(taken.inputs(0)) if placement == Shard(dim)]
        for n in spread:
            here = here - index_in(taken.group(n), target) * length
        found = (here >= 0) & (here < logits.shape[dim])
        picked = ops.gather(logits, dim, here.masked_fill(~found, 0).unsqueeze(dim)).squeeze(dim)
        return picked.masked_fill(~found, 0.0)

    picking = Call(_pick, "cross_entropy", (logits, target), {}, [logits, target])
    return answer(picking, Plan(choices, run))


def _losses_of_classes(call: Call, answer: Answer, logits: Any, target: Any, ignored: int) -> object:
    """The losses of all samples, of logits whose classes are spread."""
    dim = 0 if len(logits.shape) == 1 else 1
    shifted = logits - logits.detach().amax(dim, keepdim=True)
    losses = shifted.exp().sum(dim).log() - _pick(call, answer, shifted, target)
    return losses.masked_fill(target == ignored, 0.0)


def _cross_entropy(call: Call, answer: Answer) -> object:
    """cross_entropy and nll_loss with numbers of classes."""
    logits, target = call.args[:2] if len(call.args) > 1 else (call.option(0, "input"), call.option(1, "target"))
    options = {"ignore_index": -100, "reduction": "mean", "weight": None, "label_smoothing": 0.0}
    options |= {name: value for name, value in call.kwargs.items() if name in options}
    if len(call.args) > 2 and call.args[2] is not None:
        options["weight"] = call.args[2]
    if not isinstance(logits, PieceOfDTensor) or target.is_floating_point() or options["weight"] is not None:
        return None
    if not isinstance(target, PieceOfDTensor):
        if not settings.parallel:
            return None
        mesh = logits._spec.mesh
        target = PieceOfDTensor.of_all(target, mesh)
    dim = 0 if len(logits.shape) == 1 else 1
    if settings.parallel and call.name == "cross_entropy" and Shard(dim) in logits.placements:
        if options["label_smoothing"]:
            raise NotImplementedError("torchlike does not support label_smoothing within loss_parallel yet")
        losses: Any = _losses_of_classes(call, answer, logits, target, options["ignore_index"])
    else:
        others = [d for d in range(len(logits.shape)) if d != dim]
        choices = [Choice((R, R), R)]
        choices += [Choice((Shard(d), Shard(d - (d > dim))), Shard(d - (d > dim))) for d in others]

        def run(call: Call, taken: Taken, logits: Any, target: Any, *args: object, **kwargs: object) -> object:
            return call.func(logits, target, **{**kwargs, "reduction": "none"})

        again = Call(call.func, call.name, (logits, target), call.kwargs, [logits, target])
        losses = answer(again, Plan(choices, run))
    if options["reduction"] == "none":
        return losses
    total = losses.sum()
    if options["reduction"] == "mean":
        # Each process has terms of both; samples that are not counted may be in one of them alone.
        total = total.redistribute(placements=[R] * len(total.placements))
        total = total / (target != options["ignore_index"]).sum().to(total.dtype)
    return total.redistribute(placements=[R] * len(total.placements))


LOSSES: dict[str, Callable[[Call, Answer], object]] = {
    **dict.fromkeys(["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss"], _of_elements),
    **dict.fromkeys(["binary_cross_entropy", "binary_cross_entropy_with_logits"], _of_elements),
    **dict.fromkeys(["cross_entropy", "nll_loss"], _cross_entropy),
}
