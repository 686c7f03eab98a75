"""The page on libraries names the libraries that are run, with the requirements recorded for each."""

import json
import runpy

import pytest

from tests.api.namespaces import DOCS
from tests.libraries import run

pytestmark = pytest.mark.recorded

LIBRARIES = runpy.run_path(str(DOCS / "_libraries.py"))


def test_the_page_is_what_its_script_writes():
    assert (DOCS / "libraries.md").read_text("utf-8") == LIBRARIES["page"](), "run: python docs/_libraries.py"


def test_each_library_has_a_program_and_each_program_a_library():
    keys = {LIBRARIES["_key"](name) for name in LIBRARIES["versions"]()}
    assert keys == set(LIBRARIES["programs"]())


def test_what_libraries_need_never_is_pytorch():
    recorded = json.loads((DOCS / "libraries.json").read_text("utf-8"))
    assert recorded.keys() == LIBRARIES["versions"]().keys()
    assert all("torch" not in needs for needs in recorded.values())


def test_the_quick_ones_are_among_them():
    lines = (DOCS.parent / "tests/libraries/quick.txt").read_text("utf-8").splitlines()
    assert set(lines[1:]) <= LIBRARIES["versions"]().keys()
    assert set(run.quick()) <= set(run.programs([]))
    assert len(run.quick()) == 8
