"""Graphs have PyTorch's names, code and text."""

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


def test_batch_norms_become_part_of_the_layer_before_them():
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8, 3),
        torch.nn.BatchNorm1d(3),
    )  # fmt: skip
    x = torch.randn(5, 1, 4, 4)
    for _ in range(3):
        model(x)  # running statistics
    model.eval()
    wanted = model(x)
    fused = fx.experimental.optimization.fuse(model)
    assert [type(layer).__name__ for layer in fused.children()] == ["Conv2d", "ReLU", "Flatten", "Linear"]
    torch.testing.assert_close(fused(x), wanted, rtol=1e-4, atol=1e-5)
    assert len(list(model.children())) == 6
    with pytest.raises(AssertionError, match="^Fusion only for eval!$"):
        fx.experimental.optimization.fuse(model.train())


def test_a_norm_stays_where_another_reader_needs_what_it_reads():
    class Both(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.norm = torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)

        def forward(self, x):
            y = self.layer(x)
            return self.norm(y) + y

    model = Both().eval()
    fused = fx.experimental.optimization.fuse(model)
    assert isinstance(fused.norm, torch.nn.BatchNorm1d)
    torch.testing.assert_close(fused(torch.ones(3, 2)), model(torch.ones(3, 2)))


def test_dropout_is_removed():
    model = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Dropout(), torch.nn.ReLU())
    without = fx.experimental.optimization.remove_dropout(model)
    assert [type(layer).__name__ for layer in without.children()] == ["Linear", "ReLU"]


def test_a_decorated_function_is_wrapped_by_its_name(tmp_path, monkeypatch):
    (tmp_path / "wraps_decorated.py").write_text(
        "import functools\nimport torchlike as torch\n"
        "def decorated(function):\n    @functools.wraps(function)\n    def inner(*args):\n        return function(*args)\n"
        "    return inner\n"
        "@torch.fx.wrap\n@decorated\ndef own(x):\n    return x\n"
        "def calls(y):\n    return own(y)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import wraps_decorated  # pyright: ignore[reportMissingImports]

    assert "own(" in torch.fx.symbolic_trace(wraps_decorated.calls).code


def test_patterns_that_return_several_values():
    def function(x, w):
        return torch.relu(x) + torch.neg(x) + torch.relu(w) * torch.neg(w)

    def pattern(x):
        return torch.relu(x), torch.neg(x)

    def replacement(x):
        y = torch.tanh(x)
        return y, y + 1

    module = torch.fx.symbolic_trace(function)
    assert len(torch.fx.replace_pattern(module, pattern, replacement)) == 2
    assert "relu" not in module.code and module.code.count("tanh(") == 2
    x, w = torch.ones(1), torch.ones(1) * 2
    torch.testing.assert_close(module(x, w), x.tanh() * 2 + 1 + w.tanh() * (w.tanh() + 1))
    # A value that is needed before the other one can be computed leaves no place for both.
    module = torch.fx.symbolic_trace(lambda x: torch.neg(torch.relu(x) * 2))
    before = module.code
    assert torch.fx.replace_pattern(module, lambda x, y: (torch.relu(x), torch.neg(y)), lambda x, y: (x, y)) == []
    assert module.code == before
