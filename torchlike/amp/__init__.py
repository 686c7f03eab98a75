"""torch.amp: mixed precision, by autocast and gradient scaling."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from .autocast_mode import (
    autocast as autocast,
    custom_bwd as custom_bwd,
    custom_fwd as custom_fwd,
    is_autocast_available as is_autocast_available,
)
from .grad_scaler import GradScaler as GradScaler

if not _TYPE_CHECKING:  # a type checker should still know which names there are

    def __getattr__(name):
        from .._missing import missing

        raise missing(__name__, name)
