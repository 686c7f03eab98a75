"""Processes that the standard library starts anew: ``import torch`` must mean torchlike there before their first import."""

from __future__ import annotations

from multiprocessing import spawn
from pathlib import Path

__all__ = ["tell_children"]

PARENT = str(Path(__file__).parents[2])


class Aliased:
    """What a child unpickles first of all. Its parent's ``sys.path`` is not yet set there, so the text says where torchlike is."""

    def __reduce__(self) -> tuple[object, ...]:
        text = f"import sys; sys.path.append({PARENT!r}); import torchlike; sys.path.pop(); torchlike.alias()"
        return exec, (text,)


def tell_children() -> None:
    """Adds the alias to what the standard library tells its children, by ``spawn`` and by ``forkserver``."""
    told = spawn.get_preparation_data

    def get_preparation_data(name: str) -> dict[str, object]:
        data = told(name)
        if name == "ignore":  # the fork server asks: it would import the program before it hears of the alias
            return {key: value for key, value in data.items() if not key.startswith(("init_main", "main_path"))}
        return {"torchlike": Aliased(), **data}

    spawn.get_preparation_data = get_preparation_data  # pyright: ignore[reportAttributeAccessIssue]
