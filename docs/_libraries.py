"""Writes libraries.md: the libraries built on PyTorch that are tested, and how to install each without PyTorch.

python docs/_libraries.py             writes the page, from the programs in tests/libraries and the recorded requirements
python docs/_libraries.py --record    records the requirements, in the environment of `make libraries`, and writes the page
"""

import ast
import importlib.metadata as metadata
import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE, DATA = HERE / "libraries.md", HERE / "libraries.json"
LIBRARIES = HERE.parent / "tests" / "libraries"
# What torchlike replaces or already requires.
NOT_NEEDED = {"torch", "triton", "torchvision", "numpy", "jax", "jaxlib", "flax", "optax"}

HEAD = """# Libraries

Libraries built on PyTorch run unmodified: with `python -m torchlike script.py`, `torchlike.alias()` or `%load_ext torchlike`, their
`import torch` means torchlike too. For each of the {count} libraries below, `make libraries` runs a program that uses it as its users do,
and compares the numbers that the program prints with those that it printed with PyTorch.

`docs/_libraries.py` writes this page; do not edit it.

## Install one

A library requires PyTorch, so `pip install` would install it. With `--no-deps` pip installs no requirements at all. The last column of the
table below names the requirements other than PyTorch; install them as usual, except those that require PyTorch themselves (accelerate,
transformers, gpytorch and others of this table), which need `--no-deps` too. For example:

```
pip install torchlike
pip install --no-deps timm
pip install huggingface_hub pyyaml safetensors
python -m torchlike train.py
```

If you need many libraries, it is easier to make pip believe that PyTorch is installed. A folder with this `pyproject.toml` is an empty
package called `torch`. Run `pip install ./folder` first, and then install the libraries as usual:

```
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "torch"
version = "2.13.0"
[tool.hatch.build.targets.wheel]
bypass-selection = true
```

## The libraries that are tested

| library | version | what the program does | requirements other than PyTorch |
|---|---|---|---|
"""

TAIL = """
Some libraries compile code of their own against PyTorch (flash-attn, bitsandbytes, xformers, torchaudio). They cannot load that code:
`torch.ops.load_library` raises an OSError, after which libraries that also have an implementation in Python use it. torchaudio
does so only if the compiled files are not there: remove the files `*.so` in its folder `lib`, and its transforms and filters work.

torchvision's operators are torchlike's own: with torchvision installed, `torch.ops.torchvision` and `torch.ops.image` are there (`nms`,
`roi_align`, `deform_conv2d`, `decode_image` and others, with gradients), so its detection and segmentation models work. Rotated boxes and
quantized tensors raise an error. Where torchvision is not installed, `import torchvision` gives what torchlike has of it.
"""


def versions() -> dict[str, str]:
    """The libraries of the environment, by their names on PyPI."""
    lines = (LIBRARIES / "requirements.txt").read_text("utf-8").splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return dict(pairs)


def programs() -> dict[str, list[str]]:
    """What the programs do, by library: a program's docstring begins with the library's name."""
    doings: dict[str, list[str]] = {}
    for path in sorted((LIBRARIES / "programs").glob("*.py")):
        library, _, doing = (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").partition(": ")
        doings.setdefault(_key(library.split(".")[0]), []).append(doing.rstrip("."))
    return doings


def _key(name: str) -> str:
    """One name for `pyro` and `pyro-ppl`, `torch_geometric` and `torch-geometric`."""
    short = name.lower().replace("_", "-")
    return {"pyro-ppl": "pyro", "pytorch-ignite": "ignite", "open-clip-torch": "open-clip"}.get(short, short)


def needs(name: str) -> list[str]:
    """The requirements of a library other than PyTorch, without its extras."""
    from packaging.requirements import Requirement  # which some of the libraries bring along

    plain = [requirement for requirement in map(Requirement, metadata.requires(name) or []) if _counts(requirement)]
    names = {requirement.name.lower().replace("_", "-") for requirement in plain}
    return sorted(names - NOT_NEEDED)


def _counts(requirement: Any) -> bool:
    """Whether it is one of this Python's, and of no extra."""
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})


def page() -> str:
    recorded, doings = json.loads(DATA.read_text("utf-8")), programs()
    rows = []
    for name, version in sorted(versions().items(), key=lambda pair: pair[0].lower()):
        doing = "; ".join(doings[_key(name)])
        packages = ", ".join(f"`{each}`" for each in recorded[name]) or "nothing"
        rows.append(f"| {name} | {version} | {doing} | {packages} |\n")
    return HEAD.replace("{count}", str(len(rows))) + "".join(rows) + TAIL


if __name__ == "__main__":
    if "--record" in sys.argv:
        DATA.write_text(json.dumps({name: needs(name) for name in versions()}, indent=1) + "\n", "utf-8")
    PAGE.write_text(page(), "utf-8")
