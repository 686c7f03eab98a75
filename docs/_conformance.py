"""Writes conformance.md from conformance.json: how many of PyTorch's own operator samples agree. `python docs/_conformance.py`."""

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
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(load()), encoding="utf-8")
