"""Names of PyTorch's are found in the sources of libraries, however they are written."""

import subprocess
import sys

import pytest

from tests.libraries.names import names_in

pytestmark = pytest.mark.recorded

SOURCE = """
import torch
import torch.nn.functional as F
from torch import nn as layers
from torch.utils._contextlib import context_decorator as decorate
from .torch import nothing
import numpy as np

class Model(layers.Module):
    def forward(self, x):
        return torch._C._is_alias_of(F.relu(x), np.ones(2)) or self.torch.no
"""


def test_names_are_found_by_what_they_stand_for():
    assert names_in(SOURCE) == {
        "torch", "torch.nn.functional", "torch.nn", "torch.utils._contextlib.context_decorator", "torch.nn.Module",
        "torch._C._is_alias_of", "torch._C", "torch.nn.functional.relu",
    }  # fmt: skip
    assert names_in("def f(:") == set()


def test_names_that_libraries_use_are_all_there():
    """A library that imports one of them fails as a whole if it is not there, be it never used. Asked in a process of its own."""
    program = (
        "import sys, warnings; warnings.simplefilter('ignore'); from tests.libraries.names import INNER_NAMES, ask\n"
        "for line in INNER_NAMES.read_text().splitlines():\n"
        "    module, *names = line.split()\n"
        "    for name in names:\n"
        "        try: ask(f'{module}.{name}')\n"
        "        except (AttributeError, ImportError): print(f'{module}.{name}')\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "torchlike", "-c", program], capture_output=True, text=True, check=True
    )
    # lightning reads this one where it ends a process group: a table of all groups with their stores, which torchlike does not keep.
    assert done.stdout.split() == ["torch.distributed.distributed_c10d._pg_map"]
