"""A fixture for what the programs of these tests print, without addresses."""

import re
from collections.abc import Callable

import pytest


@pytest.fixture
def printed(capsys) -> Callable[[], str]:
    """`printed()` returns what was printed since it was called last."""

    def read() -> str:
        return re.sub(r"0x[0-9a-fA-F]+", "0x", capsys.readouterr().out)

    return read
