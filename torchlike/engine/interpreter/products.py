"""Rules of matrix products and convolutions."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .rules import Compute, Unsupported, require_native, rule

# Multiplications and additions a second of NumPy's matrix product, roughly; of its loops for other dtypes than BLAS knows.
BLAS_SPEED = 3e10
LOOP_SPEED = 5e8
# A convolution that would need more memory than this for its windows is left to XLA.
MAX_WINDOW_BYTES = 64 * 2**20


def _with_cost(function: Compute, seconds: float) -> Compute:
    def compute(*arrays: Any) -> Any:
        return function(*arrays)

    compute.extra_cost = seconds  # type: ignore[attr-defined]
    return compute


@rule("dot_general")
def _dot_general(params: Any, ins: Any, outs: Any) -> Compute:
    a, b = ins
    dtype = outs[0].dtype
    require_native(a, b, outs[0])
    (sum_a, sum_b), (batch_a, batch_b) = params["dimension_numbers"]
    free_a = [d for d in range(len(a.shape)) if d not in sum_a and d not in batch_a]
    free_b = [d for d in range(len(b.shape)) if d not in sum_b and d not in batch_b]
    batch = [a.shape[d] for d in batch_a]
    rows, columns = [a.shape[d] for d in free_a], [b.shape[d] for d in free_b]
    inner = prod(a.shape[d] for d in sum_a)
    multiply = _multiply(a.dtype, b.dtype, dtype)
    if len(a.shape) == 2 and len(b.shape) == 2 and not batch and len(sum_a) == 1:
        # A transposed matrix is read by BLAS as it lies.
        if (sum_a[0], sum_b[0]) == (1, 0):
            compute = multiply
        elif (sum_a[0], sum_b[0]) == (1, 1):
            compute = lambda x, y: multiply(x, y.T)  # noqa: E731
        elif (sum_a[0], sum_b[0]) == (0, 0):
            compute = lambda x, y: multiply(x.T, y)  # noqa: E731
        else:
            compute = lambda x, y: multiply(x.T, y.T)  # noqa: E731
    else:
        order_a, order_b = (*batch_a, *free_a, *sum_a), (*batch_b, *sum_b, *free_b)
        shape_a, shape_b = (*batch, prod(rows), inner), (*batch, inner, prod(columns))
        shape = (*batch, *rows, *columns)

        def compute(x: Any, y: Any) -> Any:
            product = multiply(x.transpose(order_a).reshape(shape_a), y.transpose(order_b).reshape(shape_b))
            return product.reshape(shape)

    work = prod(batch) * prod(rows) * prod(columns) * inner
    speed = BLAS_SPEED if dtype.kind in "fc" and dtype.itemsize >= 4 else LOOP_SPEED
    return _with_cost(compute, work / speed) if work > 1e5 else compute


def _multiply(left: Any, right: Any, dtype: Any) -> Compute:
    if dtype == np.float16:  # as XLA does, which sums in float32
        return lambda x, y: np.matmul(x.astype(np.float32), y.astype(np.float32)).astype(dtype)
    if dtype == np.bool_:
        raise Unsupported("products of bool")
    if left == dtype and right == dtype:
        return np.matmul
    return lambda x, y: np.matmul(x.astype(dtype), y.astype(dtype))


@rule("conv_general_dilated")
def _conv(params: Any, ins: Any, outs: Any) -> Compute:
    """A convolution as one matrix product: the windows of the input, as a view, times the weight."""
    x, w = ins
    dtype = outs[0].dtype
    require_native(x, w, outs[0])
    if x.dtype != w.dtype or x.dtype != dtype or dtype.kind not in "fc" or dtype.itemsize < 4:
        raise Unsupported("convolutions of these dtypes")
    numbers = params["dimension_numbers"]
    groups, batch_groups = params["feature_group_count"], params["batch_group_count"]
    strides, padding = params["window_strides"], params["padding"]
    holes, dilation = params["lhs_dilation"], params["rhs_dilation"]
    if 0 in x.shape or 0 in w.shape or 0 in outs[0].shape or (batch_groups > 1 and groups > 1):
        raise Unsupported("empty convolutions")
    order_x, order_w = numbers.lhs_spec, numbers.rhs_spec
    back = tuple(np.argsort(numbers.out_spec).tolist())
    count, channels = x.shape[order_x[0]], x.shape[order_x[1]]
    filters = w.shape[order_w[0]]
    sizes = [x.shape[d] for d in order_x[2:]]
    kernel = [w.shape[d] for d in order_w[2:]]
    result = [outs[0].shape[d] for d in numbers.out_spec[2:]]
    dims = len(sizes)
    spread = [(n - 1) * h + 1 for n, h in zip(sizes, holes, strict=True)]
    padded = [n + low + high for n, (low, high) in zip(spread, padding, strict=True)]
    if any(low < 0 or high < 0 for low, high in padding):
        raise Unsupported("negative padding of convolutions")
    plain = all(h == 1 for h in holes) and not any(low or high for low, high in padding)
    inside = (
        slice(None),
        slice(None),
        *tuple(slice(low, low + n, h) for n, h, (low, _) in zip(spread, holes, padding, strict=True)),
    )
    if batch_groups > 1:  # groups of the batch meet groups of the filters
        groups, count, channels = batch_groups, count // batch_groups, channels * batch_groups
    inner = channels // groups * prod(kernel)
    if count * prod(result) * inner * groups * dtype.itemsize > MAX_WINDOW_BYTES:
        raise Unsupported("a large convolution")

    def convolve(x: Any, w: Any) -> Any:
        x = x.transpose(order_x)  # [N, C, *sizes]
        if batch_groups > 1:
            x = x.reshape(groups, count, -1, *sizes).swapaxes(0, 1).reshape(count, channels, *sizes)
        if not plain:
            wide = np.zeros((count, channels, *padded), dtype)
            wide[inside] = x
            x = wide
        steps = x.strides[2:]
        windows = as_strided(  # [N, groups, C / groups, *kernel, *result]
            x,
            (count, groups, channels // groups, *kernel, *result),
            (x.strides[0], channels // groups * x.strides[1], x.strides[1],
             *[s * d for s, d in zip(steps, dilation, strict=True)], *[s * d for s, d in zip(steps, strides, strict=True)]),
            writeable=False,
        )  # fmt: skip
        columns = windows.reshape(count, groups, inner, prod(result))
        rows = w.transpose(order_w).reshape(groups, filters // groups, inner)
        out = np.matmul(rows, columns)  # [N, groups, O / groups, prod(result)]
        return out.reshape(count, filters, *result).transpose(back)

    assert dims == len(result)
    work = count * prod(result) * inner * filters
    return _with_cost(convolve, work / groups / BLAS_SPEED + 4e-9 * count * prod(result) * inner * groups)
