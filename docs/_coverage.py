"""Writes coverage.md: which of PyTorch's public names torchlike has. `python docs/_coverage.py`, from the repository's root."""

import importlib
from pathlib import Path
from typing import Any

from torchlike import Tensor
from torchlike._missing import pytorch_names

PAGE = Path(__file__).with_name("coverage.md")
HEAD = """# Coverage

Which of PyTorch {version}'s public names are there. Whatever is not raises an error that says so: `AttributeError` for a name, and for an
argument that has no effect yet an error at the call. Nothing is accepted and then ignored.

Written by `docs/_coverage.py`; not to be edited.

| namespace | there | of |
|---|--:|--:|
"""

# PyTorch's `torch.ops` gives out operators by their inner names; torchlike's is where operations are declared.
OTHERWISE = {"torch": {"ops"}}


def holder(namespace: str) -> Any:
    """What stands for one of PyTorch's namespaces; None where nothing does."""
    if namespace == "torch.Tensor":
        return Tensor
    try:
        return importlib.import_module(namespace.replace("torch", "torchlike", 1))
    except ModuleNotFoundError:
        return None


def table() -> dict[str, dict[str, bool]]:
    """Whether each name is there, by namespace."""
    names = {key: value for key, value in pytorch_names().items() if key != "version"}
    return {
        namespace: {name: hasattr(found, name) and name not in OTHERWISE.get(namespace, ()) for name in listed}
        for namespace, listed in names.items()
        for found in [holder(namespace)]
    }


def page() -> str:
    """The whole page as Markdown."""
    coverage = table()
    rows = [f"| [{space}](#{anchor(space)}) | {sum(of.values())} | {len(of)} |" for space, of in coverage.items()]
    lines = [HEAD.format(version=pytorch_names()["version"]) + "\n".join(rows)]
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
