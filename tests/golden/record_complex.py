"""Records what PyTorch's complex functions give at infinities, NaN and zeros: ``python -m tests.golden.record_complex``.

Written to ``complex.json``: by function, real and imaginary part (or the one part) at each point of ``POINTS``, as text.
"""

import json
import math
from typing import Any

from tests.conftest import GOLDEN

PARTS = [-math.inf, -1.0, -0.0, 0.0, 1.0, math.inf, math.nan]
POINTS = [complex(x, y) for x in PARTS for y in PARTS]
FUNCTIONS = [
    "exp", "exp2", "expm1", "sinh", "cosh", "tanh", "sin", "cos", "tan", "asinh", "acosh", "atanh", "asin", "acos", "atan", "sqrt",
    "rsqrt", "log", "log2", "log10", "log1p", "sigmoid", "reciprocal", "sgn", "abs",
]  # fmt: skip
POWERS = ["z ** 0.5", "z ** -1", "z ** 2.5", "z ** 1j", "2 ** z", "z ** z"]
DTYPES = ["complex64", "complex128"]


def calls(torch: Any, dtype: str) -> dict[str, Any]:
    """The results by name, on the torch that is given."""
    z = torch.tensor(POINTS, dtype=getattr(torch, dtype))
    found = {name: getattr(torch, name)(z) for name in FUNCTIONS}
    return found | {power: eval(power, {"z": z}) for power in POWERS}


def text(result: Any) -> list[str]:
    """Each number in few digits; its class and the sign of a zero are what matters."""
    return [f"{v.real:.7g} {v.imag:.7g}" if isinstance(v, complex) else f"{v:.7g}" for v in result.tolist()]


if __name__ == "__main__":
    import torch

    table = {dtype: {name: text(found) for name, found in calls(torch, dtype).items()} for dtype in DTYPES}
    (GOLDEN / "complex.json").write_text(json.dumps(table, indent=0) + "\n")
