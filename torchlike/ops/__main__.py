"""``python -m torchlike.ops relu`` shows all that a declaration gives; in a checkout ``--stubs`` writes the stubs."""

from __future__ import annotations

import inspect
import sys

from ..dispatch.opdef import CATALOG, COMPOSITES, Composite, Form, Op, Promote, Saves, declarations
from . import __all__ as public


def describe(name: str) -> str:
    """What is declared under a public or internal name, and everything that follows from it, as text.

    Raises:
        KeyError: nothing is declared under that name.
    """
    record = ({each: record for each, record, _ in declarations()} | CATALOG | COMPOSITES)[name]
    source = record.source
    lines = [f"{record.name}{inspect.signature(source)}", f"    {(inspect.getdoc(source) or '').splitlines()[0]}", ""]
    rows = [
        ("declared in", f"{source.__module__} as {source.__name__}"),
        ("public names", ", ".join(_names(record)) or "none"),
    ]
    if isinstance(record, Op):
        rows += _fields(record)
    else:
        rows.append(("composed of", "other ops, whose names its graph shows"))
    return "\n".join([*lines, *(f"{label:<14}{value}" for label, value in rows)])


def _names(record: Op | Composite) -> list[str]:
    names = []
    for name, forms in {record.name: record.forms, **record.aliases}.items():
        if Form.FUNCTION in forms:
            names.append(f"torch.{name}" + (" (out=)" if Form.OUT in forms else ""))
        if Form.INPLACE_FUNCTION in forms:
            names.append(f"torch.{name}_")
        if forms & (Form.METHOD | Form.PROPERTY):
            names.append(f"Tensor.{name}")
        if Form.INPLACE in forms:
            names.append(f"Tensor.{name}_")
        if Form.INPLACE_ARGUMENT in forms:
            names.append(f"torch.nn.functional.{name} (inplace=)")
        elif Form.FUNCTIONAL in forms:
            names.append(f"torch.nn.functional.{name}")
        if Form.INPLACE_FUNCTIONAL in forms:
            names.append(f"torch.nn.functional.{name}_")
    return names


def _fields(op: Op) -> list[tuple[str, str]]:
    promote = op.dtype_rule.promote
    dtypes = f"{promote.name}: {promote.value}" if isinstance(promote, Promote) else "depends on the arguments"
    name = op.backward_name
    if not op.has_derivative:
        gradient = "none"
    elif callable(name) or callable(op.saves):
        gradient = "depends on the arguments"
    else:
        saved = op.saves.name.lower() if isinstance(op.saves, Saves) else " ".join(map(str, op.saves))
        gradient = f"{name}, saves {saved}"
    rows = [
        ("dtypes", dtypes),
        ("accepts", " ".join(str(category.name).lower() for category in op.dtype_rule.accepts)),
    ]
    rows.append(("gradient", gradient))
    if op.view:
        rows.append(("memory", "a view of its input"))
    if op.check is not None:
        rows.append(("checks", "values, while the program runs"))
    for number, sample in enumerate(op.samples):
        fields = [f"shapes={sample.shapes}" * bool(sample.shapes), f"values={sample.values}" * bool(sample.values)]
        fields += [f"args={sample.args}" * bool(sample.args), f"kwargs={sample.kwargs}" * bool(sample.kwargs)]
        rows.append((f"sample {number}", " ".join(s for s in fields if s)))
    return rows


def main(arguments: list[str]) -> int:
    """The command line; returns the exit status."""
    write = sys.stdout.write
    if arguments == ["--stubs"]:
        from ..dispatch.stubs import ROOT, stubs  # not in a wheel: it writes into a checkout

        for path, text in stubs(list(public)).items():
            path.write_text(text, encoding="utf-8")
            write(f"wrote {path.relative_to(ROOT.parent)}\n")
        return 0
    if not arguments or arguments[0].startswith("-"):
        write(f"{__doc__}\n")
        return 2
    for name in arguments:
        try:
            write(describe(name) + "\n\n")
        except KeyError:
            write(f"no op is declared as {name!r}\n")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
