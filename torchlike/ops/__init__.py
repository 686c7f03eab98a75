"""Every op, declared once in its family's file; what a family lists in its ``__all__`` is public."""

import importlib

FAMILIES = (
    "activation",
    "arranging",
    "attention",
    "bessel",
    "bitwise",
    "cast",
    "compare",
    "complex_numbers",
    "conv",
    "creation",
    "ctc",
    "distance",
    "dropout",
    "einsum",
    "elementary",
    "embedding",
    "embedding_bag",
    "exponents",
    "from_data",
    "gamma",
    "gated",
    "gathering",
    "grid",
    "index",
    "inspecting",
    "inplace_functions",
    "integers",
    "joining",
    "matmul",
    "norm",
    "packing",
    "pad",
    "pair_distances",
    "pointwise",
    "pool",
    "random",
    "reduce",
    "rnn",
    "scans",
    "selecting",
    "shape",
    "shuffle",
    "slicing",
    "sliding",
    "sort",
    "legacy",
    "defaults",
    "strided_views",
    "unpool",
    "upsample",
)

__all__ = []
for _family in FAMILIES:
    _module = importlib.import_module(f".{_family}", __name__)
    globals().update({name: getattr(_module, name) for name in _module.__all__})
    __all__ += _module.__all__  # pyright: ignore[reportUnsupportedDunderAll]  # the stub lists them
