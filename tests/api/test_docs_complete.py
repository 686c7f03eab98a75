"""Every public function and class is on its namespace's page of the API documentation, and its first sentence says what it does."""

import re
from fnmatch import fnmatchcase

import pytest

from tests.api.namespaces import DOCS, HOOKS, NAMESPACES, public_names

pytestmark = pytest.mark.recorded

ENTRY = re.compile(r"^(?:::: \S*?|### )(\w+)$", re.MULTILINE)


def entries(page: str) -> set[str]:
    """Returns the names for which a page has an entry after MkDocs has prepared it."""
    return set(ENTRY.findall(HOOKS["on_page_markdown"]((DOCS / "api" / f"{page}.md").read_text("utf-8"))))


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_all_that_is_public_is_documented(namespace):
    documented = set().union(*map(entries, NAMESPACES[namespace]))
    public = set(public_names(namespace))
    assert public, "nothing to document"
    assert public - documented == set()


@pytest.mark.parametrize("page", sorted((DOCS / "api").glob("*.md")), ids=lambda page: page.stem)
def test_a_page_opens_with_what_its_namespace_is_for(page):
    title, words = page.read_text("utf-8").split("\n\n")[:2]
    assert title.startswith("# ")
    assert words[:1].isalpha() or words[:1] in "`["
    assert words.endswith((".", ":"))


@pytest.mark.parametrize("namespace", HOOKS["GROUPS"])
def test_each_word_of_a_group_stands_for_something(namespace):
    names = {name: HOOKS["file_of"](thing) for name, thing in public_names(namespace).items()}
    words = [word for words in HOOKS["GROUPS"][namespace].values() for word in words.split()]
    used = [
        any(file.endswith(word) if word.startswith(".") else fnmatchcase(name, word) for name, file in names.items())
        for word in words
    ]
    assert [word for word, is_used in zip(words, used, strict=True) if not is_used] == []


def test_a_name_without_a_group_is_an_error():
    with pytest.raises(LookupError, match="has no group of torchlike.nn for NoSuch"):
        HOOKS["heading_of"]("torchlike.nn", "NoSuch", "torchlike.nn.modules.no_such")
