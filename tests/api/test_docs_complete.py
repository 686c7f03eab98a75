"""Every public function and class stands on its namespace's page of the API documentation."""

import re

import pytest

from tests.api.namespaces import DOCS, HOOKS, NAMESPACES, public_names

ENTRY = re.compile(r"^(?:::: \S*?|### )(\w+)$", re.MULTILINE)


def entries(page: str) -> set[str]:
    """The names a page has an entry for, once MkDocs has prepared it."""
    return set(ENTRY.findall(HOOKS["on_page_markdown"]((DOCS / "api" / f"{page}.md").read_text("utf-8"))))


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_all_that_is_public_is_documented(namespace):
    documented = set().union(*map(entries, NAMESPACES[namespace]))
    public = set(public_names(namespace))
    assert public, "nothing to document"
    assert public - documented == set()
