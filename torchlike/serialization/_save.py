"""torch.save: an object, its tensors included, into a file that PyTorch reads."""

from __future__ import annotations

import io
import os
import pickle
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ._archive import ALIGNMENT, SCRIPT, Writer
from ._legacy import write_legacy
from ._options import get_crc32_options, skipping
from ._pickler import Pickler
from ._replacement import Replacement

__all__ = ["save"]

# The contents of the archive's small records. PyTorch writes this layout with version 3 or later.
_MARKS = {".format_version": b"1", ".storage_alignment": str(ALIGNMENT).encode(), "byteorder": sys.byteorder.encode()}


def save(
    obj: object,
    f: object,
    pickle_module: object = pickle,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Saves an object into a file, in PyTorch's format: PyTorch's ``torch.load`` reads it, and torchlike's.

    Tensors that share memory share it when they are loaded again. A file at the same place is replaced when the new one is
    complete, and not touched before.

    Args:
        obj: tensors, modules, optimizers, and Python objects that contain them; most often a ``state_dict``.
        f: a path, or a file opened for writing.
        pickle_module: ``pickle``; others are not supported.
        pickle_protocol: 2 to 5. With ``weights_only=True`` PyTorch reads protocol 2 alone.

    Raises:
        RuntimeError: the directory does not exist. AttributeError: ``f`` is neither a path nor a file, or a part of the object
            cannot be pickled.

    >>> import io
    >>> file = io.BytesIO()
    >>> torch.save({"weight": torch.ones(2), "epoch": 3}, file)
    >>> position = file.seek(0)
    >>> torch.load(file)
    {'weight': tensor([1., 1.]), 'epoch': 3}

    Source: https://docs.pytorch.org/docs/stable/generated/torch.save.html
    """
    if pickle_module is not pickle:
        raise NotImplementedError("torchlike's save does not support a pickle_module other than pickle")
    if not _use_new_zipfile_serialization:
        with opened_to_write(f) as file:
            write_legacy(obj, file, pickle_protocol)
        return
    write_archive(
        obj,
        f,
        pickle_protocol,
        {k: v for k, v in _MARKS.items() if not (_disable_byteorder_record and k == "byteorder")},
    )


def save_script(content: object, f: object) -> None:
    """Saves a script with its files: ``torch.load`` then knows that ``torch.jit.save`` did it."""
    write_archive(content, f, 2, {**_MARKS, SCRIPT: b"1"})


def write_archive(obj: object, f: object, pickle_protocol: int, marks: dict[str, bytes]) -> None:
    # Pickle first: for an object that cannot be pickled, no file is created.
    text = io.BytesIO()
    pickler = Pickler(text, pickle_protocol)
    pickler.dump(obj)
    with opened_to_write(f) as file:
        writer = Writer(file, name_of_archive(f), get_crc32_options())
        writer.write("data.pkl", text.getvalue())
        for name, mark in marks.items():
            writer.write(name, mark)
        for key, data in pickler.memory.items():
            # bfloat16 has no buffer that the zip module could write, and bytes have one for every dtype.
            elements = data.view(np.uint8)
            writer.write(f"data/{key}", (np.zeros_like(elements) if skipping.on else elements).data)
        writer.write("version", b"3\n")
        writer.close()


def opened_to_write(f: Any) -> AbstractContextManager[BinaryIO]:
    if isinstance(f, (str, os.PathLike)):
        return Replacement(os.fspath(f))
    if not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    return _Users(f)


class _Users:
    """A file of the user's, which is not closed."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file

    def __enter__(self) -> BinaryIO:
        return self.file

    def __exit__(self, *exc: object) -> None:
        if hasattr(self.file, "flush"):
            self.file.flush()


def name_of_archive(f: object) -> str:
    """The name of the folder in the archive: the file's name, if it is ASCII."""
    name = Path(os.fspath(f)).stem if isinstance(f, (str, os.PathLike)) else ""
    return name if name.isascii() and name.strip("./") else "archive"
