"""Processes that the standard library starts anew: ``import torch`` must mean torchlike there before their first import."""

from __future__ import annotations

from multiprocessing import spawn
from pathlib import Path

__all__ = ["tell_children"]

PARENT = str(Path(__file__).parents[2])


class Aliased:
    """The first object that a child process unpickles. The child has not set ``sys.path`` yet, so the path of torchlike is in it."""

    def __reduce__(self) -> tuple[object, ...]:
        text = f"import sys; sys.path.append({PARENT!r}); import torchlike; sys.path.pop(); torchlike.alias()"
        return exec, (text,)


def tell_children() -> None:
    """Adds the alias to what the standard library tells its children, by ``spawn`` and by ``forkserver``."""
    original = spawn.get_preparation_data

    def get_preparation_data(name: str) -> dict[str, object]:
        data = original(name)
        if name == "ignore":  # the fork server asks: it would import the program before it hears of the alias
            return {key: value for key, value in data.items() if not key.startswith(("init_main", "main_path"))}
        return {"torchlike": Aliased(), **data}

    spawn.get_preparation_data = get_preparation_data  # pyright: ignore[reportAttributeAccessIssue]
