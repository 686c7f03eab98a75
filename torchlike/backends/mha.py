"""torch.backends.mha: the switch of PyTorch's fast path of attention. It is stored and not read: here all attention is one program."""

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]

_enabled = True


def get_fastpath_enabled() -> bool:
    """What was set last; True at first.

    >>> torch.backends.mha.get_fastpath_enabled()
    True
    """
    return _enabled


def set_fastpath_enabled(value: bool) -> None:
    """Stores the switch."""
    global _enabled
    _enabled = value
