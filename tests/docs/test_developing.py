"""Files and functions that the pages for developers name exist, and the picture of the layers agrees with the contracts."""

import ast
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ElementTree

import pytest

from tests.api.namespaces import DOCS
from torchlike import version
from torchlike._missing import pytorch_names

pytestmark = pytest.mark.recorded

ROOT = DOCS.parent
PAGES = [ROOT / "CONTRIBUTING.md", *sorted((DOCS / "dev").glob("*.md"))]
# `torchlike/engine/recorder.py::Recorder.record`, or a file or folder alone.
REFERENCE = re.compile(r"`((?:torchlike|tests|docs|examples|benchmarks)/[\w./]*)(?:::([\w.]+))?`")
LAYERS = runpy.run_path(str(DOCS / "_layers.py"))


def defined_in(body: list[ast.stmt]) -> dict[str, list[ast.stmt]]:
    """Returns the classes and functions of a body by name, each with its own body."""
    kinds = (ast.ClassDef, ast.FunctionDef)
    return {each.name: each.body for each in body if isinstance(each, kinds)}


def is_there(path: str, name: str | None) -> bool:
    """Whether a file exists and has this class, function or method."""
    file = ROOT / path
    if name is None or not file.is_file():
        return file.exists() and name is None
    body = ast.parse(file.read_text("utf-8")).body
    for part in name.split("."):
        found = defined_in(body)
        if part not in found:
            return False
        body = found[part]
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_names_is_there(page):
    named = {found.groups() for found in REFERENCE.finditer(page.read_text("utf-8"))}
    assert [each for each in sorted(named, key=str) if not is_there(*each)] == []


@pytest.mark.parametrize(
    ("path", "name", "there"),
    [
        ("torchlike/ops/elementwise", None, True),
        ("torchlike/engine/recorder.py", "Recorder.record", True),
        ("torchlike/engine/recorder.py", "Recorder.no_such", False),
        ("torchlike/engine/no_such.py", None, False),
        ("torchlike/engine/no_such.py", "record", False),
    ],
)
def test_a_name_that_is_not_there_is_found(path, name, there):
    assert is_there(path, name) is there


def test_the_picture_of_the_layers_is_what_its_script_draws():
    assert LAYERS["PICTURE"].read_text("utf-8") == LAYERS["picture"](), "run: python docs/_layers.py"


def test_the_picture_shows_every_module_of_the_contract():
    texts = ElementTree.fromstring(LAYERS["picture"]()).iter("{http://www.w3.org/2000/svg}text")
    shown = [word for text in texts if text.get("class") == "name" for word in (text.text or "").split()]
    assert shown == [name for layer in LAYERS["layers"]("torchlike") for name in layer]


def test_the_version_is_the_same_wherever_it_stands():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert version.torchlike == project["version"]
    assert f"\nversion: {project['version']}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert version.__version__ == f"{pytorch_names()['version']}+torchlike.{project['version']}"
    headings = re.findall(r"^## (\S+)", (DOCS / "changelog.md").read_text("utf-8"), re.MULTILINE)
    assert headings[:2] == ["Unreleased", project["version"]]


ADD_AN_OP = (DOCS / "dev" / "add-an-op.md").read_text("utf-8")
# Runs in a copy of the repository to which the page's activation has been added.
ACTIVATION_IS_THERE = """
import runpy, sys
import torchlike as torch
from torchlike import ops
from torchlike.ops.__main__ import describe, main

assert torch.__file__.startswith(sys.argv[1]), torch.__file__
x = torch.tensor([-3.0, 0.5])
expected = torch.nn.functional.logclip(x)
assert torch.equal(torch.nn.LogClip()(x), expected)
assert torch.nn.LogClip(inplace=True)(x) is x and torch.equal(x, expected)
assert repr(torch.nn.LogClip(2.0)) == "LogClip(limit=2.0)"
assert "torch.nn.functional.logclip (inplace=)" in describe("logclip")
groups = runpy.run_path("docs/_hooks.py")["groups"]
for namespace, name in (("torchlike.nn.functional", "logclip"), ("torchlike.nn", "LogClip")):
    shown = groups(namespace)
    entry = next(i for i, line in enumerate(shown) if line.endswith(f".{name}") or line.startswith(f"### {name}"))
    assert [line for line in shown[:entry] if line.startswith("## ")][-1] == "## Activations", name
assert main(["--stubs"]) == 0
stub = open("torchlike/nn/functional/_derived.pyi").read()
assert "def logclip(input: Tensor, limit: _float = 1.0, inplace: _bool = False) -> Tensor: ..." in stub
"""


def code_from(start: str, end: str) -> str:
    """Returns the part of the page's code from a line that begins so to the next one that begins so."""
    found = re.search(rf"^{re.escape(start)}.*?(?=^{re.escape(end)})", ADD_AN_OP, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[0]


def test_the_three_edits_of_the_page_add_an_activation(tmp_path):
    edits = {
        "torchlike/ops/elementwise/activation.py": code_from("@op(", "print("),
        "torchlike/nn/modules/activation.py": code_from("class LogClip(", "print("),
        "docs/changelog.md": "- `torch.nn.LogClip`.\n",
    }
    listed = ADD_AN_OP[ADD_AN_OP.index("three places:") : ADD_AN_OP.index("A test makes these three edits")]
    assert re.findall(r"^\| `([\w./]+)` \|", listed, re.MULTILINE) == list(edits)
    for folder in ("torchlike", "docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    anchors = {"docs/changelog.md": "- ", "torchlike/nn/modules/activation.py": "class SiLU("}
    for path, text in edits.items():
        before = (tmp_path / path).read_text("utf-8")
        at = anchors.get(path, "@op(")
        assert at in before
        (tmp_path / path).write_text(before.replace(at, f"{text}{at}", 1), "utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ACTIVATION_IS_THERE, str(tmp_path)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
