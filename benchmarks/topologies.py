"""Compiles a training step of torchlike for TPUs of 8, 256 and 4,096 chips, on a machine that has none, and reads what each chip would do.

    pip install libtpu
    python -m benchmarks.topologies [--only v5e:2x4] [--write]

libtpu describes the chips and compiles for them; nothing runs. The step is written with `nn.Module`, `cross_entropy` and `backward`,
under ``jax.jit``. The batch grows with the number of chips, so what each chip computes and keeps should stay the same. ``--write``
keeps the figures in `docs/benchmarks/topologies.json` and writes the page beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jaxlib.version
import numpy as np
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import torchlike as torch

nn = torch.nn
FOLDER = Path(__file__).parents[1] / "docs/benchmarks"
SAMPLES_PER_CHIP, LR = 16, 0.1
# By libtpu's name: copies of the parameters, and chips that share one copy. More chips than rows of a weight would leave some without.
TOPOLOGIES = {"v5e:2x4": (1, 8), "v5e:16x16": (1, 256), "v5p:16x16x16": (16, 256)}
COLLECTIVES = re.compile(
    r"(?m)^ *(?:ROOT )?%\S+ = .+? (all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)(?:-start)?\("
)


def model() -> Any:
    """A network of 30 MB, so that parameters outweigh the activations of a few samples."""
    return nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 2048), nn.GELU(), nn.Linear(2048, 1024))


class Layout:
    """Where the arrays of a step lie. DP: each chip has all parameters; FSDP: its part of them, gathered where they are used."""

    def __init__(self, kind: str, mesh: Mesh) -> None:
        self.mesh = mesh
        self.batch = self.over("copies", "parts")
        self.whole = self.over()
        self.stored = self.over("parts") if kind == "FSDP" else self.whole

    def over(self, *axes: str) -> NamedSharding:
        """The sharding of a first dimension over these axes of the mesh."""
        return NamedSharding(self.mesh, PartitionSpec(axes) if axes else PartitionSpec())

    def gather(self, parts: jax.Array) -> jax.Array:
        return jax.lax.with_sharding_constraint(parts, self.whole)

    def scatter(self, whole: jax.Array) -> jax.Array:
        return jax.lax.with_sharding_constraint(whole, self.stored)


def compiled_step(kind: str, topology: str) -> Any:
    """The executable of one step of SGD for the chips of a topology."""
    devices = np.array(topologies.get_topology_desc(topology, "tpu").devices)
    layout = Layout(kind, Mesh(devices.reshape(TOPOLOGIES[topology]), ("copies", "parts")))
    with torch.device("meta"):
        network = model()
    loss_fn = nn.CrossEntropyLoss()

    def step(parameters: dict[str, jax.Array], x: jax.Array, y: jax.Array) -> tuple[dict[str, jax.Array], jax.Array]:
        gathered = {name: torch.from_jax(layout.gather(array)).requires_grad_() for name, array in parameters.items()}
        loss = loss_fn(torch.func.functional_call(network, gathered, (torch.from_jax(x),)), torch.from_jax(y))
        loss.backward()
        grads: dict[str, Any] = {name: tensor.grad for name, tensor in gathered.items()}
        updated = {name: array - LR * layout.scatter(torch.to_jax(grads[name])) for name, array in parameters.items()}
        return updated, torch.to_jax(loss.detach())

    batch = SAMPLES_PER_CHIP * devices.size
    parameters = {
        name: jax.ShapeDtypeStruct(tuple(parameter.shape), jnp.float32, sharding=layout.stored)
        for name, parameter in network.named_parameters()
    }
    shapes = (
        jax.ShapeDtypeStruct((batch, 512), jnp.float32, sharding=layout.batch),
        jax.ShapeDtypeStruct((batch,), jnp.int64, sharding=layout.batch),
    )
    stored = dict.fromkeys(parameters, layout.stored)
    jitted = jax.jit(step, donate_argnums=0, out_shardings=(stored, layout.whole))
    return jitted.lower(parameters, *shapes).compile()


def figures(kind: str, topology: str) -> dict[str, Any]:
    """What the compiler says of one chip."""
    executable = compiled_step(kind, topology)
    cost, memory = executable.cost_analysis(), executable.memory_analysis()
    return {
        "chips": int(np.prod(TOPOLOGIES[topology])),
        "flops": cost["flops"],
        "bytes": cost["bytes accessed"],
        "arguments": memory.argument_size_in_bytes,
        "temporary": memory.temp_size_in_bytes,
        "collectives": dict(Counter(COLLECTIVES.findall(executable.as_text()))),
    }


def page(kept: dict[str, Any]) -> str:
    """The page of the figures that were kept."""
    lines = [
        "# Scaling to TPUs, by the compiler",
        "",
        "`python -m benchmarks.topologies --write` wrote this page. XLA compiled one training step of torchlike for TPUs of 8, 256 and",
        f"4,096 chips on a machine that has none of them (jaxlib {kept['jaxlib']}, libtpu {kept['libtpu']}). Nothing ran: these are the",
        "compiler's counts for one chip, and no times.",
        "",
        f"The network has {kept['parameters']:,} parameters of float32. Each chip gets {SAMPLES_PER_CHIP} samples, so the batch grows with",
        "the number of chips. *DP* keeps all parameters on each chip. *FSDP* keeps a part on each chip and gathers them where they are",
        "used; on 4,096 chips there are 16 copies of the parameters, each spread over 256 chips.",
        "",
        "| chips | topology | layout | MFLOP | MB read and written | MB of parameters and batch | MB of temporaries | collectives |",
        "|--:|---|---|--:|--:|--:|--:|---|",
    ]
    for row in kept["rows"]:
        collectives = ", ".join(f"{count} {name}" for name, count in sorted(row["collectives"].items()))
        sizes = " | ".join(f"{row[name] / 1e6:,.2f}" for name in ("flops", "bytes", "arguments", "temporary"))
        lines.append(f"| {row['chips']:,} | {row['topology']} | {row['kind']} | {sizes} | {collectives} |")
    return "\n".join([*lines, "", *_said(kept["rows"]), ""])


def _said(rows: list[dict[str, Any]]) -> list[str]:
    """What the figures say, computed from them."""

    def spread(kind: str, name: str) -> float:
        values = [row[name] for row in rows if row["kind"] == kind]
        return (max(values) / min(values) - 1) * 100

    smallest = min(row["arguments"] for row in rows if row["kind"] == "FSDP")
    whole = max(row["arguments"] for row in rows if row["kind"] == "DP")
    return [
        f"- From 8 to 4,096 chips the arithmetic of a chip differs by {spread('DP', 'flops'):.1f} % for DP and by",
        f"  {spread('FSDP', 'flops'):.1f} % for FSDP: each chip does the same work, however many there are.",
        f"- On 256 chips FSDP keeps {smallest / 1e6:.2f} MB of parameters and batch on a chip, DP {whole / 1e6:.2f} MB.",
        "- One exchange may carry many arrays: XLA joins the gradients. Where there are more all-reduces than gradients need, XLA gathers",
        "  parameters by them: it adds arrays in which each chip has filled its own part.",
    ]


def main() -> None:
    """Compiles, prints and keeps what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=TOPOLOGIES)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")  # libtpu would ask a machine of Google's for its chips
    import libtpu  # pyright: ignore[reportMissingImports]

    rows = []
    with jax.enable_x64(True):  # labels are int64, as in PyTorch
        for topology in TOPOLOGIES if args.only is None else (args.only,):
            for kind in ("DP", "FSDP"):
                rows.append({"topology": topology, "kind": kind, **figures(kind, topology)})
                print(rows[-1], flush=True)
    if args.write:
        kept = {
            "jaxlib": jaxlib.version.__version__,
            "libtpu": libtpu.__version__,
            "parameters": sum(parameter.numel() for parameter in model().parameters()),
            "rows": rows,
        }
        (FOLDER / "topologies.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        (FOLDER / "topologies.md").write_text(page(kept), encoding="utf-8")


if __name__ == "__main__":
    main()
