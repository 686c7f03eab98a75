"""torch.utils.cpp_extension: raises errors, since operators in C++ are built against PyTorch, which is not installed."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["BuildExtension", "CUDAExtension", "CppExtension", "SyclExtension", "include_paths", "load", "load_inline"]

CUDA_HOME: str | None = None
ROCM_HOME: str | None = None


def _refuse(what: str) -> NoReturn:
    raise NotImplementedError(
        f"torchlike does not support torch.utils.cpp_extension.{what}: operators in C++ or CUDA are built against PyTorch, which is "
        "not there. Write it with torch's functions, or with jax.ffi or Pallas"
    )


def load(name: str, sources: object, **options: object) -> Any:
    """Raises NotImplementedError: nothing is compiled against PyTorch here."""
    _refuse("load")


def load_inline(name: str, cpp_sources: object, **options: object) -> Any:
    """Raises NotImplementedError: nothing is compiled against PyTorch here."""
    _refuse("load_inline")


def include_paths(device_type: str = "cpu") -> list[str]:
    """Raises NotImplementedError: there are no headers of PyTorch's."""
    _refuse("include_paths")


def CppExtension(name: str, sources: object, *args: object, **options: object) -> Any:
    """Raises NotImplementedError: nothing is compiled against PyTorch here."""
    _refuse("CppExtension")


def CUDAExtension(name: str, sources: object, *args: object, **options: object) -> Any:
    """Raises NotImplementedError: nothing is compiled against PyTorch here."""
    _refuse("CUDAExtension")


def SyclExtension(name: str, sources: object, *args: object, **options: object) -> Any:
    """Raises NotImplementedError: nothing is compiled against PyTorch here."""
    _refuse("SyclExtension")


class BuildExtension:
    """The command of setuptools that would build.

    Raises:
        NotImplementedError: always.
    """

    def __init__(self, *args: object, **kwargs: object) -> None:
        _refuse("BuildExtension")

    @classmethod
    def with_options(cls, **options: object) -> Any:
        """The command with options."""
        _refuse("BuildExtension")
