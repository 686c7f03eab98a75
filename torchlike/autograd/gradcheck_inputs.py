"""The inputs of ``gradcheck``, whose elements are changed in place: whatever the function reaches them by, it sees the change."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from .. import ops
from .._core.sparse import SparseValue, is_sparse
from .._core.tensor import Tensor, from_host, from_value
from .grad_mode import no_grad

__all__ = ["ChangedInput", "check_inputs", "check_outputs", "densified", "read"]


def read(tensor: Tensor) -> np.ndarray:
    """A copy of the elements; of an object without memory of a subclass one by one, as its ``__torch_dispatch__`` gives them."""
    if getattr(tensor, "_outer_device", None) is None:
        return tensor.numpy(force=True).copy()
    flat: Tensor = tensor.detach().reshape(-1)  # pyright: ignore[reportAttributeAccessIssue]
    elements = [flat[place].item() for place in range(flat.numel())]
    return np.array(elements, tensor.dtype.numpy).reshape(tuple(tensor.shape))


class ChangedInput:
    """An input whose elements are given other values for a while.

    Attributes:
        array: the elements that it stores.
        places: where these lie among all elements.
    """

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        content = tensor._value()
        self._sparse = content if isinstance(content, SparseValue) else None
        if self._sparse is None:
            self.array = read(tensor)
            self.places = np.arange(self.array.size)
        else:
            self.array = self._sparse.values.numpy(force=True).copy()
            self.places = _places(tensor)

    @contextmanager
    def holding(self, array: np.ndarray) -> Iterator[None]:
        """Within it the input holds these elements. By ``data``, so that no graph finds what it has saved changed."""
        data = self.tensor.data
        self._put(array)
        try:
            yield
        finally:
            if self._sparse is None:
                self._put(self.array)
            else:
                self.tensor.data = data

    def _put(self, array: np.ndarray) -> None:
        if self._sparse is None:
            with no_grad():
                without_memory = getattr(self.tensor, "_outer_device", None) is not None
                own: Tensor = self.tensor.detach() if without_memory else self.tensor.data  # pyright: ignore[reportAttributeAccessIssue]
                own.copy_(from_host(array.copy()))  # pyright: ignore[reportAttributeAccessIssue]
            return
        values, pattern = from_host(array.copy()), self._sparse.pattern
        self.tensor.data = from_value(SparseValue.create(pattern, values, self._sparse.coalesced))

    def ends(
        self,
        func: Callable[..., object],
        arguments: Sequence[object],
        number: int | None,
        step: object,
        eps: float,
        on: str = "",
    ) -> tuple[np.ndarray, np.ndarray]:
        """An output, flat, while the input holds elements that are larger by ``step``, and then smaller.

        Args:
            number: counts the outputs that have a gradient; None for all that are tensors, one after the other.
            eps, on: what a message says of the step.

        Raises:
            AssertionError: the two are of different shapes or dtypes.
        """
        found = []
        for sign in (1, -1):
            with self.holding(np.asarray(self.array + sign * step, self.array.dtype)):  # pyright: ignore[reportOperatorIssue]
                outputs = [o for o in _tuple(func(*arguments)) if isinstance(o, Tensor)]
                if number is not None:
                    outputs = [[o for o in outputs if o.requires_grad][number]]
                found.append([read(o) for o in outputs])
                kinds = [(o.shape, o.dtype) for o in outputs]
            if sign == 1:
                after = kinds
        for (shape, kind), (other_shape, other_kind) in zip(kinds, after, strict=True):
            for what, mine, other in (("shape", shape, other_shape), ("dtype", kind, other_kind)):
                if mine != other:
                    raise AssertionError(
                        f"Expected `func` to return outputs with the same {what} when inputs are perturbed{on} by {eps}, but got: "
                        f"{what}s {mine} and {other}."
                    )
        plus, minus = (np.concatenate([np.zeros(0), *[o.reshape(-1) for o in each]]) for each in found)
        return plus, minus


def _tuple(x: object) -> tuple[object, ...]:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _numbered(tensor: Tensor) -> Tensor:
    """Of the shape of a tensor, with the number of each element, counted from 1: in a sparse layout none is left out."""
    return ops.arange(1.0, tensor.numel() + 1, dtype=_FLOAT64).reshape(tensor.shape)  # pyright: ignore[reportAttributeAccessIssue]


_FLOAT64 = from_host(np.zeros((), np.float64)).dtype


def _places(tensor: Tensor) -> np.ndarray:
    mask = from_value(tensor._value())
    return _stored(_numbered(tensor).sparse_mask(mask)).values.numpy().reshape(-1).astype(int) - 1


def _stored(tensor: Tensor) -> SparseValue:
    value = tensor._value()
    assert isinstance(value, SparseValue)
    return value


def densified(tensor: Tensor) -> Tensor:
    """A sparse leaf that stores all its elements, of the layout and the values of another one."""
    with no_grad():
        pattern = _stored(tensor).pattern
        if tensor.is_sparse:
            numbered = _numbered(tensor).to_sparse(pattern.sparse_dim)
        else:
            block = pattern.block if pattern.blocked else None
            numbered = _numbered(tensor).to_sparse(layout=tensor.layout, blocksize=block)
        full = _stored(numbered)
        places = full.values.numpy().astype(int) - 1
        values = tensor.detach().to_dense().numpy(force=True).reshape(-1)[places]
        return from_value(SparseValue.create(full.pattern, from_host(values), True))._require_grad(tensor.requires_grad)


def check_inputs(arguments: Sequence[object]) -> None:
    """Raises, or warns, in PyTorch's words where the inputs are none that can be checked."""
    tracked = [(i, x) for i, x in enumerate(arguments) if isinstance(x, Tensor) and x.requires_grad]
    for i, x in tracked:
        if x.dtype.name not in ("float64", "complex128"):
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. This check will likely fail if "
                "all the inputs are not of double precision floating point or complex. ",
                stacklevel=4,
            )
        strides = () if is_sparse(x) else x.stride()
        if any(stride == 0 and size > 1 for stride, size in zip(strides, x.shape, strict=False)):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to be able to "
                "compute the numerical gradients correctly. You should call .contiguous on the input before passing it to gradcheck."
            )
    if not tracked:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )


def check_outputs(outputs: Sequence[Tensor]) -> None:
    """Raises PyTorch's error for sparse outputs."""
    if any(is_sparse(output) for output in outputs):
        raise ValueError(
            "Sparse output is not supported at gradcheck yet. Please call to_dense(masked_grad=...) on the output of fn for gradcheck."
        )
