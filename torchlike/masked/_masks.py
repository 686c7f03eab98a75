"""What masks say: in the shape and layout of an input, of what a reduction makes of it, and which elements of sparse tensors they keep."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from .. import ops
from .._core import dtypes, layouts
from .._core.tensor import Tensor
from ..dispatch.options import is_integer
from ..ops.reduction.reduce import dims_of

__all__: list[str] = []

_F = TypeVar("_F", bound=Callable[..., Any])
_REDUCTIONS = (
    "sum", "prod", "amax", "amin", "argmax", "argmin", "mean", "median", "norm", "var", "std", "logsumexp",
)  # fmt: skip
_NORMALIZATIONS = ("softmax", "log_softmax", "softmin", "normalize", "cumsum", "cumprod")
_LAYOUTS = {
    layouts.strided: "strided",
    layouts.sparse_coo: "sparse COO",
    layouts.sparse_csr: "sparse CSR",
}  # those that masks can have


def _canonical_dim(dim: Any, ndim: int) -> tuple[int, ...]:
    """The dimensions to reduce, all of them named; RuntimeError where one comes twice."""
    dims = (dim,) if dim is None or is_integer(dim) else tuple(dim)
    if any(dims.count(d) > 1 for d in dims):
        raise RuntimeError(
            f"dim={next(d for d in dims if dims.count(d) > 1)} appears multiple times in the list of dims"
        )
    return dims_of(dim, ndim, "masked") if ndim else dims_of(dim, 1, "masked")


def _dense(tensor: Tensor) -> Tensor:
    return tensor if tensor.layout is layouts.strided else tensor.to_dense()


def _laid_out(dense: Tensor, like: Tensor) -> Tensor:
    """A dense tensor in the layout of another one, with its number of sparse dimensions if it has as many in all."""
    if like.layout is layouts.strided:
        return dense
    if like.layout is layouts.sparse_csr:
        return dense.to_sparse_csr()
    return dense.to_sparse(like.sparse_dim()) if dense.dim() == like.dim() else dense.to_sparse()


def _input_mask(input: Tensor, *args: object, **kwargs: object) -> Tensor:
    """The mask in the shape and the layout of the input, as bool.

    Raises:
        ValueError: there is none, or a layout has no masks.
        IndexError: it has more dimensions than the input.
    """
    if input.layout not in _LAYOUTS:
        raise ValueError(f"_input_mask expects strided or sparse COO or sparse CSR tensor but got {input.layout}")
    mask = kwargs.get("mask")
    if not isinstance(mask, Tensor):
        raise ValueError("_input_mask requires explicit mask")
    if mask.dim() > input.dim():
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    if mask.layout is input.layout and mask.shape == input.shape:
        return mask.to(dtypes.bool_)
    return _laid_out(_dense(mask).expand(input.shape).to(dtypes.bool_), input)


def _output_mask(op: object, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Which elements of the result of a function of ``torch.masked`` have a value: those that are made of an element that the mask keeps.

    Raises:
        ValueError: the function is none of these.
    """
    if not callable(op):
        raise ValueError(f"_output_mask expected masked operation (got {type(op).__name__} object)")
    name = getattr(op, "__name__", "")
    if name in _NORMALIZATIONS:
        return _input_mask(input, *args, **kwargs)
    if name not in _REDUCTIONS:
        raise ValueError(f"_output_mask expected masked operation (got callable {op.__module__}.{name})")
    if name == "norm" and args:
        args = args[1:]  # the order of the norm
    dim = args[0] if args else kwargs.get("dim")
    keeps = _dense(_input_mask(input, *args, **kwargs))
    dims = _canonical_dim(dim, keeps.dim())
    return _laid_out(keeps.any(dims, bool(kwargs.get("keepdim"))) if keeps.dim() else keeps, input)


def _where(mask: Tensor, input: Tensor, fill_value: Tensor) -> Tensor:
    """The input where the mask is True, and ``fill_value`` elsewhere; of sparse tensors the elements where the mask is True alone."""
    if mask.layout is layouts.strided:
        return ops.where(mask, input, fill_value)
    return _kept(ops.where(mask.to_dense(), _dense(input), fill_value), mask)


def _kept(dense: Tensor, mask: Tensor) -> Tensor:
    """The elements of a dense tensor where a sparse mask is True, as a sparse tensor that has these alone."""
    return dense.sparse_mask(_laid_out(mask.to_dense(), mask))  # without elements of the mask that are False


def of_layouts(*taken: layouts.layout, name: str = "", unmasked: bool = False) -> Callable[[_F], _F]:
    """Lets a function of dense tensors and masks take sparse ones, or refuse them as PyTorch does.

    Args:
        taken: which sparse layouts of the input it takes. The mask may have any.
        name: what messages call it; the function's own name if empty.
        unmasked: whether it takes sparse inputs without a mask.
    """

    def decorate(function: _F) -> _F:
        called = name or function.__name__

        @functools.wraps(function)
        def wrapper(input: Tensor, *args: object, **kwargs: Any) -> Tensor:
            layout, mask = input.layout, kwargs.get("mask")
            if layout is layouts.strided:
                if isinstance(mask, Tensor) and mask.layout is not layouts.strided:
                    kwargs["mask"] = mask.to_dense()  # pyright: ignore[reportAttributeAccessIssue]
                return function(input, *args, **kwargs)
            if layout not in taken:
                *others, last = ["strided", *[str(each).rpartition(".")[2] for each in taken]]
                expected = f"{', '.join(others)} or {last}" if others else last
                raise ValueError(f"masked {called} expects {expected} tensor (got {layout} tensor)")
            if mask is None and not unmasked:
                raise ValueError(f"masked {called} expects explicit mask for {layout.name} tensor input")
            if layout is layouts.sparse_csr and not kwargs.get("keepdim"):
                kind = RuntimeError if called in ("sum", "prod") else AssertionError
                raise kind("reduction operations on CSR tensors with keepdim=False is unsupported")
            keeps = None if mask is None else _input_mask(input, mask=mask)
            result = function(
                input.to_dense(), *args, **{**kwargs, "mask": None if keeps is None else keeps.to_dense()}
            )
            if keeps is None or not result.dim():
                return result.to_sparse() if layout is layouts.sparse_coo else result.to_sparse_csr()
            return _kept(result, _output_mask(function, keeps, *args, **{**kwargs, "mask": keeps}))

        return wrapper  # pyright: ignore[reportReturnType]

    return decorate
