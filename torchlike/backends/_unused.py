"""torch.backends of libraries that are not used here: XLA brings its own kernels."""

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType


def is_available() -> bool:
    """False: the library is not used here."""
    return False


def version() -> None:
    """None: there is none."""


def _module(name: str, **members: object) -> ModuleType:
    path = f"{__package__}.{name}"
    module = sys.modules[path] = ModuleType(path, f"torch.backends.{name}: a library that is not used here.")
    module.__spec__ = ModuleSpec(path, None)
    vars(module).update(members, __all__=[name for name, member in members.items() if callable(member)])
    return module


cusparselt = _module("cusparselt", is_available=is_available, version=version)
kleidiai = _module("kleidiai", is_available=is_available)
mkl = _module("mkl", is_available=is_available)
openmp = _module("openmp", is_available=is_available)
xnnpack = _module("xnnpack", enabled=False)
