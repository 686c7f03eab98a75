"""The page on coverage describes the present names, and the packaged list of PyTorch's names serves errors for missing ones."""

import re
import runpy

import pytest

import torchlike
from tests.api.namespaces import DOCS
from torchlike._missing import pytorch_names

pytestmark = pytest.mark.recorded

COVERAGE = runpy.run_path(str(DOCS / "_coverage.py"))


def test_the_page_is_what_its_script_writes():
    assert (DOCS / "coverage.md").read_text("utf-8") == COVERAGE["page"](), "run: python docs/_coverage.py"


def test_the_table_tells_what_is_there_from_what_is_not(monkeypatch):
    monkeypatch.setitem(pytorch_names(), "torch", ["add", "no_such_name", "ops"])
    monkeypatch.setitem(pytorch_names(), "torch.no_such_module", ["add"])
    table = COVERAGE["table"]()
    assert table["torch"] == {"add": True, "no_such_name": False, "ops": False}
    assert table["torch.no_such_module"] == {"add": False}


def test_what_programs_use_is_there_or_has_a_reason():
    data = COVERAGE["load"]()
    reasons = [name for row in data["reasons"] for name in row["names"]]
    used = {name for names in data["used"].values() for name in names}
    absent = {name for name in used if not COVERAGE["is_there"](name)}
    assert [name for name in sorted(absent) if not COVERAGE["covers"](reasons, name)] == [], (
        "say why in docs/coverage.json"
    )
    assert [name for name in reasons if COVERAGE["is_there"](name)] == [], "a reason for what is there"


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("torch.nn.Linear.forward", True),
        ("torch.utils.data.DataLoader", True),
        ("torch.nn.modules.conv.Conv2d", True),
        ("torch.nn.Lineer", False),
        ("torch.no_such.module", False),
    ],
)
def test_a_name_is_looked_up_as_a_program_would(name, there):
    assert COVERAGE["is_there"](name) is there


def test_a_reason_for_a_namespace_holds_for_all_in_it():
    covers = COVERAGE["covers"]
    assert covers(["torch.fx"], "torch.fx.Graph.nodes") and covers(["torch.fx"], "torch.fx")
    assert not covers(["torch.fx"], "torch.fxx")


@pytest.mark.parametrize("namespace", [name for name in COVERAGE["table"]() if name != "torch.Tensor"])
def test_a_missing_name_says_whether_pytorch_has_it(namespace):
    absent = [name for name, there in COVERAGE["table"]()[namespace].items() if not there and name != "ops"]
    module = COVERAGE["found"](namespace)
    for name in absent[:3] if module is not COVERAGE["ABSENT"] else ():
        with pytest.raises(AttributeError, match=f"'{name}': PyTorch 2.13.0 has it, torchlike does not support it yet"):
            getattr(module, name)


@pytest.mark.parametrize(
    ("namespace", "name", "words"),
    [
        ("torch", "zeross", "module 'torchlike' has no attribute 'zeross'. Near it are: zeros, "),
        ("torch.nn", "Liner", "module 'torchlike.nn' has no attribute 'Liner'. Near it are: Linear, "),
        ("torch.nn.functional", "qqqq", "module 'torchlike.nn.functional' has no attribute 'qqqq'$"),
        ("torch", "__qqqq__", "module 'torchlike' has no attribute '__qqqq__'$"),
        ("torch.optim", "Adamm", "module 'torchlike.optim' has no attribute 'Adamm'. Near it are: Adam, "),
        ("torch.utils", "qqqq", "module 'torchlike.utils' has no attribute 'qqqq'$"),
        ("torch", "__main__", "module 'torchlike' has no attribute '__main__'$"),
    ],
)
def test_a_name_that_nobody_has_shows_near_ones(namespace, name, words):
    module = eval(namespace, {"torch": torchlike})
    with pytest.raises(AttributeError, match=re.escape(words).replace(r"\$", "$")):
        getattr(module, name)
