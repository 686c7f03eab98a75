"""Modules spread over devices."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from .data_parallel import DataParallel as DataParallel
from .distributed import DistributedDataParallel as DistributedDataParallel

if not _TYPE_CHECKING:

    def __getattr__(name):
        from ..._missing import missing

        raise missing(__name__, name)
