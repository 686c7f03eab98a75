"""Writes conformance.md from conformance.json: how many of PyTorch's own operator samples agree. `python docs/_conformance.py`."""

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE, DATA = HERE / "conformance.md", HERE / "conformance.json"
HEAD = """# Conformance

PyTorch keeps a database of its operators (OpInfo), with samples of how each is called and of calls that must be refused. They were run
on PyTorch {version} and on torchlike, on a CPU, and what came out compared: values, shapes, dtypes, gradients, exceptions. An operator
counts as passed when **all** of the samples taken agree. Sparse layouts, internals and operators of other devices are left out.

- **ops**: values, within a tolerance for the dtype; operators that do not take float32 are run with one that they take
- **grads**: gradients with respect to every input
- **methods**: the same calls as methods, operators, in place and by other names
- **errors**: calls that PyTorch refuses must be refused with the same type of exception

Written by `docs/_conformance.py` from `docs/conformance.json`; not to be edited.

| dtype | suite | samples of each operator | operators passed | of | share | samples passed | of |
|---|---|---|--:|--:|--:|--:|--:|
"""
REST = """
## What differs

Every operator of which a sample differs, and why.

"""


def load() -> dict[str, Any]:
    """What was measured: ``results``, a row for each dtype and suite; ``remaining``, what differs; ``reasons``, by their names."""
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
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(load()), encoding="utf-8")
