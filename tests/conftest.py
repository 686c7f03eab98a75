"""The fixture for PyTorch's answers: the golden files of this repository, or files that PyTorch has just written."""

import json
from pathlib import Path
from typing import Any

import numpy
import pytest

HERE = Path(__file__).parent
GOLDEN = HERE / "golden"

# These modules import PyTorch. They run if it is installed, and never together with other tests.
collect_ignore_glob = ["golden/*"]


def read_golden(name: str, folder: Path = GOLDEN) -> dict[str, Any]:
    """Returns the content of `<name>.npz` (arrays by name) or `<name>.json`."""
    arrays, words = folder / f"{name}.npz", folder / f"{name}.json"
    if arrays.exists():
        with numpy.load(arrays, allow_pickle=False) as file:
            return dict(file)
    return json.loads(words.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def golden(request: pytest.FixtureRequest):
    """`golden("optim")` returns the content of the golden file of that name: see ``--golden``."""
    fresh = Path(request.config.getoption("golden") or GOLDEN)
    # Files that not every recorder writes are read from here, such as those of torchvision's models.
    return lambda name: read_golden(name, fresh if [*fresh.glob(f"{name}.*")] else GOLDEN)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With ``--golden``, keeps only the tests that compare with PyTorch: those of tests/compare, and those with golden files."""
    if config.getoption("golden") is None:
        return
    kept, others = [], []
    for item in items:
        compares = HERE / "compare" in item.path.parents or "golden" in getattr(item, "fixturenames", ())
        (kept if compares else others).append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = kept
