"""Runs PyTorch's own tests by torchlike, and says how many of those that pass by PyTorch pass.

    python -m tests.torch_tests.run [FILE ...]     the files of files.txt, or those named: by PyTorch first, then what passed by torchlike
    python -m tests.torch_tests.run --report       writes docs/conformance.json and the page from the results that are there, and tenth.txt;
                                                   files without results keep what is written of them
    python -m tests.torch_tests.run --again FILE ...  of these files, only the tests that the page lists as not passing, by torchlike, and
                                                   writes which of them pass now
    python -m tests.torch_tests.run --tenth        only the tests of tenth.txt, by torchlike: they must pass

Results are lines of JSON in build/torch-tests. A failure belongs to the first of causes.txt whose pattern fits.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import runpy
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from tests.torch_tests import source

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
RESULTS = ROOT / "build" / "torch-tests"
TENTH = HERE / "tenth.txt"
GROUPS = {
    "S": "a wrong value without a word", "C": "a crash, or an error of another library's", "F": "missing",
    "M": "words, warnings, types of errors",
    "A": "takes what PyTorch refuses", "L": "layout in memory", "P": "takes too long", "D": "a difference that migration.md names",
    "I": "asks for PyTorch's internals", "T": "pins a fault of PyTorch's",
}  # fmt: skip
UNCOUNTED = ("I", "T")  # no program depends on them


class Cause(NamedTuple):
    """Why tests fail: a group, what one reads, and the pattern that finds it in a failure."""

    group: str
    reason: str
    pattern: re.Pattern[str]


def causes() -> list[Cause]:
    """Reads causes.txt."""
    found = []
    for line in (HERE / "causes.txt").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            group, reason, pattern = line.split("\t")
            found.append(Cause(group, reason, re.compile(pattern, re.DOTALL)))
    return found


def cause_of(row: dict[str, Any], known: list[Cause]) -> Cause | None:
    """The first cause whose pattern fits a test that did not pass."""
    parts = [
        row["id"],
        f"{row.get('type', row['outcome'])}: {row.get('message', '')}",
        row.get("cause", ""),
        *row.get("where", []),
    ]
    text = " | ".join(parts)
    return next((cause for cause in known if cause.pattern.search(text)), None)


def files() -> dict[str, tuple[int, int]]:
    """The files of files.txt, with the seconds that PyTorch and torchlike get."""
    lines = (HERE / "files.txt").read_text("utf-8").splitlines()
    return {name: (int(a), int(b)) for name, a, b in (line.split() for line in lines if line and line[0] != "#")}


def rows_at(file: str, library: str, folder: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """What is known of a file's tests, by name."""
    path = folder / f"{file.removesuffix('.py').replace('/', '__')}.{library}.jsonl"
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return {row["id"]: row for row in map(json.loads, lines) if "id" in row}


def run(
    library: str,
    file: str,
    seconds: float,
    only: list[str] | None,
    folder: Path = RESULTS,
    beside: tuple[str, ...] = (),
    limit: int = 30,
) -> dict[str, dict[str, Any]]:
    """Runs a file's tests, again where a test ends the process, until the seconds are over. Tests that have a result are not run again.

    Args:
        only: the tests to run.
        beside: other files of the same folder, which run in the same process; the results of all are those of the first.
        limit: the seconds that a test may take.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stem, tests = folder / file.removesuffix(".py").replace("/", "__"), source.folder()
    rows, wanted = Path(f"{stem}.{library}.jsonl"), Path(f"{stem}.only")
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {
        "LIBRARY": library, "LIMIT": str(limit), "ROWS": str(rows), "PYTHONPATH": paths, "JAX_PLATFORMS": "cpu", "CI": "",
        "HYPOTHESIS_STORAGE_DIRECTORY": str(folder / "hypothesis"),
    }  # fmt: skip
    if only is not None:
        wanted.write_text("\n".join(only), encoding="utf-8")
        environment["ONLY"] = str(wanted)
    command = [sys.executable, "-m", "pytest", "-p", "tests.torch_tests.plugin", "-c", os.devnull, "--rootdir", str(tests), "--noconftest",
               "-p", "no:cacheprovider", "-p", "no:xdist", "-qq", "--tb=no", f"--timeout={limit}", "--timeout-method=signal",
               "-W", "ignore",
               *[Path(each).name for each in (file, *beside)]]  # fmt: skip
    for _ in range(40):
        left = seconds - sum(row.get("seconds", 0) for row in rows_at(file, library, folder).values())
        if left < 1:
            break
        environment["SECONDS"] = str(left)
        with Path(f"{stem}.{library}.log").open("a") as log:
            try:
                done = subprocess.run(
                    command,
                    cwd=tests / Path(file).parent,
                    env=environment,
                    stdout=log,
                    stderr=log,
                    timeout=left + 240,
                    check=False,
                )
                code = done.returncode
            except subprocess.TimeoutExpired:
                code = -9
        last = json.loads(rows.read_text("utf-8").splitlines()[-1]) if rows.exists() else {}
        if "begins" in last and code != 77:  # the process ended in the midst of a test
            ended = {
                "id": last["begins"],
                "outcome": "failed",
                "type": "Ended",
                "message": f"the process ended: {code}",
            }
            with rows.open("a", encoding="utf-8") as out:
                out.write(json.dumps(ended) + "\n")
        elif code != 78:
            break
    return rows_at(file, library, folder)


def passing(rows: dict[str, dict[str, Any]]) -> list[str]:
    return [name for name, row in rows.items() if row["outcome"] == "passed" and "expected" not in row]


def summary(folder: Path = RESULTS) -> dict[str, Any]:
    """What `docs/conformance.json` says of the results: a row for each file, and the tests that do not pass, by reason."""
    known, table = causes(), []
    left: dict[tuple[str, str], list[str]] = {}
    for file in files():
        by_torch, ours = passing(rows_at(file, "torch", folder)), rows_at(file, "torchlike", folder)
        run_here = {name: ours[name] for name in by_torch if name in ours}
        missed, uncounted = [row for row in run_here.values() if row["outcome"] != "passed"], 0
        for row in missed:
            cause = cause_of(row, known)
            group, reason = ("", "no reason found yet") if cause is None else (cause.group, cause.reason)
            uncounted += group in UNCOUNTED
            left.setdefault((group, reason), []).append(row["id"])
        if run_here:
            table.append(
                {"file": file, "run": len(run_here), "passed": len(run_here) - len(missed), "uncounted": uncounted}
            )
    source_of = "PyTorch 2.6, Debian's source package"
    return {"source": source_of, "files": table, "groups": GROUPS, "remaining": _by_reason(left)}


def _by_reason(left: dict[tuple[str, str], list[str]]) -> list[dict[str, Any]]:
    """A row for each reason, the most frequent first."""
    return [
        {"group": g, "reason": r, "tests": sorted(names)}
        for (g, r), names in sorted(left.items(), key=lambda p: (-len(p[1]), p[0]))
    ]


def share(data: dict[str, Any]) -> tuple[int, int]:
    """How many tests pass, of how many that count."""
    rows = data["files"]
    return sum(row["passed"] for row in rows), sum(row["run"] - row["uncounted"] for row in rows)


def merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The new summary, with what the old one says of files that the new one does not have.

    Raises:
        ValueError: a file has results, and another of the same name has none: the tests' names do not tell them apart.
    """
    of_new = {row["file"]: row for row in new["files"]}
    rows = {row["file"]: row for row in old["files"]} | of_new
    names = {Path(file).name for file in of_new}
    if alike := sorted(file for file in rows if file not in of_new and Path(file).name in names):
        raise ValueError(f"run {', '.join(alike)} as well: a file of the same name was run")
    left: dict[tuple[str, str], list[str]] = {}
    for again, summary_of in ((names, old), (set(), new)):
        for each in summary_of["remaining"]:
            if tests := [test for test in each["tests"] if test.partition("::")[0] not in again]:
                left.setdefault((each["group"], each["reason"]), []).extend(tests)
    return new | {"files": [rows[file] for file in files() if file in rows], "remaining": _by_reason(left)}


def updated(old: dict[str, Any], rows: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The summary after some of the tests that it lists ran again, with these results."""
    known = causes()
    left: dict[tuple[str, str], list[str]] = {}
    moved: Counter[str] = Counter()
    for each in old["remaining"]:
        for test in each["tests"]:
            row, was_counted = rows.get(test), each["group"] not in UNCOUNTED
            if row is not None and row["outcome"] == "passed":
                moved[f"{test.partition('::')[0]} passed"] += 1
                moved[f"{test.partition('::')[0]} uncounted"] -= not was_counted
                continue
            cause = None if row is None else cause_of(row, known)
            group, reason = (each["group"], each["reason"]) if cause is None else (cause.group, cause.reason)
            moved[f"{test.partition('::')[0]} uncounted"] += was_counted - (group not in UNCOUNTED)
            left.setdefault((group, reason), []).append(test)
    table = []
    for file in old["files"]:
        name = Path(file["file"]).name
        more = {key: file[key] + moved.pop(f"{name} {key}", 0) for key in ("passed", "uncounted")}
        table.append(file | more)
    return old | {"files": table, "remaining": _by_reason(left)}


def again(names: list[str]) -> None:
    """Runs the tests of these files that the page lists as not passing, and writes which of them pass now.

    Raises:
        ValueError: another file has the name of one of them: the tests' names do not tell them apart.
    """
    page = runpy.run_path(str(ROOT / "docs" / "_conformance.py"))
    found = page["load"]()
    listed = [test for each in found["torch_tests"]["remaining"] for test in each["tests"]]
    rows: dict[str, dict[str, Any]] = {}
    for file in names:
        name = Path(file).name
        if sum(Path(each).name == name for each in files()) != 1:
            raise ValueError(f"several files are named {name}")
        tests = [test for test in listed if test.startswith(f"{name}::")]
        with tempfile.TemporaryDirectory() as folder:
            ran = run("torchlike", file, 1200, tests, Path(folder), limit=120)
        rows |= {test: ran[test] for test in tests if test in ran}
        print(file, Counter(ran[test]["outcome"] for test in tests if test in ran), flush=True)
    found["torch_tests"] = updated(found["torch_tests"], rows)
    page["save"](found)
    passed, counted = share(found["torch_tests"])
    print(f"{passed} of {counted}: {100 * passed / counted:.2f} %")


def report() -> None:
    """Writes the results into `docs`, and the names of a tenth of what passed into `tenth.txt`."""
    data = ROOT / "docs" / "conformance.json"
    page = runpy.run_path(str(ROOT / "docs" / "_conformance.py"))
    found = page["load"]()
    new = summary()
    found["torch_tests"] = merged(found["torch_tests"], new)
    page["save"](found)
    kept, tenth = TENTH.read_text("utf-8").splitlines(), []
    with_results = {row["file"] for row in new["files"]}
    for file in files():
        if file not in with_results:
            tenth += [line for line in kept if line.startswith(f"{file} ")]
            continue
        both = set(passing(rows_at(file, "torch"))) & set(passing(rows_at(file, "torchlike")))
        tenth += sorted(f"{file} {name}" for name in both if page["tenth"](name))
    TENTH.write_text("\n".join(tenth) + "\n", encoding="utf-8")
    passed, counted = share(found["torch_tests"])
    print("wrote", data, "and", TENTH, f"- {passed} of {counted}: {100 * passed / counted:.2f} %")


def run_tenth() -> int:
    """Runs the tests of tenth.txt, those of a folder in one process; gives how many do not pass."""
    wanted: dict[Path, dict[str, list[str]]] = {}
    for line in TENTH.read_text("utf-8").splitlines():
        file, _, test = line.partition(" ")
        wanted.setdefault(Path(file).parent, {}).setdefault(file, []).append(test)
    bad = asked = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        runs = []
        for by_file in wanted.values():
            first, *beside = by_file
            tests = [test for tests in by_file.values() for test in tests]
            runs.append((tests, pool.submit(run, "torchlike", first, 1200, tests, Path(folder), tuple(beside), 120)))
        for tests, running in runs:
            rows = running.result()
            asked += len(tests)
            for test in tests:
                row = rows.get(test, {"outcome": "not run"})
                if row["outcome"] != "passed":
                    bad += 1
                    print(f"{test}: {row['outcome']} {row.get('type', '')} {row.get('message', '')[:200]}", flush=True)
    print(f"{asked - bad} of {asked} pass")
    return bad


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="FILE")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--tenth", action="store_true")
    chosen = parser.parse_args()
    if chosen.report:
        report()
        return 0
    try:
        source.folder()
    except source.Unavailable as error:
        print(f"PyTorch's tests are not run: {error}")
        return 0
    if chosen.tenth:
        return int(run_tenth() > 0)
    if chosen.again:
        again(chosen.names)
        return 0
    for file, (of_torch, ours) in files().items():
        if chosen.names and file not in chosen.names:
            continue
        passed = passing(run("torch", file, of_torch, None))
        rows = run("torchlike", file, ours, passed)
        print(file, Counter(rows[name]["outcome"] for name in passed if name in rows), flush=True)
    passed, counted = share(summary())
    print(f"{passed} of {counted} tests that count pass: {100 * passed / max(counted, 1):.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
