"""`python -m torchlike` runs programs as Python does: arguments, paths, `__main__`, errors, exit codes."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from torchlike.version import __version__

pytestmark = [pytest.mark.recorded, pytest.mark.skipif(not hasattr(os, "fork"), reason="the cases are forked")]
ROOT = Path(__file__).parents[1]

SHOW = """
import sys, warnings
class Own: "Found by pickle."
print(sorted(set(globals()) - {"sys", "warnings"}), __name__, __file__, __package__, __spec__ and __spec__.name, type(__loader__).__name__)
print(sys.argv, sys.path[0], Own, sys.modules["__main__"].Own is Own)
warnings.warn("seen", stacklevel=1)
"""
FILES = {
    "show.py": SHOW,
    "package/__init__.py": "",
    "package/__main__.py": SHOW,
    "package/fails.py": "def f():\n    raise KeyError('x')\n\n\nif __name__ == '__main__':\n    f()\n",
    "fails.py": "def f():\n    1 / 0\n\n\ntry:\n    f()\nexcept ZeroDivisionError as error:\n    raise ValueError('later') from error\n",
    "syntax.py": "x = = 3\n",
    "exits.py": "raise SystemExit(3)\n",
    "says.py": "import sys\nsys.exit('words')\n",
    "stops.py": "import atexit\natexit.register(print, 'at exit')\nraise KeyboardInterrupt\n",
    "hook.py": "import sys\nsys.excepthook = lambda kind, value, trace: print(kind, value, trace.tb_frame.f_code.co_name)\n1 / 0\n",
    "deep/child.py": "import sys\nprint(sys.path[0])\n",
}
CASES = [
    ["show.py", "-h", "--flag", "x"],
    ["./package/../show.py"],
    ["package", "a"],
    ["archive.zip", "b"],
    ["-m", "package", "c"],
    ["-m", "package.fails"],
    ["-m", "package.missing"],
    ["-c", "import sys; print(sys.argv, repr(sys.path[0]), __name__, sorted(globals())); 1 / 0", "-c"],
    ["-", "d"],
    ["fails.py"],
    ["syntax.py"],
    ["exits.py"],
    ["says.py"],
    ["stops.py"],
    ["hook.py"],
    ["deep/child.py"],
]
INPUT = "import sys; print(sys.argv, repr(sys.path[0]), __name__)\nraise OSError('read from the input')\n"

# Imports torchlike once and runs each case in a fork, so that an exception leaves the process as it leaves the runner's.
DRIVER = """
import gc, json, os, sys
from torchlike import _runner
gc.freeze()  # or each fork, when it ends, looks at a million objects
cases, codes = json.loads(sys.argv[1]), []
for number, case in enumerate(cases):
    child = os.fork()
    if not child:
        for at, name in enumerate(("in", "out", "err")):
            os.dup2(os.open(f"{number}.{name}", os.O_RDWR | os.O_CREAT), at)
        sys.argv[1:] = case
        _runner.main()
        break
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
else:
    print(json.dumps(codes))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    for name, text in FILES.items():
        folder.joinpath(name).parent.mkdir(exist_ok=True)
        folder.joinpath(name).write_text(text)
    with zipfile.ZipFile(folder / "archive.zip", "w") as archive:
        archive.writestr("__main__.py", SHOW)
    return folder


@pytest.fixture(scope="module")
def outcomes(folder) -> list[tuple[int, str, str]]:
    """Returns exit code, output and error output of each case, and of the runner's own options."""
    cases = [*CASES, ["--help"], ["--version"], ["--unknown"], ["-m"], ["missing.py"]]
    for number in range(len(cases)):
        (folder / f"{number}.in").write_text(INPUT)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", DRIVER, json.dumps(cases)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr
    texts = [[(folder / f"{n}.{name}").read_text() for name in ("out", "err")] for n in range(len(cases))]
    return [(code, *text) for code, text in zip(json.loads(done.stdout), texts, strict=True)]


@pytest.mark.costly
@pytest.mark.parametrize("number", range(len(CASES)), ids=[" ".join(case)[:20] for case in CASES])
def test_a_program_ends_as_under_python(folder, outcomes, number):
    command = [sys.executable, *CASES[number]]
    expected = subprocess.run(command, capture_output=True, text=True, cwd=folder, input=INPUT, timeout=60)
    assert outcomes[number] == (expected.returncode, expected.stdout, expected.stderr)


def test_the_runners_own_options(outcomes):
    (helped, text, _), (versioned, version, _), unknown, lacking, missing = outcomes[len(CASES) :]
    assert (
        helped == versioned == 0
        and text.startswith("usage: torchlike [-h]")
        and version == f"torchlike {__version__}\n"
    )
    assert unknown[0] == lacking[0] == missing[0] == 2
    assert unknown[2].startswith("Unknown option: --unknown\nusage: ") and lacking[2].startswith(
        "Argument expected for the -m"
    )
    assert missing[2].startswith("torchlike: can't open file ") and missing[2].endswith(
        "[Errno 2] No such file or directory\n"
    )
