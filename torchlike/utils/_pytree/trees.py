"""Functions over trees: they return leaves, rebuild trees from leaves, and map functions over leaves."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from .keys import KeyPath
from .nodes import SUPPORTED_NODES, PyTree, _get_node_type
from .spec import _LEAF_SPEC, IsLeaf, TreeSpec

FnAny: TypeAlias = Callable[..., object]
MapOnlyFn: TypeAlias = Callable[[FnAny], FnAny]
TypeAny: TypeAlias = type | tuple[type, ...] | types.UnionType


def tree_is_leaf(tree: object, is_leaf: IsLeaf = None) -> bool:
    """Whether an object is a leaf: its class is not registered as a node, or ``is_leaf`` returns True."""
    return (is_leaf is not None and is_leaf(tree)) or _get_node_type(tree) not in SUPPORTED_NODES


def _is_leaf(tree: object, is_leaf: IsLeaf = None) -> bool:
    import warnings

    warnings.warn(
        "torch.utils._pytree._is_leaf is private and will be removed in a future release. Please use "
        "torch.utils._pytree.tree_is_leaf instead.",
        FutureWarning,
        stacklevel=2,
    )
    return tree_is_leaf(tree, is_leaf)


def tree_flatten(tree: object, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """Returns the leaves of a tree in order, and its structure.

    >>> from torchlike.utils._pytree import tree_flatten
    >>> tree_flatten({"a": 1, "b": (2, 3)})
    ([1, 2, 3], TreeSpec(dict, ['a', 'b'], [*,
      TreeSpec(tuple, None, [*,
        *])]))
    """
    leaves: list[Any] = []
    return leaves, _flatten_into(tree, is_leaf, leaves)


def _flatten_into(tree: object, is_leaf: IsLeaf, leaves: list[object]) -> TreeSpec:
    kind = _get_node_type(tree)
    node = SUPPORTED_NODES.get(kind)
    if node is None or (is_leaf is not None and is_leaf(tree)):
        leaves.append(tree)
        return _LEAF_SPEC
    children, context = node.flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten_into(child, is_leaf, leaves) for child in children])


def tree_unflatten(leaves: Iterable[object], treespec: TreeSpec) -> PyTree:
    """The tree with these leaves: the opposite of ``tree_flatten``."""
    _check_spec(treespec)
    return treespec.unflatten(leaves)


def _check_spec(treespec: object) -> None:
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}.")


def tree_iter(tree: object, is_leaf: IsLeaf = None) -> Iterable[Any]:
    """Iterates over the leaves of a tree in order."""
    node = None if is_leaf is not None and is_leaf(tree) else SUPPORTED_NODES.get(_get_node_type(tree))
    if node is None:
        yield tree
    else:
        for child in node.flatten_fn(tree)[0]:
            yield from tree_iter(child, is_leaf)


def tree_leaves(tree: object, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a tree in order."""
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree: object, is_leaf: IsLeaf = None) -> TreeSpec:
    """The structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def arg_tree_leaves(*args: object, **kwargs: object) -> list[Any]:
    """The leaves of all arguments of a call."""
    return tree_leaves((*args, *kwargs.values()))


def tree_map(func: Callable[..., object], tree: object, *rests: object, is_leaf: IsLeaf = None) -> PyTree:
    """Replaces each leaf by ``func`` of it and of the corresponding parts of the other trees.

    >>> from torchlike.utils._pytree import tree_map
    >>> tree_map(lambda x, y: x + y, [1, (2, 3)], [10, (20, 30)])
    [11, (22, 33)]
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(list(map(func, leaves, *[spec.flatten_up_to(other_tree) for other_tree in rests])))


def tree_map_(func: Callable[..., object], tree: object, *rests: object, is_leaf: IsLeaf = None) -> PyTree:
    """Calls ``func`` like ``tree_map``, for its side effects on the leaves. Returns the tree itself."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for _ in map(func, leaves, *[spec.flatten_up_to(other_tree) for other_tree in rests]):
        pass
    return tree


def map_only(type_or_types_or_pred: TypeAny | Callable[..., bool], /) -> MapOnlyFn:
    """Wraps a function so that it returns objects of other types, or objects that do not satisfy the predicate, unchanged."""
    chosen = type_or_types_or_pred
    if isinstance(chosen, (type, tuple, types.UnionType)):
        matches = lambda x: isinstance(x, chosen)  # noqa: E731
    elif callable(chosen):
        matches = chosen
    else:
        raise TypeError("Argument must be a type, a tuple of types, or a callable.")

    def wrap(func: Callable[..., object]) -> FnAny:
        @functools.wraps(func)
        def inner(x: object) -> Any:
            return func(x) if matches(x) else x

        return inner

    return wrap


def tree_map_only(
    type_or_types_or_pred: TypeAny | Callable[..., bool],
    /,
    func: Callable[..., object],
    tree: object,
    is_leaf: IsLeaf = None,
) -> PyTree:
    """As ``tree_map``, for leaves of these types, or leaves for which a predicate is true."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: TypeAny | Callable[..., bool],
    /,
    func: Callable[..., object],
    tree: object,
    is_leaf: IsLeaf = None,
) -> PyTree:
    """As ``tree_map_``, for leaves of these types, or leaves for which a predicate is true."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[..., bool], tree: object, is_leaf: IsLeaf = None) -> bool:
    """Whether ``pred`` holds for every leaf."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[..., bool], tree: object, is_leaf: IsLeaf = None) -> bool:
    """Whether ``pred`` holds for a leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types: TypeAny, /, pred: Callable[..., object], tree: object, is_leaf: IsLeaf = None) -> bool:
    """Whether ``pred`` holds for every leaf of these types."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types: TypeAny, /, pred: Callable[..., object], tree: object, is_leaf: IsLeaf = None) -> bool:
    """Whether ``pred`` holds for a leaf of these types."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def _broadcast_to_and_flatten(tree: object, treespec: TreeSpec, is_leaf: IsLeaf = None) -> list[object] | None:
    """Returns one leaf of a tree, which may be shallower, for each leaf of the structure; None if it does not fit."""
    _check_spec(treespec)
    return treespec._spread(tree, is_leaf)


# ---- with paths


def tree_flatten_with_path(tree: object, is_leaf: IsLeaf = None) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """As ``tree_flatten``, each leaf in a pair with the path to it."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree: object, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """The leaves of a tree, each in a pair with the path to it.

    Raises:
        ValueError: a class was registered without ``flatten_with_keys_fn``.
    """
    return list(_generate_key_paths((), tree, is_leaf))


def _generate_key_paths(key_path: KeyPath, tree: object, is_leaf: IsLeaf = None) -> Iterable[tuple[KeyPath, object]]:
    if is_leaf is not None and is_leaf(tree):
        yield key_path, tree
        return
    kind = _get_node_type(tree)
    node = SUPPORTED_NODES.get(kind)
    if node is None:
        yield key_path, tree
        return
    if node.flatten_with_keys_fn is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a flatten_with_keys_fn argument to "
            "register_pytree_node."
        )
    for key, child in node.flatten_with_keys_fn(tree)[0]:
        yield from _generate_key_paths((*key_path, key), child, is_leaf)


def tree_map_with_path(func: Callable[..., object], tree: object, *rests: object, is_leaf: IsLeaf = None) -> PyTree:
    """As ``tree_map``, with the path to each leaf as the first argument of ``func``."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    paths, leaves = [path for path, _ in pairs], [leaf for _, leaf in pairs]
    return spec.unflatten(list(map(func, paths, leaves, *[spec.flatten_up_to(other_tree) for other_tree in rests])))
