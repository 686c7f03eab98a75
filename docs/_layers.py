"""Writes dev/layers.svg: the layers of the package, from the import contracts in pyproject.toml. `python docs/_layers.py`."""

import textwrap
import tomllib
from pathlib import Path
from xml.sax.saxutils import escape

HERE = Path(__file__).parent
PICTURE = HERE / "dev" / "layers.svg"
CONTRACTS = HERE.parent / "pyproject.toml"

# What each layer is for, by the first of its modules.
PURPOSE = {
    "__main__": "python -m torchlike",
    "_runner": "runs a program as Python does; puts the namespace `torch` and Tensor's methods together",
    "_alias": "`import torch` means torchlike: finder, stand-ins for what is missing, pickles, processes",
    "onnx": "torch.onnx, over jax2onnx",
    "vision": "torchvision: datasets, transforms, models, ops, drawing",
    "hub": "what stands on nn: downloaded weights, function transforms, distributions, assert_close",
    "serialization": "torch.save and torch.load, in PyTorch's format",
    "optim": "optimizers over optax, schedules; what torch.cuda offers",
    "_VF": "functions of torch with PyTorch's inner arguments, for the programs that call these",
    "nn": "modules over flax NNX, functions, initializers; autocast and the gradient scaler",
    "distributed": "process groups",
    "utils": "DataLoader, checkpoint, TensorBoard; profiles",
    "_ops": "torch.ops: operators by their inner names, and those that programs define",
    "_utils": "backward and grad, modes, Function; namespaces that hand operators on; tensors to JAX arrays and back",
    "ops": "every operator, declared once, in folders that are layers too:",
    "dispatch": "from a call to a recorded operation: arguments, promotion, autocast, derivatives, in-place writes",
    "numerics": "PyTorch's numbers on JAX arrays; PyTorch's random streams on NumPy",
    "_core": "Tensor, storage, views, dtypes, devices, autograd nodes, printing",
    "engine": "records operations, compiles and runs them; knows JAX and nothing of tensors",
}
GROUPS = {
    "engine": "low",
    "_core": "low",
    "numerics": "low",
    "dispatch": "middle",
    "ops": "middle",
    "_ops": "middle",
    "_utils": "middle",
}
WIDTH, LEFT, PAD, NAME, LINE = 800, 44, 10, 17, 15
HEAD = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-labelledby="title">
<title id="title">The layers of torchlike. Each imports only from those below it.</title>
<style>
  text {{ font-family: system-ui, sans-serif; font-size: 12px; fill: #333; }}
  .name {{ font-family: ui-monospace, monospace; font-size: 13px; font-weight: bold; fill: #111; }}
  rect {{ stroke: #888; fill: #f4f4f4; }}
  .low {{ fill: #dbe9f6; }} .middle {{ fill: #fde8d4; }}
  path {{ stroke: #888; fill: none; stroke-width: 1.5; }}
  @media (prefers-color-scheme: dark) {{
    text {{ fill: #ccc; }} .name {{ fill: #fff; }} rect {{ stroke: #777; fill: #333; }}
    .low {{ fill: #1f3a55; }} .middle {{ fill: #553a1f; }}
  }}
</style>
"""


def layers(container: str) -> list[list[str]]:
    """The layers of a package as its contract lists them, the highest first."""
    contracts = tomllib.loads(CONTRACTS.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    (contract,) = [each for each in contracts if each["type"] == "layers" and each["containers"] == [container]]
    return [[part.strip("() ") for part in layer.split("|")] for layer in contract["layers"]]


def picture() -> str:
    """The drawing, as SVG."""
    y, rows = 4, []
    for names in layers("torchlike"):
        purpose = textwrap.wrap(PURPOSE[names[0]], 110)
        if names == ["ops"]:
            purpose += ["  >  ".join(", ".join(folders) for folders in layers("torchlike.ops"))]
        wrapped = textwrap.wrap("   ".join(names), 88, break_on_hyphens=False)
        height = 2 * PAD + NAME * len(wrapped) + LINE * len(purpose) - 5
        rows.append(
            f'<rect class="{GROUPS.get(names[0], "high")}" x="{LEFT}" y="{y}" width="{WIDTH - LEFT - 4}" height="{height}" rx="5"/>'
        )
        baseline = y + PAD
        for kind, lines, step in (("name", wrapped, NAME), ("", purpose, LINE)):
            for line in lines:
                baseline += step
                rows.append(
                    f'<text class="{kind}" x="{LEFT + 14}" y="{baseline - 5}" xml:space="preserve">{escape(line)}</text>'
                )
        y += height + 6
    rows.append(f'<path d="M22 8 V{y - 16} M16 {y - 26} L22 {y - 14} L28 {y - 26}"/>')
    rows.append(f'<text transform="translate(14 {y // 2}) rotate(-90)" text-anchor="middle">imports</text>')
    return HEAD.format(width=WIDTH, height=y) + "\n".join(rows) + "\n</svg>\n"


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
