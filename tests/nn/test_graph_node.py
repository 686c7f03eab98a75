"""Modules work with flax, whether flax is imported after them or never."""

import subprocess
import sys

import pytest

from torchlike.nn._after_import import after_import

pytestmark = pytest.mark.recorded


def run(program: str, *folders: str) -> list[str]:
    """Runs code in a new interpreter and returns the lines that it prints."""
    done = subprocess.run([sys.executable, "-c", program, *folders], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


EARLY_CLASSES = """
import sys
import torchlike as torch

class Early(torch.nn.Linear):
    pass

class Silent(torch.nn.Linear):
    def __init_subclass__(cls, **kwargs):  # does not call super()
        pass

class Heir(Silent):
    pass

models = [torch.nn.Sequential(Early(2, 2), torch.nn.ReLU()), Silent(2, 2), Heir(2, 2)]
print("flax" in sys.modules, hasattr(models[0], "sow"))

from flax import nnx

class Late(torch.nn.Linear):
    pass

for model in [*models, Late(2, 2)]:
    graph, state = nnx.split(model)
    weight = next(v for k, v in nnx.to_flat_state(state) if k[-1] == "weight")
    print(isinstance(model, nnx.Module), type(nnx.merge(graph, state)).__name__, weight.shape, hasattr(model, "sow"))
"""


def test_flax_knows_the_classes_that_were_there_before_it_was_imported():
    names = ["Sequential", "Silent", "Heir", "Late"]
    assert run(EARLY_CLASSES) == ["False False", *(f"True {name} (2, 2) True" for name in names)]


@pytest.mark.costly
@pytest.mark.parametrize("first", ["torchlike.nn._foreign_module", "torchlike.nn._graph", "flax", "flax.nnx"])
def test_the_adapter_can_be_imported_in_any_order(first):
    program = f"""
import torchlike as torch
import {first}
from flax import nnx
import torchlike.nn._foreign_module
print(isinstance(torch.nn.Linear(1, 1), nnx.Module), torch.nn.Sequential(nnx.Linear(1, 1, rngs=nnx.Rngs(0))))
"""
    assert run(program) == ["True Sequential(", "  (0): Flax(Linear)", ")"]


def test_training_imports_no_flax():
    program = """
import sys
import torchlike as torch
model = torch.nn.Linear(2, 2)
model.none = object()  # __setattr__ asks whether it is a flax module
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
model(torch.ones(1, 2)).sum().backward()
optimizer.step()
model.load_state_dict(model.state_dict())
print("flax" in sys.modules, "optax" in sys.modules)
"""
    assert run(program) == ["False True"]


AFTER_IMPORT = """
import inspect, sys
from torchlike.nn._after_import import after_import
sys.path.insert(0, sys.argv[1])
calls = []
finders = len(sys.meta_path)
after_import("package.module", lambda: calls.append(sys.modules["package.module"].value))
import package
print(calls)
try:
    import package.module
except ValueError:
    print(calls, "package.module" in sys.modules)
package.ready = True
import package.module
import package.module as again
print(calls, len(sys.meta_path) == finders, inspect.getsource(again).splitlines()[-1])
print(type(again.__loader__).__name__, vars(again.__loader__).keys() - {"name", "path"})
"""


def test_after_import_calls_once_and_only_when_the_import_succeeds(tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("ready = False\n")
    (package / "module.py").write_text("import package\nif not package.ready:\n    raise ValueError\nvalue = 3\n")
    assert run(AFTER_IMPORT, str(tmp_path)) == [
        "[]",
        "[] False",
        "[3] True value = 3",
        "SourceFileLoader set()",
    ]


def test_after_import_of_what_is_there_calls_at_once():
    calls = []
    after_import("subprocess", lambda: calls.append(1))
    assert calls == [1]
