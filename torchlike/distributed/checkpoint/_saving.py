"""save, load and async_save: they write state dictionaries to a folder, and read them into existing tensors."""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..._core.tensor import Tensor, from_value
from ...autograd.grad_mode import no_grad
from ...engine.value import Value
from .._groups import ProcessGroup, group_of
from .._objects import objects_of_all
from ..distributed_c10d import get_world_size, is_initialized
from ..tensor._pieces import PieceOfDTensor, local_of
from ._pieces import (
    Saved,
    Snapshots,
    array_of,
    data_name,
    joined,
    next_number,
    read,
    snapshot,
    value_of,
    write_data,
    write_metadata,
)

__all__ = ["CheckpointException", "FileSystemReader", "FileSystemWriter", "Metadata", "async_save", "load", "save"]

PathLike = str | os.PathLike[str]


class CheckpointException(BaseException):
    """A checkpoint could not be written or read. ``failures`` has the exception and its traceback by rank."""

    def __init__(self, msg: str, failures: dict[int, Any]) -> None:
        super().__init__(msg, failures)
        self.failures = failures

    def __str__(self) -> str:
        lines = [f"CheckpointException ranks:{self.failures.keys()}\n"]
        for rank, (error, _) in self.failures.items():
            lines.append(f"Traceback (most recent call last): (RANK {rank})\n")
            lines.append("".join(traceback.format_exception(error)))
        return "".join(lines)


class Metadata(NamedTuple):
    """The names of the tensors and of the other values that were saved."""

    tensors: tuple[str, ...]
    others: tuple[str, ...]
    saved: dict[str, Saved] = {}
    values: dict[str, Any] = {}
    number: int = 0


class _OnDisk:
    """A folder, whose name is a ``checkpoint_id``."""

    def __init__(self, path: PathLike, **options: object) -> None:
        self.path = Path(path)


class FileSystemWriter(_OnDisk):
    """The folder that ``save`` writes to. PyTorch's other options are accepted and have no effect."""


class FileSystemReader(_OnDisk):
    """The folder that ``load`` reads from."""


def _folder(checkpoint_id: PathLike | None, storage: object, planner: object) -> Path:
    if planner is not None:
        raise NotImplementedError("torchlike does not support planners of torch.distributed.checkpoint")
    if storage is not None and not isinstance(storage, _OnDisk):
        raise NotImplementedError(f"torchlike does not support {type(storage).__name__} as storage of a checkpoint")
    if checkpoint_id is not None:
        return Path(checkpoint_id)
    if storage is None:
        raise RuntimeError("`checkpoint_id` must be specified if storage_reader/storage_writer is None.")
    return storage.path


def _state_of(obj: Any) -> Any:
    """Returns the state dictionary of an object that has one, and other objects themselves."""
    stateful = callable(getattr(obj, "state_dict", None)) and callable(getattr(obj, "load_state_dict", None))
    return obj.state_dict() if stateful else obj


def _walk(name: str, entry: object, visit: Callable[[str, Any], Any]) -> Any:
    """Replaces the leaves of nested dictionaries and lists by the results of ``visit(name, leaf)``. Names are joined by dots."""
    if isinstance(entry, dict):
        for key in list(entry):
            entry[key] = _walk(f"{name}.{key}" if name else str(key), entry[key], visit)
        return entry
    if isinstance(entry, (list, tuple)) and any(isinstance(element, (Tensor, dict, list)) for element in entry):
        parts = [_walk(f"{name}.{number}", element, visit) for number, element in enumerate(entry)]
        return type(entry)(parts)
    return visit(name, entry)


def _copied(entry: object) -> Any:
    """Copies nested dictionaries, so that the caller's are not changed."""
    return {key: _copied(value) for key, value in entry.items()} if isinstance(entry, dict) else entry


_PLAIN = (bool, int, float, str, type(None))


def _to_json(name: str, entry: object) -> Any:
    if isinstance(entry, tuple):
        return {"tuple": [_to_json(name, element) for element in entry]}
    if isinstance(entry, list):
        return [_to_json(name, element) for element in entry]
    if type(entry) in _PLAIN:
        return entry
    raise NotImplementedError(f"torchlike does not support {type(entry).__name__} in a checkpoint: {name!r} is one")


def _from_json(entry: object) -> Any:
    if isinstance(entry, dict):
        return tuple(map(_from_json, entry["tuple"]))
    return list(map(_from_json, entry)) if isinstance(entry, list) else entry


def _own_pieces(piece: PieceOfDTensor) -> Callable[[], Iterator[tuple[tuple[int, ...], np.ndarray]]]:
    """What this process saves of a DTensor: its piece, unless an earlier process has the same."""
    spec = piece._spec
    if spec.partial():
        raise NotImplementedError("torchlike does not support DTensors with terms in a checkpoint yet")
    cut = {n for _, n in spec.cut()}
    first = all(n in cut or not spec.mesh.get_local_rank(n) for n in range(spec.mesh.ndim))
    own = snapshot(piece.detach().to_local().clone()._value())  # pyright: ignore[reportAttributeAccessIssue]
    begin = tuple(spec.begin(dim) for dim in range(len(spec.shape)))
    has_some = first and 0 not in spec.local_shape()
    return lambda: iter([(begin, array) for _, array in own()] if has_some else [])


def _prepare_writing(state_dict: dict[str, Any], folder: Path, group: ProcessGroup | None) -> Callable[[], Metadata]:
    """Collects the present values. Returns a function that writes them. All processes of a group call it."""
    tensors: Snapshots = {}
    others: dict[str, Any] = {}
    rank = 0 if group is None else group.rank()

    def visit(name: str, entry: object) -> Any:
        if isinstance(entry, Tensor):
            dtype = str(entry.dtype).removeprefix("torch.").removeprefix("torchlike.")
            shape = tuple(entry.shape)
            if isinstance(entry, PieceOfDTensor):
                tensors[name] = dtype, shape, _own_pieces(entry)
            elif rank == 0:  # what is no DTensor is the same in all processes
                tensors[name] = dtype, shape, snapshot(entry._value())
        else:
            others[name] = _to_json(name, entry)
        return entry

    for key, value in state_dict.items():
        _walk(str(key), _copied(_state_of(value)), visit)
    values = json.loads(json.dumps(others))  # a value that JSON cannot represent raises before anything is written
    number = next_number(folder)
    if group is not None:
        number = objects_of_all(group, number)[0]

    def run() -> Metadata:
        saved = write_data(folder, rank, number, tensors)
        if group is None:
            write_metadata(folder, [data_name(0, number)], saved, values)
        return Metadata(tuple(tensors), tuple(others), saved, values, number)

    return run


def _finish(metadata: Metadata | BaseException, folder: Path, group: ProcessGroup) -> Metadata:
    """Makes the data files of all processes the checkpoint, after all are written.

    Raises:
        CheckpointException: a process could not write its file.
    """
    failed = metadata if isinstance(metadata, BaseException) else None
    parts = objects_of_all(group, (None if failed is None else repr(failed), getattr(metadata, "saved", {})))
    failures = {rank: (RuntimeError(words), None) for rank, (words, _) in enumerate(parts) if words is not None}
    if failures:
        raise CheckpointException("save", failures) from failed
    assert isinstance(metadata, Metadata)
    tensors = joined([saved for _, saved in parts])
    if group.rank() == 0:
        names = [data_name(rank, metadata.number) for rank in range(group.size())]
        write_metadata(folder, names, tensors, metadata.values)
    objects_of_all(group, None)  # nobody goes on before the checkpoint is there
    return metadata._replace(tensors=tuple(tensors))


def _together(process_group: object, no_dist: bool) -> ProcessGroup | None:
    if no_dist or not is_initialized() or get_world_size(process_group) < 2:
        return None
    return group_of(process_group)


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: PathLike | None = None,
    storage_writer: object = None,
    planner: object = None,
    process_group: object = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Metadata:
    """Saves tensors, numbers and strings in dictionaries and lists, and the state of objects that have a ``state_dict``.

    A tensor that is spread is written in its pieces. Several processes call it together, and have to see the same folder. An interrupted
    save leaves the previous checkpoint intact.

    Args:
        checkpoint_id: the folder.
        storage_writer: a ``FileSystemWriter`` for the folder, instead of ``checkpoint_id``.

    Raises:
        RuntimeError: no folder is given. NotImplementedError: other objects, or a planner.
        CheckpointException: a process could not write.

    Source: https://docs.pytorch.org/docs/stable/distributed.checkpoint.html#torch.distributed.checkpoint.state_dict_saver.save
    """
    folder, group = _folder(checkpoint_id, storage_writer, planner), _together(process_group, no_dist)
    run = _prepare_writing(state_dict, folder, group)
    if group is None:
        return run()
    try:
        written: Metadata | BaseException = run()
    except Exception as error:  # the others must not wait for this process
        written = error
    return _finish(written, folder, group)


_writing: list[Future[Metadata]] = []


def async_save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: PathLike | None = None,
    storage_writer: object = None,
    planner: object = None,
    process_group: object = None,
    async_checkpointer_type: object = None,
    async_stager: object = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Future[Metadata]:
    """Saves on a thread, like ``save``. It writes the values that the tensors hold at the call; values are immutable, so none is copied.

    A save waits until the one before it has finished. In several processes it has finished when the function returns.

    Source: https://docs.pytorch.org/docs/stable/distributed.checkpoint.html#torch.distributed.checkpoint.state_dict_saver.async_save
    """
    folder, group = _folder(checkpoint_id, storage_writer, planner), _together(process_group, no_dist)
    if group is not None:
        done: Future[Metadata] = Future()
        try:
            done.set_result(save(state_dict, checkpoint_id=folder, process_group=process_group))
        except CheckpointException as error:
            done.set_exception(error)
        return done
    run = _prepare_writing(state_dict, folder, group)
    while _writing:
        _writing.pop().exception()
    pool = ThreadPoolExecutor(1, "checkpoint")
    future = pool.submit(run)
    pool.shutdown(wait=False)
    _writing.append(future)
    return future


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: PathLike | None = None,
    storage_reader: object = None,
    planner: object = None,
    process_group: object = None,
    no_dist: bool = False,
) -> None:
    """Loads a checkpoint into the tensors of a state dictionary, each in its layout. Other entries are replaced.

    An object that has ``load_state_dict`` receives its state by that method.

    Args:
        checkpoint_id: the folder.
        storage_reader: a ``FileSystemReader`` for the folder, instead of ``checkpoint_id``.

    Raises:
        CheckpointException: there is no checkpoint, a name is missing from it, or a tensor has another shape.

    Source: https://docs.pytorch.org/docs/stable/distributed.checkpoint.html#torch.distributed.checkpoint.state_dict_loader.load
    """
    folder = _folder(checkpoint_id, storage_reader, planner)
    try:
        _load(state_dict, folder)
    except (OSError, RuntimeError, ValueError) as error:
        if isinstance(error, NotImplementedError):
            raise
        raise CheckpointException("load", {0: (error, error.__traceback__)}) from error


def _load_piece(files: Sequence[Path], saved: Saved, piece: PieceOfDTensor) -> None:
    """Reads this process's piece of a DTensor."""
    spec = piece._spec
    index = tuple(slice(spec.begin(dim), None) for dim in range(len(spec.shape)))
    shape = spec.stored_shape()
    into = local_of(piece)
    into.copy_(from_value(Value.on_host(array_of(files, saved, index, shape), into._aval.placement)))


def _load(state_dict: dict[str, Any], folder: Path) -> None:
    files, tensors, others = read(folder)
    checked: list[tuple[Tensor, Any]] = []

    def check(name: str, entry: object) -> Any:
        if name not in (tensors if isinstance(entry, Tensor) else others):
            raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")
        if not isinstance(entry, Tensor):
            return _from_json(others[name])
        saved = tensors[name]
        if saved.shape != tuple(entry.shape):
            raise ValueError(
                f"Size mismatch between saved torch.Size({list(saved.shape)}) and current: {entry.shape} for {name}"
            )
        checked.append((entry, saved))
        return entry

    states = {key: _state_of(state) for key, state in state_dict.items()}
    loaded = {key: _walk(str(key), _copied(state), check) for key, state in states.items()}
    with no_grad():
        for tensor, saved in checked:
            if isinstance(tensor, PieceOfDTensor):
                _load_piece(files, saved, tensor)
                continue
            value = value_of(files, saved, tensor._value())
            tensor.copy_(from_value(value))  # pyright: ignore[reportAttributeAccessIssue]
    for key, state in loaded.items():
        if states[key] is not state_dict[key]:
            state_dict[key].load_state_dict(state)
        elif isinstance(state_dict[key], dict):
            _merge_into(state_dict[key], state)
        else:
            state_dict[key] = state


def _merge_into(target: dict[Any, Any], loaded: dict[Any, Any]) -> None:
    for key, state in loaded.items():
        if isinstance(state, dict):
            _merge_into(target[key], state)
        elif not isinstance(state, Tensor):
            target[key] = state
