"""The launcher, and the errors of other ranks when one fails, each in processes of its own."""

import importlib.util
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.distributed.processes import with_one_device

pytestmark = pytest.mark.recorded
HERE = Path(__file__).parent
ENVIRONMENT = with_one_device() | {"PYTHONPATH": str(HERE.parents[1])}


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


@pytest.mark.costly
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
    options = [
        "--nproc-per-node",
        "2",
        "--master-port",
        str(free_port()),
        "--log-dir",
        str(tmp_path / "log"),
        "--tee",
        "0:3",
    ]
    done = launch(*options, "--max-restarts", "1", str(tmp_path / "program.py"), "fail")
    assert done.returncode == 0, done.stderr
    assert "FAILED: rank 1 (local rank 1) ended with exit code 7; starting again, 1 restarts are left" in done.stderr
    for attempt in range(2):
        (log,) = (tmp_path / "log").glob(f"*/attempt_{attempt}/0/stdout.log")
        assert (
            f"0 0 2 2 0 {attempt} 1 torchlike" in log.read_text() and f"[default0]:0 0 2 2 0 {attempt} 1" in done.stdout
        )
    begin = time.monotonic()
    done = launch("--standalone", "--nproc-per-node", "2", str(tmp_path / "program.py"), "fail")
    assert done.returncode == 1 and time.monotonic() - begin < 40
    assert "FAILED: rank 1 (local rank 1) ended with exit code 7\n" in done.stderr


# ---- without torch, so that the processes start at once

PRINTING = """
import os, sys
rank = os.environ["RANK"]
if "variables" in sys.argv:
    sys.stdout.write("".join(f"{rank} {name}={value}\\n" for name, value in sorted(os.environ.items())))
else:
    sys.stdout.write(f"out {rank}\\n")
    sys.stderr.write(f"err {rank}\\n")
"""
FREE = {"MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_ERROR_FILE"}


def variables(done: Any) -> set[str]:
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if re.match(r"\d \w+=", line)]
    return {line.split("=")[0] if line.split()[1].split("=")[0] in FREE else line for line in lines}


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("words", [[], ["--standalone", "--role", "trainer", "--max-restarts", "3"]])
def test_processes_find_the_variables_that_torchrun_sets(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PRINTING)
    given = ["--nproc-per-node", "2", *words, "--no-python", sys.executable, str(tmp_path / "program.py"), "variables"]
    command = [sys.executable, "-m", "torch.distributed.run", *given]
    theirs = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=55)
    missing = variables(theirs) - variables(launch(*given))
    assert not {each for each in missing if not re.match(r"\d (_|SHLVL)=", each)}


@pytest.mark.costly
@pytest.mark.parametrize(
    ("words", "console", "files"),
    [
        ([], "err 0,err 1,out 0,out 1", ""),
        (["-r", "3"], "", "0/stderr,0/stdout,1/stderr,1/stdout"),
        (["--redirects", "0:1,1:2"], "err 0,out 1", "0/stdout,1/stderr"),
        (["-t", "3"], "[default0]:err 0,[default0]:out 0,[default1]:err 1,[default1]:out 1", "0/stderr,0/stdout,1/stderr,1/stdout"),
        (["--tee", "1:3", "--role", "w"], "[w1]:err 1,[w1]:out 1,err 0,out 0", "1/stderr,1/stdout"),
        (["--local-ranks-filter", "0"], "err 0,out 0", ""),
        (["--local_ranks_filter", "0", "-t", "3"], "[default0]:err 0,[default0]:out 0", "0/stderr,0/stdout,1/stderr,1/stdout"),
    ],
)  # fmt: skip
def test_output_goes_where_torchrun_sends_it(words: list[str], console: str, files: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PRINTING)
    log = tmp_path / "log"
    program = ["--no-python", sys.executable, str(tmp_path / "program.py")]
    done = launch("--nproc-per-node", "2", "--log-dir", str(log), *words, *program)
    assert done.returncode == 0, done.stderr
    assert ",".join(sorted((done.stdout + done.stderr).splitlines())) == console
    written = sorted("/".join(path.with_suffix("").parts[-2:]) for path in log.glob("*/attempt_0/*/std*.log"))
    assert ",".join(written) == files
    for path in log.glob("*/attempt_0/*/std*.log"):
        assert path.read_text() == f"{path.stem[3:]} {path.parent.name}\n"


def test_the_exception_of_a_recorded_function_is_reported(tmp_path: Path) -> None:
    lines = (
        "from torch.distributed.elastic.multiprocessing.errors import record",
        "@record",
        "def main():",
        " raise ValueError('mine')",
        "main()",
    )
    (tmp_path / "program.py").write_text("\n".join(lines))
    done = launch("--redirects", "3", "--log-dir", str(tmp_path), str(tmp_path / "program.py"))
    assert done.returncode == 1
    assert re.search(
        r"(?s)FAILED: rank 0 \(local rank 0\) ended with exit code 1\nTraceback.*ValueError: mine", done.stderr
    )


def test_options_may_stand_in_the_environment(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "program.py").write_text(PRINTING)
    monkeypatch.setitem(ENVIRONMENT, "PET_NPROC_PER_NODE", "2")
    monkeypatch.setitem(ENVIRONMENT, "PET_NO_PYTHON", "1")
    assert sorted(launch(sys.executable, str(tmp_path / "program.py")).stdout.splitlines()) == ["out 0", "out 1"]


# ---- several launchers


def launched(*words: str) -> Any:
    command = [sys.executable, "-m", "torchlike.distributed.run", *words]
    return subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def together(launchers: list[Any]) -> list[tuple[int, str, str]]:
    """Exit codes and outputs of launchers."""
    try:
        return [(each.wait(55), *each.communicate()) for each in launchers]
    finally:
        for each in launchers:
            each.terminate()  # it ends its processes


@pytest.mark.parametrize("backend", ["static", "c10d"])
def test_two_launchers_form_one_world(backend: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    port = free_port()
    words = ["--nnodes", "2", "--nproc-per-node", "2", "--rdzv-id", "run"]
    where = ["--master-addr", "localhost", "--master-port", str(port)]
    if backend == "c10d":
        where = ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"localhost:{port}"]
    ranks = [["--node-rank", str(node)] if backend == "static" else [] for node in (1, 0)]
    ended = together([launched(*words, *where, *rank, str(tmp_path / "program.py")) for rank in ranks])
    assert [code for code, _, _ in ended] == [0, 0], ended
    found = [{line for line in out.splitlines() if "torchlike" in line} for _, out, _ in ended]
    worlds = [{f"{2 * node + local} {local} 4 2 {node} 0 0 torchlike 6.0" for local in range(2)} for node in range(2)]
    assert found in (worlds, worlds[::-1])


def test_a_failure_starts_the_processes_of_all_launchers_again(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    words = ["--nnodes", "2", "--nproc-per-node", "1", "--max-restarts", "1", "--rdzv-backend", "c10d"]
    words += ["--rdzv-endpoint", f"localhost:{free_port()}", str(tmp_path / "program.py"), "fail"]
    ended = together([launched(*words), launched(*words)])
    assert [code for code, _, _ in ended] == [0, 0], ended
    for rank in range(2):
        for attempt in range(2):
            assert sum(f"{rank} 0 2 1 {rank} {attempt} 1 torchlike 1.0" in out for _, out, _ in ended) == 1
    assert sum("rank 1 (local rank 0) ended with exit code 7; starting again" in err for _, _, err in ended) >= 1


WAITING = """
import os, sys, time
sys.stdout.write(f"{os.getpid()}\\n")
sys.stdout.flush()
time.sleep(50)
"""


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ("terminate", "FAILED: the launcher of machine 0 has ended: SystemExit"),
        ("kill", r"FAILED: the launcher at 127.0.0.1:\d+ has ended"),
    ],
)
def test_a_launcher_whose_fellow_ends_ends_too(end: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(WAITING)
    given = [
        "--nnodes",
        "2",
        "--master-port",
        str(free_port()),
        "--no-python",
        sys.executable,
        str(tmp_path / "program.py"),
    ]
    first, second = launched(*given), launched("--node-rank", "1", *given)
    _ = [each.stdout.readline() for each in (first, second)]
    getattr(first, end)()
    (code, _, error), (stopped, _, _) = together([second, first])
    assert code == 1 and re.search(words, error), error
    assert stopped in (128 + 15, -9)


def test_a_run_begins_with_the_machines_that_have_come(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PRINTING)
    words = ["--nnodes", "1:3", "--rdzv-backend", "c10d", "--rdzv-endpoint", f"localhost:{free_port()}"]
    words += ["--rdzv-conf", "last_call_timeout=2", "--no-python", sys.executable, str(tmp_path / "program.py")]
    ended = together([launched(*words), launched(*words)])
    assert sorted((code, out) for code, out, _ in ended) == [(0, "out 0\n"), (0, "out 1\n")], ended


@pytest.mark.costly
@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--nproc-per-node", "many", "x.py"], "ValueError: Unsupported nproc_per_node value: many"),
        (["--nnodes", "1:3", "x.py"], "ValueError: The static rendezvous needs a fixed number of machines"),
        (["--nnodes", "3:2", "x.py"], "AssertionError: min_nodes must be > 0 and <= max_nodes, got min_nodes=3, max_nodes=2"),
        (["--nnodes", "1:2:3", "x.py"], 'RuntimeError: nnodes=1:2:3 is not in "MIN:MAX" format'),
        (["--nnodes", "2", "--rdzv-backend", "c10d", "x.py"], "ValueError: The rendezvous of several machines needs --rdzv-endpoint"),
        (["--rdzv-backend", "bad", "x.py"], "ValueError: The rendezvous backend 'bad' is not registered. Did you forget to call"),
        (["--rdzv-conf", "a", "x.py"], "ValueError: The rendezvous configuration option 'a' must have a value specified."),
        (["-r", "9", "x.py"], r"ValueError: 9 does not match: <^[0123]$> or <^(\d:[0123],)*(\d:[0123])$>"),
        (["--no-python", "-m", "x"], "ValueError: Don't use both the '--no-python' flag and the '--module' flag at the same time."),
        (["--numa-binding", "node", "x.py"], "NotImplementedError: torchlike does not support --numa-binding yet"),
        (["--rdzv-backend", "etcd", "x.py"], "NotImplementedError: torchlike does not support --rdzv-backend etcd yet"),
    ],
)  # fmt: skip
def test_what_the_launcher_cannot_do_is_named(words: list[str], error: str) -> None:
    done = launch(*words)
    assert done.returncode == 1 and error in done.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux ends a process with its parent")
def test_processes_end_with_a_launcher_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(WAITING)
    launcher = launched("--nproc-per-node", "2", "--no-python", sys.executable, str(tmp_path / "program.py"))
    numbers = [int(launcher.stdout.readline()) for _ in range(2)]
    launcher.kill()
    launcher.communicate(timeout=10)
    deadline = time.monotonic() + 10

    def is_running(number: int) -> bool:
        try:
            state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return False
        return state != "Z"

    while any(map(is_running, numbers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_running, numbers))
