"""Every operator, declared once in the file of its family.

What is declared with the form FUNCTION is public here, and so is what a family that has other functions lists in its ``__all__``.
"""

import importlib

from ..dispatch.bindings import top_level

# The families with public names, by folder.
FAMILIES = {
    "shape": (
        "complex_numbers",
        "copies",
        "inspecting",
        "joining",
        "legacy_storages",
        "reshape",
        "sharing",
        "slicing",
        "storages",
        "strided_views",
    ),
    "elementwise": (
        "activation",
        "bessel",
        "bitwise",
        "compare",
        "division",
        "elementary",
        "exponents",
        "extrema",
        "gamma",
        "gated",
        "integers",
        "pointwise",
        "powers",
        "quantizing",
    ),
    "creation": ("cast", "filled", "from_data", "generators", "legacy", "quantized", "random", "sampled"),
    "indexing": ("arranging", "gathering", "index", "selecting", "sets"),
    "reduction": ("between", "calculus", "hashing", "reduce", "scans", "sort", "statistics"),
    "linalg": (
        "einsum",
        "factorisations",
        "grouped",
        "lowrank",
        "matmul",
        "matrix_functions",
        "pair_distances",
        "solving",
        "sparse_kernels",
    ),
    "nn": (
        "attention",
        "conv",
        "ctc",
        "distance",
        "dropout",
        "embedding",
        "embedding_bag",
        "grid",
        "linear_cross_entropy",
        "native_norm",
        "norm",
        "packing",
        "pad",
        "pool",
        "rnn",
        "shuffle",
        "sliding",
        "unpool",
        "upsample",
    ),
    "signal": ("stft", "windows"),
    "composite": ("foreach", "observing"),
    "settings": ("checks", "defaults", "recomputing", "switches"),
}

_public = {}
for _folder, _families in FAMILIES.items():
    for _family in _families:
        _module = importlib.import_module(f".{_folder}.{_family}", __name__)
        _public |= {name: getattr(_module, name) for name in getattr(_module, "__all__", ())}
_public |= top_level()
globals().update(_public)
__all__ = [*_public]  # pyright: ignore[reportUnsupportedDunderAll]  # the stub lists them
