"""Makes a failing program smaller: leaves out items, lines and rounds as long as it still fails."""

from collections.abc import Callable

from .programs import Program


def shrunk(program: Program, fails: Callable[[Program], object], most: int = 60) -> Program:
    """Returns the smallest program that still fails, of those that were tried.

    Args:
        fails: Whether a program still shows the failure.
        most: How often ``fails`` is called at most.
    """
    asked = 0

    def still(candidate: Program) -> bool:
        nonlocal asked
        asked += 1
        return asked <= most and bool(fails(candidate))

    step = max(1, len(program.items) // 2)
    while step and asked < most:
        at = 0
        while at < len(program.items):
            candidate = program._replace(items=program.items[:at] + program.items[at + step :])
            if still(candidate):
                program = candidate
            else:
                at += step
        step //= 2
    program = _fewer_rounds(program, still)
    for part in ("ending", "setup"):
        for line in getattr(program, part)[::-1]:
            candidate = program._replace(**{part: [other for other in getattr(program, part) if other is not line]})
            if still(candidate):
                program = candidate
    return program


def _fewer_rounds(program: Program, still: Callable[[Program], bool]) -> Program:
    rounds = int(program.setup[0].removeprefix("R = "))
    for fewer in (2, 3, 4, rounds // 2, rounds - 1):
        candidate = program._replace(setup=[f"R = {fewer}", *program.setup[1:]])
        if 0 < fewer < rounds and still(candidate):
            return candidate
    return program
