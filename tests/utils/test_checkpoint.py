"""Recomputed activations: the same gradients, less memory, and PyTorch's errors if the function differs the second time."""

from typing import Any

import pytest

import torchlike as torch
from torchlike import nn
from torchlike.engine import program
from torchlike.engine.executable import compile_ahead
from torchlike.engine.recorder import forget
from torchlike.utils._python_dispatch import TorchDispatchMode
from torchlike.utils.checkpoint import (
    CheckpointError,
    CheckpointPolicy,
    checkpoint,
    checkpoint_sequential,
    create_selective_checkpoint_contexts,
)

X = torch.linspace(-1, 1, 12).reshape(4, 3)


def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Dropout(0.5), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2))


def gradients(call):
    net, x = model(), X.clone().requires_grad_()
    torch.manual_seed(1)
    out = call(net, x)
    out.pow(2).sum().backward()
    return [out.detach(), x.grad, *(p.grad for p in net.parameters())], torch.rand(1)


@pytest.mark.parametrize("reentrant", [False, True])
def test_gradients_and_random_numbers_are_the_same(reentrant):
    plain, after = gradients(lambda net, x: net(x))
    again, after_again = gradients(lambda net, x: checkpoint(net, x, use_reentrant=reentrant))
    parts, _ = gradients(lambda net, x: checkpoint_sequential(net, 3, x, use_reentrant=reentrant))
    for a, b, c in zip(plain, again, parts, strict=True):
        assert torch.allclose(a, b, atol=1e-6) and torch.allclose(a, c, atol=1e-6)
    assert torch.equal(after, after_again)


def test_nothing_is_kept_and_a_second_backward_computes_it_once_more():
    calls = []

    def f(x, scale=1.0):
        calls.append(1)
        return x.sin().cos() * scale

    x = X.clone().requires_grad_()
    y = checkpoint(f, x, use_reentrant=False, scale=2.0).sum()
    assert len(calls) == 1
    y.backward(retain_graph=True)
    first = x.grad.clone()
    y.backward()
    assert len(calls) >= 3 and x.grad.sub(2 * first).abs().max() < 1e-6


def test_gradients_reach_parameters_where_no_input_wants_one():
    net = model().eval()
    checkpoint(net, X, use_reentrant=False).sum().backward()
    assert net[0].weight.grad is not None


def test_a_loop_compiles_nothing_more():
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def step():
        checkpoint(net, X, use_reentrant=False).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    for _ in range(4):
        step()
    torch.engine.flush()
    before = torch.explain().compiles
    for _ in range(4):
        step()
    torch.engine.flush()
    assert torch.explain().compiles == before


def test_another_function_the_second_time_is_an_error():
    calls = []

    def shorter(x):
        calls.append(1)
        return x.sin().cos() if len(calls) == 1 else x.sin()

    x = X.clone().requires_grad_()
    with pytest.raises(
        CheckpointError, match="A different number of tensors was saved during the original forward and recomputation"
    ):
        checkpoint(shorter, x, use_reentrant=False).sum().backward()

    def smaller(x):
        calls.append(1)
        return x.sin() if len(calls) == 1 else x[:2].sin()

    calls.clear()
    with pytest.raises(
        CheckpointError, match=r"tensor at position 0:\nsaved metadata: \{'shape': torch.Size\(\[4, 3\]\)"
    ):
        checkpoint(smaller, x, use_reentrant=False).sum().backward()


def test_a_layer_without_the_bias_of_the_first_one_is_an_error():
    layers = [torch.nn.Linear(3, 3), torch.nn.Linear(3, 3, bias=False)]
    x = X[:2].clone().requires_grad_()
    with pytest.raises(CheckpointError, match="different metadata than during the forward pass"):
        checkpoint(lambda x: layers.pop()(x), x, use_reentrant=False).sum().backward()


def test_warnings_and_refusals():
    x = X.clone().requires_grad_()
    with pytest.warns(UserWarning, match="the use_reentrant parameter should be passed explicitly"):
        checkpoint(torch.sin, x)
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True. Gradients will be None"):
        checkpoint(torch.sin, X, use_reentrant=True)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: foo"):
        checkpoint(torch.sin, x, use_reentrant=True, foo=1)
    with pytest.raises(ValueError, match="only supported when use_reentrant=False"):
        checkpoint(torch.sin, x, use_reentrant=True, debug=True)


@pytest.mark.parametrize(("stops", "calls"), [(True, ["exp", "mean", "exp"]), (False, ["exp", "mean", "exp", "mean"])])
def test_the_recomputation_ends_when_all_that_was_saved_is_there(stops, calls):
    """Code of the function after its last saved tensor runs only once, as in PyTorch."""
    done, mean, layer = [], torch.zeros(2), nn.Linear(3, 2)

    def f(x):
        h = layer(x)
        done.append("exp")
        y = h.exp()
        mean.add_(y.detach().mean(0))
        done.append("mean")
        return y - 1

    out = checkpoint(f, X, use_reentrant=False, early_stop=stops)
    once = mean.clone()
    out.sum().backward()
    assert done == calls
    assert torch.allclose(mean, once * (1 if stops else 2))


@pytest.mark.parametrize("kind", [nn.BatchNorm1d, nn.InstanceNorm1d])
def test_running_statistics_follow_both_computations(kind):
    """PyTorch writes them before it saves the last tensor."""
    x, options = torch.randn(4, 3, 5), {"affine": True, "track_running_stats": True}
    norm, twice = kind(3, **options), kind(3, **options)
    checkpoint(norm, x, use_reentrant=False).sum().backward()
    twice(x)
    twice(x)
    assert torch.allclose(norm.running_mean, twice.running_mean) and torch.allclose(norm.running_var, twice.running_var)
    assert norm.num_batches_tracked == twice.num_batches_tracked


@pytest.mark.recorded  # only a program of the whole step shows how much memory a step needs
@pytest.mark.parametrize("reentrant", [False, True])
def test_a_compiled_step_needs_less_memory(reentrant, monkeypatch):
    """The step needs half the memory if five blocks of five layers are recomputed one after the other."""
    torch.manual_seed(0)
    blocks = [nn.Sequential(*[layer for _ in range(5) for layer in (nn.Linear(16, 16), nn.Tanh())]) for _ in range(5)]
    needed = []

    def compiled(*args, **kwargs):
        executable = compile_ahead(*args, **kwargs)
        needed.append(executable.bytes_needed)
        return executable

    def most_of_a_step(run):
        forget()
        needed.clear()
        for _ in range(3):  # repeated code is compiled
            x = torch.ones(2**14, 16, requires_grad=True)
            for block in blocks:
                x = run(block, x)
            x.sum().backward()
            (blocks[0][0].weight.grad.sum() + blocks[-1][0].weight.grad.sum()).item()
            for block in blocks:
                block.zero_grad()
        return max(needed)

    monkeypatch.setattr(program, "compile_ahead", compiled)
    kept = most_of_a_step(lambda block, x: block(x))
    recomputed = most_of_a_step(lambda block, x: checkpoint(block, x, use_reentrant=reentrant))
    assert 2 * recomputed < kept


@pytest.mark.parametrize("within", [False, True], ids=["around", "within"])
@pytest.mark.parametrize("reentrant", [False, True])
def test_the_recomputation_is_under_the_autocast_of_the_forward_pass(reentrant, within):
    layer, x, dtypes = nn.Linear(3, 3), X.clone().requires_grad_(), []

    def run(x):
        with torch.autocast("cpu", torch.bfloat16, enabled=not within):  # inside, it is switched off for a part
            y = layer(x)
        dtypes.append(y.dtype)
        return layer(y.sin()).float()

    with torch.autocast("cpu", torch.bfloat16):
        y = checkpoint(run, x, use_reentrant=reentrant)
    y.sum().backward()
    assert dtypes == [torch.float32 if within else torch.bfloat16] * 2
    assert not torch.is_autocast_enabled("cpu")
    expected = X.clone().requires_grad_()
    layer.zero_grad()
    with torch.autocast("cpu", torch.bfloat16):
        y = run(expected)
    y.sum().backward()
    torch.testing.assert_close(x.grad, expected.grad, rtol=0, atol=0)


def test_a_reentrant_checkpoint_refuses_a_pass_to_some_inputs():
    x = X.clone().requires_grad_()
    y = checkpoint(torch.sin, x, use_reentrant=True)
    with pytest.raises(RuntimeError, match="torch.utils.checkpoint is incompatible with .grad"):
        torch.autograd.grad(y.sum(), x)


def test_a_recomputed_tensor_of_another_shape_is_an_error_even_unchecked():
    sizes, x = iter((4, 2)), X.clone().requires_grad_()
    y = checkpoint(lambda x: x[: next(sizes)].tanh(), x, use_reentrant=False, determinism_check="none")
    with pytest.raises(RuntimeError, match=r"The size of tensor a \(4\) must match the size of tensor b \(2\)"):
        y.sum().backward()


def selective(policy, function=None, allow_changes=False):
    """The gradient of a checkpointed network under a policy."""
    net, x = (
        function or nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 2)),
        torch.ones(2, 3, requires_grad=True),
    )
    if function is None:
        for parameter in net.parameters():
            nn.init.ones_(parameter)
    contexts = lambda: create_selective_checkpoint_contexts(policy, allow_changes)  # noqa: E731
    checkpoint(net, x, use_reentrant=False, context_fn=contexts).sum().backward()
    return round(x.grad[0, 0].item(), 4)


aten: Any = torch.ops.aten  # pyright: ignore[reportAttributeAccessIssue]
ADDMM = aten.addmm.default
POLICIES = [
    lambda op: CheckpointPolicy.MUST_SAVE,
    lambda op: CheckpointPolicy.PREFER_RECOMPUTE,
    lambda op: CheckpointPolicy.PREFER_SAVE if op is ADDMM else CheckpointPolicy.MUST_RECOMPUTE,
    lambda op: op is ADDMM,
    lambda op: None,
]


@pytest.mark.parametrize("decide", POLICIES)
def test_a_policy_is_asked_about_each_operator(decide):
    asked = []

    def policy(context, op, *args, **kwargs):
        asked.append((context.is_recompute, str(op).split(".")[1], len(args)))
        return decide(op)

    assert selective(policy) == 0.008
    assert asked == [(False, *row) for row in (("t", 1), ("addmm", 3), ("tanh", 1), ("t", 1), ("addmm", 3))]


def test_what_a_policy_keeps_is_not_computed_again():
    contexts = create_selective_checkpoint_contexts([aten.sin.default])
    calls = []

    class Seen(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            calls.append(str(func))
            return func(*args, **(kwargs or {}))

    x = torch.ones(2, requires_grad=True)
    with Seen():
        y = checkpoint(lambda x: x.sin().exp(), x, use_reentrant=False, context_fn=lambda: contexts)
        y.sum().backward()
    assert calls.count("aten.sin.default") == 1
    assert x.grad[0].item() == pytest.approx(1.2534, abs=1e-4)


def test_words_of_selective_checkpoints():
    for wrong in ([aten.addmm], [2], ["aten::addmm"]):
        with pytest.raises(ValueError, match="Expected op in `op_list` to be an OpOverload but got: "):
            selective(wrong)
    with pytest.raises(TypeError, match="policy_fn_or_list must be either a function or a list of ops."):
        selective(5)
    with pytest.raises(RuntimeError, match="Tensor cached during selective activation checkpoint has been mutated"):
        selective([aten.sin.default], lambda x: x.sin().mul_(2).cos())


def test_gradients_within_a_checkpoint_that_runs_again_to_its_end():
    def gradient(x):
        with torch.enable_grad():
            return torch.autograd.grad(x.sin().sum(), x, create_graph=True)[0]

    for early in (False, True):
        x = torch.tensor([0.3, 2.0], requires_grad=True)
        with torch.utils.checkpoint.set_checkpoint_early_stop(early):
            torch.utils.checkpoint.checkpoint(gradient, x, use_reentrant=False).sum().backward()
        torch.testing.assert_close(x.grad, -x.detach().sin())


@pytest.mark.parametrize("write", ["h.add_(1)", "m.add_(1)", "h[0].mul_(2)"])
def test_an_argument_that_was_written_to_in_between_is_an_error(write):
    x, m = torch.tensor([1.0, -2.0], requires_grad=True), torch.ones(2)
    h = x * 1
    y = checkpoint(lambda h, m: (h * h * m).sin(), h, m, use_reentrant=False)
    exec(write, {"h": h, "m": m})
    with pytest.raises(RuntimeError, match="modified by an inplace operation.* is at version 1; expected version 0"):
        y.sum().backward()


def test_a_function_that_writes_to_its_argument_cannot_run_again():
    h = torch.ones(2, requires_grad=True) * 1
    y = checkpoint(lambda h: h.mul_(2).exp(), h, use_reentrant=False)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
