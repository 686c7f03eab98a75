"""Convolutions and their gradients by oneDNN."""

from __future__ import annotations

from ctypes import c_void_p
from typing import NamedTuple

import numpy as np

from ..geometry import Geometry
from .library import Library, Record, Step
from .preparation import DTYPES, Arguments, Preparation, numbers

# The numbers of oneDNN's C interface (dnnl_types.h).
_KINDS = {"y": 0, "x": 1, "w": 2}
_TRAINING, _DIRECT = 64, 1
# For each result: the numbers of the three arrays as arguments of a primitive.
_ARGUMENTS = {
    "y": {"x": 1, "w": 33, "y": 17},
    "x": {"x": 129, "w": 33, "y": 145},
    "w": {"x": 1, "w": 161, "y": 145},
}

# A convolution of fewer multiplications runs on one thread. It takes 20 to 40 us; two threads are not faster, and may wait for each other.
# The gradient of the kernels always uses PyTorch's number of threads, because its sum over images depends in the last bits on that number.
SHARED_FROM = 1_000_000


class Convolution(NamedTuple):
    """The array that ``geometry.result`` names, of the two others in the order x, w, y, which have one dtype."""

    geometry: Geometry
    dtype: np.dtype
    result_dtype: np.dtype

    @property
    def results(self) -> tuple[tuple[tuple[int, ...], np.dtype], ...]:
        """Shapes and dtypes."""
        return ((self.geometry.shape(self.geometry.result), self.result_dtype),)

    @property
    def key(self) -> list[int]:
        """Describes the computation completely by numbers. The handler finds its record by them."""
        geometry = self.geometry
        sizes = (geometry.x, geometry.w, geometry.y, geometry.stride, geometry.before, geometry.dilation)
        kinds = [_KINDS[geometry.result], DTYPES[self.dtype.name], DTYPES[self.result_dtype.name]]
        first = [*kinds, geometry.groups, len(geometry.stride)]
        return first + [int(n) for each in sizes for n in each]

    def may_have_record(self) -> bool:
        """Whether oneDNN can be asked: there are other dtypes, and it computes nothing that is empty."""
        geometry = self.geometry
        named = self.dtype.name in DTYPES and self.result_dtype.name in DTYPES
        return named and 0 not in (*geometry.x, *geometry.w, *geometry.y)

    def record(self, onednn: Library, threads: int) -> Record:
        """The record for so many threads.

        Raises:
            Failure: oneDNN does not implement it.
        """
        is_small = self.geometry.result != "w" and self.geometry.products < SHARED_FROM
        with Preparation(onednn, self.key, 1 if is_small else threads) as preparation:
            return _fill(preparation, self)


def _fill(preparation: Preparation, convolution: Convolution) -> Record:
    """oneDNN chooses the layouts, and operands in other layouts are reordered first."""
    geometry = convolution.geometry
    names = (*geometry.operands, geometry.result)
    dtypes = dict.fromkeys(names, DTYPES[convolution.dtype.name])
    dtypes[geometry.result] = DTYPES[convolution.result_dtype.name]
    description = _description(preparation, geometry, dtypes)
    arguments: Arguments = []
    into: list[Step] = []
    out_of: list[Step] = []
    for place, name in enumerate(names):
        number = _ARGUMENTS[geometry.result][name]
        plain = preparation.plain(_sizes(geometry, name), dtypes[name])
        best_layout = preparation.layout_of(description, number)
        outer = preparation.outer(plain, place)
        # Operands that have the layout already are read where they are, without a copy.
        inner = outer
        if not preparation.are_equal(plain, best_layout):
            inner = preparation.inner(best_layout)
            if name == geometry.result:
                out_of.append(preparation.reorder(best_layout, inner, plain, outer))
            else:
                into.append(preparation.reorder(plain, outer, best_layout, inner))
        arguments.append((number, inner))
    preparation.stage([[*into, preparation.step(description, arguments), *out_of]])
    return preparation.finished(len(names))


def _description(preparation: Preparation, geometry: Geometry, dtypes: dict[str, int]) -> c_void_p:
    x, w, y = (preparation.any_layout(_sizes(geometry, name), dtypes[name]) for name in "xwy")
    steps = [numbers(n) for n in (
        geometry.stride, [d - 1 for d in geometry.dilation], geometry.before, geometry.after,
    )]  # fmt: skip
    engine, attributes = preparation.library.engine, preparation.attributes()
    create = "dnnl_convolution_{}_primitive_desc_create"
    is_forward = geometry.result == "y"
    # The gradients need the description of the forward pass only while theirs is made.
    forward = preparation.describe(
        create.format("forward"), engine, _TRAINING, _DIRECT, x, w, None, y, *steps, attributes, keep=is_forward
    )
    if is_forward:
        return forward
    rest = (y, *steps, forward, attributes)
    if geometry.result == "x":
        return preparation.describe(create.format("backward_data"), engine, _DIRECT, x, w, *rest)
    return preparation.describe(create.format("backward_weights"), engine, _DIRECT, x, w, None, *rest)


def _sizes(geometry: Geometry, name: str) -> tuple[int, ...]:
    """Returns the shape in oneDNN's convention: weights of several groups have one more dimension, for the groups."""
    shape = geometry.shape(name)
    grouped = name == "w" and geometry.groups > 1
    return (geometry.groups, shape[0] // geometry.groups, *shape[1:]) if grouped else shape
