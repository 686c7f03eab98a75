"""Compares the rows of two runs of a program."""

from .running import SECOND


def same(a, b, rough=False):
    """Whether two rows are equal: numbers up to rounding, and up to half precision if the row begins with the word "rough"."""
    if isinstance(a, list) and isinstance(b, list):
        rough = rough or bool(a and a[0] == "rough")
        return len(a) == len(b) and all(same(x, y, rough) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= (5e-2 + 5e-2 * abs(a) if rough else 2e-5 + 2e-4 * max(abs(a), abs(b)))
    return a == b


def first_difference(a, b):
    """Returns the number of the first row that differs and the two rows, or None."""
    for number, (x, y) in enumerate(zip(a, b, strict=False)):
        if not same(x, y):
            return number, x, y
    if len(a) != len(b):
        number = min(len(a), len(b))
        return number, (a[number:] or ["nothing more"])[0], (b[number:] or ["nothing more"])[0]
    return None


def refused_a_second_time(difference):
    """PyTorch refuses a second backward pass even if it needs nothing that was freed; torchlike then goes on."""
    return SECOND in difference[1][1:2] if isinstance(difference[1], list) else False
