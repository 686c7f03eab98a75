"""Writes libraries.md: the libraries built on PyTorch that are run, and how each is installed without PyTorch.

python docs/_libraries.py             the page, from the programs in tests/libraries and what was recorded of the libraries
python docs/_libraries.py --record    records what they need, in the environment of `make libraries`, and writes the page
"""

import ast
import importlib.metadata as metadata
import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
PAGE, DATA = HERE / "libraries.md", HERE / "libraries.json"
LIBRARIES = HERE.parent / "tests" / "libraries"
# What torchlike brings, or stands in for.
NOT_NEEDED = {"torch", "triton", "torchvision", "numpy", "jax", "jaxlib", "flax", "optax"}

HEAD = """# Libraries

Libraries built on PyTorch run unmodified: `python -m torchlike script.py`, `torchlike.alias()` or `%load_ext torchlike` makes
`import torch` mean torchlike for them too. The {count} below are run, each in a program that uses it in earnest, and the numbers it
prints are compared with those that PyTorch printed (`make libraries` does it again).

Written by `docs/_libraries.py`; not to be edited.

## Install one

A library names PyTorch as a requirement, and `pip install` would fetch it. `--no-deps` leaves all requirements out; those that the library
needs beside PyTorch are named below; those of them that build on PyTorch themselves (accelerate, transformers, gpytorch and others of this
table) are installed in the same way. For example:

```
pip install torchlike
pip install --no-deps timm
pip install huggingface_hub pyyaml safetensors
python -m torchlike train.py
```

With many libraries it is easier to tell pip that PyTorch is there. A folder with this `pyproject.toml` is an empty package of its name;
`pip install ./folder` comes first, and everything else as usual:

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

## Those that are run

| library | version | what the program does | needs beside PyTorch |
|---|---|---|---|
"""

TAIL = """
A library that compiles code of its own against PyTorch (torchvision's operators, flash-attn, bitsandbytes, xformers) cannot load that part:
`torch.ops.load_library` raises an OSError, and libraries that have a way in Python take it. torchlike brings torchvision's operators itself
where torchvision is not installed.
"""


def versions() -> dict[str, str]:
    """The libraries of the environment, by their names on PyPI."""
    lines = (LIBRARIES / "requirements.txt").read_text("utf-8").splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return dict(pairs)


def programs() -> dict[str, list[str]]:
    """What the programs do, by library as it calls itself in the first word of a program."""
    doings: dict[str, list[str]] = {}
    for path in sorted((LIBRARIES / "programs").glob("*.py")):
        library, _, doing = (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").partition(": ")
        doings.setdefault(_key(library.split(".")[0]), []).append(doing.rstrip("."))
    return doings


def _key(name: str) -> str:
    """One name for `pyro` and `pyro-ppl`, `torch_geometric` and `torch-geometric`."""
    short = name.lower().replace("_", "-")
    return {"pyro-ppl": "pyro", "pytorch-ignite": "ignite"}.get(short, short)


def needs(name: str) -> list[str]:
    """What a library requires beside PyTorch, without its extras."""
    plain = [text for text in metadata.requires(name) or [] if ";" not in text or "extra" not in text.partition(";")[2]]
    names = {re.split(r"[ ;<>=!~\[(]", text)[0].lower().replace("_", "-") for text in plain}
    return sorted(names - NOT_NEEDED)


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
