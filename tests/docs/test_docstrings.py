"""Runs every example in every docstring of the package, found in the source, so that a decorator cannot hide one.

The functions and classes that programs use most have an example.
"""

import ast
import copy
import doctest
import inspect
import json
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest

import torchlike
from tests.api.namespaces import DOCS, public_names
from torchlike import nn
from torchlike.nn import functional

pytestmark = pytest.mark.composed

PACKAGE = Path(torchlike.__file__).parent
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
HOLDERS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def examples(path: Path) -> Iterator[doctest.DocTest]:
    """Yields one test for each docstring of a file that contains an example."""
    # The names that a docstring may use; it imports all others, as its reader must.
    names = {"torch": torchlike, "torchlike": torchlike, "nn": nn, "F": functional, "np": numpy}
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        words = ast.get_docstring(node) if isinstance(node, HOLDERS) else None
        if words and ">>> " in words:
            name = f"{path.relative_to(PACKAGE)}::{getattr(node, 'name', 'module')}"
            line = getattr(node, "lineno", 0)
            yield doctest.DocTestParser().get_doctest(words, dict(names), name, str(path), line)


EXAMPLES = [each for path in sorted(PACKAGE.rglob("*.py")) for each in examples(path)]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example.name}:{example.lineno}")
def test_an_example_prints_what_it_says(example):
    said: list[str] = []
    run = copy.copy(example)
    run.globs = dict(example.globs)  # these are cleared after the test
    failed = doctest.DocTestRunner(optionflags=FLAGS).run(run, out=said.append).failed
    assert failed == 0, "".join(said)


def test_an_example_can_fail(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.docs.test_docstrings.PACKAGE", tmp_path)
    (tmp_path / "wrong.py").write_text(
        'class C:\n    def f():\n        """One.\n\n        >>> 1 + 1\n        3\n        """\n'
    )
    (wrong,) = examples(tmp_path / "wrong.py")
    assert wrong.name == "wrong.py::f"
    with pytest.raises(AssertionError, match=r"Expected:\s+3\s+Got:\s+2"):
        test_an_example_prints_what_it_says(wrong)


NAMESPACES_WITH_EXAMPLES = [
    *("torchlike", "torchlike.autograd", "torchlike.distributions", "torchlike.linalg", "torchlike.nn", "torchlike.nn.functional"),
    *("torchlike.nn.init", "torchlike.nn.utils", "torchlike.optim", "torchlike.optim.lr_scheduler", "torchlike.utils.data"),
]  # fmt: skip
# Declared in a full file, types that are made at run time, and a setting.
WITHOUT_EXAMPLE = {"floor", "fmod", "sign", "square", "set_num_threads"}
TYPES = {"ByteTensor", "DoubleTensor", "FloatTensor", "IntTensor", "LongTensor"}


@pytest.mark.recorded
@pytest.mark.parametrize("namespace", NAMESPACES_WITH_EXAMPLES)
def test_what_programs_use_most_has_an_example(namespace):
    """Checks each function and class that at least three of the repositories counted in coverage.json use."""
    table = json.loads((DOCS / "coverage.json").read_text("utf-8"))["used"]
    used = {name for names in table.values() for name in names}
    known = {
        name: inspect.getdoc(inspect.unwrap(thing)) or ""
        for name, thing in public_names(namespace).items()
        if f"torch{namespace.removeprefix('torchlike')}.{name}" in used
    }
    assert {name for name, words in known.items() if ">>> " not in words} <= WITHOUT_EXAMPLE | TYPES
