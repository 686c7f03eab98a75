"""Transforms: invertible functions with the logarithm of their volume change, to make new distributions of."""

from ._base import Transform as Transform, _InverseTransform as _InverseTransform
from ._combinations import (
    CatTransform as CatTransform,
    ComposeTransform as ComposeTransform,
    IndependentTransform as IndependentTransform,
    StackTransform as StackTransform,
    identity_transform as identity_transform,
)
from ._elementwise import (
    AbsTransform as AbsTransform,
    AffineTransform as AffineTransform,
    CumulativeDistributionTransform as CumulativeDistributionTransform,
    ExpTransform as ExpTransform,
    PowerTransform as PowerTransform,
    SigmoidTransform as SigmoidTransform,
    SoftplusTransform as SoftplusTransform,
    TanhTransform as TanhTransform,
)
from ._vectors import (
    CorrCholeskyTransform as CorrCholeskyTransform,
    LowerCholeskyTransform as LowerCholeskyTransform,
    PositiveDefiniteTransform as PositiveDefiniteTransform,
    ReshapeTransform as ReshapeTransform,
    SoftmaxTransform as SoftmaxTransform,
    StickBreakingTransform as StickBreakingTransform,
)

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform", "CumulativeDistributionTransform",
    "ExpTransform", "IndependentTransform", "LowerCholeskyTransform", "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform",
    "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform",
    "identity_transform",
]  # fmt: skip

# PyTorch has all transforms in one file, ``torch/distributions/transforms.py``. Pickles and error messages show the module of a class.
for _class in (_InverseTransform, *(value for value in map(globals().get, __all__) if isinstance(value, type))):
    _class.__module__ = __name__
