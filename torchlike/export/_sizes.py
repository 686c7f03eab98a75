"""The sizes for which an exported program runs: what varies, between which bounds, and the checks of its module."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .._core.tensor import Tensor
from .._dynamo.exc import UserError
from ..autograd.grad_mode import no_grad
from ..fx.experimental.symbolic_shapes import ConstraintViolationError
from ..nn.modules.module import Module
from ..nn.utils._copies import copied
from ..ops.creation.filled import zeros
from ..random import fork_rng
from ..utils._pytree import tree_map
from .dynamic_shapes import ABOVE, Dim, Site, _Derived, _Hint, sites_of

__all__ = ["Sizes", "varying"]


@dataclass
class Symbol:
    """A size that varies: its bounds, the dimensions that have it, and how each is computed from it."""

    name: str
    example: int
    low: float
    high: float
    certain: bool  # whether the program said that it varies; else what the module does decides
    sites: list[tuple[Site, Callable[[int], int]]] = field(default_factory=list)


@dataclass
class Range:
    """Bounds of a size."""

    lower: float
    upper: float

    def __repr__(self) -> str:
        return f"VR[{self.lower}, {'int_oo' if self.upper == float('inf') else self.upper}]"


class _Letter(str):
    """The name of a size, which is shown without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


@dataclass
class Sizes:
    """All dimensions of a program's arguments, and the sizes that vary."""

    sites: list[Site]
    symbols: list[Symbol]

    def ranges(self) -> dict[str, Range]:
        """The bounds of each size that varies."""
        return {_Letter(f"s{n}"): Range(max(each.low, 2), each.high) for n, each in enumerate(self.symbols)}

    def check(self, tensors: Sequence[Tensor]) -> None:
        """Raises an AssertionError for sizes with which the program does not run."""
        varying = {id(site): (symbol, compute) for symbol in self.symbols for site, compute in symbol.sites}
        for site in self.sites:
            if site.dim < 0:
                continue
            shape = tensors[site.tensor].shape
            if id(site) not in varying:
                if site.dim >= len(shape) or shape[site.dim] != site.size:
                    raise AssertionError(f"Guard failed: {site.shown} == {site.size}")
                continue
            symbol, compute = varying[id(site)]
            first, root = symbol.sites[0][0], symbol.sites[0][1]
            size = shape[site.dim]
            if site is not first:
                if root is not compute:
                    continue  # one of them is computed from the other
                if size != tensors[first.tensor].shape[first.dim]:
                    raise AssertionError(f"Guard failed: {site.shown} == {first.shown}")
            # PyTorch's programs run for the sizes 0 and 1 as well where the least one is not above 2.
            if symbol.low > 2 and size < compute(int(symbol.low)):
                raise AssertionError(f"Guard failed: {site.shown} >= {compute(int(symbol.low))}")
            if symbol.high != float("inf") and size > compute(int(symbol.high)):
                raise AssertionError(f"Guard failed: {site.shown} <= {compute(int(symbol.high))}")


def _itself(size: int) -> int:
    return size


def varying(module: Module, bound: inspect.BoundArguments, said: object) -> Sizes:
    """What ``dynamic_shapes`` says about bound arguments. The module is run with other sizes, to see which it takes.

    Raises:
        UserError: the module needs a size that is said to vary to be what it is, or to be equal to another one.
        ConstraintViolationError: a size of the arguments is not what is said about it.
    """
    sites = sites_of(bound, said)
    symbols: dict[object, Symbol] = {}
    for site in sites:
        _enter(site, symbols)
    found = list(symbols.values())
    run = _Probe(module, bound)
    fixed = [each for each in found if each.example < 2 or not run.takes([each])]
    together = [each for each in fixed if each.example == fixed[0].example and each.example >= 2]
    if len(together) > 1 and run.takes(together):
        if any(each.certain for each in together):
            raise _must_be_equal(together)
        together[0].sites += [pair for each in together[1:] for pair in each.sites]
        fixed = [each for each in fixed if each not in together]
        found = [each for each in found if each not in together[1:]]
    for each in fixed:
        if each.certain:
            raise _specialized(each)
    return Sizes(sites, [each for each in found if each not in fixed])


def _enter(site: Site, symbols: dict[object, Symbol]) -> None:
    said = site.said
    if isinstance(said, _Hint):
        if said.kind == "STATIC":
            return
        low, high = said.min or 0, float("inf") if said.max is None else said.max
        symbol = Symbol(
            f"L[{site.shown.partition('.')[0]!r}].{site.shown.partition('.')[2]}",
            site.size,
            low,
            high,
            said.kind == "DYNAMIC",
        )
        symbol.sites.append((site, _itself))
        symbols[id(site)] = symbol
    elif isinstance(said, Dim):
        root, compute = (said.root, said.compute) if isinstance(said, _Derived) else (said, _itself)
        # Sizes that are computed from a Dim are n + constant or n times a constant: the example of the Dim is found by trying.
        example = (
            next((n for n in range(site.size + 1) if compute(n) == site.size), None)
            if compute is not _itself
            else site.size
        )
        if example is None:
            raise ConstraintViolationError(f"Expected {said} to be {site.size}, for {site.shown}{ABOVE}")
        symbol = symbols.setdefault(root.__name__, Symbol(root.__name__, example, root.min, root.max, True))
        if symbol.example != example:
            raise UserError(
                f"Constraints violated ({symbol.name})! {symbol.sites[0][0].shown} is {symbol.sites[0][0].size} and {site.shown} is "
                f"{site.size}{ABOVE}"
            )
        symbol.sites.append((site, compute))
    elif isinstance(said, int) and said != site.size:
        source, _, rest = site.shown.partition(".")
        raise ConstraintViolationError(
            f"Static shape constraint of {said} does not match input size of {site.size}, for L[{source!r}].{rest}{ABOVE}"
        )
    else:
        return
    if symbol.example >= 2 and not symbol.low <= symbol.example <= symbol.high:
        raise ConstraintViolationError(
            f"{symbol.example} not in range {repr(Range(max(symbol.low, 2), symbol.high))[2:]}{ABOVE}"
        )


class _Probe:
    """Runs a copy of a module with arguments of other sizes."""

    def __init__(self, module: Module, bound: inspect.BoundArguments) -> None:
        self.module, self.bound = module, bound

    def takes(self, symbols: list[Symbol]) -> bool:
        """Whether the module runs when these sizes are others. Neither it nor the random numbers change."""
        changes: dict[int, dict[int, int]] = {}
        for symbol in symbols:
            other = symbol.example + 1 if symbol.example < symbol.high else symbol.example - 1
            for site, compute in symbol.sites:
                changes.setdefault(site.tensor, {})[site.dim] = compute(other)
        number = iter(range(len(changes) + 10**9))

        def changed(value: object) -> object:
            if not isinstance(value, Tensor):
                return value
            shape = list(value.shape)
            for dim, size in changes.get(next(number), {}).items():
                shape[dim] = size
            return zeros(shape, dtype=value.dtype, device=value.device)

        arguments = tree_map(changed, dict(self.bound.arguments))
        again = inspect.BoundArguments(self.bound.signature, arguments)  # pyright: ignore[reportArgumentType]
        with no_grad(), fork_rng(devices=[]):
            try:
                copied(self.module)[0](*again.args, **again.kwargs)
            except Exception:
                return False
        return True


def _specialized(symbol: Symbol) -> UserError:
    fix = f"\nSuggested fixes:\n  {symbol.name} = {symbol.example}" if symbol.name.isidentifier() else ""
    return UserError(
        f'Constraints violated ({symbol.name})! For more information, run with TORCH_LOGS="+dynamic".\n  - You marked {symbol.name} as '
        f"dynamic but your code specialized it to be a constant ({symbol.example}). If you're using mark_dynamic, either remove it or "
        f"use maybe_mark_dynamic. If you're using Dim.DYNAMIC, replace it with either Dim.STATIC or Dim.AUTO.{fix}{ABOVE}"
    )


def _must_be_equal(symbols: list[Symbol]) -> UserError:
    first, second = symbols[0], symbols[1]
    shown = []
    for each in (second, first):
        source, _, rest = each.sites[0][0].shown.partition(".")
        shown.append(f"{each.name} = L[{source!r}].{rest}")
    return UserError(
        f'Constraints violated ({second.name})! For more information, run with TORCH_LOGS="+dynamic".\n  - The values of {shown[0]} and '
        f"{shown[1]} must always be equal.\nSuggested fixes:\n  {second.name} = {first.name}{ABOVE}"
    )
