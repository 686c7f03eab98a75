"""After `torchlike.alias()`, `import torch` means torchlike, also if PyTorch is installed, and in processes that are started."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests._alias import checks
from torchlike._alias.names import _recorded as recorded_modules, is_module, kinds

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CHECKS = [name for name in vars(checks) if name.startswith("check_")]

pytestmark = pytest.mark.recorded


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """A folder that looks like an installed PyTorch; a program that imports it ends."""
    folder = tmp_path_factory.mktemp("installed")
    (folder / "torch").mkdir()
    (folder / "torch" / "__init__.py").write_text("raise SystemExit('the installed PyTorch was imported')\n")
    (folder / "torch-1.0.dist-info").mkdir()
    (folder / "torch-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 1.0\n")
    return folder


def run(*arguments: str, path: Path, **more) -> subprocess.CompletedProcess[str]:
    """Returns what `python -m torchlike` prints if a PyTorch is installed."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(path), str(ROOT)])}
    command = [sys.executable, "-W", "error", "-m", "torchlike", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, **more)


@pytest.fixture(scope="module")
def results(installed) -> dict[str, str]:
    done = run(str(HERE / "checks.py"), path=installed)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.costly
@pytest.mark.parametrize("name", CHECKS)
def test_in_a_process_with_the_alias(results, name):
    assert results[name] == ""


def test_the_alias_holds_in_child_processes(installed):
    done = run(str(HERE / "children.py"), path=installed, cwd=installed)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "spawn ('torch', '__mp_main__', [0, 2, 4], False) 0",
        "forkserver ('torch', '__mp_main__', [0, 2, 4], False) 0",
        "[[0, 1], [2, 3]]",
    ]


def test_a_loaded_pytorch_is_refused_and_a_notebook_loads_the_extension():
    program = """
import sys, types
import torchlike
sys.modules["torch"] = types.ModuleType("torch")
try:
    torchlike.alias()
except RuntimeError as error:
    print(error)
del sys.modules["torch"]
torchlike.load_ipython_extension(None)
import torch
print(torch.ones(2).sum().item(), torch.__name__)
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    refusal, used = done.stdout.splitlines()
    assert refusal.startswith(
        "PyTorch has been imported already in this process, from None, so `import torch` cannot mean torchlike"
    )
    assert "restart the kernel" in refusal and used == "2.0 torch"


def test_what_a_module_imports_from_another_is_recorded_there():
    imported = [
        (module, name, *more)
        for module in recorded_modules()
        for name, (kind, more) in kinds(module).items()
        if kind == "from"
    ]
    assert len(imported) > 500
    assert [each for each in imported if not is_module(each[2]) or each[3] not in kinds(each[2])] == []
    assert "_script_if_tracing" in kinds("torch.jit")  # torchvision imports it from there


def test_what_pytorchs_harness_for_tests_imports_is_recorded():
    # Its test files import these modules, some of which derive from what they import.
    for module, names in {
        "torch._dynamo.test_case": "TestCase",
        "torch._inductor.custom_graph_pass": "CustomGraphModulePass CustomGraphPass",
        "torch.nested._internal.nested_tensor": "NestedTensor jagged_from_list",
        "torch.utils._config_module": "Config ConfigModule install_config_module",
        "torch.utils._mode_utils": "no_dispatch",
    }.items():
        assert set(names.split()) <= set(kinds(module))


def test_private_names_that_libraries_call_give_what_pytorch_gives(installed):
    done = run(str(HERE / "private_checks.py"), path=installed)
    assert (done.returncode, done.stderr) == (0, "")
