"""The keywords that a layer's constructor passes to the functions that make its tensors."""

from __future__ import annotations

from typing import Any

__all__ = ["factory_kwargs"]

_KNOWN = ("device", "dtype", "memory_format")


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """Returns the keywords for a function that makes a tensor. A keyword ``factory_kwargs`` may hold some of them.

    >>> torch.nn.factory_kwargs({"device": "cpu", "factory_kwargs": {"dtype": torch.float64}})
    {'dtype': torch.float64, 'device': 'cpu'}

    Raises:
        TypeError: a keyword is unknown, or is given twice.
    """
    if kwargs is None:
        return {}
    unknown = kwargs.keys() - {*_KNOWN, "factory_kwargs"}
    if unknown:
        raise TypeError(f"unexpected kwargs {unknown}")
    keywords = dict(kwargs.get("factory_kwargs", {}))
    for name in _KNOWN:
        if name in kwargs:
            if name in keywords:
                raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
            keywords[name] = kwargs[name]
    return keywords
