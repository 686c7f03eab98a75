"""Graphs: their names, their code and their text are those that PyTorch makes."""

import pytest

import torchlike as torch
from tests.fx import graphs
from torchlike import fx
from torchlike.fx.passes.shape_prop import ShapeProp

pytestmark = pytest.mark.recorded


@pytest.fixture(scope="module")
def found():
    return graphs.everything(torch)


@pytest.mark.parametrize("name", graphs.PROGRAMS)
def test_a_program_with_graphs_says_what_it_says_under_pytorch(found, golden, name):
    assert found[name] == golden("fx")[name]


def test_shapes_are_noted_at_the_nodes():
    traced = fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU()))
    ShapeProp(traced).propagate(torch.ones(4, 2))
    metas = [node.meta["tensor_meta"] for node in traced.graph.nodes]
    assert [meta.shape for meta in metas] == [(4, 2), (4, 3), (4, 3), (4, 3)]
    assert metas[1].dtype is torch.float32


def test_gradients_reach_the_parameters_of_a_traced_module():
    layer = torch.nn.Linear(2, 2)
    traced = fx.symbolic_trace(torch.nn.Sequential(layer, torch.nn.Tanh()))
    traced(torch.ones(1, 2)).sum().backward()
    assert layer.weight.grad is not None


def test_nested_concrete_arguments_are_refused_by_name():
    with pytest.raises(NotImplementedError, match="concrete_args"):
        fx.symbolic_trace(lambda x: x[0], concrete_args={"x": (1, 2)})


def test_a_graph_that_uses_a_node_too_early_is_refused():
    graph = fx.Graph()
    x = graph.placeholder("x")
    y = graph.call_function(torch.relu, (x,))
    graph.output(y)
    x.prepend(y)
    with pytest.raises(RuntimeError, match="was used before it has been defined"):
        graph.lint()
