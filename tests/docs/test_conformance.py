"""The page on conformance is generated from its data, and gives a reason for every difference."""

import runpy
from collections import Counter

import pytest

from tests.api.namespaces import DOCS

pytestmark = pytest.mark.recorded

CONFORMANCE = runpy.run_path(str(DOCS / "_conformance.py"))
DATA = CONFORMANCE["load"]()


def test_the_page_is_what_its_script_writes():
    assert (DOCS / "conformance.md").read_text("utf-8") == CONFORMANCE["page"](DATA), "run: python docs/_conformance.py"


def test_every_operator_that_differs_has_a_row():
    rows = Counter((row["dtype"], row["suite"]) for row in DATA["remaining"])
    missed = {(row["dtype"], row["suite"]): row["operators"] - row["passed"] for row in DATA["results"]}
    assert dict(rows) == {key: count for key, count in missed.items() if count}


def test_every_reason_is_used_and_every_row_is_a_difference():
    assert {row["reason"] for row in DATA["remaining"]} == set(DATA["reasons"])
    assert all(row["passed"] < row["samples"] for row in DATA["remaining"])
