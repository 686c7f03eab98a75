"""What a namespace says of a name that it has not: whether PyTorch has it, and which names are near."""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["missing", "pytorch_names"]


@cache
def pytorch_names() -> dict[str, Any]:
    """PyTorch's public names by namespace, and under "version" the PyTorch they were recorded from."""
    return json.loads(Path(__file__).with_name("pytorch_names.json").read_text("utf-8"))


def missing(module: str, name: str) -> AttributeError:
    """The error for ``module.name``. Read only when a name is missing, so that nothing else waits for it."""
    if name.startswith("_"):  # programs ask for these to find out about a module, and expect no explanation
        return AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
    return AttributeError(_words(module, name), name=name)


@cache
def _words(module: str, name: str) -> str:
    from difflib import get_close_matches

    names = pytorch_names()
    words = f"module {module!r} has no attribute {name!r}"
    if name in names.get(module.replace("torchlike", "torch", 1), ()):
        words += f": PyTorch {names['version']} has it, torchlike does not support it yet"
    near = get_close_matches(name, (each for each in vars(sys.modules[module]) if not each.startswith("_")))
    return f"{words}. Near it are: {', '.join(near)}" if near else words
