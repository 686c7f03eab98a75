"""What is written for developers names files and functions that are there, and the picture of the layers shows the contracts."""

import ast
import re
import runpy
import tomllib
import xml.etree.ElementTree as ElementTree

import pytest

from tests.api.namespaces import DOCS
from torchlike import version
from torchlike._missing import pytorch_names

ROOT = DOCS.parent
PAGES = [ROOT / "CONTRIBUTING.md", *sorted((DOCS / "dev").glob("*.md"))]
# `torchlike/engine/recorder.py::Recorder.record`, or a file or folder alone.
REFERENCE = re.compile(r"`((?:torchlike|tests|docs|examples|benchmarks)/[\w./]*)(?:::([\w.]+))?`")
LAYERS = runpy.run_path(str(DOCS / "_layers.py"))


def defined_in(body: list[ast.stmt]) -> dict[str, list[ast.stmt]]:
    """The classes and functions of a body by name, each with its own body."""
    kinds = (ast.ClassDef, ast.FunctionDef)
    return {each.name: each.body for each in body if isinstance(each, kinds)}


def is_there(path: str, name: str | None) -> bool:
    """Whether a file is there, and in it a class, function or method."""
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
    assert version.__version__ == f"{pytorch_names()['version']}+torchlike.{project['version']}"
    headings = re.findall(r"^## (\S+)", (DOCS / "changelog.md").read_text("utf-8"), re.MULTILINE)
    assert headings[:2] == ["Unreleased", project["version"]]
