"""Every public function and class stands on its namespace's page of the API documentation."""

import importlib.util
import inspect
import re
from pathlib import Path

import pytest

from tests.api.namespaces import NAMESPACES, public_names

DOCS = Path(__file__).parents[2] / "docs"
ENTRY = re.compile(r"^(?:::: \S*?|### )(\w+)$", re.MULTILINE)


def entries(page: str) -> set[str]:
    """The names a page has an entry for, once MkDocs has prepared it."""
    spec = importlib.util.spec_from_file_location("hooks", DOCS / "_hooks.py")
    assert spec and spec.loader
    hooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hooks)
    return set(ENTRY.findall(hooks.on_page_markdown((DOCS / "api" / f"{page}.md").read_text("utf-8"))))


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_all_that_is_public_is_documented(namespace):
    documented = set().union(*map(entries, NAMESPACES[namespace]))
    public = {
        name for name, value in public_names(namespace).items() if inspect.isfunction(value) or inspect.isclass(value)
    }
    assert public, "nothing to document"
    assert public - documented == set()
