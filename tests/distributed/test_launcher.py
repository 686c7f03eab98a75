"""The launcher, and the errors of other ranks when one fails, each in processes of its own."""

import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.recorded
HERE = Path(__file__).parent
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"} | {
    "PYTHONPATH": str(HERE.parents[1]),
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


def launch(*words: str, timeout: float = 55.0) -> Any:
    """Runs `python -m torchlike.distributed.run` with these arguments."""
    return subprocess.run(
        [sys.executable, "-m", "torchlike.distributed.run", *words],
        env=ENVIRONMENT, capture_output=True, text=True, timeout=timeout,
    )  # fmt: skip


# ---- errors of the other rank: exit code, seconds at most, words
FAILURES = {
    "raises": (1, "all_reduce.* failed: rank 1 has raised ValueError: mine"),
    "raises first": (0, "all_reduce.* failed: rank 0 has raised ValueError: mine"),
    "raises before the other calls": (1, "all_reduce.* failed: rank 1 has raised ValueError: mine"),
    "is killed": (1, "rank 1 has ended without a word: its process was killed"),
    "is killed first": (0, "rank 0 has ended without a word: its process was killed"),
    "is killed and the other sleeps": (1, "rank 1 has ended without a word: its process was killed"),
    "stalls": (1, r"timed out after 2 s: rank 1 did not come to all_reduce\(SUM, float32\[2\]\), which rank 0 called at .*failing.py:43"),
    "leaves": (1, "rank 1 has ended"),
    "calls something else": (
        1,
        r"(?s)mismatch between collectives.*rank 0: all_reduce\(SUM, float32\[2\]\), called at .*failing.py:43.*"
        r"rank 1: broadcast\(0, float32\[2\]\), called at .*failing.py:41",
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", FAILURES)
def test_a_rank_that_fails_ends_the_other_with_an_error_that_names_it(way: str) -> None:
    failing, words = FAILURES[way]
    port = str(free_port())
    members = [
        subprocess.Popen(
            [sys.executable, str(HERE / "failing.py"), way],
            env=ENVIRONMENT | {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for rank in range(2)
    ]  # fmt: skip
    ended = {}
    try:
        deadline = time.monotonic() + 55
        while len(ended) < 2 and time.monotonic() < deadline:
            ended |= {
                rank: time.monotonic() for rank, m in enumerate(members) if rank not in ended and m.poll() is not None
            }
            time.sleep(0.02)
        assert len(ended) == 2, "a rank hangs"
    finally:
        for member in members:
            member.kill()
    out, err = members[1 - failing].communicate()
    members[failing].communicate()
    assert re.search(words, out + err), out + err
    if way == "is killed and the other sleeps":
        assert members[1 - failing].returncode == 1 and ended[0] - ended[1] < 5.0
        return
    assert members[1 - failing].returncode == 5
    seconds = float(re.search(r"(\d+\.\d+) \[Rank", out)[1])  # pyright: ignore[reportOptionalSubscript]
    assert seconds < (7.0 if way == "stalls" else 5.0)


# ---- the launcher

PROGRAM = """
import os, sys
import torch
import torch.distributed as dist

dist.init_process_group()
names = "RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE GROUP_RANK TORCHELASTIC_RESTART_COUNT TORCHELASTIC_MAX_RESTARTS".split()
assert dist.is_torchelastic_launched() and "MASTER_ADDR" in os.environ and "MASTER_PORT" in os.environ
x = torch.tensor([float(dist.get_rank())])
dist.all_reduce(x)
words = [*(os.environ[name] for name in names), "torchlike" if hasattr(torch, "explain") else torch.__name__, x.item(), *sys.argv[1:]]
# As one piece: with PYTHONUNBUFFERED `print` writes word by word, and the lines of two processes mix.
sys.stdout.write(" ".join(map(str, words)) + "\\n")
if "fail" in sys.argv and dist.get_rank() == 1 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    os._exit(7)
dist.destroy_process_group()
"""


def test_processes_are_started_with_torchruns_variables_and_import_torch(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = launch("--standalone", "--nproc_per_node=2", str(tmp_path / "program.py"), "--lr", "3")
    assert done.returncode == 0, done.stderr
    lines = sorted(line for line in done.stdout.splitlines() if "torchlike" in line)
    assert lines == [f"{rank} {rank} 2 2 0 0 0 torchlike 1.0 --lr 3" for rank in range(2)]


def test_all_are_started_again_after_a_failure_as_often_as_allowed(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    options = ["--nproc-per-node", "2", "--master-port", str(free_port()), "--log-dir", str(tmp_path / "log")]
    done = launch(*options, "--max-restarts", "1", str(tmp_path / "program.py"), "fail")
    assert done.returncode == 0, done.stderr
    assert "FAILED: rank 1 (local rank 1) ended with exit code 7; starting again, 1 restarts are left" in done.stderr
    assert re.findall("2 2 0 [01] 1 torchlike", (tmp_path / "log/0.stdout").read_text())[-1] == "2 2 0 1 1 torchlike"
    begin = time.monotonic()
    done = launch("--standalone", "--nproc-per-node", "2", str(tmp_path / "program.py"), "fail")
    assert done.returncode == 1 and time.monotonic() - begin < 40
    assert "FAILED: rank 1 (local rank 1) ended with exit code 7\n" in done.stderr


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--nproc-per-node", "many", "x.py"], "ValueError: Unsupported nproc_per_node value: many"),
        (["--nnodes", "1:3", "x.py"], "NotImplementedError: torchlike does not support a varying number of machines"),
        (["--rdzv-backend", "etcd", "x.py"], "NotImplementedError: torchlike does not support --rdzv-backend etcd yet"),
    ],
)
def test_what_the_launcher_cannot_do_is_named(words: list[str], error: str) -> None:
    done = launch(*words)
    assert done.returncode == 1 and error in done.stderr
