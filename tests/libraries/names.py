"""Asks torchlike for every name of PyTorch's that the sources of installed libraries use, and prints those that it only stands in for.

    python -m tests.libraries.names [package ...]      by default all that ask for PyTorch
    python -m tests.libraries.names --record           with PyTorch: writes which of them it has into two files of tests/golden

A name that a library uses in its code may never be called by a program. So this finds what programs have not met yet. Of PyTorch's inner
modules torchlike records the names that libraries use (tests/golden/record_modules.py); --record writes them into inner_names.txt. Which of
the names PyTorch itself lacks is in absent_names.txt: other packages add them to it (``torch.npu``), or older versions of it had them.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import importlib.metadata
import re
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ASKS_FOR_TORCH = re.compile(r"torch(?![\w.-])")
INNER_NAMES = Path(__file__).parents[1] / "golden" / "inner_names.txt"
ABSENT_NAMES = INNER_NAMES.with_name("absent_names.txt")


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


def inner(names: Iterable[str]) -> dict[str, list[str]]:
    """Returns the names that PyTorch has, of those that are private or in a module of which not all names are recorded, by module."""
    from tests.golden.record_modules import is_closed  # which imports PyTorch

    found: dict[str, set[str]] = defaultdict(set)
    for name in names:
        parts = name.split(".")
        for length in range(len(parts) - 1, 0, -1):
            module, own = ".".join(parts[:length]), parts[length]
            with contextlib.suppress(Exception):
                found_there = getattr(importlib.import_module(module), own)
                if ("._" in f"{module}.{own}" or is_closed(module)) and not isinstance(found_there, type(sys)):
                    found[module].add(own)
                break
    return {module: sorted(found[module]) for module in sorted(found)}


def absent(names: Iterable[str]) -> list[str]:
    """Returns the names that are not there where this runs: with PyTorch, those that it lacks."""
    lacking = []
    with warnings.catch_warnings(action="ignore"):
        for name in sorted(names):
            try:
                ask(name)
            except (AttributeError, ModuleNotFoundError):
                lacking.append(name)
            except Exception:  # it is there, and needs something that is not
                continue
    return lacking


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
    parser.add_argument("--record", action="store_true", help="ask PyTorch, and keep the inner names that it has")
    options = parser.parse_args()
    used: dict[str, set[str]] = defaultdict(set)
    for package, path in sources(options.packages):
        text = path.read_text(encoding="utf-8", errors="ignore")
        if "torch" in text:
            for name in names_in(text):
                used[name].add(package)
    if options.record:
        lines = [f"{module} {' '.join(names)}\n" for module, names in inner(used).items()]
        INNER_NAMES.write_text("".join(lines), encoding="utf-8")
        ABSENT_NAMES.write_text("".join(f"{name}\n" for name in absent(used)), encoding="utf-8")
        return 0
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
    absent_there = set(ABSENT_NAMES.read_text(encoding="utf-8").split())
    unknown = [name for name in lacking if name not in absent_there]
    nowhere = [name for name in lacking if name in absent_there]
    for title, names in (("stood in for", stands_in), ("in PyTorch alone", unknown), ("in no PyTorch 2.13", nowhere)):
        print(f"{title}: {len(names)} of {len(used)}")
        for name in sorted(names, key=lambda name: (-len(used[name]), name)):
            print(f"  {name}  ({', '.join(sorted(used[name]))})")
    for line in failed:
        print("fails:", line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
