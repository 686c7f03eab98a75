"""Runs the pages of the documentation as programs: each ```python block must print the ```text block below it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.recorded

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    page for page in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")] if "```python" in page.read_text("utf-8")
)

BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n*```text\n(?P<output>.*?)^```$)?", re.MULTILINE | re.DOTALL)

# Runs in a process of its own, so that a page finds the engine in the state in which a reader does: new, and in the default mode.
RUNNER = """
import contextlib, io, json, sys
shown, names = [], {"__name__": "__main__"}
for number, code in json.load(sys.stdin):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile("\\n" * number + code, sys.argv[1], "exec"), names)
    shown.append(out.getvalue())
json.dump(shown, sys.stdout)
"""


def blocks(text: str) -> list[tuple[int, str, str]]:
    """Returns the line, the code and the expected output of each block."""
    return [
        (text.count("\n", 0, found.start("code")), found["code"], found["output"] or "")
        for found in BLOCK.finditer(text)
    ]


def outputs(page: Path, codes: list[tuple[int, str]]) -> list[str]:
    """Returns what the blocks of a page print when they run in order."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", RUNNER, str(page)],
        input=json.dumps(codes),
        capture_output=True,
        text=True,
        timeout=300,
        cwd=ROOT,
        env={
            name: value for name, value in os.environ.items() if name not in ("TORCHLIKE_OP_BY_OP", "TORCHLIKE_COMPILE")
        },
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.costly
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_prints_what_it_says(page):
    found = blocks(page.read_text("utf-8"))
    shown = outputs(page, [(number, code) for number, code, _ in found])
    for (number, code, wanted), out in zip(found, shown, strict=True):
        assert out == wanted, f"{page.name}, line {number}:\n{code}"


def test_the_reader_of_pages_sees_blocks_with_and_without_output():
    text = "a\n\n```python\nx = 1\n```\n\nb\n\n```python\nprint(x)\n```\n\n```text\n1\n```\n"
    assert blocks(text) == [(3, "x = 1\n", ""), (9, "print(x)\n", "1\n")]
    assert outputs(Path("page.md"), [(3, "x = 1\n"), (9, "print(x + 1)\n")]) == ["", "2\n"]
    with pytest.raises(AssertionError, match=r'page\.md", line 10'):
        outputs(Path("page.md"), [(9, "1 / 0\n")])
