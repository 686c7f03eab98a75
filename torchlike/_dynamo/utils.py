"""torch._dynamo.utils: the parts of it that programs use: counters, and a comparison of results."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from .._core.tensor import Tensor

__all__ = ["counters", "same"]

# PyTorch's tracer counts its graphs here by subject. There is no such tracer, so all counts are 0.
counters: defaultdict[str, Counter[str]] = defaultdict(Counter)


def same(ref: object, res: object, fp64_ref: object = None, cos_similarity: bool = False, tol: float = 1e-4) -> bool:
    """Whether two results agree: containers element by element, tensors within a tolerance.

    >>> torch._dynamo.utils.same([torch.ones(2)], [torch.ones(2) + 1e-6])
    True
    """
    if isinstance(ref, Tensor):
        if not isinstance(res, Tensor) or ref.shape != res.shape or ref.dtype != res.dtype:
            return False
        if cos_similarity:
            first, second = ref.flatten().double(), res.flatten().double()
            return (first @ second / (first.norm() * second.norm())).item() >= 0.99
        if not (ref.is_floating_point() or ref.is_complex()):
            return bool((ref == res).all())
        return ref.allclose(res, rtol=tol, atol=tol, equal_nan=True)
    if isinstance(ref, Mapping):
        return (
            isinstance(res, Mapping)
            and ref.keys() == res.keys()
            and all(same(ref[key], res[key], None, cos_similarity, tol) for key in ref)
        )
    if isinstance(ref, Sequence) and not isinstance(ref, (str, bytes)):
        return (
            isinstance(res, Sequence)
            and len(ref) == len(res)
            and all(same(a, b, None, cos_similarity, tol) for a, b in zip(ref, res, strict=True))
        )
    if isinstance(ref, float) and isinstance(res, float):
        return (math.isnan(ref) and math.isnan(res)) or math.isclose(ref, res, rel_tol=tol, abs_tol=tol)
    return ref == res
