"""torch.torch_version: the class of ``torch.__version__``, a text that compares as a version."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

__all__ = ["TorchVersion"]

# A version as PEP 440 has it: 2.13.0rc1.post2.dev3+cpu.
_VERSION = re.compile(
    r"\s*v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[-_.]?(?P<pre>alpha|a|beta|b|preview|pre|c|rc)[-_.]?(?P<pre_n>\d*))?"
    r"(?P<post>-(?P<post_n1>\d+)|[-_.]?(?:post|rev|r)[-_.]?(?P<post_n2>\d*))?"
    r"(?P<dev>[-_.]?dev[-_.]?(?P<dev_n>\d*))?"
    r"(?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?\s*",
    re.IGNORECASE,
)
_STAGES = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc"}
_LAST = ("~",)  # after "a", "b" and "rc"


@lru_cache(64)
def _key(text: str) -> tuple[object, ...] | None:
    """What orders versions; None for a text that is none.

    A release under development comes before its first alpha, and a release before its local version, the part after a plus.
    """
    match = _VERSION.fullmatch(text)
    if match is None:
        return None
    release = [int(number) for number in match["release"].split(".")]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    pre, post, dev = match["pre"], match["post"], match["dev"]
    if pre:
        stage: tuple[object, ...] = (_STAGES.get(pre.lower(), pre.lower()), int(match["pre_n"] or 0))
    else:
        stage = ("",) if dev and not post else _LAST
    local = re.split(r"[-_.]", match["local"].lower()) if match["local"] else []
    return (
        int(match["epoch"] or 0),
        tuple(release),
        stage,
        int(match["post_n1"] or match["post_n2"] or 0) if post else -1,
        int(match["dev_n"] or 0) if dev else float("inf"),
        tuple((1, int(number), "") if number.isdigit() else (0, 0, number) for number in local),
    )


class TorchVersion(str):
    """A version that is a text, and compares as a version with texts and tuples. Only ``!=`` compares texts, as PyTorch's does.

    >>> from torchlike.torch_version import TorchVersion
    >>> TorchVersion("1.10.0") > "1.9", TorchVersion("1.10.0") > (1, 9), "1.10.0" > "1.9"
    (True, True, False)
    """

    def _keys(self, other: object) -> tuple[Any, Any] | None:
        """What orders this and another; None where one of them is no version, and they compare as texts."""
        if not isinstance(other, str) and isinstance(other, Iterable):
            other = ".".join(str(part) for part in other)
        own_key, other_key = _key(str(self)), _key(str(other)) if isinstance(other, str) else None
        return None if own_key is None or other_key is None else (own_key, other_key)

    def __eq__(self, other: object) -> bool:
        keys = self._keys(other)
        return str.__eq__(self, other) if keys is None else keys[0] == keys[1]  # pyright: ignore[reportArgumentType]

    def __lt__(self, other: Any) -> bool:
        keys = self._keys(other)
        return str.__lt__(self, other) if keys is None else keys[0] < keys[1]

    def __le__(self, other: Any) -> bool:
        keys = self._keys(other)
        return str.__le__(self, other) if keys is None else keys[0] <= keys[1]

    def __gt__(self, other: Any) -> bool:
        keys = self._keys(other)
        return str.__gt__(self, other) if keys is None else keys[0] > keys[1]

    def __ge__(self, other: Any) -> bool:
        keys = self._keys(other)
        return str.__ge__(self, other) if keys is None else keys[0] >= keys[1]

    __hash__ = str.__hash__
