"""torch.distributed.elastic.multiprocessing: the errors of processes that a launcher has started."""

from ...._missing import explain_missing
from . import errors as errors

__all__: list[str] = []

explain_missing(__name__)
