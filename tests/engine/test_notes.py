"""What ran as a program in an earlier process runs as one from its first sight on, if the program lies on disk still."""

import jax
import pytest
from jax.experimental.compilation_cache import compilation_cache

import torchlike as torch
from torchlike import nn
from torchlike.dispatch.apply import forget_kernels
from torchlike.engine import compiling, forget, recorder, tiers
from torchlike.engine.disk import programs as disk
from torchlike.engine.disk.traces import settings

pytestmark = pytest.mark.recorded


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(disk.VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(tiers, "COMPILE_SECONDS", 0.004)
    monkeypatch.setattr(tiers, "COMPILE_SECONDS_PER_CALL", 0.0)
    jax.config.update("jax_enable_compilation_cache", False)
    compilation_cache.reset_cache()
    yield tmp_path / "cache" / "programs"
    jax.config.update("jax_enable_compilation_cache", True)
    compilation_cache.reset_cache()
    disk._Found.names = None
    settings.clear()


def process(count: int = 60) -> tuple[list[float], list[bool]]:
    """The losses of training steps as in a new process, and which of the steps ran as one program."""
    recorder().flush("a process begins")
    forget()
    # Kernels know where runs of known operations have begun, in other tests too, and paths end there.
    forget_kernels("a test's process", "any")
    disk._Found.names = None
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    x, y = torch.randn(32, 8), torch.randn(32, 1)
    losses, hot = [], []
    torch.explain(reset=True)
    with compiling("auto"):
        for _ in range(count):
            before = torch.explain().hot
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            hot.append(torch.explain().hot > before)
    return losses, hot


def test_a_program_that_ran_is_read_when_its_path_comes_first(folder):
    losses, hot = process()
    first = hot.index(True)
    assert first > 5
    again, hot = process()
    assert all(hot[3:]) and torch.explain().loads >= 1, "the first steps are paths of their own"
    assert again == pytest.approx(losses, rel=1e-4)
    assert process() == (again, hot), "the same bits each time from then on"


def test_what_was_compiled_and_never_ran_is_not_read(folder):
    hot = process(60)[1]
    for entry in [*folder.glob("*.note")]:
        entry.unlink()
    count = hot.index(True)  # too few rounds for the program
    torch.explain(reset=True)
    assert not any(process(count)[1])
    assert not any(process(count)[1]) and not [*folder.glob("*.note")]
    assert torch.explain().compiles == 0


@pytest.mark.costly
@pytest.mark.parametrize("harm", ["no program", "empty note", "wrong note", "another program"])
def test_a_note_that_is_wrong_changes_nothing(folder, harm, monkeypatch):
    expected = process()
    (note, *_), entries = [*folder.glob("*.note")], [*folder.glob("*.program")]
    if harm == "no program":
        for entry in entries:
            entry.unlink()
    elif harm == "another program":  # what is on disk was made for another processor
        monkeypatch.setattr(disk, "surroundings", lambda: "another processor")
    else:
        for note in folder.glob("*.note"):
            note.write_bytes(b"" if harm == "empty note" else b"torchlike program 2\n../../elsewhere.program")
    assert process() == expected
    again = process()[1]
    assert all(again[3:]), "noted anew"


def test_paths_that_differ_have_notes_of_their_own():
    def name(size: int, key: tuple[int, ...]) -> str:
        y = (torch.ones(size) + 1).exp()
        segment = y._value().segment
        path = segment.cursor.path()  # type: ignore[union-attr]
        y.tolist()
        return disk._name(path, key)

    with compiling("never"):
        names = {name(3, (1,)), name(4, (1,)), name(3, (2,))}
        assert len(names) == 3 and name(3, (1,)) in names
