"""PyTorch's modules and the kind of each name in them, as tests/golden/record_modules.py has recorded them."""

from __future__ import annotations

import json
import lzma
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["exports", "is_module", "kinds", "listed"]


@cache
def _recorded() -> dict[str, dict[str, Any]]:
    by_kind = json.loads(lzma.decompress(Path(__file__).with_name("pytorch_modules.json.xz").read_bytes()))
    modules, path = [], []
    for word in by_kind.pop("modules").split():  # each within those before it: ``..nn`` after ``torch`` and ``.cuda``
        name = word.lstrip(".")
        path[len(word) - len(name) :] = [name]
        modules.append(".".join(path))
    del by_kind["public"], by_kind["version"]  # see ``_missing.pytorch_names``
    rows = {kind: row.split(";") if isinstance(row, str) else row for kind, row in by_kind.items()}
    return {
        module: {kind: row[number] for kind, row in rows.items() if row[number]}
        for number, module in enumerate(modules)
    }


def _groups(row: str) -> dict[str, str]:
    """What stands after each name with a colon: ``{"a": "b", "c": "d e"}`` of ``a:b c: d e``."""
    groups, name = dict[str, str](), ""
    for word in row.split():
        start, colon, rest = word.partition(":")
        name = start if colon else name
        groups[name] = f"{groups.get(name, '')} {rest if colon else word}".strip()
    return groups


def is_module(name: str) -> bool:
    """Whether PyTorch has a module of that name: ``torch.nn.functional``."""
    return name in _recorded()


def listed() -> list[str]:
    """The names that ``from torch import *`` imports."""
    return _recorded()["torch"]["all"].split()


@cache
def kinds(module: str) -> dict[str, tuple[str, Any]]:
    """The names in a module of PyTorch's, each with its kind and what else was recorded. Kinds are

    - class, function; error, with Python's class that it derives from; enum, with its members;
    - decorator: called with a function it returns one; factory: called with anything else it returns a decorator;
    - value, with a number, text, bool or None; type, something for annotations; thing, any other object;
    - module, with its name; from, with the address of what another module of PyTorch's defines.
    """
    names_by_alias: dict[str, tuple[str, object]] = {}
    for kind, rows in _recorded().get(module, {}).items():
        if ":" in rows:
            rows = _groups(rows)
        if kind == "from":
            for home, names in rows.items():
                for name, _, own in (each.partition("=") for each in names.split()):
                    names_by_alias[name] = kind, (home, own or name)
        elif kind != "all":
            names_by_alias |= (
                {name: (kind, more) for name, more in rows.items()}
                if isinstance(rows, dict)
                else dict.fromkeys(rows.split(), (kind, None))
            )
    return names_by_alias


@cache
def exports() -> dict[tuple[str, str], list[tuple[str, str]]]:
    """By module and name of what it defines: the modules of PyTorch's that have it too, and its name there."""
    places: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for module, rows in _recorded().items():
        for home, names in _groups(rows.get("from", "")).items():
            for name, _, own in (entry.partition("=") for entry in names.split()):
                places.setdefault((home, own or name), []).append((module, name))
    return places
