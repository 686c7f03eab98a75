"""Gives Tensor its methods: the one place that writes names onto the class."""

from __future__ import annotations

from typing import Any

from . import autograd, ops
from ._core.tensor import Tensor
from .ops._declare import CATALOG, COMPOSITES
from .ops._forms import FUNCTIONS, inplace_form


def attach(name: str, method: Any) -> None:
    """Puts a method onto Tensor; refuses a name that has an owner."""
    if name in Tensor.__dict__:
        raise ValueError(f"Tensor.{name} exists already")
    setattr(Tensor, name, method)


for record in [*CATALOG.values(), *COMPOSITES.values()]:
    if "method" in record.forms:
        attach(record.name, FUNCTIONS[record.name])
    if "inplace" in record.forms:
        attach(record.name + "_", inplace_form(record.name))
