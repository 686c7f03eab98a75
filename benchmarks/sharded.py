"""Compiles training steps of a Transformer for 64 chips of a TPU v5p, in three layouts, and reads what each chip keeps and exchanges.

    pip install libtpu
    python -m benchmarks.sharded [--only FSDP] [--write]

The loops are what a user writes: `fully_shard`, `parallelize_module` and `distribute_module` in one process, attention, autocast to
bfloat16. Nothing runs. ``--write`` keeps the figures in `docs/benchmarks/sharded.json` and the table in `docs/many-devices.md`.
Without libtpu this says so and ends.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import torchlike as torch
from torchlike import nn

from ._kept import Kept, compiler

TOPOLOGY, CHIPS, STEPS = "v5p:4x4x4", 64, 3
WIDTH, HEADS, TOKENS, BLOCKS, BATCH = 1024, 16, 512, 2, 64
# The layout, and among how many chips the weights of products are divided, and those of norms.
LAYOUTS = {"DP": (1, 1), "FSDP": (64, 64), "FSDP x TP": (64, 8)}
TENSOR_PARALLEL = 8


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


def laid_out(layout: str, model: Any) -> Any:
    """The model with its parameters where the layout has them, and the mesh over which batches are divided."""
    from torchlike.distributed.device_mesh import init_device_mesh
    from torchlike.distributed.fsdp import fully_shard
    from torchlike.distributed.tensor import Replicate, distribute_tensor
    from torchlike.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    if layout == "DP":
        mesh = init_device_mesh("tpu", (CHIPS,))
        for module in model.modules():
            for name, parameter in list(module.named_parameters(recurse=False)):
                setattr(module, name, nn.Parameter(distribute_tensor(parameter.detach(), mesh, [Replicate()])))
        return mesh
    if layout == "FSDP":
        mesh = init_device_mesh("tpu", (CHIPS,))
    else:
        whole = init_device_mesh("tpu", (CHIPS // TENSOR_PARALLEL, TENSOR_PARALLEL), mesh_dim_names=("dp", "tp"))
        columns, rows = ColwiseParallel, RowwiseParallel
        kinds = dict.fromkeys(("query", "key", "value", "widen"), columns) | dict.fromkeys(("project", "narrow"), rows)
        for block in model:
            parallelize_module(block, whole["tp"], {name: kind() for name, kind in kinds.items()})
        mesh = whole["dp"]
    for block in model:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return mesh


def figures(layout: str) -> dict[str, Any]:
    """What the compiler says of one chip."""
    from torchlike.distributed.tensor import Shard, distribute_tensor

    with torch.compiled_for(f"tpu:{TOPOLOGY}") as compiled:
        with torch.device("meta"):
            model = nn.Sequential(*[Block() for _ in range(BLOCKS)])
        model = model.to_empty(device="tpu")
        mesh = laid_out(layout, model)
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
        for _ in range(STEPS):
            x = torch.zeros(BATCH, TOKENS, WIDTH).to("tpu")
            if layout == "DP":
                x = distribute_tensor(x, mesh, [Shard(0)])
            with torch.autocast("tpu"):
                loss = model(x).float().square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            loss.item()
        products = sum(p.numel() for p in model.parameters() if p.dim() == 2)
        others = sum(p.numel() for p in model.parameters() if p.dim() == 1)
    program = compiled.programs[-1]
    parts = LAYOUTS[layout]
    by_hand = 3 * 4 * (products // parts[0] + others // parts[1])
    batch = 4 * BATCH * TOKENS * WIDTH // (CHIPS if layout != "FSDP x TP" else CHIPS // TENSOR_PARALLEL)
    return {
        "parameters": products + others,
        "flops": program.flops,
        "arguments": program.argument_bytes,
        "by_hand": by_hand + batch,
        "temporary": program.temporary_bytes,
        "collectives": dict(program.collectives),
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
        print(layout, kept["rows"][layout], f"{time.perf_counter() - begun:.0f} s", flush=True)
        if args.write:
            KEPT.write(kept)


if __name__ == "__main__":
    main()
