"""Records PyTorch's public names among its modules, after record_modules.py: `python tests/golden/record_names.py`, with PyTorch.

Also records the names of its operators, and the signatures of those for the CPU, which give a ``TorchDispatchMode`` its arguments.
"""

import bz2
import importlib
import json
import lzma
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from torchlike._ops.signatures import unpacked, written_forms

PACKAGE = Path(__file__).parents[2] / "torchlike"
MODULES = PACKAGE / "_alias" / "pytorch_modules.json.xz"
# One a line; a star marks operators composed of others. Of operators without one, the name of those in `torch.ops.aten`.
SIGNATURES = PACKAGE / "_ops" / "aten_signatures.txt.bz2"
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 3, "lp": 0, "pb": 0}]  # for text
FOREIGN = re.compile(
    "cudnn|miopen|mps|xnnpack|nnpack|_cufft|fbgemm|_cslt|_thnn|Dimname|semi_structured|_efficient_attention"
)
NAMESPACES = (
    "torch", "torch.Tensor", "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.nn.utils", "torch.nn.attention",
    "torch.nn.attention.flex_attention", "torch.nn.parallel", "torch.optim", "torch.optim.lr_scheduler", "torch.optim.swa_utils",
    "torch.autograd", "torch.autograd.forward_ad", "torch.autograd.functional", "torch.autograd.graph", "torch.autograd.profiler",
    "torch.func", "torch.amp", "torch.fft", "torch.linalg", "torch.masked", "torch.random", "torch.signal.windows", "torch.sparse",
    "torch.special", "torch.distributions", "torch.testing", "torch.utils.data", "torch.utils.checkpoint", "torch.serialization",
    "torch.hub", "torch.jit", "torch.compiler", "torch.profiler", "torch.multiprocessing", "torch.distributed", "torch.cuda",
    "torch.cuda.amp", "torch.backends", "torch.backends.cuda", "torch.accelerator", "torch.utils",
)  # fmt: skip
PACKAGES = (
    "torch",
    "torch.backends",
    "torch.distributed",
    "torch.utils",
)  # whose modules are imported by name: torch.onnx


def without_common_beginnings(lines: list[str]) -> Iterator[str]:
    """The lines, with a letter in the place of what a name has in common with the one before it: A for nothing, B for one letter."""
    before = ""
    for line in lines:
        star, line = line[: line.startswith("*")], line.lstrip("*")
        head = line.partition("(")[0]
        common = next((n for n in range(50) if head[: n + 1] != before[: n + 1] or n == len(head)), 50)
        yield f"{star}{chr(ord('A') + common)}{line[common:]}"
        before = head


def is_pytorchs(value: Any) -> bool:
    """Whether an object in a namespace of PyTorch is for its users: its own, no text, and not of its compiler in C++."""
    if isinstance(value, ModuleType):
        return value.__name__.startswith("torch.")
    if isinstance(value, (str, dict)) or "pybind11_type" in (type(value).__name__, type(type(value)).__name__):
        return False
    return (getattr(value, "__module__", None) or "torch").split(".")[0] in ("torch", "builtins")


def public(namespace: str) -> Iterator[str]:
    """Returns a namespace's own names: those it lists, or else all except those from ``torch`` and constants of its files."""
    holder: Any = torch.Tensor if namespace == "torch.Tensor" else importlib.import_module(namespace)
    listed = namespace != "torch" and getattr(holder, "__all__", None)
    found = {*(listed or dir(holder))} & {*dir(holder)}
    modules = {each.name for each in pkgutil.iter_modules(holder.__path__)} if namespace in PACKAGES else set()
    for name in sorted(found | modules):
        if name in modules and not hasattr(holder, name):
            if not name.startswith("_"):
                yield name
            continue
        value = getattr(holder, name)
        borrowed = (
            namespace != "torch" and value is getattr(torch, name, None) and isinstance(value, type) and not listed
        )
        constant = name.isupper() and "_" in name
        if not name.startswith("_") and not borrowed and not constant and is_pytorchs(value):
            yield name


def signatures() -> list[str]:
    """Returns the signatures of PyTorch's operators, or their names alone, ordered by name."""
    lines: list[tuple[str, str]] = []
    names: set[str] = set()
    for schema in torch._C._jit_get_all_schemas():
        whole = f"{schema.name}.{schema.overload_name}".removesuffix(".")
        if not schema.name.startswith("aten::"):
            continue
        names.add(schema.name)
        if FOREIGN.search(str(schema)):
            continue
        if torch._C._dispatch_has_kernel(whole):
            composed = torch._C._dispatch_has_kernel_for_dispatch_key(whole, "CompositeImplicitAutograd")
            lines.append((schema.name, "*" * composed + str(schema).removeprefix("aten::")))
    lines += [(name, name.removeprefix("aten::")) for name in names - {name for name, _ in lines}]
    return [line for _, line in sorted(lines, key=lambda line: line[0])]


if __name__ == "__main__":
    lines = list(signatures())
    forms = {head: form for line in lines for head, form in written_forms(line).items()}
    short = [
        line.partition("(")[0] + "("
        if "(" in line and forms.get(line.lstrip("*").partition("(")[0]) == line.lstrip("*")
        else line
        for line in lines
    ]
    SIGNATURES.write_bytes(bz2.compress(("\n".join(without_common_beginnings(short)) + "\n").encode("utf-8")))
    assert unpacked(SIGNATURES.read_bytes()) == lines
    found = {namespace: list(public(namespace)) for namespace in NAMESPACES}
    recorded = json.loads(lzma.decompress(MODULES.read_bytes()))
    recorded["public"] = {namespace: " ".join(names) for namespace, names in found.items()}
    recorded["version"] = torch.__version__.split("+")[0]
    MODULES.write_bytes(lzma.compress(json.dumps(recorded, separators=(",", ":")).encode(), filters=FILTERS))
    print(*(f"{namespace}: {len(names)} names" for namespace, names in found.items()), sep="\n")
