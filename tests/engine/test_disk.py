"""Programs kept on disk are read by the next process only if they are intact, private, and made for the same environment."""

import os
import signal
import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.compilation_cache import compilation_cache

from torchlike.engine.aval import Aval
from torchlike.engine.disk import programs as disk
from torchlike.engine.executable import COMPILER_OPTIONS, compile_ahead
from torchlike.engine.report import report

pytestmark = pytest.mark.recorded
F32 = Aval((3,), np.dtype(np.float32))
X = np.array([1, 2, 3], np.float32)


def double(x: Any) -> Any:
    return [x * 2]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(disk.VARIABLE, str(tmp_path / "cache"))
    jax.config.update("jax_enable_compilation_cache", False)
    compilation_cache.reset_cache()  # makes JAX decide again whether to use its cache, which it does only once
    yield tmp_path / "cache" / "programs"
    jax.config.update("jax_enable_compilation_cache", True)
    compilation_cache.reset_cache()


def run(fn: Any = double, **options: Any) -> tuple[list[float], int]:
    """Runs a program compiled for three numbers; returns its result and how many programs were read from disk."""
    before = report.loads
    executable = compile_ahead(fn, [F32], [F32], **options)
    return np.asarray(executable([jnp.asarray(X)])[0]).tolist(), report.loads - before


def test_a_program_is_compiled_once_and_then_read(folder):
    assert run() == ([2, 4, 6], 0)
    (entry,) = folder.iterdir()
    assert run() == ([2, 4, 6], 1)
    assert [*folder.iterdir()] == [entry]
    if os.name == "posix":
        assert entry.stat().st_mode & 0o077 == 0 and folder.stat().st_mode & 0o077 == 0, "for its user alone"


def test_nothing_is_kept_beside_jaxs_own_cache(folder, monkeypatch):
    assert disk.folder() == folder
    jax.config.update("jax_enable_compilation_cache", True)
    config: Any = jax.config
    assert config.jax_compilation_cache_dir and disk.folder() is None


def test_another_program_or_option_is_another_entry(folder, monkeypatch):
    run()
    assert run(lambda x: [x * 3]) == ([3, 6, 9], 0)
    assert run(donate=(0,))[1] == 0
    monkeypatch.setitem(COMPILER_OPTIONS, "xla_cpu_enable_fast_math", False)
    assert run()[1] == 0
    monkeypatch.setattr(disk, "surroundings", lambda: "another processor")
    assert run()[1] == 0
    assert len([*folder.iterdir()]) == 5


def test_a_program_that_was_read_takes_over_donated_memory(folder):
    for loads in (0, 1):
        before, x = report.loads, jnp.asarray(X)
        compile_ahead(double, [F32], [F32], donate=(0,))([x])
        assert x.is_deleted() and report.loads - before == loads


@pytest.mark.parametrize("damage", [lambda b: b[:-7], lambda b: b"", lambda b: b"x" * len(b), lambda b: b[:-1] + b"x"])
def test_a_damaged_entry_is_compiled_anew(folder, damage):
    run()
    (entry,) = folder.iterdir()
    whole = entry.read_bytes()
    entry.write_bytes(damage(whole))
    assert run() == ([2, 4, 6], 0)
    assert run() == ([2, 4, 6], 1)


@pytest.mark.skipif(os.name != "posix", reason="about the rights of files")
def test_a_folder_that_others_may_write_to_is_not_used(folder):
    run()
    folder.chmod(0o777)
    assert disk.folder() is None
    assert run() == ([2, 4, 6], 0)


@pytest.mark.skipif(os.name != "posix", reason="about the rights of files")
def test_a_folder_that_others_may_swap_is_not_used(folder):
    run()
    folder.parent.chmod(0o777)
    assert disk.folder() is None and run() == ([2, 4, 6], 0)
    folder.parent.chmod(0o1777)  # as in /tmp, only its owner may remove it
    assert disk.folder() == folder and run() == ([2, 4, 6], 1)


@pytest.mark.skipif(os.name != "posix", reason="about the rights of files")
def test_the_folder_that_was_checked_is_the_one_that_is_read(folder, tmp_path, monkeypatch):
    run()
    (entry,) = folder.iterdir()
    entry_of = disk.entry_of

    def swapped_after_the_check(*args: Any) -> Any:
        found = entry_of(*args)
        folder.rename(tmp_path / "hidden")
        folder.mkdir()
        folder.chmod(0o777)
        (folder / entry.name).write_bytes((tmp_path / "hidden" / entry.name).read_bytes())
        return found

    monkeypatch.setattr(disk, "entry_of", swapped_after_the_check)
    assert run() == ([2, 4, 6], 0)


@pytest.mark.skipif(os.name != "posix", reason="about the rights of files")
def test_an_entry_that_another_may_have_written_is_not_used(folder, tmp_path):
    run()
    (entry,) = folder.iterdir()
    entry.chmod(0o666)
    assert run() == ([2, 4, 6], 0)
    assert run() == ([2, 4, 6], 1), "and was replaced"
    entry.rename(tmp_path / "elsewhere")
    entry.symlink_to(tmp_path / "elsewhere")
    assert run() == ([2, 4, 6], 0)
    if os.getuid() == 0:
        os.chown(entry, 12345, -1)
        assert run() == ([2, 4, 6], 0)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="about pipes")
def test_what_is_no_file_is_not_waited_for(folder):
    run()
    (entry,) = folder.iterdir()
    entry.unlink()
    os.mkfifo(entry)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.alarm(60)
    try:
        assert run() == ([2, 4, 6], 0)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    assert run() == ([2, 4, 6], 1), "and was replaced"


def test_an_entry_under_the_name_of_another_is_not_used(folder):
    run()
    (entry,) = folder.iterdir()
    triple: Any = lambda x: [x * 3]  # noqa: E731
    run(triple)
    (other,) = (e for e in folder.iterdir() if e != entry)
    other.write_bytes(entry.read_bytes())
    assert run(triple) == ([3, 6, 9], 0)


def test_an_entry_holds_no_pickle(folder):
    """What is unpickled may run code. Python's loader of pickles is not even asked."""
    import pickle

    class Bomb:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(folder / "gone off"),)

    run()
    (entry,) = folder.iterdir()
    for body in (pickle.dumps(Bomb()), b"\0" * 8 + pickle.dumps(Bomb())):
        entry.write_bytes(disk.head_of(entry.name, body) + body)
        assert run() == ([2, 4, 6], 0) and not (folder / "gone off").exists()


def test_only_what_torchlike_has_written_goes(folder, monkeypatch, tmp_path):
    """The folder may be one in which a user keeps files, whatever they are called."""
    run()
    (entry,) = folder.iterdir()
    mine = [folder / name for name in ("thesis.odt", "x.program", "a" * 64 + ".program", "b" * 64, "tmpabc")]
    for file in mine:
        file.write_bytes(b"x" * 10_000)
    (tmp_path / "outside").write_bytes(entry.read_bytes())
    link, sub = folder / ("c" * 64 + ".program"), folder / ("d" * 64 + ".program")
    link.symlink_to(tmp_path / "outside")
    sub.mkdir()
    dead = folder / ("e" * 64 + "." + "0" * 16 + ".temporary")
    dead.write_bytes(b"")
    for file in (entry, *mine, dead):
        os.utime(file, (1000, 1000))
    monkeypatch.setattr(disk, "MAX_BYTES", 1)
    run(lambda x: [x * 3])
    assert not entry.exists() and not dead.exists()
    assert all(file.exists() for file in (*mine, link, sub, tmp_path / "outside"))


def test_the_folders_that_it_makes_are_the_users_alone(folder, monkeypatch, tmp_path):
    monkeypatch.setenv(disk.VARIABLE, str(tmp_path / "new" / "newer"))
    before = os.umask(0)
    try:
        made = disk.folder()
    finally:
        os.umask(before)
    assert made is not None and disk.folder() == made
    assert os.name != "posix" or all(p.stat().st_mode & 0o077 == 0 for p in (made, made.parent, made.parent.parent))


def test_an_environment_variable_switches_the_cache_off(folder, monkeypatch):
    run()
    monkeypatch.setenv(disk.VARIABLE, "")
    assert run() == ([2, 4, 6], 0)


def test_a_folder_that_cannot_be_made_or_written_to_does_no_harm(folder, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(disk.VARIABLE, str(tmp_path / "file"))
    assert run() == ([2, 4, 6], 0)
    monkeypatch.setattr(disk, "folder", lambda: tmp_path / "missing")
    assert run() == ([2, 4, 6], 0)


def test_what_was_used_longest_ago_goes(folder, monkeypatch):
    run()
    (first,) = folder.iterdir()
    size = first.stat().st_size
    run(lambda x: [x * 3])
    for age, entry in enumerate(sorted(folder.iterdir(), key=lambda e: e == first)):
        os.utime(entry, (1000 - age, 1000 - age))  # the first is the older one
    assert run()[1] == 1, "and is used now"
    monkeypatch.setattr(disk, "MAX_BYTES", int(2.5 * size))
    run(lambda x: [x * 4])
    assert len([*folder.iterdir()]) == 2 and first.exists()


def test_a_program_that_calls_back_is_not_kept(folder):
    def fn(x: Any) -> Any:
        return [jax.pure_callback(lambda a: np.asarray(a) * 2, jax.ShapeDtypeStruct((3,), np.float32), x)]

    assert run(fn) == ([2, 4, 6], 0)
    assert run(fn) == ([2, 4, 6], 0)


def test_the_second_process_compiles_nothing(tmp_path):
    code = (
        "import torchlike as torch\n"
        "torch.manual_seed(0)\n"
        "model = torch.nn.Linear(4, 2)\n"
        "optimizer = torch.optim.Adam(model.parameters())\n"
        "for _ in range(4):\n"
        "    loss = model(torch.ones(3, 4)).square().sum(); loss.backward(); optimizer.step(); optimizer.zero_grad()\n"
        "print(loss.item())\n"
        "report = torch.explain()\n"
        "print(report.compiles + report.op_compiles - report.loads, report.loads)"
    )
    environment = {**os.environ, disk.VARIABLE: str(tmp_path), "TORCHLIKE_COMPILE": "now"}
    environment.pop("PYTHONHASHSEED", None)  # the key must not depend on the order of sets
    first, second = (
        subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    )
    (loss, compiled), (same, read) = first.stdout.split("\n")[:2], second.stdout.split("\n")[:2]
    assert loss == same
    assert compiled.split()[0] != "0" and compiled.split()[1] == "0"
    assert read == f"0 {compiled.split()[0]}"
