"""The golden files: one function for each, which computes with a framework everything that the file contains.

The cases are in the folders of the tests. The functions here run them with a framework, `tests/golden/record.py` writes PyTorch's answers
to files, and the tests compare torchlike's answers with these files. `make compare` writes the files of the installed PyTorch to another
folder, and lets the tests read them there instead of the committed ones.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

from tests._core import dtype_tables, overriding, printed
from tests.ao import quantized, static
from tests.dispatch import flags
from tests.distributed import rows as processes
from tests.distributions import lines as distribution_lines, rows as distributions
from tests.errors import snippets
from tests.func import levels
from tests.fx import graphs
from tests.jit import traced
from tests.library import dispatching, operators
from tests.nn import initialisers
from tests.nn.modules import layers, sequences
from tests.nn.utils import cases as nn_utils
from tests.numerics import complex_points
from tests.ops import lines, running
from tests.optim import algorithms, averages, schedules
from tests.programs import blocks, training, whole_scripts
from tests.random_streams import draws
from tests.sparse import expressions
from tests.testing import calls
from tests.utils import flops
from tests.utils.data import scenarios
from tests.vision.transforms import draws as transforms

__all__ = ["TABLES", "answers"]

Arrays: TypeAlias = "dict[str, np.ndarray]"


def copied(tensor: Any) -> np.ndarray:
    """Copies a tensor's elements, so that later steps do not change them."""
    return tensor.numpy().copy()


def under(prefix: str, arrays: dict[str, Any]) -> dict[str, Any]:
    return {f"{prefix}/{name}": array for name, array in arrays.items()}


def distributed(torch: ModuleType) -> dict[str, Any]:
    return processes.everything(torch.__name__)


def optim(torch: ModuleType) -> Arrays:
    arrays: Arrays = {}
    for name in algorithms.ALGORITHMS:
        for dtype in algorithms.DTYPES:
            arrays |= under(f"{name}/{dtype}", algorithms.run(torch, name, dtype, copied))
    for name in algorithms.SEARCHES:
        for dtype in algorithms.DTYPES:
            arrays |= under(f"LBFGS/{name}/{dtype}", algorithms.run_search(torch, name, dtype, copied))
    return arrays


def optim_words(torch: ModuleType) -> dict[str, Any]:
    return {
        "repr": {name: repr(algorithms.make(torch, name, [torch.ones(1, 1)])) for name in algorithms.ALGORITHMS},
        "averages": averages.everything(torch),
        "other_dtypes": algorithms.in_other_dtypes(torch),
        "schedules": schedules.everything(torch),
    }


def nn_layers(torch: ModuleType) -> Arrays:
    arrays: Arrays = {}
    for row in layers.LAYERS:
        arrays |= under(row.name, layers.run(torch, row, copied))
    return arrays


def nn_init(torch: ModuleType) -> Arrays:
    arrays = {}
    for name in initialisers.INITIALISERS:
        torch.manual_seed(layers.SEED)
        arrays[name] = copied(initialisers.fill(torch, name))
        arrays[f"{name}.next"] = torch.rand(1).numpy()  # shows how many random numbers were drawn
    return arrays


def sequence_arrays(torch: ModuleType) -> Arrays:
    arrays: Arrays = {}
    for row in sequences.ROWS:
        arrays |= under(row.name, sequences.run(torch, row, copied))
    return arrays


def distribution_answers(torch: ModuleType, kind: type) -> dict[str, Any]:
    """Returns the answers that are arrays, or those that are text."""
    every = distributions.everything(torch)
    answers = {f"{name}/{question}": answer for name, found in every.items() for question, answer in found.items()}
    return {key: answer for key, answer in answers.items() if isinstance(answer, kind)}


def distribution_words(torch: ModuleType) -> dict[str, Any]:
    said = {line: distribution_lines.said(torch, line) for line in distribution_lines.LINES}
    return {"words": distribution_answers(torch, str), "said": said}


# By the name of the file.
TABLES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "complex": complex_points.everything,
    "data": lambda torch: scenarios.everything(torch) | {"transforms": transforms.drawn(torch)},
    "dispatching": dispatching.everything,
    "distributed": distributed,
    "distributions": lambda torch: distribution_answers(torch, np.ndarray),
    "distribution_words": distribution_words,
    "dtypes": dtype_tables.everything,
    "flags": lambda torch: {line: flags.outcome(torch, line) for line in flags.rows()},
    "errors": lambda torch: {"errors": {line: snippets.failure(torch, line) for _, line in snippets.rows()}},
    "flops": flops.everything,
    "fx": graphs.everything,
    "levels": lambda torch: {"given": levels.everything(torch)},
    "lines": lambda torch: {
        file: {line: running.outcome(torch, line) for line in lines.every_line(file)} for file in lines.BY_FILE
    },
    "nn_init": nn_init,
    "nn_layers": nn_layers,
    "nn_words": lambda torch: {"repr": {row.name: repr(row.make(torch)) for row in layers.LAYERS}},
    "nn_utils": lambda torch: {name: case(torch) for name, case in nn_utils.CASES.items()},
    "operators": operators.everything,
    "optim": optim,
    "optim_words": optim_words,
    "overrides": overriding.everything,
    "printing": lambda torch: {"cases": list(printed.rows(torch))},
    "programs": blocks.everything,
    "quantization": quantized.everything,
    "static_quantization": static.everything,
    "rng": draws.everything,
    "scripts": whole_scripts.everything,
    "sequences": sequence_arrays,
    "sequence_words": lambda torch: {"said": {line: sequences.said(torch, line) for line in sequences.LINES}},
    "sparse": expressions.everything,
    "testing": lambda torch: {"said": {line: calls.said(torch, line) for line in calls.CALLS}},
    "traces": lambda torch: {"nodes": {name: traced.nodes(torch, name) for name in traced.calls()}},
    "training": training.everything,
}


def answers(name: str, torch: ModuleType) -> dict[str, Any]:
    """Returns what the golden file of that name contains if it is recorded now."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns about what the cases do on purpose
        return TABLES[name](torch)
