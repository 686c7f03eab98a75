"""Compiles training steps of a Transformer for 64 chips of a TPU v5p, in three layouts, and reads what each chip keeps and exchanges.

    pip install libtpu
    python -m benchmarks.sharded [--only FSDP] [--write]

The loops are what a user writes: `fully_shard`, `parallelize_module` and `distribute_module` in one process, attention, autocast to
bfloat16. Nothing runs. The step with FSDP is compiled as it is written by hand in JAX, too. ``--write`` keeps the figures in
`docs/benchmarks/sharded.json` and the table in `docs/many-devices.md`. Without libtpu this says so and ends.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter
from typing import Any, NamedTuple

import torchlike as torch
from torchlike import nn

from . import sharded_by_jax
from ._kept import Kept, compiler

TOPOLOGY, CHIPS, STEPS = "v5p:4x4x4", 64, 3
WIDTH, HEADS, TOKENS, BLOCKS, BATCH = 1024, 16, 512, 2, 64
LAYOUTS = ("DP", "FSDP", "FSDP x TP")
TENSOR_PARALLEL = 8


class Exchange(NamedTuple):
    """An array that chips exchange: in which way, its dtype, how many elements a chip has from it, and how many there are in all."""

    kind: str
    dtype: str
    elements: int
    whole: int = 0


class Block(nn.Module):
    """A block of a Transformer, with queries, keys and values of their own, as tensor parallelism needs them."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH, bias=False), nn.LayerNorm(WIDTH, bias=False)
        self.query, self.key, self.value, self.project = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.widen, self.narrow = nn.Linear(WIDTH, 4 * WIDTH, bias=False), nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x: Any) -> Any:
        y = self.norm1(x)
        parts = [layer(y).unflatten(-1, (HEADS, -1)).transpose(1, 2) for layer in (self.query, self.key, self.value)]
        y = nn.functional.scaled_dot_product_attention(*parts, is_causal=True).transpose(1, 2).flatten(2)
        x = x + self.project(y)
        return x + self.narrow(nn.functional.gelu(self.widen(self.norm2(x))))


def laid_out(layout: str, model: Any, device: str) -> Any:
    """The model with its parameters where the layout has them, and the mesh over which batches are divided."""
    from torchlike.distributed.device_mesh import init_device_mesh
    from torchlike.distributed.fsdp import fully_shard
    from torchlike.distributed.tensor import Replicate, distribute_tensor
    from torchlike.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    if layout == "DP":
        mesh = init_device_mesh(device, (CHIPS,))
        for module in model.modules():
            for name, parameter in list(module.named_parameters(recurse=False)):
                setattr(module, name, nn.Parameter(distribute_tensor(parameter.detach(), mesh, [Replicate()])))
        return mesh
    if layout == "FSDP":
        mesh = init_device_mesh(device, (CHIPS,))
    else:
        whole = init_device_mesh(device, (CHIPS // TENSOR_PARALLEL, TENSOR_PARALLEL), mesh_dim_names=("dp", "tp"))
        columns, rows = ColwiseParallel, RowwiseParallel
        kinds = dict.fromkeys(("query", "key", "value", "widen"), columns) | dict.fromkeys(("project", "narrow"), rows)
        for block in model:
            parallelize_module(block, whole["tp"], {name: kind() for name, kind in kinds.items()})
        mesh = whole["dp"]
    for block in model:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return mesh


def train(layout: str, device: str) -> None:
    """A few steps as a user writes them."""
    from torchlike.distributed.tensor import Shard, distribute_tensor

    with torch.device("meta"):
        model = nn.Sequential(*[Block() for _ in range(BLOCKS)])
    model = model.to_empty(device=device)
    mesh = laid_out(layout, model, device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for _ in range(STEPS):
        x = torch.zeros(BATCH, TOKENS, WIDTH).to(device)
        if layout == "DP":
            x = distribute_tensor(x, mesh, [Shard(0)])
        with torch.autocast(device):
            loss = model(x).float().square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        loss.item()


# ---- by hand


def chips_of(layout: str) -> tuple[int, int]:
    """Among how many chips the batch is divided, and among how many the weights of products besides."""
    return (CHIPS // TENSOR_PARALLEL, TENSOR_PARALLEL) if layout == "FSDP x TP" else (CHIPS, 1)


def memory_by_hand(layout: str) -> int:
    """The bytes of parameters, their two moments and the batch on a chip."""
    data, tensor = chips_of(layout)
    pieces = 1 if layout == "DP" else data
    parameters = BLOCKS * (12 * WIDTH**2 // (pieces * tensor) + 2 * WIDTH // pieces)
    return 3 * 4 * parameters + 4 * BATCH * TOKENS * WIDTH // data


def exchanges_by_hand(layout: str) -> Counter[Exchange]:
    """What the chips exchange in a step, array by array."""
    data, tensor = chips_of(layout)
    products = [WIDTH**2 // tensor] * 4 + [4 * WIDTH**2 // tensor] * 2
    found: Counter[Exchange] = Counter([Exchange("all-reduce", "f32", 1)])  # the loss
    for block in range(BLOCKS):
        if layout == "DP":
            found.update(Exchange("all-reduce", "bf16", size) for size in products)
            found.update([Exchange("all-reduce", "f32", WIDTH)] * 2)
            continue
        # Autocast's copies serve both passes. Weights of norms are gathered for each; the first one's input needs no gradient.
        found.update(Exchange("all-gather", "bf16", size) for size in products)
        found.update([Exchange("all-gather", "f32", WIDTH)] * (4 if block else 3))
        found.update(Exchange("reduce-scatter", "f32", size // data, size) for size in (*products, WIDTH, WIDTH))
        if tensor > 1:
            # Forward what `project` and `narrow` give, backward the inputs of `query`, `key`, `value` and `widen`.
            found.update([Exchange("all-reduce", "bf16", BATCH // data * TOKENS * WIDTH)] * 6)
    return found


def array_by_array(exchanges: list[tuple[str, list[str]]]) -> Counter[Exchange]:
    """The exchanges of a program, each array for itself."""
    found: Counter[Exchange] = Counter()
    for kind, arrays in exchanges:
        for dtype, sizes in (each.rstrip("]").split("[") for each in arrays):
            found[Exchange(kind, dtype, math.prod(map(int, sizes.split(","))) if sizes else 1)] += 1
    return found


def differences(found: Counter[Exchange], by_hand: Counter[Exchange]) -> tuple[Counter[Exchange], Counter[Exchange]]:
    """What a program exchanges besides what was expected, and what it does not exchange.

    XLA may gather and scatter by sums of whole arrays, where it finds that this takes a TPU less time: this is expected, too.
    """
    more, less = found.copy(), Counter()
    for each, count in by_hand.items():
        for kind, elements in ((each.kind, each.elements), ("all-reduce", each.whole or each.elements)):
            same = Exchange(kind, each.dtype, elements)
            seen = min(count, more[same])
            more[same] -= seen
            count -= seen
        less[each] = count
    return +more, +less


def figures(layout: str) -> dict[str, Any]:
    """What the compiler says of one chip."""
    with torch.compiled_for(f"tpu:{TOPOLOGY}") as compiled:
        train(layout, "tpu")
    program = compiled.programs[-1]
    more, less = differences(array_by_array(program.exchanges), exchanges_by_hand(layout))
    return {
        "parameters": BLOCKS * (12 * WIDTH**2 + 2 * WIDTH),
        "flops": program.flops,
        "bytes": program.bytes_accessed,
        "arguments": program.argument_bytes,
        "by_hand": memory_by_hand(layout),
        "temporary": program.temporary_bytes,
        "new": program.output_bytes - program.donated_bytes,
        "collectives": dict(program.collectives),
        "unexpected": {str(each[:3]): count for each, count in more.items()},
        "missing": {str(each[:3]): count for each, count in less.items()},
    }


def table(kept: dict[str, Any]) -> str:
    """The table of the figures that were kept."""
    lines = [
        f"`python -m benchmarks.sharded --write` compiled the step of {BLOCKS} blocks of a Transformer (width {WIDTH:,}, {HEADS} heads,",
        f"{TOKENS} tokens, causal attention, autocast to bfloat16, AdamW, {BATCH} samples) for {CHIPS} chips of TPU v5p (libtpu",
        f"{kept['libtpu']}). *By hand* is what parameters, their two moments and the batch take on a chip in this layout.",
        "",
        "| layout | GFLOP | MB of parameters, state and batch | by hand | MB of temporaries | exchanges |",
        "|---|--:|--:|--:|--:|---|",
    ]
    for layout in (each for each in LAYOUTS if each in kept["rows"]):
        row = kept["rows"][layout]
        exchanges = ", ".join(f"{count} {name}" for name, count in sorted(row["collectives"].items()))
        sizes = f"{row['arguments'] / 1e6:,.2f} | {row['by_hand'] / 1e6:,.2f} | {row['temporary'] / 1e6:,.0f}"
        lines.append(f"| {layout} | {row['flops'] / 1e9:,.1f} | {sizes} | {exchanges} |")
    if "jax" in (row := kept["rows"].get("FSDP", {})):
        ours, hand = [
            f"{each['bytes'] / 1e9:,.2f} GB with {each['temporary'] / 1e6:,.0f} MB" for each in (row, row["jax"])
        ]
        lines += [
            "",
            f"With FSDP a chip reads and writes {ours} of temporaries, and {hand} in a step that is written by hand in JAX",
            "(`shard_map`, the same dtypes, gradients summed in float32).",
        ]
    strange = [
        f"{layout} {each}" for layout, row in kept["rows"].items() for each in (*row["unexpected"], *row["missing"])
    ]
    if strange:
        lines += ["", f"Not as computed by hand: {'; '.join(strange)}."]
    else:
        lines += [
            "",
            "What the chips exchange is, array by array, what follows by hand from the shapes of parameters and batch.",
        ]
    return "\n".join([*lines, ""])


KEPT = Kept("sharded", "many-devices.md", table)


def main() -> None:
    """Compiles, prints and keeps what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=LAYOUTS)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    libtpu = compiler()
    if libtpu is None:
        return
    kept = KEPT.read()
    kept["libtpu"] = libtpu.__version__
    for layout in LAYOUTS if args.only is None else (args.only,):
        begun = time.perf_counter()
        kept["rows"][layout] = figures(layout)
        if layout == "FSDP":
            kept["rows"][layout]["jax"] = sharded_by_jax.figures(TOPOLOGY, BLOCKS, BATCH, TOKENS, WIDTH, HEADS)
        print(layout, kept["rows"][layout], f"{time.perf_counter() - begun:.0f} s", flush=True)
        if args.write:
            KEPT.write(kept)


if __name__ == "__main__":
    main()
