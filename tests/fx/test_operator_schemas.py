"""``torch.fx.operator_schemas``: signatures of operators, and the arguments of calls by them. Expected is what PyTorch 2.13 gave."""

# ruff: noqa: UP006, UP007, UP035, UP045  # programs ask with the types of ``typing``

import numbers
import operator
from typing import Any, List, Optional, Tuple, Union

import pytest

import torchlike as torch
from torchlike import fx, nn
from torchlike.fx.operator_schemas import (
    create_type_hint,
    get_signature_for_torch_op,
    normalize_function,
    normalize_module,
    type_matches,
)

pytestmark = pytest.mark.recorded

X = torch.ones(2)
ATEN: Any = vars(torch)["ops"].aten  # the namespaces of operators are made when they are asked for


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (torch.sin, "input | input, out"),
        (torch.add, "input, other, alpha | input, other, alpha | input, other, alpha, out | input, other, alpha, out"),
        (torch.linalg.svd, "A, full_matrices, driver | A, full_matrices, driver, U, S, Vh"),
        (torch.special.erf, "input | input, out"),
        (ATEN.add.Tensor, "input, other, alpha"),
        (ATEN.uniform_.default, "input, from, to, generator"),
        (torch.nn.functional.relu, None),
        (len, None),
    ],
)
def test_an_operator_has_the_signatures_of_its_schemas(function, expected):
    found = get_signature_for_torch_op(function)
    names = None if found is None else {", ".join(each.parameters) for each in found}
    assert names == (None if expected is None else set(expected.split(" | ")))


def test_a_signature_has_types_and_defaults():
    (first, *_) = get_signature_for_torch_op(torch.conv2d)
    assert [each.default for each in first.parameters.values()][2:] == [None, [1, 1], [0, 0], [1, 1], 1]
    kinds = {name: each.annotation for name, each in first.parameters.items()}
    assert kinds["bias"] == Optional[torch.Tensor] and kinds["stride"] == List[int]
    signatures, schemas = get_signature_for_torch_op(torch.max, return_schemas=True)
    assert len(signatures) == len(schemas)
    assert (torch.Tensor, torch.Tensor) in [each.return_annotation for each in signatures]


def test_arguments_are_sorted_by_the_signature():
    kinds = (torch.Tensor, torch.Tensor)
    with pytest.raises(RuntimeError, match="torch._VariableFunctionsClass.add but the schema match was ambiguous!"):
        normalize_function(torch.add, (X, X))
    assert normalize_function(torch.add, (X, X), arg_types=kinds) == ((X, X), {"alpha": 1})
    by_name = normalize_function(torch.add, (X, 2), arg_types=(torch.Tensor, int), normalize_to_only_use_kwargs=True)
    assert by_name == ((), {"input": X, "other": 2, "alpha": 1})
    assert normalize_function(torch.sin, (X, 1, 2)) is None
    assert normalize_function(torch.nn.functional.relu, (X,)) == ((X,), {"inplace": False})
    assert normalize_function(lambda a, *rest: 0, (X, 2)) is None
    assert normalize_function(operator.add, (X, 2)) is None


class Own(nn.Linear):
    pass


def test_arguments_of_layers_are_sorted_by_forward():
    model = nn.Sequential(nn.Linear(2, 2), Own(2, 2))
    assert normalize_module(model, "0", (X,), normalize_to_only_use_kwargs=True) == ((), {"input": X})
    assert normalize_module(model, "1", (X,)) is None
    with pytest.raises(RuntimeError, match="Tried to normalize node with target 2 but root did not have that target!"):
        normalize_module(model, "2", (X,))
    model = nn.Sequential(model[0], nn.ReLU())
    nodes = fx.symbolic_trace(model).graph.nodes
    found = [node.normalized_arguments(model, normalize_to_only_use_kwargs=True) for node in nodes]
    assert [None if each is None else list(each.kwargs) for each in found] == [None, ["input"], ["input"], None]


@pytest.mark.parametrize(
    ("wanted", "given", "fits"),
    [
        (List[int], int, True), (List[int], Tuple[int, int], True), (Optional[int], int, True), (float, int, False),
        (int, bool, True), (numbers.Number, int, True), (numbers.Number, bool, True), (torch.Tensor, nn.Parameter, True),
        (List[torch.Tensor], Tuple[torch.Tensor, torch.Tensor], True), (Any, int, False), (Optional[List[int]], int, True),
        (List[int], List[float], False), (Union[int, float], str, False), (list[int], List[int], True),
    ],
)  # fmt: skip
def test_types_that_fit(wanted, given, fits):
    assert type_matches(wanted, given) is fits


def test_the_type_of_a_list_of_types():
    assert create_type_hint([int, int]) == list[int] and create_type_hint((int, bool)) == tuple[int, ...]
    assert create_type_hint(3) == 3


@pytest.mark.parametrize(
    "write", [lambda x: torch.sigmoid(x, out=x), lambda x: torch.relu_(x)], ids=["out", "in place"]
)
def test_a_tracer_may_refuse_writes(write, monkeypatch):
    monkeypatch.setattr(fx.proxy.TracerBase, "check_mutable_operations", True)
    assert fx.symbolic_trace(lambda x: torch.sigmoid(x))(X).shape == (2,)
    with pytest.raises(
        RuntimeError, match=r"Tried to trace mutable operation aten::\w+.*FX only supports functional code"
    ):
        fx.symbolic_trace(write)


KEPT = {
    "setitem": (operator.setitem, 0, 1.0), "assert": (torch._assert, "m"), "add_": (ATEN.add_.Tensor, X), "rand": (torch.rand,),
    "aten.rand": (ATEN.rand.default,), "bernoulli": (ATEN.bernoulli.default,), "copy_": (ATEN.copy_.default, X),
    "dropout": (ATEN.dropout.default, 0.5, True), "normal_": (ATEN.normal_.default,), "poisson": (torch.poisson,),
    "checked": (ATEN._assert_async.msg, "m"), "lstm": (ATEN.lstm.input, [X, X], [X], True, 1, 0.0, True, False, False),
    "sin": None, "aten.add": None, "dropout of nn": None, "dropout of torch": None,
}  # fmt: skip
DROPPED = {
    "sin": (torch.sin,), "aten.add": (ATEN.add.Tensor, X), "dropout of nn": (nn.functional.dropout,),
    "dropout of torch": (torch.dropout, 0.5, True),
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_dead_code_with_effects_stays(name):
    function, *rest = KEPT[name] or DROPPED[name]
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.call_function(function, (x, *rest))
    graph.output(x)
    graph.eliminate_dead_code()
    assert ("call_function" in [node.op for node in graph.nodes]) is (KEPT[name] is not None)
