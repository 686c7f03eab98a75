"""Rows of tensors and printing options, and the text that a framework prints for them."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

NAN, INF = float("nan"), float("inf")

FLOATS = ["float32", "float64", "float16", "bfloat16"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
COMPLEX = ["complex64", "complex128"]

# Values for each rule of notation: integral, fixed, scientific, the borders between them, and values that do not take part.
REALS = [
    [0.0],
    [0.0, -0.0, NAN, INF, -INF],
    [1.0],
    [-1.0, 1.0],
    [1.0, 10.0, 100.0],
    [1.0, 1000.0],
    [1.0, 1001.0],
    [1.5, 1500.0],
    [1.5, 1501.0],
    [1e8],
    [1e8 + 8],
    [1e-4, 0.01],
    [1.1e-4, 0.01],
    [9e-5, 0.01],
    [0.1, -0.25, 12.5],
    [100.0, -INF, -0.0],
    [1.5, -INF, -0.0],
    [1e-10, 1.0, 1e10, NAN],
    [1e-45, 1e38],
    [123456.789, 99999.99996],
    [0.00005, 0.99995],
]
COMPLEXES = [
    [0j],
    [1 + 2j, -3 - 4j],
    [1 + 0.5j, -3 - 100j],
    [1.5 + 1e10j, 3 + 1.5j],
    [complex(INF, -INF), complex(NAN, NAN), complex(-0.0, -0.0), 1 + 1.5j],
    [1e-10 - 1e10j, 3 + 5j],
]
OPTIONS: list[dict[str, Any]] = [
    {"precision": 0},
    {"precision": 7},
    {"sci_mode": True},
    {"sci_mode": False},
    {"linewidth": 20},
    {"linewidth": 0},
    {"profile": "short"},
    {"profile": "full"},
    {"threshold": 5},
    {"threshold": 5, "edgeitems": 1},
    {"threshold": 5, "edgeitems": 0},
    {"edgeitems": 0},
    {"threshold": 0, "edgeitems": 2, "precision": 2, "linewidth": 30, "sci_mode": True},
]


def values_of(tensor: Any) -> list[Any]:
    flat = tensor.detach().flatten().tolist()
    return [[value.real, value.imag] for value in flat] if tensor.is_complex() else flat


def case(torch: ModuleType, tensor: Any, options: dict[str, Any] | None = None, **facts: Any) -> dict[str, Any]:
    """Returns one row: the arguments of `format_tensor`, and PyTorch's text."""
    row = {"values": values_of(tensor), "shape": list(tensor.shape), "dtype_name": str(tensor.dtype).split(".")[1]}
    torch.set_printoptions(**(options or {}))
    row["text"] = repr(tensor)
    torch.set_printoptions(profile="default")
    if options:
        row["options"] = options
    if tensor.grad_fn is not None:
        facts["grad_fn"] = tensor.grad_fn.name()
    if tensor.requires_grad:
        facts["requires_grad"] = True
    return row | ({"facts": facts} if facts else {})


def ranged(
    torch: ModuleType, shape: tuple[int, ...], dtype: str, options: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Returns a row of quarters 0, 0.25, 0.5... in `shape`, so that the file need not list the values."""
    count = torch.Size(shape).numel()
    row = case(torch, (torch.arange(count) / 4).reshape(shape).to(getattr(torch, dtype)), options)
    row["values"] = "quarters"
    return row


def rows(torch: ModuleType) -> Iterator[dict[str, Any]]:
    for name in FLOATS:
        for values in REALS if name in ("float32", "float64") else REALS[::2]:
            yield case(torch, torch.tensor(values, dtype=torch.float64).to(getattr(torch, name)))
    yield case(torch, torch.tensor([1e300, -1e-300, 1.0], dtype=torch.float64))
    for name in INTEGERS:
        info = torch.iinfo(getattr(torch, name))
        yield case(torch, torch.tensor([info.min, 0, 7, info.max], dtype=getattr(torch, name)))
    for values in ([True, True], [True, False]):
        yield case(torch, torch.tensor(values))
    for name in COMPLEX:
        for values in COMPLEXES:
            yield case(torch, torch.tensor(values, dtype=getattr(torch, name)))
    for scalar in (0.0, -0.0, NAN, -INF, 2.0, 1.5, 1e-5, 1e9, 3, -7, True, 1 + 2j, 1.5 - 2j):
        yield case(torch, torch.tensor(scalar))
    for name in ("float32", "int64", "bool", "complex64", "float64"):
        for shape in ((0,), (0, 3), (2, 0, 1)):
            yield case(torch, torch.empty(shape, dtype=getattr(torch, name)))
    for name in ("float32", "int32", "complex64"):
        for shape in (
            (40,),
            (2, 3),
            (2, 1, 3),
            (2, 2, 1, 2),
            (1001,),
            (3, 500),
            (500, 3),
            (7, 8, 20),
            (7, 1, 7, 1, 30),
        ):
            yield ranged(torch, shape, name)
    for threshold in (11, 12):
        yield ranged(torch, (12,), "float32", {"threshold": threshold})
    for options in OPTIONS:
        for values in ([1.0, 20.0, 300.0, 0.0, NAN, INF], [1.25, -20.0, 0.5], [1e-10, 1.5]):
            yield case(torch, torch.tensor(values), options)
        yield case(torch, torch.tensor(1.0), options)
        for shape in ((3, 7), (2, 3, 7)):
            yield ranged(torch, shape, "float32", options)
        yield ranged(torch, (12,), "complex64", options)
    for count in (1, 5, 12, 13, 14, 15, 19, 25):
        leaf = torch.full((count,), 10.5, requires_grad=True)
        yield case(torch, leaf)
        yield case(torch, leaf * 2)
        yield case(torch, leaf.detach().double().requires_grad_() * 2)
    wide = torch.full((5,), 10.5, dtype=torch.float64, requires_grad=True) * 2
    for linewidth in range(46, 58):
        yield case(torch, wide, {"linewidth": linewidth})
    yield case(torch, torch.empty(2, 0, requires_grad=True) * 2, {"linewidth": 25})
    for shape in ((2, 2), (30,), (0, 2)):
        yield case(torch, torch.nn.Parameter(torch.full(shape, 0.5)), parameter=True)
    for default in ("float64", "float16"):
        torch.set_default_dtype(getattr(torch, default))
        defaults: dict[str, Any] = {
            "default_dtype_name": default,
            "default_complex_name": "complex128" if default == "float64" else "complex64",
        }
        for name in (*FLOATS, *COMPLEX, "int64"):
            for count in (0, 1):
                yield case(torch, torch.ones(count, dtype=getattr(torch, name)), **defaults)
        torch.set_default_dtype(torch.float32)
