"""class GraphNode: makes a Module a node of flax's graphs without importing flax.

flax takes a quarter of a second to import, and most programs never use it. A program that passes a module to flax has imported flax, so
``_graph.py``, which connects the two, is imported after flax: see ``connect``.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import FunctionType
from typing import Any

from ._after_import import after_import

__all__ = ["SHOWN", "Adapter", "GraphNode", "connect", "flax", "is_foreign_module", "use", "wrappers"]

# The attribute in which a module keeps the variables that flax saw last. flax distinguishes the nodes of a graph by ``id``, but holds no
# references to variables while it traverses a model. If a variable were freed then, another could get its id, and flax would take the two
# for tied parameters.
SHOWN = "_shown_to_flax"


# The class that wraps a flax module, ``nn.Flax``. It is a subclass of Module, which imports this file, so its own file assigns it here.
wrappers: list[Any] = []


class Adapter:
    """The functions of flax that modules use. The fields are empty until the program has imported flax."""

    # Methods of ``nnx.Module`` that PyTorch does not have. A module has them unless its class, its members or its attributes have the name.
    methods: Mapping[str, FunctionType] = {}
    module_kind: type | None = None  # the metaclass of ``nnx.Module``

    def show(self, cls: type) -> None:
        """Registers with flax how modules of this class are split and built."""

    def forget(self, cls: type) -> None:
        """Removes flax's own registration of the class."""

    def render(self, module: object, path: object, subtree_renderer: object) -> Any:
        """Draws a module for flax's ``nnx.display``."""
        raise AssertionError("only flax's renderer asks for this")


class _Connection:
    adapter: Adapter = Adapter()
    base: type  # of all modules


flax = _Connection()


def connect(base: type) -> None:
    """Makes a class and its subclasses known to flax as soon as the program has imported it."""
    flax.base = base
    after_import("flax.nnx", lambda: import_module(f"{__package__}._graph"))


def use(adapter: Adapter) -> None:
    """Registers the existing classes with flax, and from then on each new class. ``_graph.py`` calls this when it has been imported."""
    flax.adapter = adapter
    classes = [flax.base]
    while classes:
        current = classes.pop()
        adapter.show(current)
        classes += type.__subclasses__(current)


def is_foreign_module(value: object) -> bool:
    """Whether a value is a module of flax itself, and not one of torchlike's."""
    # Tests the metaclass, which only flax's own modules have. That is faster than isinstance with an abstract class.
    kind = flax.adapter.module_kind
    return kind is not None and isinstance(type(value), kind)


class GraphNode:
    """The attributes that flax expects of a module. This is a plain class, so that a user's classes may have any metaclass."""

    _known_to_flax = None  # the class itself, once flax knows it; a subclass inherits another value
    _pytree__is_pytree = False  # NNX's modules may be pytrees too; ours are only graph nodes

    def __init_subclass__(cls, **kwargs: object) -> None:
        kind = flax.adapter.module_kind
        # A class may have both nn.Module and nnx.Module for bases, in this order.
        from_flax = kind is not None and isinstance(cls, kind)
        super().__init_subclass__(**{"pytree": False, **kwargs} if from_flax else kwargs)
        if from_flax:
            flax.adapter.forget(cls)  # flax has just registered the class in its own way
        flax.adapter.show(cls)

    def _check_valid_context(self, error_msg: object) -> None:
        """flax checks here whether the module belongs to the current trace. Tensors make this check themselves."""

    def __treescope_repr__(self, path: object, subtree_renderer: object) -> Any:
        return flax.adapter.render(self, path, subtree_renderer)
