"""torch.utils.model_zoo: the former place of the functions in ``torch.hub`` that download weights."""

from __future__ import annotations

from importlib import import_module
from typing import Any

try:
    from tqdm import tqdm as tqdm
except ImportError:  # tqdm is optional: only libraries that show progress with it need this name
    tqdm = None

__all__ = ["load_url"]


def load_url(*args: object, **kwargs: object) -> dict[str, Any]:
    """``torch.hub.load_state_dict_from_url`` under its former name."""
    # Imported by name, because ``hub`` is in a layer above this one.
    return import_module(f"{__package__.rpartition('.')[0]}.hub").load_state_dict_from_url(*args, **kwargs)  # pyright: ignore[reportOptionalMemberAccess]
