"""Sequential, lists and dictionaries of modules and parameters: how they change, what they print and which errors they raise."""

import copy
from collections import OrderedDict
from typing import Any

import pytest

import torchlike as torch
from torchlike import nn


def kinds(container):
    return [type(m).__name__ for m in container]


def test_sequential_is_a_list_of_modules():
    model = nn.Sequential(nn.Linear(1, 2), nn.ReLU())
    model.append(nn.Tanh()).insert(0, nn.Identity())
    assert kinds(model) == ["Identity", "Linear", "ReLU", "Tanh"]
    assert list(model._modules) == ["0", "1", "2", "3"]
    assert kinds(model[1:3]) == ["Linear", "ReLU"]
    assert list(model[1:3]._modules) == ["1", "2"]
    del model[0]
    assert list(model._modules) == ["0", "1", "2"]
    assert type(model.pop(-1)) is nn.Tanh
    model[-1] = nn.GELU()
    assert kinds(model + nn.Sequential(nn.ELU())) == ["Linear", "GELU", "ELU"]
    assert kinds(nn.Sequential(nn.ELU()) * 2) == ["ELU", "ELU"]
    named = nn.Sequential(OrderedDict(first=nn.Identity(), second=nn.ReLU()))
    assert named.second is named[1]
    assert named(torch.tensor(-1.0)).item() == 0.0


def test_module_list_prints_equal_neighbours_once():
    layers = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1), nn.ReLU()])
    assert repr(layers) == (
        "ModuleList(\n  (0-1): 2 x Linear(in_features=1, out_features=1, bias=True)\n  (2): ReLU()\n)"
    )
    layers.insert(1, nn.Tanh())
    layers += [nn.ELU()]
    assert kinds(layers) == ["Linear", "Tanh", "Linear", "ReLU", "ELU"]
    assert kinds(layers[::2]) == ["Linear", "Linear", "ELU"]
    assert nn.ReLU in map(type, layers)


def test_module_dict_keeps_its_order():
    heads = nn.ModuleDict({"b": nn.ReLU(), "a": nn.Tanh()})
    heads["c"] = nn.ELU()
    heads.update([("d", nn.Identity())])
    assert list(heads) == ["b", "a", "c", "d"]
    assert type(heads.pop("a")) is nn.Tanh
    assert "a" not in heads
    assert repr(heads) == "ModuleDict(\n  (b): ReLU()\n  (c): ELU(alpha=1.0)\n  (d): Identity()\n)"


def test_parameter_containers_register_tensors_and_keep_the_rest():
    values = nn.ParameterList([torch.ones(2), nn.Parameter(torch.ones(2, 3)), "x", 3])
    assert [n for n, _ in values.named_parameters()] == ["0", "1"]
    assert repr(values) == (
        "ParameterList(\n    (0): Parameter containing: [torch.float32 of size 2]\n"
        "    (1): Parameter containing: [torch.float32 of size 2x3]\n    (2): Object of type: str\n    (3): Object of type: int\n)"
    )
    table = nn.ParameterDict({"b": torch.ones(1), "a": torch.ones(2)})
    assert list(table) == ["a", "b"]
    table["c"] = torch.zeros(1)
    assert [n for n, _ in table.named_parameters()] == ["a", "b", "c"]
    assert table.pop("a").shape == (2,)
    assert list(table | nn.ParameterDict({"z": torch.ones(1)})) == ["b", "c", "z"]


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda: nn.Sequential(3), TypeError, "int is not a Module subclass"),
        (lambda: nn.Sequential()[7], IndexError, "index 7 is out of range"),
        (lambda: nn.Sequential().insert(9, nn.ReLU()), IndexError, "Index out of range: 9"),
        (
            lambda: nn.Sequential() + 3, ValueError,
            "add operator supports only objects of Sequential class, but <class 'int'> is given.",
        ),
        (lambda: nn.ModuleList([nn.ReLU()])[5], IndexError, "index 5 is out of range"),
        (
            lambda: nn.ModuleList().extend(nn.ReLU()), TypeError,  # pyright: ignore[reportArgumentType]
            "ModuleList.extend should be called with an iterable, but got ReLU",
        ),
        (
            lambda: nn.ModuleList()(3), NotImplementedError,
            'Module [ModuleList] is missing the required "forward" function',
        ),
        (
            lambda: nn.ModuleDict(3), TypeError,
            "ModuleDict.update should be called with an iterable of key/value pairs, but got int",
        ),
        (
            lambda: nn.ModuleDict([(1, 2, 3)]), ValueError,
            "ModuleDict update sequence element #0 has length 3; 2 is required",
        ),
        (lambda: nn.ModuleDict({"keys": nn.ReLU()}), KeyError, "\"attribute 'keys' already exists\""),
        (lambda: nn.ParameterList(3), TypeError, "ParameterList.extend should be called with an iterable, but got int"),  # pyright: ignore[reportArgumentType]
        (lambda: nn.ParameterDict()["c"], AttributeError, "'ParameterDict' object has no attribute 'c'"),
        (lambda: nn.ParameterDict()(3), RuntimeError, "ParameterDict should not be called."),
    ],
)  # fmt: skip
def test_what_is_refused(act: Any, error: type[Exception], message: str):
    with pytest.raises(error) as caught:
        act()
    assert str(caught.value) == message


# ---- None instead of a module


def test_a_sequential_keeps_a_place_for_none():
    layers = nn.Sequential(nn.Linear(1, 1), None)
    assert repr(layers) == "Sequential(\n  (0): Linear(in_features=1, out_features=1, bias=True)\n  (1): None\n)"
    assert len(layers) == 2 and layers[1] is None and layers[-1] is None and list(layers)[1] is None
    assert list(layers.state_dict()) == ["0.weight", "0.bias"] and len(list(layers.parameters())) == 2
    assert len(list(layers.children())) == 1 and len(list(layers.modules())) == 2
    assert list(dict(layers.named_modules())) == ["", "0"]
    assert layers.train().eval().double().requires_grad_(False)[1] is None
    layers.append(None)  # pyright: ignore[reportArgumentType]
    assert len(layers) == 3 and len(layers[1:]) == 2 and len(layers + nn.Sequential(None)) == 4
    assert len(copy.deepcopy(layers)) == 3
    layers[0] = None  # pyright: ignore[reportArgumentType]
    assert layers.pop(0) is None and repr(layers) == "Sequential(\n  (0): None\n  (1): None\n)"


def test_what_is_no_module_and_not_none_is_refused():
    with pytest.raises(TypeError, match="^int is not a Module subclass$"):
        nn.Sequential(1)
    with pytest.raises(AssertionError, match=r"^module should be of type: <class '"):
        nn.Sequential(nn.Identity()).insert(0, None)  # pyright: ignore[reportArgumentType]


def test_other_containers_keep_a_place_for_none():
    assert repr(nn.ModuleList([nn.ReLU(), None])) == "ModuleList(\n  (0): ReLU()\n  (1): None\n)"  # pyright: ignore[reportArgumentType]
    assert repr(nn.ModuleDict({"a": None})) == "ModuleDict(\n  (a): None\n)"
    assert nn.ModuleDict({"a": None})["a"] is None and nn.ModuleList([None])[0] is None  # pyright: ignore[reportArgumentType]


def test_calling_a_sequential_with_none_in_it_says_what_cannot_be_called():
    with pytest.raises(TypeError, match="'NoneType' object is not callable"):
        torch.nn.Sequential(torch.nn.Identity(), None)(torch.ones(1))
