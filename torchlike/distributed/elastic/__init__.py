"""torch.distributed.elastic: what a program that torchrun starts uses of it."""

from ..._missing import explain_missing

__all__: list[str] = []

explain_missing(__name__)
