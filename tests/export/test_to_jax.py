"""``torchlike.export_jax``: a module as StableHLO that a process without torchlike runs, for sizes that vary."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import Any

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
import pytest

import torchlike as torch
from tests.onnx.models import MODELS, dynamic_shapes, larger, made
from torchlike import nn
from torchlike._dynamo.exc import UserError
from torchlike.export import _plain
from torchlike.numerics import pooling
from torchlike.utils._pytree import tree_leaves, tree_map

pytestmark = pytest.mark.recorded

X = torch.tensor([[1.0, -2.0, 3.0], [0.5, 0.25, -1.0]])


class Of(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args, **kwargs):
        return self.function(*args, **kwargs)


def arrays(args):
    return tree_map(lambda x: x.numpy().astype(np.int32) if x.dtype == torch.int64 else x.numpy(), args)


@pytest.mark.costly
@pytest.mark.parametrize("name", ["resnet18", "gpt_with_cache", "lstm"])
def test_a_model_gives_the_same_for_other_sizes(name):
    assert name in MODELS
    case = made(name)
    artifact = torch.export_jax(case.model, case.args, dynamic_shapes=dynamic_shapes(case), platforms=["cpu"])
    for by in (0, 3):
        args = larger(case, by)
        with torch.no_grad():
            expected = case.model(*args)
        found = artifact.call(*arrays(args))
        assert jax.tree.structure(found) == jax.tree.structure(arrays(expected))
        for mine, other in zip(jax.tree.leaves(found), jax.tree.leaves(arrays(expected)), strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-5)
    assert len(tree_leaves(expected)) == len(artifact.out_avals)


def test_a_process_without_torchlike_runs_it(tmp_path):
    pytest.importorskip("flatbuffers", reason="JAX writes artifacts by flatbuffers: torchlike[stablehlo]")
    model = nn.Sequential(nn.Conv2d(1, 4, 3, 2, 1), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3)).eval()
    x = torch.randn(2, 1, 8, 8)
    artifact = torch.export_jax(model, (x,), dynamic_shapes=({0: "batch"},))
    (tmp_path / "model.bin").write_bytes(artifact.serialize())
    images = torch.randn(5, 1, 8, 8)
    np.save(tmp_path / "x.npy", images.numpy())
    program = """
        import sys
        sys.modules["torchlike"] = None  # whoever imports it fails
        import jax, numpy as np
        call = jax.jit(jax.export.deserialize(open("model.bin", "rb").read()).call)
        np.save("y.npy", call(np.load("x.npy")))
        assert jax.config.jax_enable_x64 is False
    """
    subprocess.run([sys.executable, "-c", "import jax.export\n" + textwrap.dedent(program)], cwd=tmp_path, check=True)
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), model(images).detach().numpy(), atol=1e-5)


def test_arguments_by_name_in_dictionaries_and_integers():
    class Model(nn.Module):
        def forward(self, pair, *, index, times=2):
            return {"b": pair["b"][index] * times, "a": pair["a"].argmax(), "none": None}

    pair, index = {"b": X, "a": X[0]}, torch.tensor([1, 0])
    artifact = torch.export_jax(Model(), (pair,), {"index": index, "times": 3})
    found = artifact.call(arrays(pair), index=np.array([1, 0], np.int32), times=None)
    assert found["b"].tolist() == (X.flip(0) * 3).tolist()
    assert (found["a"].item(), found["a"].dtype, found["none"]) == (2, np.int32, None)


def test_integers_of_64_bits_where_jax_has_them():
    with jax.enable_x64(True):
        artifact = torch.export_jax(Of(lambda x: x * 2), (torch.tensor([2**40]),))
        assert artifact.call(np.array([2**40])).tolist() == [2**41]


def test_what_a_module_makes_of_sizes():
    """Tensors of numbers, and what is computed from them, follow the size; so do numbers in formulas."""

    def compute(x):
        n = x.shape[0]
        steps = torch.arange(n) / 2 + torch.arange(0, 2 * n, 2) - torch.full((n,), n)
        table = (
            torch.sin(steps)
            + torch.ones(n, n).triu(1).sum(0)
            + torch.eye(n)[0]
            + torch.zeros(n).scatter(0, torch.tensor(0), 1.0)
        )
        return x.mean(0) + x.sum() / n, (x.T * table).T, torch.cat([x, x[: n - 1]]), x.reshape(n // 1, 3, 1), x.var(0)

    artifact = torch.export_jax(Of(compute), (X.repeat(2, 1),), dynamic_shapes={"args": ({0: "n"},)})
    for n in (2, 3, 7, 50):
        x = torch.randn(n, 3)
        for mine, other in zip(artifact.call(x.numpy()), compute(x), strict=True):
            np.testing.assert_allclose(mine, other.numpy(), rtol=1e-5, atol=1e-5)


def test_sizes_that_are_computed_from_one():
    dim = torch.export.Dim("n")
    artifact = torch.export_jax(
        Of(lambda x: x.reshape(-1, 4).sum(1)), (torch.ones(8),), dynamic_shapes={"args": ({0: 4 * dim},)}
    )
    assert artifact.call(np.ones(20, np.float32)).tolist() == [4.0] * 5


def test_a_module_that_computes_something_else_for_other_sizes_is_refused():
    with pytest.raises(UserError, match=r"for all sizes \(n\)"):
        torch.export_jax(
            Of(lambda x: x.sum() if x.shape[0] > 20 else x.prod()),
            (torch.ones(3),),
            dynamic_shapes={"args": ({0: "n"},)},
        )
    with pytest.raises(UserError, match=r"for all sizes \(n\)"):
        torch.export_jax(Of(lambda x: x * len(str(x.shape[0]))), (torch.ones(3),), dynamic_shapes={"args": ({0: "n"},)})


def test_an_exported_program():
    model = nn.Sequential(nn.Linear(3, 2), nn.Tanh())
    exported = torch.export.export(model, (X,), dynamic_shapes={"input": {0: torch.export.Dim("n", max=9)}})
    x = torch.randn(7, 3)
    for program in (exported, torch.export.export(model, (x,))):
        np.testing.assert_allclose(program.to_stablehlo().call(x.numpy()), model(x).detach().numpy(), atol=1e-6)


def test_a_module_is_left_as_it_was():
    model = nn.BatchNorm1d(3)
    before = {name: each.clone() for name, each in model.state_dict().items()}
    torch.export_jax(model, (X,))
    assert all(torch.equal(before[name], each) for name, each in model.state_dict().items())


def test_every_primitive_of_torchlikes_has_a_plain_form():
    """Those that a program may hold; the loops of plans, and what lowering makes, no program holds."""
    import torchlike.numerics

    found = set()
    for name, module in list(sys.modules.items()):
        if name.startswith(torchlike.numerics.__name__):
            found |= {each for each in vars(module).values() if isinstance(each, jax.extend.core.Primitive)}
    own = {each for each in found if each.name.startswith("torchlike_")}
    assert own == set(_plain.PLAIN)


def test_attention_of_long_sequences_and_grouped_heads():
    q, k, v = torch.randn(1, 4, 800, 8), torch.randn(1, 2, 800, 8), torch.randn(1, 2, 800, 8)
    model = Of(lambda q, k, v: nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True))
    artifact = torch.export_jax(model, (q, k, v))
    assert "custom_call" not in artifact.mlir_module()
    np.testing.assert_allclose(artifact.call(q.numpy(), k.numpy(), v.numpy()), model(q, k, v).numpy(), atol=1e-5)


@pytest.mark.parametrize("first", [False, True], ids=["any of the largest", "the first"])
@pytest.mark.parametrize("name", ["picked_p", "spread_p"])
def test_the_plain_forms_of_pooling_give_the_same(name: str, first: bool) -> None:
    windows = pooling.Windows(sizes=(3, 2), kernel=(3, 2), stride=(2, 3), before=(1, 0), first=first)
    draw = np.random.default_rng(0)
    image = jnp.asarray(draw.permutation(2 * 5 * 6).reshape(2, 5, 6), np.float32)  # no two are equal
    second = (2, 5, 6) if name == "picked_p" else (2, 3, 2)
    other, primitive = jnp.asarray(draw.normal(size=second), np.float32), getattr(pooling, name)
    found: Any = _plain.PLAIN[primitive](image, other, windows=windows)
    np.testing.assert_allclose(found, primitive.bind(image, other, windows=windows), rtol=1e-6)
