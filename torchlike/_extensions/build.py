"""Compiles the extension modules: a hook of the build, and a command (``python torchlike/_extensions/build.py``).

The package works without them, so where there is no C compiler the build goes on and says so. ``TORCHLIKE_EXTENSIONS`` in the environment
decides otherwise: 0 builds none, 1 lets the build fail.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # it runs as a command
    BuildHookInterface = object

HERE = Path(__file__).resolve().parent
# Square roots without a report of errors, and comparisons without traps, so that the compiler makes them of vectors.
OPTIONS_OF_LOOPS = ["/O2"] if os.name == "nt" else ["-O3", "-g0", "-fno-math-errno", "-fno-trapping-math"]
OPTIONS = [] if os.name == "nt" else ["-O2", "-g0", "-w"]  # warnings would be about Cython's code
# PyTorch's random numbers have one rounding where they have one there, and two where they have two.
EXACT = [] if os.name == "nt" else ["-ffp-contract=off"]
PROCESSES = min(4, os.cpu_count() or 1)


def _load_list() -> Any:
    """``__init__.py`` by itself: the package cannot be imported where it is built, since JAX is not there."""
    spec = importlib.util.spec_from_file_location("_torchlike_extensions", HERE / "__init__.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


extensions = _load_list()


def compile_all(into: Path) -> None:
    """Compiles the modules of the list, each into one file of a folder."""
    from Cython.Build import cythonize
    from numpy import get_include
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    root = Path(extensions.PACKAGE).parent
    os.chdir(root)  # so that tracebacks name the files as they are named in the project
    modules = []
    for names, typed in (extensions.TYPED, True), (extensions.UNTYPED, False):
        sources = {f"torchlike.{name}": str(Path("torchlike", *name.split(".")).with_suffix(".py")) for name in names}
        modules += cythonize(
            [Extension(name, [source], extra_compile_args=OPTIONS) for name, source in sources.items()],
            build_dir=str(into / "c"),
            nthreads=PROCESSES,
            quiet=True,
            language_level=3,
            compiler_directives={"annotation_typing": typed, "auto_pickle": False, "nonecheck": True},
        )
    for name in extensions.C:
        source = str(Path("torchlike", *name.split(".")).with_suffix(".c"))
        options = OPTIONS_OF_LOOPS + EXACT if name.startswith("random_streams.") else OPTIONS_OF_LOOPS
        modules.append(Extension(f"torchlike.{name}", [source], [get_include()], extra_compile_args=options))
    command = build_ext(Distribution({"ext_modules": modules}))
    command.build_lib, command.build_temp, command.parallel = str(into), str(into / "objects"), PROCESSES
    command.ensure_finalized()
    command.run()


def build() -> None:
    """Brings the extension modules for this Python up to date.

    A process of its own compiles, into a folder of its own. The record is written last: without it the modules do not count.
    """
    if extensions.built():
        return
    made_of = extensions.digests()
    folder = Path(extensions.FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        subprocess.run([sys.executable, __file__, temporary], check=True, capture_output=True, text=True)
        record: dict[str, Any] = {"made_of": made_of, "files": {}}
        # If this is interrupted, the older record must not stand for modules of which some are new.
        Path(extensions.RECORD).unlink(missing_ok=True)
        for name in extensions.MODULES:
            (made,) = Path(temporary, "torchlike", *name.split(".")[:-1]).glob(f"{name.split('.')[-1]}.*")
            file = f"{name}{made.name.removeprefix(name.split('.')[-1])}"
            os.replace(made, folder / file)
            record["files"][name] = file
        written = Path(temporary, "made_of.json")
        written.write_text(json.dumps(record, indent=1))
        os.replace(written, extensions.RECORD)


class BuildHook(BuildHookInterface):  # pyright: ignore[reportGeneralTypeIssues]
    """Called by hatchling before it packs a wheel, or installs the package where it lies."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        wanted = os.environ.get("TORCHLIKE_EXTENSIONS")
        if wanted == "0":
            return
        try:
            build()
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            if wanted == "1":
                raise
            reason = (getattr(error, "stderr", None) or str(error)).strip().rpartition("\n")[2]
            self.app.display_warning(
                f"torchlike is installed without extension modules, which make it faster: {reason}"
            )
            return
        build_data["pure_python"], build_data["infer_tag"] = False, True
        build_data["artifacts"].append(f"/{Path(extensions.FOLDER).relative_to(Path(extensions.PACKAGE).parent)}/")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        compile_all(Path(sys.argv[1]))
    else:
        shutil.rmtree(extensions.FOLDER, ignore_errors=True)
        build()
