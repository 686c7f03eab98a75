"""torch.masked: reductions and normalisations that leave out the elements where a mask is False, and tensors with a mask."""

from ._masks import (
    _canonical_dim as _canonical_dim,
    _input_mask as _input_mask,
    _output_mask as _output_mask,
    _where as _where,
)
from ._reductions import (
    _reduction_identity as _reduction_identity,
    amax as amax,
    amin as amin,
    argmax as argmax,
    argmin as argmin,
    cumprod as cumprod,
    cumsum as cumsum,
    log_softmax as log_softmax,
    logaddexp as logaddexp,
    logsumexp as logsumexp,
    mean as mean,
    median as median,
    norm as norm,
    normalize as normalize,
    prod as prod,
    softmax as softmax,
    softmin as softmin,
    std as std,
    sum as sum,
    var as var,
)
from .maskedtensor import (
    MaskedTensor as MaskedTensor,
    as_masked_tensor as as_masked_tensor,
    is_masked_tensor as is_masked_tensor,
    masked_tensor as masked_tensor,
)

for _name, _each in list(globals().items()):
    if getattr(_each, "__module__", "").startswith(f"{__name__}."):
        _each.__module__ = __name__
