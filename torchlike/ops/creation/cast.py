"""Changes of dtype and device, tensors without history, and writes of whole tensors."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from ..._core import devices, dtypes
from ..._core.annotations import DeviceLike, Dtype, MemoryFormat
from ..._core.fields import as_inference
from ..._core.layouts import contiguous_format, memory_format as memory_format_, preserve_format
from ..._core.modes import carries, modes
from ..._core.sparse import FORMS, is_sparse
from ..._core.tensor import Tensor, alias as alias_of, records
from ...dispatch.arguments import check_value
from ...dispatch.inplace import check_writable, write
from ...dispatch.lowering import check_broadcast, convert as converted
from ...dispatch.moving import move as move
from ...dispatch.overlap import Inner, Reading, refuse_overlap
from ...dispatch.register import Category, Form, Indices, Number, Promote, Saves, composite, op
from ...dispatch.type_names import type_name
from ...engine.aval import Meshed
from ...numerics.denormals import nonzero
from ...numerics.exact_math import traced_platform
from ...numerics.half_precision import at_least_float32
from ...numerics.numbers import number_for
from ..shape.reshape import lay_out

if TYPE_CHECKING:
    from ..._core.annotations import TensorOrNumber


# ---- dtypes


@op(
    name="_to_dtype",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward="ToCopyBackward0",
    saves=Saves.NOTHING,
    samples=[],
)
def to_dtype(input: Array, dtype: Dtype) -> Array:
    """The elements in another dtype."""
    return cast(input, dtype.numpy)


def cast(x: Array, dtype: np.dtype) -> Array:
    """``x`` in another dtype as C casts it: complex numbers lose their imaginary part, and small integers wrap around."""
    if x.dtype == dtype:
        return jnp.copy(x)
    if dtype.kind == "b":
        return nonzero(x)
    if x.dtype.kind == "c" and dtype.kind != "c":
        x = x.real
    if dtype.kind in "iu" and x.dtype.kind not in "biu":
        if traced_platform() == "cpu" and dtype.name in _STEPS:
            x = _integers(x, dtype)
        elif dtype.itemsize < 4:  # XLA goes to the nearest number of the small dtype, PyTorch keeps the lowest bits
            x = x.astype(np.int64)
    return converted(x, dtype)


# The integers by way of which PyTorch's CPU converts floating-point numbers to each dtype.
_STEPS = {"int8": np.int32, "int16": np.int32, "int32": np.int32, "uint8": np.int64, "int64": np.int64}


def _integers(x: Array, dtype: np.dtype) -> Array:
    """Floating-point numbers as the integers that the processor gives PyTorch: the smallest one for NaN and what does not fit.

    XLA goes to the nearest integer of the dtype instead, and from NaN to 0. Of these integers a smaller dtype keeps the lowest bits.
    """
    step = np.dtype(_STEPS[dtype.name])
    x = at_least_float32(x)
    limit = jnp.asarray(2.0 ** (8 * step.itemsize - 1), x.dtype)
    return jnp.where(x < limit, x, -limit).astype(step)


_DISCARDS = "Casting complex values to real discards the imaginary part (Triggered internally at torchlike/ops/creation/cast.py.)"


def _in_dtype(self: Tensor, dtype: dtypes.dtype) -> Tensor:
    if self.dtype.is_complex and not dtype.is_complex and dtype is not dtypes.bool_:
        warnings.warn(_DISCARDS, UserWarning, stacklevel=3)
    return to_dtype(self, dtype)


# ---- devices


def _same_device(self: Tensor, where: DeviceLike | str) -> bool:
    own_placement, target_placement = self._aval.placement, devices.placement(where)
    return target_placement is own_placement or (
        isinstance(own_placement, Meshed) and own_placement.platform == target_placement.platform
    )


# ---- to, and its short forms


_TO_LIKE, _TO_DTYPE = ("other", "non_blocking", "copy"), ("dtype", "non_blocking", "copy")
_TO_DEVICE = ("device", *_TO_DTYPE)
_OF_TO = frozenset({*_TO_LIKE, *_TO_DEVICE, "memory_format"})


def parse_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of ``Tensor.to`` by name, from any of its three signatures."""
    first = args[0] if args else None
    if "other" in kwargs or isinstance(first, Tensor):
        names = _TO_LIKE
    elif isinstance(first, dtypes.dtype) or any(first is kind for kind in (bool, int, float, complex)):
        names = _TO_DTYPE
    else:
        names = _TO_DEVICE
    arguments = dict(zip(names, args, strict=False)) | kwargs
    if len(arguments) < len(args) + len(kwargs) or not kwargs.keys() <= _OF_TO:
        types = [type_name(a) for a in args] + [f"{k}={type_name(v)}" for k, v in kwargs.items()]
        raise TypeError(
            f"to() received an invalid combination of arguments - got ({', '.join(types)}), but expected one of:\n"
            " * (torch.device device = None, torch.dtype dtype = None, bool non_blocking = False, bool copy = False, *, "
            "torch.memory_format memory_format = None)\n"
            " * (torch.dtype dtype, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)\n"
            " * (Tensor tensor, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)\n"
        )
    for flag in ("non_blocking", "copy"):
        if flag in arguments and arguments[flag].__class__ is not bool:
            check_value("to", flag, None if flag in kwargs else names.index(flag) + 1, "bool", arguments[flag])
    like = arguments.pop("other", None)
    if like is not None:
        arguments |= {"device": like.device, "dtype": like.dtype}
    return arguments


@composite(forms=Form.METHOD)
def to(self: Tensor, *args: object, **kwargs: object) -> Tensor:
    """The tensor in another dtype or on another device; the tensor itself where nothing changes.

    ``to(dtype)``, ``to(device, dtype=None)`` and ``to(other)``, each with ``non_blocking=False, copy=False,
    memory_format=torch.preserve_format``.

    Args:
        copy: make a copy even if nothing changes.
        non_blocking: a copy of 64 KiB or more to an accelerator begins at once, beside what the device computes; otherwise it goes with
            the program that needs it. No transfer blocks, and none reads what is written to the tensor later.

    >>> torch.tensor([1.7, -1.7]).to(torch.int64)
    tensor([ 1, -1])
    """
    if len(args) == 1 and not kwargs and args[0].__class__ is dtypes.dtype:  # as most calls are
        return convert(self, args[0])  # pyright: ignore[reportArgumentType]
    arguments = parse_to(args, kwargs)
    return convert(
        self,
        arguments.get("dtype"),
        arguments.get("device"),
        arguments.get("copy", False),
        arguments.get("memory_format"),
        arguments.get("non_blocking", False),
    )


def convert(
    self: Tensor,
    dtype: Dtype | None = None,
    device: DeviceLike | None = None,
    copy: bool = False,
    memory_format: memory_format_ | None = None,
    ahead: bool = False,
) -> Tensor:
    """What ``to`` and all its short forms do."""
    result = self
    if dtype is not None and dtype is not self.dtype:
        if not isinstance(dtype, dtypes.dtype):
            from ...dispatch.options import dtype_of

            dtype = dtype_of("to", dtype)
        if dtype is not self.dtype:
            result = _in_dtype(self, dtype)
            if memory_format is None or memory_format is preserve_format:
                lay_out(result, self)
    if device is not None and not _same_device(self, device):
        result = move(result, devices.placement(device), ahead)
    if copy and result is self:
        result = to_dtype(self, self.dtype)
        if memory_format is None or memory_format is preserve_format:
            lay_out(result, self)
    if memory_format not in (None, preserve_format, contiguous_format):
        result = result.contiguous(memory_format=memory_format)  # pyright: ignore[reportAttributeAccessIssue]
    return result


def _short(name: str, dtype: dtypes.dtype) -> Any:
    def call(self: Tensor, memory_format: MemoryFormat | None = None) -> Tensor:
        return convert(self, dtype, None, False, memory_format)

    call.__name__ = name
    call.__doc__ = f"The tensor as ``{dtype!r}``; itself if it is that already."
    return composite(forms=Form.METHOD)(call)


for _name, _dtype in {
    "float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16, "bfloat16": dtypes.bfloat16,
    "int": dtypes.int32, "long": dtypes.int64, "short": dtypes.int16, "char": dtypes.int8, "byte": dtypes.uint8,
    "bool": dtypes.bool_, "cfloat": dtypes.complex64, "cdouble": dtypes.complex128,
}.items():  # fmt: skip
    _short(_name, _dtype)


@composite(forms=Form.METHOD)
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor in the dtype, and on the device, of another."""
    return convert(self, other.dtype, other.device)


@composite(forms=Form.METHOD)
def to_dense(self: Tensor, dtype: Dtype | None = None, *, masked_grad: bool | None = None) -> Tensor:
    """The tensor with all its elements, those that a sparse one leaves out being zero; a dense one is itself.

    Args:
        dtype: another dtype for the result.
        masked_grad: whether the gradient of a sparse tensor stands only where its elements do, as by default.
    """
    if is_sparse(self):
        self = FORMS["to_dense"](self, masked_grad is not False)
    return self if dtype is None else convert(self, dtype)


_TYPE_NAMES = {
    "FloatTensor": dtypes.float32, "DoubleTensor": dtypes.float64, "HalfTensor": dtypes.float16,
    "BFloat16Tensor": dtypes.bfloat16, "ByteTensor": dtypes.uint8, "CharTensor": dtypes.int8, "ShortTensor": dtypes.int16,
    "IntTensor": dtypes.int32, "LongTensor": dtypes.int64, "BoolTensor": dtypes.bool_,
    "ComplexFloatTensor": dtypes.complex64, "ComplexDoubleTensor": dtypes.complex128,
}  # fmt: skip


@composite(forms=Form.METHOD)
def type(self: Tensor, dtype: Dtype | None = None, non_blocking: bool = False) -> Any:
    """The tensor's type by its old name (``'torch.FloatTensor'``), or the tensor in another dtype.

    Args:
        dtype: a dtype, or an old name of one.
    """
    place = "" if self.is_cpu else f"{self.device.type}."
    if dtype is None:
        return f"torch.{place}{'sparse.' * is_sparse(self)}{self.dtype.scalar_name}Tensor"
    if isinstance(dtype, dtypes.dtype):
        return convert(self, dtype)
    if dtype is Tensor:
        return convert(self, dtypes.get_default_dtype(), "cpu")
    name = dtype if isinstance(dtype, str) else f"{dtype.__module__}.{dtype.__name__}"
    module, _, kind = name.rpartition(".")
    if kind not in _TYPE_NAMES or module not in ("torch", "torch.cuda"):
        raise ValueError(f"invalid type: '{name}'")
    return convert(self, _TYPE_NAMES[kind], "cuda" if module == "torch.cuda" else "cpu")


@composite(forms=Form.METHOD)
def cpu(self: Tensor, memory_format: MemoryFormat | None = None) -> Tensor:
    """The tensor in the host's memory; itself if it is there already."""
    return convert(self, None, "cpu", False, memory_format)


@composite(forms=Form.METHOD)
def cuda(
    self: Tensor,
    device: DeviceLike | None = None,
    non_blocking: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """The tensor on a GPU: the one given by number or name, else the first."""
    where = "cuda" if device is None else f"cuda:{device}" if isinstance(device, int) else device
    if devices.as_device(where).type != "cuda":
        raise RuntimeError("Invalid device, must be cuda device")
    return convert(self, None, where, False, memory_format, non_blocking)


# ---- without history


@composite(forms=Form.FUNCTION | Form.METHOD)
def detach(input: Tensor) -> Tensor:
    """The same memory without history: no gradient goes through it.

    >>> x = torch.tensor([1.0], requires_grad=True)
    >>> (x * 2).detach().requires_grad
    False
    """
    result = alias_of(input)
    return as_inference(result) if input.is_inference() else result


@composite(forms=Form.FUNCTION | Form.METHOD)
def detach_(input: Tensor) -> Tensor:
    """Makes the tensor itself a leaf without history."""
    if input._is_view() and not input.is_inference():
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for training, and "
            "gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() cannot be called on "
            "these gradients. To fix this error, please refer to the Optimizer.zero_grad() function in torch/optim/optimizer.py as "
            "the solution."
        )
    input._drop_history()
    if modes.duals is not None:
        modes.duals.drop(input)
    return input


# ---- writes of whole tensors


@op(
    name="_copy_into",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward="torch::autograd::CopyBackwards",
    saves=Saves.NOTHING,
    samples=[],
)
def copied(self: Array, source: Indices) -> Array:
    """What ``copy_`` leaves in a tensor: the source, broadcast and cast."""
    return jnp.broadcast_to(cast(source, self.dtype), self.shape)


@composite(forms=Form.METHOD)
def copy_(self: Tensor, src: TensorOrNumber, non_blocking: bool = False) -> Tensor:
    """Puts the elements of another tensor, of any dtype and device, into this one; they are broadcast to its shape.

    >>> torch.zeros(2, 2).copy_(torch.tensor([1, 2]))
    tensor([[1., 2.],
            [1., 2.]])
    """
    if isinstance(src, (bool, int, float, complex)):
        return fill_(self, src)
    if not isinstance(src, Tensor):
        raise TypeError(f"copy_(): argument 'other' (position 1) must be Tensor, not {src.__class__.__name__}")
    if src is self:
        return self
    check_writable(self)
    refuse_overlap(Reading.SAME_PLACES, self, [src])
    check_broadcast([tuple(self.shape), tuple(src.shape)])
    common = np.broadcast_shapes(tuple(self.shape), tuple(src.shape))
    if common != tuple(self.shape):
        raise RuntimeError(f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(common)}")
    if src._aval.placement is not self._aval.placement:
        src = move(src, self._aval.placement)
    recorded = (modes.grad_enabled and (self._tracked or src._tracked)) or carries(self, src)
    # The op does not read the old contents. It takes them as an input only where their history matters.
    if is_sparse(src):
        return write(self, FORMS["_copy"](src))
    if not recorded and src._aval is self._aval:
        return write(self, alias_of(src), inner=Inner.IN_WINDOWS)
    if not recorded and src.shape == self.shape:
        return write(self, to_dtype(alias_of(src), self.dtype), inner=Inner.IN_WINDOWS)
    return write(self, copied(self, src), inner=Inner.IN_WINDOWS)


@op(
    name="_fill",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward=lambda input, value, inplace: "FillBackward2" if inplace else "FillBackward0",
    saves=Saves.NOTHING,
    samples=[],
)
def filled_with_number(input: Array, value: Number, inplace: bool) -> Array:
    """The number in every place."""
    return jnp.full(input.shape, jnp.asarray(value, input.dtype))


@op(
    name="_fill_tensor",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward=lambda input, value, inplace: "FillBackward3" if inplace else "FillBackward1",
    saves=Saves.NOTHING,
    samples=[],
)
def filled_with_tensor(input: Array, value: Indices, inplace: bool) -> Array:
    """The element of a 0-dim tensor in every place."""
    return jnp.broadcast_to(cast(value, input.dtype), input.shape)


def _like_filled(name: str, input: Tensor, value: TensorOrNumber, inplace: bool) -> Tensor:
    if isinstance(value, Tensor):
        if value.dim():
            raise RuntimeError(
                f"fill{'_' if inplace else ''} only supports 0-dimension value tensor but got tensor with {value.dim()} dimensions."
            )
        return filled_with_tensor(input, value, inplace)
    if not isinstance(value, (bool, int, float, complex, np.generic)):
        raise TypeError(f"{name}(): argument 'value' (position 1) must be Number, not {value.__class__.__name__}")
    value = number_for(value, input.dtype, alone=input.numel() == 1)
    if records(input):
        return filled_with_number(input, value, inplace)
    from .filled import filled

    return filled(tuple(input.shape), value, input.dtype, input._aval.placement)


@composite(forms=Form.FUNCTION)
def fill(input: Tensor, value: TensorOrNumber) -> Tensor:
    """A tensor like ``input`` with one number, or the element of a 0-dim tensor, everywhere."""
    return _like_filled("fill", input, value, inplace=False)


@composite(forms=Form.FUNCTION | Form.METHOD)
def fill_(input: Tensor, value: Tensor | complex) -> Tensor:
    """Puts one number, or the element of a 0-dim tensor, everywhere into this tensor."""
    check_writable(input)
    inner = Inner.IN_WINDOWS if isinstance(value, Tensor) else Inner.ANYWHERE
    return write(input, _like_filled("fill_", input, value, inplace=True), inner=inner)


@op(
    name="_zero",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward="ZeroBackward0",
    saves=Saves.NOTHING,
    samples=[],
)
def zeroed(input: Array) -> Array:
    """Zeros in every place."""
    return jnp.zeros_like(input)


@composite(forms=Form.FUNCTION | Form.METHOD)
def zero_(input: Tensor) -> Tensor:
    """Puts zero everywhere into this tensor."""
    check_writable(input)
    if is_sparse(input):
        return write(input, FORMS["zeros_like"](input, input.dtype, None, False))
    if records(input):
        return write(input, zeroed(input), inner=Inner.ANYWHERE)
    return write(input, _like_filled("zero_", input, 0, inplace=True), inner=Inner.ANYWHERE)
