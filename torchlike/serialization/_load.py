"""torch.load: an object from a file that PyTorch or torchlike has written."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from .._core import devices
from ._archive import SCRIPT, Reader, damaged
from ._legacy import read_legacy
from ._locations import Restore, restorer
from ._memory import Memory
from ._names import Global, as_storage_class, inward, storage_dtype
from ._options import LoadEndianness, get_default_load_endianness, skipping
from ._rebuild import KNOWN, Stored, missing_kind
from ._safe import lookup
from ._safe_unpickler import PROMISE, SafeUnpickler, Survey, global_text, todays

__all__ = ["get_unsafe_globals_in_checkpoint", "load"]

Unpickle = Callable[[Any, Callable[[tuple[Any, ...]], Any]], Any]


def load(
    f: Any,
    map_location: object = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Loads an object that ``torch.save`` has saved, here or in PyTorch.

    Unless ``weights_only`` is off, the file may hold tensors, numbers, texts and containers of these, and what
    ``torch.serialization.add_safe_globals`` allows. No code from the file runs.

    Args:
        f: a path, or a file opened for reading that can seek.
        map_location: a device for all tensors, a dictionary of locations as the file names them, or a function of memory and
            location that returns memory. Default: the devices they were saved from.
        pickle_module: the module that unpickles, where ``weights_only`` is off. Default: ``pickle``.
        weights_only: False runs whatever the file says; only for files from people whom you trust.
        mmap: map the file rather than read it: tensors are read when they are used. For paths only.
        pickle_load_args: ``encoding``, of texts that Python 2 wrote.

    Raises:
        pickle.UnpicklingError: the file asks for something that is not allowed. RuntimeError: it is damaged, or a device is not there.

    >>> import io
    >>> file = io.BytesIO()
    >>> torch.save(torch.nn.Linear(2, 1).state_dict(), file)
    >>> position = file.seek(0)
    >>> list(torch.load(file))
    ['weight', 'bias']

    Source: https://docs.pytorch.org/docs/stable/generated/torch.load.html
    """
    safe = _is_safe(weights_only, pickle_module)
    encoding = pickle_load_args.setdefault("encoding", "utf-8")
    unpickle: Unpickle
    if safe:
        unpickle = lambda file, persistent: SafeUnpickler(file, persistent, encoding=encoding).load()  # noqa: E731
    else:
        unpickle = _unpickler(pickle_module or pickle, pickle_load_args)
    restore = restorer(map_location)
    is_path = isinstance(f, (str, os.PathLike))
    if mmap and not is_path:
        raise ValueError("f must be a file path in order to use the mmap argument")
    with _opened(f) as file:
        if _is_zipfile(file):
            return _from_archive(Reader(file, os.fspath(f) if mmap else None), unpickle, restore, safe)
        if mmap:
            raise RuntimeError(
                f"mmap can only be used with files saved with `torch.save({f}, _use_new_zipfile_serialization=True), please torch.save "
                "your checkpoint with this option in order to use mmap."
            )
        _check_not_empty(file, safe)

        def placed(data: np.ndarray, mention: tuple[Any, ...]) -> Stored:
            return Stored(restore(Memory(data, devices.as_device("cpu")), mention[3]), storage_dtype(mention[1]))

        return read_legacy(file, unpickle, placed, safe)


_FORCE, _FORCE_NOT = "TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"


def _is_safe(weights_only: bool | None, pickle_module: object) -> bool:
    """Whether only safe objects may be loaded. The call decides, then the environment; otherwise it is True without a module."""
    forced, forced_not = (
        os.environ.get(name, "0").lower() in ("1", "y", "yes", "true") for name in (_FORCE, _FORCE_NOT)
    )
    if forced and forced_not:
        raise RuntimeError(f"Only one of `{_FORCE}` or `{_FORCE_NOT}` should be set, but both were set.")
    if forced:
        safe = True
    elif weights_only is None and forced_not:
        warnings.warn(
            f"Environment variable {_FORCE_NOT} detected, since the`weights_only` argument was not explicitly passed to `torch.load`, "
            "forcing weights_only=False.",
            UserWarning,
            stacklevel=3,
        )
        safe = False
    else:
        safe = pickle_module is None if weights_only is None else weights_only
    if safe and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    return safe


def load_memory(b: bytes) -> Any:
    """Called by PyTorch's pickles for a storage or a tensor: reads bytes that ``torch.save`` has written."""

    restore = restorer(None)

    def placed(data: np.ndarray, mention: tuple[Any, ...]) -> Stored:
        return Stored(restore(Memory(data, devices.as_device("cpu")), mention[3]), storage_dtype(mention[1]))

    file, options = io.BytesIO(b), {"encoding": "utf-8"}
    return (
        load(file, weights_only=False) if _is_zipfile(file) else read_legacy(file, _unpickler(pickle, options), placed)
    )


@contextlib.contextmanager
def _opened(f: object) -> Iterator[object]:
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            yield file
        return
    for method in ("seek", "tell", "read"):
        if not hasattr(f, method):
            raise AttributeError(
                f"'{type(f).__name__}' object has no attribute '{method}'. You can only torch.load from a file that is seekable. "
                "Please pre-load the data into a buffer like io.BytesIO and try to load from it instead."
            )
    yield f


def _is_zipfile(file: Any) -> bool:
    """Whether a file, which is read from where it stands and put back there, is one of PyTorch's newer format."""
    start = file.tell()
    head = file.read(4)
    file.seek(start)
    return head == b"PK\x03\x04"


def _check_not_empty(file: Any, safe: bool) -> None:
    start = file.tell()
    if not file.read(1):
        raise EOFError(*(() if safe else ("Ran out of input",)))
    file.seek(start)


def _from_archive(reader: Reader, unpickle: Unpickle, restore: Restore, safe: bool) -> Any:
    # TorchScript archives are zip files too, and have their constants in a pickle of this name.
    own = SCRIPT in reader
    if own and not safe:
        warnings.warn(
            "'torch.load' received a zip file that looks like a TorchScript archive dispatching to 'torch.jit.load' (call "
            "'torch.jit.load' directly to silence this warning)",
            stacklevel=3,
        )
        return script_of(_objects(reader, unpickle, restore))
    if own or "constants.pkl" in reader:
        raise RuntimeError(
            f"Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``. {PROMISE}"
            if safe
            else "the file is a TorchScript archive (torch.jit.save): torchlike does not support TorchScript; "
            "torch.jit.load reads its weights"
        )
    return _objects(reader, unpickle, restore)


def load_script(f: Any, map_location: Any, find_class: Callable[[str, str], Any]) -> tuple[Any, dict[str, str]]:
    """The object in a TorchScript archive, and the texts of its code. ``find_class`` gives all classes but those of tensors."""

    class Unpickler(pickle.Unpickler):
        def __init__(self, file: Any, persistent: Callable[[tuple[Any, ...]], Any]) -> None:
            super().__init__(file, encoding="utf-8")
            self._persistent = persistent

        def persistent_load(self, pid: Any) -> Any:
            return self._persistent(pid)

        def find_class(
            self, module_name: str, name: str
        ) -> Any:  # nothing else is found, so no code of the file's choice runs
            return (
                as_storage_class(module_name, name) or KNOWN.get((module_name, name)) or find_class(module_name, name)
            )

    with _opened(f) as file:
        reader: Any = Reader(file, None)
        root = _objects(reader, lambda text, persistent: Unpickler(text, persistent).load(), restorer(map_location))
        return root, _code_of(file)


MOST_CODE = 2**26  # bytes of all texts: archives compress them, so a short file could hold any number


def _code_of(file: Any) -> dict[str, str]:
    with zipfile.ZipFile(file) as archive:
        found = [each for each in archive.infolist() if each.filename.endswith(".py") and "/code/" in each.filename]
        if sum(each.file_size for each in found) > MOST_CODE:
            raise RuntimeError(f"the code of the TorchScript archive has more than {MOST_CODE:,} bytes")
        return {each.filename.partition("/")[2]: archive.read(each).decode("utf-8", "replace") for each in found}


def is_script(f: Any) -> bool:
    """Whether a file is an archive in TorchScript. It is put back to where it stands."""
    with _opened(f) as file:
        if not _is_zipfile(file):
            return False
        start = file.tell()  # pyright: ignore[reportAttributeAccessIssue]
        found = "constants.pkl" in Reader(file, None)
        file.seek(start)  # pyright: ignore[reportAttributeAccessIssue]
        return found


def load_own_script(f: object, map_location: object) -> Any:
    """What ``torch.jit.save`` of torchlike has written; None for another file, which is put back to where it stands."""
    with _opened(f) as file:
        start = file.tell()  # pyright: ignore[reportAttributeAccessIssue]
        if _is_zipfile(file) and SCRIPT in (reader := Reader(file, None)):
            return _objects(reader, _unpickler(pickle, {"encoding": "utf-8"}), restorer(map_location))
        file.seek(start)  # pyright: ignore[reportAttributeAccessIssue]
        return None


def script_of(content: Mapping[str, Any]) -> Any:
    """The script in such a file."""
    return import_module("torchlike.jit").as_script(content["script"])


def _objects(reader: Reader, unpickle: Unpickle, restore: Restore) -> Any:
    if "byteorder" in reader:
        order = reader.read("byteorder")
    else:  # PyTorch before 2.1 wrote no byte order
        expected = get_default_load_endianness()
        native = sys.byteorder.encode()
        order = b"big" if expected is LoadEndianness.BIG else native if expected is LoadEndianness.NATIVE else b"little"
        reader.check_names()
    if order not in (b"little", b"big"):
        raise ValueError("Unknown endianness type: " + order.decode("ascii", "replace"))
    memories: dict[str, Memory] = {}

    def persistent(mention: tuple[Any, ...]) -> Stored:
        _, kind, key, location, count = mention
        dtype = storage_dtype(kind)
        if key not in memories:
            byte_count = count * (1 if dtype is None else dtype.itemsize)
            data = np.zeros(byte_count, np.uint8) if skipping.on else reader.array(f"data/{key}")
            memory = Memory(data, devices.as_device("cpu"), swapped=order.decode() != sys.byteorder)
            if data.size != byte_count:
                raise damaged(f"reading file data/{key}", f"a storage of {byte_count} bytes has {data.size}")
            memories[key] = restore(memory, location)
        return Stored(memories[key], dtype)

    return unpickle(io.BytesIO(reader.read("data.pkl")), persistent)


def _unpickler(module: Any, options: Mapping[str, object]) -> Unpickle:
    """An unpickler of the module for which PyTorch's names mean torchlike's classes and functions."""

    class Unpickler(module.Unpickler):
        def __init__(self, file: Any, persistent: Callable[[tuple[Any, ...]], Any]) -> None:
            super().__init__(file, **options)
            self._persistent = persistent

        def persistent_load(self, pid: Any) -> Any:
            kind = pid[0].decode("ascii") if isinstance(pid[0], bytes) else pid[0]
            if kind not in ("storage", "module"):
                raise RuntimeError(f"Unknown saved id type: {kind}")
            return self._persistent(pid)

        def find_class(self, module_name: str, name: str) -> Any:
            storage = as_storage_class(module_name, name)
            if storage is not None:
                return storage
            replacement = KNOWN.get((module_name, name)) or missing_kind(module_name, name)
            if isinstance(replacement, NotImplementedError):
                raise replacement
            if replacement is not None:
                return replacement
            try:
                return inward(module_name, name)
            except LookupError:
                return super().find_class(module_name, name)

    return lambda file, persistent: Unpickler(file, persistent).load()


def get_unsafe_globals_in_checkpoint(f: object) -> list[str]:
    """The names in a file that ``torch.load`` does not allow at present. No code from the file runs.

    Args:
        f: as for ``torch.load``.

    >>> import io, fractions
    >>> file = io.BytesIO()
    >>> torch.save(fractions.Fraction(1, 2), file)
    >>> position = file.seek(0)
    >>> torch.serialization.get_unsafe_globals_in_checkpoint(file)
    ['fractions.Fraction']

    Source: https://docs.pytorch.org/docs/stable/notes/serialization.html
    """
    with _opened(f) as file:
        if not _is_zipfile(file):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        text = Reader(file).read("data.pkl")
    names = _Names(io.BytesIO(text), lambda mention: None)
    names.load()
    return list(dict.fromkeys(names.unsafe))


class _Names(Survey):
    """Reads a pickle to collect the names that are not allowed."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.unsafe: list[str] = []

    def named(self, module: str, name: str) -> Global:
        module, name = todays(module, name)
        try:
            lookup(module, name, self.users)
        except (KeyError, PermissionError):
            self.unsafe.append(global_text(module, name))
        return super().named(module, name)
