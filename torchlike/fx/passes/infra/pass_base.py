"""PassBase: a change of a graph, with checks before and after."""

from __future__ import annotations

import abc
from typing import NamedTuple

from ....nn import Module
from ...graph_module import GraphModule

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """The module that a pass returns, and whether the pass has changed anything."""

    graph_module: Module
    modified: bool


class PassBase(abc.ABC):
    """A pass: a subclass defines ``call``, and may define ``requires`` and ``ensures``, which check the module before and after."""

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """Changes the module."""

    def requires(self, graph_module: GraphModule) -> None:  # noqa: B027
        """Raises if the pass cannot run on this module."""

    def ensures(self, graph_module: GraphModule) -> None:  # noqa: B027
        """Raises if the pass has not done what it should."""
