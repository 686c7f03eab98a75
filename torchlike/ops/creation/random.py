"""Random tensors: on the CPU bit for bit PyTorch's streams, on an accelerator drawn by the program there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jax import Array

from ..._core import dtypes
from ..._core.annotations import DeviceLike, Dtype, Layout, MemoryFormat
from ..._core.fields import storage_of
from ..._core.meta import on_meta
from ..._core.modes import modes
from ..._core.sparse import apply_form, is_sparse
from ..._core.tensor import Tensor, from_value, records
from ...dispatch.arguments import missing
from ...dispatch.inplace import check_writable, write
from ...dispatch.lowering import check_broadcast
from ...dispatch.options import dtype_of, fill, is_integer, memory_order, placement_of, require_grad, size_of
from ...dispatch.overlap import Inner, Reading, refuse_overlap
from ...dispatch.register import Category, Form, Promote, Saves, composite, op
from ...dispatch.type_names import type_name
from ...engine.aval import META, Aval
from ...engine.value import Value
from ...random_streams import sampling, sampling_integers
from ...random_streams.by_device import generator_on_host, is_drawn_there
from ...random_streams.multinomial import multinomial as draw_multinomial
from .drawing import Draw, draw, for_each_example, of_all_examples, permuted
from .filled import rearranged
from .generators import Generator

if TYPE_CHECKING:
    from ..._core.annotations import IntOrInts


# ---- fresh tensors


def _new_undrawn(
    shape: tuple[int, ...], dtype: np.dtype | type[np.generic], requires_grad: bool = False, out: Tensor | None = None
) -> Tensor:
    """What a random function returns on the meta device: nothing is drawn."""
    result = from_value(Value.without_data(Aval(shape, np.dtype(dtype), META)))
    return require_grad(result if out is None else fill(out, result), requires_grad)


def _fresh(
    name: str,
    law: Draw,
    size: tuple[object, ...],
    keywords: Mapping[str, object],
    generator: Generator | None,
    out: Tensor | None,
    dtype: Dtype | None,
    layout: Layout | None,
    device: DeviceLike | None,
    requires_grad: bool,
) -> Tensor:
    if keywords:
        if size or list(keywords) != ["size"]:
            wrong = next((k for k in keywords if k != "size"), "size")
            raise TypeError(f"{name}() got an unexpected keyword argument '{wrong}'")
        size = (keywords["size"],)
    shape = size_of(name, size)
    kind = dtype_of(name, dtype, None if out is None else out.dtype)
    result = draw(law, generator, shape, kind.numpy, placement_of(device, layout))
    return require_grad(result if out is None else fill(out, result), requires_grad)


@composite(forms=Form.FUNCTION)
def rand(
    *size: IntOrInts,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    **keywords: object,
) -> Tensor:
    """Numbers drawn uniformly from [0, 1).

    >>> _ = torch.manual_seed(0)
    >>> torch.rand(3)
    tensor([0.4963, 0.7682, 0.0885])
    """
    return _fresh("rand", sampling.uniform, size, keywords, generator, out, dtype, layout, device, requires_grad)


@composite(forms=Form.FUNCTION)
def randn(
    *size: IntOrInts,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    **keywords: object,
) -> Tensor:
    """Numbers drawn from the normal distribution of mean 0 and variance 1.

    >>> _ = torch.manual_seed(0)
    >>> torch.randn(3)
    tensor([ 1.5410, -0.2934, -2.1788])
    """
    return _fresh("randn", sampling.normal, size, keywords, generator, out, dtype, layout, device, requires_grad)


@composite(forms=Form.FUNCTION)
def randint(
    *bounds: object,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    **keywords: object,
) -> Tensor:
    """Integers from ``low`` to ``high - 1``: ``randint(high, size)`` or ``randint(low, high, size)``.

    >>> _ = torch.manual_seed(0)
    >>> torch.randint(10, (4,))
    tensor([4, 9, 3, 0])
    """
    low, high, size = _bounds("randint", bounds, keywords, last="size")
    shape = size_of("randint", (size,), is_variadic=False)
    kind = dtype_of("randint", dtype, dtypes.int64 if out is None else out.dtype)
    place = placement_of(device, layout)
    result = draw(sampling_integers.randint, generator, shape, kind.numpy, place, low, high)
    return require_grad(result if out is None else fill(out, result), requires_grad)


def _bounds(
    name: str, bounds: tuple[Any, ...], keywords: dict[str, object], last: str | None
) -> tuple[int, int, object]:
    """``low``, ``high`` and what comes last, from ``(high, last)`` or ``(low, high, last)``."""
    bounds = list(bounds)  # pyright: ignore[reportAssignmentType]
    tail = None
    if last is not None:
        if last in keywords:
            tail = keywords.pop(last)
        elif bounds:
            tail = bounds.pop()  # pyright: ignore[reportAttributeAccessIssue]
    numbers = dict(
        zip(["high"] if len(bounds) == 1 and "high" not in keywords else ["low", "high"], bounds, strict=False)
    )
    for key, value in keywords.items():
        if key not in ("low", "high"):
            raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
        numbers[key] = value
    if "high" not in numbers or len(bounds) > 2 or (last is not None and tail is None):
        types = ", ".join(type_name(v) for v in bounds)
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got ({types}), but expected (int high, tuple of ints size) or "
            "(int low, int high, tuple of ints size)"
        )
    for key, value in numbers.items():
        if not is_integer(value):
            raise TypeError(f"{name}(): argument '{key}' must be int, not {type_name(value)}")
    return int(numbers.get("low", 0)), int(numbers["high"]), tail


@composite(forms=Form.FUNCTION)
def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """The integers from 0 to n - 1 in random order.

    >>> _ = torch.manual_seed(0)
    >>> torch.randperm(4)
    tensor([0, 1, 3, 2])
    """
    if not is_integer(n):
        raise TypeError(f"randperm(): argument 'n' (position 1) must be int, not {type_name(n)}")
    kind = dtype_of("randperm", dtype, dtypes.int64 if out is None else out.dtype)
    result = permuted(int(n), kind.numpy, placement_of(device, layout), generator)
    return require_grad(result if out is None else fill(out, result), requires_grad)


def _like(input: Tensor | None, name: str, law: Draw, options: tuple[Any, ...], *args: object) -> Tensor:
    dtype, layout, device, requires_grad, generator = options
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type_name(input)}")
    kind = dtype_of(name, dtype, input.dtype)
    if is_sparse(input):
        inner = kind, None, device, False, generator
        return apply_form(
            name, input, kind, device, requires_grad, layout, lambda values: _like(values, name, law, inner, *args)
        )
    order = memory_order(input)
    shape = tuple(input.shape) if order is None else tuple(input.shape[d] for d in order)
    result = draw(law, generator, shape, kind.numpy, placement_of(device, layout, input), *args)
    return require_grad(result if order is None else rearranged(result, order), requires_grad)


@composite(forms=Form.FUNCTION)
def rand_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Numbers drawn uniformly from [0, 1), in the shape, dtype and place of another tensor.

    >>> torch.rand_like(torch.zeros(2, 3)).shape
    torch.Size([2, 3])
    """
    return _like(input, "rand_like", sampling.uniform, (dtype, layout, device, requires_grad, generator))


@composite(forms=Form.FUNCTION)
def randn_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Normal numbers of mean 0 and variance 1, in the shape, dtype and place of another tensor.

    >>> torch.randn_like(torch.zeros(2, 3)).shape
    torch.Size([2, 3])
    """
    return _like(input, "randn_like", sampling.normal, (dtype, layout, device, requires_grad, generator))


@composite(forms=Form.FUNCTION)
def randint_like(
    input: Tensor,
    *bounds: object,
    generator: Generator | None = None,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: MemoryFormat | None = None,
    **keywords: object,
) -> Tensor:
    """Integers from ``low`` to ``high - 1``, in the shape, dtype and place of another tensor."""
    low, high, _ = _bounds("randint_like", bounds, keywords, last=None)
    options = (dtype, layout, device, requires_grad, generator)
    return _like(input, "randint_like", sampling_integers.randint, options, low, high)


@composite(forms=Form.FUNCTION)
def normal(
    mean: Any,
    std: Any = 1.0,
    size: Sequence[int] | None = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Normal numbers with these means and standard deviations, numbers or tensors that broadcast.

    >>> _ = torch.manual_seed(0)
    >>> torch.normal(2.0, 3.0, (2,))
    tensor([6.6230, 1.1197])

    Raises:
        RuntimeError: a standard deviation is negative.
    """
    tensors = [t for t in (mean, std) if isinstance(t, Tensor)]
    if not tensors or size is not None or requires_grad or pin_memory or not dtype is layout is device is None:
        # The signature of numbers, as which PyTorch takes tensors without dimensions too.
        of_numbers = not any(t.dim() or t.requires_grad for t in tensors)
        if not of_numbers or std is None or not isinstance(size, (list, tuple)):
            raise missing("normal", ["size"])
        shape = size_of("normal", (size,), is_variadic=False)
        kind = dtype_of("normal", dtype, None if out is None else out.dtype)
        result = draw(
            sampling.normal, generator, shape, kind.numpy, placement_of(device, layout), float(mean), float(std)
        )
        return require_grad(result if out is None else fill(out, result), requires_grad)
    if any(map(on_meta, tensors)):
        result = (mean + std).detach()
        return result if out is None else fill(out, result)
    if out is not None:
        if out.dtype.category < dtypes.FLOAT:
            raise NotImplementedError(f"\"normal_kernel_cpu\" not implemented for '{out.dtype.scalar_name}'")
        check_broadcast([*[tuple(t.shape) for t in tensors], tuple(out.shape)])
    if isinstance(std, Tensor):
        deviations = of_all_examples(std)._array()
        if std.is_complex():
            raise RuntimeError("normal expects standard deviation to be non-complex")
        if std.numel() and not (deviations >= 0).all():
            raise RuntimeError("normal expects all elements of std >= 0.0")
    elif std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    sizes = [tuple(t.shape) for t in tensors]
    check_broadcast(sizes)
    shape = np.broadcast_shapes(*sizes)
    kind = tensors[0].dtype
    if out is not None:
        refuse_overlap(Reading.SAME_PLACES, out, tensors)
    result = draw(sampling.normal, generator, shape, kind.numpy, tensors[0]._aval.placement)
    if out is not None and any(storage_of(t) is storage_of(out) for t in tensors):
        # PyTorch draws into ``out`` and only then multiplies by ``std`` and adds ``mean``, which have changed by then.
        with _no_grad():
            return fill(out, result).mul_(std).add_(mean)  # pyright: ignore[reportAttributeAccessIssue]
    with _no_grad():
        result = result * std + mean
    if records(*tensors):
        result = redrawn(tensors, result, "NormalBackward1" if len(tensors) == 1 else "NormalBackward3")
    return result if out is None else fill(out, result)


@contextlib.contextmanager
def _no_grad() -> Iterator[None]:
    before, modes.grad_enabled = modes.grad_enabled, False
    try:
        yield
    finally:
        modes.grad_enabled = before


@composite(forms=Form.FUNCTION | Form.METHOD)
def bernoulli(
    input: Tensor, p: float | None = None, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """1 with the probability that each element of ``input`` (or ``p``) says, else 0.

    >>> torch.bernoulli(torch.tensor([0.0, 1.0]))
    tensor([0., 1.])

    Raises:
        RuntimeError: a probability outside [0, 1].
    """
    if on_meta(input):
        return _new_undrawn(tuple(input.shape), input.dtype.numpy, False, out)
    result = _tossed(input, input if p is None else p, generator)
    result = result if out is None else fill(out, result)
    if p is None and records(input):
        return redrawn([input], result, "BernoulliBackward0")
    return result


def _tossed(like: Tensor, p: Tensor | float, generator: Generator | None) -> Tensor:
    """1 with probability ``p`` in the shape, dtype and place of another tensor. Probabilities of a tensor are not read from a device."""
    placement, dtype = like._aval.placement, like.dtype.numpy
    if not isinstance(p, Tensor):
        return draw(sampling.bernoulli, generator, tuple(like.shape), dtype, placement, float(p))
    if not is_drawn_there(placement) or modes.vmaps:
        return for_each_example(
            lambda like, p: draw(sampling.bernoulli, generator, tuple(like.shape), dtype, placement, p._array()),
            like,
            p,
        )
    if p.dtype.category != dtypes.FLOAT:
        raise NotImplementedError(f"\"bernoulli_tensor_cuda_p_\" not implemented for '{p.dtype.scalar_name}'")
    with _no_grad():
        wide = np.dtype(np.float64 if p.dtype is dtypes.float64 else np.float32)
        return (draw(sampling.uniform, generator, tuple(like.shape), wide, placement) < p).to(like.dtype)  # pyright: ignore[reportAttributeAccessIssue]


@composite(forms=Form.FUNCTION | Form.METHOD)
def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Indices drawn by weight: ``num_samples`` for each row of ``input``, with or without putting back.

    >>> torch.multinomial(torch.tensor([0.0, 1.0, 0.0]), 2, replacement=True)
    tensor([1, 1])

    Raises:
        RuntimeError: weights that are negative, infinite or all 0, and more samples than there are categories.
    """
    if on_meta(input):
        return _new_undrawn((*input.shape[:-1], int(num_samples)), np.int64, False, out)
    turned = memory_order(input) is not None
    placement = input._aval.placement
    source = generator_on_host(placement, generator)

    def of_rows(weights: Tensor) -> Tensor:
        array = weights._array()
        rows = array.reshape(-1, array.shape[-1]) if array.ndim > max(input.dim(), 2) else array
        samples = draw_multinomial(source, rows, int(num_samples), replacement, turned)
        return from_value(
            Value.on_host(np.ascontiguousarray(samples).reshape(*array.shape[:-1], int(num_samples)), placement)
        )

    result = for_each_example(of_rows, input)
    if out is not None and out.dtype is not dtypes.int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {out.dtype.scalar_name}")
    return result if out is None else fill(out, result)


# ---- in place


@op(
    name="_redrawn",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward=lambda inputs, drawn, name: name,
    saves=Saves.NOTHING,
    samples=[],
)
def redrawn(inputs: list[Array], drawn: Array, name: str) -> Array:
    """Replaces the inputs by numbers drawn beforehand. The gradient of the inputs is 0."""
    return drawn.astype(inputs[0].dtype)


def _draw_into(self: Tensor, name: str, law: Draw, generator: Generator | None, *args: object) -> Tensor:
    """Fills the tensor in the order of its memory, whatever the order of its dimensions."""
    refused = self.is_inference() and not modes.inference
    if not refused:
        check_writable(self)
    order = memory_order(self)
    shape = tuple(self.shape) if order is None else tuple(self.shape[d] for d in order)
    result = draw(law, generator, shape, self.dtype.numpy, self._aval.placement, *args)
    if order is not None:
        result = rearranged(result, order)
    return _written(self, name, result, refused)


def _written(self: Tensor, name: str, result: Tensor, refused: bool) -> Tensor:
    if refused:  # PyTorch finds that out after it has drawn, which later numbers show
        check_writable(self)
    if records(self):
        result = redrawn([self], result, name)
    return write(self, result, inner=Inner.IN_WINDOWS)


@composite(forms=Form.METHOD)
def uniform_(
    self: Tensor, from_: float = 0, to: float = 1, *, generator: Generator | None = None, **keywords: Any
) -> Tensor:
    """Fills the tensor with numbers drawn uniformly from [from, to)."""
    if "from" in keywords:  # no parameter can have that name in Python
        from_ = keywords.pop("from")
    if keywords:
        raise TypeError(f"uniform_() got an unexpected keyword argument '{next(iter(keywords))}'")
    return _draw_into(self, "UniformBackward0", sampling.uniform, generator, float(from_), float(to))


@composite(forms=Form.METHOD)
def normal_(self: Tensor, mean: float = 0, std: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Fills the tensor with normal numbers of this mean and standard deviation."""
    law = sampling.normal if self._geometry.contiguous else sampling.scattered_normal
    return _draw_into(self, "NormalBackward0", law, generator, float(mean), float(std))


@composite(forms=Form.METHOD)
def log_normal_(self: Tensor, mean: float = 1, std: float = 2, *, generator: Generator | None = None) -> Tensor:
    """Fills the tensor with exp of normal numbers of this mean and standard deviation."""
    return _draw_into(self, "LogNormalBackward0", sampling.log_normal, generator, float(mean), float(std))


@composite(forms=Form.METHOD)
def exponential_(self: Tensor, lambd: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Fills the tensor with exponential numbers of rate ``lambd``."""
    return _draw_into(self, "ExponentialBackward0", sampling.exponential, generator, float(lambd))


@composite(forms=Form.METHOD)
def cauchy_(self: Tensor, median: float = 0, sigma: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Fills the tensor with numbers of the Cauchy distribution."""
    return _draw_into(self, "CauchyBackward0", sampling.cauchy, generator, float(median), float(sigma))


@composite(forms=Form.METHOD)
def geometric_(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Fills the tensor with how many trials it takes until the first success of probability ``p``."""
    return _draw_into(self, "GeometricBackward0", sampling.geometric, generator, float(p))


@composite(forms=Form.METHOD)
def bernoulli_(self: Tensor, p: Tensor | float = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fills the tensor with 1 with probability ``p`` (a number or a tensor of them), else 0."""
    if isinstance(p, Tensor) and on_meta(self):
        p = 0.5
    if isinstance(p, Tensor) and (modes.vmaps or is_drawn_there(self._aval.placement)):
        check_writable(self)
        return _written(self, "BernoulliBackward1", _tossed(self, p, generator), False)
    if isinstance(p, Tensor):
        probabilities, order = p._array(), memory_order(self)
        if order is not None:
            probabilities = np.broadcast_to(probabilities, self.shape).transpose(order)
        return _draw_into(self, "BernoulliBackward1", sampling.bernoulli, generator, probabilities)
    return _draw_into(self, "BernoulliBackward2", sampling.bernoulli, generator, float(p))


@composite(forms=Form.METHOD)
def random_(self: Tensor, *bounds: Any, generator: Generator | None = None, **keywords: Any) -> Tensor:
    """Fills the tensor with integers: ``random_()`` up to the dtype's largest, ``random_(to)``, ``random_(from, to)``.

    >>> torch.empty(4, dtype=torch.int64).random_(0, 1)
    tensor([0, 0, 0, 0])
    """
    limits = dict(zip(["to"] if len(bounds) == 1 and "to" not in keywords else ["from", "to"], bounds, strict=False))
    limits |= keywords
    if len(bounds) > 2 or not limits.keys() <= {"from", "to"}:
        raise TypeError(
            "random_() received an invalid combination of arguments: it takes (), (int to) or (int from, int to)"
        )
    if not limits:
        return _draw_into(self, "RandomBackward0", sampling_integers.random, generator)
    low, high = int(limits.get("from", 0)), limits["to"]
    name = "RandomBackward1" if "from" in limits else "RandomBackward2"
    return _draw_into(self, name, sampling_integers.randint, generator, low, None if high is None else int(high))
