"""Computes the tables of `test_dtypes.py`: promotion, products and limits of all dtypes."""

from types import ModuleType
from typing import Any

NAMES = [
    "bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64",
    "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip
MET = ["bool", "uint8", "int16", "int64", "bfloat16", "float32", "float64", "complex64"]
NUMBERS = {"True": True, "2": 2, "2.5": 2.5, "2j": 2j}
LIMITS = ["bits", "max", "min", "eps", "tiny", "smallest_normal", "resolution", "dtype"]


def or_error(function: Any, *args: Any) -> str:
    """The result as text, or the error's text."""
    try:
        return str(function(*args)).removeprefix("torch.")
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def promotions(torch: ModuleType) -> dict[str, str]:
    """The result of `promote_types` for every pair."""
    dtypes = {name: getattr(torch, name) for name in NAMES}
    return {f"{a} {b}": or_error(torch.promote_types, dtypes[a], dtypes[b]) for a in NAMES for b in NAMES}


def products(torch: ModuleType) -> dict[str, str]:
    """The dtypes of products of tensors with and without dimensions, and of tensors and Python's numbers."""
    with_dims = {name: torch.ones(2, dtype=getattr(torch, name)) for name in MET}
    without = {name: torch.ones((), dtype=getattr(torch, name)) for name in MET}
    found = {}
    for a in MET:
        for b in MET:
            found[f"{a}[2] {b}[2]"] = str((with_dims[a] * with_dims[b]).dtype)
            found[f"{a}[2] {b}[]"] = str((with_dims[a] * without[b]).dtype)
        for text, number in NUMBERS.items():
            found[f"{a}[2] {text}"] = str((with_dims[a] * number).dtype)
            found[f"{text} {a}[]"] = str((number * without[a]).dtype)
    return found


def limits(torch: ModuleType) -> dict[str, dict[str, Any]]:
    """`finfo` or `iinfo` of every dtype that has one."""
    found = {}
    for name in NAMES[1:]:
        dtype = getattr(torch, name)
        info = (torch.finfo if dtype.is_floating_point or dtype.is_complex else torch.iinfo)(dtype)
        found[name] = {word: getattr(info, word) for word in LIMITS if hasattr(info, word)} | {"text": str(info)}
    return found


def everything(torch: ModuleType) -> dict[str, Any]:
    return {table.__name__: table(torch) for table in (promotions, products, limits)}
