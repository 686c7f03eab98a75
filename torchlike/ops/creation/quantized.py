"""Quantized tensors: integers in memory, and a scale and a zero point that say which values they stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import jax.numpy as jnp
from jax import Array, lax

from ..._core import dtypes
from ..._core.annotations import Dtype
from ..._core.layouts import per_channel_affine, per_tensor_affine
from ..._core.overridable import route_of
from ..._core.printing import append, format_tensor
from ..._core.subclasses import as_class
from ..._core.tensor import Tensor, alias
from ..._core.torch_function import DisableTorchFunctionSubclass
from ...dispatch.register import Category, Form, Indices, Promote, composite, op
from ...dispatch.signature_lists import in_order
from ...numerics.exact_math import exact_quotient

RANGES: dict[Any, tuple[int, int]] = {
    dtypes.quint8: (0, 255),
    dtypes.qint8: (-128, 127),
    dtypes.qint32: (-(2**31), 2**31 - 1),
}

# What asks a quantized tensor for something, and what happens to its integers alone.
_ASKING = frozenset(
    [
        "int_repr",
        "dequantize",
        "q_scale",
        "q_zero_point",
        "q_per_channel_scales",
        "q_per_channel_zero_points",
        "q_per_channel_axis",
        "qscheme",
        "size",
        "dim",
        "ndimension",
        "numel",
        "nelement",
        "stride",
        "is_contiguous",
        "element_size",
        "get_device",
        "__len__",
        "data_ptr",
        "storage_offset",
        "__hash__",
        "is_pinned",
    ]
)
_KEEPING = frozenset({"clone", "detach", "contiguous", "cpu"})
_MOVING = frozenset(
    {
        *(
            "view",
            "reshape",
            "t",
            "transpose",
            "permute",
            "__getitem__",
            "unsqueeze",
            "squeeze",
            "flatten",
            "select",
            "expand",
        ),
        *(
            "expand_as",
            "swapaxes",
            "swapdims",
            "movedim",
            "moveaxis",
            "narrow",
            "unbind",
            "split",
            "chunk",
            "repeat",
            "flip",
        ),
        *("pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "unflatten", "view_as", "reshape_as", "index_select"),
    }
)
# What gives elements that lie between those of its input: computed with integers less the zero point, so that halves are seen.
_POOLING = frozenset(
    {
        *("max_pool1d", "max_pool2d", "max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "adaptive_avg_pool1d"),
        *("adaptive_avg_pool2d", "adaptive_avg_pool3d", "_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "mean"),
        *("interpolate", "upsample", "upsample_nearest", "upsample_bilinear"),
    }
)
# What is computed with the values, and keeps scale and zero point.
_KEEPING_SCALE = frozenset(
    {
        *("relu", "relu6", "hardtanh", "clamp", "clamp_min", "clamp_max", "leaky_relu", "cat", "concat", "concatenate"),
        *("stack", "pad", "constant_pad_nd"),
    }
)
# What has outputs of a known range: the scale, and the zero point for quint8.
_OF_KNOWN_RANGE = {"sigmoid": (1 / 256, 0), "hardsigmoid": (1 / 256, 0), "tanh": (2 / 256, 128)}
_COMPARING = frozenset(
    {"eq", "ne", "lt", "le", "gt", "ge", "equal", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}
)
_PROPERTIES = frozenset(
    [
        "shape",
        "device",
        "ndim",
        "is_leaf",
        "requires_grad",
        "grad_fn",
        "grad",
        "layout",
        "is_cuda",
        "is_meta",
        "is_cpu",
        "is_mps",
        "is_xpu",
        "is_xla",
        "is_ipu",
        "is_maia",
        "is_mtia",
        "is_vulkan",
        "is_mkldnn",
        "is_nested",
        "is_sparse",
        "is_sparse_csr",
    ]  # a list of them would take a line each
)


class QuantizedTensor(Tensor):
    """What ``quantize_per_tensor`` returns: a tensor whose elements are ``(integer - zero_point) * scale``."""

    is_quantized = True
    _scale: Any  # a number, or a tensor with one for each index of ``_axis``
    _zero_point: Any
    _axis: int | None
    _quantized_dtype: dtypes.dtype

    @property
    def dtype(self) -> dtypes.dtype:
        return self._quantized_dtype

    def type(self, dtype: object = None, **kwargs: object) -> str:
        """The name of its old class."""
        if dtype is not None:
            _refuse("to")
        return f"torch.quantized.{self.dtype.scalar_name}Tensor"

    def __repr__(self, *, tensor_contents: object = None) -> str:
        values = self.dequantize()
        text = format_tensor(values.numpy(), dtype_name="float32", indent=len("tensor("))
        suffixes = [f"size={tuple(self.shape)}", f"dtype={self.dtype}", f"quantization_scheme={self.qscheme()}"]
        suffixes += [f"scale={self._scale}", f"zero_point={self._zero_point}"]
        if self._axis is not None:
            suffixes.append(f"axis={self._axis}")
        body = text[: text.rindex(", size=(")] if not values.numel() and ", size=(" in text else text[:-1]
        return append(body, suffixes, len("tensor(")) + ")"

    __str__ = __repr__

    def __deepcopy__(self, memo: dict[int, object]) -> object:
        return memo.setdefault(id(self), self.clone())

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: object,
        args: tuple[object, ...] = (),
        kwargs: dict[str, object] | None = None,
    ) -> object:
        route = route_of(func)
        name = route.name if route is not None else getattr(func, "__name__", "")
        if name == "__get__":
            name = func.__self__.fget.__name__
        own = next(
            tensor
            for argument in (*args, *(kwargs or {}).values())
            for tensor in (argument if isinstance(argument, (list, tuple)) else (argument,))
            if isinstance(tensor, QuantizedTensor)
        )
        with DisableTorchFunctionSubclass():
            return _answer(own, name, func, args, kwargs or {})


def _answer(
    own: QuantizedTensor, name: str, func: Callable[..., Any], args: tuple[object, ...], kwargs: dict[str, object]
) -> object:
    if name in _ASKING or name in _PROPERTIES:
        return func(*args, **kwargs)
    if name in _COMPARING:
        if name == "equal" and not _same_form(*args[:2]):  # pyright: ignore[reportArgumentType]
            return False
        return func(*(argument.dequantize() if isinstance(argument, Tensor) else argument for argument in args))
    one_scale = own._axis is None
    casts = any(isinstance(arg, dtypes.dtype) for arg in (*args, *kwargs.values()))
    if name in _KEEPING or (name in _MOVING and one_scale) or (name == "to" and not casts):
        return _over_each(func(*args, **kwargs), own)
    if one_scale and name.removesuffix("_") in _KEEPING_SCALE | _POOLING | _OF_KNOWN_RANGE.keys():
        return _computed(own, name, func, args, kwargs)
    if name == "dropout" and not kwargs.get("training", args[2] if len(args) > 2 else True):
        return own
    if name in ("max", "min") and len(args) == 1 and not kwargs and one_scale:
        return _over(func(int_repr(own)), own)
    return _refuse(name)


def _computed(
    own: QuantizedTensor, name: str, func: Callable[..., Any], args: tuple[object, ...], kwargs: dict[str, object]
) -> QuantizedTensor:
    """A function of one scale's tensors, by way of floats; in place where the function is."""
    scale, zero_point, dtype = own._scale, own._zero_point, own.dtype
    in_place = kwargs.get("inplace") is True or name.endswith("_")
    kwargs = {key: value for key, value in kwargs.items() if key != "inplace"}
    if name in _POOLING:
        floats = (int_repr(own).to(dtypes.int32) - zero_point).to(dtypes.float32)
        integers = _quantized_by_one(func(floats, *args[1:], **kwargs), 1.0, zero_point, dtype)
        return quantized(int_repr(integers), dtype, scale, zero_point)
    if name in _OF_KNOWN_RANGE:
        scale, zero_point = _OF_KNOWN_RANGE[name]
        zero_point -= 128 if dtype is dtypes.qint8 else 0
    if name.removesuffix("_") == "leaky_relu":
        result = quantized_as(func(exact_values(own), *args[1:], **kwargs), scale, zero_point, dtype)
        return _written(own, result) if in_place else result
    result = func(*(_values(argument) for argument in args), **{key: _values(value) for key, value in kwargs.items()})
    result = _quantized_by_one(result, scale, zero_point, dtype)
    return _written(own, result) if in_place else result


def _written(own: QuantizedTensor, result: QuantizedTensor) -> QuantizedTensor:
    int_repr(own).copy_(int_repr(result))
    return own


def _values(argument: object) -> object:
    if isinstance(argument, QuantizedTensor):
        return dequantize(argument)
    return [*map(_values, argument)] if isinstance(argument, (list, tuple)) else argument


def _over_each(
    integers: Tensor | Sequence[Tensor], like: QuantizedTensor
) -> QuantizedTensor | tuple[QuantizedTensor, ...]:
    if isinstance(integers, Tensor):
        return _over(integers, like)
    return tuple(_over(part, like) for part in integers)


def _refuse(name: str, backend: str = "QuantizedCPU") -> NoReturn:
    raise NotImplementedError(f"Could not run 'aten::{name}' with arguments from the '{backend}' backend.")


def _same_form(first: QuantizedTensor, second: QuantizedTensor) -> bool:
    forms = [(tensor.dtype, tensor._axis, str(tensor._scale), str(tensor._zero_point)) for tensor in (first, second)]
    return forms[0] == forms[1]


def _over(integers: Tensor, like: QuantizedTensor) -> QuantizedTensor:
    return quantized(integers, like.dtype, like._scale, like._zero_point, like._axis)


def quantized(
    integers: Tensor, dtype: dtypes.dtype, scale: object, zero_point: object, axis: int | None = None
) -> QuantizedTensor:
    """A quantized tensor over the memory of these integers."""
    result: Any = as_class(QuantizedTensor, integers)
    result._quantized_dtype, result._scale, result._zero_point, result._axis = dtype, scale, zero_point, axis
    return result


@op(name="_quantize", promote=Promote.NONE, accepts=Category.FLOAT, forms=Form.NONE, differentiable=False, samples=[])
def _to_integers(input: Array, scale: Indices, zero_point: Indices, low: int, high: int, axis: int | None) -> Array:
    sizes = () if axis is None else tuple(-1 if d == axis else 1 for d in range(input.ndim))
    scale, zero_point = scale.reshape(sizes), zero_point.reshape(sizes)
    # The zero point is added before rounding, as PyTorch does, so of two integers as near it may be the other one. Without the barrier
    # XLA would make one operation of product and sum, which rounds once.
    steps = lax.optimization_barrier(input * exact_quotient(jnp.float32(1), scale.astype(jnp.float32)))
    number = jnp.round(steps + zero_point.astype(jnp.float32))
    number = jnp.where(jnp.isnan(number), jnp.inf, number)
    limits = jnp.asarray([-(2.0**31), 2.0**31 - 128], jnp.float32)  # which float32 holds
    number = jnp.clip(jnp.clip(number, *limits).astype(jnp.int32), low, high)
    kind = jnp.uint8 if low == 0 else jnp.int8 if high == 127 else jnp.int32
    return number.astype(kind)


@op(
    name="_dequantize",
    promote=Promote.NONE,
    accepts=Category.INTEGER,
    forms=Form.NONE,
    differentiable=False,
    samples=[],
)
def _to_floats(input: Array, scale: Indices, zero_point: Indices, axis: int | None) -> Array:
    sizes = () if axis is None else tuple(-1 if d == axis else 1 for d in range(input.ndim))
    steps = input.astype(jnp.int32) - zero_point.reshape(sizes).astype(jnp.int32)
    return steps.astype(jnp.float32) * scale.reshape(sizes).astype(jnp.float32)


def _check_input(input: Tensor, dtype: object) -> None:
    if not isinstance(dtype, dtypes.quantized_dtype):
        raise RuntimeError(f"ScalarType {dtype.scalar_name} is not supported in new_qtensor.")  # pyright: ignore[reportAttributeAccessIssue]
    if input.dtype is not dtypes.float32:
        raise RuntimeError(f"Quantize only works on Float Tensor, got {input.dtype.scalar_name}")


def _check_zero_points(name: str, lowest: int, highest: int, dtype: Dtype) -> None:
    low, high = RANGES[dtype]
    if highest > high:
        raise RuntimeError(f"{name} zero_point {highest} is above upper bound.")
    if lowest < low:
        raise RuntimeError(f"{name} zero_point {lowest} is below lower bound.")


@composite(forms=Form.FUNCTION)
def quantize_per_tensor(*args: object, **kwargs: object) -> Any:
    """A quantized tensor: each element becomes the integer ``round(x / scale) + zero_point``, clipped to the dtype's range.

    Args:
        args: the tensor of float32, the scale, the zero point and the dtype: ``torch.quint8``, ``torch.qint8`` or ``torch.qint32``. Or a
            list of tensors, a tensor of scales, one of zero points, and the dtype.
        kwargs: by name they are ``input``, ``scale``, ``zero_point``, ``dtype``, or ``tensors``, ``scales``, ``zero_points``, ``dtype``.

    Raises:
        RuntimeError: the input is of another dtype, or the zero point is out of the dtype's range.

    >>> torch.quantize_per_tensor(torch.tensor([-1.0, 0.26, 2.0]), 0.1, 10, torch.quint8).int_repr()
    tensor([ 0, 13, 30], dtype=torch.uint8)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.quantize_per_tensor.html
    """
    input, scale, zero_point, dtype = in_order("quantize_per_tensor", args, kwargs)
    if isinstance(input, Tensor):
        return _quantized(input, float(scale), int(zero_point), dtype)
    return tuple(
        _quantized(tensor, scale.select(0, i).item(), zero_point.select(0, i).item(), dtype)
        for i, tensor in enumerate(input)
    )


def _quantized(input: Tensor, scale: float, zero_point: int, dtype: dtypes.dtype) -> QuantizedTensor:
    _check_input(input, dtype)
    _check_zero_points("quantize_tensor_per_tensor_affine", zero_point, zero_point, dtype)
    return _quantized_by_one(input, scale, zero_point, dtype)


def _quantized_by_one(input: Tensor, scale: float, zero_point: int, dtype: dtypes.dtype) -> QuantizedTensor:
    parameters = input.new_tensor(scale, dtype=dtypes.float32), input.new_tensor(zero_point, dtype=dtypes.int32)
    return quantized(_to_integers(input.detach(), *parameters, *RANGES[dtype], None), dtype, scale, zero_point)


@composite(forms=Form.FUNCTION)
def quantize_per_channel(
    input: Tensor, scales: Tensor, zero_points: Tensor, axis: int, dtype: dtypes.dtype
) -> QuantizedTensor:
    """``quantize_per_tensor`` with a scale and a zero point for each index of one dimension.

    >>> scales, zeros = torch.tensor([0.1, 0.01]), torch.tensor([10, 0])
    >>> torch.quantize_per_channel(torch.tensor([[-1.0, 0.0], [1.0, 2.0]]), scales, zeros, 0, torch.quint8).int_repr()
    tensor([[  0,  10],
            [100, 200]], dtype=torch.uint8)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.quantize_per_channel.html
    """
    _check_input(input, dtype)
    if scales.dim() != 1:
        raise RuntimeError("scale tensor must have dimension 1")
    if zero_points.dim() != 1:
        raise RuntimeError("zero_points tensor must have dimension 1")
    if scales.numel() != zero_points.numel():
        raise RuntimeError("number of elements in scales and zero_points must match")
    if not 0 <= axis < input.dim():
        raise RuntimeError(
            f"Channel axis out of range in per channel affine quantization. Got: {axis}Expected: [0, {input.dim()})"
        )
    if scales.numel() != input.shape[axis]:
        raise RuntimeError(
            f"length of scales must equal to channel, expected {input.shape[axis]} got, {scales.numel()}"
        )
    if zero_points.is_floating_point():
        raise NotImplementedError(
            "torchlike does not support quantize_per_channel with zero points that are no integers"
        )
    zeros = zero_points.tolist()
    _check_zero_points("quantize_tensor_per_channel_affine", int(min(zeros)), int(max(zeros)), dtype)
    integers = _to_integers(input.detach(), scales, zero_points, *RANGES[dtype], axis)
    return quantized(integers, dtype, scales.double(), zero_points.long(), axis)


@composite(forms=Form.FUNCTION)
def quantize_per_tensor_dynamic(input: Tensor, dtype: dtypes.dtype, reduce_range: bool) -> QuantizedTensor:
    """``quantize_per_tensor`` with the scale and the zero point that the elements' range gives.

    Args:
        reduce_range: use one bit less.

    >>> torch.quantize_per_tensor_dynamic(torch.tensor([-1.0, 0.0, 1.0, 2.0]), torch.quint8, False).q_zero_point()
    85

    Source: https://docs.pytorch.org/docs/stable/generated/torch.quantize_per_tensor_dynamic.html
    """
    if dtype not in (dtypes.qint8, dtypes.quint8, dtypes.float16):
        raise RuntimeError(f"dtype {dtype.scalar_name} not supported")
    low, high = RANGES[dtype]
    if reduce_range:
        low, high = -((-low) // 2), high // 2
    lowest, highest = (input.min().item(), input.max().item()) if input.numel() else (0.0, 0.0)
    return _quantized_by_one(input, *choose_parameters(lowest, highest, low, high), dtype)


def choose_parameters(lowest: float, highest: float, low: int, high: int) -> tuple[float, int]:
    """The scale and the zero point for values of a range, so that 0 is one of the values that the integers stand for."""
    lowest, highest = min(lowest, 0.0), max(highest, 0.0)
    scale = (highest - lowest) / (high - low)
    single = jnp.float32(scale).item()
    if single == 0.0 or 1.0 / single == float("inf"):
        scale = 0.1
    if scale < 6.1e-5:  # the least scale that FBGEMM takes
        before, scale = scale, jnp.float32(6.1e-5).item()
        if lowest == 0:
            highest = scale * (high - low)
        elif highest == 0:
            lowest = -scale * (high - low)
        else:
            lowest, highest = lowest * scale / before, highest * scale / before
    from_low, from_high = low - lowest / scale, high - highest / scale
    error_low, error_high = abs(low) + abs(lowest / scale), abs(high) + abs(highest / scale)
    first = from_low if error_low < error_high else from_high
    return scale, low if first < low else high if first > high else round(first)


# ---- what kernels make of integers and of floats

_LIMITS = (-(2.0**31), 2.0**31 - 128)  # which float32 holds, and int32 too


@op(
    name="_requantize",
    promote=Promote.NONE,
    accepts=Category.REAL,
    forms=Form.NONE,
    differentiable=False,
    samples=[],
)
def _rescaled(input: Array, bias: Indices, multiplier: Indices, zero_point: Indices, low: int, high: int) -> Array:
    # Each step is rounded by itself, as PyTorch's kernels do it: the barriers keep XLA from making one operation of two.
    scaled = lax.optimization_barrier(input.astype(jnp.float32) + bias) * multiplier
    number = jnp.clip(jnp.round(scaled), *_LIMITS).astype(jnp.int64) + zero_point
    kind = jnp.uint8 if low >= 0 and high <= 255 else jnp.int8 if high <= 127 else jnp.int32
    return jnp.clip(number, low, high).astype(kind)


def requantized(
    sums: Tensor,
    multiplier: Tensor,
    scale: float,
    zero_point: int,
    dtype: dtypes.dtype,
    *,
    bias: Tensor | None = None,
    least: int | None = None,
    greatest: int | None = None,
) -> QuantizedTensor:
    """A quantized tensor of ``(sums + bias) * multiplier``, rounded, and then moved by the zero point.

    Args:
        least, greatest: bounds of the integers within the dtype's range.
    """
    low, high = RANGES[dtype]
    integers = _rescaled(
        sums,
        sums.new_tensor(0.0, dtype=dtypes.float32) if bias is None else bias,
        multiplier,
        sums.new_tensor(zero_point, dtype=dtypes.int64),
        low,
        high,
    )
    if least is not None or greatest is not None:
        integers = integers.clamp(min=least, max=greatest)
    return quantized(integers, dtype, scale, zero_point)


def exact_values(x: QuantizedTensor) -> Tensor:
    """The values as PyTorch's vectorized kernels read them: product and sum are rounded once, so 0 may be a little beside 0."""
    scale = jnp.float32(x._scale).item()
    shift = jnp.float32(jnp.float32(-x._zero_point) * jnp.float32(scale)).item()
    return (int_repr(x).to(dtypes.float64) * scale + shift).to(dtypes.float32)


def quantized_as(values: Tensor, scale: float, zero_point: int, dtype: dtypes.dtype) -> QuantizedTensor:
    """Floats quantized as PyTorch's vectorized kernels do it: rounded, and then moved by the zero point."""
    inverse = (jnp.float32(1) / jnp.float32(scale)).item()
    return requantized(values, values.new_tensor(inverse, dtype=dtypes.float32), scale, zero_point, dtype)


# ---- what a quantized tensor is asked for


def _checked(input: Tensor, name: str, per_channel: bool | None = None) -> QuantizedTensor:
    """The quantized tensor, of one scale or of several; NotImplementedError or RuntimeError in PyTorch's words for another."""
    if not isinstance(input, QuantizedTensor):
        _refuse(name, "CPU")
    if per_channel is not None and per_channel != (input._axis is not None):
        kinds = "kPerTensorAffine"
        if per_channel:
            kinds = "kPerChannelAffine || quantizer->qscheme() == kPerChannelAffineFloatQParams"
        raise RuntimeError(
            f"Expected quantizer->qscheme() == {kinds} to be true, but got false.  (Could this error message be improved?  If so, please "
            "report an enhancement request to PyTorch.)"
        )
    return input


@composite(forms=Form.FUNCTION | Form.METHOD)
def int_repr(input: Tensor) -> Tensor:
    """The integers of a quantized tensor.

    >>> torch.quantize_per_tensor(torch.tensor([0.3, 1.0]), 0.1, 0, torch.qint8).int_repr()
    tensor([ 3, 10], dtype=torch.int8)
    """
    return alias(_checked(input, "int_repr"))


def _dequantized(input: Tensor) -> Tensor:
    """The values of a quantized tensor as float32; a tensor that is not quantized becomes float32."""
    if not isinstance(input, QuantizedTensor):
        return input.to(dtypes.float32)
    integers = int_repr(input)
    if input._axis is None:
        scale = integers.new_tensor(input._scale, dtype=dtypes.float32)
        return _to_floats(integers, scale, integers.new_tensor(input._zero_point, dtype=dtypes.int32), None)
    return _to_floats(integers, input._scale, input._zero_point, input._axis)


@composite(forms=Form.FUNCTION | Form.METHOD, method=_dequantized)
def dequantize(*args: object, **kwargs: object) -> Any:
    """The values of a quantized tensor as float32; a tensor that is not quantized becomes float32.

    Args:
        args: a tensor, or a list of tensors.
        kwargs: by name they are ``input`` and ``tensors``.

    >>> torch.quantize_per_tensor(torch.tensor([0.31, 1.0]), 0.1, 0, torch.qint8).dequantize()
    tensor([0.3000, 1.0000])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.dequantize.html
    """
    (input,) = in_order("dequantize", args, kwargs)
    return _dequantized(input) if isinstance(input, Tensor) else tuple(map(_dequantized, input))


@composite(forms=Form.FUNCTION | Form.METHOD)
def q_scale(input: Tensor) -> float:
    """The scale of a tensor that was quantized with one."""
    return _checked(input, "q_scale", per_channel=False)._scale


@composite(forms=Form.FUNCTION | Form.METHOD)
def q_zero_point(input: Tensor) -> int:
    """The integer that stands for 0, of a tensor that was quantized with one scale."""
    return _checked(input, "q_zero_point", per_channel=False)._zero_point


@composite(forms=Form.FUNCTION | Form.METHOD)
def q_per_channel_scales(input: Tensor) -> Tensor:
    """The scales of a tensor that was quantized by channel."""
    return _checked(input, "q_per_channel_scales", per_channel=True)._scale


@composite(forms=Form.FUNCTION | Form.METHOD)
def q_per_channel_zero_points(input: Tensor) -> Tensor:
    """The integers that stand for 0, of a tensor that was quantized by channel."""
    return _checked(input, "q_per_channel_zero_points", per_channel=True)._zero_point


@composite(forms=Form.FUNCTION | Form.METHOD)
def q_per_channel_axis(input: Tensor) -> int:
    """The dimension along which scales differ."""
    axis = _checked(input, "q_per_channel_axis", per_channel=True)._axis
    assert axis is not None
    return axis


@composite(forms=Form.METHOD)
def qscheme(input: Tensor) -> Any:
    """How the integers stand for values: ``torch.per_tensor_affine`` or ``torch.per_channel_affine``."""
    return per_tensor_affine if _checked(input, "qscheme")._axis is None else per_channel_affine
