"""Compiles the training steps of six models for a TPU that this machine does not have, beside the same steps written by hand in JAX.

    pip install libtpu
    python -m benchmarks.described [--only gpt2] [--engine jax] [--write]

A loop of torchlike's, unmodified, under `torch.compiled_for`; and one jitted function with donated parameters, in the same dtypes, with
optax's AdamW and, where the number of tokens suits it, the same kernel for attention. Nothing runs: the compiler says what a step would
compute, read and keep. ``--write`` keeps the figures in `docs/benchmarks/described.json` and the table in `docs/accelerators.md`.
Without libtpu this says so and ends.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from typing import Any

import jax
import jax.numpy as jnp
import jaxlib.version
import numpy as np
import optax
from jax.sharding import SingleDeviceSharding

import torchlike as torch

from ._kept import Kept, compiler
from .models import GPT, LARGE, Case
from .models._case import How
from .models.transformer import case as transformer

TOPOLOGY, LR, DROPOUT, STEPS = "v5e:2x2", 3e-4, 0.1, 3
CASES = {**LARGE, "gpt2": transformer(dataclasses.replace(GPT, dropout=DROPOUT), steps=STEPS)}
WORDS = {
    "gpt2": "GPT-2, 4 x 1,024 tokens, dropout",
    "bert": "BERT-base, 32 x 128 tokens",
    "vit": "ViT-B/16, 32 pictures of 224",
    "resnet50": "ResNet-50, 32 pictures of 224",
    "lstm512": "LSTM of 512 units, 128 x 128 steps (1)",
    "unet": "U-Net, 4 pictures of 256",
}


def by_torchlike(case: Case) -> dict[str, Any]:
    """The programs of the third step of the loop that every user writes."""
    with torch.compiled_for(f"tpu:{TOPOLOGY}") as compiled:
        with torch.device("meta"):
            model, loss_fn = case.model(torch)
        model = model.to_empty(device="tpu")
        optimizer = torch.optim.AdamW(model.parameters(), lr=LR)
        inputs, labels = map(torch.from_numpy, case.data())
        for _ in range(STEPS):
            runs = [program.runs for program in compiled.programs]
            x, y = inputs.to("tpu"), labels.to("tpu")
            with torch.autocast("tpu"):
                loss = loss_fn(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            loss.item()
    before = [*runs, *[0] * (len(compiled.programs) - len(runs))]
    ran = [program for program, count in zip(compiled.programs, before, strict=True) if program.runs > count]
    return {
        "programs": len(ran),
        "flops": sum(program.flops for program in ran),
        "bytes": sum(program.bytes_accessed for program in ran),
        "seconds": sum(program.seconds for program in ran),
        "arguments": max(program.argument_bytes for program in ran),
        "donated": sum(program.donated_bytes for program in ran),
        "temporary": max(program.temporary_bytes for program in ran),
        "host": sum(program.host_bytes for program in ran),
        "batch": x.nbytes + y.nbytes,
        "state": 3 * sum(p.nbytes for p in model.parameters()),  # parameters and two moments
    }


def by_jax(case: Case) -> dict[str, Any]:
    """The same step by hand."""
    from jax.experimental import topologies

    place = SingleDeviceSharding(topologies.get_topology_desc(TOPOLOGY, "tpu").devices[0])
    optimizer = optax.adamw(LR, weight_decay=0.01)

    def there(tree: Any) -> Any:
        return jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=place), tree)

    def step(params: Any, state: Any, X: jax.Array, y: jax.Array, seed: jax.Array) -> Any:
        keys = iter(jax.random.split(jax.random.wrap_key_data(seed, impl="rbg"), 64))
        how = How(jnp.bfloat16, flash=True, keys=keys)
        loss, grads = jax.value_and_grad(lambda params: case.loss(params, X, y, how=how))(params)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, loss

    params = jax.eval_shape(lambda: case.params(np.random.default_rng(0)))
    inputs, labels = case.data()
    inputs = inputs.astype(np.int32) if inputs.dtype.kind == "i" else inputs
    arguments = there(
        (params, jax.eval_shape(optimizer.init, params), inputs, labels.astype(np.int32), np.zeros(4, np.uint32))
    )
    compiled: Any = jax.jit(step, donate_argnums=(0, 1), out_shardings=place).lower(*arguments).compile()
    cost, memory = compiled.cost_analysis(), compiled.memory_analysis()
    seconds = cost["optimal_seconds"]
    return {
        "flops": cost["flops"],
        "bytes": cost["bytes accessed"],
        "seconds": seconds % 1 if seconds < 0 else seconds,  # see ``torchlike/engine/described.py``
        "temporary": memory.temp_size_in_bytes,
    }


ENGINES = {"torchlike": by_torchlike, "jax": by_jax}


def table(kept: dict[str, Any]) -> str:
    """The table of the figures that were kept, and what they say."""
    lines = [
        f"`python -m benchmarks.described --write` compiled these steps for one chip of TPU v5e (jaxlib {kept['jaxlib']}, libtpu",
        f"{kept['libtpu']}): autocast to bfloat16, AdamW, the gradients set to None. First torchlike, then JAX by hand:",
        "the same dtypes, optax's AdamW, and the same kernel for attention where the number of tokens suits it.",
        "",
        "| step | GFLOP | GB read and written | MB of temporaries | ms by the compiler's estimate | programs | bytes from the host |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    rows = {name: row for name, row in kept["rows"].items() if row.keys() == ENGINES.keys()}
    for name, row in rows.items():
        ours, hand = row["torchlike"], row["jax"]
        pairs = [
            f"{ours[what] / unit:,.{digits}f} / {hand[what] / unit:,.{digits}f}"
            for what, unit, digits in (
                ("flops", 1e9, 0),
                ("bytes", 1e9, 2),
                ("temporary", 1e6, 0),
                ("seconds", 1e-3, 1),
            )
        ]
        lines.append(f"| {WORDS[name]} | {' | '.join(pairs)} | {ours['programs']} | {ours['host']:,} |")
    fits = all(row["torchlike"]["host"] == row["torchlike"]["batch"] for row in rows.values())
    given = all(row["torchlike"]["donated"] >= row["torchlike"]["state"] for row in rows.values())
    said = [
        *(["What comes from the host is the batch and nothing else."] if fits else []),
        *(["New parameters and state lie where the old ones lay."] if given else []),
    ]
    if "lstm512" in rows:
        said += [
            "",
            "(1) The compiler counts what a loop does once, and not for each step. So only the temporaries can be compared: JAX",
            "multiplies the inputs and the gradients of the weights within its loop, torchlike for all steps at once.",
        ]
    return "\n".join([*lines, "", *said, ""])


KEPT = Kept("described", "accelerators.md", table)


def main() -> None:
    """Compiles, prints and keeps what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=CASES)
    parser.add_argument("--engine", choices=ENGINES)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    libtpu = compiler()
    if libtpu is None:
        return
    kept = KEPT.read()
    kept |= {"jaxlib": jaxlib.version.__version__, "libtpu": libtpu.__version__}
    for name in CASES if args.only is None else (args.only,):
        row = kept["rows"].setdefault(name, {})
        for engine, ask in ENGINES.items():
            if args.engine not in (None, engine):
                continue
            begun = time.perf_counter()
            row[engine] = ask(CASES[name])
            print(name, engine, row[engine], f"{time.perf_counter() - begun:.0f} s", flush=True)
            if args.write:
                kept["rows"] = {each: kept["rows"][each] for each in CASES if each in kept["rows"]}
                KEPT.write(kept)


if __name__ == "__main__":
    main()
