"""MaskedTensor: a tensor with a mask, whose elements count where the mask is True."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

from .. import ops
from .._core import dtypes
from .._core.annotations import Dtype
from .._core.overridable import route_of
from .._core.signatures import Kwargs
from .._core.subclasses import as_class
from .._core.tensor import Tensor
from .._core.torch_function import DisableTorchFunctionSubclass
from . import _reductions as masked

__all__ = ["MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor"]

_DTYPES = {
    dtypes.float16, dtypes.float32, dtypes.float64, dtypes.bool_, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint8,
    dtypes.bfloat16,
}  # fmt: skip

_GRAD: Any = vars(Tensor)["grad"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What is computed for each element by itself: the mask stays.
_UNARY = _words(
    """
    abs absolute acos acosh angle arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh bitwise_not ceil clamp clip
    conj_physical cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 fix floor frac isnan lgamma log log10 log1p log2 logit
    i0 nan_to_num neg negative positive rad2deg reciprocal round rsqrt sigmoid sign sgn signbit sin sinc sinh sqrt square tan
    tanh trunc float double half bool int long bfloat16 to clone detach contiguous zeros_like ones_like cpu
    """
)
_BINARY = _words(
    """
    add atan2 arctan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift div divide floor_divide fmod
    logaddexp logaddexp2 mul multiply nextafter remainder sub subtract true_divide eq ne le ge greater greater_equal gt
    less_equal lt less maximum minimum fmax fmin not_equal pow __pow__ __rtruediv__ __floordiv__ __and__ __or__ __xor__ __eq__
    """
)
# What moves elements and computes nothing: it happens to the mask too.
_MOVING = _words(
    """
    view reshape t transpose __getitem__ unsqueeze expand cat stack flatten split chunk select ravel view_as expand_as narrow
    """
)
_REDUCING: dict[str, Callable[..., Tensor]] = {
    "sum": masked.sum, "mean": masked.mean, "amin": masked.amin, "amax": masked.amax, "argmin": masked.argmin, "argmax": masked.argmax,
    "prod": masked.prod, "var": masked.var, "std": masked.std,
}  # fmt: skip
# What gives no tensor, or this one.
_ASKING = _words(
    """
    size dim ndimension numel nelement stride is_contiguous element_size is_floating_point is_complex is_signed get_device
    __len__ backward requires_grad_ register_hook retain_grad type __get__ __set__ data_ptr storage_offset __hash__
    untyped_storage
    """
)


class MaskedTensor(Tensor):
    """A tensor and a mask of its shape. What the mask leaves out takes no part in reductions, and is shown as ``--``.

    Functions of single elements keep the mask; those of two tensors want equal masks. Reductions are those of ``torch.masked``: a result is
    masked where nothing was left of it. Views and ``cat`` do to the mask what they do to the elements. Other functions are refused. The
    gradient of what ``as_masked_tensor`` is given is a plain tensor here, 0 where the mask is False.

    Args:
        data: the elements, of any floating-point or integer dtype or bool.
        mask: of bool, with the shape of ``data``.
        requires_grad: record what is done with it.

    Raises:
        TypeError: one of them is no tensor, or of another dtype. ValueError: the shapes differ.

    >>> from torchlike.masked import as_masked_tensor
    >>> as_masked_tensor(torch.tensor([1.0, 2.0, 4.0]), torch.tensor([True, False, True])).sum()
    MaskedTensor(  5.0000, True)

    Source: https://docs.pytorch.org/docs/stable/masked.html
    """

    _mask: Tensor

    def __new__(cls, data: Tensor, mask: Tensor, requires_grad: bool = False) -> MaskedTensor:
        _check(data, mask)
        warnings.warn(
            "The PyTorch API of MaskedTensors is in prototype stage and will change in the near future. Please open a Github issue for "
            "features requests and see our documentation on the torch.masked module for further information about the project.",
            UserWarning,
            stacklevel=2,
        )
        if data.requires_grad:
            warnings.warn(
                "It is not recommended to create a MaskedTensor with a tensor that requires_grad. To avoid this, you can use "
                "data.detach().clone()",
                UserWarning,
                stacklevel=2,
            )
        return _masked_tensor(data.detach(), mask)._require_grad(requires_grad)  # pyright: ignore[reportReturnType]

    def __init__(self, data: object, mask: object, requires_grad: bool = False) -> None:
        pass  # ``__new__`` did all; Tensor's own takes other arguments

    @property
    def grad(self) -> Any:
        """The gradient of a leaf, with this mask."""
        with DisableTorchFunctionSubclass():
            gradient = _GRAD.fget(self)
        return (
            gradient if gradient is None or isinstance(gradient, MaskedTensor) else _masked_tensor(gradient, self._mask)
        )

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        with DisableTorchFunctionSubclass():
            _GRAD.fset(self, value.get_data() if isinstance(value, MaskedTensor) else value)

    def get_data(self) -> Tensor:
        """The elements as a plain tensor, those that the mask leaves out included."""
        with DisableTorchFunctionSubclass():
            return ops.clone(self) if self.requires_grad else self.detach()  # pyright: ignore[reportAttributeAccessIssue]

    def get_mask(self) -> Tensor:
        """The mask."""
        return self._mask

    def to_tensor(self, value: float) -> Tensor:
        """The elements as a plain tensor, with ``value`` where the mask is False."""
        with DisableTorchFunctionSubclass():
            return ops.masked_fill(self, ~self._mask, value)

    def __repr__(self, *, tensor_contents: object = None) -> str:
        with DisableTorchFunctionSubclass():
            data, mask = ops.as_tensor(self.detach().numpy()), self._mask
        if data.dim() == 0:
            text = _element(data.item()) if bool(mask) else "--"
            return f"MaskedTensor({text}, {bool(mask)})"
        return "MaskedTensor(\n" + _nested(data, mask, "  ") + "\n)"

    __str__ = __repr__

    @classmethod
    def __torch_function__(
        cls, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: Kwargs | None = None
    ) -> Any:
        keywords: dict[str, Any] = kwargs or {}
        route = route_of(func)
        name = func.__name__ if route is None else route.name
        inplace = name.endswith("_") and not name.endswith("__")
        plain_name = name.removesuffix("_") if inplace else name
        with DisableTorchFunctionSubclass():
            if name in ("numpy", "tolist"):
                raise RuntimeError(
                    f".{name}() is not supported for tensor subclasses"
                    + (".", f", got {cls.__name__}")[name == "tolist"]
                )
            if name in _ASKING:
                answer = func(*args, **keywords)
                return NotImplemented if type(answer) is Tensor and name == "__get__" else answer
            if plain_name in _UNARY and not any(isinstance(arg, MaskedTensor) for arg in args[1:]):
                answer = func(*args, **keywords)
                return args[0] if inplace else _masked_tensor(answer, args[0]._mask)
            if plain_name in _BINARY:
                mask = _common_mask([*args, *keywords.values()])
                answer = func(*args, **keywords)
                return args[0] if inplace else _masked_tensor(answer, mask)
            if name in _MOVING:
                return _move_masked(func, args, keywords)
            if name in _REDUCING or name == "all":
                return _reduced(name, *args, **keywords)
            if name == "softmax" and (route is None or route.space != "torch.sparse"):
                return _softmax(*args, **keywords)
            if name == "where" and len(args) == 3:
                return _where_masked(func, *args)
        return NotImplemented


def _check(data: object, mask: object) -> None:
    if not isinstance(data, Tensor):
        raise TypeError("data must be a Tensor")
    if not isinstance(mask, Tensor):
        raise TypeError("mask must be a Tensor")
    if data.layout is not mask.layout:
        raise TypeError("data and mask must have the same layout.")
    if data.is_sparse or data.is_sparse_csr:
        raise NotImplementedError("torchlike does not support sparse masked tensors")
    if data.dim() != mask.dim():
        raise ValueError("data.dim() must equal mask.dim()")
    if data.size() != mask.size():
        raise ValueError("data.size() must equal mask.size()")
    if mask.dtype is not dtypes.bool_:
        raise TypeError("mask must have dtype bool.")
    if data.dtype not in _DTYPES:
        raise TypeError(f"{data.dtype} is not supported in MaskedTensor.")


def _masked_tensor(data: Tensor, mask: Tensor) -> MaskedTensor:
    """A tensor, its history too, with a mask."""
    result: Any = as_class(MaskedTensor, data)
    result._mask = mask
    return result


def _element(value: float) -> str:
    return f"{value:8.4f}" if isinstance(value, float) else str(value)


def _nested(data: Tensor, mask: Tensor, indent: str) -> str:
    """The elements of one row, or its rows, in brackets."""
    if data.dim() == 1:
        pairs = zip(data.tolist(), mask.tolist(), strict=True)
        return f"{indent}[{', '.join(_element(value) if keep else f'{chr(45) * 2:>8}' for value, keep in pairs)}]"
    rows = [_nested(row, keep, indent + "  ") for row, keep in zip(data, mask, strict=True)]
    return f"{indent}[\n" + ",\n".join(rows) + f"\n{indent}]"


def _common_mask(args: Iterable[object]) -> Tensor:
    """The mask of all masked tensors among some arguments; ValueError where they differ."""
    first, *others = (arg._mask for arg in args if isinstance(arg, MaskedTensor))
    if not all(ops.equal(first, mask) for mask in others):
        raise ValueError("Input masks must match. If you need support for this, please open an issue on Github.")
    return first


def _move_masked(func: Callable[..., Tensor], args: tuple[object, ...], kwargs: Kwargs) -> Any:
    def masks(value: object) -> Any:
        if isinstance(value, MaskedTensor):
            return value._mask
        return type(value)(map(masks, value)) if isinstance(value, (list, tuple)) else value

    data = func(*args, **kwargs)
    mask = func(*masks(args), **{name: masks(value) for name, value in kwargs.items()})
    return _masked_tensor(data, mask) if isinstance(data, Tensor) else type(data)(map(_masked_tensor, data, mask))


def _reduced(name: str, input: MaskedTensor, dim: Any = None, keepdim: bool = False, **kwargs: object) -> MaskedTensor:
    mask = input._mask
    if name == "all":
        filled = ops.masked_fill(input, ~mask, True)
        result = filled.all() if dim is None else filled.all(dim, keepdim)
    elif dim is None:
        result = _REDUCING[name](input, mask=mask, **kwargs)
    else:
        result = _REDUCING[name](input, dim, keepdim=keepdim, mask=mask, **kwargs)
    result_mask = mask
    return _masked_tensor(result, result_mask.any() if dim is None else result_mask.any(dim, keepdim))


def _softmax(input: MaskedTensor, dim: int, dtype: Dtype | None = None, **kwargs: object) -> MaskedTensor:
    return _masked_tensor(masked.softmax(input, dim, dtype=dtype, mask=input._mask), input._mask)


def _where_masked(func: Callable[..., Tensor], condition: Tensor, *sides: Any) -> Any:
    if isinstance(condition, MaskedTensor) or not all(isinstance(side, MaskedTensor) for side in sides):
        return NotImplemented
    return _masked_tensor(func(condition, *sides), func(condition, *(side._mask for side in sides)))


def masked_tensor(data: Tensor, mask: Tensor, requires_grad: bool = False) -> MaskedTensor:
    """A masked tensor of copies of elements and mask, a leaf.

    Args, raises: as ``MaskedTensor``.
    """
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Tensor, mask: Tensor) -> MaskedTensor:
    """A tensor with a mask, its history included.

    >>> from torchlike.masked import as_masked_tensor
    >>> as_masked_tensor(torch.tensor([1, 2]), torch.tensor([True, False]))
    MaskedTensor(
      [1,       --]
    )

    Raises: as ``MaskedTensor``.
    """
    _check(data, mask)
    # A view, so that gradients reach the tensor itself, and not another object over its memory.
    return _masked_tensor(data.view_as(data) if data.requires_grad else data, mask)


def is_masked_tensor(obj: object, /) -> bool:
    """Whether an object is a masked tensor."""
    return isinstance(obj, MaskedTensor)
