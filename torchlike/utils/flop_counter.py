"""torch.utils.flop_counter: counts the multiplications and additions of matrix products and convolutions."""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, NoReturn

from .._ops import packet_of
from ..dispatch.pullback import Pullback
from ..engine.observing import observing
from ._flop_formulas import FORMULAS, Call
from .module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

_SUFFIXES = ["", "K", "M", "B", "T"]


class FlopCounterMode:
    """A context that counts the floating-point operations of what runs in it, by module and operator, as PyTorch does.

    Counted are products of matrices, convolutions and attention, forward and backward, wherever PyTorch on a CPU dispatches an operator
    that its counter knows: not products with a vector, LSTM layers and the CPU's flash attention. The products within the derivatives of
    decompositions and of ``cdist``, and those of second derivatives, are not counted.

    Args:
        mods: ignored, as in PyTorch, with a warning.
        depth: modules nested deeper than this are not in the table; None for all of them.
        display: print the table at the end.
        custom_mapping: formulas for further operators; not supported.

    >>> from torchlike.utils.flop_counter import FlopCounterMode
    >>> with FlopCounterMode(display=False) as counter:
    ...     y = torch.ones(2, 3) @ torch.ones(3, 4)
    >>> counter.get_total_flops()
    48
    """

    def __init__(
        self, mods: object = None, depth: int | None = 2, display: bool = True, custom_mapping: object = None
    ) -> None:
        if mods is not None:
            warnings.warn("mods argument is not needed anymore, you can stop passing it", stacklevel=2)
        if custom_mapping:
            raise NotImplementedError(
                "torchlike does not support FlopCounterMode(custom_mapping=...): it counts its own operations, which are not ATen's"
            )
        self.depth, self.display = depth, display
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.mod_tracker = ModuleTracker()
        self._open = ExitStack()

    def get_total_flops(self) -> int:
        """Returns the total count."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Returns the counts by the name of the module ("Global": all) and by operator."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The counts as text: a line for each module, one for each of its operators, and their shares."""
        deepest = next((limit for limit in (depth, self.depth) if limit is not None), math.inf)
        total = self.get_total_flops()
        suffix = get_suffix_str(total)

        def row(name: str, flops: int) -> list[str]:
            return [name, convert_num_with_suffix(flops, suffix), convert_to_percent_str(flops, total)]

        def rows_of(name: str, level: int) -> list[list[str]]:
            counts, indent = self.flop_counts[name], " " * level
            operators = [row(f"{indent} - {operator}", flops) for operator, flops in counts.items()]
            return [row(f"{indent}{name}", sum(counts.values())), *operators]

        rows, covered = [], False
        for name in sorted(self.flop_counts):
            level = name.count(".") + 1
            if name == "Global" or level > deepest:
                continue
            covered = covered or sum(self.flop_counts[name].values()) >= total
            rows += rows_of(name, level - 1)
        if "Global" in self.flop_counts and not covered:
            rows = [*rows_of("Global", 0), *([f" {first}", *rest] for first, *rest in rows)]
        return _tabulate(["Module", "FLOP", "% Total"], rows or [["Global", "0", "0%"]])

    def _count(self, op: Any, args: tuple[object, ...], kernel: Any, values: object) -> None:
        outputs = None
        if op.__class__ is Pullback:
            kernel, outputs = op.rule.kernel, op.rule.grad_inputs
        formula = FORMULAS.get(kernel.op.name) if hasattr(kernel, "op") else None
        if formula is None or kernel.op.__class__ is Pullback:
            return
        for name, flops in formula(Call(kernel, args, outputs)):
            if flops:
                operator = packet_of("aten", name)
                for module in self.mod_tracker.parents:
                    self.flop_counts[module][operator] += flops

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self._open.enter_context(self.mod_tracker)
        self._open.enter_context(observing(self._count))
        return self

    def __exit__(self, *exception: object) -> None:
        self._open.close()
        if self.display:
            print(self.get_table(self.depth))  # noqa: T201  (what it is for)


def get_suffix_str(number: int) -> str:
    """The smallest unit in which a number is below 10,000."""
    return _SUFFIXES[max(0, min(len(_SUFFIXES) - 1, (len(str(number)) - 2) // 3))]


def convert_num_with_suffix(number: int, suffix: str) -> str:
    """A number in this unit, with three decimals."""
    return f"{number / 1000 ** _SUFFIXES.index(suffix):.3f}{suffix}"


def convert_to_percent_str(num: int, denom: int) -> str:
    """A share in percent."""
    return f"{num / denom:.2%}" if denom else "0%"


def register_flop_formula(targets: object, get_raw: bool = False) -> Callable[[Any], NoReturn]:
    """Raises an error: formulas are for ATen's operators, which torchlike does not have."""
    raise NotImplementedError(
        "torchlike does not support torch.utils.flop_counter.register_flop_formula: it counts its own operations, which are not ATen's"
    )


def _tabulate(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column is aligned to the left and whose others to the right."""

    def line(cells: Sequence[str]) -> str:
        first, *others = zip(cells, widths, strict=True)
        return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)])

    # PyTorch writes the table with ``tabulate``, which strips cells and shortens a column of plain numbers.
    rows = [[cell.strip() for cell in row] for row in rows]
    if all(row[1].replace(".", "").isdigit() for row in rows):
        rows = [[name, f"{float(flops):g}", share] for name, flops, share in rows]
    widths = [max(len(name) + 2, *(len(row[i]) for row in rows)) for i, name in enumerate(head)]
    return "\n".join([line(head), "  ".join("-" * width for width in widths), *map(line, rows)])
