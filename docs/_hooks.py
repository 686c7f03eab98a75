"""Run by MkDocs: `::: everything in MODULE` becomes one entry a name, so that a new op needs no line in the docs."""

import ast
import importlib.util
import inspect
import re
import runpy
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from types import ModuleType
from typing import Any

EVERYTHING = re.compile(r"^::: everything in (\S+)$", re.MULTILINE)
EXAMPLE = re.compile(r"^( *)>>> .*(?:\n\1.+)*", re.MULTILINE)
GROUPED = re.compile(r"^::: groups of (\S+)$", re.MULTILINE)
GROUPS: dict[str, dict[str, str]] = runpy.run_path(str(Path(__file__).with_name("_groups.py")))["GROUPS"]

# Parts of the top level with a page of their own.
ELSEWHERE = (
    "torchlike.autograd",
    "torchlike.engine",
    "torchlike.interop",
    "torchlike._core.tensor",
    "torchlike._core.size",
)


def on_page_markdown(markdown: str, **_: Any) -> str:
    markdown = GROUPED.sub(lambda found: "\n\n".join(groups(found[1])), markdown)
    return EVERYTHING.sub(lambda found: "\n\n".join(entries(names_in(found[1]))), markdown)


def groups(namespace: str) -> list[str]:
    """The entries of a module, under the headings of its groups."""
    grouped: dict[str, dict[str, Any]] = {heading: {} for heading in GROUPS[namespace]}
    for name, thing in names_in(namespace).items():
        module = file_of(thing)
        if namespace != "torchlike" or not module.startswith(ELSEWHERE):
            grouped[heading_of(namespace, name, module)][name] = thing
    shown = []
    for heading, names in grouped.items():
        shown += [f"## {heading}", *entries(names)]
    return shown


def heading_of(namespace: str, name: str, module: str) -> str:
    """The heading of the group that lists the name, or else of the group that lists its file.

    A name that no group has is an error, so that none is put at the end unseen.
    """
    words = [(word, heading) for heading, words in GROUPS[namespace].items() for word in words.split()]
    for word, heading in words:
        if not word.startswith(".") and fnmatchcase(name, word):
            return heading
    for word, heading in words:
        if word.startswith(".") and module.endswith(word):
            return heading
    raise LookupError(f"docs/_groups.py has no group of {namespace} for {name}, which is in {module}")


def file_of(thing: Any) -> str:
    """The module of a thing's file. PyTorch's `torch.FloatTensor` and related types are made at run time: they come from no file."""
    module = module_of(inspect.unwrap(thing))
    return module if module.startswith("torchlike") else "torchlike.ops.creation.legacy"


def entries(names: dict[str, Any]) -> list[str]:
    """One entry for each name: all about a function or class, a line for a second name or an in-place form of one."""
    shown = []
    for name, value in names.items():
        thing = inspect.unwrap(value)
        if name == f"{thing.__name__}_":
            shown.append(f"### {name}\n\n`{thing.__name__}` in place.")
        elif (name != thing.__name__ and value.__name__ == name) or is_compiled_from_text(thing):
            # Declared under its namespace's name as well, or made from a declaration: it stands in no file.
            shown.append(f"### {name}\n\n`{name}{inspect.signature(thing)}`\n\n{fenced(inspect.getdoc(thing) or '')}")
        elif name != thing.__name__:
            shown.append(f"### {name}\n\nAnother name for `{thing.__name__}`.")
        elif (module := module_of(thing)).startswith("torchlike"):
            shown.append(f"::: {module}.{name}")
        else:  # made at run time, in no file
            shown.append(f"### {name}\n\n{inspect.getdoc(thing)}")
    return shown


def is_compiled_from_text(thing: Any) -> bool:
    """Whether this is a function that ``torchlike/dispatch/bindings.py::functional_form`` made."""
    return inspect.isfunction(thing) and thing.__code__.co_filename == "<string>"


def fenced(docstring: str) -> str:
    """A docstring with its examples, which end at an empty line, as blocks of code."""
    return EXAMPLE.sub(r"\1```pycon\n\g<0>\n\1```", docstring)


def names_in(namespace: str) -> dict[str, Any]:
    """The public functions and classes of a module by name."""
    module = importlib.import_module(namespace)
    values = {name: getattr(module, name) for name in getattr(module, "__all__", None) or listed(module)}
    return {name: value for name, value in values.items() if inspect.isfunction(value) or inspect.isclass(value)}


def listed(module: ModuleType) -> Iterator[str]:
    """What a module without `__all__` makes public: its own names, `import X as Y`, and what stars bring."""
    names: list[str] = []
    for node in ast.parse(inspect.getsource(module)).body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.append(name)
            case ast.Assign(targets=targets):
                names += [each.id for each in targets if isinstance(each, ast.Name)]
            case ast.ImportFrom(module=source, level=level, names=[ast.alias(name="*")]):
                names += names_in(importlib.util.resolve_name("." * level + (source or ""), module.__package__))
            case ast.ImportFrom(names=aliases):
                names += [alias.asname for alias in aliases if alias.asname]
    return (name for name in names if not name.startswith("_"))


def module_of(thing: Any) -> str:
    """The module whose file holds a thing; the address that it gives as its own is the public one."""
    functions = [thing]
    if not inspect.isfunction(thing):  # a class may have functions of other files as attributes
        functions = [each for each in vars(thing).values() if inspect.isfunction(each)]
        functions = [each for each in functions if each.__qualname__.startswith(f"{thing.__qualname__}.")]
    files = [name for each in functions if (name := each.__globals__["__name__"]).startswith("torchlike")]
    return files[0] if files else thing.__module__
