"""The examples of the page "Take a model out" that need more than torchlike."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("jax2onnx", reason="torchlike[onnx] is not installed: make onnx")
pytestmark = [pytest.mark.recorded, pytest.mark.filterwarnings("default")]

PAGE = Path(__file__).parents[2] / "docs" / "export.md"
BLOCK = re.compile(r"^```py\n(?P<code>.*?)^```\n(?:\n*```text\n(?P<output>.*?)^```$)?", re.MULTILINE | re.DOTALL)


def test_the_page_prints_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    found = list(BLOCK.finditer(PAGE.read_text("utf-8")))
    assert len(found) >= 3
    for block in found:
        exec(compile(block["code"], str(PAGE), "exec"), names)
        assert capsys.readouterr().out == (block["output"] or "")
