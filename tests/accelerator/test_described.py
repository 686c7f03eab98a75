"""Programs that are compiled for devices that this machine does not have. Where libtpu is not installed, CPUs stand for the TPUs."""

import importlib.util
import math
import re
import subprocess
import sys

import jax
import jax.extend
import numpy as np
import pytest

import torchlike as torch
from benchmarks import sharded
from torchlike import nn
from torchlike.accelerator import described
from torchlike.engine import executable, onednn
from torchlike.engine.geometry import Geometry
from torchlike.engine.memory import again
from torchlike.numerics.exact_math import computed_on
from torchlike.ops.linalg.matmul import linear, product
from torchlike.ops.nn import norm
from torchlike.ops.nn.loss import nll_loss
from torchlike.utils.checkpoint import checkpoint

pytestmark = pytest.mark.recorded
needs_libtpu = pytest.mark.skipif(
    importlib.util.find_spec("libtpu") is None, reason="needs the compiler for TPUs: libtpu"
)


@pytest.fixture
def stand_in(monkeypatch):
    """CPUs for the chips."""
    monkeypatch.setattr(described, "_chips", lambda topology: jax.devices("cpu")[:4])


def train(steps=3, width=64):
    """Steps of a model on the device: what was read, the model and its optimizer."""
    model = nn.Sequential(nn.Linear(32, width), nn.Dropout(0.1), nn.ReLU(), nn.Linear(width, 4)).to("tpu")
    optimizer, read = torch.optim.Adam(model.parameters()), []
    for _ in range(steps):
        x, y = torch.randn(8, 32).to("tpu"), torch.randint(4, (8,)).to("tpu")
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        read.append(loss.item())
    return read, model, optimizer


@pytest.mark.usefixtures("stand_in")
def test_a_loop_of_training_is_compiled_and_not_run():
    with torch.compiled_for("tpu:v5e:2x2") as compiled:
        assert torch.accelerator.current_accelerator() == torch.device("tpu")
        read, model, _ = train()
        parameters = 4 * sum(p.numel() for p in model.parameters())
    assert read == [0.0] * 3
    program = compiled.programs[-1]
    products = 2 * 8 * (3 * 64 * 4 + 2 * 32 * 64)  # the first layer's input needs no gradient
    assert (
        products <= program.flops <= products + 1000 * 8 * 64
    )  # some hundred operations draw a number of the dropout's
    assert program.argument_bytes >= 3 * parameters and program.donated_bytes >= 3 * parameters
    assert program.host_bytes == 8 * (32 * 4 + 8)  # the batch, and no random numbers
    assert program.runs >= 2 and program.collectives == {}
    assert program.line.endswith("read.append(loss.item())")
    assert "GFLOP" in str(compiled) and "test_described.py" in str(compiled)


@pytest.mark.usefixtures("stand_in")
def test_nothing_stays_when_a_description_ends():
    for _ in range(2):  # a second one begins anew
        with torch.compiled_for("tpu:v5e:2x2") as compiled:
            read, model, _ = train()
        assert len(compiled.programs) <= 2 and read == [0.0] * 3
    with pytest.raises(RuntimeError, match="the description has ended"):
        model[0].weight.tolist()
    with pytest.raises(RuntimeError, match="no tpu device is available"):
        torch.ones(2, device="tpu")
    assert (torch.ones(2) + 1).tolist() == [2.0, 2.0]


@pytest.mark.usefixtures("stand_in")
def test_an_error_ends_a_description():
    with pytest.raises(ZeroDivisionError), torch.compiled_for("tpu:v5e:2x2"):
        torch.ones(2, device="tpu") + 1
        raise ZeroDivisionError
    with torch.compiled_for("tpu:v5e:2x2"), pytest.raises(RuntimeError, match="one description ends before"):
        with torch.compiled_for("tpu:v5e:2x2"):
            pass


@pytest.mark.usefixtures("stand_in")
def test_tensors_of_the_host_are_computed_meanwhile():
    with torch.compiled_for("tpu:v5e:2x2"):
        there = torch.arange(3, device="tpu")
        assert there.cpu().tolist() == [0, 0, 0] and there.device.type == "tpu"
        assert torch.arange(3).tolist() == [0, 1, 2]
        assert np.asarray(torch.arange(3) * 2).tolist() == [0, 2, 4]


@pytest.mark.usefixtures("stand_in")
def test_a_result_of_jax_on_the_host_is_copied_to_a_described_device_when_a_program_needs_it():
    x = torch.from_jax(jax.numpy.ones((4, 4)))
    with torch.compiled_for("tpu:v5e:2x2") as compiled:
        for _ in range(3):
            (x.to("tpu") @ torch.ones(4, 4, device="tpu")).sum().item()
    assert compiled.programs[-1].host_bytes == 64


@pytest.mark.parametrize("device", ["tpu", "cuda:h100", "v5e:2x2", "tpu:"])
def test_what_is_no_device_is_refused(device):
    with pytest.raises(ValueError, match="a platform and a topology"), torch.compiled_for(device):
        pass


@pytest.mark.usefixtures("stand_in")
def test_autocast_on_a_tpu_computes_products_in_bfloat16():
    with torch.compiled_for("tpu:v5e:2x2"), torch.autocast("tpu"):
        x = torch.ones(2, 2, device="tpu")
        assert (x @ x).dtype is torch.bfloat16 and x.softmax(0).dtype is torch.float32


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize("name", ["gelu", "silu", "mish", "softplus", "logsigmoid"])
def test_activations_in_bfloat16_keep_nothing_in_float32_for_the_backward_pass(name):
    activate, layers = getattr(nn.functional, name), 4
    with torch.compiled_for("tpu:v5e:2x2") as compiled:
        weights = [torch.randn(64, 4096, dtype=torch.bfloat16).to("tpu").requires_grad_() for _ in range(layers)]
        x = torch.randn(512, 64, dtype=torch.bfloat16).to("tpu")
        for _ in range(3):
            h = x
            for weight in weights:
                h = x + activate(h @ weight) @ weight.detach().T
            h.float().square().sum().backward()
            torch.stack([w.grad.float().sum() for w in weights if w.grad is not None]).sum().item()
            for weight in weights:
                weight.grad = None
    hidden = 512 * 4096
    # What enters each activation, and a few arrays of the layer that is being computed.
    assert compiled.programs[-1].temporary_bytes < 2 * layers * hidden + 8 * hidden


def kept_between_products(activate, layers=6, rows=512, width=4096):
    """What a step keeps through layers of two products with an activation between, in arrays as large as what enters it."""
    with torch.compiled_for("tpu:v5e:2x2") as compiled:
        weights = [torch.randn(64, width).to("tpu").requires_grad_() for _ in range(2 * layers)]
        x = torch.randn(rows, 64).to("tpu")
        for _ in range(3):
            h = x
            for first, second in zip(weights[::2], weights[1::2], strict=True):
                h = h + activate(h @ first) @ second.T
            h.square().sum().backward()
            torch.stack([w.grad.sum() for w in weights if w.grad is not None]).sum().item()
            for weight in weights:
                weight.grad = None
    return max(program.temporary_bytes for program in compiled.programs) / (4 * rows * width)


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize(
    ("name", "width"), [("gelu", 4096), ("silu", 4160), ("mish", 4224), ("softplus", 4288), ("logsigmoid", 4352)]
)
def test_what_leaves_an_activation_is_computed_again_and_not_kept(name, width, monkeypatch):
    # The chips are CPUs here, whose compiler must be told to leave the barriers.
    options = executable.options_for_cpu(convolves=False, recomputes=True)
    monkeypatch.setattr(executable, "COMPILER_OPTIONS", options)
    activate, layers = getattr(nn.functional, name), 6
    # A width for each: layers that are known from another test would begin a path of their own.
    lower = kept_between_products(activate, layers, width=width)
    monkeypatch.setattr(again, "PLATFORMS", ())
    higher = kept_between_products(activate, layers, width=width // 2)  # another width: no program of before is taken
    assert lower < higher - layers + 1.5  # of one layer or two it is there in any case


CHANNELS = np.linspace(0.5, 2, 8, dtype="float32")
NORMS = {
    "batch": (lambda x, w: norm.batch_norm_train.declared.compute(x, w, w, 1e-5)[0], (64, 8)),
    "batch by given statistics": (lambda x, w: norm.batch_norm_eval.declared.compute(x, w, w, w, w, 1e-5), (64, 8)),
    "instance": (lambda x, w: norm.instance_norm_.declared.compute(x, w, None, 1e-5)[0], (8, 8, 16)),
    "group": (lambda x, w: norm.group_norm_.declared.compute(x, w, w, 2, 1e-5), (32, 8, 4)),
    "layer": (lambda x, w: norm.layer_norm_.declared.compute(x, None, w, (8,), 1e-5), (64, 8)),
    "rms": (lambda x, w: norm.rms_norm_.declared.compute(x, w, (8,), 1e-5), (64, 8)),
}


def random_halves(shape):
    """An input, and what arrives in the backward pass: the gradients by way of the output and of its mean nearly cancel."""
    random = np.random.default_rng(0)
    return [(random.standard_normal(shape) + around).astype("bfloat16") for around in (0, 8)]


@pytest.mark.parametrize("name", NORMS)
def test_normalisations_of_half_types_keep_nothing_in_float32_for_the_backward_pass(name):
    compute, shape = NORMS[name]

    def wide(aval):
        return aval.dtype == "float32" and aval.size == math.prod(shape)

    def kept(platform):
        """The arrays in float32, as large as the input, that what arrives in the backward pass meets."""
        with computed_on(platform):
            pull = jax.make_jaxpr(lambda d, x, w: jax.vjp(compute, x, w)[1](d))
            jaxpr = pull(*random_halves(shape), CHANNELS)
        (d, x, _), met = jaxpr.jaxpr.invars, []
        arriving, forward, again = {d}, {x}, set()
        for equation in jaxpr.eqns:
            inputs = {v for v in equation.invars if isinstance(v, jax.extend.core.Var)}
            if inputs & arriving:
                arriving.update(equation.outvars)
                met += [v for v in inputs & forward if wide(v.aval)]
            elif inputs & again or equation.primitive.name == "optimization_barrier":
                again.update(equation.outvars)
            elif inputs & forward:
                forward.update(equation.outvars)
        return met

    assert kept("cpu") and not kept("tpu")


@pytest.mark.parametrize("platform", ["cpu", "tpu"])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", NORMS)
def test_derivatives_of_normalisations_of_half_types_are_rounded_once(name, order, platform):
    compute, shape = NORMS[name]
    x, away = random_halves(shape)

    def loss(x, weight):
        return jax.numpy.sum(compute(x, weight).astype("float32") * away.astype("float32"))

    def derivatives(x):
        if order == 1:
            return jax.grad(loss, (0, 1))(x, CHANNELS)
        return jax.grad(lambda *a: jax.numpy.sum(jax.grad(loss)(*a).astype("float32") ** 2), (0, 1))(x, CHANNELS)

    exact = derivatives(x.astype("float32"))
    with computed_on(platform):
        rounded = derivatives(x)
    for got, wanted in zip(rounded, exact, strict=True):
        got, error = (
            got.astype("float32"),
            2.0 ** (-8 if order == 1 else -5),
        )  # the second, of a gradient that is rounded itself
        np.testing.assert_allclose(got, wanted, rtol=error, atol=abs(wanted).max() * (1e-5 if order == 1 else error))


def convolves_in_bfloat16() -> bool:
    """Whether the processor, which stands for the TPU, has instructions for it."""
    geometry, half = Geometry("y", (2, 3, 24), (32, 3, 3), (2, 32, 22), (1,), (0,), (1,), 1), np.dtype("bfloat16")
    return onednn.record_of(onednn.Convolution(geometry, half, half)) is not None


@pytest.mark.usefixtures("stand_in")
def test_under_autocast_every_product_of_a_step_is_in_bfloat16_and_parameters_stay_float32(monkeypatch):
    lowered, compiled_with = [], executable.compiled_with

    def spy(program, _):
        lowered.append(program.as_text())
        return compiled_with(program, {"xla_backend_optimization_level": 0})  # what is compiled does not matter

    monkeypatch.setattr(executable, "compiled_with", spy)
    with torch.compiled_for("tpu:v5e:2x2") as compiled:
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.1, batch_first=True)
        images = torch.ones(2, 3, 24) if convolves_in_bfloat16() else torch.ones(2, 32, 22)
        first = [nn.Conv1d(3, 32, 3), nn.Flatten(2)] if convolves_in_bfloat16() else []
        model = nn.Sequential(*first, Swapped(), layer).to("tpu")
        optimizer = torch.optim.AdamW(model.parameters())
        for _ in range(3):
            with torch.autocast("tpu"):
                loss = model(images.to("tpu")).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss.item()
        assert {p.dtype for p in model.parameters()} == {p.grad.dtype for p in model.parameters()} == {torch.float32}
        state = 3 * sum(p.nbytes for p in model.parameters())
    factors = re.findall(
        r"stablehlo\.(?:dot_general|convolution)\b.*: \(tensor<\S*x(\w+)>, tensor<\S*x(\w+)>\)", lowered[-1]
    )
    assert len(factors) >= 18 and {dtype for pair in factors for dtype in pair} == {"bf16"}
    assert compiled.programs[-1].donated_bytes >= state


class Swapped(nn.Module):
    def forward(self, x):
        return x.transpose(1, 2)


def blocks_kept(keep, blocks=6, width=64, rows=512):
    """Bytes besides arguments and results of a step through blocks that are checkpointed, or not."""
    with torch.compiled_for("tpu:v5e:2x2") as compiled:
        layers = [
            nn.Sequential(nn.Linear(width, 8 * width), nn.GELU(), nn.Linear(8 * width, width)) for _ in range(blocks)
        ]
        model = nn.ModuleList(layers).to("tpu")
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            x = torch.zeros(rows, width).to("tpu")
            for layer in model:
                x = x + (layer(x) if keep else checkpoint(layer, x, use_reentrant=False))
            loss = x.square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss.item()
    return compiled.programs[-1].temporary_bytes


@pytest.mark.usefixtures("stand_in")
def test_checkpoints_lower_what_a_step_keeps(monkeypatch):
    # The chips are CPUs here, whose compiler must be told to leave the barriers.
    options = executable.options_for_cpu(convolves=False, recomputes=True)
    monkeypatch.setattr(executable, "COMPILER_OPTIONS", options)
    hidden = 4 * 512 * 8 * 64  # one block keeps as much
    all_, checkpointed = blocks_kept(True), blocks_kept(False)
    assert all_ > 6 * hidden
    assert checkpointed < all_ - 4 * hidden


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize("convolves", [False, True])
def test_operations_of_programs_with_convolutions_are_ordered_in_depth(convolves, monkeypatch):
    given, compiled_with = [], executable.compiled_with
    monkeypatch.setattr(executable, "compiled_with", lambda *args: given.append(args[1]) or compiled_with(*args))
    with torch.compiled_for("tpu:v5e:2x2"):
        model = (nn.Conv2d(2, 3, 3) if convolves else nn.Linear(4, 3)).to("tpu")
        for _ in range(3):
            loss = model(torch.zeros(1, 2, 4, 4).to("tpu")).sum()
            loss.backward()
            loss.item()
            model.zero_grad()
    schedulers, expected = [options.get("xla_memory_scheduler") for options in given], "dfs" if convolves else None
    # Before the step, what copies the batch may be compiled, if no other test has done that.
    assert schedulers and set(schedulers[schedulers[0] != expected :]) == {expected}


@needs_libtpu
def test_a_parameter_of_which_each_chip_keeps_a_piece_is_whole_only_within_a_step():
    from torchlike.distributed.device_mesh import init_device_mesh
    from torchlike.distributed.fsdp import fully_shard

    with torch.compiled_for("tpu:v5e:2x4") as compiled:
        mesh = init_device_mesh("tpu", (8,))
        model = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)).to("tpu")
        for layer in (model[0], model[2], model):
            fully_shard(layer, mesh=mesh)
        optimizer = torch.optim.Adam(model.parameters())
        for _ in range(3):
            loss = model(torch.randn(64, 512).to("tpu")).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss.item()
    program = compiled.programs[-1]
    piece = 4 * sum(p.numel() for p in model.parameters()) / 8
    assert program.peak_bytes < 6 * piece  # parameter, two moments, gradient, and what it computes with
    assert program.collectives["all-gather"] and program.collectives["reduce-scatter"]


@needs_libtpu
@pytest.mark.costly
@pytest.mark.parametrize("layout", sharded.LAYOUTS)
def test_64_chips_keep_and_exchange_what_the_layout_says_and_nothing_else(layout, monkeypatch):
    monkeypatch.setattr(sharded, "TOKENS", 128)
    found = sharded.figures(layout)
    assert not found["unexpected"] and not found["missing"]
    assert found["by_hand"] <= found["arguments"] < found["by_hand"] + 2**14
    assert found["new"] < 2**14  # parameters and their moments lie where they lay


def loss_of_words(chunks=None, rows=2048, words=32768, features=128):
    """What the compiler says of a step of a language model's last layer, under autocast."""
    with torch.compiled_for("tpu:v5e:2x2") as compiled:
        head = nn.Linear(features, words, bias=False, device="meta").to_empty(device="tpu")
        options = chunks and nn.LinearCrossEntropyOptions(batch_chunk_size=chunks)
        for _ in range(3):
            x, target = torch.empty(rows, features).to("tpu"), torch.zeros(rows, dtype=torch.int64).to("tpu")
            x.requires_grad_()
            with torch.autocast("tpu"):
                if chunks:
                    half = head.weight.to(torch.bfloat16)
                    loss = nn.functional.linear_cross_entropy(x.to(torch.bfloat16), half, target, options=options)
                else:
                    loss = nn.functional.cross_entropy(head(x), target)
            head.weight.grad = None
            loss.backward()
            loss.item()
    return compiled.programs[-1].temporary_bytes / (2 * rows * words)


@needs_libtpu
def test_a_loss_over_many_words_keeps_one_copy_of_the_scores_in_bfloat16_and_none_in_chunks():
    assert loss_of_words() < 1.25
    assert loss_of_words(chunks=256) < 0.5


@pytest.mark.parametrize("reduction", ["none", "mean"])
def test_losses_over_classes_are_the_same_numbers_in_the_way_of_tpus(reduction):
    weight = np.linspace(0.5, 2, 7, dtype=np.float32)
    scores = np.random.default_rng(0).standard_normal((4, 7, 3)).astype(np.float32)
    scores[0, 0, 0], scores[1, 3, 1] = -np.inf, np.inf
    target = np.array([[0, 6, -100], [3, 3, 2], [1, -100, 5], [4, 4, 0]])

    def loss(scores):
        return jax.numpy.sum(nll_loss.declared.compute(scores, target, weight, reduction, -100))

    with jax.enable_x64(True):
        here = jax.value_and_grad(loss)(scores)
        with computed_on("tpu"):
            there = jax.value_and_grad(loss)(scores)
    np.testing.assert_allclose(there[0], here[0], rtol=1e-6)
    np.testing.assert_array_equal(there[1], here[1])


@pytest.mark.parametrize("leading", [(), (3,), (2, 3), (2, 3, 4)])
@pytest.mark.parametrize("name", ["linear", "linear with a bias", "matmul"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_products_on_tpus_leave_the_dimensions_of_rows_as_they_are(name, dtype, leading):
    random = np.random.default_rng(0)
    rows, arrived = (random.standard_normal((*leading, n)).astype(dtype) for n in (5, 7))
    weight, bias = random.standard_normal((7, 5)).astype(dtype), random.standard_normal(7).astype(dtype)

    def gradients(rows, weight, bias, arrived):
        if name == "matmul":
            out, pull = jax.vjp(lambda rows, weight: product(rows, weight.T), rows, weight)
        elif name == "linear":
            out, pull = jax.vjp(linear.declared.compute, rows, weight)
        else:
            out, pull = jax.vjp(linear.declared.compute, rows, weight, bias)
        return out, *pull(arrived)

    def flattened():
        traced = jax.make_jaxpr(lambda *arrays: gradients(*arrays))(rows, weight, bias, arrived)  # not remembered
        return any(np.prod(leading) in e.outvars[0].aval.shape for e in traced.eqns if e.primitive.name == "reshape")

    here, flat = gradients(rows, weight, bias, arrived), flattened()
    with computed_on("tpu"):
        there, still_flat = gradients(rows, weight, bias, arrived), flattened()
    if len(leading) > 1:
        assert flat and not still_flat
    for got, wanted in zip(there, here, strict=True):
        assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
        error = 2e-2 if dtype == "bfloat16" else 1e-5
        np.testing.assert_allclose(got.astype("float32"), wanted.astype("float32"), rtol=error, atol=error)


@needs_libtpu
def test_a_topology_that_libtpu_does_not_know_is_named():
    with pytest.raises(ValueError, match="no topology 'v99:2x2'"), torch.compiled_for("tpu:v99:2x2"):
        pass


@pytest.mark.usefixtures("stand_in")
def test_jax_is_handed_no_array_of_a_described_device():
    with torch.compiled_for("tpu:v5e:2x2"), pytest.raises(RuntimeError, match="has no elements, and no array of JAX's"):
        torch.to_jax(torch.ones(2, device="tpu") + 1)


@pytest.mark.parametrize("words", [["cuda:0", "script.py"], []])
def test_the_command_names_what_is_wrong(words):
    done = subprocess.run(
        [sys.executable, "-m", "torchlike", "--compiled-for", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert ("expected a platform and a topology" if words else "Argument expected for") in done.stderr


@needs_libtpu
def test_the_command_prints_at_the_end_what_the_compiler_says():
    program = "import torch; x = torch.ones(8, 8, device='tpu'); print((x @ x + 1).sum().item()); raise SystemExit(3)"
    command = [sys.executable, "-m", "torchlike", "--compiled-for", "tpu:v5e:2x2", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 3 and done.stdout.endswith("0.0\n")  # after what libtpu has to say
    assert "4 x TPU v5 lite: compiled, not run" in done.stderr
