"""assert_close: whether two structures of tensors and numbers are equal within tolerances."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.tensor import Tensor

__all__ = ["assert_allclose", "assert_close"]

# (rtol, atol) by dtype; all others compare exactly.
_TOLERANCES = {
    dtypes.float16: (1e-3, 1e-5),
    dtypes.bfloat16: (1.6e-2, 1e-5),
    dtypes.float32: (1.3e-6, 1e-5),
    dtypes.float64: (1e-7, 1e-7),
    dtypes.complex64: (1.3e-6, 1e-5),
    dtypes.complex128: (1e-7, 1e-7),
}


def assert_close(
    actual: object,
    expected: object,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raises unless ``|actual - expected| <= atol + rtol |expected|`` in every element.

    Args:
        actual: a tensor, an array, a number, None, or sequences and mappings of these.
        expected: the same.
        allow_subclasses: whether the two may be of different classes.
        rtol, atol: tolerances, both or none; none: as the dtype is.
        equal_nan: whether NaN equals NaN.
        check_device, check_dtype, check_layout, check_stride: whether these must agree too.
        msg: the error's text instead of the generated one, or a function of the generated one.

    Raises:
        AssertionError: they differ. TypeError: they cannot be compared. ValueError: one tolerance alone.

    >>> torch.testing.assert_close(torch.tensor([1.0]), torch.tensor([1.0 + 1e-7]))

    Source: https://docs.pytorch.org/docs/stable/testing.html#torch.testing.assert_close
    """
    if (rtol is None) != (atol is None):
        raise ValueError(
            "Both 'rtol' and 'atol' must be either specified or omitted, but got no "
            f"{'rtol' if rtol is None else 'atol'}."
        )
    checks = {"device": check_device, "dtype": check_dtype, "layout": check_layout}
    tolerances = None if rtol is None or atol is None else (float(rtol), float(atol))
    failed = _first_difference(
        actual, expected, (), _Options(tolerances, equal_nan, checks, check_stride, allow_subclasses)
    )
    if failed is not None:
        raise AssertionError(failed if msg is None else msg(failed) if callable(msg) else msg) from None


def assert_allclose(
    actual: object, expected: object, rtol: Any = None, atol: Any = None, equal_nan: bool = True, msg: str = ""
) -> None:
    """``assert_close`` in its older form: dtypes and devices may differ, and NaN equals NaN."""
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. Please use "
        "`torch.testing.assert_close()` instead. You can find detailed upgrade instructions in "
        "https://github.com/pytorch/pytorch/issues/61844.",
        FutureWarning,
        stacklevel=2,
    )
    if not isinstance(actual, Tensor):
        from ..ops import tensor

        actual = tensor(actual)
    if not isinstance(expected, Tensor):
        from ..ops import tensor

        expected = tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        kinds = (_TOLERANCES.get(actual.dtype, (0.0, 0.0)), _TOLERANCES.get(expected.dtype, (0.0, 0.0)))
        rtol, atol = (max(pair) for pair in zip(*kinds, strict=True))
    assert_close(
        actual,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=True,
        check_dtype=False,
        msg=msg or None,
    )


class _Options:
    def __init__(
        self,
        tolerances: tuple[float, float] | None,
        equal_nan: bool,
        checks: dict[str, bool],
        stride: bool,
        subclasses: bool,
    ) -> None:
        self.requested, self.equal_nan, self.checks = tolerances, equal_nan, checks
        self.stride, self.subclasses = stride, subclasses

    def tolerances(self, *kinds: Any) -> tuple[float, float]:
        if self.requested is not None:
            return self.requested
        tolerances_by_dtype = [_TOLERANCES.get(kind, (0.0, 0.0)) for kind in kinds]
        return max(f[0] for f in tolerances_by_dtype), max(f[1] for f in tolerances_by_dtype)


def _first_difference(actual: object, expected: object, path: tuple[object, ...], options: _Options) -> str | None:
    """Describes the first difference; None if there is none."""
    words = _structures(actual, expected, path, options)
    if words is not _LEAF:
        return words
    message = _leaves(actual, expected, options)
    if message is None or not path:
        return message
    return f"{message}\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in path)}"


_LEAF: Any = object()


def _at(path: tuple[object, ...]) -> str:
    return f"\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in path)}" if path else ""


def _structures(actual: Any, expected: Any, path: tuple[object, ...], options: _Options) -> Any:
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            return f"The length of the sequences mismatch: {len(actual)} != {len(expected)}{_at(path)}"
        pairs = [(i, a, e) for i, (a, e) in enumerate(zip(actual, expected, strict=True))]
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        missing_keys, more = expected.keys() - actual.keys(), actual.keys() - expected.keys()
        if missing_keys or more:
            return (
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {sorted(missing_keys)}\n"
                f"Additional keys in the actual mapping: {sorted(more)}{_at(path)}"
            )
        pairs = [(key, actual[key], expected[key]) for key in _ordered(expected)]
    else:
        return _LEAF
    differences = (_first_difference(a, e, (*path, key), options) for key, a, e in pairs)
    return next((words for words in differences if words is not None), None)


def _is_sequence(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _ordered(mapping: Mapping[object, object]) -> list[Any]:
    try:
        return sorted(mapping)
    except TypeError:  # keys that have no order
        return list(mapping)


def _leaves(actual: object, expected: object, options: _Options) -> str | None:
    if actual is None or expected is None:
        return None if actual is expected else f"None mismatch: {actual} is not {expected}"
    if isinstance(actual, (bool, np.bool_)) and isinstance(expected, (bool, np.bool_)):
        return None if bool(actual) is bool(expected) else f"Booleans mismatch: {actual} is not {expected}"
    numbers = (int, float, complex, np.number)
    if isinstance(actual, numbers) and isinstance(expected, numbers):
        return _numbers(actual, expected, options)
    arrays = (Tensor, np.ndarray)
    if isinstance(actual, arrays) and isinstance(expected, arrays):
        directly_related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        if type(actual) is type(expected) or (options.subclasses and directly_related):
            return _tensors(_tensor(actual), _tensor(expected), options)
    raise TypeError(f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.")


def _tensor(value: object) -> Any:
    if isinstance(value, Tensor):
        return value.detach()
    from ..ops import as_tensor

    return as_tensor(value)


def _numbers(actual: Any, expected: Any, options: _Options) -> str | None:
    kinds = {int: dtypes.int64, float: dtypes.float64, complex: dtypes.complex128}
    actual, expected = (v.item() if isinstance(v, np.generic) else v for v in (actual, expected))
    if options.checks["dtype"] and type(actual) is not type(expected):
        return f"The (d)types do not match: {type(actual)} != {type(expected)}."
    rtol, atol = options.tolerances(kinds[type(actual)], kinds[type(expected)])
    if actual == expected or (options.equal_nan and actual != actual and expected != expected):
        return None
    if np.isfinite(actual) and np.isfinite(expected) and abs(actual - expected) <= atol + rtol * abs(expected):
        return None
    return _numbers_of(actual, expected, rtol, atol)


def _tensors(actual: Tensor, expected: Tensor, options: _Options) -> str | None:
    names = ["shape", *(name for name in ("layout", "device", "dtype") if options.checks[name])]
    for name in names:
        a, e = getattr(actual, name), getattr(expected, name)
        if a != e:
            return f"The values for attribute '{name}' do not match: {a} != {e}."
    if options.stride and actual.stride() != expected.stride():
        return f"The values for attribute 'stride()' do not match: {actual.stride()} != {expected.stride()}."
    rtol, atol = options.tolerances(actual.dtype, expected.dtype)
    common = dtypes.promote_types(actual.dtype, expected.dtype)
    common = dtypes.float32 if common is dtypes.bfloat16 else common  # NumPy has no such dtype
    a, e = (_wide(t.to(common).to_dense().numpy(force=True)) for t in (actual, expected))
    return _arrays(a, e, rtol, atol, options.equal_nan)


def _wide(array: np.ndarray) -> np.ndarray:
    """In a dtype in which differences do not overflow."""
    if array.dtype == np.bool_ or array.dtype.kind in "iu":
        return array.astype(np.int64)
    return array.astype(np.float32) if array.dtype == np.float16 else array


def _arrays(a: np.ndarray, e: np.ndarray, rtol: float, atol: float, equal_nan: bool) -> str | None:
    with np.errstate(all="ignore"):
        difference = np.abs(a - e)
        near = np.isfinite(difference) & (difference <= atol + rtol * np.abs(e))
        matches = (a == e) | near
        if equal_nan:
            matches |= np.isnan(a) & np.isnan(e)
        if matches.all():
            return None
        ratio = difference / np.abs(e)
        if a.dtype.kind == "i" and a.ndim:
            ratio = ratio.astype(np.float32)  # as PyTorch divides integers
    exact = rtol == atol == 0
    if a.ndim == 0:
        return _numbers_of(a.item(), e.item(), rtol, atol)
    wrong = ~matches
    # Equal elements count 0. NaN counts as infinite, since no tolerance bounds it.
    difference, ratio = (np.where(wrong, x, 0) for x in (difference, ratio))
    lines = [f"Mismatched elements: {wrong.sum()} / {wrong.size} ({wrong.sum() / wrong.size:.1%})"]
    for word, values, limit in (("absolute", difference, atol), ("relative", ratio, rtol)):
        place = np.unravel_index(np.argmax(values), values.shape)
        line = f"Greatest {word} difference: {values[place].item()} at index {tuple(int(i) for i in place)}"
        lines.append(line if exact else f"{line} (up to {limit} allowed)")
    return f"Tensor-likes are not {'equal' if exact else 'close'}!\n\n" + "\n".join(lines)


def _numbers_of(actual: Any, expected: Any, rtol: float, atol: float) -> str:
    difference = abs(actual - expected)
    ratio = difference / abs(expected) if expected else float("inf")
    exact = rtol == atol == 0
    lines = [f"Absolute difference: {difference}", f"Relative difference: {ratio}"]
    if not exact:
        lines = [f"{line} (up to {limit} allowed)" for line, limit in zip(lines, (atol, rtol), strict=True)]
    head = f"Scalars are not {'equal' if exact else 'close'}!\n\nExpected {expected} but got {actual}.\n"
    return head + "\n".join(lines)
