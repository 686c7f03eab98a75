"""torch.utils.model_zoo: the former name of what downloads weights; it is in ``torch.hub``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

try:
    from tqdm import tqdm as tqdm
except ImportError:  # only the libraries that draw progress with it need it
    tqdm = None

__all__ = ["load_url"]


def load_url(*args: object, **kwargs: object) -> dict[str, Any]:
    """``torch.hub.load_state_dict_from_url`` under its former name."""
    # By name: ``hub`` is in a layer above this one.
    return import_module(f"{__package__.rpartition('.')[0]}.hub").load_state_dict_from_url(*args, **kwargs)  # pyright: ignore[reportOptionalMemberAccess]
