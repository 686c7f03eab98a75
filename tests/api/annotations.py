"""Counts the annotations of the package, and those with `Any`: `python -m tests.api.annotations`.

The annotations of parameters, return values and variables count. An annotation has `Any` if the name is anywhere in it, also inside a
string, or if it uses a name of the package that is defined with `Any`: so `Hook = Callable[..., Any]` hides nothing. Stubs do not count,
because they are generated.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "torchlike"


def names(annotation: ast.AST) -> set[str]:
    """Returns the names in a type, also those in strings."""
    result = set()
    for node in ast.walk(annotation):
        if isinstance(node, ast.Name):
            result.add(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                result |= names(ast.parse(node.value, mode="eval"))
            except SyntaxError:  # the text of a Literal
                continue
    return result


def aliases_of_any(trees: list[ast.Module]) -> set[str]:
    """Returns `Any`, and the names of types that are defined with it."""
    known = {"Any"}
    definitions: list[tuple[str, set[str]]] = []
    for statement in (statement for tree in trees for statement in tree.body):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
        value = getattr(statement, "value", None)
        is_type = isinstance(value, ast.Name | ast.Subscript | ast.BinOp | ast.Constant)
        if isinstance(target, ast.Name) and target.id.lstrip("_")[:1].isupper() and value is not None and is_type:
            definitions.append((target.id, names(value)))
    while additions := {name for name, parts in definitions if parts & known} - known:
        known |= additions
    return known


def every_annotation(tree: ast.AST) -> Iterator[ast.expr]:
    """Yields every annotation in a file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            yield node.annotation
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
            yield node.returns


def count() -> dict[str, tuple[int, int]]:
    """Returns by file the number of annotations with `Any`, and of all."""
    trees = {path: ast.parse(path.read_text("utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}
    vague = aliases_of_any([*trees.values()])
    result = {}
    for path, tree in trees.items():
        found = [bool(names(annotation) & vague) for annotation in every_annotation(tree)]
        result[str(path.relative_to(PACKAGE))] = (sum(found), len(found))
    return result


def total() -> tuple[int, int]:
    by_file = count().values()
    return sum(vague for vague, _ in by_file), sum(all_of_them for _, all_of_them in by_file)


if __name__ == "__main__":
    by_file = count()
    for file, vague in Counter({file: vague for file, (vague, _) in by_file.items()}).most_common(40):
        print(f"{vague:5} of {by_file[file][1]:4}  {file}")
    vague, every = total()
    print(f"{vague} of {every} annotations say Any: {vague / every:.1%}")
