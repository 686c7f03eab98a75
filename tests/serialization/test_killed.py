"""A save that is killed leaves the old file and a temporary one; the next save to that name removes it unless it is in use."""

import os
import subprocess
import sys

import pytest

import torchlike as torch
from torchlike.serialization._replacement import Replacement

pytestmark = pytest.mark.recorded

KILLED = """
import os, signal, sys
import torchlike as torch
os.fsync = lambda number: os.kill(os.getpid(), signal.SIGKILL)  # all is written, and has not taken the old file's place
torch.save(torch.ones(5), sys.argv[1])
"""


def test_the_next_save_removes_what_a_killed_one_has_left(tmp_path):
    path = tmp_path / "x.pt"
    torch.save("old", path)
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False, timeout=120)
    assert done.returncode == -9
    assert len(os.listdir(tmp_path)) == 2
    assert torch.load(path) == "old"
    torch.save("new", path)
    assert torch.load(path) == "new"
    assert os.listdir(tmp_path) == ["x.pt"]


def test_a_save_leaves_alone_what_another_one_is_writing(tmp_path):
    path = tmp_path / "x.pt"
    with Replacement(str(path)) as file:
        file.write(b"slow")
        torch.save("quick", path)
        assert torch.load(path) == "quick"
    assert path.read_bytes() == b"slow"
    assert os.listdir(tmp_path) == ["x.pt"]


def test_a_file_that_is_taken_away_before_it_is_locked_is_made_anew(tmp_path, monkeypatch):
    from torchlike.serialization import _replacement

    lock, taken = _replacement._lock, []

    def late(file):
        if not taken:
            taken.append(os.remove(file.name))
        return lock(file)

    monkeypatch.setattr(_replacement, "_lock", late)
    torch.save([1], tmp_path / "x.pt")
    assert taken == [None]
    assert torch.load(tmp_path / "x.pt") == [1]
    assert os.listdir(tmp_path) == ["x.pt"]


@pytest.mark.parametrize("name", ["x.pt.backup.tmp", "x.pt.1.tmp", "other.pt.12.ab.tmp", "x.pt.12.ab.tmp.gz"])
def test_files_of_other_names_are_nobodys_business(tmp_path, name):
    (tmp_path / name).touch()
    torch.save(1, tmp_path / "x.pt")
    assert sorted(os.listdir(tmp_path)) == sorted(["x.pt", name])
