"""Writes coverage.md: which of PyTorch's public names torchlike has. `python docs/_coverage.py`, from the repository's root."""

import importlib
import json
from pathlib import Path
from typing import Any

from torchlike._missing import pytorch_names

PAGE = Path(__file__).with_name("coverage.md")
DATA = Path(__file__).with_name("coverage.json")
HEAD = """# Coverage

Which of PyTorch {version}'s public names are there. Whatever is not raises an error that says so: `AttributeError` for a name, and for an
argument that has no effect yet an error at the call. Nothing is accepted and then ignored.

Written by `docs/_coverage.py`; not to be edited.

{used}
## By namespace

| namespace | there | of |
|---|--:|--:|
"""

USED = """## What programs use

{there} of the {all} names that at least {least} of {repositories} public repositories use are there. The others, and areas that
fewer use, and why they are not:

| names | repositories, at most | reason |
|---|--:|---|
"""

# PyTorch's `torch.ops` gives out operators by their inner names; torchlike's is where operations are declared.
OTHERWISE = {"torch": {"ops"}}
ABSENT = object()


def found(name: str) -> Any:
    """What stands here for a name of PyTorch's, modules imported as a program would; ABSENT where nothing does."""
    there, path = importlib.import_module("torchlike"), "torchlike"
    for part in name.split(".")[1:]:
        path = f"{path}.{part}"
        if not hasattr(there, part):
            try:
                importlib.import_module(path)
            except ImportError:
                return ABSENT
        there = getattr(there, part)
    return there


def is_there(name: str) -> bool:
    """Whether a name that stands for something in PyTorch stands for something here."""
    return found(name) is not ABSENT


def table() -> dict[str, dict[str, bool]]:
    """Whether each name is there, by namespace."""
    names = {key: value for key, value in pytorch_names().items() if key != "version"}
    return {
        namespace: {
            name: name not in OTHERWISE.get(namespace, ()) and is_there(f"{namespace}.{name}") for name in listed
        }
        for namespace, listed in names.items()
    }


def load() -> dict[str, Any]:
    """``used``: names by how many of the ``repositories`` use them, from ``least`` on; ``reasons``: why some are not there.

    A reason for a namespace holds for all that is in it.
    """
    return json.loads(DATA.read_text(encoding="utf-8"))


def covers(names: list[str], name: str) -> bool:
    """Whether a name is one of some, or stands within one of them."""
    return any(f"{name}.".startswith(f"{each}.") for each in names)


def used(data: dict[str, Any]) -> str:
    """The section on what programs use."""
    count = {name: int(many) for many, names in data["used"].items() for name in names}
    absent = [name for name in count if not is_there(name)]
    lines = [USED.format(there=len(count) - len(absent), all=len(count), **data).rstrip("\n")]
    rows = []
    for row in data["reasons"]:
        names = sorted((name for name in absent if covers(row["names"], name)), key=lambda name: (-count[name], name))
        most = count[names[0]] if names else 0
        rows.append((most, " ".join(f"`{name}`" for name in names or row["names"]), row["reason"]))
    rows.sort(key=lambda row: -row[0])
    lines += [f"| {names} | {most or 'fewer'} | {reason} |" for most, names, reason in rows]
    return "\n".join(lines) + "\n"


def page() -> str:
    """The whole page as Markdown."""
    coverage = table()
    rows = [f"| [{space}](#{anchor(space)}) | {sum(of.values())} | {len(of)} |" for space, of in coverage.items()]
    lines = [HEAD.format(version=pytorch_names()["version"], used=used(load())) + "\n".join(rows)]
    for namespace, names in coverage.items():
        lines.append(f"## {namespace}")
        for title, wanted in (("There", True), ("Not yet", False)):
            chosen = [f"`{name}`" for name, there in names.items() if there is wanted]
            if chosen:
                lines.append(f"**{title}** ({len(chosen)}): {' '.join(chosen)}")
    return "\n\n".join(lines) + "\n"


def anchor(title: str) -> str:
    """The address that MkDocs gives a heading."""
    return title.lower().replace(".", "")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
