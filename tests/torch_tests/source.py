"""Where PyTorch's test files are: in Debian's source package, which apt brings into a folder of the user's cache."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "torchlike-torch-tests"
SUITE = "trixie"  # the Debian that has PyTorch 2.6
SECONDS = 300  # that a command of apt may take

# Lines of the test files that ask, when a file is imported, for what PyTorch 2.13 no longer has under that name, or for other test files.
_LINES = {
    "test_linalg.py": [(r"super\(self\.__class__, self\)", "super()")],
    "test_utils.py": [(r"from torch\.autograd\._functions\.utils import check_onnx_broadcast|"
                       r"from torch\.onnx\.symbolic_opset9 import _prepare_onnx_paddings", "")],
    "test_nestedtensor.py": [("import create_nested_block_mask, flex_attention", "import flex_attention")],
    "test_fx.py": [(r"from fx\.test_(matcher_utils|common_passes|cse_pass|gradual_type) import .*", "")],
}  # fmt: skip


class Unavailable(Exception):
    """The source package cannot be had here; says why."""


def folder() -> Path:
    """The folder with the test files, which `TORCH_TESTS` may name; fetched if it is not there.

    Raises:
        Unavailable: it cannot be fetched.
    """
    if named := os.environ.get("TORCH_TESTS"):
        return Path(named)
    tests = CACHE / "test"
    if not tests.is_dir():
        _fetch()
    return tests


def _mirror() -> str:
    """The address from which this machine's apt takes Debian's packages."""
    found = []
    for path in [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))]:
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        addresses = re.finditer(r"^URIs:\s*(\S+)|^deb\s+(?:\[.*?\]\s+)?(\S+)", text, re.MULTILINE)
        found += [match[1] or match[2] for match in addresses]
    of_debian = [address for address in found if address.rstrip("/").endswith("/debian")]
    if not of_debian:
        raise Unavailable("apt has no source of Debian's packages")
    return of_debian[0]


def _fetch() -> None:
    if shutil.which("apt-get") is None:
        raise Unavailable("there is no apt-get, which brings Debian's source package")
    (CACHE / "parts").mkdir(parents=True, exist_ok=True)
    (CACHE / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
    (CACHE / "parts" / "source.sources").write_text(
        f"Types: deb-src\nURIs: {_mirror()}\nSuites: {SUITE}\nComponents: main\nSigned-By: {keyring}\n",
        encoding="utf-8",
    )  # lists of its own, so that those of the machine stay as they are
    options = [
        "-oDir::Etc::SourceList=/dev/null", f"-oDir::Etc::SourceParts={CACHE}/parts", f"-oDir::State::Lists={CACHE}/lists",
        "-oAcquire::http::Timeout=20", "-oAcquire::https::Timeout=20", "-oAcquire::Retries=0",
    ]  # fmt: skip
    for command in (["update"], ["source", "--download-only", "pytorch"]):
        try:
            done = subprocess.run(
                ["apt-get", *options, *command], cwd=CACHE, capture_output=True, text=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            raise Unavailable(f"apt-get {command[0]} takes longer than {SECONDS} s") from None
        if done.returncode:
            raise Unavailable(f"apt-get {command[0]}: {done.stderr.strip().splitlines()[-1:] or 'failed'}")
    archives = [path for path in CACHE.glob("pytorch_*.orig.tar.*") if path.suffix != ".asc"]
    if not archives:
        raise Unavailable("apt-get has brought no archive")
    new = CACHE / "new"  # which becomes the folder once it is whole
    shutil.rmtree(new, ignore_errors=True)
    with tarfile.open(archives[-1]) as packed:
        for member in packed:
            inside = member.name.partition("/")[2]
            if inside.startswith("test/") and member.isfile():
                member.name = inside
                packed.extract(member, new, filter="data")
    for name, edits in _LINES.items():
        path = new / "test" / name
        text = path.read_text(encoding="utf-8")
        for old, replacement in edits:
            text = re.sub(old, replacement, text)
        path.write_text(text, encoding="utf-8")
    (new / "test").rename(CACHE / "test")
