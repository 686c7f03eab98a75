"""torch._inductor: PyTorch's compiler. torchlike compiles by XLA, and keeps the settings that programs make."""

from __future__ import annotations

from typing import Any, NoReturn

from . import config as config, utils as utils

__all__ = ["aot_compile", "compile", "list_mode_options", "list_options"]


def compile(gm: object, example_inputs: object, options: object = None) -> NoReturn:
    """Raises: XLA compiles what runs, without being told."""
    raise NotImplementedError("torchlike does not support torch._inductor.compile: XLA compiles what runs")


def aot_compile(gm: object, args: object, kwargs: object = None, *, options: object = None) -> NoReturn:
    """Raises: there is no code to be written into a file."""
    raise NotImplementedError("torchlike does not support torch._inductor.aot_compile")


def list_mode_options(mode: str | None = None, dynamic: bool | None = None) -> dict[str, Any]:
    """The settings that a mode stands for: none, since every mode is compiled alike."""
    return {}


def list_options() -> list[str]:
    """The names of the settings."""
    return sorted(config.get_config_copy())
