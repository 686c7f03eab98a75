"""Runs the parts one after the other, each within its share of the time, and prints a table of what was found."""

from __future__ import annotations

import argparse
import json
import os
import time
import traceback
from pathlib import Path
from typing import Any

from . import __doc__ as text, device, workers

# Seconds of nine minutes. What a part leaves over goes to the others.
SHARES = {"operators": 90, "steps": 370, "rest": 60}


class Report:
    """What has been found so far, on disk after each entry."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.found: dict[str, Any] = {}

    def add(self, part: str, name: str, figures: Any) -> None:
        self.found.setdefault(part, {})[name] = figures
        (self.folder / "figures.json").write_text(json.dumps(self.found, indent=1) + "\n", encoding="utf-8")
        print(f"[{time.monotonic() - BEGUN:5.0f} s] {part} {name}: {_short(figures)}", flush=True)


BEGUN = time.monotonic()


def _short(figures: Any) -> str:
    if not isinstance(figures, dict):
        return str(figures)[:200]
    words = []
    for name, value in figures.items():
        if isinstance(value, dict) and "error" in value:
            value = value["error"].splitlines()[0][:150]
        elif isinstance(value, dict):
            value = " ".join(f"{key} {number:g}" for key, number in value.items())
        elif isinstance(value, list):
            value = len(value)
        words.append(f"{name}: {value}")
    return "; ".join(words)


def about() -> dict[str, str]:
    """Device and versions."""
    import importlib.metadata
    import platform

    found = {
        "device": str(device.for_jax().device_kind),
        "python": platform.python_version(),
        "cores": str(os.cpu_count()),
    }
    for name in ("jax", "jaxlib", "flax", "optax", "numpy", "torch"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "absent"
    return found


def operators(report: Report, seconds: float, _: int) -> None:
    from .operators import run

    report.add("operators", "calls", run(report.folder, seconds))


def rest(report: Report, seconds: float, rounds: int) -> None:
    from .rest import KINDS, run

    found = run(rounds, time.monotonic() + seconds)
    for kind in (*KINDS, "attention, MiB"):
        of_kind = {engine: figures.get(kind, figures.get("error")) for engine, figures in found.items()}
        report.add("rest", kind, {engine: value for engine, value in of_kind.items() if value is not None})


def steps(report: Report, seconds: float, rounds: int) -> None:
    from .steps import in_order, run, share

    names = in_order()
    end = time.monotonic() + seconds
    for number, name in enumerate(names):
        now = time.monotonic()
        own = share(names[number:], end - now)
        report.add("steps", name, run(name, rounds, now + 0.85 * own, now + own) if own > 2 else "no time was left")


def table(found: dict[str, Any]) -> list[str]:
    """Milliseconds and MiB, and the ratios to the other engines."""
    lines = []
    for name, figures in found.get("steps", {}).items():
        if not isinstance(figures, dict):
            lines.append(f"{name:26s} {figures}")
            continue
        for kind in dict.fromkeys(key.partition(", ")[2] for key in figures):
            same = {key.partition(", ")[0]: each for key, each in figures.items() if key.partition(", ")[2] == kind}
            own = same.pop("torchlike")
            others = "  ".join(f"{engine} {_beside(own, each)}" for engine, each in same.items())
            lines.append(f"{name:10s} {kind:9s} torchlike {_alone(own)}  {others}")
    for kind, of_kind in found.get("rest", {}).items():
        words = [
            f"{engine} {f'{value:.3f}' if isinstance(value, float) else 'failed'}" for engine, value in of_kind.items()
        ]
        lines.append(f"{kind:26s} {'  '.join(words)}")
    if "operators" in found:
        lines.append(f"operators: {_short(found['operators']['calls'])}")
    return lines


def _alone(figures: dict[str, Any]) -> str:
    return f"{figures['ms']:9.3f} ms {figures['MiB']:.0f} MiB" if "ms" in figures else _without(figures)


def _beside(own: dict[str, Any], other: dict[str, Any]) -> str:
    ratio = f"({own['ms'] / other['ms']:.2f})" if "ms" in own and "ms" in other else ""
    return f"{other['ms']:.3f} {ratio} {other['MiB']:.0f}" if "ms" in other else _without(other)


def _without(figures: dict[str, Any]) -> str:
    """Why there are no figures, in a few words."""
    return "not ready in time" if figures["error"].startswith((workers.LATE, workers.NO_TIME)) else "failed"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.accelerator", description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=9)
    parser.add_argument("--parts", default="operators,steps,rest")
    parser.add_argument("--models", help="some of the models, with commas between")
    parser.add_argument("--engines", help="some of torchlike, jax, pytorch and 'pytorch compiled', with commas between")
    parser.add_argument("--precisions", help="float32 or bfloat16 alone")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path(os.environ.get("OUT", "build/accelerator")))
    parser.add_argument("--made-up", action="store_true")
    args = parser.parse_args()
    for name in ("models", "engines", "precisions"):
        device.choose(name, getattr(args, name))
    if args.made_up:
        device.make_up()
    parts = args.parts.split(",")
    report = Report(args.folder)
    ways = {"operators": operators, "steps": steps, "rest": rest}
    end = BEGUN + 60 * args.minutes - 10
    for number, part in enumerate(parts):
        left = end - time.monotonic()
        share = left * SHARES[part] / sum(SHARES[each] for each in parts[number:])
        try:
            ways[part](report, share, args.rounds)
        except Exception:
            report.add(part, "failed", traceback.format_exc()[-2000:])
    report.add("about", "machine", about())
    lines = table(report.found)
    (args.folder / "table.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
