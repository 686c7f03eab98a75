"""torch.hub: models of repositories with a ``hubconf.py``, and weights: downloads with a hash check, kept where PyTorch keeps them."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
from typing import Any
from urllib.parse import urlparse as urlparse

from ..serialization import load as _load_file
from . import _repositories as repositories

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

_CHUNK = 1 << 20
READ_DATA_CHUNK = 128 * 1024
ENV_GITHUB_TOKEN, ENV_TORCH_HOME, ENV_XDG_CACHE_HOME = "GITHUB_TOKEN", "TORCH_HOME", "XDG_CACHE_HOME"
DEFAULT_CACHE_DIR = "~/.cache"
VAR_DEPENDENCY, MODULE_HUBCONF = "dependencies", "hubconf.py"
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # in ``resnet18-f37072fd.pth``


class _HubSettings:
    directory: str | None = None


def get_dir() -> str:
    """The folder for what is downloaded: the one set, else ``$TORCH_HOME/hub``, else ``~/.cache/torch/hub``.

    Source: https://docs.pytorch.org/docs/stable/hub.html#torch.hub.get_dir
    """
    if _HubSettings.directory is not None:
        return _HubSettings.directory
    return os.path.join(_get_torch_home(), "hub")


def _get_torch_home() -> str:
    """The folder of PyTorch's caches."""
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(cache, "torch")))


def set_dir(d: str | os.PathLike[str]) -> None:
    """Sets the folder for what is downloaded.

    Source: https://docs.pytorch.org/docs/stable/hub.html#torch.hub.set_dir
    """
    _HubSettings.directory = os.path.expanduser(os.fspath(d))


def download_url_to_file(
    url: str, dst: str | os.PathLike[str], hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Downloads a file. What is broken off or has the wrong hash never gets its name.

    Args:
        url: where it is; ``file:`` works too.
        dst: the path that it gets.
        hash_prefix: how its SHA-256 begins. None: not checked.
        progress: show a bar on stderr.

    Raises:
        RuntimeError: the hash is another one, or the download ended early. URLError: it cannot be had.

    Source: https://docs.pytorch.org/docs/stable/hub.html#torch.hub.download_url_to_file
    """
    import urllib.request  # these two only when something is downloaded, so that importing the package stays quick

    from tqdm import tqdm

    dst = os.path.expanduser(os.fspath(dst))
    digest = hashlib.sha256()
    request = urllib.request.Request(url, headers={"User-Agent": "torchlike.hub"})
    with urllib.request.urlopen(request) as source:
        size = int(source.headers.get("Content-Length") or 0) or None
        number, partial = tempfile.mkstemp(dir=os.path.dirname(dst) or ".", suffix=".partial")
        try:
            with (
                os.fdopen(number, "wb") as file,
                tqdm(total=size, disable=not progress, unit="B", unit_scale=True, unit_divisor=1024) as bar,
            ):
                while chunk := source.read(_CHUNK):
                    file.write(chunk)
                    digest.update(chunk)
                    bar.update(len(chunk))
                received = file.tell()
            if size is not None and received != size:
                raise RuntimeError(f"the download of {url} ended after {received} of {size} bytes")
            if hash_prefix is not None and not digest.hexdigest().startswith(hash_prefix):
                raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest.hexdigest()}")')
            os.chmod(partial, 0o666 & ~_umask())  # mkstemp's are for one user alone
            os.replace(partial, dst)
        finally:
            if os.path.exists(partial):
                os.remove(partial)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: object = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> dict[str, Any]:
    """What ``torch.load`` makes of a file at an address; downloaded the first time, and kept.

    Args:
        url: where it is.
        model_dir: the folder it is kept in. Default: ``checkpoints`` in ``get_dir()``.
        map_location: as for ``torch.load``.
        progress: show a bar on stderr.
        check_hash: the file's name holds, between the last dash and the dot, how its SHA-256 begins.
        file_name: what it is kept as. Default: the last part of the address.
        weights_only: as for ``torch.load``; True runs nothing of the file.

    Source: https://docs.pytorch.org/docs/stable/hub.html#torch.hub.load_state_dict_from_url
    """
    folder = model_dir or os.path.join(get_dir(), "checkpoints")
    os.makedirs(folder, exist_ok=True)
    name = file_name or url.partition("?")[0].rpartition("/")[2]
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        sys.stderr.write(f'Downloading: "{url}" to {path}\n')
        match = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, match[1] if match else None, progress=progress)
    return _load_file(path, map_location=map_location, weights_only=weights_only)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _repository(github: str, force_reload: bool, trust_repo: bool | str | None, verbose: bool) -> str:
    def download(url: str, path: str) -> None:
        download_url_to_file(url, path, progress=False)

    return repositories.folder_of(github, get_dir(), download, force_reload, trust_repo, verbose)


def list(
    github: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str | None = "check",
    verbose: bool = True,
) -> Any:
    """The names of the entry points of a repository.

    Args:
        github: ``owner/name`` or ``owner/name:ref``.
        force_reload: fetch it although it is there.
        skip_validation: accepted; whether a branch belongs to a fork is not asked.
        trust_repo: True loads it without a question; "check" asks if it has not been loaded before.
        verbose: tell on stderr where it comes from.

    Source: https://docs.pytorch.org/docs/stable/hub.html#torch.hub.list
    """
    return repositories.entry_points(_repository(github, force_reload, trust_repo, verbose))


def help(
    github: str,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str | None = "check",
) -> str | None:
    """The docstring of an entry point. Arguments as for ``list`` and ``load``.

    Source: https://docs.pytorch.org/docs/stable/hub.html#torch.hub.help
    """
    with repositories.entry_point(_repository(github, force_reload, trust_repo, True), model) as function:
        return function.__doc__


def load(
    repo_or_dir: str,
    model: str,
    *args: object,
    source: str = "github",
    trust_repo: bool | str | None = "check",
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: object,
) -> Any:
    """What an entry point of a repository gives: most often a model.

    The repository is a program, which runs. Its ``import torch`` means torchlike under ``python -m torchlike`` or ``torchlike.alias()``.

    Args:
        repo_or_dir: ``owner/name`` or ``owner/name:ref`` of GitHub's; a folder where ``source`` is "local".
        model: the name of the entry point, a function in ``hubconf.py``.
        args, kwargs: for the entry point.
        source: "github" or "local".
        trust_repo: True loads it without a question; "check" asks if it has not been loaded before.
        force_reload: fetch it although it is there.
        verbose: tell on stderr where it comes from.

    Raises:
        RuntimeError: there is no such entry point, a package is missing that it needs, or the user does not trust it. ValueError: an
            unknown source.

    Source: https://docs.pytorch.org/docs/stable/hub.html#torch.hub.load
    """
    if source.lower() not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source.lower()}". Allowed values: "github" | "local".')
    is_local = source.lower() == "local"
    folder = repo_or_dir if is_local else _repository(repo_or_dir, force_reload, trust_repo, verbose)
    with repositories.entry_point(folder, model) as function:
        return function(*args, **kwargs)
