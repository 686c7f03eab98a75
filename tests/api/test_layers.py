"""The layers of the package, read from the source: no upward import, no import cycle, one adapter for each foreign library."""

import ast
import tomllib
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

pytestmark = pytest.mark.recorded

PACKAGE = Path(__file__).parents[2] / "torchlike"

CONTRACTS = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
    "contracts"
]


def layers_of(container: str) -> list[set[str]]:
    """Returns the layers of a package from pyproject.toml, the lowest first. Packages of one layer do not import each other."""
    (contract,) = [c for c in CONTRACTS if c["type"] == "layers" and c["containers"] == [container]]
    return [{part.strip("() ") for part in layer.split("|")} for layer in reversed(contract["layers"])]


def adapters() -> dict[str, set[str]]:
    """Returns by foreign library the only files that may import it, from pyproject.toml; PyTorch itself has none."""
    allowed: dict[str, set[str]] = {"tensorflow": set()}
    for contract in CONTRACTS:
        if contract["type"] == "forbidden" and contract["source_modules"] == ["torchlike"]:
            ignored = [line.split(" -> ") for line in contract.get("ignore_imports", ())]
            for library in contract["forbidden_modules"]:
                allowed[library] = {source for source, target in ignored if target == library}
    return allowed


LAYERS = {
    "torchlike": [*layers_of("torchlike"), {"__init__"}],
    "torchlike.ops": [*layers_of("torchlike.ops"), {"__init__"}, {"__main__"}],
}
ADAPTERS = adapters()


def modules_under(package: Path) -> dict[str, Path]:
    """Returns every file of a package by its module name; stubs count, with the names that they import."""
    found = {}
    for path in sorted([*package.rglob("*.py"), *package.rglob("*.pyi")]):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts) + ("[stub]" if path.suffix == ".pyi" else "")] = path
    return found


def imports_of(name: str, path: Path, known: dict[str, Path]) -> Iterator[str]:
    """Returns the modules that a file imports anywhere, also inside functions and under TYPE_CHECKING."""
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
    """Returns the imported modules by module; a package stands for its `__init__`."""
    known = modules_under(package)
    graph = {}
    for name, path in known.items():
        found = {f"{each}.__init__" if f"{each}.__init__" in known else each for each in imports_of(name, path, known)}
        graph[name] = found - {name}
    return graph


def layer_of(container: str, part: str) -> int:
    for height, parts in enumerate(LAYERS[container]):
        if part in parts:
            return height
    raise AssertionError(f"{container}.{part} has no layer: add it to the contract in pyproject.toml")


def goes_upward(source: str, target: str) -> bool:
    """Whether an import leads to a layer that is not below, in the package or within one of its parts that has layers."""
    for container in LAYERS:
        if source.startswith(f"{container}.") and target.startswith(f"{container}."):
            depth = container.count(".") + 1
            here, there = (name.split(".")[depth].removesuffix("[stub]") for name in (source, target))
            if here != there and layer_of(container, there) >= layer_of(container, here):
                return True
    return False


def problems(package: Path) -> Iterator[str]:
    """Returns the violations of the rules in a package, one line each."""
    graph = arrows(package)
    for source, targets in graph.items():
        for target in sorted(targets):
            library = target.split(".")[0]
            if source not in ADAPTERS.get(library, {source}):
                yield f"{source} imports {target}, which only {sorted(ADAPTERS[library])} may"
            if goes_upward(source, target):
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
        (
            "ops/indexing/index.py",
            "import torch.nn",
            "torchlike.ops.indexing.index imports torch.nn, which only [] may",
        ),
        (
            "ops/shape/joining.py",
            "from ..nn import loss",
            "torchlike.ops.shape.joining imports torchlike.ops.nn.loss, which is",
        ),
        ("ops/indexing/index.py", "from .gathering import gather", "a circle: "),
    ],
)
def test_a_broken_rule_is_found(tmp_path, source, text, problem):
    package = tmp_path / "torchlike"
    folders = ("engine", "ops", "ops/indexing", "ops/shape", "ops/nn", "optim", "nn")
    for folder in ("", *folders):
        (package / folder).mkdir(exist_ok=True)
        (package / folder / "__init__.py").write_text("")
    (package / "ops/nn/loss.py").write_text("")
    (package / "ops/indexing/gathering.py").write_text("from . import index")
    (package / "ops/indexing/index.py").write_text("")
    assert list(problems(package)) == []
    (package / source).write_text(text)
    (found,) = problems(package)
    assert found.startswith(problem)
