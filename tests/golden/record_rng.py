"""Records PyTorch's random numbers into rng.json: `python tests/golden/record_rng.py`, where PyTorch is installed."""

import hashlib
import json
from pathlib import Path

import torch

SEEDS = [0, 1234567890123]
SIZES = [0, 1, 15, 16, 17, 31, 33, 1000]

FLOATS = ["float16", "bfloat16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
INTEGERS = ["int8", "uint8", "int16", "int32", "int64"]

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


def content(tensor: torch.Tensor) -> bytes:
    """The tensor's bytes."""
    return tensor.contiguous().view(torch.uint8).numpy().tobytes() if tensor.numel() else b""


def digest(tensors: list[torch.Tensor], generator: torch.Generator) -> str:
    """One short word for all samples, in order, and the state after them."""
    return hashlib.sha256(b"".join(map(content, [*tensors, generator.get_state()]))).hexdigest()[:16]


def first(tensor: torch.Tensor) -> list:
    """The first values, for a reader and for a message that says more than a digest."""
    tensor = torch.view_as_real(tensor).flatten() if tensor.is_complex() else tensor
    return tensor[:3].tolist()


def record() -> dict:
    """Everything that tests/random_streams/test_rng.py compares with."""
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
                        "first": first(tensors[-1]), "digest": digest(tensors, generator),
                    }
                )  # fmt: skip
    generator = torch.Generator().manual_seed(5)
    orders = [torch.randperm(size, generator=generator) for size in SIZES]
    permutations = {"seed": 5, "first": first(orders[-1]), "digest": digest(orders, generator)}
    weights = [float(i % 7) for i in range(40)]
    drawn = []
    for dtype in FLOATS:
        generator = torch.Generator().manual_seed(6)
        tensors = [
            torch.multinomial(torch.tensor(weights, dtype=getattr(torch, dtype)), count, again, generator=generator)
            for count, again in [(1, False), (5, False), (1, True), (50, True)]
        ]
        drawn.append({"dtype": dtype, "last": tensors[-1].tolist()[:5], "digest": digest(tensors, generator)})
    by_array = []
    for dtype in FLOATS:
        generator = torch.Generator().manual_seed(8)
        p = (torch.arange(100) % 17 / 16).to(getattr(torch, dtype))
        by_array.append({"dtype": dtype, "digest": digest([torch.bernoulli(p, generator=generator)], generator)})
    mixed = torch.Generator().manual_seed(9)
    steps = [
        getattr(torch.empty(7 * number % 40, dtype=getattr(torch, dtypes[-1])), method)(*arguments, generator=mixed)
        for number, (_, method, arguments, dtypes) in enumerate(METHODS + METHODS[::-1])
    ]
    generator = torch.Generator().manual_seed(-3)
    torch.randn(3, generator=generator)
    torch.rand(1000, generator=generator)
    return {
        "torch": torch.__version__.partition("+")[0],
        "seeds": SEEDS,
        "sizes": SIZES,
        "methods": methods,
        "permutations": permutations,
        "multinomial": {"weights": weights, "seed": 6, "samples": drawn},
        "bernoulli by array": {"seed": 8, "samples": by_array},
        "mixed": {"seed": 9, "digest": digest(steps, mixed)},
        "state": {
            "bytes": {str(i): int(b) for i, b in enumerate(generator.get_state().numpy()) if b and not 24 <= i < 5016},
            "words": hashlib.sha256(generator.get_state().numpy()[24:5016].tobytes()).hexdigest()[:16],
            "next normals": torch.randn(2, dtype=torch.float64, generator=generator).tolist(),
            "next uniforms": torch.rand(3, generator=generator).tolist(),
        },
    }


if __name__ == "__main__":
    path = Path(__file__).with_suffix("").with_name("rng.json")
    path.write_text(json.dumps(record(), indent=None, separators=(", ", ": ")).replace('}, {"', '},\n{"') + "\n")
    print(f"{path.name}: {path.stat().st_size} bytes")
