"""The container of a checkpoint: a zip archive of uncompressed records, each beginning at a multiple of 64 bytes."""

from __future__ import annotations

import itertools
import mmap
import struct
import zipfile
from copy import copy
from typing import Any, BinaryIO

import numpy as np

ALIGNMENT = 64  # the alignment of records in the file, so that a mapped file can be read in place
SCRIPT = "torchlike.jit"  # the record by which a file of jit.save is known
NEWEST = 10  # the newest known version of the format
_HEADER = 30  # the length of a record's header, up to its name
_ADVICE = (
    "If you are seeing this error, there is a high likelihood that your checkpoint file is corrupted. This can happen if the "
    "checkpoint was not saved properly, was transferred incorrectly, or the file was modified after saving."
)


_END = 22  # bytes of the shortest archive


def damaged(doing: str, why: object) -> RuntimeError:
    """The error for an archive that cannot be read, with PyTorch's text."""
    return RuntimeError(f"PytorchStreamReader failed {doing}: {why}. {_ADVICE}")


class _Seekable:
    """A file of the program's own that has no more methods than PyTorch calls, with what the zip module asks for besides."""

    def __init__(self, file: Any) -> None:
        self.read, self.tell, self._file = file.read, file.tell, file

    def seek(self, offset: int, whence: int = 0) -> int:
        self._file.seek(offset, whence)
        return self._file.tell()

    def seekable(self) -> bool:
        return True


class Reader:
    """The records of an archive, by their names.

    Args:
        file: a file that is open for reading, at any position.
        path: the path of the file, if it shall be mapped into memory.
    """

    def __init__(self, file: Any, path: str | None = None) -> None:
        try:
            self._zip = zipfile.ZipFile(file if hasattr(file, "seekable") else _Seekable(file))
            records = self._zip.infolist()
        except Exception as error:  # the exceptions that the zip module raises for files that are no archives
            why: object = error
            if isinstance(error, zipfile.BadZipFile):
                size = file.seek(0, 2)
                why = "not a ZIP archive" if size < _END else "failed finding central directory"
                why = f"{why}. This is an internal miniz error"
            raise damaged("reading zip archive", why) from error
        if not records:
            raise damaged("reading zip archive", "the archive is empty")
        self.name, inside, _ = records[0].filename.partition("/")
        if not inside:
            raise RuntimeError(f"file in archive is not in a subdirectory: {records[0].filename}")
        self._names = {info.filename for info in records}
        self._check_places(records)
        self._check_version()
        self._map: mmap.mmap | None = None
        if path is not None:
            with open(path, "rb") as mapped:
                self._map = mmap.mmap(mapped.fileno(), 0, access=mmap.ACCESS_READ)

    def _check_places(self, records: list[zipfile.ZipInfo]) -> None:
        """Raises if records overlap: a short file could contain many large records that way."""
        ends = sorted(info.header_offset for info in records)
        ends.append(self._zip.start_dir)
        self._ends = dict(itertools.pairwise(ends))
        for info in records:
            if info.header_offset + _HEADER + info.compress_size > self._ends[info.header_offset]:
                raise damaged("reading zip archive", f"{info.filename} reaches into what comes after it")
        if len(self._ends) < len(records):
            raise damaged("reading zip archive", "two records are in one place")

    def _check_version(self) -> None:
        """Raises for a format that is newer than the known ones."""
        record = next((name for name in (".data/version", "version") if name in self), None)
        version = b"1" if record is None else self.read(record).strip()
        if not version.isdigit():
            raise damaged("reading its version", f"{version[:20]!r} is none")
        if int(version) > NEWEST:
            raise RuntimeError(
                f"Attempted to read a PyTorch file with version {int(version)}, but the maximum supported version for reading is {NEWEST}."
            )

    def check_names(self) -> None:
        """Raises if a record's header and the archive's list have different names: a record that seems to be missing may exist."""
        for info in self._zip.infolist():
            try:
                self._zip.open(info).close()
            except Exception as error:
                raise damaged(f"reading file {info.filename}", error) from error

    def __contains__(self, name: str) -> bool:
        return f"{self.name}/{name}" in self._names

    def read(self, name: str) -> bytes:
        """The bytes of a record. They are compared with its checksum."""
        # A copy, because the checksum may be removed from it below.
        info = copy(self._info(name))
        if not info.CRC:  # PyTorch has an option to write zeros in place of checksums
            del info.CRC
        try:
            with self._zip.open(info) as record:
                data = record.read()
        except Exception as error:
            raise damaged(f"reading file {name}", error) from error
        if len(data) != info.file_size:
            raise damaged(f"reading file {name}", f"{len(data)} bytes are there, {info.file_size} were written")
        return data

    def array(self, name: str) -> np.ndarray:
        """The bytes of a record as an array, from the mapped file if there is one."""
        if self._map is None:
            return np.frombuffer(self.read(name), np.uint8)
        info = self._info(name)
        start = self._start(info)
        if start is None:
            raise damaged(f"reading file {name}", "it is not where the archive says")
        return np.frombuffer(self._map, np.uint8, info.file_size, start) if info.file_size else np.empty(0, np.uint8)

    def names(self) -> list[str]:
        """The names of all records."""
        return [info.filename.removeprefix(f"{self.name}/") for info in self._zip.infolist()]

    def size(self, name: str) -> int:
        """How many bytes a record has."""
        return self._info(name).file_size

    def offset(self, name: str) -> int:
        """The position in the file at which the bytes of a record begin."""
        info, file = self._info(name), self._zip.fp
        assert file is not None
        file.seek(info.header_offset)
        name_length, padding = struct.unpack("<26xHH", file.read(_HEADER))
        return info.header_offset + _HEADER + name_length + padding

    def _start(self, info: zipfile.ZipInfo) -> int | None:
        """The position of a record's data in the mapped file; None unless the record's header agrees with the archive's list.

        The data itself is not read, so there is no other check.
        """
        assert self._map is not None
        header = self._map[info.header_offset : info.header_offset + _HEADER]
        if len(header) < _HEADER or header[:4] != b"PK\3\4":
            return None
        flags, name_length, padding = struct.unpack("<6xH18xHH", header)
        name = self._map[info.header_offset + _HEADER : info.header_offset + _HEADER + name_length]
        if name.decode("utf-8" if flags & 0x800 else "cp437", "replace") != info.orig_filename:
            return None
        start = info.header_offset + _HEADER + name_length + padding
        end = start + info.file_size
        follows = self._map[end : end + 2] == b"PK"  # the beginnings of all records that may follow
        return start if follows and end <= self._ends[info.header_offset] else None

    def _info(self, name: str) -> zipfile.ZipInfo:
        if name not in self:
            raise damaged(f"locating file {name}", "file not found")
        info = self._zip.getinfo(f"{self.name}/{name}")
        # PyTorch never compresses records, and a few compressed bytes could expand to more than the machine's memory.
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
            raise RuntimeError(
                f"{name} is compressed in the archive: torchlike reads uncompressed records, as PyTorch writes"
            )
        return info


class Writer:
    """Writes an archive, record by record. It has to be closed. Without ``checksums`` zeros stand in their place, as PyTorch writes."""

    def __init__(self, file: BinaryIO, name: str, checksums: bool = True) -> None:
        self.name = name
        self._checksums = checksums
        self._file = _Forward(file)
        target: Any = self._file
        self._zip = zipfile.ZipFile(target, "w", zipfile.ZIP_STORED, allowZip64=True)

    def write(self, name: str, data: bytes | memoryview) -> None:
        # A fixed date, so that two saves of the same tensors have the same bytes.
        info = zipfile.ZipInfo(f"{self.name}/{name}", (1980, 1, 1, 0, 0, 0))
        info.file_size = len(data)
        # The zip module adds a header field to records of this size.
        large = 20 if info.file_size * 1.05 > zipfile.ZIP64_LIMIT else 0
        before = self._file.written + _HEADER + len(info.filename.encode()) + large
        gap = -before % ALIGNMENT
        if gap:
            # Padding: a field of the header that no program reads, made of a marker, its length, and zeros.
            padding = gap - 4 if gap >= 4 else gap + ALIGNMENT - 4
            info.extra = struct.pack("<HH", 0x4246, padding) + bytes(padding)
        with self._zip.open(info, "w", force_zip64=bool(large)) as record:
            record.write(data)
            if not self._checksums:
                vars(record)["_crc"] = 0  # what the zip module has computed, and writes when the record is closed

    def close(self) -> None:
        self._zip.close()


class _Forward:
    """A file for the zip module that only appends, with positions counted from the beginning of the archive."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.written = 0

    def write(self, data: bytes | memoryview) -> int:
        self.file.write(data)
        self.written += len(data)
        return len(data)

    def flush(self) -> None:
        if hasattr(self.file, "flush"):
            self.file.flush()
