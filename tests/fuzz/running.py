"""Runs a program and collects the rows that it writes: plain numbers and texts, in the same form for both libraries."""

import contextlib
import copy
import importlib
import io
import math
import os
import pickle
import tempfile
import threading
import warnings
from pathlib import Path
from unittest import mock

import numpy as np

from .helpers import helpers
from .interrupts import Interrupts, survivor

SECOND = "backward a second time"


def plain(x):
    """Converts a value to nested lists of numbers and texts, which are compared."""
    if isinstance(x, (bool, str)) or x is None:
        return x
    if isinstance(x, (int, float)):
        return float(x) if math.isfinite(x) else str(x)
    if isinstance(x, dict):
        return [plain(list(x.items()))]
    if isinstance(x, (list, tuple)):
        return [plain(e) for e in x]
    if hasattr(x, "detach"):
        return [str(x.dtype).rpartition(".")[2], plain(x.detach().tolist())]
    return plain(x.tolist()) if hasattr(x, "tolist") else type(x).__name__


class Rows:
    """Collects the rows that a run writes.

    Args:
        words: Keep the messages of exceptions too, for a person to read.
    """

    def __init__(self, words: bool = False) -> None:
        self.rows, self.kept, self.words, self._quiet = [], [], words, False

    def out(self, *values):
        if not self._quiet:
            self.rows.append(self._safe(values))

    def late(self, *values):
        if not self._quiet:
            self.kept.append(values)

    @contextlib.contextmanager
    def quiet(self):
        self._quiet = True
        try:
            yield
        finally:
            self._quiet = False

    @contextlib.contextmanager
    def guard(self, number):
        try:
            yield
        except Exception as error:
            self.raised(number, error)

    def raised(self, number, error):
        name = SECOND if "second time" in str(error) else type(error).__name__
        self.rows.append([number, name, str(error)[:200]] if self.words else [number, name])

    def finish(self):
        self.rows += [["late", self._safe(values)] for values in self.kept]
        return self.rows

    @staticmethod
    def _safe(values):
        try:
            return plain(list(values))
        except Exception as error:
            return "E " + type(error).__name__


@contextlib.contextmanager
def saving_copies(torch):
    """While the graph of PyTorch saves copies, also within its transforms, which refuse hooks of saved tensors otherwise."""
    with (
        mock.patch.object(torch._C._autograd, "_saved_tensors_hooks_disable", return_value=None),
        torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t),
    ):
        yield


def run(module, text, words=False, uninterrupted=False, copies=False):
    """Returns the rows that a program writes.

    Args:
        module: ``"torch"`` or ``"torchlike"``.
        text: The text of the program.
        uninterrupted: Interrupt no step; with PyTorch no step is ever interrupted.
        copies: Let the graph save copies, so that it does not see writes through ``data`` after the forward pass.
    """
    torch = importlib.import_module(module)
    parts = {
        name: importlib.import_module(f"{module}.{name}")
        for name in ("nn", "nn.functional", "utils.checkpoint", "nn.utils.prune")
    }
    rows = Rows(words)
    interrupts = Interrupts(None if module == "torch" or uninterrupted else Path(str(torch.__file__)).parent)
    given = helpers(torch)
    space = given | {
        "torch": torch, "nn": parts["nn"], "F": parts["nn.functional"], "ck": parts["utils.checkpoint"], "np": np, "out": rows.out,
        "late": rows.late, "guard": rows.guard, "interrupts": interrupts, "survive": survivor(torch, interrupts, rows.quiet),
        "copy": copy, "io": io, "pickle": pickle, "threading": threading,
    }  # fmt: skip
    exec(compile(text, "program", "exec"), space)
    torch.manual_seed(0)
    with (
        tempfile.TemporaryDirectory() as folder,
        open(os.devnull, "w") as null,
        warnings.catch_warnings(),
        given["worker"],
        saving_copies(torch) if copies else contextlib.nullcontext(),
    ):
        warnings.simplefilter("ignore")
        space |= {"path": folder + "/s.pt", "null": null}
        try:
            space["program"]()
        except Exception as error:
            rows.raised("end", error)
        return rows.finish()
