"""Two machines with addresses of their own, for which two network namespaces of this one stand: they train together, and one is cut off."""

import contextlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.distributed.processes import with_one_device

ROOT = Path(__file__).parents[2]
ADDRESSES = "10.213.77.1", "10.213.77.2"
PORT = "29417"
ENVIRONMENT = with_one_device() | {"PYTHONPATH": str(ROOT)}


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, timeout=10)


def has_namespaces() -> bool:
    """Whether this process may make network namespaces: it needs root and Linux's tool ``ip``."""
    if not sys.platform.startswith("linux") or os.getuid() or shutil.which("ip") is None:
        return False
    name = f"tl-{os.getpid()}-probe"
    try:
        ip("netns", "add", name)
        ip("netns", "del", name)
    except (subprocess.SubprocessError, OSError):
        return False
    return True


pytestmark = [
    pytest.mark.recorded,
    pytest.mark.costly,
    pytest.mark.skipif(not has_namespaces(), reason="cannot make network namespaces: not root, or no `ip`"),
]


@pytest.fixture
def machines() -> Iterator[list[str]]:
    """The names of two namespaces, which a cable joins."""
    names = [f"tl-{os.getpid()}-{n}" for n in range(2)]
    ends = [f"tl{os.getpid() % 10**7}{end}" for end in "ab"]
    try:
        for name in names:
            ip("netns", "add", name)
        ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
        for name, end, address in zip(names, ends, ADDRESSES, strict=True):
            ip("link", "set", end, "netns", name)
            ip("-n", name, "link", "set", end, "name", "cable")
            ip("-n", name, "addr", "add", f"{address}/24", "dev", "cable")
            ip("-n", name, "link", "set", "cable", "up")
            ip("-n", name, "link", "set", "lo", "up")
        yield names
    finally:
        for name in names:
            with contextlib.suppress(subprocess.SubprocessError):
                ip("netns", "del", name)


PROGRAM = """
import os, sys, time
from datetime import timedelta
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

steps, seconds, framework = int(sys.argv[1]), float(sys.argv[2]), "torchlike" if hasattr(torch, "explain") else "torch"
dist.init_process_group("gloo", timeout=timedelta(seconds=seconds))
rank = dist.get_rank()
torch.manual_seed(0)
model = DistributedDataParallel(nn.Sequential(nn.Linear(20, 64), nn.Tanh(), nn.Linear(64, 4)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
x = torch.randn(64, 20)
y = x[:, :4].argmax(1)
for step in range(steps):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x[rank::2]), y[rank::2])
    loss.backward()
    optimizer.step()
    line = f"{framework} rank {rank} of node {os.environ['GROUP_RANK']} step {step}: {loss.item():.6f}"
    sys.stdout.write(line + "\\n")
    sys.stdout.flush()
    if steps > 1000:
        time.sleep(0.05)
"""


def start(machines: list[str], *words: str) -> list[Any]:
    """A launcher on each machine."""
    options = [
        "--nnodes",
        "2",
        "--nproc-per-node",
        "1",
        "--rdzv-backend",
        "c10d",
        "--rdzv-endpoint",
        f"{ADDRESSES[0]}:{PORT}",
    ]
    return [
        launched(["ip", "netns", "exec", machine, sys.executable, "-m", "torchlike.distributed.run", *options, *words])
        for machine in machines
    ]


def launched(command: list[str]) -> Any:
    return subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finished(launchers: list[Any], seconds: float) -> list[tuple[int, str, str]]:
    """Exit codes and outputs."""
    deadline = time.monotonic() + seconds
    try:
        return [(each.wait(max(deadline - time.monotonic(), 0.1)), *each.communicate(timeout=10)) for each in launchers]
    finally:
        for each in launchers:
            each.kill()


def losses(ended: list[tuple[int, str, str]]) -> dict[tuple[str, str], float]:
    """The loss of each step, by rank and step."""
    lines = re.findall(r"rank (\d) of node \d step (\d+): ([\d.]+)", "".join(out for _, out, _ in ended))
    return {(rank, step): float(loss) for rank, step, loss in lines}


def test_two_machines_train_with_the_losses_of_pytorch(machines: list[str], tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    ours = finished(start(machines, str(program), "20", "50"), 100)
    assert [code for code, _, _ in ours] == [0, 0], ours
    assert all("torchlike rank" in out for _, out, _ in ours) and len(losses(ours)) == 40
    if importlib.util.find_spec("torch") is None:
        return
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    theirs = finished([launched([*command, str(program), "20", "50"])], 100)
    assert theirs[0][0] == 0 and "torch rank" in theirs[0][1], theirs
    assert losses(ours) == pytest.approx(losses(theirs), abs=2e-5)


@pytest.mark.parametrize("seconds", [8.0, 1000.0])
def test_a_machine_that_is_cut_off_is_named(machines: list[str], tmp_path: Path, seconds: float) -> None:
    """Within the group's timeout where that is short, else within half a minute, by both that are left to themselves."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    launchers = start(machines, str(program), "100000", str(seconds))
    ranks = []
    for launcher in launchers:
        while "step 20:" not in (line := launcher.stdout.readline()):
            assert launcher.poll() is None, launcher.communicate()
        ranks.append(int(line.split()[2]))
    begun = time.monotonic()
    ip("-n", machines[1], "link", "set", "cable", "down")
    ended = finished(launchers, 90)
    assert time.monotonic() - begun < 75
    assert [code for code, _, _ in ended] == [1, 1], ended
    # Each machine names the other: its rank, its launcher, or the process that the ranks talk to. Who joins first has rank 0.
    for (_, _, err), other, address in zip(ended, reversed(ranks), reversed(ADDRESSES), strict=True):
        at = re.escape(address)
        named = (
            rf"rank {other} (did not come to|does not answer)"
            rf"|the process that the ranks talk to, at {at}, does not answer|the launcher at {at}:\d+ has ended"
        )
        assert re.search(named, err), err
