"""A pytest plugin that runs one of PyTorch's test files by PyTorch or by torchlike, and writes a line of JSON for each test.

`run.py` gives `LIBRARY` (torch or torchlike), `ROWS` (the file that gets the lines), `ONLY` (a file with the tests to run), `SECONDS`,
after which no test begins, and `LIMIT`, which a test may take. Tests run in the order of a hash of their names, so that a run that ends
early is a random sample.
"""

from __future__ import annotations

import contextlib
import faulthandler
import hashlib
import importlib
import json
import os
import threading
import time
import traceback
from pathlib import Path
from typing import Any

import pytest

BY_TORCHLIKE = os.environ["LIBRARY"] == "torchlike"
ROWS, ONLY = Path(os.environ["ROWS"]), os.environ.get("ONLY")
HANGS = int(os.environ["LIMIT"]) + 10  # seconds: what the signal could not end by then ends with the process
# What runs on other devices, lazily, or twice for PyTorch's own reference implementations.
LEFT_OUT = ("LAZY", "META", "MPS", "CUDA::", "_refs_")

if BY_TORCHLIKE:
    from tests.torch_tests import stand_in

    stand_in.begin()
import torch  # noqa: E402

running: list[Any] = [None, 0.0]
end = [0.0]  # when no test begins any more


def _follow_2_13() -> None:
    """Gives the harness of 2.13 what the tests of 2.6 know by another name; for both libraries."""
    of: Any = {name: importlib.import_module(f"torch.testing._internal.{name}") for name in (
        "common_cuda", "common_mkldnn", "common_methods_invocations", "common_nn")}  # fmt: skip
    of["common_cuda"].tf32_is_not_fp32 = lambda: False
    of["common_mkldnn"].bf32_on_and_off = lambda *args, **kwargs: lambda test: test
    of["common_nn"].new_module_tests = of["common_nn"].get_new_module_tests()
    methods = of["common_methods_invocations"]
    methods.binary_ufuncs_and_refs = tuple(op for op in methods.op_db if isinstance(op, methods.BinaryUfuncInfo))


_follow_2_13()


def write(**row: object) -> None:
    with ROWS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def name_of(item: Any) -> str:
    return item.nodeid.rpartition("/")[2]


def order(name: str) -> str:
    return hashlib.sha1(name.encode()).hexdigest()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[Any]) -> None:
    end[0] = time.time() + float(
        os.environ["SECONDS"]
    )  # from here on, since the harness takes half a minute to be imported
    done = {json.loads(line).get("id") for line in ROWS.read_text("utf-8").splitlines()} if ROWS.exists() else set()
    wanted = None if ONLY is None else set(Path(ONLY).read_text("utf-8").splitlines())
    chosen = {name_of(item): item for item in items if not any(word in item.nodeid for word in LEFT_OUT)}
    items[:] = [
        item for name, item in sorted(chosen.items(), key=lambda pair: order(pair[0]))
        if name not in done and (wanted is None or name in wanted)
    ]  # fmt: skip
    if BY_TORCHLIKE:  # a test of FX is for functions written in C alone, which torchlike's are not
        import types

        for module in {item.module for item in items if item.module.__name__ == "test_fx"}:
            both = {**vars(types), "BuiltinFunctionType": (types.BuiltinFunctionType, types.FunctionType)}
            module.types = types.SimpleNamespace(**both)


def _watch() -> None:
    while True:
        time.sleep(1)
        name, since = running
        if name is not None and time.time() - since > HANGS:
            faulthandler.dump_traceback(all_threads=True)
            write(id=name, outcome="failed", type="Timeout", message="no signal could end it", where=[], seconds=HANGS)
            os._exit(78)


threading.Thread(target=_watch, daemon=True).start()


def _clean() -> None:
    """Takes back what a test that failed has left switched, so that it does not fail those after it."""
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)
    torch.use_deterministic_algorithms(False)
    torch.set_default_device(None)
    if not BY_TORCHLIKE:
        return
    from torchlike.autograd import graph
    from torchlike.nn.modules.module import everywhere

    with contextlib.suppress(Exception):  # an error that is raised late belongs to the test that caused it
        (torch.zeros(1) + 1).item()
    for name in [name for kind in type(everywhere).__mro__ for name in getattr(kind, "__slots__", ())] + list(
        getattr(everywhere, "__dict__", ())
    ):
        value = getattr(everywhere, name)
        if isinstance(value, (dict, set)):
            value.clear()
    everywhere.full_backward = None
    if graph.modes.saved_tensors_hooks:
        graph.modes.saved_tensors_hooks = ()
        graph.modes.update()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: Any) -> Any:
    if time.time() > end[0]:
        pytest.exit("time is up", 77)
    name, item.rows = name_of(item), []
    write(begins=name)
    began = time.time()
    running[:] = [name, began]
    result = yield
    running[:] = [None, 0.0]
    _clean()
    failed = [row for row in item.rows if row["outcome"] == "failed"]
    called = [row for row in item.rows if row["when"] == "call"]
    row = (failed or called or item.rows[-1:] or [{"outcome": "none"}])[0]
    write(id=name, **row, seconds=round(time.time() - began, 3))
    if row.get("type") == "Timeout" and BY_TORCHLIKE:
        pytest.exit("a new process", 78)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Any:
    report = yield
    row: dict[str, object] = {"outcome": report.outcome, "when": report.when}
    error = None if call.excinfo is None else call.excinfo.value
    if hasattr(report, "wasxfail"):
        row["expected"] = False
    if error is not None and report.outcome == "skipped":
        row["message"] = str(error)[:200]
    if error is not None and report.outcome == "failed":
        first = error
        while first.__cause__ is not None:
            first = first.__cause__
        lasted = "Timeout" in str(error)[:40]
        frames = traceback.extract_tb(first.__traceback__)
        row |= {
            "type": "Timeout" if lasted else type(error).__name__,
            "message": str(error).partition("To execute this test")[0][:1500],
            "cause": "" if first is error else f"{type(first).__name__}: {first}"[:800],
            "where": [
                f"{Path(f.filename).name}:{f.name}: {(f.line or '')[:160]}"
                for f in frames
                if "pytest" not in f.filename
            ][-6:],
        }
    getattr(item, "rows", []).append(row)
    return report


def pytest_collectreport(report: Any) -> None:
    if report.outcome == "failed":
        write(broken=report.nodeid, message=str(report.longrepr)[-2000:])
