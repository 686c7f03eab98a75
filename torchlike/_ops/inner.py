"""Operators that PyTorch has beneath its functions alone, or with other parameters than the public function of their name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from .._core.annotations import DeviceLike
from .._core.dtypes import dtype
from .._core.modes import modes
from .._core.overridable import overridable_namespaces
from .._core.tensor import Tensor
from ..autograd import grad as gradients
from ..autograd.grad_mode import enable_grad, no_grad
from ..dispatch.bindings import FUNCTIONS as _F

__all__ = ["INNER"]

Tensors = tuple[Any, ...]
Ints: TypeAlias = "Sequence[int]"
_REDUCTIONS = ("none", "mean", "sum")


def _nn(name: str) -> Any:
    return overridable_namespaces()["torch.nn.functional"][name]  # pyright: ignore[reportArgumentType, reportIndexIssue]


def pulled(function: Callable[..., Any], args: Sequence[Any], cotangent: Any, positions: Sequence[int]) -> list[Any]:
    """The gradients of a function with respect to some of its arguments; None for the others, and for those that are no tensors.

    They have a derivative themselves where what they are computed from requires one.
    """
    upstream = cotangent if isinstance(cotangent, (list, tuple)) else (cotangent,)
    create = modes.grad_enabled and any(isinstance(each, Tensor) and each.requires_grad for each in (*args, *upstream))
    leaves = [
        arg
        if i not in positions or not isinstance(arg, Tensor)
        else arg.view_as(arg)  # pyright: ignore[reportAttributeAccessIssue]
        if create and arg.requires_grad
        else arg.detach()._require_grad()
        for i, arg in enumerate(args)
    ]
    places = [i for i in positions if isinstance(args[i], Tensor)]
    with enable_grad():
        result = function(*leaves)
    of_leaves = gradients(result, [leaves[i] for i in places], cotangent, create_graph=create, allow_unused=True)
    results: list[Any] = [None] * len(args)
    for i, gradient in zip(places, of_leaves, strict=True):
        results[i] = gradient
    return results


def _first(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: function(*args)[0]


def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Ints,
    groups: int,
) -> Tensor:
    """A convolution of any number of dimensions, or a transposed one."""
    count = weight.dim() - 2
    if transposed:
        name = f"conv_transpose{count}d"
        return _F[name](
            input, weight, bias, tuple(stride), tuple(padding), tuple(output_padding), groups, tuple(dilation)
        )
    return _F[f"conv{count}d"](input, weight, bias, tuple(stride), tuple(padding), tuple(dilation), groups)


def convolution_backward(
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    bias_sizes: object,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
    output_mask: Sequence[bool],
) -> Tensors:
    """The gradients of a convolution's input, weight and bias, those that the mask asks for."""
    positions = [i for i in (0, 1) if output_mask[i]]
    rest = (None, stride, padding, dilation, transposed, output_padding, groups)
    gradients = pulled(convolution, (input, weight, *rest), grad_output, positions) if positions else [None, None]
    dims = [d for d in range(grad_output.dim()) if d != 1]
    return gradients[0], gradients[1], _F["sum"](grad_output, dims) if output_mask[2] else None


def _nll(input: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int) -> Tensors:
    loss = _nn("nll_loss")(input, target, weight, ignore_index=ignore_index, reduction=_REDUCTIONS[reduction])
    with no_grad():
        mask = (target != ignore_index).to(input.dtype)
        total = mask.sum() if weight is None else (weight[target.clamp_min(0)] * mask).sum()
    return loss, total if reduction else total * 0


def _loss(name: str, *keywords: str) -> Callable[..., Tensor]:
    def loss(input: Tensor, target: Tensor, reduction: int = 1, *numbers: float) -> Tensor:
        return _nn(name)(input, target, reduction=_REDUCTIONS[reduction], **dict(zip(keywords, numbers, strict=False)))

    return loss


def _binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = 1) -> Tensor:
    return _nn("binary_cross_entropy")(input, target, weight, reduction=_REDUCTIONS[reduction])


def _with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: int = 1
) -> Tensor:
    name = "binary_cross_entropy_with_logits"
    return _nn(name)(input, target, weight, reduction=_REDUCTIONS[reduction], pos_weight=pos_weight)


def _max_pool2d(
    input: Tensor, kernel: Ints, stride: Ints = (), padding: Any = 0, dilation: Any = 1, ceil: bool = False
) -> Tensors:
    result = _nn("max_pool2d")(input, kernel, stride or None, padding, dilation, ceil, return_indices=True)
    return tuple(result)


def _avg_pool2d(
    input: Tensor,
    kernel: Ints,
    stride: Ints = (),
    padding: Any = 0,
    ceil: bool = False,
    include: bool = True,
    divisor: int | None = None,
) -> Tensor:
    return _nn("avg_pool2d")(input, kernel, stride or None, padding, ceil, include, divisor)


def _cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: int = 1,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Tensor:
    return _nn("cross_entropy")(
        input,
        target,
        weight,
        ignore_index=ignore_index,
        reduction=_REDUCTIONS[reduction],
        label_smoothing=label_smoothing,
    )


def _flash(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> Tensors:
    result = _nn("scaled_dot_product_attention")(query, key, value, attn_mask, dropout_p, is_causal, scale=scale)
    return result, result.detach().sum(-1)


def _upsample(mode: str) -> Callable[..., Tensor]:
    def upsample(input: Tensor, size: Ints, *rest: Any) -> Tensor:
        corners, scales = (rest[0], rest[1:]) if rest and isinstance(rest[0], bool) else (None, rest)
        if scales and all(scale is not None for scale in scales):
            return _nn("interpolate")(input, None, tuple(scales), mode, corners)
        return _nn("interpolate")(input, tuple(size), None, mode, corners)

    return upsample


def _slice(input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    return input[(slice(None),) * (dim % input.dim()) + (slice(start, end, step),)]


def _where_not(grad: Tensor, input: Tensor, threshold: float) -> Tensor:
    return _F["where"](input <= threshold, 0.0, grad).to(grad.dtype)


def _of_softmax(grad: Tensor, output: Tensor, dim: int, input_dtype: object) -> Tensor:
    return (grad - (grad * output).sum(dim, keepdim=True)) * output


def _of_log_softmax(grad: Tensor, output: Tensor, dim: int, input_dtype: object) -> Tensor:
    return grad - output.exp() * grad.sum(dim, keepdim=True)


def _of_loss(name: str) -> Callable[..., Tensor]:
    def backward(grad: Tensor, input: Tensor, target: Tensor, *rest: Any) -> Tensor:
        return pulled(INNER[name], (input, target, *rest), grad, [0])[0]

    return backward


def _of_unary(name: str) -> Callable[..., Tensor]:
    def backward(grad: Tensor, input: Tensor, *rest: Any, **keywords: Any) -> Tensor:
        return pulled(lambda x: _nn(name)(x, *rest, **keywords), (input,), grad, [0])[0]

    return backward


def _elu(self: Tensor, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Tensor:
    """``F.elu`` has no scales."""
    if scale == input_scale == 1:
        return _nn("elu")(self, alpha)
    return _F["_scaled_elu"](self, alpha, scale, input_scale)


def _of_pool(name: str) -> Callable[..., Tensor]:
    def backward(grad: Tensor, input: Tensor, *rest: Any) -> Tensor:
        function = INNER[name]
        return pulled(_first(function) if name.startswith("max") else function, (input, *rest), grad, [0])[0]

    return backward


def _of_norm(name: str) -> Callable[..., Tensors]:
    """The derivative of a norm whose arguments are the gradient, the input, the weight, the bias and the rest of the norm's."""

    def backward(grad: Tensor, *args: Any) -> Tensors:
        *call, mask = args
        places = {"native_layer_norm": (0, 2, 3)}.get(name, (0, 1, 2))
        positions = [place for place, needed in zip(places, mask, strict=True) if needed]
        call = [
            each.detach().clone() if isinstance(each, Tensor) and i > 2 and name == "native_batch_norm" else each
            for i, each in enumerate(call)
        ]
        gradients = pulled(_first(_F[name]), call, grad, positions)
        return tuple(gradients[place] for place in places)

    return backward


def _into_zeros(take: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def backward(grad: Tensor, sizes: Sequence[int], *where: Any) -> Tensor:
        result = _F["zeros"](*sizes, dtype=grad.dtype, device=grad.device)
        take(result, *where).copy_(grad)
        return result

    return backward


def _of_embedding(
    grad: Tensor, indices: Tensor, rows: int, padding_idx: int = -1, scale_grad_by_freq: bool = False
) -> Tensor:
    table = _F["zeros"](rows, grad.shape[-1], dtype=grad.dtype, device=grad.device)
    return pulled(lambda t: _F["embedding"](t, indices, padding_idx, scale_grad_by_freq), (table,), grad, [0])[0]


def _to_copy(
    self: Any,
    *,
    dtype: dtype | None = None,
    layout: object = None,
    device: DeviceLike | None = None,
    pin_memory: object = None,
    non_blocking: bool = False,
    memory_format: object = None,
) -> Tensor:
    return self.to(device=device, dtype=dtype, copy=True, memory_format=memory_format)


INNER: dict[str, Callable[..., Any]] = {
    "_softmax": lambda self, dim, half_to_float: _F["softmax"](self, dim),
    "_log_softmax": lambda self, dim, half_to_float: _F["log_softmax"](self, dim),
    "_to_copy": _to_copy, "copy": lambda self, src, non_blocking=False: src.to(self.dtype).expand(self.shape).clone(),
    "_unsafe_view": lambda self, size: self.reshape(size), "alias": lambda self: self[...],
    "lift_fresh": lambda self: self, "slice": _slice, "_local_scalar_dense": lambda self: self.item(),
    "index": lambda self, indices: self[tuple(slice(None) if i is None else i for i in indices)],
    "einsum": lambda equation, tensors, path=None: _F["einsum"](equation, *tensors),
    "split_with_sizes": lambda self, sizes, dim=0: self.split(list(sizes), dim),
    "convolution": convolution, "convolution_backward": convolution_backward,
    "nll_loss_forward": _nll, "nll_loss_nd": lambda *args: _nll(*args)[0], "mse_loss": _loss("mse_loss"),
    "smooth_l1_loss": _loss("smooth_l1_loss", "beta"), "huber_loss": _loss("huber_loss", "delta"),
    "binary_cross_entropy": _binary_cross_entropy, "binary_cross_entropy_with_logits": _with_logits,
    "cross_entropy_loss": _cross_entropy, "max_pool2d_with_indices": _max_pool2d, "avg_pool2d": _avg_pool2d,
    "_adaptive_avg_pool2d": lambda self, size: _nn("adaptive_avg_pool2d")(self, tuple(size)),
    "constant_pad_nd": lambda self, pad, value=0: _nn("pad")(self, pad, value=value),
    "linalg_vector_norm": lambda self, ord=2, dim=None, keepdim=False, *, dtype=None: _F["linalg_vector_norm"](
        self, ord, dim, keepdim, dtype=dtype
    ),
    **{f"upsample_nearest{n}d": _upsample("nearest") for n in (1, 2, 3)}, "_upsample_nearest_exact2d": _upsample("nearest-exact"),
    "upsample_linear1d": _upsample("linear"), "upsample_bilinear2d": _upsample("bilinear"),
    "upsample_bicubic2d": _upsample("bicubic"), "upsample_trilinear3d": _upsample("trilinear"),
    "_scaled_dot_product_flash_attention_for_cpu": _flash,
    "threshold_backward": _where_not, "sigmoid_backward": lambda grad, output: grad * (1 - output) * output,
    "tanh_backward": lambda grad, output: grad * (1 - output * output),
    "_softmax_backward_data": _of_softmax, "_log_softmax_backward_data": _of_log_softmax,
    "nll_loss_backward": lambda grad, *args: pulled(_first(_nll), args[:5], grad, [0])[0],
    "mse_loss_backward": _of_loss("mse_loss"), "smooth_l1_loss_backward": _of_loss("smooth_l1_loss"),
    "huber_loss_backward": _of_loss("huber_loss"), "binary_cross_entropy_backward": _of_loss("binary_cross_entropy"),
    "gelu_backward": _of_unary("gelu"), "silu_backward": _of_unary("silu"),
    "leaky_relu_backward": lambda grad, x, slope, of_result: _of_unary("leaky_relu")(grad, x, slope),
    "elu": _elu, "elu_": lambda self, alpha=1, scale=1, input_scale=1: _nn("elu_")(self, alpha, scale, input_scale),
    "elu_backward": lambda grad, alpha, scale, input_scale, of_result, x: pulled(_elu, (x, alpha, scale, input_scale), grad, [0])[0],
    "softplus_backward": _of_unary("softplus"), "hardswish_backward": _of_unary("hardswish"),
    "hardsigmoid_backward": _of_unary("hardsigmoid"), "hardtanh_backward": _of_unary("hardtanh"), "mish_backward": _of_unary("mish"),
    "max_pool2d_with_indices_backward": lambda grad, x, k, s, p, d, ceil, indices: _of_pool("max_pool2d_with_indices")(
        grad, x, k, s, p, d, ceil
    ),
    "avg_pool2d_backward": _of_pool("avg_pool2d"),
    "_adaptive_avg_pool2d_backward": lambda grad, x: _of_pool("_adaptive_avg_pool2d")(grad, x, grad.shape[-2:]),
    "native_layer_norm_backward": _of_norm("native_layer_norm"), "native_group_norm_backward": _of_norm("native_group_norm"),
    "native_batch_norm_backward": _of_norm("native_batch_norm"), "embedding_dense_backward": _of_embedding,
    "slice_backward": _into_zeros(_slice), "select_backward": _into_zeros(lambda x, dim, index: x.select(dim, index)),
}  # fmt: skip
