"""What is known of the node that runs, for the nodes that are made of it: where its code stands, and what a program noted."""

from __future__ import annotations

import copy
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from .._core.signatures import Kwargs
from .node import Node

__all__ = [
    "annotate",
    "format_stack",
    "get_current_meta",
    "has_preserved_node_meta",
    "preserve_node_meta",
    "set_current_meta",
    "set_stack_trace",
]


class _State:
    """Whether new nodes take over what is known, and what that is."""

    preserves = False
    meta: Kwargs = {}


# What a new node takes over. Values and shapes are left out, since the new node may compute others.
_TAKEN_OVER = (
    "nn_module_stack", "torch_fn", "source_fn_stack", "original_aten", "recompute", "ac_graph_id", "quantization_tag",
    "_numeric_debug_handle", "custom", "partitioner_tag",
)  # fmt: skip


@contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """Within it new nodes take over what is known of the node that runs.

    Args:
        enable: False: they do not, and what was known is known again afterwards.
    """
    before = _State.preserves, _State.meta
    _State.preserves, _State.meta = enable, dict(_State.meta)
    try:
        yield
    finally:
        _State.preserves, _State.meta = before


def has_preserved_node_meta() -> bool:
    """Whether new nodes take over what is known of the node that runs."""
    return _State.preserves


def get_current_meta() -> Kwargs:
    """What is known of the node that runs."""
    return _State.meta


@contextmanager
def set_current_meta(node: Node, pass_name: str = "") -> Iterator[None]:
    """Within it this is the node that runs, where ``preserve_node_meta`` is on."""
    if not (_State.preserves and node.meta):
        yield
        return
    before, _State.meta = _State.meta, dict(node.meta)
    try:
        yield
    finally:
        _State.meta = before


def set_stack_trace(stack: list[str]) -> None:
    """Sets where the code of the nodes stands that are made from here on."""
    if _State.preserves and stack:
        _State.meta["stack_trace"] = "".join(stack)


def format_stack() -> list[str]:
    """Where the code of the node that runs stands, or else this call."""
    if _State.preserves:
        return [str(_State.meta.get("stack_trace", ""))]
    return traceback.format_list(traceback.extract_stack()[:-1])


@contextmanager
def annotate(annotation_dict: Kwargs) -> Iterator[None]:
    """Within it new nodes have these entries in ``node.meta["custom"]``, where ``preserve_node_meta`` is on."""
    before = _State.meta
    noted = before.get("custom")
    _State.meta = before | {"custom": (noted if isinstance(noted, dict) else {}) | annotation_dict}
    try:
        yield
    finally:
        _State.meta = before


def take_over(node: Node) -> None:
    """Gives a new node what is known of the node that runs."""
    if "stack_trace" in _State.meta:
        node.meta["stack_trace"] = _State.meta["stack_trace"]
    for name in _TAKEN_OVER:
        if name in _State.meta:
            node.meta[name] = copy.copy(_State.meta[name])
