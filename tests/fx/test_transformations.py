"""Graphs changed as a whole: constants folded, patterns replaced, asserts recorded, passes run one after the other."""

import operator
from typing import Any

import pytest

import torchlike as torch
from torchlike import fx
from torchlike.fx.experimental.const_fold import split_const_subgraphs
from torchlike.fx.experimental.rewriter import RewritingTracer
from torchlike.fx.passes.infra.pass_base import PassBase, PassResult
from torchlike.fx.passes.infra.pass_manager import (
    PassManager,
    _topological_sort_passes,
    pass_result_wrapper,
    this_before_that_pass_constraint,
)
from torchlike.fx.subgraph_rewriter import replace_pattern_with_filters

pytestmark = pytest.mark.recorded


class Constants(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.arange(4.0).reshape(2, 2))
        self.b = torch.nn.Parameter(torch.ones(2))
        self.inner = torch.nn.Linear(2, 2)

    def forward(self, x):
        once = self.w + self.w.t()
        return x @ once + self.b, self.inner(self.b) * x, torch.relu(x)


def test_what_attributes_alone_decide_is_computed_once():
    model = Constants()
    folded = split_const_subgraphs(model)
    names = [str(node.target) for node in folded.graph.nodes if node.op in ("get_attr", "call_module")]
    assert sorted(names) == ["_FX_CONST_FOLDED_ATTRS", "b"] and "_fx_const_folded_attrs[1]" in folded.code
    assert not hasattr(model, "_FX_CONST_FOLDED_ATTRS")
    for x in (torch.ones(1, 2), torch.randn(3, 2)):
        for mine, wanted in zip(folded(x), model(x), strict=True):
            torch.testing.assert_close(mine, wanted)
    with torch.no_grad():
        model.w.zero_()
    assert folded(torch.ones(1, 2))[0].tolist() == [[4.0, 10.0]]  # until it is folded again
    with pytest.raises(AssertionError):
        folded.run_folding()


def test_what_is_to_be_skipped_and_what_is_random_is_not_folded():
    class Random(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.ones(2))

        def forward(self, x):
            return x + torch.rand_like(self.w) + self.w.exp()

    traced = fx.symbolic_trace(Random())
    folded = split_const_subgraphs(traced)
    assert [n.target for n in folded.const_subgraph_module.graph.nodes if n.op == "call_method"] == ["exp"]
    skips = split_const_subgraphs(traced, lambda node: node.target == "exp")
    assert skips.const_subgraph_module is None and "exp" in skips.code


def test_asserts_are_nodes_that_check():
    limit = 2.0

    class Checked(torch.nn.Module):
        def forward(self, x, *, scale=1.0):
            assert x.sum() < limit * scale, "too much"
            return torch.relu(x)

    tracer = RewritingTracer()
    graph = tracer.trace(Checked())
    graph.lint()
    module: Any = fx.GraphModule(tracer.root, graph)
    assert module(torch.ones(1)).item() == 1.0
    with pytest.raises(AssertionError, match="too much"):
        module(torch.ones(3))
    assert module(torch.ones(3), scale=2.0).sum().item() == 3.0
    with pytest.raises(fx.proxy.TraceError):
        fx.symbolic_trace(Checked())


def test_objects_of_a_class_are_made_by_nodes():
    class Pair(metaclass=fx.ProxyableClassMeta):
        def __init__(self, left, right):
            self.left, self.right = left, right

        def add(self, other):
            return Pair(self.left + other.left, self.right + other.right)

    def function(pair, y):
        return pair.add(Pair(y, y * 2)).add(Pair(torch.ones(1), torch.zeros(1)))

    traced = fx.symbolic_trace(function)
    result = traced(Pair(torch.ones(1), torch.ones(1)), torch.ones(1))
    assert (result.left.item(), result.right.item()) == (3.0, 3.0)
    assert Pair(1, 2).add(Pair(3, 4)).right == 6  # pyright: ignore[reportAttributeAccessIssue]


def test_patterns_are_replaced_where_filters_let_them():
    traced = fx.symbolic_trace(lambda x, y: torch.add(torch.add(x, y), x))
    first = replace_pattern_with_filters(
        traced,
        lambda a, b: torch.add(a, b),
        lambda a, b: torch.sub(torch.mul(a, b), b),
        match_filters=[lambda match, graph, pattern: match.placeholder_nodes[0].name == "x"],
    )
    assert [node.target for match in first for node in match.replacements] == [torch.mul, torch.sub]
    assert traced(torch.tensor(3.0), torch.tensor(4.0)).item() == 3 * 4 - 4 + 3
    graphs = []

    def chosen(match, graph, pattern):
        graphs.append(fx.symbolic_trace(lambda a, b: a * b).graph)
        return graphs[-1]

    assert len(replace_pattern_with_filters(traced, lambda a, b: torch.add(a, b), replacement_callback=chosen)) == 1
    assert traced(torch.tensor(3.0), torch.tensor(4.0)).item() == (3 * 4 - 4) * 3 and len(graphs) == 1
    with pytest.raises(AssertionError, match="Must provide either"):
        replace_pattern_with_filters(traced, lambda a: a)


class _Swap(PassBase):
    def call(self, graph_module) -> Any:
        for node in graph_module.graph.nodes:
            if node.target == operator.add:
                node.target = operator.mul
                return PassResult(graph_module, True)
        return PassResult(graph_module, False)


def test_passes_run_until_none_changes_anything():
    traced = fx.symbolic_trace(lambda x, y: x + y + y)
    runs = []
    watched = pass_result_wrapper(lambda module: runs.append(module))
    manager = PassManager([_Swap()], steps=5, run_checks_after_each_pass=True)
    manager.add_checks(lambda module: None)
    result = manager(traced)
    assert result.modified and result.graph_module(torch.tensor(2.0), torch.tensor(3.0)).item() == 18.0
    manager = PassManager([_Swap(), watched, lambda module: None])
    with pytest.raises(
        Exception, match=r"running the '<lambda>' pass after the following passes: \['_Swap', '<lambda>'\]"
    ):
        manager(traced)
    assert len(runs) == 1
    with pytest.raises(TypeError, match="should only take in one variable"):
        manager.add_checks(lambda a, b: None)


def test_passes_stand_in_an_order_that_the_constraints_allow():
    passes: list[Any] = [lambda x, n=n: n for n in range(4)]
    a, b, c, d = passes
    constraints = [this_before_that_pass_constraint(d, a), this_before_that_pass_constraint(c, b)]
    assert [each(0) for each in _topological_sort_passes(passes, constraints)] == [2, 3, 1, 0]
    with pytest.raises(RuntimeError, match="^pass schedule constraint violated"):
        PassManager(list(passes), constraints).validate_constraints()
    with pytest.raises(RuntimeError, match="^Circular dependency detected within the following passes"):
        _topological_sort_passes(passes, [*constraints, this_before_that_pass_constraint(a, d)])
