"""autocast and GradScaler: the precision in which operations run, and steps with gradients that are not finite."""

import pickle

import pytest

import torchlike as torch
from torchlike import nn


def test_products_run_in_half_and_losses_in_float32():
    model, x = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)), torch.randn(5, 4)
    model(x)  # the recorder has seen the op in float32 before
    with torch.autocast("cpu"):
        y = model(x)
        loss = nn.functional.cross_entropy(y, torch.tensor([0, 1, 0, 1, 0]))
    loss.backward()
    assert (y.dtype, loss.dtype, model[0].weight.grad.dtype) == (torch.bfloat16, torch.float32, torch.float32)
    assert model(x).dtype is torch.float32


@pytest.mark.parametrize(
    ("op", "dtype"),
    [
        (lambda x: x @ x, torch.bfloat16),
        (lambda x: torch.mm(x, x), torch.bfloat16),
        (lambda x: torch.einsum("ij,jk", x, x), torch.bfloat16),
        (lambda x: nn.functional.conv1d(x[None], x[:, :, None]), torch.bfloat16),
        (lambda x: x + x, torch.float32),
        (lambda x: x.double() @ x.double(), torch.float64),
        (lambda x: torch.softmax(x @ x, 0), torch.bfloat16),
        (lambda x: (x @ x).prod(), torch.float32),
        (lambda x: nn.functional.mse_loss(x @ x, x), torch.float32),
    ],
)
def test_each_op_has_its_precision(op, dtype):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert op(torch.ones(3, 3)).dtype is dtype


def test_autocast_nests_and_decorates():
    x = torch.ones(2, 2)
    with torch.autocast("cpu"):
        with torch.autocast("cpu", enabled=False):
            assert (x @ x).dtype is torch.float32
        assert (x @ x).dtype is torch.bfloat16
    assert torch.autocast("cpu", dtype=torch.float16)(lambda: x @ x)().dtype is torch.float16


def test_what_cannot_be_says_so():
    with pytest.warns(UserWarning, match="In CPU autocast, but the target dtype is not supported"):
        torch.autocast("cpu", dtype=torch.float64)
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        torch.autocast(3)  # pyright: ignore[reportArgumentType]


def trained(scaler, gradient):
    weight = nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scaler.scale((weight * gradient).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    return weight.item()


def test_gradients_are_scaled_back():
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    assert [trained(scaler, 0.25), trained(scaler, 0.5)] == [0.75, 0.5]
    assert scaler.get_scale() == 8


def test_a_step_with_a_gradient_that_is_not_finite_is_skipped():
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    assert trained(scaler, float("inf")) == 1
    assert scaler.get_scale() == 2


def test_calls_out_of_order_are_refused():
    scaler, weight = torch.amp.GradScaler("cpu"), nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    with pytest.raises(AssertionError, match="Attempted unscale_ but _scale is None"):
        scaler.unscale_(optimizer)
    scaler.scale(weight.sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="has already been called on this optimizer"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="has already been called since the last update"):
        scaler.step(optimizer)


def test_the_state_is_pytorchs():
    state = torch.amp.GradScaler("cpu").state_dict()
    assert state == {
        "scale": 65536.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2000, "_growth_tracker": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("cast", "forward", "backward"),
    [(None, torch.bfloat16, torch.bfloat16), (torch.float32, torch.float32, torch.float32)],
)
def test_a_function_of_ones_own_runs_under_autocast_both_ways(cast, forward, backward):
    seen = []

    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=cast)
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            seen.append((a @ b).dtype)
            return (a @ b).float()

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            seen.append((g @ b.T).dtype)
            return (g @ b.T).float(), (a.T @ g).float()

    a, b = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2)
    with torch.autocast("cpu"):
        out = Product.apply(a, b)
    out.sum().backward()
    assert seen == [forward, backward] and a.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]
    Product.apply(a, b)
    assert seen[-1] is torch.float32
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        torch.amp.custom_fwd(device_type=None)  # pyright: ignore[reportArgumentType]


def test_gradients_of_half_type_are_not_unscaled():
    parameter = torch.nn.Parameter(torch.ones(2, dtype=torch.float16))
    optimizer, scaler = torch.optim.SGD([parameter], lr=0.1), torch.amp.GradScaler("cpu", init_scale=4.0)
    scaler.scale(parameter.sum()).backward()
    with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients."):
        scaler.step(optimizer)


def test_sparse_gradients_are_unscaled():
    layer = torch.nn.Embedding(3, 2, sparse=True)
    optimizer, scaler = torch.optim.SGD(layer.parameters(), lr=1.0), torch.amp.GradScaler("cpu", init_scale=16.0)
    before = layer.weight.detach().clone()
    scaler.scale(layer(torch.tensor([0, 2, 0])).sum()).backward()
    scaler.step(optimizer)
    assert (before - layer.weight.detach()).round().tolist() == [[2.0, 2.0], [0.0, 0.0], [1.0, 1.0]]


def test_options_are_set_and_any_iterable_is_scaled():
    scaler = torch.amp.GradScaler("cpu", init_scale=16.0)
    scaler.set_growth_factor(3.0)
    scaler.set_backoff_factor(0.25)
    scaler.set_growth_interval(1)
    assert (scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval()) == (3.0, 0.25, 1)
    assert [loss.item() for loss in scaler.scale(iter([torch.tensor(1.0)]))] == [16.0]


def test_the_scale_is_a_tensor_from_the_first_loss_on():
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    assert scaler._scale is None and scaler.get_scale() == 4.0
    w = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([w], lr=0.1)
    seen = []
    for factor in (1.0, 1.0, float("inf"), 1.0):
        optimizer.zero_grad()
        scaler.scale((w * w).sum() * factor).backward()
        scaler.step(optimizer)
        scaler.update()
        seen.append((scaler._scale.item(), scaler._growth_tracker.item()))  # pyright: ignore[reportAttributeAccessIssue]
    assert seen == [(4.0, 1), (8.0, 0), (4.0, 0), (4.0, 1)]
    again = pickle.loads(pickle.dumps(scaler))
    assert again._scale is None and (again.get_scale(), again._get_growth_tracker()) == (4.0, 1)
    scaler.update(torch.tensor(2.0))
    assert scaler.get_scale() == 2.0
    scaler.scale((w * w).sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(AssertionError, match="may only be pickled at the beginning of an iteration"):
        pickle.dumps(scaler)


class Scales(torch.optim.SGD):
    _step_supports_amp_scaling = True

    def step(self, closure=None):
        self.seen = (None if self.grad_scale is None else self.grad_scale.item(), self.found_inf.item())  # pyright: ignore[reportAttributeAccessIssue]
        return 5


class TakesScaler(torch.optim.SGD):
    _step_supports_amp_scaling = True

    def step(self, closure=None, *, grad_scaler=None):
        return type(grad_scaler).__name__


def test_an_optimizer_that_scales_by_itself_gets_the_scale():
    w, scaler = torch.nn.Parameter(torch.ones(2)), torch.amp.GradScaler("cpu", init_scale=8.0)
    optimizer = Scales([w], lr=0.1)
    scaler.scale((w * w).sum()).backward()
    assert scaler.step(optimizer) == 5 and optimizer.seen == (8.0, 0.0)
    assert not hasattr(optimizer, "grad_scale") and w.grad.tolist() == [16, 16]
    scaler.update()
    scaler.unscale_(optimizer)
    assert scaler.step(optimizer) == 5 and optimizer.seen == (None, 0.0)
    scaler.update()
    w.grad.fill_(float("inf"))
    scaler.step(optimizer)
    assert optimizer.seen == (8.0, 1.0)
    scaler.update()
    with pytest.warns(FutureWarning, match="GradScaler is going to stop passing itself"):
        assert scaler.step(TakesScaler([w], lr=0.1)) == "GradScaler"


def test_the_flag_of_the_cache_is_that_of_the_innermost_autocast():
    with torch.autocast("cpu", cache_enabled=False):
        assert not torch.is_autocast_cache_enabled()
        with torch.autocast("cpu", cache_enabled=True):
            assert torch.is_autocast_cache_enabled()
        assert not torch.is_autocast_cache_enabled()
    assert torch.is_autocast_cache_enabled()
