"""Settings of ``torch.save`` and ``torch.load`` that few programs change, and the locations of storages in files."""

from __future__ import annotations

import mmap
import threading
from collections.abc import Callable
from enum import Enum
from typing import TypeAlias

from .._core import devices
from ..ops.shape.storages import TypedStorage, UntypedStorage

__all__ = [
    "LoadEndianness", "SourceChangeWarning", "default_restore_location", "get_crc32_options", "get_default_load_endianness",
    "get_default_mmap_options", "location_tag", "normalize_storage_type", "register_package", "set_crc32_options",
    "set_default_load_endianness", "set_default_mmap_options", "skip_data",
]  # fmt: skip

Storage: TypeAlias = UntypedStorage | TypedStorage


class SourceChangeWarning(Warning):
    """PyTorch once warned so of modules whose source had changed since they were saved."""


class LoadEndianness(Enum):
    """The order of bytes in files that do not name theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


class _Skipping(threading.local):
    """Of each thread: whether the elements of storages are left out of files."""

    on = False
    materializes = False


skipping = _Skipping()


class skip_data:
    """Within it ``save`` leaves room for the elements of tensors and writes none, and ``load`` reads none.

    Args:
        materialize_fake_tensors: fake tensors are saved as plain ones, with room for their elements.

    >>> import io
    >>> file = io.BytesIO()
    >>> with torch.serialization.skip_data():
    ...     torch.save(torch.ones(2), file)
    >>> torch.load(io.BytesIO(file.getvalue()))
    tensor([0., 0.])

    Source: https://docs.pytorch.org/docs/stable/notes/serialization.html#torch.serialization.skip_data
    """

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self) -> None:
        self._before = skipping.on, skipping.materializes
        skipping.on, skipping.materializes = True, self.materialize_fake_tensors

    def __exit__(self, *exception: object) -> None:
        skipping.on, skipping.materializes = self._before


class _Settings:
    endianness: LoadEndianness | None = None
    crc32 = True
    flags = mmap.MAP_PRIVATE


def get_default_load_endianness() -> LoadEndianness | None:
    """The value that ``set_default_load_endianness`` has set; None by default."""
    return _Settings.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Keeps the order of bytes for files that do not name theirs.

    Raises:
        TypeError: it is none.
    """
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _Settings.endianness = endianness


def get_crc32_options() -> bool:
    """The value that ``set_crc32_options`` has set; True by default."""
    return _Settings.crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Whether ``torch.save`` writes checksums, which ``torch.load`` checks, or zeros in their place."""
    _Settings.crc32 = bool(compute_crc32)


def get_default_mmap_options() -> int:
    """The flags with which files are mapped."""
    return _Settings.flags


class set_default_mmap_options:
    """Sets the flags with which ``torch.load(mmap=True)`` maps files, for good or within a block.

    Raises:
        ValueError: neither ``mmap.MAP_PRIVATE`` nor ``mmap.MAP_SHARED``. NotImplementedError: the latter.
    """

    def __init__(self, flags: int) -> None:
        if flags not in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, "
                f"but got {flags}"
            )
        if flags == mmap.MAP_SHARED:
            raise NotImplementedError(
                "torchlike does not support mmap.MAP_SHARED: what is written does not go into the file"
            )
        self.before, _Settings.flags = _Settings.flags, flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        _Settings.flags = self.before


Tagger: TypeAlias = Callable[[Storage], str | None]
Deserializer: TypeAlias = Callable[[Storage, str], Storage | None]
_packages: list[tuple[int, Tagger, Deserializer]] = []


def register_package(priority: int, tagger: Tagger, deserializer: Deserializer) -> None:
    """Registers how ``location_tag`` names the place of a storage, and how ``default_restore_location`` brings one back there.

    Args:
        priority: the least comes first.
        tagger: the place of a storage in words, or None for storages that are others' to name.
        deserializer: the storage at a place, or None for places that are others'.
    """
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda package: package[0])


def location_tag(storage: Storage) -> str:
    """The place of a storage, as files name it.

    >>> torch.serialization.location_tag(torch.ones(1).untyped_storage())
    'cpu'
    """
    for _, tagger, _ in _packages:
        place = tagger(storage)
        if place:
            return place
    return str(storage.device)


def default_restore_location(storage: Storage, location: str) -> Storage:
    """A storage at the place that a file names.

    Raises:
        RuntimeError: there is no such place.

    >>> storage = torch.ones(1).untyped_storage()
    >>> torch.serialization.default_restore_location(storage, "cpu") is storage
    True
    """
    for _, _, deserializer in _packages:
        result = deserializer(storage, location)
        if result is not None:
            return result
    if str(location).partition(":")[0] not in devices.PLATFORMS:
        raise RuntimeError(
            f"don't know how to restore data location of torch.storage.UntypedStorage (tagged with {location})"
        )
    if storage.device == devices.as_device(str(location)):
        return storage
    untyped = storage.untyped().to(device=location)
    return untyped if isinstance(storage, UntypedStorage) else TypedStorage(wrap_storage=untyped, dtype=storage.dtype)


def normalize_storage_type(storage_type: type) -> type:
    """The class itself: there is one for each dtype."""
    return storage_type
