"""torch.utils.data._utils.collate: see ``torch.utils.data.default_collate``."""

from ..collate import (
    collate as collate,
    default_collate as default_collate,
    default_collate_fn_map as default_collate_fn_map,
    default_convert as default_convert,
)
