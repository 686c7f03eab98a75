"""torch.jit._get_trace_graph: the nodes are those that PyTorch's tracer makes, and what is not known is refused."""

import pytest

import torchlike as torch
import torchlike.nn.functional as F
from tests.jit.traced import calls, nodes
from torchlike import nn
from torchlike._C import _get_tracing_state
from torchlike.jit import _get_trace_graph

pytestmark = pytest.mark.uncompiled


@pytest.mark.parametrize("name", calls())
def test_the_nodes_are_pytorchs(name, golden):
    assert nodes(torch, name) == golden("traces")["nodes"][name]


def test_parameters_and_buffers_are_inputs_after_the_arguments():
    layer = nn.BatchNorm1d(3)
    graph, result = _get_trace_graph(layer, (torch.ones(2, 3),))
    assert [value.type().sizes() for value in graph.inputs()] == [[2, 3], [3], [3], [3], [3], []]
    assert [value.node().kind() for value in graph.outputs()] == ["aten::batch_norm"]
    assert result.shape == (2, 3)
    assert _get_tracing_state() is None


def test_constants_are_told():
    graph, _ = _get_trace_graph(lambda x: F.leaky_relu(x, 0.25).flatten(0), torch.ones(2, 2))
    found = {node.kind(): list(node.inputs()) for node in graph.nodes()}
    assert found["aten::leaky_relu"][1].toIValue() == 0.25
    assert found["aten::leaky_relu"][0].toIValue() is None
    assert [value.toIValue() for value in found["aten::flatten"][1:]] == [0, -1]
    assert "%2 : Float(2, 2) = aten::leaky_relu(%0, %1)" in str(graph)


ATTENTION = nn.MultiheadAttention(2, 1)
REFUSED = {
    "torch.nn.functional.multi_head_attention_forward": lambda x: ATTENTION(x, x, x)[0],
    "torch.nn.functional.normalize": F.normalize,
    "torch.Tensor.__setitem__": lambda x: x.__setitem__(0, 1.0),
    "indices that are bool": lambda x: x[x > 0],
    "torch.nn.functional.conv1d as it is called here": lambda x: F.conv1d(x, torch.ones(2, 2, 1)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_known_is_refused_by_its_name(name):
    with pytest.raises(NotImplementedError, match=f"does not know which nodes PyTorch's tracer makes of {name}"):
        _get_trace_graph(REFUSED[name], torch.ones(2, 2))
    assert _get_tracing_state() is None


def test_options_are_refused():
    with pytest.raises(NotImplementedError, match="no options are supported"):
        _get_trace_graph(torch.relu, torch.ones(2), return_inputs=True)
