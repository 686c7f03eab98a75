"""The rule of LSTM layers, which oneDNN computes."""

from __future__ import annotations

from .. import onednn
from .convolutions import ONEDNN_SPEED
from .products import with_cost
from .rules import Compute, Parameters, Unsupported, rule


@rule("torchlike_lstm")
def _lstm(params: Parameters, ins: object, outs: object) -> Compute:
    of: onednn.Lstm = params["of"]
    if onednn.record_of(of) is None:
        raise Unsupported("an LSTM without oneDNN")
    passes = 2 if of.part == "gradients" else 1
    return with_cost(lambda *arrays: onednn.compute_arrays(of, arrays), passes * of.products / ONEDNN_SPEED + 3e-5)
