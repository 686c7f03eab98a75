"""What both kinds of nested tensors share: they hold one plain tensor of all elements, and compute with that."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, TypeAlias, TypeVar

from .. import ops
from .._core.node import Node
from .._core.overridable import route_of
from .._core.signatures import Kwargs
from .._core.subclasses import as_class
from .._core.tensor import Tensor
from .._core.torch_function import DisableTorchFunctionSubclass

__all__ = [
    "ELEMENTWISE",
    "Compute",
    "Nested",
    "PAIRED",
    "hold",
    "is_number",
    "name_of",
    "padded",
    "refuse",
    "swapped",
    "within",
]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Functions of each element by itself.
ELEMENTWISE = _words(
    """
    abs acos acosh asin asinh atan atanh bitwise_not ceil clamp clamp_max clamp_min clip cos cosh deg2rad digamma erf erfc erfinv exp
    exp2 expm1 floor frac isfinite isinf isnan isneginf isposinf lgamma log log10 log1p log2 logical_not logit nan_to_num neg
    negative positive rad2deg reciprocal round rsqrt sgn sigmoid sign signbit sin sinc sinh sqrt square tan tanh trunc
    float double half bool int long short char byte bfloat16 to type type_as cpu cuda clone detach contiguous
    zeros_like ones_like empty_like full_like rand_like randn_like zero fill
    relu relu6 gelu silu elu selu celu leaky_relu mish softplus softsign hardtanh hardswish hardsigmoid logsigmoid tanhshrink threshold
    dropout alpha_dropout feature_dropout normal uniform bernoulli requires_grad _to_copy
    __neg__ __invert__ __abs__ __pos__
    """
)
# Functions of two tensors, element by element.
PAIRED = _words(
    """
    add sub subtract mul multiply div divide true_divide floor_divide fmod remainder pow maximum minimum fmax fmin atan2 eq ne lt le gt ge
    logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor masked_fill where copy rsub lerp
    __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __pow__ __rpow__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__
    __and__ __or__ __xor__ __mod__ __floordiv__ __iadd__ __isub__ __imul__ __itruediv__
    """
)

Compute: TypeAlias = Callable[..., Tensor]  # a public function; a few return several tensors
_Result = TypeVar("_Result")

_Kind = TypeVar("_Kind", bound="Nested")


class Nested(Tensor):
    """A batch of tensors of different sizes. ``_packed`` has all elements and their history, ``_arrangement`` says where each part lies."""

    _packed: Tensor
    _arrangement: Any
    _view_of: Tensor | None = None  # whose memory it shares
    is_nested = True

    # ---- what a subclass says about its arrangement

    _named: dict[str, Callable[..., object]]  # its own way of computing some functions

    def _parts(self) -> list[Tensor]:
        raise NotImplementedError

    def _pair(self, name: str, func: Compute, args: Sequence[object], kwargs: Kwargs) -> Nested:
        raise NotImplementedError

    def _check_buffer(self, name: str, inplace: bool) -> None:
        """Raises for a function of each element that cannot be computed of the packed elements as they lie."""

    def _like(self, packed: Tensor) -> Nested:
        """Another tensor of this arrangement."""
        return hold(type(self), packed, self._arrangement)

    # ---- what is asked of every tensor

    @property
    def requires_grad(self) -> bool:
        return self._packed.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._packed.requires_grad = value

    @property
    def is_leaf(self) -> bool:
        return self._packed.is_leaf

    @property
    def grad_fn(self) -> Node | None:
        return self._packed.grad_fn

    @property
    def grad(self) -> Nested | None:
        gradient = self._packed.grad
        return None if gradient is None else self._like(gradient)

    @grad.setter
    def grad(self, value: Nested | None) -> None:
        self._packed.grad = None if value is None else value._packed

    @property
    def _base(self) -> Tensor | None:
        return self._view_of

    def _is_view(self) -> bool:
        return self._view_of is not None

    @property
    def data(self) -> Nested:
        return self._like(self._packed.detach())

    def requires_grad_(self, requires_grad: bool = True) -> Nested:
        """Asks for a gradient, which is nested too."""
        self._packed._require_grad(requires_grad)
        return self

    _require_grad = requires_grad_

    def backward(
        self, gradient: Tensor | None = None, retain_graph: bool | None = None, create_graph: bool = False
    ) -> None:
        """The gradients of the leaves, given a nested gradient of this arrangement."""
        self._packed.backward(self._arranged(gradient), retain_graph, create_graph)

    def _arranged(self, gradient: Tensor | None) -> Tensor | None:
        """The elements of a gradient, which lie as those of the tensor itself."""
        return swapped(gradient)

    def __deepcopy__(self, memo: dict[int, object]) -> Nested:
        found = memo[id(self)] = self._like(copy.deepcopy(self._packed, memo))
        return found

    def unbind(self, dim: int = 0) -> tuple[Tensor, ...]:
        """The parts."""
        if dim not in (0, -self.dim()):
            raise RuntimeError(f"unbind(): only supported for NestedTensor on dim=0, got {dim}")
        return tuple(self._parts())

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.unbind())

    def dim(self) -> int:
        raise NotImplementedError

    ndimension = dim

    @property
    def ndim(self) -> int:
        return self.dim()

    def numel(self) -> int:
        return self._packed.numel()

    nelement = numel

    def item(self) -> complex:
        """The only element."""
        if self.numel() != 1:
            raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
        return self._packed.item()

    def to_padded_tensor(self, padding: float, output_size: Sequence[int] | None = None) -> Tensor:
        """One tensor, in which each part is followed by ``padding``.

        Args:
            output_size: its size, where it shall be larger than needed.
        """
        parts = self._parts()
        size = [len(parts), *(max(lengths) for lengths in zip(*(part.shape for part in parts), strict=True))]
        if not parts:
            return self._packed.new_empty(0)
        if output_size is not None:
            if len(output_size) != len(size):
                raise RuntimeError(
                    "Length of output_size does not match NestedTensor dims. Broadcasting is not supported."
                )
            if any(length < least for length, least in zip(output_size, size, strict=True)):
                raise RuntimeError(
                    "Value in output_size is less than NestedTensor padded size. Truncation is not supported."
                )
            size = list(output_size)
        rows = [padded(part, size[1:], padding) for part in parts]
        more = size[0] - len(rows)
        return ops.stack([*rows, *[self._packed.new_full(size[1:], padding)] * more])

    # ---- computing

    @classmethod
    def __torch_function__(
        cls, func: Compute, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: Kwargs | None = None
    ) -> Any:
        keywords: Kwargs = kwargs or {}
        name = name_of(func)
        first = next((arg for arg in [*args, *keywords.values()] if isinstance(arg, Nested)), None)
        if first is None:  # within a list, as for ``cat``
            first = next((arg for arg in args[0] if isinstance(arg, Nested)), None) if args else None
        if first is None:
            return NotImplemented
        with DisableTorchFunctionSubclass():
            if name == "__get__":
                answer = func(*args, **keywords)
                return refuse(first, "this attribute") if isinstance(answer, Tensor) else answer
            if name in _ASKED and args and args[0] is first:
                return getattr(first, name)(*args[1:], **keywords)
            if name in _FACTS:
                return func(*swapped(args), **swapped(keywords))
            own = first._named.get(name)
            if own is not None:
                return own(func, *args, **keywords)
            inplace = name.endswith("_") and not name.startswith("__")
            plain = name.removesuffix("_") if inplace else name
            if plain in ELEMENTWISE:
                first._check_buffer(plain, inplace)
                answer = func(*swapped(args), **swapped(keywords))
                return first if inplace else first._like(answer)
            if plain in PAIRED:
                writes = inplace or plain.startswith("__i")
                if writes:
                    first._check_buffer(plain, True)
                label = plain.strip("_").removeprefix("i" if writes and not inplace else "")
                answer = first._pair(f"{label}_" if writes else label, func, args, keywords)
                return first if writes else answer
            if name in ("numpy", "tolist"):
                end = f", got {cls.__name__}" if name == "tolist" else "."
                raise RuntimeError(f".{name}() is not supported for tensor subclasses{end}")
        return refuse(first, name)


_ASKED = _words(
    """
    unbind dim ndimension numel nelement item to_padded_tensor size stride is_contiguous values offsets lengths __len__ __iter__
    requires_grad_ backward _is_view
    """
)


_FACTS = _words(
    "is_floating_point is_complex is_signed element_size get_device is_inference is_same_size is_tensor is_conj is_neg __hash__"
)


def refuse(tensor: Tensor, name: str) -> NoReturn:
    """Raises the error for what is not there."""
    raise NotImplementedError(f"torchlike does not support {name} of nested tensors with layout {tensor.layout}")


def hold(cls: type[_Kind], packed: Tensor, arrangement: object, view_of: Tensor | None = None) -> _Kind:
    """A nested tensor of a class over its elements. ``view_of``: the tensor whose memory these are."""
    result: Any = as_class(cls, packed.detach())  # for what is asked of it: dtype, device
    result._packed, result._arrangement, result._view_of = packed, arrangement, view_of
    return result


def name_of(func: Compute) -> str:
    """The name of a function as programs write it; of an operator's overload, that of the operator."""
    route = route_of(func)
    return func.__name__.partition(".")[0] if route is None else route.name


def swapped(value: _Result) -> _Result:
    """Arguments with all elements in the place of each nested tensor."""
    argument: Any = value
    if isinstance(argument, Nested):
        return argument._packed  # pyright: ignore[reportReturnType]
    if isinstance(argument, (list, tuple)):
        argument = type(argument)(map(swapped, argument))
    elif isinstance(argument, dict):
        argument = {key: swapped(part) for key, part in argument.items()}
    return argument


def is_number(value: object) -> bool:
    """Whether it is a number, or a tensor without dimensions."""
    return not isinstance(value, Tensor) or (not isinstance(value, Nested) and value.dim() == 0)


def padded(part: Tensor, size: Sequence[int], padding: float) -> Tensor:
    """A tensor with ``padding`` after its elements, along each dimension."""
    pad: list[int] = []
    for length, padded_length in zip(reversed(part.shape), reversed(size), strict=True):
        pad += [0, padded_length - length]
    return ops.constant_pad_nd(part, pad, padding) if any(pad) else part


def within(dim: int, dims: int) -> int:
    """A dimension counted from the front; IndexError where there is none."""
    if not -dims <= dim < dims:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-dims}, {dims - 1}], but got {dim})")
    return dim % dims


def count(shape: Sequence[int]) -> int:
    """The number of elements."""
    return math.prod(shape)
