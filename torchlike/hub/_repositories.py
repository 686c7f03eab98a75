"""Reads repositories with a ``hubconf.py``: fetches them from GitHub or finds them in a folder, and calls their entry points."""

from __future__ import annotations

import os
import re
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.error import HTTPError

__all__ = ["Source", "entry_point", "entry_points", "folder_of"]

# Whose repositories load without a question, as in PyTorch.
TRUSTED_OWNERS = ("facebookresearch", "facebookincubator", "pytorch", "fairinternal")

Source = Callable[[str, str], None]  # downloads an address into a file


def _parse(github: str) -> tuple[str, str, str | None]:
    """Owner, name and branch or tag of ``owner/name[:ref]``."""
    where, _, ref = github.partition(":")
    owner, slash, name = where.partition("/")
    if not slash or not owner or not name:
        raise ValueError(f"expected owner/name or owner/name:ref, got {github!r}")
    return owner, name, ref or None


def folder_of(
    github: str, hub: str, download: Source, force_reload: bool, trust_repo: bool | str | None, verbose: bool
) -> str:
    """The folder with a repository of GitHub's, which is downloaded unless it is there.

    Args:
        hub: the folder of all repositories.
        download: fetches an address into a file.
        trust_repo: True: load it, and from now on without a question. False: ask. "check": ask if it is not known. None: warn.

    Raises:
        RuntimeError: the user does not trust it. ValueError: the name cannot be read, or there is no such branch.
    """
    owner, name, ref = _parse(github)
    _check_trust(f"{owner}_{name}", owner, hub, trust_repo)
    os.makedirs(hub, exist_ok=True)
    candidates = [ref] if ref else ["main", "master"]
    if not force_reload:
        for candidate in candidates:
            folder = os.path.join(hub, f"{owner}_{name}_{candidate.replace('/', '_')}")
            if os.path.isdir(folder):
                if verbose:
                    sys.stderr.write(f"Using cache found in {folder}\n")
                return folder
    for candidate in candidates:
        folder = os.path.join(hub, f"{owner}_{name}_{candidate.replace('/', '_')}")
        archive = f"{folder}.zip"
        address = f"https://github.com/{owner}/{name}/zipball/{candidate}"
        try:
            if verbose:
                sys.stderr.write(f'Downloading: "{address}" to {archive}\n')
            download(address, archive)
        except HTTPError as error:
            if error.code == 404 and candidate != candidates[-1]:
                continue
            raise ValueError(f"Cannot find {candidate} in https://github.com/{owner}/{name}") from error
        _unpack(archive, folder)
        return folder
    raise AssertionError("there is always a candidate")


def _unpack(archive: str, folder: str) -> None:
    """Unpacks an archive whose files lie in one folder. A file that would come to lie outside is refused."""
    partial = f"{folder}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    with zipfile.ZipFile(archive) as file:
        root = os.path.realpath(partial)
        for name in file.namelist():
            if not os.path.realpath(os.path.join(partial, name)).startswith(root + os.sep):
                raise RuntimeError(f"the archive {archive} holds a file outside of its folder: {name}")
        file.extractall(partial)
    os.remove(archive)
    (inner,) = os.listdir(partial)
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(os.path.join(partial, inner), folder)
    os.rmdir(partial)


def _check_trust(repository: str, owner: str, hub: str, trust_repo: bool | str | None) -> None:
    if trust_repo not in (True, False, None, "check"):
        raise ValueError(f"trust_repo must be True, False, None or 'check', not {trust_repo!r}")
    path = os.path.join(hub, "trusted_list")
    trusted_repositories = Path(path).read_text("utf-8").split() if os.path.exists(path) else []
    if repository in trusted_repositories or owner in TRUSTED_OWNERS:
        return
    if trust_repo is None or trust_repo is False or trust_repo == "check":
        answer = input(f"The repository {repository} does not belong to the list of trusted repositories and as such "
                       "cannot be downloaded. Do you trust this repository and wish to add it to the trusted list of "
                       "repositories (y/N)?")  # fmt: skip
        if answer.lower() not in ("y", "yes"):
            raise RuntimeError("Untrusted repository.")
    os.makedirs(hub, exist_ok=True)
    with open(path, "a", encoding="utf-8") as file:
        file.write(repository + "\n")


@contextmanager
def _hubconf(folder: str) -> Iterator[ModuleType]:
    """The module ``hubconf.py`` of a folder, which is on the path meanwhile."""
    sys.path.insert(0, folder)
    try:
        spec = spec_from_file_location("hubconf.py", os.path.join(folder, "hubconf.py"))
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(folder)


@contextmanager
def entry_point(folder: str, name: str) -> Iterator[Callable[..., Any]]:
    """The function or class of that name in ``hubconf.py``.

    Raises:
        ValueError: the name is no text. RuntimeError: there is none, or a package that the file names as needed is missing.
    """
    if not isinstance(name, str):
        raise ValueError("Invalid input: model should be a string of function name")
    with _hubconf(folder) as module:
        dependencies = getattr(module, "dependencies", None) or []
        missing = [package for package in dependencies if not _is_there(package)]
        if missing:
            raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
        function = getattr(module, name, None)
        if not callable(function):
            raise RuntimeError(f"Cannot find callable {name} in hubconf")
        yield function


def _is_there(package: str) -> bool:
    # Scripts of a repository say "torch" even if no alias makes ``import torch`` mean torchlike.
    return package == "torch" or find_spec(re.split(r"[\[.]", package)[0]) is not None


def entry_points(folder: str) -> list[str]:
    """The names of all entry points: what can be called and does not begin with an underscore."""
    with _hubconf(folder) as module:
        return [name for name in dir(module) if callable(getattr(module, name)) and not name.startswith("_")]
