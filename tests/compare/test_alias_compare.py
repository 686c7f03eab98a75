"""Where `import torch` means torchlike, plain pickles are PyTorch's, in both directions; versions compare as PyTorch's do."""

import operator
import subprocess
import sys
from pathlib import Path

import pytest

from torchlike.torch_version import TorchVersion as Ours

TorchVersion = pytest.importorskip("torch.torch_version").TorchVersion

pytestmark = pytest.mark.compare
HERE = Path(__file__).parent
COMMANDS = {"torchlike": [sys.executable, "-m", "torchlike"], "torch": [sys.executable]}
VERSIONS = [
    "2.13.0", "2.13", "2.13.0+cpu", "2.13.0a0+gitabc", "2.13.0.dev20260101", "2.13.0rc1", "2.13.0.post1", "2.9", "1!1.0", "parrot", "",
    "2.13.0-1", "v2.13", "2.13.0alpha", "2.13.0a1.dev2",
]  # fmt: skip


@pytest.mark.parametrize(
    ("writer", "reader"), [("torchlike", "torch"), ("torch", "torchlike"), ("torchlike", "torchlike")]
)
def test_pickles(writer, reader, tmp_path):
    for framework, action in ((writer, "write"), (reader, "read")):
        command = [*COMMANDS[framework], str(HERE / "pickled.py"), action, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=HERE.parents[1])
        assert (done.returncode, done.stdout) == (0, ""), done.stderr + done.stdout


@pytest.mark.parametrize("text", VERSIONS)
def test_versions(text):
    def outcome(version, other, compare):
        try:
            return compare(version, other)
        except Exception as error:
            return type(error)

    for compare in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
        for other in [*VERSIONS, (2, 13), (2, 13, 0), [2, 9], (2, "x"), 5, None, 2.13]:
            assert outcome(Ours(text), other, compare) == outcome(TorchVersion(text), other, compare), (compare, other)
