"""Extension modules: when they are used, that they are complete, and that they compute what the Python files compute."""

import ast
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import torchlike
from torchlike import _extensions

pytestmark = pytest.mark.recorded
PACKAGE = Path(_extensions.PACKAGE)
with_declarations = pytest.mark.skipif(not any(PACKAGE.rglob("*.pxd")), reason="a wheel has no files .pxd")
TRAINS = """
import sys
import torchlike as torch
from torchlike import _extensions
recorder = sys.modules["torchlike.engine.recorder"]
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
x, y = torch.randn(5, 3), torch.tensor([0, 1, 1, 0, 1])
losses = []
for _ in range(5):
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.item())
print(_extensions.enabled, recorder.__file__.endswith(".py"), losses)
"""


IN_EVERY_OBJECT = {"__dict__", "__weakref__"}


def declared_types(path: Path, name: str) -> set[str]:
    """The fields that a ``.pxd`` file declares of a class."""
    (body,) = re.findall(rf"cdef class {name}(?:\(\w+\))?:\n((?:    .*\n)+)", path.read_text())
    lines = [re.sub(r"^\s*cdef (public )?\w+", "", line) for line in body.splitlines()]
    return {field.strip() for line in lines for field in line.split(",")} - IN_EVERY_OBJECT


def fields_in_python(path: Path, name: str) -> set[str]:
    """The fields of a class without a value of the class: its slots, or else what it annotates."""
    body = next(n.body for n in ast.parse(path.read_text()).body if isinstance(n, ast.ClassDef) and n.name == name)
    slots = [n.value for n in body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "__slots__"]
    annotated = [ast.unparse(n.target) for n in body if isinstance(n, ast.AnnAssign) and n.value is None]
    names = set(ast.literal_eval(slots[0])) - IN_EVERY_OBJECT if slots else set[str]()
    return names or set(annotated)


@with_declarations
@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("engine/value", "Value"),
        ("engine/trace", "Operation"),
        ("engine/trace", "TraceNode"),
        ("engine/segment", "Segment"),
        ("_core/attributes", "Contents"),
        ("_core/attributes", "Fields"),
        ("_core/node", "AccumulateGrad"),
        ("_core/node", "Node"),
        ("_core/node", "RuleFields"),
        ("dispatch/apply", "Dispatcher"),
        ("nn/_member", "Member"),
    ],
)
def test_each_field_of_a_compiled_class_is_declared(module, name):
    in_python = fields_in_python(PACKAGE / f"{module}.py", name)
    assert in_python
    assert in_python == declared_types(PACKAGE / f"{module}.pxd", name)


@with_declarations
def test_each_compiled_class_is_compared():
    compared = set(test_each_field_of_a_compiled_class_is_declared.pytestmark[0].args[1])
    declared = {
        (str(path.relative_to(PACKAGE).with_suffix("")), name)
        for path in PACKAGE.rglob("*.pxd")
        for name in re.findall(r"cdef class (\w+)", path.read_text())
    }
    assert compared == declared


@pytest.fixture
def copy(tmp_path):
    """The list by itself, over a copy of the files that it names, and a record that belongs to them."""
    for source in _extensions.sources():
        (target := tmp_path / "torchlike" / Path(source).relative_to(PACKAGE)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
    spec = importlib.util.spec_from_file_location("a_copy", tmp_path / "torchlike" / "_extensions" / "__init__.py")
    assert spec is not None and spec.loader is not None
    copied = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(copied)
    assert not copied.enabled
    os.makedirs(copied.FOLDER)
    files = {name: f"{name}.so" for name in copied.MODULES}
    Path(copied.RECORD).write_text(json.dumps({"made_of": copied.digests(), "files": files}))
    return copied


def test_they_are_found_for_the_files_of_which_they_were_made(copy):
    assert copy.built() == {f"torchlike.{name}": os.path.join(copy.FOLDER, f"{name}.so") for name in copy.MODULES}
    spec = copy.Finder(copy.built()).find_spec("torchlike.engine.recorder")
    assert spec.name == "torchlike.engine.recorder" and spec.origin == os.path.join(copy.FOLDER, "engine.recorder.so")
    assert copy.Finder(copy.built()).find_spec("torchlike.engine.tiers") is None


@pytest.mark.parametrize("number", range(len(_extensions.sources())))
def test_an_edit_of_any_file_makes_all_of_them_unused(copy, number):
    with open(copy.sources()[number], "a") as file:
        file.write("\n")
    assert copy.built() == {}


def test_an_installed_package_has_no_declarations_of_types_and_no_c(copy):
    for path in copy.sources():
        if not path.endswith(".py"):
            os.remove(path)
    assert copy.built() != {}
    os.remove(next(path for path in copy.sources() if path.endswith("trace.py")))
    assert copy.built() == {}


def test_a_new_declaration_makes_all_of_them_unused(copy):
    (name,) = [path for path in copy.sources() if path.endswith("optim/_update.py")]
    Path(name).with_suffix(".pxd").write_text("")
    assert copy.built() == {}


@pytest.mark.parametrize("record", ["", "{", "[]", "{}", '{"made_of": "0"}', '{"made_of": {}}'])
def test_an_unfinished_build_is_not_used(copy, record):
    Path(copy.RECORD).write_text(record)
    assert copy.built() == {}
    os.remove(copy.RECORD)
    assert copy.built() == {}


def test_training_is_the_same_with_and_without_them():
    if not _extensions.built():
        pytest.skip("there are no extension modules of these files here: make extensions")
    outputs = []
    for wanted in ("0", ""):
        environment = {**os.environ, "TORCHLIKE_EXTENSIONS": wanted}
        run = subprocess.run(
            [sys.executable, "-c", TRAINS], capture_output=True, text=True, env=environment, check=True
        )
        outputs.append(run.stdout.split(maxsplit=2))
    assert [output[:2] for output in outputs] == [["False", "True"], ["True", "False"]]
    assert outputs[0][2] == outputs[1][2]


def test_where_there_is_a_compiler_installing_the_package_makes_them():
    """In CI alone, since an edit makes them old until they are made again."""
    if "CI" not in os.environ or os.environ.get("TORCHLIKE_EXTENSIONS") == "0" or shutil.which("gcc") is None:
        pytest.skip("no fresh installation with a compiler")
    assert _extensions.built() != {}


def test_a_warning_of_the_backward_pass_names_the_line_of_the_program():
    x = torchlike.tensor(2.0, requires_grad=True)
    with pytest.warns(UserWarning, match="create_graph=True") as caught:
        (x * x).backward(create_graph=True)
    assert caught[0].filename == __file__
