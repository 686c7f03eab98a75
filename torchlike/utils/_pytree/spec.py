"""TreeSpec: the structure of a tree without its leaves."""

from __future__ import annotations

import dataclasses
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from .nodes import (
    BUILTIN_TYPES,
    CONSTANT_NODES,
    STANDARD_DICT_TYPES,
    SUPPORTED_NODES,
    Context,
    PyTree,
    _get_node_type,
    _namedtuple_kind,
)

IsLeaf: TypeAlias = Callable[..., bool] | None


@dataclasses.dataclass(init=False, frozen=True, eq=True, repr=False)
class TreeSpec:
    """The structure of a tree: the type of its root, the root's context, and the structures of its children."""

    type: Any
    _context: Context
    _children: list[TreeSpec]
    num_nodes: int = dataclasses.field(init=False, compare=False)
    num_leaves: int = dataclasses.field(init=False, compare=False)
    num_children: int = dataclasses.field(init=False, compare=False)

    def __init__(self, type: object, context: Context, children_specs: list[TreeSpec]) -> None:
        set_field = object.__setattr__
        set_field(self, "type", type)
        set_field(self, "_context", context)
        set_field(self, "_children", children_specs)
        set_field(self, "num_nodes", 1 + sum(child.num_nodes for child in children_specs))
        set_field(self, "num_leaves", 1 if type is None else sum(child.num_leaves for child in children_specs))
        set_field(self, "num_children", len(children_specs))

    def __repr__(self) -> str:
        return self._text(0)

    def _text(self, indent: int) -> str:
        if self.type is None:
            return "*"
        indent += 2
        below = (",\n" + " " * indent).join([child._text(indent) for child in self._children])
        return f"TreeSpec({self.type.__name__}, {self._context}, [{below}])"

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (self.type, self._context, self._children) == (other.type, other._context, other._children)

    def __hash__(self) -> int:
        kind = self.type
        if kind is defaultdict:
            context = (self._context[0], tuple(self._context[1]))
        elif kind in STANDARD_DICT_TYPES:
            context = tuple(self._context)
        elif kind is None or kind in BUILTIN_TYPES or kind in CONSTANT_NODES:
            context = self._context
        else:  # the class may be a user's, whose context may have any type
            context = None
        return hash((kind, context, tuple(self._children)))

    @property
    def context(self) -> Context:
        """The context of the root, which it needs besides its children: for example the keys of a dictionary."""
        return self._context

    @property
    def children_specs(self) -> list[TreeSpec]:
        """The structures below the root."""
        import warnings

        warnings.warn(
            "`treespec.children_specs` is deprecated. Use `treespec.child(index)` to access a single child, or "
            "`treespec.children()` to get all children.",
            FutureWarning,
            stacklevel=2,
        )
        return self._children

    def is_leaf(self) -> bool:
        """Whether the tree is one leaf and nothing else."""
        return self.num_nodes == 1 and self.num_leaves == 1

    def children(self) -> list[TreeSpec]:
        """The structures below the root."""
        return self._children.copy()

    def child(self, index: int) -> TreeSpec:
        """The structure of one child."""
        return self._children[index]

    def flatten_up_to(self, tree: object) -> list[object]:
        """Returns the parts of ``tree`` where this structure has leaves.

        Raises:
            ValueError: the top of the tree does not have this structure.
        """
        subtrees: list[object] = []
        self._collect(tree, subtrees)
        return subtrees

    def _collect(self, tree: object, subtrees: list[object]) -> None:
        if self.type is None:
            subtrees.append(tree)
            return
        if self.type in BUILTIN_TYPES:
            children = self._as_builtin(tree)
        else:
            children = self._as_custom(tree)
        for spec, child in zip(self._children, children, strict=True):
            spec._collect(child, subtrees)

    def _as_custom(self, tree: object) -> Iterable[object]:
        kind = type(tree)
        if kind is not self.type:
            raise ValueError(f"Type mismatch; expected {self.type!r}, but got {kind!r}.")
        children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        children = list(children)
        if len(children) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
        if context != self._context:
            raise ValueError(f"Node context mismatch for custom node type {self.type!r}.")
        return children

    def _as_builtin(self, tree: Any) -> Iterable[object]:
        kind, own_kind = _get_node_type(tree), self.type
        both_dicts = own_kind in STANDARD_DICT_TYPES and kind in STANDARD_DICT_TYPES
        if kind is not own_kind and not both_dicts:
            raise ValueError(f"Node type mismatch; expected {own_kind!r}, but got {kind!r}.")
        if len(tree) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(tree)}.")
        if both_dicts:  # the order of the keys is that of this structure
            keys = self._context[1] if own_kind is defaultdict else self._context
            missing, extra = set(keys).difference(tree), set(tree).difference(keys)
            if missing or extra:
                words = (f"; missing key(s): {missing}" if missing else "") + (
                    f"; extra key(s): {extra}" if extra else ""
                )
                raise ValueError(f"Node keys mismatch{words}.")
            return [tree[key] for key in keys]
        children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if own_kind is not deque and context != self._context:
            raise ValueError(
                f"Node context mismatch for node type {own_kind!r}; expected {self._context!r}, but got {context!r}."
            )
        return children

    def unflatten(self, leaves: Iterable[object]) -> PyTree:
        """Returns the tree with these leaves.

        Raises:
            ValueError: the number of leaves is wrong.
        """
        leaves = leaves if isinstance(leaves, (list, tuple)) else list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that holds "
                f"{self.num_leaves} items ({self})."
            )
        return self._build(iter(leaves))

    def _build(self, leaves: Any) -> PyTree:
        if self.type is None:
            return next(leaves)
        children = [child._build(leaves) for child in self._children]
        return SUPPORTED_NODES[self.type].unflatten_fn(children, self._context)

    def _spread(self, tree: object, is_leaf: IsLeaf) -> list[Any] | None:
        """Returns a leaf of a shallower tree for each leaf of this structure, repeated for all leaves below it. None if it does not fit."""
        kind = _get_node_type(tree)
        if kind not in SUPPORTED_NODES or (is_leaf is not None and is_leaf(tree)):
            return [tree] * self.num_leaves
        if self.type is None or kind is not self.type:
            return None
        children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        children = list(children)
        if len(children) != self.num_children or context != self._context:
            return None
        values: list[object] = []
        for spec, child in zip(self._children, children, strict=True):
            below = spec._spread(child, is_leaf)
            if below is None:
                return None
            values += below
        return values


PyTreeSpec = TreeSpec


class LeafSpec(TreeSpec):
    """The structure of a leaf; ``treespec.is_leaf()`` says whether one is."""

    def __new__(cls, *args: object, **kwargs: object) -> LeafSpec:
        import warnings

        warnings.warn(
            "`isinstance(treespec, LeafSpec)` is deprecated, use `isinstance(treespec, TreeSpec) and treespec.is_leaf()` instead.",
            FutureWarning,
            stacklevel=2,
        )
        return object.__new__(cls)

    def __init__(self) -> None:
        super().__init__(None, None, [])

    def __reduce__(self) -> tuple[object, ...]:
        return treespec_leaf, ()


_LEAF_SPEC: Any = object.__new__(LeafSpec)
_LEAF_SPEC.__init__()


def treespec_leaf() -> TreeSpec:
    """The structure of a leaf."""
    return _LEAF_SPEC


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    """The structure of a tuple of trees with these structures."""
    children = list(iterable)
    if any(not isinstance(child, TreeSpec) for child in children):
        raise ValueError(f"Expected a tuple of TreeSpec values, got: {children!r}.")
    return TreeSpec(tuple, None, children)


def treespec_dict(
    mapping: Mapping[object, TreeSpec] | Iterable[tuple[object, TreeSpec]] = (), /, **kwargs: TreeSpec
) -> TreeSpec:
    """The structure of a dictionary of trees with these structures."""
    children = dict(mapping, **kwargs)
    if any(not isinstance(child, TreeSpec) for child in children.values()):
        raise ValueError(f"Expected a dictionary of TreeSpec values, got: {children!r}.")
    return TreeSpec(dict, list(children), list(children.values()))


def _is_constant_holder(spec: TreeSpec) -> bool:
    """Whether a structure is that of a constant: see ``register_constant``."""
    from .nodes import ConstantNode

    return isinstance(spec._context, ConstantNode)


def _retrieve_constant(spec: TreeSpec) -> Any:
    """The constant that a structure is of."""
    assert _is_constant_holder(spec)
    return spec.unflatten([])


__all__ = ["TreeSpec", "LeafSpec", "PyTreeSpec", "_namedtuple_kind"]
