"""Writes benchmarks/index.md and its plots, light and dark, from benchmarks/results.json.

python -m benchmarks.all && python docs/_benchmarks.py    measures first; the drawing needs `pip install torchlike[plots]`
"""

import json
import statistics
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("benchmarks")
DATA, PAGE = FOLDER / "results.json", FOLDER / "index.md"
BARS = {  # each benchmark drawn as bars: a title, and the engine whose time is 1
    "first_minute": ("From the start of a process", "pytorch"),
    "processes": ("Peak memory of a process", "pytorch"),
    "step": ("Training step", "jax"),
    "inference": ("Batch of an evaluation loop", "jax"),
    "overhead": ("Cost of a line", "pytorch"),
    "epoch": ("Epoch with a DataLoader", "pytorch"),
    "memory": ("Peak memory of training", "jax"),
    "programs": ("Whole programs", "pytorch"),
}
WORDS = {
    "first_minute": """What a user waits for: the seconds from the start of a process until its first step is done, its tenth and
its fortieth, imports included. `torchlike` has never run the program before and compiles while it runs; `torchlike, again` finds
on the disk what that run has left.""",
    "processes": """The resident memory of the same processes at most, the libraries and the compiler's included.""",
    "step": """Six models, trained by the loop that every user of PyTorch writes: forward, loss, backward, optimizer, gradients set to
None. torchlike runs it unmodified and as users run it: as one program, or operation by operation where a program would save too little, as
for gpt and resnet here. JAX is the same step written by hand as one jitted function with donated parameters. Lenet, lstm, gpt and resnet
are measured with each engine in a process of its own.""",
    "inference": "The loss in evaluation mode with gradients off, read after each batch.",
    "overhead": """Tensors of 16 elements, so that Python is all that counts. An operation's share holds its recording, the run of the
program, and what frees its result; `op and item` waits for each result.""",
    "epoch": """12,800 pictures in batches of 64, converted one by one by the dataset. Workers are processes.""",
    "memory": """How far resident memory rose at most above what the process held before the model was made. `wide` is a network whose
parameters are larger than all else.""",
    "programs": """The programs of `tests/programs/scripts` as processes of their own, less the import: with an empty cache (`first`), and
with what that run left there. Many are over in less time than one program takes to compile.""",
    "scaling": """Microseconds of a training step against one size: of the batch, of the layers, of their number, of the sequence. The last
plot shows what it costs to record an operation where so many are recorded before anything is computed.""",
}
HEAD = """# Benchmarks

Medians over rounds in which the engines took turns; below 1 is faster, or smaller. Measured on {machine}.
{busy}
Written by `docs/_benchmarks.py` from `docs/benchmarks/results.json`, which has the figures of all rounds; not to be edited.

To repeat it, in a clone of the repository, where nothing else runs (twelve minutes on two cores):

```console
$ pip install -e '.[onednn,plots]' torch
$ python -m benchmarks.all
$ python docs/_benchmarks.py
```

Each part is a program of its own as well, with `--rounds`, `--only` and `--json`: `python -m benchmarks.step --only gpt`.

"""
# The load of a machine before it measures, above which it is said that it had other work.
QUIET = 0.5
BUSY = """
!!! warning
    The machine had other work while this was measured, {load} runnable processes before anything began. The threads of PyTorch and of
    oneDNN wait for each other many times in a step, and lose most there. Only large differences mean anything.
"""
TAIL = """## Convolutions

[Ways to compute convolutions, products and LSTMs](lowerings.md) has the times of each way, and says which of them a program gets.

{onednn}
## Accelerators

`make accelerator` measures operators, six models and what else depends on the device on whatever JAX finds.
[Accelerators](../accelerators.md) has the figures of a GPU.
"""
ONEDNN = """\
The extra `torchlike[onednn]` installs `onednn-cpu-gomp` 2023.2, which is the last release of that name: one shared library that
needs GNU's OpenMP, which every Linux has, and nothing else. Releases since 2024 are called `onednn` and are for GPUs too. The wheel has
97 MB instead of 39. Its library needs SYCL, TBB and Intel's mathematical libraries, and the wheel requires the runtimes of Intel's
compiler and of OpenCL. For convolutions in float32 and bfloat16 on a CPU it brings nothing that was missing.
"""


def medians(figures: dict[str, Any]) -> dict[str, dict[str, float]]:
    return {
        case: {engine: statistics.median(numbers) for engine, numbers in engines.items()}
        for case, engines in figures.items()
    }


def number(value: float) -> str:
    """Three or four digits, without an exponent."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def table(times: dict[str, dict[str, float]], unit: str) -> str:
    engines = list(next(iter(times.values())))
    lines = [f"| {unit} | " + " | ".join(engines) + " |", "|---" + "|--:" * len(engines) + "|"]
    for case, each in times.items():
        lines.append(f"| {case} | " + " | ".join(number(each[e]) if e in each else "" for e in engines) + " |")
    return "\n".join(lines) + "\n"


def page(kept: dict[str, Any]) -> str:
    """The page, with a table beside each plot."""
    about = dict(kept["machine"])
    load = float(about.pop("load"))
    machine = f"{about.pop('cores')} cores, {about.pop('processor')}, " + ", ".join(
        f"{k} {v}" for k, v in about.items()
    )
    text = HEAD.replace("{machine}", machine).replace(
        "{busy}", BUSY.replace("{load}", str(load)) if load > QUIET else ""
    )
    for name, words in WORDS.items():
        if name not in kept["benchmarks"]:
            continue
        result = kept["benchmarks"][name]
        times = medians(result["figures"])
        title = BARS[name][0] if name in BARS else "Growth"
        pictures = "".join(f"![{title}]({name}-{scheme}.svg#only-{scheme})" for scheme in ("light", "dark"))
        unit = {"us": "microseconds", "s": "seconds"}.get(result["unit"], result["unit"])
        text += f"## {title}\n\n{words}\n\n{pictures}\n\n{table(times, unit)}\n"
    return text + TAIL.replace("{onednn}", ONEDNN)


if __name__ == "__main__":
    from _plots import draw

    kept = json.loads(DATA.read_text(encoding="utf-8"))
    for name, result in kept["benchmarks"].items():
        draw(FOLDER, name, medians(result["figures"]), *BARS.get(name, ("", "")))
    PAGE.write_text(page(kept), encoding="utf-8")
