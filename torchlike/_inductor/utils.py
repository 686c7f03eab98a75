"""torch._inductor.utils, as far as programs use it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["fresh_cache", "fresh_inductor_cache"]


@contextmanager
def fresh_cache(cache_entries: object = None, dir: str | None = None, delete: bool = True) -> Iterator[None]:
    """Does nothing: PyTorch's compiler keeps nothing, as it is not used. ``TORCHLIKE_CACHE_DIR`` says where torchlike's programs lie."""
    yield


fresh_inductor_cache = fresh_cache
