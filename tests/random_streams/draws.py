"""Draws by every method of a tensor, by ``randperm``, ``multinomial`` and ``bernoulli``, and the generator's state afterwards."""

import hashlib
from types import ModuleType
from typing import Any

SEEDS = [0, 1234567890123]
SIZES = [0, 1, 15, 16, 17, 31, 33, 1000]

FLOATS = ["float16", "bfloat16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
INTEGERS = ["int8", "uint8", "int16", "int32", "int64"]

PERMUTATION_SEED, MULTINOMIAL_SEED, BERNOULLI_SEED, MIXED_SEED, STATE_SEED = 5, 6, 8, 9, -3
WEIGHTS = [float(i % 7) for i in range(40)]
MULTINOMIAL = [(1, False), (5, False), (1, True), (50, True)]  # how many, and whether with replacement
PROBABILITIES = [i % 17 / 16 for i in range(100)]

# name, method, arguments, dtypes
METHODS = [
    ("uniform", "uniform_", [-0.3, 1.7], [*FLOATS, *COMPLEX]),
    ("unit", "uniform_", [], ["float32", "float64"]),
    ("normal", "normal_", [0.3, 1.7], [*FLOATS, *COMPLEX]),
    ("standard normal", "normal_", [], ["float32", "float64"]),
    ("log_normal", "log_normal_", [0.3, 0.7], FLOATS),
    ("exponential", "exponential_", [0.7], FLOATS),
    ("cauchy", "cauchy_", [0.3, 1.7], FLOATS),
    ("geometric", "geometric_", [0.3], [*FLOATS, *INTEGERS]),
    ("bernoulli", "bernoulli_", [0.3], [*FLOATS, *INTEGERS, "bool"]),
    ("random", "random_", [], [*FLOATS, *INTEGERS, "bool"]),
    ("randint", "random_", [3, 100], [*FLOATS, *INTEGERS]),
    ("randint wide", "random_", [-5, 2**28], ["int32", "int64"]),
    ("randint up", "random_", [5, None], ["float32", "int8", "int64"]),
    ("randint all", "random_", [-(2**63), None], ["int64"]),
]


def mixed(index: int) -> int:
    """Returns the size of a draw in a sequence of draws of all kinds."""
    return 7 * index % 40


def content(torch: ModuleType, tensor: Any) -> bytes:
    """Returns the tensor's bytes."""
    return tensor.contiguous().view(torch.uint8).numpy().tobytes() if tensor.numel() else b""


def digest(contents: list[bytes]) -> str:
    """Returns a short hash of all samples, in order, and of the state after them."""
    return hashlib.sha256(b"".join(contents)).hexdigest()[:16]


def first(torch: ModuleType, tensor: Any) -> list:
    """Returns the first values, for readers and for messages, which a hash would not explain."""
    tensor = torch.view_as_real(tensor).flatten() if tensor.is_complex() else tensor
    return tensor[:3].tolist()


def everything(torch: ModuleType) -> dict[str, Any]:
    """Returns everything with which tests/random_streams/test_rng.py compares."""

    def summary(tensors: list[Any], generator: Any) -> str:
        return digest([content(torch, tensor) for tensor in [*tensors, generator.get_state()]])

    methods = []
    for name, method, arguments, dtypes in METHODS:
        for dtype in dtypes:
            for seed in SEEDS:
                generator = torch.Generator().manual_seed(seed)
                tensors = [
                    getattr(torch.empty(size, dtype=getattr(torch, dtype)), method)(*arguments, generator=generator)
                    for size in SIZES
                ]
                methods.append(
                    {
                        "sample": name, "arguments": arguments, "dtype": dtype, "seed": seed,
                        "first": first(torch, tensors[-1]), "digest": summary(tensors, generator),
                    }
                )  # fmt: skip
    generator = torch.Generator().manual_seed(PERMUTATION_SEED)
    orders = [torch.randperm(size, generator=generator) for size in SIZES]
    permutations = {"seed": PERMUTATION_SEED, "first": first(torch, orders[-1]), "digest": summary(orders, generator)}
    drawn = []
    for dtype in FLOATS:
        generator = torch.Generator().manual_seed(MULTINOMIAL_SEED)
        tensors = [
            torch.multinomial(torch.tensor(WEIGHTS, dtype=getattr(torch, dtype)), count, again, generator=generator)
            for count, again in MULTINOMIAL
        ]
        drawn.append({"dtype": dtype, "last": tensors[-1].tolist()[:5], "digest": summary(tensors, generator)})
    by_array = []
    for dtype in FLOATS:
        generator = torch.Generator().manual_seed(BERNOULLI_SEED)
        p = torch.tensor(PROBABILITIES).to(getattr(torch, dtype))
        by_array.append({"dtype": dtype, "digest": summary([torch.bernoulli(p, generator=generator)], generator)})
    generator = torch.Generator().manual_seed(MIXED_SEED)
    steps = [
        getattr(torch.empty(mixed(number), dtype=getattr(torch, dtypes[-1])), method)(*arguments, generator=generator)
        for number, (_, method, arguments, dtypes) in enumerate(METHODS + METHODS[::-1])
    ]
    mixed_digest = summary(steps, generator)
    generator = torch.Generator().manual_seed(STATE_SEED)
    torch.randn(3, generator=generator)
    torch.rand(1000, generator=generator)
    return {
        "seeds": SEEDS,
        "sizes": SIZES,
        "methods": methods,
        "permutations": permutations,
        "multinomial": {"weights": WEIGHTS, "seed": MULTINOMIAL_SEED, "samples": drawn},
        "bernoulli by array": {"seed": BERNOULLI_SEED, "samples": by_array},
        "mixed": {"seed": MIXED_SEED, "digest": mixed_digest},
        "state": {
            "bytes": {str(i): int(b) for i, b in enumerate(generator.get_state().numpy()) if b and not 24 <= i < 5016},
            "words": hashlib.sha256(generator.get_state().numpy()[24:5016].tobytes()).hexdigest()[:16],
            "next normals": torch.randn(2, dtype=torch.float64, generator=generator).tolist(),
            "next uniforms": torch.rand(3, generator=generator).tolist(),
        },
    }
