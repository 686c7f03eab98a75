"""Run by mkdocstrings: shows the examples in docstrings, which end at an empty line, as code."""

import re
from typing import Any

from griffe import Extension, Object

EXAMPLE = re.compile(r"^( *)>>> .*(?:\n\1.+)*", re.MULTILINE)


class Examples(Extension):
    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = EXAMPLE.sub(r"\1```pycon\n\g<0>\n\1```", obj.docstring.value)
