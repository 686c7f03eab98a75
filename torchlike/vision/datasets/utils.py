"""Files of datasets: checks by MD5, downloads, archives, and arguments that are one of several words."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import os
import shutil
import tarfile
import zipfile
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import TypeAlias

from ...hub import download_url_to_file

__all__ = [
    "calculate_md5", "check_integrity", "check_md5", "download_and_extract_archive", "download_url", "extract_archive",
    "list_dir", "list_files", "verify_str_arg",
]  # fmt: skip

Place: TypeAlias = "str | PathLike[str]"

OPENERS = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
TAR_SUFFIXES = (".tar", ".tgz", ".tar.gz", ".tbz", ".tbz2", ".tar.bz2", ".tar.xz")


def calculate_md5(fpath: Place, chunk_size: int = 1024 * 1024) -> str:
    """The MD5 of a file, in hexadecimal."""
    md5 = hashlib.md5(usedforsecurity=False)
    with open(fpath, "rb") as file:
        while chunk := file.read(chunk_size):
            md5.update(chunk)
    return md5.hexdigest()


def check_md5(fpath: Place, md5: str) -> bool:
    """Whether a file has this MD5."""
    return md5 == calculate_md5(fpath)


def check_integrity(fpath: Place, md5: str | None = None) -> bool:
    """Whether a file is there, and has this MD5 unless it is None."""
    return os.path.isfile(fpath) and (md5 is None or check_md5(fpath, md5))


def download_url(url: str, root: Place, filename: str | None = None, md5: str | None = None) -> None:
    """Downloads a file into a folder, unless it is there.

    Raises:
        RuntimeError: what came has another MD5.
    """
    folder = Path(root).expanduser()
    path = folder / (filename or os.path.basename(url))
    if check_integrity(path, md5):
        return
    folder.mkdir(parents=True, exist_ok=True)
    download_url_to_file(url, path)
    if not check_integrity(path, md5):
        raise RuntimeError("File not found or corrupted.")


def extract_archive(from_path: Place, to_path: Place | None = None, remove_finished: bool = False) -> Place:
    """Unpacks a tar or zip archive into a folder, or a single packed file.

    Args:
        to_path: default: the folder of the archive.
        remove_finished: whether the archive is deleted.

    Returns:
        The folder, or the unpacked file.

    Raises:
        RuntimeError: the name has no suffix of these kinds.
    """
    source = Path(from_path)
    target: Path = source.parent if to_path is None else Path(to_path)
    if source.name.endswith(TAR_SUFFIXES):
        with tarfile.open(source) as archive:
            archive.extractall(target, filter="data")
    elif source.suffix == ".zip":
        with zipfile.ZipFile(source) as archive:
            archive.extractall(target)
    elif source.suffix in OPENERS:
        target = target / source.stem if to_path is None or target.is_dir() else target
        with OPENERS[source.suffix](source) as packed, target.open("wb") as file:
            shutil.copyfileobj(packed, file)
    else:
        raise RuntimeError(
            f"Unknown compression or archive type: '{source.suffix}'.\n"
            f"Known suffixes are: '{sorted([*TAR_SUFFIXES, '.zip', *OPENERS])}'."
        )
    if remove_finished:
        source.unlink()
    return target


def download_and_extract_archive(
    url: str,
    download_root: Place,
    extract_root: Place | None = None,
    filename: str | None = None,
    md5: str | None = None,
    remove_finished: bool = False,
) -> None:
    """``download_url`` and then ``extract_archive``."""
    folder = os.path.expanduser(download_root)
    name = filename or os.path.basename(url)
    download_url(url, folder, name, md5)
    extract_archive(os.path.join(folder, name), extract_root or folder, remove_finished)


def list_dir(root: Place, prefix: bool = False) -> list[str]:
    """The names of a folder's folders; with ``prefix`` their paths."""
    folder = os.path.expanduser(root)
    names = [name for name in os.listdir(folder) if os.path.isdir(os.path.join(folder, name))]
    return [os.path.join(folder, name) for name in names] if prefix else names


def list_files(root: Place, suffix: str, prefix: bool = False) -> list[str]:
    """The names of a folder's files that end so; with ``prefix`` their paths."""
    folder = os.path.expanduser(root)
    names = [
        name for name in os.listdir(folder) if os.path.isfile(os.path.join(folder, name)) and name.endswith(suffix)
    ]
    return [os.path.join(folder, name) for name in names] if prefix else names


def verify_str_arg(value: object, arg: str | None = None, valid_values: Iterable[str] | None = None) -> str:
    """A word that is one of several.

    Raises:
        ValueError: it is no word, or none of them.
    """
    if not isinstance(value, str):
        where = "" if arg is None else f" for argument {arg}"
        raise ValueError(f"Expected type str{where}, but got type {type(value)}.")
    if valid_values is not None and value not in (words := list(valid_values)):
        value_list = "'" + "', '".join(words) + "'"
        raise ValueError(f"Unknown value '{value}' for argument {arg}. Valid values are {{{value_list}}}.")
    return value
