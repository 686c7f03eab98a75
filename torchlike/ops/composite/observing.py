"""Observing and fake quantization in one: ``fused_moving_avg_obs_fake_quant``."""

from __future__ import annotations

from ..._core import dtypes
from ..._core.tensor import Tensor
from ...dispatch.register import Form, composite
from ..creation.filled import full_like
from ..elementwise.bitwise import logical_and
from ..elementwise.extrema import maximum
from ..elementwise.quantizing import fake_quantized
from ..indexing.selecting import where
from ..reduction.reduce import aminmax

_LEAST_SCALE = 6.1e-5  # the least that FBGEMM takes


@composite(forms=Form.FUNCTION)
def fused_moving_avg_obs_fake_quant(
    input: Tensor,
    observer_on: Tensor,
    fake_quant_on: Tensor,
    running_min: Tensor,
    running_max: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    averaging_const: float,
    quant_min: int,
    quant_max: int,
    ch_axis: int,
    per_row_fake_quant: bool = False,
    symmetric_quant: bool = False,
) -> Tensor:
    """Averages the range of what passes, chooses scale and zero point from it, and rounds as quantization will.

    Args:
        observer_on, fake_quant_on: tensors of one element: 1 for whether the range is averaged, and whether elements are rounded.
        running_min, running_max, scale, zero_point: what is changed in place; infinite or empty at the beginning.
        averaging_const: the weight of what is new.
        per_row_fake_quant: a range for each index of the dimension ``ch_axis``.

    >>> one, low, high = torch.tensor([1]), torch.tensor(float("inf")), torch.tensor(-float("inf"))
    >>> scale, zero_point = torch.ones(1), torch.zeros(1, dtype=torch.int32)
    >>> x = torch.tensor([-1.0, 0.26, 1.0])
    >>> torch.fused_moving_avg_obs_fake_quant(x, one, one, low, high, scale, zero_point, 0.01, 0, 255, 0)
    tensor([-0.9961,  0.2588,  0.9961])
    >>> zero_point  # 127 or 128 would do: the scale in float32 decides
    tensor([127], dtype=torch.int32)
    """
    if not -input.dim() <= ch_axis < max(input.dim(), 1):
        raise RuntimeError("Error in fused_moving_avg_obs_fake_quant_cpu: ch_axis must be < self.dim()")
    if observer_on.item() == 1:
        _average(input.detach(), running_min, running_max, averaging_const, ch_axis if per_row_fake_quant else None)
        parameters = _chosen(running_min, running_max, quant_min, quant_max, symmetric_quant)
        for buffer, new in zip((scale, zero_point), parameters, strict=True):
            new = new.reshape(-1).to(buffer.dtype)
            buffer.resize_(new.shape).copy_(new)
    if fake_quant_on.item() != 1:
        return input.clone()
    if not per_row_fake_quant:
        scale, zero_point = scale.reshape(()), zero_point.reshape(())
    axis = ch_axis % input.dim() if per_row_fake_quant else None
    name = "FusedMovingAvgObsFqHelperBackward0"
    return fake_quantized(input, scale, zero_point, quant_min, quant_max, axis, name)


def _average(x: Tensor, running_min: Tensor, running_max: Tensor, constant: float, axis: int | None) -> None:
    extremes = aminmax(x.flatten()) if axis is None else aminmax(x.transpose(0, axis).flatten(1), dim=1)
    for buffer, new in ((running_min, extremes.min), (running_max, extremes.max)):
        if buffer.numel() == 0:
            buffer.resize_(new.shape).fill_(float("inf"))
        # Where nothing was observed the average is infinite, and so is the difference: ``where`` takes the other one.
        buffer.copy_(where(buffer.isinf(), new, buffer + constant * (new - buffer)))


def _chosen(least: Tensor, greatest: Tensor, low: int, high: int, symmetric: bool) -> tuple[Tensor, Tensor]:
    """Scales and zero points for these ranges, so that 0 is one of the values that the integers stand for."""
    both_signs = logical_and(least < 0, greatest > 0)
    if symmetric:
        half = (high - low) // 2
        step = maximum((least / -(half + 1)).abs(), (greatest / half).abs()).double()
        least = where(both_signs, (step * -(half + 1)).to(least.dtype), least)
        greatest = where(both_signs, (step * half).to(greatest.dtype), greatest)
    least, greatest = least.clamp(max=0.0).double(), greatest.clamp(min=0.0).double()
    single = ((greatest - least) / (high - low)).float()  # as in PyTorch; it decides ties below
    single = where(logical_and(single != 0, single.reciprocal().isfinite()), single, full_like(single, 0.1))
    scale = single.double()
    least_scale = full_like(scale, _LEAST_SCALE).float().double()
    ratio = least_scale / scale
    small = scale < _LEAST_SCALE
    wide = least_scale * (high - low)
    least, greatest = (
        where(small, where(greatest == 0, -wide, least * ratio), least),
        where(small, where(least == 0, wide, greatest * ratio), greatest),
    )
    scale = where(small, least_scale, scale)
    from_low, from_high = low - least / scale, high - greatest / scale
    nearer = abs(low) + (least / scale).abs() < abs(high) + (greatest / scale).abs()
    first = where(nearer, from_low, from_high)
    if symmetric:
        first = where(both_signs, full_like(first, (low + high) / 2), first)
    return scale, first.clamp(low, high).round().to(dtypes.int32)
