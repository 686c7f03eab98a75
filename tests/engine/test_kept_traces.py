"""A trace that an earlier process has kept is the trace that this process would make, or it is not found."""

from __future__ import annotations

import marshal
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from jax.experimental.compilation_cache import compilation_cache

import torchlike as torch
from tests.ops.samples import every_call
from tests.ops.test_catalog import make, outputs
from torchlike.dispatch.apply import forget_kernels
from torchlike.dispatch.bindings import FUNCTIONS
from torchlike.dispatch.opdef import CATALOG
from torchlike.engine import forget, recorder
from torchlike.engine.disk import coded, programs, traces
from torchlike.engine.interpreter.rules import RULES, Unsupported
from torchlike.engine.interpreter.traces import by_size, kept
from torchlike.interop import jax_function

pytestmark = pytest.mark.uncompiled


class Process:
    """What was traced, found and refused since ``begin``. ``before``: what was refused in the process before."""

    def __init__(self) -> None:
        self.refused = list[str]()
        self.begin()

    def begin(self) -> None:
        """From now on all is as in a new process."""
        traces.store.write()
        recorder().flush("a process begins")
        forget()
        forget_kernels("a test's process", "any")
        traces.store.close()
        self.traced, self.before, self.refused = 0, self.refused, list[str]()


@pytest.fixture
def process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Process]:
    monkeypatch.setenv(programs.VARIABLE, str(tmp_path / "cache"))
    jax.config.update("jax_enable_compilation_cache", False)
    compilation_cache.reset_cache()
    process, trace = Process(), kept.trace

    def counted(*args: Any) -> Any:
        traced = trace(*args)  # raises where there is no such operation
        process.traced += 1
        return traced

    def noted(refusal: Exception, *args: Any) -> None:
        process.refused.append(str(args))

    monkeypatch.setattr(kept, "trace", counted)
    monkeypatch.setattr(coded.NotKept, "__init__", noted)
    yield process
    traces.settings.clear()
    forget()
    jax.config.update("jax_enable_compilation_cache", True)
    compilation_cache.reset_cache()
    traces.store.close()


@pytest.fixture
def file(process: Process, tmp_path: Path) -> Callable[[], Path]:
    def find() -> Path:
        (found,) = (tmp_path / "cache" / "programs").glob("*.traces")
        return found

    return find


def place(store: traces.Store, name: str) -> traces.Place:
    found = store.place(name)
    assert found is not None
    return found


def results_and_gradients(name: str) -> list[tuple[Any, ...]]:
    """The bytes of what the sample calls of an operator give, and of their gradients."""
    found: list[tuple[Any, ...]] = []
    for call in CALLS[name]:
        torch.manual_seed(0)
        made, kwargs, _ = make(call)
        flat = [each for value in made for each in (value if isinstance(value, list) else [value])]
        leaves = [
            each for each in flat if isinstance(each, torch.Tensor) and (each.is_floating_point() or each.is_complex())
        ]
        for leaf in leaves:
            leaf.requires_grad_()
        try:
            results = [each for each in outputs(FUNCTIONS[name](*made, **kwargs)) if isinstance(each, torch.Tensor)]
            squares = [(each * each.conj()).real.sum() for each in results if each.requires_grad]
            if squares:
                results += [
                    each for each in torch.autograd.grad(squares, leaves, allow_unused=True) if each is not None
                ]
            found += [
                (str(each.dtype), tuple(each.shape), each.detach().resolve_conj().numpy().tobytes()) for each in results
            ]
        except (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError) as error:
            found.append((str(error),))
    return found


CALLS: dict[str, list[Any]] = {}
for each_call in every_call():
    if each_call.dtype != "bfloat16":  # which ``numpy()`` refuses
        CALLS.setdefault(each_call.op.name, []).append(each_call)


@pytest.mark.parametrize("name", sorted(CALLS))
def test_every_operator_computes_the_same_from_a_trace_that_was_kept(name, process):
    process.begin()
    expected = results_and_gradients(name)
    traces.store.write()
    refused = len(process.refused)
    process.begin()
    assert results_and_gradients(name) == expected
    assert process.traced <= refused + len(process.refused), "what was kept is not found"


def steps() -> list[str]:
    """Losses of a small network, as text that shows every bit."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.LayerNorm(16), torch.nn.GELU(), torch.nn.Linear(16, 4))
    optimizer = torch.optim.AdamW(model.parameters(), 0.01)
    losses = []
    for size in (5, 7, 5, 9, 11, 3, 5):
        loss = torch.nn.functional.cross_entropy(model(torch.randn(size, 8)), torch.randint(0, 4, (size,)))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item().hex())
    return losses


def test_the_second_process_traces_nothing(process, monkeypatch):
    process.begin()
    expected = steps()
    assert process.traced > 30
    process.begin()
    assert process.traced == 0
    made = []
    monkeypatch.setattr(by_size, "Generic", lambda *args: made.append(args))
    monkeypatch.setattr(by_size, "record", lambda *args: made.append(args))
    assert steps() == expected
    assert (process.traced, made) == (0, []), (
        "traces for variable sizes, and the sizes that they are confirmed for, are kept as well; "
        f"not kept: {process.before} {process.refused}"
    )


def test_other_sizes_are_confirmed_in_the_next_process(process, monkeypatch):
    """A trace for variable sizes counts as right only after comparisons with as many traces for single sizes as in one process."""

    def run(*sizes: int) -> None:
        for size in sizes:
            torch.arange(float(size)).mul(2.0).numpy()

    recorded, record = list[Any](), by_size.record
    monkeypatch.setattr(by_size, "record", lambda make, sizes: recorded.append(sizes) or record(make, sizes))
    process.begin()
    run(3, 4, 5)
    first = len(recorded)
    assert first
    process.begin()
    run(3, 4, 5)
    assert len(recorded) == first
    run(6)
    assert len(recorded) == 2 * first, "a second size is compared"
    run(7, 8)
    assert len(recorded) == 2 * first, "and no third one"
    process.begin()
    run(3, 4, 9)
    assert len(recorded) == 2 * first


def test_a_setting_that_changes_what_ops_mean_is_part_of_the_key(process):
    process.begin()
    assert torch.full((3,), 0.5).dtype == torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        before = process.traced
        assert torch.full((3,), 0.5).dtype == torch.float64
        assert process.traced > before
        process.begin()
        assert torch.full((3,), 0.5).dtype == torch.float64 and process.traced == 0
    finally:
        torch.set_default_dtype(torch.float32)


def test_nothing_is_kept_while_jax_has_other_options(process):
    process.begin()
    torch.ones(3).add(1.0).numpy()
    assert process.traced
    traces.store.write()
    known = process.traced
    process.begin()
    with jax.default_matmul_precision("float32"):
        torch.ones(3).add(1.0).numpy()
    assert process.traced == known
    process.begin()
    torch.ones(3).add(1.0).numpy()
    assert process.traced == 0


def test_what_depends_on_the_users_code_is_traced_anew(process):
    process.begin()
    for factor in (2.0, 3.0):
        double = jax_function(lambda x, factor=factor: x * factor)
        assert double(torch.ones(2)).tolist() == [factor, factor]
        process.begin()


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "of another name", "writable by others"])
def test_a_damaged_file_is_not_used(process, file, damage):
    process.begin()
    expected = steps()
    traces.store.write()
    path = file()
    content = path.read_bytes()
    if damage == "cut":
        path.write_bytes(content[:-10])
    elif damage == "changed":
        path.write_bytes(content[:-10] + b"0" + content[-9:])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "of another name":
        body = content[len(programs.MAGIC) + 32 :]
        path.write_bytes(programs.head_of("0" * 64 + ".traces", body) + body)
    elif os.name == "posix":
        path.chmod(0o666)
    else:
        pytest.skip("rights are others there")
    process.begin()
    assert steps() == expected and process.traced > 0
    process.begin()
    assert steps() == expected and process.traced == 0, "it was written again"


def test_files_of_the_package_are_part_of_the_name(tmp_path, monkeypatch):
    package = tmp_path / "package"
    (package / "within").mkdir(parents=True)
    (package / "__pycache__").mkdir()
    names = set()
    for change in range(4):
        if change == 1:
            (package / "within" / "op.py").write_text("x = 1\n")
        elif change == 2:
            (package / "within" / "op.py").write_text("x = 22\n")
        elif change == 3:
            os.utime(package / "within" / "op.py", (1, 1))
        monkeypatch.setattr(traces, "PACKAGE", str(package))
        names.add(traces._code())
        (package / "__pycache__" / f"{change}.py").touch()
        assert traces._code() in names
    assert len(names) == 4
    library = tmp_path / "library.so"
    library.write_bytes(b"oneDNN")
    monkeypatch.setattr(traces, "path_of_library", lambda: library)
    assert traces._code() not in names, "whether oneDNN is there"
    names.add(traces._code())
    for variable, differs in {"JAX_X": 1, "XLA_FLAGS": 1, "TORCHLIKE_X": 1, "TORCHLIKE_COMPILE": 0, "OTHER": 0}.items():
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(variable, "x")
            assert (traces._code() not in names) == bool(differs), variable


def test_what_no_rule_computes_here_is_traced_anew(process, monkeypatch):
    """A rule may look at what is installed."""
    process.begin()
    expected = torch.arange(3.0).exp().tolist()
    process.begin()

    def refuse(*args: Any) -> None:
        raise Unsupported("not here")

    with monkeypatch.context() as patch:
        patch.setitem(RULES, "exp", refuse)
        torch.arange(3.0).exp().tolist()
        assert process.traced
    process.begin()
    assert torch.arange(3.0).exp().tolist() == expected and process.traced == 0


def test_two_processes_keep_what_both_have_found_out(process):
    process.begin()
    torch.ones(2).exp().numpy()
    other = traces.Store()
    other.keep(place(other, "what another process has traced"), lambda: b"content")
    other.write()
    traces.store.write()
    third = traces.Store()
    assert third.find(place(third, "what another process has traced")) == b"content"
    process.begin()
    torch.ones(2).exp().numpy()
    assert process.traced == 0


def test_a_full_file_loses_what_was_not_used(process, monkeypatch):
    monkeypatch.setattr(traces, "MAX_BYTES", 3000)

    def stored(*names: str) -> list[str]:
        store = traces.Store()
        return [name for name in names if store.find(place(store, name)) is not None]

    for number in range(4):
        store = traces.Store()
        store.find(place(store, "0"))
        store.keep(place(store, str(number)), lambda: bytes(900))
        store.write()
    assert stored(*"0123") == ["0", "2", "3"]


def test_a_child_leaves_writing_to_its_parent(process, file):
    process.begin()
    torch.ones(2).exp().numpy()
    traces.store._process += 1  # as in a process that was forked
    traces.store.write()
    with pytest.raises(ValueError, match="unpack"):
        file()
    traces.store._process -= 1
    traces.store.write()
    assert file().stat().st_size > 100


def test_writing_where_nobody_can_does_no_harm(process, tmp_path):
    process.begin()
    torch.ones(2).exp().numpy()
    for path in sorted((tmp_path / "cache").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    traces.store.write()


def test_keys_are_equal_for_equal_values_alone():
    values = [
        None, ..., True, False, 0, 1, 1.0, -1, 0.0, -0.0, 1j, 2**70, float("inf"), "", "1", b"1", (), (1,), ((1,),), [1], [], {},
        {"a": 1}, np.dtype("float32"), np.dtype("int8"), int, float, bool, type(None), np.float32(1), np.int64(1), np.zeros(1),
        np.zeros((1, 1)), ("s", (1,)), ("t", 1), torch.float32, torch.int8, jax.lax.Precision.HIGHEST, jax.lax.Precision.DEFAULT,
        slice,
    ]  # fmt: skip
    keys = [coded.key_bytes((value,)) for value in values]
    assert len({*keys}) == len(values)
    # The same string twice, and two equal ones, of which Python has interned one.
    interned, made = "together", str(b"together", "ascii")
    assert coded.key_bytes((interned, interned)) == coded.key_bytes((interned, made)) == coded.key_bytes((made, made))


def test_what_has_no_form_is_refused():
    for value in (
        object(),
        lambda: 1,
        slice(3),
        {1},
        os,
        test_keys_are_equal_for_equal_values_alone,
        Foreign,
        Foreign((1,)),
    ):
        with pytest.raises(coded.NotKept):
            coded.key_bytes(("key", value))


class Foreign(tuple):
    """Of no library whose classes are kept."""


@pytest.mark.parametrize(
    "code", [("c", "os", "system"), ("c", "torchlike", "ones"), ("c", __name__, "Foreign"), ("n", ("c", "builtins", "dict"), 1),
             ("e", ("c", "builtins", "int"), "real"), ("c", "builtins", "nothing")],
    ids=str,
)  # fmt: skip
def test_what_is_read_back_calls_nothing(code):
    with pytest.raises(coded.NotKept):
        coded.value_of(marshal.loads(marshal.dumps(code)))


def test_an_expression_of_sizes_calls_nothing():
    from torchlike.engine.interpreter.traces.generic import compiled

    assert compiled("((s[0]+s[1])//(2))==(-1) and not s[1]<(0)")([-1, 0]) is True
    for text in ("__import__('os')", "s.append(1)", "open", "[t for t in s]", "s[0] if s else s"):
        with pytest.raises(ValueError, match="no arithmetic"):
            compiled(text)


def test_what_is_absent_says_so():
    for use in (lambda x: x.eqns, lambda x: x(), bool, len, iter, lambda x: x[0]):
        with pytest.raises(coded.NotKept):
            use(coded.ABSENT)


PROGRAM = """
import sys
import torchlike as torch
from torchlike.engine.interpreter import tracing

traced, trace = [], tracing._trace_either_way
tracing._trace_either_way = lambda *args: traced.append(args) or trace(*args)
torch.manual_seed(0)
# Of the results of a batch normalisation, and of a split, only some get a gradient.
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters(), 0.1)
x = torch.randn(16, 4)
x[:, 0] = 1
for _ in range(3):
    loss = (model(x).split(1, 1)[0] ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(len(traced), loss.item().hex(), "optax" in sys.modules)
"""


def test_a_script_traces_at_its_first_run_alone(tmp_path):
    environment = {**os.environ, programs.VARIABLE: str(tmp_path), "JAX_ENABLE_COMPILATION_CACHE": "false"}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    lines = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
        ).stdout.split()
        for _ in range(2)
    ]
    assert int(lines[0][0]) > 10 and lines[0][2] == "True"
    assert lines[1] == ["0", lines[0][1], "False"], "not even the library of optimizers is imported"


def test_every_declared_operator_has_a_name_on_disk():
    assert all(op.name_on_disk() for op in CATALOG.values())
