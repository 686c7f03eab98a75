"""``torchlike doctor``: what it lists, and what it advises."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from torchlike import version
from torchlike.utils import _doctor

pytestmark = pytest.mark.recorded

ROOT = Path(__file__).parents[2]


def test_the_command_describes_this_machine(tmp_path):
    command = [sys.executable, "-m", "torchlike", "doctor"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert lines[0] == f"torchlike {version.__version__}"
    for start in (
        "Python ",
        "jax ",
        "jaxlib ",
        "devices: ",
        "extension modules: ",
        "C compiler: ",
        "huge pages: ",
        "extras:",
    ):
        assert any(line.startswith(start) for line in lines), start


def test_a_script_of_that_name_is_run(tmp_path):
    (tmp_path / "doctor").write_text("print('a script')")
    command = [sys.executable, "-m", "torchlike", "doctor"]
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert done.stdout == "a script\n"


def test_all_extras_for_users_are_listed():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    others = {
        "cuda",
        "cuda13",
        "tpu",
        "plots",
        "docs",
        "dev",
        "compare",
        "torch-tests",
    }  # devices, which are listed, and what developers need
    assert _doctor.EXTRAS.keys() == extras.keys() - others


@pytest.mark.parametrize("setting", ["always madvise [never]", "always [madvise] never"])
def test_advice_follows_from_what_is_found(monkeypatch, tmp_path, setting):
    (tmp_path / "enabled").write_text(setting)
    monkeypatch.setattr(_doctor, "HUGE_PAGES", tmp_path / "enabled")
    monkeypatch.setattr(_doctor, "enabled", False)
    monkeypatch.setattr(_doctor, "COMPILERS", ())
    monkeypatch.setattr(_doctor.onednn, "available", lambda: False)
    monkeypatch.setattr(_doctor.sys, "platform", "linux")
    monkeypatch.setattr(_doctor.platform, "machine", lambda: "x86_64")
    words = " ".join(_doctor.advice())
    assert "after a C compiler" in words
    assert "torchlike[onednn]" in words
    assert ("huge pages" in words) == ("[never]" in setting)
    monkeypatch.setattr(_doctor, "enabled", True)
    monkeypatch.setattr(_doctor.onednn, "available", lambda: True)
    monkeypatch.setattr(_doctor, "HUGE_PAGES", tmp_path / "none")
    assert "nothing is missing for speed" in _doctor.report()
