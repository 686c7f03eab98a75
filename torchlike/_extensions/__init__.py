"""Extension modules: the files that every operation passes through, compiled by Cython where the package was built with a C compiler.

They are ordinary Python files, and mean the same compiled and interpreted; compiled, the smallest training step takes half the time.
``build.py`` compiles them when the package is installed. They are used if they were made of exactly the files that lie here: after an edit
the Python files are used, until the package is built again. ``TORCHLIKE_EXTENSIONS=0`` in the environment leaves them unused.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import sysconfig
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from importlib.util import spec_from_file_location
from typing import Any

# The files to compile. In the first ones Cython takes the annotations of variables and parameters at their word. None of them defines a
# public function or method of a tensor: ``__torch_function__`` needs the code of these.
TYPED = (
    "engine.value",
    "engine.interpreter.running",
    "engine.interpreter.joined",
    "engine.trace",
    "engine.segment",
    "engine.recorder",
    "engine.program",
    "dispatch.apply",
    "dispatch.index_checks",
    "autograd.replayed_backward",
    "_core.fields",
)
UNTYPED = (
    "engine.interpreter.fused",
    "engine.interpreter.traces.instances",
    "engine.kernel",
    "_core.attributes",
    "_core.node",
    "nn._member",
    "optim._update",
    "optim._optax_optimizer",
)
# Written in C: loops over large arrays, tapes for small ones, and random numbers. Without them NumPy does it.
C = ("engine.interpreter.elements", "engine.interpreter.tape", "random_streams.twister")
MODULES = TYPED + UNTYPED + C

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# One folder for each Python, since an extension module belongs to one.
FOLDER = os.path.join(
    PACKAGE, "_extensions", "built", str(sysconfig.get_config_var("SOABI") or sys.implementation.cache_tag)
)
RECORD = os.path.join(FOLDER, "made_of.json")


def sources() -> list[str]:
    """The files from which the extension modules are made, of those that are there: modules, declarations, and this list."""
    stems = [os.path.join(PACKAGE, *name.split(".")) for name in MODULES]
    headers = [
        os.path.join(PACKAGE, "_extensions", f"{name}.h")
        for name in ("clones", "few_rows", "in_flight", "product", "tiles")
    ]
    declared = [*(f"{stem}.pxd" for stem in stems), *headers]
    files = [f"{stem}.{'c' if name in C else 'py'}" for name, stem in zip(MODULES, stems, strict=True)]
    return [*filter(os.path.exists, [*files, *declared]), os.path.abspath(__file__)]


def digests() -> dict[str, str]:
    """A digest of each of these files, by its path in the package."""
    found = {}
    for path in sources():
        with open(path, "rb") as file:
            found[os.path.relpath(path, PACKAGE).replace(os.sep, "/")] = hashlib.sha256(file.read()).hexdigest()
    return found


# An installed package lacks these files.
BUILT_OF = (".pxd", ".c", ".h")


def built() -> dict[str, str]:
    """The extension modules for this Python: paths by names of modules. None of them if one of the files has changed since.

    Types are declared for the build alone, as are files of C, so an installed package lacks those files.
    """
    try:
        with open(RECORD, encoding="utf-8") as file:
            record: dict[str, Any] = json.load(file)
        made_of, here = record["made_of"], digests()
        compared = {path: digest for path, digest in made_of.items() if path in here or not path.endswith(BUILT_OF)}
        if compared != here:
            return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # there are none, or a build was interrupted
        return {}
    return {f"torchlike.{name}": os.path.join(FOLDER, file) for name, file in record["files"].items()}


class Finder:
    """Finds the extension modules where Python looks for the modules of these names."""

    def __init__(self, paths: dict[str, str]) -> None:
        self.paths = paths

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        file = self.paths.get(name)
        return None if file is None else spec_from_file_location(name, file, loader=ExtensionFileLoader(name, file))


def enable() -> bool:
    """Makes Python import the extension modules instead of the files of the same names; returns whether there are any."""
    paths = {} if os.environ.get("TORCHLIKE_EXTENSIONS") == "0" else built()
    if paths:
        sys.meta_path.insert(0, Finder(paths))
    return bool(paths)


enabled = enable()
