"""torch.distributed.checkpoint: state that is saved in one layout over devices and loaded in another."""

from typing import TYPE_CHECKING

from ..._missing import explain_missing
from ._saving import (
    CheckpointException as CheckpointException,
    FileSystemReader as FileSystemReader,
    FileSystemWriter as FileSystemWriter,
    Metadata as Metadata,
    async_save as async_save,
    load as load,
    save as save,
)

if TYPE_CHECKING:  # imported at its first use
    from . import state_dict as state_dict, stateful as stateful

__all__ = ["CheckpointException", "FileSystemReader", "FileSystemWriter", "Metadata", "async_save", "load", "save"]

explain_missing(__name__)
