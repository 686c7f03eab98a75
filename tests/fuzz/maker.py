"""Draws programs: fills the gaps of templates at random, from one seed."""

import random
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence

TENSORS = ["t0", "t1", "t2", "t3"]  # of shape (3, 4), with and without history
LEAVES = ["p0", "p1"]  # of shape (3, 4), which require a gradient
DATA = ["d0", "d1"]  # of shape (3, 4), which only NumPy writes to
VIEWS = ["v0", "v1"]  # views of some tensor, of any shape

NUMBERS = [
    "2", "0.5", "-1.5", "1", "0", "0.1 * r", "r", "r + 0.5", "[0.5, 1.0, 2.0][r % 3]", "0.5 ** r", "(r % 2 == 0)", "-r",
    "1.0 / (1 + r)", "[1, 1.0, True][r % 3]", "(0.0 if r % 2 else -0.0)", "float(n0[0])", "len(kept)",
]  # fmt: skip
# 0.01 and not 0: the sum of a layer_norm is zero up to rounding.
WHEN = [
    "if r % 2 == 0:", "if r % 3 == 1:", "if r == 2:", "if r == 4:", "if r > 3:", "if r < 3:", "if r == R - 1:", "if r != 3:",
    "if r in (3, 5):", "if float(<t>.sum()) > 0.01:", "if <p>.grad is not None:",
]  # fmt: skip

Item = Callable[["Maker"], str]
_GAP = re.compile(r"<(\w+)>")


class Maker:
    """Draws lines. A gap in small letters, ``<t>``, is drawn anew each time; one in capitals, ``<T>``, only once for an item.

    Args:
        seed: Determines all lines that are drawn.
        tables: By name of a gap, the lines that may fill it; they may have gaps themselves.
    """

    def __init__(self, seed: int, tables: Mapping[str, Sequence[str]]) -> None:
        self.rng = random.Random(seed)
        self.tables = tables
        self.models = self.pick(1, 1, 2)
        self.setup: list[str] = []
        self.hooks = 0
        self._kept: dict[str, str] = {}

    def pick(self, *options):
        return self.rng.choice(options)

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def item(self, make: Item) -> list[str]:
        """Returns the lines of one item."""
        self._kept = {}
        return self.fill(make(self)).splitlines()

    def fill(self, template: str) -> str:
        """Returns the template with its gaps filled."""
        return _GAP.sub(lambda gap: self._filled(gap[1]), template)

    def _filled(self, name: str) -> str:
        if not name.isupper():
            return self.fill(self.rng.choice(self.tables[name]))
        if name not in self._kept:
            self._kept[name] = self._model(name) if name in "MO" else self._filled(name.lower())
        return self._kept[name]

    def _model(self, name: str) -> str:
        """Returns ``<M>`` and ``<O>``: a model, and its own optimizer."""
        number = str(self.rng.randrange(self.models))
        self._kept |= {"M": "m" + number, "O": "o" + number}
        return self._kept[name]

    def condition(self) -> str:
        """Returns the head of an item that only some rounds run, or an empty string for an item of every round."""
        return "" if self.chance(0.55) else self.fill(self.pick(*WHEN))


def blocks(text: str) -> list[str]:
    """Splits a text into templates of several lines, which empty lines separate."""
    return textwrap.dedent(text).strip("\n").split("\n\n")


def indented(lines: str, head: str) -> str:
    """Indents lines below a head."""
    return "\n".join([head, *("    " + line for line in lines.splitlines())])
