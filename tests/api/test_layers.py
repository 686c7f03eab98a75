"""The floors of the house, from the source alone: no import upward, no circle, each foreign library by its one door."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "torchlike"

# From the ground up. Neighbours on one floor do not know each other. The contracts in pyproject.toml say the same.
FLOORS = [
    {"engine", "version", "_missing", "_compile"},
    {"_core"},
    {"ops"},
    {
        "_utils",
        "autograd",
        "accelerator",
        "backends",
        "compiler",
        "interop",
        "random",
        "return_types",
        "signal",
        "masked",
        "multiprocessing",
        "special",
        "fft",
        "linalg",
        "jit",
    },
    {"utils", "profiler"},
    {"_bind"},
    {"distributed"},
    {"nn", "amp"},
    {"optim", "cuda"},
    {"serialization"},
    {"hub", "safetensors", "func", "distributions", "testing"},
    {"vision"},
    {"__init__"},
]

# The only files that import a foreign library; PyTorch itself and TensorFlow have none.
DOORS = {
    "optax": {"torchlike.optim._chain"},
    "flax": {"torchlike.nn._graph"},
    "tensorflow_datasets": {"torchlike.vision.datasets._tfds"},
    "PIL": {"torchlike.vision._pillow"},
    "safetensors": {"torchlike.safetensors"},
    "tensorboardX": {"torchlike.utils.tensorboard"},
    "tensorflow": set(),
    "torch": set(),
    "torchvision": set(),
}


def modules_under(package: Path) -> dict[str, Path]:
    """Every file of a package by its module name; stubs count, with the names they import."""
    found = {}
    for path in sorted([*package.rglob("*.py"), *package.rglob("*.pyi")]):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts) + ("[stub]" if path.suffix == ".pyi" else "")] = path
    return found


def imports_of(name: str, path: Path, known: dict[str, Path]) -> Iterator[str]:
    """The modules a file imports, wherever in the file: inside functions and under TYPE_CHECKING too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = name.removesuffix("[stub]").split(".")[: -node.level] if node.level else []
            base = ".".join([*start, node.module] if node.module else start)
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield inner if inner in known or f"{inner}.__init__" in known else base


def arrows(package: Path) -> dict[str, set[str]]:
    """Module -> the modules it imports, packages as their `__init__`."""
    known = modules_under(package)
    graph = {}
    for name, path in known.items():
        found = {f"{each}.__init__" if f"{each}.__init__" in known else each for each in imports_of(name, path, known)}
        graph[name] = found - {name}
    return graph


def floor_of(module: str) -> int:
    part = module.split(".")[1].removesuffix("[stub]")
    for height, parts in enumerate(FLOORS):
        if part in parts:
            return height
    raise AssertionError(f"{module} stands on no floor: add {part!r} to FLOORS and to the contract in pyproject.toml")


def problems(package: Path) -> Iterator[str]:
    """What a package does against the rules, one line each."""
    graph, root = arrows(package), f"{package.name}."
    for source, targets in graph.items():
        for target in sorted(targets):
            top = target.split(".")[0]
            if source not in DOORS.get(top, {source}):
                yield f"{source} imports {target}, which only {sorted(DOORS[top])} may"
            if target.startswith(root) and source.split(".")[1] != target.split(".")[1]:
                if floor_of(target) >= floor_of(source):
                    yield f"{source} imports {target}, which is not below it"
    try:
        list(TopologicalSorter({name: {t for t in to if t in graph} for name, to in graph.items()}).static_order())
    except CycleError as error:
        yield f"a circle: {' -> '.join(error.args[1])}"


def test_no_import_goes_upward_and_none_in_a_circle():
    assert list(problems(PACKAGE)) == []


@pytest.mark.parametrize(
    ("source", "text", "problem"),
    [
        (
            "engine/value.py",
            "from ..ops import relu",
            "torchlike.engine.value imports torchlike.ops.__init__, which is",
        ),
        (
            "nn/init.py",
            "def f():\n    from .. import optim",
            "torchlike.nn.init imports torchlike.optim.__init__, which",
        ),
        (
            "optim/sgd.py",
            "import optax",
            "torchlike.optim.sgd imports optax, which only ['torchlike.optim._chain'] may",
        ),
        ("ops/index.py", "import torch.nn", "torchlike.ops.index imports torch.nn, which only [] may"),
        ("ops/index.py", "from ._apply import apply", "a circle: "),
    ],
)
def test_a_broken_rule_is_found(tmp_path, source, text, problem):
    package = tmp_path / "torchlike"
    for file in ("__init__", "engine/__init__", "ops/__init__", "optim/__init__", "nn/__init__"):
        (package / file).parent.mkdir(parents=True, exist_ok=True)
        (package / f"{file}.py").write_text("")
    (package / "ops/_apply.py").write_text("from . import index")
    (package / "ops/index.py").write_text("")
    assert list(problems(package)) == []
    (package / source).write_text(text)
    (found,) = problems(package)
    assert found.startswith(problem)
