"""The adapter to tensorflow-datasets: its download manager and its data sources, which do not need TensorFlow."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .catalog import File, Row

__all__ = ["data_source", "fetch"]

RETRIES = 2  # with the manager's default of 10, it takes minutes to report that there is no network
CONNECT_SECONDS = 10.0


def fetch(row: Row, files: Sequence[File], folder: Path) -> None:
    """Downloads files into a folder, with a progress bar. Each file is checked by size and SHA-256 first.

    Raises:
        ImportError: without tensorflow-datasets.
        RuntimeError: a file cannot be downloaded. The text says which file, from where, and where to put it by hand.
    """
    try:
        from tensorflow_datasets.core.download import checksums, download_manager
    except ImportError as error:
        raise ImportError(
            "download=True needs tensorflow-datasets (pip install 'torchlike[datasets]'). "
            + _by_hand(row, files, folder)
        ) from error
    folder.mkdir(parents=True, exist_ok=True)
    # On the same disk, so that a file is moved to its place as a whole or not at all.
    with tempfile.TemporaryDirectory(prefix=".download-", dir=folder) as download_folder, _few_retries():
        for number, file in enumerate(files):  # one by one, so that no other download goes on after a failure
            url = row.source + file.name
            size: Any = file.size  # the manager's own type for it is a subclass of int
            info = checksums.UrlInfo(size=size, checksum=file.sha256, filename=file.name)
            try:
                _require_answer(url)
                manager = download_manager.DownloadManager(
                    download_dir=download_folder,
                    dataset_name=row.name,
                    url_infos={url: info},
                    force_checksums_validation=True,
                )
                shutil.move(os.fspath(manager.download(url)), folder / file.name)
            except Exception as error:
                raise RuntimeError(
                    f"{row.name} could not be downloaded ({type(error).__name__}: {error}). "
                    + _by_hand(row, files[number:], folder)
                ) from error


def data_source(name: str, split: str, folder: str | Path | None, download: bool) -> Sequence[Mapping[str, object]]:
    """The samples of a dataset, as dictionaries of arrays.

    Raises:
        ImportError: without tensorflow-datasets.
    """
    try:
        import tensorflow_datasets
    except ImportError as error:
        raise ImportError(
            f"the dataset {name!r} needs tensorflow-datasets (pip install 'torchlike[datasets]')"
        ) from error
    source: Any = tensorflow_datasets.data_source(
        name, split=split, data_dir=None if folder is None else os.fspath(folder), download=download
    )
    return source


def _by_hand(row: Row, files: Sequence[File], folder: Path) -> str:
    names = ", ".join(file.name for file in files)
    return f"Wanted: {names} from {row.source}, to be put into {folder}"


def _require_answer(url: str) -> None:
    """Raises within seconds if the server cannot be reached. The manager itself would wait for the time-out of TCP."""
    import requests  # a dependency of tensorflow-datasets

    requests.head(url, timeout=CONNECT_SECONDS, allow_redirects=False)


@contextmanager
def _few_retries() -> Iterator[None]:
    from tensorflow_datasets.core.download import downloader

    module = downloader
    before, module.MAX_RETRIES = module.MAX_RETRIES, RETRIES
    try:
        yield
    finally:
        module.MAX_RETRIES = before
