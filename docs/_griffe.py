"""Run by mkdocstrings: shows the examples in docstrings, which end at an empty line, as code."""

import runpy
from pathlib import Path
from typing import Any

from griffe import Extension, Object

fenced = runpy.run_path(str(Path(__file__).with_name("_hooks.py")))["fenced"]


class Examples(Extension):
    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)
