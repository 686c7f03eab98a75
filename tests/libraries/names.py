"""Asks torchlike for every name of PyTorch's that the sources of installed libraries use, and prints those that it only stands in for.

    python -m tests.libraries.names [package ...]      by default all that ask for PyTorch

A name that a library uses in its code may never be called by a program. So this finds what programs have not met yet.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.metadata
import re
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ASKS_FOR_TORCH = re.compile(r"torch(?![\w.-])")


def sources(packages: list[str]) -> Iterator[tuple[str, Path]]:
    """Yields packages and their files: of the named ones, or of those that are installed here and ask for PyTorch."""
    for library in importlib.metadata.distributions():
        if packages or any(map(ASKS_FOR_TORCH.match, library.requires or ())):
            for file in library.files or ():
                package = file.parts[0]
                if file.suffix == ".py" and len(file.parts) > 1 and (not packages or package in packages):
                    yield package, Path(str(library.locate_file(file)))


def names_in(text: str) -> set[str]:
    """Returns the names below ``torch`` that a source uses: by attribute, or imported from one of its modules."""
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return set()
    known = {"torch": "torch"}  # what each local name stands for
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                if each.name.partition(".")[0] == "torch":
                    found.add(each.name)
                    known[each.asname or "torch"] = each.name if each.asname else "torch"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "torch" and not node.level:
            for each in node.names:
                if each.name != "*":
                    found.add(f"{node.module}.{each.name}")
                    known[each.asname or each.name] = f"{node.module}.{each.name}"
    for node in ast.walk(tree):
        parts: list[str] = []
        part: ast.AST = node
        while isinstance(part, ast.Attribute):
            parts.append(part.attr)
            part = part.value
        if parts and isinstance(part, ast.Name) and part.id in known:
            found.add(".".join([known[part.id], *reversed(parts)]))
    return found


def ask(name: str) -> Any:
    """The object of a dotted name; AttributeError or ImportError where there is none."""
    found: Any = importlib.import_module("torch")
    place = "torch"
    for part in name.split(".")[1:]:
        place = f"{place}.{part}"
        try:
            found = getattr(found, part)
        except AttributeError:
            if place.count(".") > 1 and not isinstance(found, type(sys)):
                raise  # an attribute of an object
            found = importlib.import_module(place)
        if not isinstance(found, type(sys)):
            return found  # what comes after is an attribute of a class or function, or of a value
    return found


def is_stand_in(found: Any) -> bool:
    """Whether it raises where it is used."""
    if not callable(found):
        return type(found).__module__.endswith("_alias.stand_ins")
    code = getattr(found, "__code__", None) or getattr(getattr(found, "__new__", None), "__code__", None)
    return getattr(code, "co_filename", "").endswith("_alias/stand_ins.py") or type(found).__module__.endswith(
        "_alias.stand_ins"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", help="names that are imported, such as timm")
    options = parser.parse_args()
    used: dict[str, set[str]] = defaultdict(set)
    for package, path in sources(options.packages):
        text = path.read_text(encoding="utf-8", errors="ignore")
        if "torch" in text:
            for name in names_in(text):
                used[name].add(package)
    importlib.import_module("torchlike").alias()
    lacking, stands_in, failed = [], [], []
    with warnings.catch_warnings(action="ignore"):
        for name in sorted(used):
            try:
                if is_stand_in(ask(name)):
                    stands_in.append(name)
            except (AttributeError, ModuleNotFoundError):
                lacking.append(name)
            except Exception as error:
                failed.append(f"{name}: {type(error).__name__}: {error}")
    for title, names in (("stood in for", stands_in), ("in no PyTorch 2.13", lacking)):
        print(f"{title}: {len(names)} of {len(used)}")
        for name in sorted(names, key=lambda name: (-len(used[name]), name)):
            print(f"  {name}  ({', '.join(sorted(used[name]))})")
    for line in failed:
        print("fails:", line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
