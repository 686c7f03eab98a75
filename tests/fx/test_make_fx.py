"""make_fx records the operators that a function calls: with its arguments, its constants, and in backward passes."""

from typing import Any

import pytest

import torchlike as torch
from torchlike import nn
from torchlike.fx.experimental.proxy_tensor import make_fx

pytestmark = pytest.mark.uncompiled


def names(module):
    return [node.name for node in module.graph.nodes]


def body(module):
    return [line.strip().partition(";")[0] for line in module.code.splitlines() if " = " in line or "return" in line]


def test_operators_and_arguments():
    module = make_fx(lambda x, y: (x.sin() * y + 1).sum())(torch.ones(2), torch.ones(2))
    assert body(module) == [
        "sin = torch.ops.aten.sin.default(x_1)",
        "mul = torch.ops.aten.mul.Tensor(sin, y_1)",
        "add = torch.ops.aten.add.Tensor(mul, 1)",
        "sum_1 = torch.ops.aten.sum.default(add)",
        "return sum_1",
    ]
    assert module(torch.zeros(2), torch.ones(2)).item() == 2
    nested = make_fx(lambda d: d["a"] + d["b"][0])({"a": torch.ones(1), "b": [torch.ones(1)]})
    assert names(nested) == ["d_1", "d_2", "add", "output"]
    assert body(make_fx(lambda x: x.max(0))(torch.ones(2, 2)))[-1] == "return (getitem, getitem_1)"


def test_constants_and_parameters():
    constant = torch.ones(2)
    module = make_fx(lambda x: x * constant + torch.tensor(3.0))(torch.ones(2))
    assert names(module) == ["x_1", "_tensor_constant0", "mul", "_tensor_constant1", "lift_fresh_copy", "add", "output"]
    assert module(torch.ones(2) * 5).tolist() == [8.0, 8.0]
    layer = nn.Linear(2, 2)
    module = make_fx(layer)(torch.ones(1, 2))
    assert names(module) == ["arg0_1", "_param_constant0", "t", "_param_constant1", "addmm", "output"]
    x = torch.rand(3, 2)
    torch.testing.assert_close(module(x), layer(x))


def test_gradients():
    def gradient(x, w):
        return torch.autograd.grad((x @ w).relu().sum(), w)[0]

    module = make_fx(gradient)(torch.ones(1, 2), torch.ones(2, 3, requires_grad=True))
    assert module(torch.ones(1, 2) * 3, torch.ones(2, 3)).tolist() == [[3.0] * 3] * 2
    module = make_fx(torch.func.grad(lambda x: x.sin().sum()))(torch.ones(2))
    assert names(module) == ["x_1", "sin", "sum_1", "ones_like", "expand", "cos", "mul", "output"]
    assert module(torch.zeros(2)).tolist() == [1.0, 1.0]


def test_writes_and_decompositions():
    def writes(x):
        y = x.clone()
        y.add_(1)
        return y

    module, x = make_fx(writes)(torch.ones(2)), torch.ones(2)
    assert names(module) == ["x_1", "clone", "add_", "output"]
    assert module(x).tolist() == [2.0, 2.0] and x.tolist() == [1.0, 1.0]
    operators: Any = torch.ops
    table = {operators.aten.sigmoid.default: lambda x: 1 / (1 + (-x).exp())}
    module = make_fx(torch.sigmoid, decomposition_table=table)(torch.ones(2))
    assert names(module) == ["arg0_1", "neg", "exp", "add", "reciprocal", "mul", "output"] or "sigmoid" not in names(
        module
    )


def test_the_annotation_of_what_is_returned_is_kept():
    def one(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    def two(x) -> tuple[torch.Tensor, torch.Tensor]:
        return x, x + 1

    for function, words in (
        (one, "-> torch.Tensor:"),
        (two, "-> tuple[torch.Tensor,torch.Tensor]:"),
        (torch.sin, "_1):"),
    ):
        module = make_fx(function)(torch.ones(2))
        assert module.code.strip().splitlines()[0].endswith(words)
        assert module(torch.ones(2)) is not None


def test_what_a_graph_would_not_compute_is_refused():
    with pytest.raises(RuntimeError, match="^It appears that you're trying to get value out of a tracing tensor with"):
        make_fx(lambda x: x * x.sum().item())(torch.ones(2))
    for function in (torch.func.vmap(torch.dot), lambda x, t: torch.func.jvp(torch.sin, (x,), (t,))[1]):
        with pytest.raises(NotImplementedError, match="by other means than operators$"):
            make_fx(function)(torch.ones(2, 3), torch.ones(2, 3))
    with pytest.raises(NotImplementedError, match='tracing_mode="symbolic"'):
        make_fx(torch.sin, tracing_mode="symbolic")
