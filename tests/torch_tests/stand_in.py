"""Lets `import torch` mean torchlike in PyTorch's tests, while the classes and decorators that they use are PyTorch's installed files."""

from __future__ import annotations

import ast
import atexit
import contextlib
import importlib.machinery
import importlib.util
import os
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from . import names

SITE = Path(sysconfig.get_paths()["purelib"])
# The packages that are PyTorch's own files: what its tests are written with, and never what they test.
HARNESS = (
    "torch.testing._internal",
    "torch.testing._comparison",
    "torch.testing._utils",
    "torch.utils._import_utils",
    "torch._vendor",
)


class Finder:
    """Finds the modules of the harness among the installed files of PyTorch."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        if not any(name == each or name.startswith(f"{each}.") for each in HARNESS):
            return None
        base = SITE.joinpath(*name.split("."))
        file = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
        if not file.exists():
            return None
        inside = [str(base)] if base.is_dir() else None
        loader = Loader(name, str(file))
        return importlib.util.spec_from_file_location(name, file, loader=loader, submodule_search_locations=inside)


class Loader(importlib.machinery.SourceFileLoader):
    """Reads a file of the harness; three of them need something that torchlike does not have."""

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__.rpartition(".")[2]
        if name == "annotated_fn_args":
            _entries_one_by_one(self, module)
        elif name == "custom_op_db":
            with _without_rules_for_vmap():
                super().exec_module(module)
        else:
            super().exec_module(module)
        if module.__name__ == "torch.testing._internal.opinfo.core":
            _missing_operators_raise(module)
        elif name == "common_utils":
            for check in ("gradcheck", "gradgradcheck"):
                setattr(module, check, _unbatched(getattr(module, check)))


def _unbatched(check: Any) -> Any:
    """The check of gradients without that of batched gradients, unless a test asks for it: the harness's default is dear."""

    def checked(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("check_batched_grad") is None or sys._getframe(1).f_code.co_filename.endswith("common_nn.py"):
            kwargs["check_batched_grad"] = False
        return check(*args, **kwargs)

    return checked


def _missing_operators_raise(core: Any) -> None:
    found_at = core._getattr_qual

    def found_or_absent(obj: object, name: str, default: object = core._NOTHING) -> Any:
        with contextlib.suppress(AttributeError):
            found = found_at(obj, name, default)
            if callable(found):
                return found
        return names.absent(f"torch.{name}")

    core._getattr_qual = found_or_absent


@contextlib.contextmanager
def _without_rules_for_vmap() -> Any:
    """Operators of torchlike's refuse rules for vmap, which the database of custom operators registers when it is imported."""
    import torch.library

    saved = {each: each.register_vmap for each in vars(torch.library).values() if hasattr(each, "register_vmap")}
    function = torch.library.register_vmap
    for each in saved:
        each.register_vmap = lambda self, *args, **kwargs: args[0] if args else lambda rule: rule
    torch.library.register_vmap = lambda *args, **kwargs: lambda rule: rule
    try:
        yield
    finally:
        torch.library.register_vmap = function
        for each, method in saved.items():
            each.register_vmap = method


def _entries_one_by_one(loader: Loader, module: ModuleType) -> None:
    """Reads a file that holds a dict of PyTorch's functions without the entries of functions that torchlike lacks."""
    source = loader.get_source(module.__name__)
    assert source is not None
    for node in ast.parse(source).body:
        if not (isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Dict)):
            exec(compile(ast.Module([node], []), loader.path, "exec"), vars(module))
            continue
        target: Any = node.targets[0] if isinstance(node, ast.Assign) else node.target
        table: dict[Any, Any] = {}
        setattr(module, target.id, table)
        for key, value in zip(node.value.keys, node.value.values, strict=True):
            assert key is not None
            if "ScalarList" in ast.unparse(value):
                continue
            with contextlib.suppress(AttributeError, TypeError):
                table[eval(ast.unparse(key), vars(module))] = eval(ast.unparse(value), vars(module))


def _in_processes() -> None:
    """Makes `import torch` mean torchlike in the processes that a test starts: PyTorch's installed package would come first."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    Path(folder, "sitecustomize.py").write_text("import torchlike\n\ntorchlike.alias()\n", encoding="utf-8")
    os.environ["PYTHONPATH"] = os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])


def begin() -> Any:
    """Makes `import torch` mean torchlike, with PyTorch's harness."""
    import torchlike

    torch = torchlike.alias()
    _in_processes()
    sys.meta_path.insert(0, Finder())  # pyright: ignore[reportArgumentType]
    for name in [name for name in sys.modules if name.startswith(HARNESS)]:
        del sys.modules[name]
    names.install(torch)
    return torch
