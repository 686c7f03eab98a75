"""How fast each way to compute a convolution, a product or an LSTM is here, and where the engine's choice is not the fastest.

    python -m benchmarks.lowerings [--rounds 20] [--only "256 of 3x3"] [--write]

Each convolution is computed forward and for both gradients by XLA's default, by XLA's older code (in both orders of the dimensions), as
a product with columns, by oneDNN and by PyTorch where they are installed, and by what the engine chooses. Products with a weight are
computed as XLA does it, and with the left matrix written out transposed first. Layers of LSTM are computed by XLA's loops and by oneDNN.
All take turns, and the fastest round of each counts. A line that ends with a name says that the choice has become wrong: that way takes
less than four fifths of its time. ``--write`` keeps the times in `docs/benchmarks/lowerings.json` and writes the page beside it.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jaxlib.version
import numpy as np
from jax import lax

from torchlike.engine import onednn
from torchlike.engine.executable import COMPILER_OPTIONS, FASTER_CONVOLUTIONS
from torchlike.engine.geometry import Geometry
from torchlike.numerics import product
from torchlike.numerics.convolution_ways import by_xla
from torchlike.ops.nn._lstm_layer import FASTER_FROM, computes
from torchlike.ops.nn._recurrence import Inputs, LayerInputs, outputs, plan_of, run as run_layers
from torchlike.ops.nn.conv import _as_column_product, convolution

FOLDER = Path(__file__).parent.parent / "docs" / "benchmarks"
SHAPES: dict[str, tuple[Any, ...]] = {  # images, kernels, stride, padding, groups
    "64x1x28x28, 6 of 5x5": ((64, 1, 28, 28), (6, 1, 5, 5), 1, 2, 1),
    "64x6x14x14, 16 of 5x5": ((64, 6, 14, 14), (16, 6, 5, 5), 1, 0, 1),
    "64x32x26x26, 64 of 3x3": ((64, 32, 26, 26), (64, 32, 3, 3), 1, 0, 1),
    "16x16x32x32, 16 of 3x3": ((16, 16, 32, 32), (16, 16, 3, 3), 1, 1, 1),
    "8x64x32x32, 64 of 3x3": ((8, 64, 32, 32), (64, 64, 3, 3), 1, 1, 1),
    "8x64x32x32, 128 of 3x3, stride 2": ((8, 64, 32, 32), (128, 64, 3, 3), 2, 1, 1),
    "8x256x8x8, 256 of 3x3": ((8, 256, 8, 8), (256, 256, 3, 3), 1, 1, 1),
    "8x512x4x4, 512 of 3x3": ((8, 512, 4, 4), (512, 512, 3, 3), 1, 1, 1),
    "8x64x32x32, 256 of 1x1": ((8, 64, 32, 32), (256, 64, 1, 1), 1, 0, 1),
    "8x64x56x56, 64 of 3x3, 64 groups": ((8, 64, 56, 56), (64, 1, 3, 3), 1, 1, 64),
    "16x64x256, 64 of 5": ((16, 64, 256), (64, 64, 5), 1, 2, 1),
    "2x16x16x32x32, 16 of 3x3x3": ((2, 16, 16, 32, 32), (16, 16, 3, 3, 3), 1, 1, 1),
}
PRODUCTS: dict[str, tuple[int, int, int]] = {  # rows, features, outputs
    "64 rows of 784, 512 outputs": (64, 784, 512),
    "64 rows of 512, 10 outputs": (64, 512, 10),
    "1024 rows of 128, 384 outputs": (1024, 128, 384),
    "1024 rows of 128, 512 outputs": (1024, 128, 512),
    "1024 rows of 512, 128 outputs": (1024, 512, 128),
    "1600 rows of 64, 512 outputs": (1600, 64, 512),
    "256 rows of 1024, 1024 outputs": (256, 1024, 1024),
}
LSTMS: dict[str, tuple[int, int, int, int]] = {  # steps, sequences, features, hidden units
    "32 steps, 32 of 64, 128 units": (32, 32, 64, 128),
    "32 steps, 1 of 64, 128 units": (32, 1, 64, 128),
    "4 steps, 32 of 64, 128 units": (4, 32, 64, 128),
    "4 steps, 1 of 64, 128 units": (4, 1, 64, 128),
    "16 steps, 32 of 256, 256 units": (16, 32, 256, 256),
    "16 steps, 32 of 512, 512 units": (16, 32, 512, 512),
    "16 steps, 1 of 180, 180 units": (16, 1, 180, 180),
    "16 steps, 1 of 256, 256 units": (16, 1, 256, 256),
}
# Of ``y = x @ w.T``: the two matrices that each result is the product of, and the dimensions that are summed over.
FACTORS = {"y": ("x", "w", (1, 1)), "x": ("y", "w", (1, 0)), "w": ("y", "x", (0, 0))}
RESULTS = {"y": "forward", "x": "input gradient", "w": "weight gradient"}
RESULTS_OF_LSTM = {"y": "forward", "all": "forward and all gradients"}
WHAT = {"products": "product", "layers of LSTM": "layer"}
WORSE = 1.25
Run = Callable[[], object]
Times = dict[str, dict[str, dict[str, float]]]


def geometry(shape: tuple[Any, ...]) -> Geometry:
    x, w, stride, padding, groups = shape
    rank = len(x) - 2
    y = (x[0], w[0], *((n + 2 * padding - k) // stride + 1 for n, k in zip(x[2:], w[2:], strict=True)))
    return Geometry("y", x, w, y, (stride,) * rank, (padding,) * rank, (1,) * rank, groups)


def program(fn: Any, arrays: list[Any], older: bool) -> Run:
    options = {**COMPILER_OPTIONS, **(FASTER_CONVOLUTIONS if older else {})}
    try:
        compiled = jax.jit(fn).lower(*arrays).compile(compiler_options=options)
    except jax.errors.JaxRuntimeError:  # this jaxlib does not know the option
        compiled = jax.jit(fn).lower(*arrays).compile(compiler_options=COMPILER_OPTIONS)
    return lambda: jax.block_until_ready(compiled(*arrays))


def gradient(fn: Any, of: Geometry) -> Any:
    """The function of x and w, or one of its gradients as a function of the two other arrays."""
    if of.result == "y":
        return fn
    if of.result == "x":
        return lambda w, y: jax.vjp(lambda x: fn(x, w), jnp.zeros(of.x))[1](y)[0]
    return lambda x, y: jax.vjp(lambda w: fn(x, w), jnp.zeros(of.w))[1](y)[0]


def channels_last(of: Geometry, arrays: dict[str, Any]) -> Run:
    """XLA's older convolution code, with images that are stored in its own order, channels last."""
    letters, rank = "DHW"[3 - len(of.stride) :], len(of.stride)
    moved = {n: jnp.moveaxis(arrays[n], 1, -1) for n in "xy"} | {"w": jnp.moveaxis(arrays["w"], (0, 1), (-1, -2))}

    def forward(x: Any, w: Any) -> Any:
        pads = list(zip(of.before, of.after, strict=True))
        layout = (f"N{letters}C", f"{letters}IO", f"N{letters}C")
        return lax.conv_general_dilated(
            x, w, of.stride, pads, None, of.dilation, layout, feature_group_count=of.groups
        )  # fmt: skip

    last = of._replace(
        x=moved["x"].shape, w=moved["w"].shape, y=moved["y"].shape, dilation=(1,) * rank
    )  # its shapes alone are read
    return program(gradient(forward, last), [moved[n] for n in of.operands], True)


def by_pytorch(torch: Any, of: Geometry, arrays: dict[str, Any]) -> Run:
    x, w, y = (torch.from_numpy(np.array(arrays[n])) for n in "xwy")
    rank = len(of.stride)
    if of.result == "y":
        call = getattr(torch, f"conv{rank}d")
        return lambda: call(x, w, None, of.stride, of.before, of.dilation, of.groups)
    mask = [of.result == "x", of.result == "w", False]
    return lambda: torch.ops.aten.convolution_backward(
        y, x, w, None, of.stride, of.before, of.dilation, False, [0] * rank, of.groups, mask
    )


def ways(of: Geometry) -> dict[str, Run]:
    """All ways to compute a convolution, or one of its gradients, on this machine, by name."""
    random = np.random.default_rng(0)
    arrays = {n: jnp.asarray(random.standard_normal(of.shape(n)), jnp.float32) for n in "xwy"}
    operands = [arrays[n] for n in of.operands]
    pads = tuple(zip(of.before, of.before, strict=True))
    found: dict[str, Run] = {
        "XLA": program(lambda a, b: by_xla(a, b, of), operands, False),
        "XLA, older": program(lambda a, b: by_xla(a, b, of), operands, True),
        "XLA, older, channels last": channels_last(of, arrays),
    }
    if of.groups == 1:
        columns = gradient(lambda x, w: _as_column_product(x, w, of.stride, pads, of.dilation), of)
        found["columns"] = program(columns, operands, True)
    call = onednn.call(onednn.Convolution(of, np.dtype(np.float32)))
    if call is not None:
        found["oneDNN"] = program(call, operands, True)

    def chosen(x: Any, w: Any) -> Any:
        compute = convolution.declared.compute
        return compute(x, w, None, of.stride, pads, of.dilation, of.groups, "cpu", "ConvolutionBackward0")

    found["chosen"] = program(gradient(chosen, of), operands, True)
    try:
        import torch
    except ModuleNotFoundError:
        pass
    else:
        found["PyTorch"] = by_pytorch(torch, of, arrays)
    return found


def product_ways(sizes: tuple[int, int, int], result: str) -> dict[str, Run]:
    """All ways to compute a product, or one of its gradients."""
    rows, features, outputs = sizes
    shapes = {"x": (rows, features), "w": (outputs, features), "y": (rows, outputs)}
    first, second, sums = FACTORS[result]
    random, highest = np.random.default_rng(0), lax.Precision.HIGHEST
    operands = [jnp.asarray(random.standard_normal(shapes[n]), jnp.float32) for n in (first, second)]

    def transposed(a: Any, b: Any) -> Any:
        return product.by_xla(lax.optimization_barrier(a.T), b, sums=(1 - sums[0], sums[1]), precision=highest)

    found: dict[str, Run] = {
        "XLA": program(lambda a, b: product.by_xla(a, b, sums=sums, precision=highest), operands, False),
        "transposed first": program(transposed, operands, False),
        "chosen": program(lambda a, b: product.multiply(a, b, sums, highest), operands, False),
    }
    try:
        import torch
    except ModuleNotFoundError:
        pass
    else:
        a, b = (torch.from_numpy(np.array(operand)) for operand in operands)
        left, right = a if sums[0] else a.T, b.T if sums[1] else b
        found["PyTorch"] = lambda: torch.mm(left, right)
    return found


def lstm_ways(sizes: tuple[int, int, int, int], result: str) -> dict[str, Run]:
    """All ways to compute one layer of LSTM, alone or with all gradients after it."""
    steps, batch, features, hidden = sizes
    random, gates = np.random.default_rng(0), 4 * hidden
    weights_of = ((gates, features), (gates, hidden), (gates,), (gates,))
    shapes = ((steps, batch, features), (1, batch, hidden), (1, batch, hidden), *weights_of)
    operands = [jnp.asarray(random.standard_normal(shape) * 0.1, jnp.float32) for shape in shapes]

    def by_loop_or_onednn(threads: int) -> Run:
        plan, others = plan_of("LSTM", True, 1, False, False, threads), LayerInputs([], None)

        def inputs(arrays: Any) -> Inputs:
            return Inputs(arrays[0], list(arrays[1:3]), list(arrays[3:]))

        def forward(*arrays: Any) -> Any:
            return run_layers(plan, inputs(arrays), others, keep=result == "all")

        def with_gradients(*arrays: Any) -> Any:
            found = forward(*arrays)
            y, back = jax.vjp(lambda *differentiated: outputs(plan, inputs(differentiated), others, found)[0], *arrays)
            return back(jnp.ones_like(y))

        return program(with_gradients if result == "all" else forward, operands, False)

    threads = onednn.threads()
    found = {"XLA": by_loop_or_onednn(0)}
    if threads:
        found["oneDNN"] = by_loop_or_onednn(threads)
    fits = threads and steps >= FASTER_FROM and computes(shapes[0], hidden, 1, False, threads, weights_of, True)
    found["chosen"] = by_loop_or_onednn(threads if fits else 0)
    try:
        import torch
    except ModuleNotFoundError:
        return found
    layer, x = torch.nn.LSTM(features, hidden), torch.from_numpy(np.array(operands[0])).requires_grad_(result == "all")

    def by_pytorch() -> None:
        with torch.set_grad_enabled(result == "all"):
            y = layer(x)[0]
            if result == "all":
                torch.autograd.grad(y, [x, *layer.parameters()], torch.ones_like(y))

    found["PyTorch"] = by_pytorch
    return found


def measure(runs: dict[str, Run], rounds: int) -> dict[str, float]:
    """Milliseconds of the fastest round of each way."""
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], (time.perf_counter() - start) * 1e3)
    return best


def compared(
    name: str, ways_of: Callable[[str], dict[str, Run]], rounds: int, results: dict[str, str] = RESULTS
) -> dict[str, dict[str, float]]:
    """Milliseconds of each way for each of the results; prints them, and where the choice is wrong."""
    times = {}
    for result, what in results.items():
        found = measure(ways_of(result), rounds)
        times[result] = {way: round(t, 3) for way, t in found.items()}
        row = "  ".join(f"{way} {t:.2f}" for way, t in found.items())
        print(f"{name}, {what}: {row}   {better(found)}", flush=True)
    return times


def better(times: dict[str, float]) -> str:
    """A way that is faster than the chosen one by more than the tolerance; empty if there is none."""
    others = {name: t for name, t in times.items() if name not in ("chosen", "PyTorch", "XLA, older, channels last")}
    name = min(others, key=others.__getitem__)
    return name if times["chosen"] > WORSE * others[name] else ""


def page(kept: dict[str, Any]) -> str:
    """The page of the times that were kept, oneDNN installed and not."""
    lines = [
        "# Ways to compute convolutions, products and LSTMs", "",
        "`python -m benchmarks.lowerings --write` wrote this page. Milliseconds forward / for the gradient of the images or rows / of the",
        "kernels or weights, float32, the fastest of many rounds in which all ways took turns; of an LSTM, forward / with all gradients.",
        "*Chosen* is what a program of torchlike contains, with oneDNN installed (`pip install torchlike[onednn]`) and without. The times",
        "were taken on two cores that had other work as well.", "",
    ]  # fmt: skip
    for title, run in kept.items():
        names = list(dict.fromkeys(n for results in run["times"].values() for t in results.values() for n in t))
        lines += [f"## {title[0].upper()}{title[1:]}", "", run["machine"] + ".", ""]
        lines += [
            f"| {WHAT.get(title, 'convolution')} | " + " | ".join(names) + " |",
            "|---" * (len(names) + 1) + "|",
        ]
        for shape, results in run["times"].items():
            cells = [" / ".join(f"{t[n]:.2f}" for t in results.values()) if n in results["y"] else "" for n in names]
            lines.append(f"| {shape} | " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", default="", help="shapes whose name contains this")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    convolutions: Times = {}
    for name, shape in SHAPES.items():
        if args.only in name:
            convolutions[name] = compared(
                name, lambda result, shape=shape: ways(geometry(shape)._replace(result=result)), args.rounds
            )
    products: Times = {}
    for name, sizes in PRODUCTS.items():
        if args.only in name:
            products[name] = compared(name, lambda result, sizes=sizes: product_ways(sizes, result), args.rounds)
    layers: Times = {}
    for name, sizes in LSTMS.items():
        if args.only in name:
            layers[name] = compared(
                name, lambda result, sizes=sizes: lstm_ways(sizes, result), args.rounds, RESULTS_OF_LSTM
            )
    if args.write:
        FOLDER.mkdir(exist_ok=True)
        file = FOLDER / "lowerings.json"
        kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        machine = f"jaxlib {jaxlib.version.__version__}, {platform.machine()}"
        for title, times in (
            ("with oneDNN" if onednn.available() else "without oneDNN", convolutions),
            ("products", products),
            ("layers of LSTM", layers),
        ):
            if times:
                kept[title] = {"machine": machine, "times": times}
        file.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        (FOLDER / "lowerings.md").write_text(page(kept), encoding="utf-8")


if __name__ == "__main__":
    main()
