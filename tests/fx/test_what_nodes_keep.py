"""What a graph keeps beside its nodes: where code stands, notes, types, operators as they were called, copies and trees."""

import copy
from typing import Any

import pytest

import torchlike as torch
from torchlike import fx, nested
from torchlike.fx import traceback
from torchlike.fx.annotate import annotate
from torchlike.fx.experimental.rewriter import RewritingTracer
from torchlike.fx.immutable_collections import immutable_dict, immutable_list
from torchlike.utils import _pytree as pytree


class Layered(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)
        self.weight = torch.nn.Parameter(torch.ones(2))

    def forward(self, x):
        return torch.relu(self.layer(x)) + self.weight


def computed(module):
    return [node for node in module.graph.nodes if node.op not in ("placeholder", "output")]


def test_transformed_nodes_stand_where_the_old_ones_stood():
    tracer = fx.Tracer()
    tracer.record_stack_traces = True
    graph = tracer.trace(Layered())
    module = fx.GraphModule(tracer.root, graph)
    new = fx.Transformer(module).transform()
    assert [node.stack_trace for node in computed(new)] == [node.stack_trace for node in computed(module)]
    assert all(__file__ in str(node.stack_trace) for node in computed(new))


def test_new_nodes_take_over_notes_and_no_values():
    module = fx.symbolic_trace(Layered())
    for node in module.graph.nodes:
        node.meta |= {"nn_module_stack": node.name, "custom": {"by": node.name}, "val": 1, "tensor_meta": 2}
    new = fx.Transformer(module).transform()
    for old, node in zip(computed(module), computed(new), strict=True):
        assert node.meta == {"nn_module_stack": old.name, "custom": {"by": old.name}}
        assert node.meta["custom"] is not old.meta["custom"]


def test_notes_are_kept_only_where_a_program_asks_for_it():
    def noted(x):
        with traceback.annotate({"part": 1}):
            y = torch.relu(x)
            with traceback.annotate({"inner": 2}):
                y = y.exp()
        return y.sin()

    def notes():
        return [node.meta.get("custom") for node in computed(fx.symbolic_trace(noted))]

    assert notes() == [None, None, None]
    with traceback.preserve_node_meta():
        assert traceback.has_preserved_node_meta()
        assert notes() == [{"part": 1}, {"part": 1, "inner": 2}, None]
        with traceback.preserve_node_meta(False):
            assert notes() == [None, None, None]
        traceback.set_stack_trace(["here\n"])
        assert traceback.format_stack() == ["here\n"] and traceback.get_current_meta() == {"stack_trace": "here\n"}
    assert not traceback.has_preserved_node_meta() and traceback.get_current_meta() == {}
    assert __file__ in traceback.format_stack()[-1]


def test_lines_know_their_nodes():
    module = fx.symbolic_trace(Layered())
    lines, nodes = module.code.split("\n"), list(module.graph.nodes)

    def written():
        return {
            lines[number + module._prologue_start - 1].split("=")[0].strip(): position
            for number, position in module._lineno_map.items()
        }

    found = {name: None if position is None else nodes[position].name for name, position in written().items()}
    assert found == {node.name: node.name for node in computed(module)} | {"return add": "output", "": "output"}
    with module.graph.on_generate_code(lambda _: lambda code: ["print('begins')\n", *code]):
        module.recompile()
        lines = module.code.split("\n")
        assert written() == {"print('begins')": None} | {
            name: [node.name for node in nodes].index(each) for name, each in found.items()
        }


def test_an_operator_is_recorded_as_it_was_called():
    aten: Any = torch.ops.aten  # pyright: ignore[reportAttributeAccessIssue]

    def f(x):
        return aten.add.Tensor(aten.mul(x, 2), x, alpha=3)

    module = fx.symbolic_trace(f)
    assert [node.target for node in computed(module)] == [aten.mul, aten.add.Tensor]
    x = torch.tensor([1.0, 2.0])
    assert module(x).tolist() == f(x).tolist() == [5, 10]


def test_modes_and_classes_are_asked_about_operators():
    seen: list[object] = []

    class Seen(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    class Labels(torch.Tensor):
        pass

    aten: Any = torch.ops.aten  # pyright: ignore[reportAttributeAccessIssue]
    operator, x = aten.add.Tensor, torch.ones(2)
    with Seen():
        operator(x, 1)
    assert seen == [operator]
    assert type(operator(Labels(torch.ones(2)), 1)) is Labels
    with torch._C.DisableTorchFunction():
        assert type(operator(Labels(torch.ones(2)), 1)) is torch.Tensor
    jagged = nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)
    assert operator(jagged, 1).is_nested  # torchlike's own classes are asked by the function behind it


def test_types_by_annotate_and_by_annotations():
    def by_call(x):
        return torch.relu(annotate(x, int))

    def by_annotation(x):
        y: int = x  # the tracer reads it
        return torch.relu(y)  # pyright: ignore[reportArgumentType]

    assert annotate(5, int) == 5
    for graph in (fx.symbolic_trace(by_call).graph, RewritingTracer().trace(by_annotation)):
        assert [node.type for node in graph.nodes] == [int, None, None]
    with pytest.raises(RuntimeError, match="Existing type is <class 'int'> and new type is <class 'str'>"):
        fx.symbolic_trace(lambda x: annotate(annotate(x, int), str))


def test_a_copy_keeps_its_circle():
    module: Any = fx.symbolic_trace(Layered())
    module.meta["self"], module.meta["list"] = module, [1]
    copied = copy.deepcopy(module)
    assert (
        copied.meta["self"] is copied and copied.meta["list"] == [1] and copied.meta["list"] is not module.meta["list"]
    )
    replica = module._replicate_for_data_parallel()
    x = torch.ones(1, 2)
    assert replica is not module and replica(x).tolist() == module(x).tolist()
    assert replica.layer.weight is module.layer.weight


@pytest.mark.parametrize("tree", [immutable_list([3, [4, 5]]), immutable_dict({"a": 3, "b": [4, 5]})])
def test_the_lists_and_dicts_of_graphs_are_nodes_of_trees(tree):
    leaves, spec = pytree.tree_flatten(tree)
    assert leaves == [3, 4, 5]
    again = pytree.tree_unflatten(leaves, spec)
    assert again == tree and type(again) is type(tree)
    first = pytree.tree_flatten_with_path(tree)[0][0][0][0]
    assert str(first) == ("[0]" if isinstance(tree, list) else "['a']")


def test_attributes_that_are_not_there_are_warned_of():
    module = fx.symbolic_trace(Layered())
    module.graph.get_attr("layer.weight"), module.graph.get_attr("layer"), module.graph.call_module("layer")
    with pytest.warns(UserWarning, match="Attempted to insert a get_attr Node with no underlying reference"):
        module.graph.get_attr("layer.wait")
    with (
        pytest.warns(UserWarning, match="Failed to fetch module lair!"),
        pytest.warns(UserWarning, match="Attempted to insert a get_attr Node"),
    ):
        module.graph.get_attr("lair.weight")
    with pytest.raises(AttributeError, match="has no attribute `lair`"):
        module.graph.call_module("lair")
