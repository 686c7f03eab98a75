"""The examples reach their targets, under the runner and by themselves; each says how it is run."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.recorded

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples"
# Quick ones, and whether they run under `python -m torchlike`.
QUICK = {"classifier": True, "flax_module": False}


def imported(path: Path) -> set[str]:
    """The packages that a program imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").partition(".")[0])
    return names


@pytest.mark.parametrize("name", QUICK)
def test_an_example_reaches_its_target(name):
    command = [sys.executable, *(["-m", "torchlike"] if QUICK[name] else []), str(FOLDER / f"{name}.py")]
    settings = {"TORCHLIKE_COMPILE": "auto", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=os.environ | settings, cwd=FOLDER, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_classifier_learns_from_the_sample(tmp_path):
    """Without data and network, an epoch has as many steps as over the whole data; five epochs reach 83 %."""
    options = ["--no-download", "--root", str(tmp_path), "--picture", "", "--epochs", "1"]
    command = [sys.executable, str(FOLDER / "fashion_mnist.py"), *options]
    settings = {"TORCHLIKE_COMPILE": "auto", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=os.environ | settings, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1,500 pictures to train on and 240 to test with" in done.stderr
    assert float(done.stdout.partition("Accuracy: ")[2].partition("%")[0]) > 65
    assert "[57664/60000]" in done.stdout


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_an_example_says_how_it_is_run(path):
    words = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    runner, packages = f"python -m torchlike examples/{path.name}", imported(path)
    assert ("torch" in packages) != ("torchlike" in packages)
    assert (runner in words) == ("torch" in packages)
    assert f"examples/{path.name}" in words
