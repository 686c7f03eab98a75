"""`torch.__version__` compares as a version with texts and tuples, as PyTorch's does."""

import operator

import pytest

import torchlike
from torchlike.torch_version import TorchVersion

pytestmark = pytest.mark.recorded

# In order, as PEP 440 has them.
ORDER = [
    "2.9", "2.13.0.dev20260101", "2.13.0a0+gitabc", "2.13.0a1.dev2", "2.13.0rc1", "2.13.0", "2.13.0+cpu", "2.13.0+torchlike.0.1.0",
    "2.13.0.post1", "1!1.0",
]  # fmt: skip


@pytest.mark.parametrize("text", ORDER)
def test_versions_are_in_order(text):
    version = TorchVersion(text)
    at = ORDER.index(text)
    for compare in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq):
        for other, where in zip(ORDER, range(len(ORDER)), strict=True):
            assert compare(version, other) is compare(at, where), (text, compare, other)


def test_tuples_and_other_spellings():
    version = TorchVersion("2.13.0")
    assert version == "2.13" and version == (2, 13) and version == "v2.13.0" and version > (1, 99) and version < [3]
    assert version != "2.13", "PyTorch compares texts here"
    assert TorchVersion("2.13.0alpha") == "2.13a0" and TorchVersion("2.13.0-1") == "2.13.post1"


def test_what_is_no_version_compares_as_a_text():
    version = TorchVersion("2.13.0")
    assert (version < "parrot") is ("2.13.0" < "parrot") and version != 5 and (version == 5) is False
    with pytest.raises(TypeError, match="'<' not supported between instances of 'TorchVersion' and 'int'"):
        version < 5


def test_a_version_is_a_str():
    assert isinstance(torchlike.__version__, str) and str(torchlike.__version__) == torchlike.version.__version__
    assert hash(TorchVersion("2.13.0")) == hash("2.13.0") and torchlike.__version__ >= "2.13"
