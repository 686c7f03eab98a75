"""Run by MkDocs: `::: everything in MODULE` becomes one entry a name, so that a new op needs no line in the docs."""

import importlib
import inspect
import re
from typing import Any

EVERYTHING = re.compile(r"^::: everything in (\S+)$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    return EVERYTHING.sub(lambda found: "\n\n".join(entries(found[1])), markdown)


def entries(namespace: str) -> list[str]:
    """One entry for each name that a module gives: all about a function or class, a line for a second name of one."""
    shown = []
    for name, value in names_in(namespace).items():
        thing = inspect.unwrap(value)
        if thing.__name__ != name:
            shown.append(f"### {name}\n\nAnother name for `{thing.__name__}`.")
        elif (module := module_of(thing)).startswith("torchlike"):
            shown.append(f"::: {module}.{name}")
        else:  # made at run time, in no file
            shown.append(f"### {name}\n\n{inspect.getdoc(thing)}")
    return shown


def names_in(namespace: str) -> dict[str, Any]:
    """The functions and classes that a module gives: those of its `__all__`, or all that have no underscore."""
    module = importlib.import_module(namespace)
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    values = {name: getattr(module, name) for name in names}
    return {name: value for name, value in values.items() if inspect.isfunction(value) or inspect.isclass(value)}


def module_of(thing: Any) -> str:
    """The module whose file holds a thing; the address that it gives as its own is the public one."""
    functions = (
        [thing] if inspect.isfunction(thing) else [each for each in vars(thing).values() if inspect.isfunction(each)]
    )
    files = [name for each in functions if (name := each.__globals__["__name__"]).startswith("torchlike")]
    return files[0] if files else thing.__module__
