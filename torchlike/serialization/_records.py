"""Archives record by record, by the names under which programs open them in PyTorch: ``torch.serialization._open_zipfile_writer``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, BinaryIO, TypeAlias

from ._archive import Reader, Writer
from ._load import _opened
from ._save import name_of_archive, opened_to_write

__all__ = ["PyTorchFileReader", "PyTorchFileWriter", "_open_file_like", "_open_zipfile_reader", "_open_zipfile_writer"]

_File: TypeAlias = str | os.PathLike[str] | BinaryIO


class PyTorchFileReader:
    """Reads the records of an archive that is open."""

    def __init__(self, file: object) -> None:
        self._reader = Reader(file)

    def get_record(self, name: str) -> bytes:
        """The bytes of a record.

        Raises:
            RuntimeError: there is none of this name, or it is damaged.
        """
        return self._reader.read(name)

    def has_record(self, name: str) -> bool:
        """Whether there is a record of this name."""
        return name in self._reader

    def get_all_records(self) -> list[str]:
        """The names of all records."""
        return self._reader.names()

    def get_record_offset(self, name: str) -> int:
        """The position in the file at which the bytes of a record begin."""
        return self._reader.offset(name)

    def get_record_size(self, name: str) -> int:
        """How many bytes a record has."""
        return self._reader.size(name)


class PyTorchFileWriter:
    """Writes the records of an archive, and at the end those that each archive has."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._writer, self._names = Writer(file, name), set[str]()

    def archive_name(self) -> str:
        """The folder in the archive in which the records are."""
        return self._writer.name

    def write_record(self, name: str, data: Any, size: int) -> None:
        """Writes the first ``size`` bytes of a string, of bytes or of a storage."""
        text = data.encode() if isinstance(data, str) else data
        content = bytes(text) if hasattr(text, "untyped") else text  # a storage
        self._names.add(name)
        self._writer.write(name, memoryview(content)[:size])

    def write_record_metadata(self, name: str, size: int) -> None:
        """Leaves room for a record."""
        self.write_record(name, bytes(size), size)

    def get_all_written_records(self) -> set[str]:
        """The names of the records so far."""
        return set(self._names)

    def write_end_of_file(self) -> None:
        """Ends the archive."""
        for name, data in (("version", b"3\n"), ("byteorder", sys.byteorder.encode())):
            if name not in self._names:
                self._writer.write(name, data)
        self._writer.close()


def _open_file_like(name_or_buffer: _File, mode: str) -> AbstractContextManager[Any]:
    """A file to read or write, given by its path or open already."""
    return opened_to_write(name_or_buffer) if "w" in mode else _opened(name_or_buffer)


@contextmanager
def _open_zipfile_reader(name_or_buffer: _File) -> Iterator[PyTorchFileReader]:
    """An archive to read."""
    with _opened(name_or_buffer) as file:
        yield PyTorchFileReader(file)


@contextmanager
def _open_zipfile_writer(name_or_buffer: _File) -> Iterator[PyTorchFileWriter]:
    """An archive to write; it is complete when the context is left."""
    with opened_to_write(name_or_buffer) as file:
        writer = PyTorchFileWriter(file, name_of_archive(name_or_buffer))
        yield writer
        writer.write_end_of_file()
