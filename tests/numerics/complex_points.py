"""Complex functions, and the points where a part is infinite, NaN or zero."""

import math
from typing import Any

PARTS = [-math.inf, -1.0, -0.0, 0.0, 1.0, math.inf, math.nan]
POINTS = [complex(x, y) for x in PARTS for y in PARTS]
FUNCTIONS = [
    "exp", "exp2", "expm1", "sinh", "cosh", "tanh", "sin", "cos", "tan", "asinh", "acosh", "atanh", "asin", "acos", "atan", "sqrt",
    "rsqrt", "log", "log2", "log10", "log1p", "sigmoid", "reciprocal", "sgn", "abs",
]  # fmt: skip
POWERS = ["z ** 0.5", "z ** -1", "z ** 2.5", "z ** 1j", "2 ** z", "z ** z"]
DTYPES = ["complex64", "complex128"]


def calls(torch: Any, dtype: str) -> dict[str, Any]:
    """Returns the results by name, with the given torch."""
    z = torch.tensor(POINTS, dtype=getattr(torch, dtype))
    found = {name: getattr(torch, name)(z) for name in FUNCTIONS}
    return found | {power: eval(power, {"z": z}) for power in POWERS}


def text(result: Any) -> list[str]:
    """Formats each number with few digits; its class and the sign of a zero are what matters."""
    return [f"{v.real:.7g} {v.imag:.7g}" if isinstance(v, complex) else f"{v:.7g}" for v in result.tolist()]


def everything(torch: Any) -> dict[str, dict[str, list[str]]]:
    """Returns by dtype and function the real and imaginary part (or the only part) at each point, as text."""
    return {dtype: {name: text(result) for name, result in calls(torch, dtype).items()} for dtype in DTYPES}
