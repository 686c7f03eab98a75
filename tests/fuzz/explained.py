"""Differences that are allowed, each with its reason. A difference that none of these explains counts as a defect."""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .comparing import refused_a_second_time, same

Difference = tuple[int, Any, Any]


class Explained(NamedTuple):
    """``applies`` gets the program's text and its first difference: number of the row, PyTorch's row, torchlike's."""

    reason: str
    applies: Callable[[str, Difference], object]


EXPLAINED = {
    "backward a second time": Explained(
        "PyTorch refuses a second backward pass once anything saved was freed; torchlike refuses where what was freed is needed.",
        lambda text, difference: refused_a_second_time(difference),
    ),
    "write through an unfolded view": Explained(
        "PyTorch looks for shared elements only where a stride is 0; it writes to those of unfold several times, in an order of its own. "
        "torchlike refuses such a write.",
        lambda text, difference: (
            mentions(r"(?m)^ *v\d = .*\.unfold\(0, 2, 1\)$")(text, difference) and difference[2][1:] == ["RuntimeError"]
        ),
    ),
    "view of a product of einsum": Explained(
        "In PyTorch the result of einsum may be laid out like a transposed matrix, of which there is no flat view. torchlike's results are "
        "contiguous (docs/migration.md).",
        lambda text, difference: (
            mentions(r"(?s)(t\d) = torch\.einsum\(.*\1\.view\(-1\)")(text, difference)
            and difference[1][1:] == ["RuntimeError"]
        ),
    ),
    "out= that outgrows shared memory": Explained(
        "PyTorch makes a storage longer that other tensors share; torchlike refuses this, and says so (docs/migration.md).",
        lambda text, difference: (
            mentions(r"torch\.add\(\w+, 1, out=v\d\)")(text, difference)
            and difference[2][1:] == ["NotImplementedError"]
        ),
    ),
    "gradients of what was traced": Explained(
        "What torch.jit.trace returns has forgotten the regions without gradients in PyTorch; torchlike keeps them (docs/migration.md).",
        lambda text, difference: (
            mentions(
                r"q = torch\.jit\.trace\(w, .*\)\n *q\(d0\)\.sum\(\)\.backward\(\)",
                r"with torch\.(no_grad|set_grad_enabled)\(",
            )(text, difference)
            and difference[1][0] == difference[2][0] == "late"
        ),
    ),
    "dead write in what was traced": Explained(
        "PyTorch's torch.jit.trace drops a write that nothing reads, and so the error that the backward pass raises for it; torchlike "
        "raises (docs/migration.md).",
        lambda text, difference: (
            re.search(r"torch\.jit\.trace\(.*\n.*backward\(", item_that_raised(text, difference[2]))
            and re.search(r"\n *x\.\w+_\(.*\n( *if .*\n)? *return y", item_that_raised(text, difference[2]))
            and difference[2][1:2] == ["RuntimeError"]
        ),
    ),
    "order of overlapping windows": Explained(
        "The gradient of a write in place that reads its result depends on the order of elements that overlap; torchlike names this.",
        lambda text, difference: (
            mentions(r"w = q\.(unfold|as_strided)\(.*(\n.*)?\n *w\.\w+_\(")(text, difference)
            and difference[2][1:] == ["NotImplementedError"]
        ),
    ),
    "write to what a rule for vmap has saved": Explained(
        "A Function with a vmap of its own saves the tensors of all examples, not those that vmap's function writes to afterwards. PyTorch "
        "refuses the backward pass all the same; torchlike's gradient is that of the values before.",
        lambda text, difference: (
            mentions(r"Cubed\.apply\(", r"\n *[xyz]\.\w+_\(")(text, difference)
            and difference[1][1:] == ["RuntimeError"]
        ),
    ),
    "what PyTorch cannot trace": Explained(
        "torch.jit.trace refuses what it traces otherwise the second time (docs/migration.md), and fails within at some writes in place.",
        lambda text, difference: (
            "torch.jit.trace(w" in item_that_raised(text, difference[1])
            or (
                "torch.jit.trace(" in item_that_raised(text, difference[1])
                and difference[1][1:2] == ["TracingCheckError"]
            )
        ),
    ),
    "overflow": Explained(
        "Numbers have grown without bound, and rounding with them. Whether inf or nan comes of an overflow on the way depends on the order "
        "in which sums and products are computed.",
        lambda text, difference: only_overflow_differs(*difference[1:]),
    ),
}

# If the same program in float64 gives the same rows, and no integer or exception came first, the difference is rounding: XLA fuses
# multiplications and additions, sums in another order, and has its own exp and tanh, all within a few units in the last place. A
# comparison with a threshold, a round() or an optimizer that divides by a small gradient makes such a difference larger.
ROUNDING = "rounding: in float64 the program gives the same rows"

# If PyTorch's rows become the same once its graph saves copies: PyTorch differentiates at the elements of ``data`` when the backward
# pass runs, torchlike at the values of the forward pass (docs/migration.md).
WRITTEN_DATA = "written through data: with copies of what the graph saves PyTorch gives the same rows"

# If torchlike gives the rows that both libraries give when the same work is done without threads: PyTorch counts the nodes of each thread
# from zero, so a backward pass through nodes of two threads runs them in another order. That shows where the pass fails half-way, by the
# gradients that have arrived until then (docs/migration.md).
THREADS_IN_ORDER = "nodes of several threads: without threads PyTorch gives the same rows"

# If PyTorch, but not torchlike, gives other rows after the programs before it than in a process of its own: PyTorch numbers the nodes of
# the main thread through all programs of a process and those of a new thread from zero, and a backward pass runs them in that order.
OTHERS_BEFORE = "programs before it: PyTorch alone gives other rows after them"


def explanation(text: str, difference: Difference) -> str | None:
    """Returns the name of the entry that explains this difference, or None."""
    return next((name for name, each in EXPLAINED.items() if each.applies(text, difference)), None)


def mentions(*patterns: str) -> Callable[[str, Difference], object]:
    """Makes a condition that holds for programs with lines that match all of these regular expressions."""
    return lambda text, difference: all(re.search(pattern, text) for pattern in patterns)


def item_that_raised(text: str, row: Any) -> str:
    """The lines of the item that a row says has raised; empty for other rows."""
    if not isinstance(row, list) or not row or row[0].__class__ is not int:
        return ""
    return text.partition(f"with guard({row[0]}):")[2].partition("with guard(")[0]


def only_overflow_differs(theirs: Any, ours: Any) -> bool:
    """Whether rows with a number beyond 1e12 differ only where both have overflowed, and by a twentieth elsewhere."""
    flat, other = list(entries(theirs)), list(entries(ours))
    return (
        len(flat) == len(other)
        and all(same(a, b, rough=True) or {a, b} <= {"inf", "-inf", "nan"} for a, b in zip(flat, other, strict=True))
        and any(isinstance(a, float) and abs(a) > 1e12 for a in flat)
    )


def entries(row: Any) -> Iterator[Any]:
    """The numbers and words of a row."""
    if isinstance(row, list):
        for entry in row:
            yield from entries(entry)
    else:
        yield row


def without_threads(text: str) -> str:
    """Returns the program with calls in the place of threads that are started and waited for."""
    return re.sub(r"th = threading\.Thread\(target=work\)\n *th\.start\(\)\n *th\.join\(\)", "work()", text)
