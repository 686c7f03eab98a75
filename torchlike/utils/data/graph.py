"""The pipes behind a pipe (``torch.utils.data.graph``)."""

from __future__ import annotations

from .datapipes.datapipe import IterDataPipe, MapDataPipe

__all__ = ["traverse", "traverse_dps"]

Pipe = IterDataPipe | MapDataPipe
Graph = dict[int, tuple[Pipe, "Graph"]]


def traverse_dps(datapipe: object) -> Graph:
    """The graph of pipes that ends in a pipe: from the id of a pipe to the pipe and the graph of those from which it takes samples.

    Attributes are searched, and lists, tuples, sets and dictionaries within them. A pipe appears where it is first met.

    >>> from torchlike.utils.data.datapipes.iter import IterableWrapper
    >>> from torchlike.utils.data.graph import traverse_dps
    >>> (pipe, behind), = traverse_dps(IterableWrapper(range(3)).batch(2)).values()
    >>> pipe, [each for each, _ in behind.values()]
    (BatcherIterDataPipe, [IterableWrapperIterDataPipe])
    """
    return _graph(datapipe, set())


def traverse(datapipe: object, only_datapipe: bool | None = None) -> Graph:
    """An older name of ``traverse_dps``."""
    import warnings

    warnings.warn(
        "`traverse` function is deprecated and will be removed after 1.13. Please use `traverse_dps` instead.",
        FutureWarning,
        stacklevel=2,
    )
    return traverse_dps(datapipe)


def _graph(datapipe: object, met: set[int]) -> Graph:
    if not isinstance(datapipe, (IterDataPipe, MapDataPipe)):
        raise RuntimeError(f"Expected `IterDataPipe` or `MapDataPipe`, but {type(datapipe)} is found")
    if id(datapipe) in met:
        return {}
    met.add(id(datapipe))
    behind: Graph = {}
    for source in _sources(list(vars(datapipe).values())):
        behind |= _graph(source, met)
    return {id(datapipe): (datapipe, behind)}


def _sources(value: object) -> list[Pipe]:
    if isinstance(value, (IterDataPipe, MapDataPipe)):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, (list, tuple, set, frozenset)):
        return []
    return [source for each in value for source in _sources(each)]
