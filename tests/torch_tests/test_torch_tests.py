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


def test_files_that_were_not_run_keep_what_is_written_of_them():
    def of(*rows):  # file, how many pass, and the names of those that do not
        files = [
            {"file": file, "run": passed + len(left), "passed": passed, "uncounted": 0} for file, passed, left in rows
        ]
        remaining = [{"group": "F", "reason": "r", "tests": [name for *_, left in rows for name in left]}]
        return {"files": files, "remaining": remaining}

    old = of(("test_fx.py", 1, ["test_fx.py::a"]), ("test_nn.py", 2, ["test_nn.py::b", "test_nn.py::c"]))
    new = of(("test_nn.py", 3, ["test_nn.py::c"]))
    assert run.merged(old, new) == of(("test_fx.py", 1, ["test_fx.py::a"]), ("test_nn.py", 3, ["test_nn.py::c"]))
    with pytest.raises(ValueError, match=r"run optim/test_optim\.py as well"):
        run.merged(of(("optim/test_optim.py", 1, [])), of(("test_optim.py", 1, [])))


def test_tests_that_ran_again_are_counted_anew():
    files = [{"file": "test_fx.py", "run": 9, "passed": 5, "uncounted": 1}]
    remaining = [
        {"group": "F", "reason": "r", "tests": ["test_fx.py::a", "test_fx.py::b", "test_fx.py::c"]},
        {"group": "I", "reason": "i", "tests": ["test_fx.py::d"]},
    ]
    rows = {
        "test_fx.py::a": {"id": "test_fx.py::a", "outcome": "passed"},
        "test_fx.py::b": {
            "id": "test_fx.py::b",
            "outcome": "failed",
            "type": "AttributeError",
            "message": "_lazy_clone",
        },
        "test_fx.py::d": {"id": "test_fx.py::d", "outcome": "passed"},
    }
    new = run.updated({"files": files, "remaining": remaining}, rows)
    assert new["files"] == [{"file": "test_fx.py", "run": 9, "passed": 7, "uncounted": 1}]
    assert [(each["group"], each["tests"]) for each in new["remaining"]] == [
        ("F", ["test_fx.py::c"]),
        ("I", ["test_fx.py::b"]),
    ]
