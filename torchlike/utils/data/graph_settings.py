"""What a loader sets in a graph of pipes: shares, shuffling and seeds (``torch.utils.data.graph_settings``)."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

from ...random_streams.rng import Generator
from . import _draw
from .graph import Graph, Pipe, traverse_dps

__all__ = ["apply_random_seed", "apply_sharding", "apply_shuffle_settings", "get_all_graph_pipes"]


def get_all_graph_pipes(graph: Graph) -> list[Pipe]:
    """The pipes of a graph, each once, a pipe before those from which it takes samples."""
    found: dict[int, Pipe] = {}
    for number, (pipe, behind) in graph.items():
        found.setdefault(number, pipe)
        for each in get_all_graph_pipes(behind):
            found.setdefault(id(each), each)
    return list(found.values())


def apply_sharding(datapipe: Any, num_of_instances: int, instance_id: int, sharding_group: object = None) -> Any:
    """Tells the pipes that share out samples (``sharding_filter``) of how many instances this is which.

    Raises:
        RuntimeError: samples would be shared out twice.
    """
    _share(traverse_dps(datapipe), num_of_instances, instance_id, sharding_group, None)
    return datapipe


def _share(graph: Graph, count: int, number: int, group: object, before: object) -> None:
    for pipe, behind in graph.values():
        applied = before
        if inspect.ismethod(getattr(pipe, "apply_sharding", None)):
            if before is not None:
                raise RuntimeError(
                    "Sharding twice on a single pipeline is likely unintended and will cause data loss. "
                    f"Sharding already applied to {before} while trying to apply to {pipe}"
                )
            # A program's own pipe may take two arguments only.
            three = len(inspect.signature(pipe.apply_sharding).parameters) >= 3
            pipe.apply_sharding(count, number, **({"sharding_group": group} if three else {}))
            applied = pipe
        _share(behind, count, number, group, applied)


def _is_random(pipe: Any) -> bool:
    return inspect.ismethod(getattr(pipe, "set_seed", None))


def apply_shuffle_settings(datapipe: Any, shuffle: bool | None = None) -> Any:
    """Switches the pipes that shuffle on or off. Where there is none to switch on, one is added at the end, with a warning."""
    if shuffle is None:
        return datapipe
    shufflers = [
        pipe
        for pipe in get_all_graph_pipes(traverse_dps(datapipe))
        if _is_random(pipe) and inspect.ismethod(getattr(pipe, "set_shuffle", None))
    ]
    if not shufflers and shuffle:
        warnings.warn(
            "`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one at the end. "
            "Be aware that the default buffer size might not be sufficient for your task.",
            stacklevel=2,
        )
        datapipe = datapipe.shuffle()
        shufflers = [datapipe]
    for pipe in shufflers:
        pipe.set_shuffle(shuffle)
    return datapipe


def apply_random_seed(datapipe: Any, rng: Generator) -> Any:
    """Gives each pipe that draws random numbers a seed from a generator."""
    for pipe in get_all_graph_pipes(traverse_dps(datapipe)):
        if _is_random(pipe):
            pipe.set_seed(_draw.seed(rng))
    return datapipe
