"""Draws the plots of the page of benchmarks, for light and for dark pages. It needs matplotlib: `pip install torchlike[plots]`."""

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")  # no display is needed
from matplotlib import pyplot as plt

Times = dict[str, dict[str, float]]
SCHEMES = {
    "light": {"ink": "#333333", "grid": "#dddddd", "torchlike": "#d9480f", "pytorch": "#868e96", "jax": "#1971c2"},
    "dark": {"ink": "#cccccc", "grid": "#444444", "torchlike": "#ff922b", "pytorch": "#adb5bd", "jax": "#4dabf7"},
}


def draw(folder: Path, name: str, times: Times, title: str, one: str) -> None:
    """Writes the two pictures of a benchmark: bars as multiples of the engine ``one``, or curves where no engine is named."""
    for scheme, colours in SCHEMES.items():
        with mpl.rc_context(styled(colours)):
            figure = bars(times, title, one, colours) if one else curves(times, colours)
            file = folder / f"{name}-{scheme}.svg"
            figure.savefig(file, metadata={"Date": None}, bbox_inches="tight")
            plt.close(figure)
            # matplotlib ends lines with spaces
            lines = file.read_text(encoding="utf-8").splitlines()
            file.write_text("\n".join(line.rstrip() for line in lines) + "\n", encoding="utf-8")


def styled(scheme: dict[str, str]) -> dict[str, Any]:
    """Matplotlib's settings for the page's background, with the same file for the same figures."""
    ink = scheme["ink"]
    return {
        "svg.fonttype": "none", "svg.hashsalt": "torchlike", "savefig.transparent": True, "font.family": "sans-serif",
        "text.color": ink, "axes.labelcolor": ink, "axes.edgecolor": ink, "xtick.color": ink, "ytick.color": ink,
        "axes.spines.top": False, "axes.spines.right": False, "grid.color": scheme["grid"], "axes.grid": True,
        "axes.axisbelow": True, "legend.frameon": False, "font.size": 9,
    }  # fmt: skip


def bars(times: Times, title: str, one: str, colours: dict[str, str]) -> Any:
    """One bar for each case and engine, as multiples of one engine."""
    cases = list(times)
    names = [engine for engine in next(iter(times.values())) if engine != one]
    figure, axes = plt.subplots(figsize=(7.5, 0.32 * len(cases) * max(len(names), 1) + 1))
    for place, engine in enumerate(names):
        height = 0.8 / len(names)
        where = [case + (place - (len(names) - 1) / 2) * height for case in range(len(cases))]
        wide = [times[case][engine] / times[case][one] for case in cases]
        colour = colours[engine.partition(",")[0]]
        drawn = axes.barh(where, wide, 0.9 * height, label=engine, color=colour, alpha=0.5 if "," in engine else 1)
        axes.bar_label(drawn, [f" {w:.2f}" for w in wide])
    if max(t[engine] / t[one] for t in times.values() for engine in names) > 10:
        axes.set_xscale("log")
    axes.axvline(1, color=colours["ink"], linewidth=1)
    axes.set_yticks(range(len(cases)), cases)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(f"multiples of {one}")
    axes.set_title(title, loc="left")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def curves(times: Times, colours: dict[str, str]) -> Any:
    """One plot for each thing that grows, with both axes logarithmic."""
    kinds: dict[str, dict[int, dict[str, float]]] = {}
    for case, engines in times.items():
        kind, _, size = case.rpartition(" ")
        kinds.setdefault(kind, {})[int(size)] = engines
    figure, grid = plt.subplots(2, 3, figsize=(9, 5), layout="constrained")
    for axes, (kind, sizes) in zip(grid.flat, kinds.items(), strict=False):
        for engine in next(iter(sizes.values())):
            points = [each[engine] for each in sizes.values()]
            axes.plot(list(sizes), points, marker="o", markersize=3, label=engine, color=colours[engine])
        axes.set(title=kind, xscale="log", yscale="log")
        if kind == "recording":
            axes.set(yscale="linear", ylim=(0, None))
    grid.flat[0].legend()
    return figure
