"""What PyTorch makes of its functions before anybody sees them: ``linear`` is ``t`` and ``addmm``.

Each function here takes what the public function takes, and calls operators. A function of which nothing is said here is one operator.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from .._core import devices, dtypes
from .._core.layouts import contiguous_format
from .._core.modes import undispatched
from .._core.overridable import overridable_namespaces
from .._core.python_functions import FORMS_OF_OPERATORS
from .._core.tensor import Tensor
from ..autograd.grad_mode import no_grad
from ..dispatch.bindings import FUNCTIONS
from ..ops.nn.attention import FLASH, backward_name
from . import operator as op

__all__ = ["EXPANSIONS", "HIDDEN", "PROPERTIES", "WHOLE", "operator_name"]

Made = Callable[..., Any]
Lengths: TypeAlias = "int | Sequence[int]"
_UNARY = ("__neg__", "__abs__")
REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}

# Functions within which nobody is asked: they answer questions about a tensor, or show it.
HIDDEN = frozenset(
    """
    size stride dim ndimension numel nelement is_floating_point is_complex is_signed is_contiguous storage_offset element_size get_device
    data_ptr requires_grad_ retain_grad register_hook register_post_accumulate_grad_hook is_set_to is_inference is_same_size result_type
    can_cast promote_types is_conj is_neg is_storage has_names untyped_storage storage __repr__ __str__ __format__ __hash__ __len__ tolist
    numpy __array__ __deepcopy__ __reduce_ex__ __setstate__ __dlpack__ __dlpack_device__ is_distributed is_coalesced is_pinned is_shared
    dim_order storage_type resolve_conj resolve_neg broadcast_shapes
    """.split()  # noqa: SIM905
)

# Functions that a mode with ``sees_whole`` sees by their own names, as PyTorch's export does.
WHOLE = frozenset(("linear", "conv1d", "conv2d", "conv3d", "flatten", "matmul", "reshape", "chunk"))


def operator_name(space: str, name: str) -> str:
    """PyTorch's name of the operator that a public function is, or the name of its expansion."""
    if space == "torch.nn.functional":
        return f"F.{name}" if f"F.{name}" in EXPANSIONS else name
    if space in ("torch.linalg", "torch.fft", "torch.special"):
        return f"{space.rpartition('.')[2]}_{name}"
    return FORMS_OF_OPERATORS.get(name, name) if name.startswith("__i") or name in _UNARY else name


# ---- shapes


def _can_view(x: Tensor, shape: Sequence[int]) -> bool:
    if x.is_contiguous():
        return True
    try:
        with undispatched(), no_grad():
            FUNCTIONS["view"](x, *shape)
    except RuntimeError:
        return False
    return True


def _inferred(x: Tensor, shape: Sequence[int]) -> list[int]:
    known = math.prod(n for n in shape if n != -1)
    return [x.numel() // max(known, 1) if n == -1 else n for n in shape]


def reshape(input: Tensor, *shape: Any) -> Tensor:
    """A view where there is one, else a copy."""
    sizes = list(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else list(shape)
    if _can_view(input, sizes):
        return op("view")(input, sizes)
    copied = op("clone")(input, memory_format=contiguous_format)
    return op("_unsafe_view")(copied, _inferred(input, sizes))


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """``reshape`` of some dimensions to one."""
    rank = input.dim()
    start, end = start_dim % max(rank, 1), end_dim % max(rank, 1)
    if rank and start == end:
        return input
    shape = input.shape
    return reshape(input, [*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]])


def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """``view``."""
    shape, at = input.shape, dim % input.dim()
    return op("view")(input, [*shape[:at], *_inferred(op_free(input, at), sizes), *shape[at + 1 :]])


def op_free(input: Tensor, at: int) -> Any:
    """Something with as many elements as one dimension has."""
    return FUNCTIONS["empty"](input.shape[at], device="meta")


def contiguous(input: Tensor, memory_format: object = contiguous_format) -> Tensor:
    """A copy where the elements do not lie in order."""
    if input.is_contiguous():
        return input
    return op("clone")(input, memory_format=memory_format)


def chunk(input: Tensor, chunks: int, dim: int = 0) -> Sequence[Tensor]:
    """``split``."""
    return op("split", "Tensor")(input, -(-input.shape[dim] // chunks), dim)


def split(tensor: Tensor, split_size_or_sections: Lengths, dim: int = 0) -> Sequence[Tensor]:
    """``split`` of one size, ``split_with_sizes`` of several."""
    if isinstance(split_size_or_sections, int):
        return op("split", "Tensor")(tensor, split_size_or_sections, *([dim] if dim else []))
    return op("split_with_sizes")(tensor, list(split_size_or_sections), *([dim] if dim else []))


def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """``slice``."""
    return op("slice", "Tensor")(input, dim, int(start), int(start) + length)


def movedim(input: Tensor, source: Lengths, destination: Lengths) -> Tensor:
    """``permute``."""
    rank = input.dim()
    from_ = [source % rank] if isinstance(source, int) else [n % rank for n in source]
    to = [destination % rank] if isinstance(destination, int) else [n % rank for n in destination]
    order = [n for n in range(rank) if n not in from_]
    for target, moved in sorted(zip(to, from_, strict=True)):
        order.insert(target, moved)
    return op("permute")(input, order)


def getitem(input: Tensor, index: object) -> Any:
    """``select``, ``slice`` and ``unsqueeze``, and ``index`` where tensors or lists are among the indices."""
    result, tensors = _sliced(input, index)
    if tensors:
        return op("index", "Tensor")(result, tensors)
    return op("alias")(result) if result is input else result


def _sliced(input: Tensor, index: object) -> tuple[Tensor, list[Any]]:
    parts = list(index) if isinstance(index, tuple) else [index]
    taken = sum(_takes(part) for part in parts)
    result, dim = input, 0
    tensors: list[Any] = []
    for part in parts:
        if part is Ellipsis:
            dim += input.dim() - taken
        elif part is None:
            result, dim = op("unsqueeze")(result, dim), dim + 1
        elif isinstance(part, slice):
            start, stop, step = part.indices(result.shape[dim])
            if (start, stop, step) != (0, result.shape[dim], 1):
                result = op("slice", "Tensor")(result, dim, start, stop, *([step] if step != 1 else []))
            dim += 1
        elif isinstance(part, int) and not isinstance(part, bool):
            result = op("select", "int")(result, dim, part)
        else:
            if isinstance(part, bool):
                result = op("unsqueeze")(result, dim)
            positions = part if isinstance(part, Tensor) else FUNCTIONS["tensor"](part)
            tensors += [None] * (dim - len(tensors)) + [positions]
            dim += max(positions.dim(), 1) if positions.dtype is dtypes.bool_ else 1
    return result, tensors


def _takes(part: object) -> int:
    """How many dimensions an index is about."""
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    if isinstance(part, Tensor) and part.dtype is dtypes.bool_:
        return part.dim()
    return 1


def setitem(input: Tensor, index: object, value: Any) -> None:
    """``copy_`` into what the index shows, or ``index_put_``."""
    if not isinstance(value, Tensor):
        value = tensor(value, dtype=input.dtype)
    shown, tensors = _sliced(input, index)
    if tensors:
        op("index_put_")(shown, tensors, value)
    else:
        op("copy_")(shown, value)


# ---- dtypes and new tensors


def to(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """``_to_copy`` where dtype or device change."""
    with undispatched(), no_grad():
        changed = FUNCTIONS["to"](FUNCTIONS["empty"](0, dtype=input.dtype, device=input.device), *args, **kwargs)
    options: dict[str, Any] = {}
    if changed.dtype is not input.dtype:
        options["dtype"] = changed.dtype
    if changed.device != input.device:
        options["device"] = changed.device
    return op("_to_copy")(input, **options) if options or kwargs.get("copy") else input


def _to_dtype(kind: dtypes.dtype) -> Made:
    return lambda input, **kwargs: to(input, kind, **kwargs)


def tensor(*args: Any, **kwargs: Any) -> Tensor:
    """The elements are taken by ``lift_fresh``."""
    required = kwargs.pop("requires_grad", False)
    with undispatched():
        made = FUNCTIONS["tensor"](*args, **kwargs)
    lifted = op("lift_fresh")(made)
    return lifted.requires_grad_() if required else lifted


def item(input: Tensor) -> Any:
    """``_local_scalar_dense``, of the only element."""
    return op("_local_scalar_dense")(input)


# ---- products


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``t`` and ``addmm``, or ``mm``."""
    rank = input.dim()
    if bias is not None and rank == 2:
        return op("addmm")(bias, input, op("t")(weight))
    if bias is not None and rank == 3 and input.is_contiguous():
        rows = op("view")(input, [input.shape[0] * input.shape[1], input.shape[2]])
        return op("view")(op("addmm")(bias, rows, op("t")(weight)), [*input.shape[:-1], weight.shape[0]])
    result = matmul(input, op("t")(weight) if weight.dim() == 2 else weight)
    return result if bias is None else op("add", "Tensor")(result, bias)


def matmul(input: Tensor, other: Tensor, **rest: Any) -> Tensor:
    """``dot``, ``mv``, ``mm`` or ``bmm``."""
    left, right = input.dim(), other.dim()
    if rest.get("out") is not None or not left or not right:
        with undispatched():
            return FUNCTIONS["matmul"](input, other, **rest)
    if left == right == 1:
        return op("dot")(input, other)
    if right == 1 and left == 2:
        return op("mv")(input, other)
    if left == 1 and right == 2:
        return op("squeeze", "dim")(op("mm")(op("unsqueeze")(input, 0), other), 0)
    if left == right == 2:
        return op("mm")(input, other)
    if left >= 3 and right <= 2 and (other.requires_grad or input.is_contiguous()) and right == 2:
        rows = reshape(input, [-1, input.shape[-1]])
        return op("_unsafe_view")(op("mm")(rows, other), [*input.shape[:-1], other.shape[-1]])
    return _batched(input, other)


def _batched(input: Tensor, other: Tensor) -> Tensor:
    batch = list(FUNCTIONS["broadcast_shapes"](input.shape[:-2], other.shape[:-2]))
    rows = [input.shape[-2]] if input.dim() > 1 else []
    columns = [other.shape[-1]] if other.dim() > 1 else []
    left = input if rows else op("unsqueeze")(input, 0)
    right = other if columns else op("unsqueeze")(other, 1)
    count = math.prod(batch)
    left = reshape(op("expand")(left, [*batch, *left.shape[-2:]]), [count, *left.shape[-2:]])
    right = reshape(op("expand")(right, [*batch, *right.shape[-2:]]), [count, *right.shape[-2:]])
    return op("_unsafe_view")(op("bmm")(left, right), [*batch, *rows, *columns])


def einsum(equation: str, *operands: Any) -> Tensor:
    """The function as a whole."""
    tensors = operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
    return op("einsum")(equation, list(tensors))


def outer(input: Tensor, vec2: Tensor, **rest: Any) -> Tensor:
    """``view`` and ``mul``."""
    return op("mul", "Tensor")(reshape(input, [input.shape[0], 1]), vec2)


def _lengths(value: Lengths, count: int) -> list[int]:
    return (
        [int(value)] * count if isinstance(value, int) else [int(n) for n in value] * (count if len(value) == 1 else 1)
    )


def _convolution(count: int) -> Made:
    def conv(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Lengths = 1,
        padding: Lengths = 0,
        dilation: Lengths = 1,
        groups: int = 1,
    ) -> Tensor:
        strides, dilations = _lengths(stride, count), _lengths(dilation, count)
        single = input.dim() == count + 1
        x = op("unsqueeze")(input, 0) if single else input
        if padding == "valid":
            padding = 0
        elif padding == "same":
            wide = [d * (k - 1) for d, k in zip(dilations, weight.shape[2:], strict=True)]
            if any(n % 2 for n in wide):
                ends = [n for total in reversed(wide) for n in (0, total % 2)]
                x = op("constant_pad_nd")(x, ends, 0)
            padding = [n // 2 for n in wide]
        paddings = _lengths(padding, count)
        result = op("convolution")(x, weight, bias, strides, paddings, dilations, False, [0] * count, groups)
        return op("squeeze", "dim")(result, 0) if single else result

    return conv


def _transposed(count: int) -> Made:
    def conv(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Lengths = 1,
        padding: Lengths = 0,
        output_padding: Lengths = 0,
        groups: int = 1,
        dilation: Lengths = 1,
    ) -> Tensor:
        single = input.dim() == count + 1
        x = op("unsqueeze")(input, 0) if single else input
        lengths = [_lengths(value, count) for value in (stride, padding, dilation, output_padding)]
        result = op("convolution")(x, weight, bias, *lengths[:3], True, lengths[3], groups)
        return op("squeeze", "dim")(result, 0) if single else result

    return conv


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """The CPU's own operator where PyTorch has it, else the function as a whole."""
    shown: list[Any] = [x._aval for x in (query, key, value)]
    if (
        not dropout_p
        and not enable_gqa
        and backward_name(shown[0], shown[1], shown[2], None, None, is_causal, scale, False) == FLASH
    ):
        flash = op("_scaled_dot_product_flash_attention_for_cpu")
        return flash(query, key, value, 0.0, is_causal, attn_mask=attn_mask, scale=scale)[0]
    whole = op("scaled_dot_product_attention")
    return whole(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)


# ---- layers


def softmax(
    input: Tensor,
    dim: int | None = None,
    *rest: Any,
    dtype: dtypes.dtype | None = None,
    name: str = "_softmax",
    **more: Any,
) -> Tensor:
    """The inner operator, which knows no dtype."""
    if rest and isinstance(rest[-1], dtypes.dtype):
        dtype = rest[-1]
    if dtype is not None:
        input = to(input, dtype)
    if dim is None:
        dim = 0 if input.dim() in (0, 1, 3) else 1
    return op(name)(input, dim, False)


def log_softmax(
    input: Tensor, dim: int | None = None, *rest: Any, dtype: dtypes.dtype | None = None, **more: Any
) -> Tensor:
    """The inner operator, which knows no dtype."""
    return softmax(input, dim, *rest, dtype=dtype, name="_log_softmax")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """A mask of zeros and large numbers, and the product with it."""
    if not training or not p or not input.numel():
        return input
    mask = op("bernoulli_", "float")(op("empty_like")(input), 1 - p)
    op("div_", "Scalar")(mask, 1 - p)
    return op("mul_" if inplace else "mul", "Tensor")(input, mask)


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """``embedding`` of the table and the indices."""
    if max_norm is not None or sparse:
        with undispatched():
            return FUNCTIONS["embedding"](input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
    at = -1 if padding_idx is None else padding_idx % weight.shape[0]
    further = [at, scale_grad_by_freq] if scale_grad_by_freq else [at] if at != -1 else []
    return op("embedding")(weight, input, *further)


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    *cudnn: object,
) -> Tensor:
    """``native_layer_norm``."""
    return op("native_layer_norm")(input, list(normalized_shape), weight, bias, eps)[0]


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    *cudnn: object,
) -> Tensor:
    """``native_group_norm``."""
    batch, channels, *rest = input.shape
    return op("native_group_norm")(contiguous(input), weight, bias, batch, channels, math.prod(rest), num_groups, eps)[
        0
    ]


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """``native_batch_norm``, after ``empty`` for what other devices keep."""
    op("empty", "memory_format")([0], dtype=dtypes.uint8, device=input.device, pin_memory=False)
    return op("native_batch_norm")(input, weight, bias, running_mean, running_var, training, momentum, eps)[0]


def max_pool2d(
    input: Tensor,
    kernel_size: Lengths,
    stride: Lengths | None = None,
    padding: Lengths = 0,
    dilation: Lengths = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """``max_pool2d_with_indices``."""
    lengths = [
        _lengths(value, 2) for value in (kernel_size, kernel_size if stride is None else stride, padding, dilation)
    ]
    result = op("max_pool2d_with_indices")(input, *lengths, ceil_mode)
    return result if return_indices else result[0]


def avg_pool2d(
    input: Tensor,
    kernel_size: Lengths,
    stride: Lengths | None = None,
    padding: Lengths = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """``avg_pool2d`` with all lengths as lists."""
    lengths = [_lengths(value, 2) for value in (kernel_size, kernel_size if stride is None else stride, padding)]
    return op("avg_pool2d")(input, *lengths, ceil_mode, count_include_pad, divisor_override)


def adaptive_avg_pool2d(input: Tensor, output_size: Lengths) -> Tensor:
    """``mean`` for one place, else ``_adaptive_avg_pool2d``."""
    given = (output_size, output_size) if isinstance(output_size, int) else output_size
    sizes = [n if wanted is None else wanted for wanted, n in zip(given, input.shape[-2:], strict=True)]
    if sizes == [1, 1]:
        return op("mean", "dim")(input, [-1, -2], True)
    return op("_adaptive_avg_pool2d")(input, sizes)


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """``constant_pad_nd``, or the function as a whole."""
    if mode == "constant":
        return op("constant_pad_nd")(input, list(pad), 0.0 if value is None else value)
    return op("pad")(input, list(pad), mode, value)


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """``upsample_nearest2d`` and its kin, as PyTorch names them by mode and dimensions."""
    name = {
        ("nearest", 3): "upsample_nearest1d", ("nearest", 4): "upsample_nearest2d", ("nearest", 5): "upsample_nearest3d",
        ("nearest-exact", 4): "_upsample_nearest_exact2d", ("linear", 3): "upsample_linear1d", ("bilinear", 4): "upsample_bilinear2d",
        ("bicubic", 4): "upsample_bicubic2d", ("trilinear", 5): "upsample_trilinear3d",
    }.get((mode, input.dim()))  # fmt: skip
    whole = overridable_namespaces()["torch.nn.functional"]["interpolate"]  # pyright: ignore[reportIndexIssue, reportArgumentType]
    further = (size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)
    if name is None or antialias:
        with undispatched():
            return whole(input, *further)
    with undispatched(), no_grad():
        shape = whole(FUNCTIONS["empty"](*input.shape, dtype=input.dtype, device="meta"), *further).shape
    count = input.dim() - 2
    scales = [None] * count
    if scale_factor is not None and not recompute_scale_factor:
        scales = (
            [float(scale_factor)] * count
            if isinstance(scale_factor, (int, float))
            else [float(n) for n in scale_factor]
        )
    corners = [] if "nearest" in mode else [bool(align_corners)]
    return op(name)(input, list(shape[2:]), *corners, *scales)


# ---- losses


def _of_reduction(reduction: str) -> list[int]:
    number = REDUCTIONS[reduction]
    return [] if number == 1 else [number]


def _loss(name: str, *further: tuple[str, float]) -> Made:
    def loss(
        input: Tensor,
        target: Tensor,
        size_average: object = None,
        reduce: object = None,
        reduction: str = "mean",
        *rest: Any,
        **more: Any,
    ) -> Tensor:
        if input.shape != target.shape:
            shape = list(FUNCTIONS["broadcast_shapes"](input.shape, target.shape))
            input, target = op("expand")(input, shape), op("expand")(target, shape)
        numbers = [more.get(key, default) for key, default in further]
        return op(name)(input, target, *([REDUCTIONS[reduction], *numbers] if numbers else _of_reduction(reduction)))

    return loss


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """``huber_loss`` with the reduction as a number."""
    return op("huber_loss")(input, target, REDUCTIONS[reduction], delta)


def _reduced(result: Tensor, reduction: str) -> Tensor:
    if reduction == "none":
        return result
    return op("mean" if reduction == "mean" else "sum")(result)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: object = None,
    reduce: object = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """``sub``, ``abs`` and ``mean``."""
    return _reduced(op("abs")(op("sub", "Tensor")(input, target)), reduction)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: object = None,
    reduce: object = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The formula of the loss."""
    if log_target:
        result = op("mul", "Tensor")(op("exp")(target), op("sub", "Tensor")(target, input))
    else:
        product = op("mul", "Tensor")(target, input)
        result = op("sub", "Tensor")(op("xlogy", "Tensor")(target, target), product)
    if reduction == "batchmean":
        return op("div", "Tensor")(op("sum")(result), input.shape[0])
    return _reduced(result, reduction)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: object = None,
    reduce: object = None,
    reduction: str = "mean",
) -> Tensor:
    """The operator with the reduction as a number."""
    further = [weight, *_of_reduction(reduction)] if weight is not None or reduction != "mean" else []
    return op("binary_cross_entropy")(input, target, *further)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: object = None,
    reduce: object = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """The operator with the reduction as a number."""
    further = [weight, pos_weight, *_of_reduction(reduction)]
    while further and further[-1] is None:
        further.pop()
    return op("binary_cross_entropy_with_logits")(input, target, *further)


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: object = None,
    ignore_index: int = -100,
    reduce: object = None,
    reduction: str = "mean",
) -> Tensor:
    """``nll_loss_forward``."""
    if input.dim() > 2:
        return op("nll_loss_nd")(input, target, weight, REDUCTIONS[reduction], ignore_index)
    return op("nll_loss_forward")(input, target, weight, REDUCTIONS[reduction], ignore_index)[0]


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: object = None,
    ignore_index: int = -100,
    reduce: object = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """``_log_softmax`` and ``nll_loss_forward``; the function as a whole for probabilities and with smoothing."""
    if label_smoothing or target.dtype.is_floating_point or input.dim() > 2:
        whole = op("cross_entropy_loss")
        return whole(input, target, weight, REDUCTIONS[reduction], ignore_index, label_smoothing)
    return nll_loss(
        op("_log_softmax")(input, input.dim() - 1, False), target, weight, None, ignore_index, None, reduction
    )


# ---- reductions


def _spread_of(name: str) -> Made:
    def spread(input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, **rest: Any) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        correction = rest.get("correction", 1 if unbiased in (None, True) else 0)
        options: dict[str, Any] = {} if correction == 1 and dim is None else {"correction": correction}
        if keepdim:
            options["keepdim"] = True
        dims = [] if dim is None else [[dim] if isinstance(dim, int) else list(dim)]
        return op(name, "correction")(input, *dims, **options)

    return spread


def norm(
    input: Tensor,
    p: Any = "fro",
    dim: Any = None,
    keepdim: bool = False,
    out: Tensor | None = None,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """``linalg_vector_norm``, as a rule."""
    if p == "nuc" or out is not None:
        with undispatched():
            return FUNCTIONS["norm"](input, p, dim, keepdim, out=out, dtype=dtype)
    order = 2 if p in ("fro", None) else p
    dims = None if dim is None else [dim] if isinstance(dim, int) else list(dim)
    options = {} if dtype is None else {"dtype": dtype}
    if dims is None and not keepdim:
        return op("linalg_vector_norm")(input, *([] if order == 2 else [order]), **options)
    return op("linalg_vector_norm")(input, order, dims, keepdim, **options)


def _extreme(name: str) -> Made:
    def extreme(input: Tensor, dim: Any = None, keepdim: bool = False, **rest: Any) -> Any:
        other = rest.get("other", dim)
        if isinstance(other, Tensor):
            return op(f"{name}imum")(input, other)
        return op(name)(input) if dim is None else op(name, "dim")(input, dim, *([True] if keepdim else []))

    return extreme


def where(condition: Tensor, *args: Any, **kwargs: Any) -> Any:
    """``where`` of two tensors, or ``nonzero_numpy``."""
    if not args and not kwargs:
        return op("unbind", "int")(op("nonzero")(condition), 1)
    input = args[0] if args else kwargs.get("input", kwargs.get("self"))
    other = args[1] if len(args) > 1 else kwargs.get("other")
    like = next((value for value in (input, other) if isinstance(value, Tensor)), None)
    kind = like.dtype if like is not None else None

    def full(value: Any) -> Tensor:
        return (
            value if isinstance(value, Tensor) else op("scalar_tensor")(value, dtype=kind or dtypes.get_default_dtype())
        )

    return op("where", "self")(condition, full(input), full(other))


def _in_nn(name: str) -> Made:
    """A function of ``torch.nn.functional`` with an argument ``inplace``."""

    def call(input: Tensor, *args: Any, inplace: bool = False, **kwargs: Any) -> Tensor:
        numbers = [*args, *kwargs.values()]
        if numbers and isinstance(numbers[-1], bool):
            inplace = numbers.pop()
        return op(f"{name}_" if inplace else name)(input, *numbers)

    return call


_WITH_INPLACE = (
    "relu", "silu", "elu", "leaky_relu", "hardtanh", "hardswish", "hardsigmoid", "mish", "celu", "selu", "relu6",
)  # fmt: skip

EXPANSIONS: dict[str, Made] = {
    "reshape": reshape, "reshape_as": lambda x, other: reshape(x, other.shape),
    "view_as": lambda x, other: op("view")(x, list(other.shape)),
    "flatten": flatten, "ravel": lambda x: reshape(x, [-1]), "unflatten": unflatten, "contiguous": contiguous, "chunk": chunk,
    "split": split, "narrow": narrow, "movedim": movedim, "moveaxis": movedim, "__getitem__": getitem, "__setitem__": setitem,
    "swapaxes": lambda x, a, b: op("transpose", "int")(x, a, b), "swapdims": lambda x, a, b: op("transpose", "int")(x, a, b),
    "expand_as": lambda x, other: op("expand")(x, list(other.shape)), "broadcast_to": lambda x, size: op("expand")(x, list(size)),
    "square": lambda x: op("pow", "Tensor_Scalar")(x, 2), "outer": outer, "ger": outer,
    "to": to, "type_as": lambda x, other: to(x, other.dtype), "cpu": lambda x, **rest: to(x, "cpu"),
    "float": _to_dtype(dtypes.float32), "double": _to_dtype(dtypes.float64), "half": _to_dtype(dtypes.float16),
    "bfloat16": _to_dtype(dtypes.bfloat16), "int": _to_dtype(dtypes.int32), "long": _to_dtype(dtypes.int64),
    "short": _to_dtype(dtypes.int16), "bool": _to_dtype(dtypes.bool_), "tensor": tensor,
    "item": item, "__float__": lambda x: float(item(x)), "__int__": lambda x: int(item(x)), "__bool__": lambda x: bool(item(x)),
    "__index__": lambda x: int(item(x)), "__complex__": lambda x: complex(item(x)), "is_nonzero": lambda x: bool(item(x)),
    "__iter__": lambda x: iter(op("unbind", "int")(x)), "matmul": matmul, "F.linear": linear, "linear": linear,
    "conv1d": _convolution(1), "conv2d": _convolution(2), "conv3d": _convolution(3), "conv_transpose1d": _transposed(1),
    "conv_transpose2d": _transposed(2), "conv_transpose3d": _transposed(3), "scaled_dot_product_attention": attention,
    "softmax": softmax, "log_softmax": log_softmax, "dropout": dropout, "F.dropout": dropout, "F.embedding": embedding,
    "layer_norm": layer_norm, "group_norm": group_norm, "F.batch_norm": batch_norm, "max_pool2d": max_pool2d, "avg_pool2d": avg_pool2d,
    "adaptive_avg_pool2d": adaptive_avg_pool2d, "pad": pad, "interpolate": interpolate, "F.mse_loss": _loss("mse_loss"),
    "F.l1_loss": l1_loss,
    "F.smooth_l1_loss": _loss("smooth_l1_loss", ("beta", 1.0)), "F.huber_loss": huber_loss, "F.kl_div": kl_div,
    "F.binary_cross_entropy": binary_cross_entropy, "F.binary_cross_entropy_with_logits": binary_cross_entropy_with_logits,
    "F.nll_loss": nll_loss, "F.cross_entropy": cross_entropy, "std": _spread_of("std"), "var": _spread_of("var"),
    "std_mean": _spread_of("std_mean"), "var_mean": _spread_of("var_mean"), "norm": norm, "max": _extreme("max"), "min": _extreme("min"),
    "where": where, "einsum": einsum, "bitwise_not": lambda x: op("bitwise_not")(x), "__invert__": lambda x: op("bitwise_not")(x),
    **{f"F.{name}": _in_nn(name) for name in _WITH_INPLACE},
}  # fmt: skip


def outer_device(original: Made, tensor: Tensor) -> devices.device:
    """The device of an object that may have no memory."""
    given = getattr(tensor, "_outer_device", None)
    return original(tensor) if given is None else given


def _answered(answer: Callable[[Any], Any]) -> Made:
    def get(original: Made, tensor: Tensor) -> Any:
        given = getattr(tensor, "_outer_device", None)
        return original(tensor) if given is None else answer(given)

    return get


# How properties are computed. Those of which nothing is said answer by themselves.
PROPERTIES: dict[str, Made] = {
    "T": lambda original, x: op("permute")(x, list(range(x.dim()))[::-1]),
    "mT": lambda original, x: op("transpose", "int")(x, -2, -1),
    "data": lambda original, x: op("detach")(x),
    "device": outer_device,
    "is_meta": _answered(lambda device: device.type == "meta"), "is_cpu": _answered(lambda device: device.type == "cpu"),
    "is_cuda": _answered(lambda device: device.type == "cuda"),
}  # fmt: skip
