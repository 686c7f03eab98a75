"""torch.sparse: tensors that store only their non-zero elements, by coordinates or by rows."""

from .._core.overridable import offer as _offer
from . import (  # they declare what operations do with sparse tensors
    _conversion,
    _elementwise,
    _embedding,
    _likes,
    _shapes,
    _text,
)
from ._construction import check_sparse_tensor_invariants as check_sparse_tensor_invariants
from ._diagonals import spdiags as spdiags
from ._legacy import (
    BFloat16Tensor as BFloat16Tensor,
    ByteTensor as ByteTensor,
    CharTensor as CharTensor,
    DoubleTensor as DoubleTensor,
    FloatTensor as FloatTensor,
    HalfTensor as HalfTensor,
    IntTensor as IntTensor,
    LongTensor as LongTensor,
    ShortTensor as ShortTensor,
)
from ._products import addmm as addmm, mm as mm, sampled_addmm as sampled_addmm
from ._reductions import log_softmax as log_softmax, softmax as softmax, sum as sum

__all__ = ["addmm", "check_sparse_tensor_invariants", "log_softmax", "mm", "sampled_addmm", "softmax", "spdiags", "sum"]

for _value in (addmm, check_sparse_tensor_invariants, log_softmax, mm, sampled_addmm, softmax, spdiags, sum):
    _value.__module__ = __name__

_offer("torch.sparse", globals())
