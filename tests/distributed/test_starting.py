"""Programs started as users start them: the documentation's, an example, torch.multiprocessing.spawn, and after JAX has started."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import torchlike as torch
from tests.distributed.test_launcher import ENVIRONMENT, free_port, launch
from torchlike import distributed as dist

pytestmark = pytest.mark.recorded
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/many-devices.md").read_text("utf-8")


def test_the_program_of_the_documentation_prints_what_it_says(tmp_path: Path) -> None:
    program, command, output = (
        re.search(rf"^```{fence}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
        for fence in ('python title="ddp.py"', "console", "text")
    )
    assert program and command and output
    (tmp_path / "ddp.py").write_text(program[1])
    words = command[1].split("python -m torchlike.distributed.run ")[1].split()
    done = launch(*words[:-1], str(tmp_path / words[-1]))
    # Gloo writes a line for each rank to the same stream, and the lines of two ranks may cut each other.
    said_by_gloo = re.compile("Gloo|peer ranks|^\n$")
    printed = [line for line in done.stdout.splitlines(True) if not said_by_gloo.search(line)]
    assert printed == output[1].splitlines(True), done


def test_the_example_has_the_losses_of_one_process() -> None:
    losses = []
    for count in ("1", "2"):
        done = launch(
            "--standalone",
            "--nproc-per-node",
            count,
            str(ROOT / "examples/ddp_fashion_mnist.py"),
            "--epochs",
            "1",
            "--root",
            "nowhere",
        )
        losses.append(re.findall(r"epoch \d: loss (\d\.\d+)", done.stdout))
        assert len(losses[-1]) == 1, done.stderr
    one, two = ([float(loss) for loss in each] for each in losses)
    assert one == pytest.approx(two, abs=2e-4)


SHORT = """
import sys, torch, torch.distributed as dist
dist.init_process_group("gloo")
x = torch.ones(20_000_000) * (dist.get_rank() + 1)
dist.all_reduce(x)
if dist.get_rank() == 0:
    print("the sum is", x[-1].item())
if len(sys.argv) > 1:
    dist.destroy_process_group()
"""


@pytest.mark.parametrize("words", [(), ("destroy",)])
def test_a_process_does_not_end_in_the_middle_of_an_exchange(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "short.py").write_text(SHORT)
    done = launch("--standalone", "--nproc-per-node", "2", str(tmp_path / "short.py"), *words)
    assert done.returncode == 0, done.stderr
    assert "the sum is 3.0" in done.stdout


def alone(*words: str) -> subprocess.CompletedProcess[str]:
    """A program in one process with eight devices."""
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8"}
    command = [sys.executable, *words]
    return subprocess.run(command, env=ENVIRONMENT | flags, capture_output=True, text=True, timeout=120)


def test_the_program_for_one_process_prints_what_it_says(tmp_path: Path) -> None:
    part = PAGE[PAGE.index("## One process, all its devices") :]
    program, output = (
        re.search(rf"^```{fence}\n(.*?)^```$", part, re.MULTILINE | re.DOTALL)
        for fence in ('python title="fsdp.py"', "text")
    )
    assert program and output
    (tmp_path / "fsdp.py").write_text(program[1])
    done = alone("-m", "torchlike", str(tmp_path / "fsdp.py"))
    assert done.stdout == output[1], done


def test_the_example_of_one_process_has_the_losses_of_one_device() -> None:
    done = alone(str(ROOT / "examples/fsdp_fashion_mnist.py"), "--epochs", "1", "--root", "nowhere")
    assert done.returncode == 0, done.stderr
    assert "each device keeps (64, 784)" in done.stdout
    assert re.search(r"epoch 1: loss (\d\.\d{3})\d on one device, \1\d on all", done.stdout), done.stdout


def reduce_at(rank: int, address: str, file: str) -> None:
    x = (torch.ones(300, 300) @ torch.ones(300, 300)).sum() + rank  # JAX may have started by now
    devices = torch.accelerator.device_count()
    view = torch.arange(6.0).reshape(2, 3)[:, 1]
    with torch.op_by_op():
        kept = torch.linalg.inv(torch.eye(3)) + rank
    dist.init_process_group("gloo", init_method=address, rank=rank, world_size=2)
    dist.all_reduce(x)
    dist.all_reduce(kept)
    values = (x.item(), kept.sum().item(), view.tolist(), devices)
    Path(f"{file}{rank}").write_text(repr(values))
    dist.destroy_process_group()


@pytest.mark.parametrize("kind", ["file", "tcp"])
def test_spawned_processes_meet_after_jax_has_started(kind: str, tmp_path: Path) -> None:
    address = f"file://{tmp_path}/store" if kind == "file" else f"tcp://127.0.0.1:{free_port()}"
    program = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import torchlike as torch
from tests.distributed.test_starting import reduce_at
if __name__ == "__main__":
    torch.multiprocessing.spawn(reduce_at, ({address!r}, {str(tmp_path / "rank")!r}), nprocs=2)
"""
    (tmp_path / "program.py").write_text(program)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "program.py")], env=ENVIRONMENT, capture_output=True, text=True, timeout=55
    )
    assert done.returncode == 0, done.stderr
    for rank in range(2):
        assert (tmp_path / f"rank{rank}").read_text() == "(54000000.0, 15.0, [1.0, 4.0], 0)"


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
def test_pytorchs_own_launcher_starts_programs_of_torchlike(tmp_path: Path) -> None:
    program: Any = tmp_path / "program.py"
    program.write_text(
        "import torchlike as torch\nfrom torchlike import distributed as dist\ndist.init_process_group()\n"
        "x = torch.ones(2) * dist.get_rank()\ndist.all_reduce(x)\nprint(f'sum {x.tolist()}')\ndist.destroy_process_group()\n"
    )
    words = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(program)]
    done = subprocess.run([sys.executable, *words], env=ENVIRONMENT, capture_output=True, text=True, timeout=55)
    assert done.stdout.count("sum [1.0, 1.0]") == 2, done.stderr
