"""Sizes that may vary in an exported program: ``Dim``, and what ``dynamic_shapes`` says about the arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .._core.tensor import Tensor
from .._dynamo.exc import UserError

__all__ = ["Dim", "Site", "dims", "sites_of"]

_NAMES = "(expected {}an int, a Dim, Dim.AUTO, Dim.STATIC, or Dim.DYNAMIC"
_PAGE = (
    "\nFor more information about this error, see: "
    "https://pytorch.org/docs/main/generated/exportdb/index.html#dynamic-shapes-validation"
)
ABOVE = (
    "\n\nThe error above occurred when calling torch.export.export. If you would like to view some more information about this "
    "error, and get a list of all other errors that may occur in your export call, you can replace your `export()` call with "
    "`draft_export()`."
)


class _Hint:
    """A size about which ``export`` finds out (AUTO), that varies (DYNAMIC) or that does not (STATIC)."""

    def __init__(self, kind: str, min: int | None = None, max: int | None = None) -> None:
        self.kind, self.min, self.max = kind, min, max

    def __call__(self, *, min: int | None = None, max: int | None = None) -> _Hint:
        """The same hint with bounds."""
        if self.kind == "STATIC":
            raise AssertionError("'DimHint' object is not callable: a static size has no bounds")
        return _Hint(self.kind, min, max)

    def __repr__(self) -> str:
        bounds = [f"{name}={value}" for name, value in (("min", self.min), ("max", self.max)) if value is not None]
        return f"DimHint({', '.join([self.kind, *bounds])})"


class Dim:
    """A size that may vary, by name and with bounds. Sizes of the same Dim are equal. ``2 * dim + 1`` is a size made of it.

    Args:
        name: an identifier.
        min, max: the bounds; 0 and none by default.

    Raises:
        AssertionError: the name is no identifier, or there is no size between the bounds.

    >>> torch.export.Dim("batch", max=8)
    Dim('batch', min=0, max=8)
    """

    AUTO, STATIC, DYNAMIC = _Hint("AUTO"), _Hint("STATIC"), _Hint("DYNAMIC")

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        low = 0 if min is None else min
        if max is not None and max <= low:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        self.__name__, self.min, self.max = name, low, float("inf") if max is None else max

    def __repr__(self) -> str:
        # PyTorch takes 2 for the least size that varies, and does not show it.
        low = "" if self.min == 2 else f", min={self.min}"
        return f"Dim({self.__name__!r}{low}{'' if self.max == float('inf') else f', max={self.max}'})"

    def __add__(self, other: int) -> _Derived:
        return _Derived(self, f"{self.__name__} + {_whole(other)}", lambda size: size + other)

    __radd__ = __add__

    def __sub__(self, other: int) -> _Derived:
        return _Derived(self, f"{self.__name__} - {_whole(other)}", lambda size: size - other)

    def __mul__(self, other: int) -> _Derived:
        if _whole(other) <= 0:
            raise NotImplementedError(
                f"Attempted to multiply {self.__name__} by {other}, where a positive integer was expected."
            )
        return _Derived(self, f"{other}*{self.__name__}", lambda size: size * other)

    __rmul__ = __mul__


class _Derived(Dim):
    """A size that is computed from that of a Dim."""

    def __init__(self, root: Dim, name: str, compute: Callable[[int], int]) -> None:
        before = root.compute if isinstance(root, _Derived) else None
        self.root: Dim = root.root if isinstance(root, _Derived) else root
        self.compute: Callable[[int], int] = compute if before is None else lambda size: compute(before(size))
        self.__name__, self.min, self.max = name, root.min, root.max

    def __repr__(self) -> str:
        return self.__name__


def _whole(value: object) -> int:
    if type(value) is not int:
        raise NotImplementedError(f"Attempted to compute a Dim with {value}, where an integer was expected.")
    return value


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Several sizes that may vary, with the same bounds.

    >>> torch.export.dims("batch", "time", min=2)
    (Dim('batch'), Dim('time'))
    """
    return tuple(Dim(name, min=min, max=max) for name in names)


class Site(NamedTuple):
    """What is said about one dimension of one argument: a Dim, a hint, a number, or None. ``shown`` names it as guards do."""

    tensor: int
    dim: int
    size: int
    shown: str
    said: object


def sites_of(arguments: inspect.BoundArguments, said: object) -> list[Site]:
    """All dimensions of the tensors among bound arguments, with what ``dynamic_shapes`` says about each.

    Raises:
        UserError: it does not have the structure of the arguments.
    """
    bound, kinds = arguments.arguments, arguments.signature.parameters
    by_name = _by_argument(bound, said)
    sites: list[Site] = []
    for name, value in bound.items():
        where = f"[{name!r}]" if isinstance(said, dict) else f"[{list(bound).index(name)}]"
        for number, (shown, tensor, spec, place) in enumerate(
            _pairs(name, value, by_name[name], where, kinds[name].kind), _count(sites)
        ):
            for dim, each in enumerate(_per_dimension(tensor, spec, place)):
                sites.append(Site(number, dim, tensor.shape[dim], f"{shown}.size()[{dim}]", each))
            if tensor.dim() == 0:
                sites.append(Site(number, -1, 0, shown, None))  # so that tensors are counted
    return sites


def _count(sites: list[Site]) -> int:
    return sites[-1].tensor + 1 if sites else 0


def _by_argument(bound: dict[str, object], said: Any) -> dict[str, Any]:
    if said is None:
        return dict.fromkeys(bound)
    if isinstance(said, dict):
        if set(said) != set(bound):
            raise UserError(
                "When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg names "
                f"{list(bound)} of `inputs`, but here they are {list(said)}. Alternatively, you could also ignore arg names entirely "
                f"and specify `dynamic_shapes` as a list/tuple matching `inputs`. {_PAGE.lstrip()}{ABOVE}"
            )
        return said
    if len(said) != len(bound):
        raise _mismatch("", len(bound), len(said))
    return dict(zip(bound, said, strict=True))


def _mismatch(place: str, given: int, said: int) -> UserError:
    return UserError(
        f"Detected mismatch between the structure of `inputs` and `dynamic_shapes`: `inputs{place}` has {given} elements, but "
        f"`dynamic_shapes{place}` has {said} elements{_PAGE}{ABOVE}"
    )


def _pairs(
    shown: str, value: object, said: Any, place: str, kind: object = None
) -> Iterator[tuple[str, Tensor, object, str]]:
    """The tensors of an argument, each with what is said about it. ``kind``: that of its parameter, which may take several."""
    if isinstance(value, Tensor):
        yield shown, value, said, place
        return
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, (list, tuple)):
        items = list(enumerate(value))
    else:
        return
    if said is None:
        said = {key: None for key, _ in items}
    elif len(said) != len(items):
        raise _mismatch(place, len(items), len(said))
    for key, each in items:
        if kind is inspect.Parameter.VAR_POSITIONAL:
            name = f"{shown}_{key}"
        else:
            name = str(key) if kind is inspect.Parameter.VAR_KEYWORD else f"{shown}[{key!r}]"
        yield from _pairs(name, each, said[key], f"{place}[{key!r}]")


def _per_dimension(tensor: Tensor, said: object, place: str) -> list[object]:
    if said is None:
        return [None] * tensor.dim()
    if isinstance(said, (list, tuple)):
        if len(said) != tensor.dim():
            raise UserError(
                f"Expected dynamic shape spec {said} specified at `dynamic_shapes{place}` to have the same length as the actual tensor "
                f"shape {tensor.shape} (expected {tensor.dim()}, but got {len(said)} instead){_PAGE}{ABOVE}"
            )
        return [_checked(each, index, said, place) for index, each in enumerate(said)]
    if not isinstance(said, dict):
        raise UserError(
            f"Unexpected input tensor shape {said} specified at `dynamic_shapes{place}` (expected either a list/tuple of dimensions, or "
            "a dict mapping indices to dimensions, where each dimension is an int, a Dim, Dim.AUTO, Dim.STATIC, or Dim.DYNAMIC)"
            f"{_PAGE}{ABOVE}"
        )
    found: list[object] = [None] * tensor.dim()
    for index, each in said.items():
        found[index] = _checked(each, index, said, place)
    return found


def _checked(each: object, index: int, said: object, place: str) -> object:
    if each is None or isinstance(each, (int, Dim, _Hint)):
        return each
    raise UserError(
        f"Unexpected dimension mapped to index {index} in input tensor shape {said} specified at `dynamic_shapes{place}` "
        f"{_NAMES.format('None, ')},  but got {each!r} instead){_PAGE}{ABOVE}"
    )


for _public in (Dim, dims):
    _public.__module__ = __name__
