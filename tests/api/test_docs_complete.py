"""Every public function and class stands on its namespace's page of the API documentation."""

import inspect
import re
import runpy
from pathlib import Path

import pytest

from tests.api.namespaces import NAMESPACES, public_names

DOCS = Path(__file__).parents[2] / "docs"
ENTRY = re.compile(r"^(?:::: \S*?|### )(\w+)$", re.MULTILINE)


def entries(page: str) -> set[str]:
    """The names a page has an entry for, once MkDocs has prepared it."""
    hooks = runpy.run_path(str(DOCS / "_hooks.py"))
    return set(ENTRY.findall(hooks["on_page_markdown"]((DOCS / "api" / f"{page}.md").read_text("utf-8"))))


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_all_that_is_public_is_documented(namespace):
    documented = set().union(*map(entries, NAMESPACES[namespace]))
    public = {
        name for name, value in public_names(namespace).items() if inspect.isfunction(value) or inspect.isclass(value)
    }
    assert public, "nothing to document"
    assert public - documented == set()
