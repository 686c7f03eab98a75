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
    """The address from which this machine's apt takes its packages."""
    for path in [*Path("/etc/apt/sources.list.d").glob("*"), Path("/etc/apt/sources.list")]:
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        if found := re.search(r"^URIs:\s*(\S+)|^deb\s+(?:\[.*?\]\s+)?(\S+)", text, re.MULTILINE):
            return found[1] or found[2]
    raise Unavailable("no source of packages is set up for apt")


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
    ]  # fmt: skip
    for command in (["update"], ["source", "--download-only", "pytorch"]):
        done = subprocess.run(["apt-get", *options, *command], cwd=CACHE, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Unavailable(f"apt-get {command[0]}: {done.stderr.strip().splitlines()[-1:] or 'failed'}")
    (archive,) = CACHE.glob("pytorch_*.orig.tar.*")
    with tarfile.open(archive) as packed:
        for member in packed:
            inside = member.name.partition("/")[2]
            if inside.startswith("test/") and member.isfile():
                member.name = inside
                packed.extract(member, CACHE, filter="data")
    for name, edits in _LINES.items():
        path = CACHE / "test" / name
        text = path.read_text(encoding="utf-8")
        for old, new in edits:
            text = re.sub(old, new, text)
        path.write_text(text, encoding="utf-8")
