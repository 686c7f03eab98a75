"""Peak memory of training: torchlike beside hand-written JAX, each in a process of its own, on the same wide network.

    python benchmarks/memory.py [--width 3000]

The figure is how far the peak of resident memory rose above what the process held before the model was made.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys

from benchmarks.models import mlp
from benchmarks.step import jax_loop, pytorch_loop


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def child(engine: str, width: int) -> None:
    import jax.numpy as jnp

    import torchlike

    jnp.ones(3).block_until_ready()  # so that the runtime's own memory is there already
    before = peak()
    case = mlp.case((784, width, width, 10), batch=64, steps=10)
    loop = pytorch_loop(torchlike, case) if engine == "torchlike" else jax_loop(case)
    loop(case.steps)
    print(peak() - before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--width", type=int, default=3000)
    parser.add_argument("--child", choices=["torchlike", "jax"])
    args = parser.parse_args()
    if args.child:
        child(args.child, args.width)
        return
    rose = {}
    for engine in ("jax", "torchlike"):
        command = [sys.executable, "-m", "benchmarks.memory", "--child", engine, "--width", str(args.width)]
        rose[engine] = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        print(f"{engine:10s} peak rose by {rose[engine] / 2**20:8.1f} MiB")
    print(f"torchlike / jax: {rose['torchlike'] / rose['jax']:.2f}")


if __name__ == "__main__":
    main()
