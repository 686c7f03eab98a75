"""Two and four processes: collectives, groups, messages and training give what PyTorch's with Gloo give."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.distributed.processes import Processes
from tests.distributed.rows import ROWS

pytestmark = pytest.mark.recorded


@pytest.fixture(scope="module", params=[2, 4])
def world(request: pytest.FixtureRequest) -> Iterator[Processes]:
    processes = Processes(request.param)
    yield processes
    processes.close()


def close(mine: Any, theirs: Any) -> bool:
    """Equal, numbers to six digits."""
    if isinstance(theirs, dict):
        return mine.keys() == theirs.keys() and all(close(mine[key], theirs[key]) for key in theirs)
    if isinstance(theirs, (list, tuple)):
        return len(mine) == len(theirs) and all(map(close, mine, theirs))
    if isinstance(theirs, float):
        return mine == pytest.approx(theirs, rel=2e-6, abs=2e-6)
    return mine == theirs


def words(thing: Any) -> Any:
    """As JSON has it."""
    if isinstance(thing, dict):
        return {str(key): words(value) for key, value in thing.items()}
    return [words(each) for each in thing] if isinstance(thing, (list, tuple)) else thing


@pytest.mark.parametrize("row", ROWS)
def test_processes_together_give_what_pytorchs_give(world: Processes, row: str, golden: Any) -> None:
    name, *arguments = ROWS[row]
    mine = words(world.run(name, *arguments))
    theirs = golden("distributed")[f"{len(world.members)}/{row}"]
    for rank, (answer, expected) in enumerate(zip(mine, theirs, strict=True)):
        for key in expected:
            assert close(answer[key], expected[key]), f"rank {rank}, {key}: {answer[key]} instead of {expected[key]}"
