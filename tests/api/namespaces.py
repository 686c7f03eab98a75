"""The public namespaces and their names, over which the tests of this folder iterate."""

import runpy
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"
HOOKS = runpy.run_path(str(DOCS / "_hooks.py"))  # the API pages decide what is public
public_names = HOOKS["names_in"]

# As PyTorch (and torchvision, under `vision`) names them, and the page that documents each.
NAMESPACES = {
    "torchlike": ["torch", "tensor", "autograd", "engine", "amp"],
    "torchlike.amp": ["amp"],
    "torchlike.autograd": ["autograd"],
    "torchlike.autograd.forward_ad": ["autograd"],
    "torchlike.autograd.functional": ["autograd"],
    "torchlike.compiler": ["jit"],
    "torchlike.cuda": ["cuda"],
    "torchlike.cuda.amp": ["cuda"],
    "torchlike.distributed": ["distributed"],
    "torchlike.distributions": ["distributions"],
    "torchlike.export": ["library"],
    "torchlike.fft": ["fft"],
    "torchlike.func": ["func"],
    "torchlike.fx": ["fx"],
    "torchlike.jit": ["jit"],
    "torchlike.library": ["library"],
    "torchlike.linalg": ["linalg"],
    "torchlike.masked": ["masked"],
    "torchlike.nested": ["nested"],
    "torchlike.multiprocessing": ["multiprocessing"],
    "torchlike.nn": ["nn"],
    "torchlike.nn.attention": ["functional"],
    "torchlike.nn.attention.bias": ["functional"],
    "torchlike.nn.attention.flex_attention": ["functional"],
    "torchlike.nn.functional": ["functional"],
    "torchlike.nn.init": ["nn"],
    "torchlike.nn.utils": ["nn"],
    "torchlike.nn.utils.parametrizations": ["nn"],
    "torchlike.nn.utils.parametrize": ["nn"],
    "torchlike.nn.utils.prune": ["nn"],
    "torchlike.optim": ["optim"],
    "torchlike.overrides": ["overrides"],
    "torchlike.optim.swa_utils": ["optim"],
    "torchlike.autograd.profiler": ["profiler"],
    "torchlike.profiler": ["profiler"],
    "torchlike.signal.windows": ["signal"],
    "torchlike.special": ["special"],
    "torchlike.testing": ["testing"],
    "torchlike.futures": ["utils"],
    "torchlike.utils.benchmark": ["utils"],
    "torchlike.utils.data": ["data"],
    "torchlike.utils.tensorboard": ["tensorboard"],
    "torchlike.serialization": ["serialization"],
    "torchlike.safetensors": ["serialization"],
    "torchlike.hub": ["serialization"],
    "torchlike.vision.models": ["vision"],
    "torchlike.vision.datasets": ["vision"],
    "torchlike.vision.datasets.utils": ["vision"],
    "torchlike.vision.transforms": ["vision"],
    "torchlike.vision.transforms.functional": ["vision"],
    "torchlike.vision.transforms.v2": ["vision"],
    "torchlike.vision.transforms.v2.functional": ["vision"],
    "torchlike.vision.tv_tensors": ["vision"],
    "torchlike.vision.ops": ["vision"],
    "torchlike.vision.utils": ["vision"],
    "torchlike.vision.io": ["vision"],
}


def public_objects() -> list[tuple[str, str, Any]]:
    """Returns (namespace, name, object) of every public function and class, each once."""
    found: dict[int, tuple[str, str, Any]] = {}
    for namespace in NAMESPACES:
        for name, value in public_names(namespace).items():
            found.setdefault(id(value), (namespace, name, value))
    return list(found.values())
