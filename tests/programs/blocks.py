"""Runs the programs of this folder in a framework's namespace, and returns what they print."""

import contextlib
import importlib
import io
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tests.programs import quickstart, random_blocks, training


def printed(torch: ModuleType, program: Callable[..., object], *args: object) -> str:
    """Returns what a program prints."""
    torch.manual_seed(0)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        program(*args)
    return out.getvalue()


def everything(torch: ModuleType) -> dict[str, Any]:
    data = importlib.import_module(f"{torch.__name__}.utils.data")
    sets = [data.TensorDataset(*map(torch.tensor, each)) for each in training.sample()]
    return {
        "quickstart": printed(torch, quickstart.run, torch, *sets, data.DataLoader, 2),
        "random": {name: printed(torch, block, torch) for name, block in random_blocks.BLOCKS.items()},
    }
