"""Writes conformance.md from conformance.json: how many of PyTorch's own operator samples agree. `python docs/_conformance.py`."""

import hashlib
import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE, DATA = HERE / "conformance.md", HERE / "conformance.json"
HEAD = """# Conformance

PyTorch keeps a database of its operators (OpInfo), with sample calls of each operator and calls that must raise an error. These samples
were run with PyTorch {version} and with torchlike, on a CPU, and the results compared: values, shapes, dtypes, gradients, exceptions. An
operator counts as passed if **all** of its samples that were run agree. Sparse layouts, PyTorch's internals and operators of other devices
are left out.

- **ops**: values, within a tolerance for the dtype; an operator that does not accept float32 is run with a dtype that it accepts
- **grads**: gradients with respect to every input
- **methods**: the same calls as methods, as operators such as `+`, in place and by the operator's other names
- **errors**: calls for which PyTorch raises an error must raise the same type of exception

`docs/_conformance.py` writes this page from `docs/conformance.json`; do not edit it.

| dtype | suite | samples of each operator | operators passed | of | share | samples passed | of |
|---|---|---|--:|--:|--:|--:|--:|
"""
REST = """
## What differs

Every operator with a sample that differs, and the reason.

"""


TESTS = """
## PyTorch's own tests

The operators above are called one at a time. PyTorch's test files also test what a *program* means: aliasing, hooks, modes, saved tensors,
errors. `make torch-tests` brings those of {source} (nothing of them is part of torchlike), runs a random sample of each file by PyTorch
{version}, and what passes there by torchlike. **{passed} of {counted} pass: {share}.** Tests that ask for PyTorch's internals or pin a
fault of PyTorch's do not count; they are listed too. A fixed tenth of the tests that pass runs before each change lands.

| file | run | pass | do not count | share |
|---|--:|--:|--:|--:|
"""
LEFT = """
### What does not pass

Each reason, in how many tests it was found, and their names. {groups}.

| group | reason | tests | |
|---|---|--:|---|
"""

SITUATIONS = """
## Single situations

{snippets} snippets, each of one situation that PyTorch's tests are about, were run by both libraries: **{same} print the same lines.** The
others, and what differs in {programs} small programs made after public reports, of which {same_programs} print the same (-: what depends on
the run, as addresses do):

| | group | reason |
|---|---|---|
"""


def tenth(test: str) -> bool:
    """Whether a test is among the fixed tenth."""
    return int(hashlib.sha1(test.encode()).hexdigest(), 16) % 10 == 0


def save(data: dict[str, Any]) -> None:
    """Writes the data and the page; a line for each row."""
    parts = [f" {json.dumps(key)}: {_lines(value, 1)}" for key, value in data.items()]
    DATA.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
    PAGE.write_text(page(data), encoding="utf-8")


def _lines(value: Any, depth: int) -> str:
    """JSON in which each row of a table has a line of its own."""
    inner, outer = " " * (depth + 1), " " * depth
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(f"{inner}{json.dumps(row, ensure_ascii=False)}" for row in value) + f"\n{outer}]"
    if isinstance(value, dict):
        parts = [f"{inner}{json.dumps(key)}: {_lines(each, depth + 1)}" for key, each in value.items()]
        return "{\n" + ",\n".join(parts) + f"\n{outer}}}"
    return json.dumps(value, ensure_ascii=False)


def torch_tests(data: dict[str, Any], version: str) -> list[str]:
    """The part about PyTorch's own tests."""
    rows = data["files"]
    passed, counted = sum(row["passed"] for row in rows), sum(row["run"] - row["uncounted"] for row in rows)
    head = {"passed": passed, "counted": counted, "share": f"{100 * passed / counted:.1f} %"}
    lines = [TESTS.format(source=data["source"], version=version, **head).rstrip("\n")]
    for row in rows:
        count = row["run"] - row["uncounted"]
        share = f"{100 * row['passed'] / count:.1f} %" if count else ""
        lines.append(f"| {row['file']} | {row['run']} | {row['passed']} | {row['uncounted']} | {share} |")
    groups = "; ".join(f"**{name}**: {words}" for name, words in data["groups"].items())
    lines.append(LEFT.format(groups=groups).rstrip("\n"))
    for row in data["remaining"]:
        names = ", ".join(f"`{name}`" for name in row["tests"])
        lines.append(f"| {row['group']} | {row['reason']} | {len(row['tests'])} | {names} |")
    return lines


def situations(data: dict[str, Any]) -> list[str]:
    """The part about single situations: a row for each that differs, several with one reason in a row."""
    lines = [SITUATIONS.format(**data["counts"]).rstrip("\n")]
    rows = [f"| {row['name']} | {row['group']} | {row['reason']} |" for row in data["remaining"]]
    return lines + [row.replace("__", "\\_\\_") for row in rows]


def load() -> dict[str, Any]:
    """Reads the measurements: ``results`` has a row for each dtype and suite, ``remaining`` the differences, ``reasons`` why, by name."""
    return json.loads(DATA.read_text(encoding="utf-8"))


def page(data: dict[str, Any]) -> str:
    """The whole page as Markdown."""
    lines = [HEAD.format(version=data["pytorch"]).rstrip("\n")]
    for row in data["results"]:
        share = f"{100 * row['passed'] / row['operators']:.1f} %"
        taken = f"up to {row['most']}" if row["most"] else "all"
        cells = [row["dtype"], row["suite"], taken, row["passed"], row["operators"], share, row["samples_passed"]]
        lines.append("| " + " | ".join(map(str, [*cells, row["samples"]])) + " |")
    lines.append(REST.rstrip("\n"))
    for dtype in dict.fromkeys(row["dtype"] for row in data["results"]):
        rows = [row for row in data["remaining"] if row["dtype"] == dtype]
        if rows:
            lines += [f"\n### {dtype}\n", "| operator | suite | samples passed | why |", "|---|---|--:|---|"]
        for row in rows:
            passed = f"{row['passed']} of {row['samples']}"
            name = row["operator"].replace("|", "\\|")  # a bar would end the cell
            lines.append(f"| `{name}` | {row['suite']} | {passed} | {data['reasons'][row['reason']]} |")
    if "torch_tests" in data:
        lines += torch_tests(data["torch_tests"], data["pytorch"])
    if "situations" in data:
        lines += situations(data["situations"])
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(load()), encoding="utf-8")
