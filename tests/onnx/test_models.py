"""Ten kinds of model as ONNX: each is valid for ``onnx.checker``, and gives in onnxruntime what the module gives."""

from __future__ import annotations

import pytest

import torchlike as torch
from tests.onnx.models import MODELS, dynamic_shapes, larger, made
from torchlike.utils._pytree import tree_leaves

pytest.importorskip("jax2onnx", reason="torchlike[onnx] is not installed: make onnx")
pytestmark = [pytest.mark.recorded, pytest.mark.filterwarnings("default")]


def agree(program: torch.onnx.ONNXProgram | None, model: torch.nn.Module, args: tuple[object, ...]) -> None:
    assert program is not None
    with torch.no_grad():
        expected = tree_leaves(model(*args))
    for mine, other in zip(program(*args), expected, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_gives_the_same(name):
    case = made(name)
    program = torch.onnx.export(case.model, case.args)
    agree(program, case.model, case.args)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_gives_the_same_for_other_sizes(name):
    case = made(name)
    program = torch.onnx.export(case.model, case.args, dynamic_shapes=dynamic_shapes(case))
    assert program is not None
    for by in (0, 1, 4, -1):
        agree(program, case.model, larger(case, by))
    first = program.model_proto.graph.input[0].type.tensor_type.shape.dim
    assert {dim: first[dim].dim_param for dim in case.varying[0]} == case.varying[0]
