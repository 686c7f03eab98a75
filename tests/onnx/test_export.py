"""``torch.onnx.export``: what it takes and refuses, the names in a model, the file, and how it is run."""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np
import pytest
from jax import lax

import torchlike as torch
from torchlike import nn
from torchlike.onnx import OnnxExporterError, TrainingMode

onnx = pytest.importorskip("onnx", reason="torchlike[onnx] is not installed: make onnx")
pytest.importorskip("jax2onnx", reason="torchlike[onnx] is not installed: make onnx")
ort = pytest.importorskip("onnxruntime")
pytestmark = [pytest.mark.recorded, pytest.mark.filterwarnings("default")]

X = torch.tensor([[1.0, -2.0, 3.0], [0.5, 0.25, -1.0]])


def export(*args: Any, **kwargs: Any) -> Any:
    return torch.onnx.export(*args, **kwargs)


class Of(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args, **kwargs):
        return self.function(*args, **kwargs)


def layers():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))


def names(values):
    return [each.name for each in values]


def sizes(value):
    return [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]


# ---- files


def test_a_file_has_the_weights_beside_it(tmp_path):
    model = nn.Linear(3, 100)
    program = export(model, (X,), tmp_path / "model.onnx", input_names=["x"], output_names=["y"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.onnx", "model.onnx.data"]
    session = ort.InferenceSession(str(tmp_path / "model.onnx"))
    np.testing.assert_allclose(session.run(["y"], {"x": X.numpy()})[0], model(X).detach().numpy(), atol=1e-6)
    assert isinstance(program, torch.onnx.ONNXProgram)


def test_one_file_with_everything(tmp_path):
    export(layers().eval(), (X,), tmp_path / "model.onnx", external_data=False)
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]
    onnx.checker.check_model(str(tmp_path / "model.onnx"), full_check=True)


def test_a_buffer():
    file = io.BytesIO()
    export(layers().eval(), (X,), file)
    onnx.checker.check_model(onnx.load_from_string(file.getvalue()), full_check=True)


def test_the_former_exporter_returns_nothing_and_writes_one_file(tmp_path):
    assert export(layers(), X, str(tmp_path / "model.onnx"), dynamo=False) is None
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]
    with pytest.raises(ValueError, match="needs 'f'"):
        export(layers(), X, dynamo=False)


def test_saving_once_more(tmp_path):
    program = export(nn.Linear(3, 100), (X,))
    program.save(tmp_path / "a.onnx")
    program.save(tmp_path / "a.onnx", external_data=True)
    program.save(tmp_path / "a.onnx", external_data=True)
    size = (tmp_path / "a.onnx.data").stat().st_size
    assert size < 2 * 4 * 100 * 4
    program.save(tmp_path / "b.onnx", include_initializers=False)
    assert names(onnx.load(str(tmp_path / "b.onnx")).graph.input)[1:] == names(program.model_proto.graph.initializer)


# ---- modes


@pytest.mark.parametrize("training", [TrainingMode.EVAL, TrainingMode.PRESERVE])
def test_the_former_exporter_evaluates_a_model_by_default(tmp_path, training):
    model = layers()
    model[2].p = 0.0
    before = {name: each.clone() for name, each in model.state_dict().items()}
    export(model, X, tmp_path / "m.onnx", dynamo=False, training=training)
    assert model.training
    assert all(torch.equal(before[name], each) for name, each in model.state_dict().items())
    found = ort.InferenceSession(str(tmp_path / "m.onnx")).run(None, {"input": X.numpy()})[0]
    expected = model.eval()(X) if training == TrainingMode.EVAL else model(X)
    np.testing.assert_allclose(found, expected.detach().numpy(), atol=1e-5)


def test_random_numbers_are_no_constants():
    model, state = layers(), torch.get_rng_state()
    with pytest.raises(OnnxExporterError, match=r"draws random numbers.*eval\(\)"):
        export(model, (X,))
    assert torch.equal(torch.get_rng_state(), state)


def test_libraries_see_that_a_model_is_exported():
    seen = []
    export(Of(lambda x: (seen.append(torch.onnx.is_in_onnx_export()), x + 1)[1]), (X,))
    assert set(seen) == {True}
    assert not torch.onnx.is_in_onnx_export()


# ---- arguments and names


def test_names_are_those_of_forward():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)

        def forward(self, x, pair, *, scale):
            return self.layer(x) + pair["a"] * scale, pair["b"]

    arguments = (X, {"a": X, "b": X[0]})
    graph = export(Model(), arguments, kwargs={"scale": torch.tensor(2.0)}).model_proto.graph
    assert names(graph.input) == ["x", "pair_a", "pair_b", "scale"]
    assert names(graph.output) == ["output_0", "output_1"]
    assert set(names(graph.initializer)) >= {"layer.weight", "layer.bias"}


def test_a_dictionary_at_the_end_holds_arguments_by_name():
    program = export(Of(lambda x, y: x - y), (X, {"y": X * 2}))
    torch.testing.assert_close(program(X, X)[0], X * 0)


def test_names_that_are_given():
    graph = export(Of(torch.add), (X, X), input_names=["node_Add_0", "b"], output_names=["c"]).model_proto.graph
    assert (names(graph.input), names(graph.output)) == (["node_Add_0", "b"], ["c"])
    with pytest.raises(OnnxExporterError, match="2 names.*1 tensors"):
        export(Of(torch.relu), (X,), input_names=["a", "b"])


def test_an_argument_that_is_not_read_stays_an_input():
    program = export(Of(lambda x, y: x + 1), (X, X))
    assert len(program.model_proto.graph.input) == 2
    assert torch.equal(program(X, X)[0], X + 1)


def test_results_that_are_one_tensor_or_an_argument():
    found = export(Of(lambda x: (x, x + 1, x)), (X,))(X)
    assert [each.tolist() for each in found] == [X.tolist(), (X + 1).tolist(), X.tolist()]


def test_a_function_and_an_exported_program():
    assert torch.equal(export(torch.jit.script(lambda x: x * 2), (X,))(X)[0], X * 2)
    exported = torch.export.export(layers().eval(), (X,))
    program = export(exported)
    assert program.exported_program is exported
    torch.testing.assert_close(program(X)[0], exported.module()(X).detach())


def test_an_exported_program_keeps_its_names_and_the_sizes_that_vary():
    exported = torch.export.export(nn.Linear(3, 2), (X,), dynamic_shapes=({0: torch.export.Dim("n")},))
    program = export(exported)
    (given,) = program.model_proto.graph.input
    assert ((given.name,), sizes(given)) == (exported.graph_signature.user_inputs, ["n", 3])
    x = torch.randn(7, 3)
    torch.testing.assert_close(program(x)[0], exported.module()(x).detach())


def test_weights_by_name_can_be_replaced():
    model = nn.Linear(3, 2)
    program = export(model, (X,))
    other = nn.Linear(3, 2)
    program.apply_weights(other.state_dict())
    torch.testing.assert_close(program(X)[0], other(X).detach())


# ---- sizes


def test_dynamic_axes_by_name_and_by_number():
    model = Of(lambda a, b: (a @ b.T, a.sum(0)))
    program = export(model, (X, X), input_names=["a", "b"], dynamic_axes={"a": {0: "rows-of-a"}, "b": [0]})
    graph = program.model_proto.graph
    assert [sizes(each) for each in graph.input] == [["rows-of-a", 3], ["b_dynamic_axes_1", 3]]
    assert sizes(graph.output[0]) == ["rows-of-a", "b_dynamic_axes_1"]
    a, b = torch.randn(5, 3), torch.randn(4, 3)
    torch.testing.assert_close(program(a, b)[0], a @ b.T)


def test_sizes_with_two_names_that_must_be_equal():
    program = export(
        Of(lambda a, b: a * b), (X, X), input_names=["a", "b"], dynamic_axes={"a": {0: "n"}, "b": {0: "m"}}
    )
    a = torch.randn(5, 3)
    torch.testing.assert_close(program(a, a)[0], a * a)


def test_a_size_that_does_not_vary():
    with pytest.raises(torch._dynamo.exc.UserError, match=r"\(k\).*takes 3 and no other size"):
        export(nn.Linear(3, 2), (X,), dynamic_shapes=({1: "k"},))


def test_a_table_bounds_a_size():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Parameter(torch.randn(20, 3))

        def forward(self, x):
            return x + self.table[: x.shape[0]]

    model = Model()
    program = export(model, (X,), dynamic_shapes=({0: torch.export.Dim("n")},))
    x = torch.randn(20, 3)
    torch.testing.assert_close(program(x)[0], model(x).detach())


# ---- what cannot be written


def test_an_operator_that_jax2onnx_lacks_is_named_with_its_line():
    def smallest(array):
        return lax.reduce_window(array, np.float32(np.inf), lax.min, (1, 2), (1, 1), "VALID")

    call = torch.jax_function(smallest)

    def forward(x):
        return call(x)

    line = forward.__code__.co_firstlineno + 1
    with pytest.raises(OnnxExporterError) as raised:
        export(Of(forward), (X,))
    assert re.search(
        rf"jax_function\(smallest\) \({re.escape(__file__)}:{line}\) as ONNX: jax2onnx lacks reduce_window_min",
        str(raised.value),
    )


def test_an_operator_that_jax2onnx_refuses_is_named_with_its_line():
    with pytest.raises(OnnxExporterError, match=rf"linalg_eigvals \({re.escape(__file__)}:\d+\) as ONNX"):
        export(Of(lambda x: torch.linalg.eigvals(x).real), (torch.eye(3),))


def test_elements_that_decide_are_refused():
    with pytest.raises(OnnxExporterError, match="data-dependent control flow"):
        export(Of(lambda x: x if x.sum() > 0 else -x), (X,))


@pytest.mark.parametrize(
    "option", ["custom_translation_table", "custom_opsets", "report", "profile", "export_modules_as_functions"]
)
def test_options_that_are_not_supported(option):
    with pytest.raises(NotImplementedError, match=option):
        export(nn.ReLU(), (X,), **{option: {1: 2}})


@pytest.mark.parametrize("opset", [18, 20, 23])
def test_opsets(opset):
    program = export(nn.LayerNorm(3), (X,), opset_version=opset)
    assert program.model_proto.opset_import[0].version == opset
    torch.testing.assert_close(program(X)[0], nn.LayerNorm(3)(X).detach())
    with pytest.raises(NotImplementedError, match="opset_version=9"):
        export(nn.ReLU(), (X,), opset_version=9)


# ---- operators


OPERATORS = {
    "cumsum": lambda x: x.cumsum(0),
    "sort": lambda x: x.sort(-1),
    "topk": lambda x: x.topk(2),
    "max": lambda x: x.max(1),
    "median": lambda x: x.median(1),
    "einsum": lambda x: torch.einsum("ij,kj->ik", x, x),
    "bicubic": lambda x: nn.functional.interpolate(x[None, None], scale_factor=2, mode="bicubic"),
    "nearest": lambda x: nn.functional.interpolate(x[None, None], size=(5, 7)),
    "reflect": lambda x: nn.functional.pad(x[None, None], (1, 1, 1, 1), mode="reflect"),
    "std": lambda x: x.std(0),
    "logsumexp": lambda x: x.log_softmax(1).logsumexp(1),
    "activations": lambda x: nn.functional.gelu(x) + nn.functional.mish(x) + nn.functional.softplus(x) + nn.functional.elu(x),
    "masked_fill": lambda x: x.masked_fill(x > 0, -1.0),
    "floor": lambda x: (x * 3).to(torch.int32) // 2,
    "remainder": lambda x: torch.remainder(x, 0.7),
    "half": lambda x: x.half() * 2,
    "scatter_add": lambda x: x.scatter_add(0, torch.zeros(2, 3, dtype=torch.long), torch.ones(2, 3)),
    "avg_pool": lambda x: nn.functional.avg_pool2d(x[None, None], 2, 1, 1),
    "max_pool": lambda x: nn.functional.max_pool2d(x[None, None], 2, 1, 1, ceil_mode=True),
    "adaptive": lambda x: nn.functional.adaptive_avg_pool2d(x[None, None], (2, 2)),
    "depthwise": lambda x: nn.functional.conv1d(x[None], torch.ones(2, 1, 2), groups=2),
    "dilated": lambda x: nn.functional.conv2d(x[None, None], torch.ones(2, 1, 1, 2), dilation=2, stride=2),
    "any": lambda x: (x > 1).any(0),
    "double": lambda x: x @ x.T,
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_give_the_same(name):
    model, x = Of(OPERATORS[name]), X.double() if name == "double" else X
    expected = model(x)
    for mine, other in zip(
        export(model, (x,))(x), [expected] if isinstance(expected, torch.Tensor) else expected, strict=True
    ):
        torch.testing.assert_close(mine, other, rtol=1e-5, atol=1e-5)
