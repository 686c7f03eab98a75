"""Names of PyTorch's are found in the sources of libraries, however they are written."""

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
