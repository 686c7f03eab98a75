"""The adapter to tensorflow-datasets, of which only the download manager is used; it needs no TensorFlow."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .catalog import File, Row

__all__ = ["fetch"]

RETRIES = 2  # the manager's own 10 make an answer of "no network" take minutes
CONNECT_SECONDS = 10.0


def fetch(row: Row, files: Sequence[File], folder: Path) -> None:
    """Downloads files into a folder, showing a progress bar; each is checked by size and SHA-256 first.

    Raises:
        ImportError: without tensorflow-datasets.
        RuntimeError: where a file cannot be had; the text says which, from where, and where to put it by hand.
    """
    try:
        from tensorflow_datasets.core.download import checksums, download_manager
    except ImportError as error:
        raise ImportError(
            "download=True needs tensorflow-datasets (pip install 'torchlike[datasets]'). "
            + _by_hand(row, files, folder)
        ) from error
    folder.mkdir(parents=True, exist_ok=True)
    # On the same disk, so that a file appears in its place whole or not at all.
    with tempfile.TemporaryDirectory(prefix=".download-", dir=folder) as room, _few_retries():
        for number, file in enumerate(files):  # one by one: a failure then leaves no download running behind it
            url = row.source + file.name
            size: Any = file.size  # the manager's own type of it is an int as well
            info = checksums.UrlInfo(size=size, checksum=file.sha256, filename=file.name)
            try:
                _require_answer(url)
                manager = download_manager.DownloadManager(
                    download_dir=room, dataset_name=row.name, url_infos={url: info}, force_checksums_validation=True
                )
                shutil.move(os.fspath(manager.download(url)), folder / file.name)
            except Exception as error:
                raise RuntimeError(
                    f"{row.name} could not be downloaded ({type(error).__name__}: {error}). "
                    + _by_hand(row, files[number:], folder)
                ) from error


def _by_hand(row: Row, files: Sequence[File], folder: Path) -> str:
    wanted = ", ".join(file.name for file in files)
    return f"Wanted: {wanted} from {row.source}, to be put into {folder}"


def _require_answer(url: str) -> None:
    """Raises within seconds where the server cannot be reached; the manager itself would wait as long as TCP does."""
    import requests  # comes with tensorflow-datasets

    requests.head(url, timeout=CONNECT_SECONDS, allow_redirects=False)


@contextmanager
def _few_retries() -> Iterator[None]:
    from tensorflow_datasets.core.download import downloader

    module: Any = downloader
    before, module.MAX_RETRIES = module.MAX_RETRIES, RETRIES
    try:
        yield
    finally:
        module.MAX_RETRIES = before
