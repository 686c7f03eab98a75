"""torch.__future__: settings that decide how converting a module replaces its parameters."""

from __future__ import annotations

__all__ = [
    "get_overwrite_module_params_on_conversion", "get_swap_module_params_on_conversion", "set_overwrite_module_params_on_conversion",
    "set_swap_module_params_on_conversion",
]  # fmt: skip


class _Choices:
    overwrite = swap = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Keeps the choice whether ``Module.to`` makes new parameters. It keeps the objects in any case, and changes what they hold.

    Raises:
        NotImplementedError: True.
    """
    if value:
        raise NotImplementedError(
            "torchlike does not support new parameters on conversion: parameters stay the same objects"
        )


def get_overwrite_module_params_on_conversion() -> bool:
    """False."""
    return _Choices.overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Whether ``load_state_dict(assign=True)`` keeps the module's tensors as objects, which become what is loaded; ``Module.to`` does in
    any case.
    """
    _Choices.swap = bool(value)


def get_swap_module_params_on_conversion() -> bool:
    """The value that ``set_swap_module_params_on_conversion`` has set."""
    return _Choices.swap
