"""What is kept of the runs of PyTorch's own tests: every failure has a reason, the numbers agree, and a tenth of what passes is named."""

import json
import runpy

import pytest

from tests.api.namespaces import DOCS
from tests.torch_tests import run

pytestmark = pytest.mark.recorded

CONFORMANCE = runpy.run_path(str(DOCS / "_conformance.py"))
DATA = CONFORMANCE["load"]()["torch_tests"]
LEFT = [(row["group"], test) for row in DATA["remaining"] for test in row["tests"]]


def test_every_test_that_does_not_pass_stands_in_the_list():
    rows = DATA["files"]
    assert len(LEFT) == sum(row["run"] - row["passed"] for row in rows)
    assert sum(group in run.UNCOUNTED for group, _ in LEFT) == sum(row["uncounted"] for row in rows)
    passed, counted = run.share(DATA)
    assert passed > 4000 and passed <= counted


def test_reasons_belong_to_a_group():
    assert {group for group, _ in LEFT} - {""} <= set(run.GROUPS) == set(DATA["groups"])
    assert len({(cause.group, cause.reason) for cause in run.causes()}) == len(run.causes())


def test_the_tenth_is_of_tests_that_pass():
    tests = [line.split(" ", 1) for line in run.TENTH.read_text("utf-8").splitlines()]
    assert len(tests) > 300 and {file for file, _ in tests} <= set(run.files())
    assert all(CONFORMANCE["tenth"](test) for _, test in tests)
    assert not {test for _, test in tests} & {test for _, test in LEFT}


def test_a_failure_has_the_first_cause_that_fits():
    known = run.causes()
    row = {"id": "test_x.py::T::test_y", "outcome": "failed", "type": "Timeout", "message": "Timeout (>30.0s)"}
    assert run.cause_of(row, known).group == "P"
    assert (
        run.cause_of({"id": "x", "outcome": "failed", "type": "ValueError", "message": "no such cause"}, known) is None
    )


def test_results_are_read_by_name_and_the_last_counts(tmp_path):
    lines = [{"begins": "a"}, {"id": "a", "outcome": "failed"}, {"id": "a", "outcome": "passed"}, {"id": "b", "outcome": "passed",
             "expected": False}]  # fmt: skip
    (tmp_path / "nn__test_x.torch.jsonl").write_text("\n".join(map(json.dumps, lines)))
    rows = run.rows_at("nn/test_x.py", "torch", tmp_path)
    assert run.passing(rows) == ["a"]
    assert run.rows_at("nn/test_x.py", "torchlike", tmp_path) == {}
