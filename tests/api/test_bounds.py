"""Bounds: the length of files and functions, repetition among the optimizers, uses of private fields, and the size of the wheel."""

import ast
import io
import tomllib
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

from torchlike._core.tensor import Tensor

pytestmark = pytest.mark.recorded

PACKAGE = Path(__file__).parents[2] / "torchlike"
FILES = sorted(PACKAGE.rglob("*.py"))  # stubs are generated, and only programs read them

MOST_LINES_OF_A_FILE = 900
MOST_LINES_OF_A_FUNCTION = 80
REPEATED_LINES = 8
MOST_FILES_OF_A_FOLDER = 25
# Folders with more files, because PyTorch's folder of the same name has as many.
PYTORCHS_OWN = {"distributions", "nn/modules"}
MOST_BYTES_OF_THE_WHEEL = 3_000_000
BYTES_OF_ITS_RECORD = 60  # for each file: its name compresses, its digest does not
# The files outside ``_core`` that use private fields of Tensor, and how often at most. ``_core/fields.py`` has functions for all others.
USES_OF_FIELDS = {
    "dispatch/apply.py": 30,  # every operation calls this
    "dispatch/inplace.py": 32,  # and every write in place
    "dispatch/bindings.py": 1,
    "autograd/engine.py": 5,  # writes each leaf's gradient
    "autograd/replayed_backward.py": 4,  # as above, for a whole model at once
    "nn/parameter.py": 14,  # has fields of its own, for parameters that have no shape yet
    "_subclasses/fake_tensor.py": 6,  # the device that a fake tensor shows
    "nn/_graph.py": 1,  # and flax's variable of a tensor
}


def functions_longer_than(most: int, path: Path) -> list[str]:
    """Returns the functions of a file that have more lines, counted from ``def`` to the last line, with the docstring."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    lengths = {f"{path.name}:{node.lineno} {node.name}": (node.end_lineno or 0) - node.lineno + 1 for node in functions}
    return [f"{name} has {length} lines" for name, length in lengths.items() if length > most]


def repeated_blocks(files: Iterable[Path], size: int) -> list[str]:
    """Returns the places where a block of ``size`` lines occurs again; blank lines and indentation do not count.

    Imports, signatures and docstrings are lines like others: what several files need in the same words has one place.
    """
    places: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for path in files:
        numbered = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        lines = [(number, line.strip()) for number, line in numbered if line.strip()]
        for start in range(len(lines) - size + 1):
            block = lines[start : start + size]
            places[tuple(line for _, line in block)].append(f"{path.name}:{block[0][0]}-{block[-1][0]}")
    return [" = ".join(where) for where in places.values() if len(where) > 1]


def uses_of_fields(path: Path, fields: Iterable[str]) -> int:
    """Counts how often a file reads or sets one of these attributes, of any object."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return sum(isinstance(node, ast.Attribute) and node.attr in fields for node in nodes)


def test_private_fields_of_tensors_are_used_in_few_files():
    fields = [name for name in Tensor._fields if name.startswith("_") and not name.startswith("__")]
    counts = {str(path.relative_to(PACKAGE)): uses_of_fields(path, fields) for path in FILES}
    outside = {path: count for path, count in counts.items() if count and not path.startswith("_core/")}
    assert {path: count for path, count in outside.items() if count > USES_OF_FIELDS.get(path, 0)} == {}


def test_no_file_is_too_long():
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {str(path.relative_to(PACKAGE)): n for path, n in lengths.items() if n > MOST_LINES_OF_A_FILE} == {}


def test_no_folder_is_too_full():
    counts = Counter(str(path.parent.relative_to(PACKAGE)) for path in FILES)
    full = {folder: count for folder, count in counts.items() if count > MOST_FILES_OF_A_FOLDER}
    assert full.keys() <= PYTORCHS_OWN, full


def test_no_function_is_too_long():
    assert [line for path in FILES for line in functions_longer_than(MOST_LINES_OF_A_FUNCTION, path)] == []


def test_no_block_stands_twice_among_the_optimizers():
    assert repeated_blocks(sorted((PACKAGE / "optim").rglob("*.py")), REPEATED_LINES) == []


def test_the_wheel_is_small():
    """The package is packed as a wheel is, in a tenth of the time that building one takes."""
    targets = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]
    matches = [list(PACKAGE.parent.glob(pattern)) for pattern in targets["wheel"]["exclude"]]
    assert all(matches)
    excluded = {path for found in matches for path in found}
    files = [path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    files = [path for path in files if path not in excluded and "built" not in path.parts]  # nor extension modules
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in files:
            archive.write(path, f"torchlike/{path.relative_to(PACKAGE)}")
    assert packed.tell() + BYTES_OF_ITS_RECORD * len(files) <= MOST_BYTES_OF_THE_WHEEL


def test_the_checks_find_what_is_too_long_or_repeated(tmp_path):
    body = "".join(f"    x{number} = {number}\n\n" for number in range(10))
    (tmp_path / "a.py").write_text(f"def f():\n{body}")
    (tmp_path / "b.py").write_text(f"class C:\n    def g(self):\n{body.replace('    ', '        ')}")
    assert functions_longer_than(19, tmp_path / "a.py") == ["a.py:1 f has 20 lines"]
    assert functions_longer_than(20, tmp_path / "a.py") == []
    assert repeated_blocks([tmp_path / "a.py", tmp_path / "b.py"], 10) == ["a.py:2-20 = b.py:3-21"]
    assert repeated_blocks([tmp_path / "a.py", tmp_path / "b.py"], 11) == []
    (tmp_path / "c.py").write_text("x._view = y._view.z  # _view")
    assert uses_of_fields(tmp_path / "c.py", ["_view", "_grad"]) == 2
