"""The public API: exported names are torchlike's own, have their public address as `__module__`, and have docstrings."""

import importlib
import inspect
import re
import sys

import pytest

import torchlike
from tests.api.namespaces import NAMESPACES, public_names, public_objects
from torchlike._missing import pytorch_names

pytestmark = pytest.mark.recorded

OBJECTS = public_objects()
NAMES = [f"{namespace}.{name}" for namespace, name, _ in OBJECTS]


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_a_namespace_exports_nothing_of_others(namespace):
    foreign = {"jax", "jaxlib", "numpy", "flax", "optax", "typing", "collections", "functools", "dataclasses"}
    borrowed = {
        name
        for name, value in public_names(namespace).items()
        if getattr(value, "__module__", "").split(".")[0] in foreign
    }
    assert borrowed == set()


def test_the_top_level_has_pytorchs_names_and_some_of_ours():
    assert callable(torchlike.export_jax)  # which is there once it is asked for
    found = {name for name, value in vars(torchlike).items() if not (name.startswith("_") or inspect.ismodule(value))}
    assert found - set(pytorch_names()["torch"]) == {
        "alias", "are_cpu_random_streams_used", "compiled_for",
        "explain", "export_jax", "from_jax", "jax_function", "load_ipython_extension", "op_by_op",
        "summary", "to_jax", "use_cpu_random_streams",
    }  # fmt: skip


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_a_star_import_gives_what_is_listed(namespace):
    module = importlib.import_module(namespace)
    listed = getattr(module, "__all__", [])
    assert len(set(listed)) == len(listed), "a name is listed twice"
    assert [name for name in listed if not hasattr(module, name)] == []


@pytest.mark.parametrize(("namespace", "name", "value"), OBJECTS, ids=NAMES)
def test_an_object_says_its_public_address(namespace, name, value):
    # `torch.FloatTensor`, as PyTorch calls these few, means `torchlike.FloatTensor`.
    address = re.sub(r"^torch\b", "torchlike", value.__module__)
    assert not any(part.startswith("_") for part in address.split(".")), address
    assert getattr(sys.modules[address], value.__name__) is value


@pytest.mark.parametrize(("namespace", "name", "value"), OBJECTS, ids=NAMES)
def test_an_object_explains_itself(namespace, name, value):
    # `vars`, since a class without a docstring would otherwise show its parent's.
    words = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
    assert words and words.strip(), "no docstring"
    assert words.strip().splitlines()[0].endswith((".", ":", "``")), "the first line is a sentence"
