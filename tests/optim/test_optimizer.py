"""Optimizer: groups and their errors, closures, hooks, the format of the state, users' subclasses."""

import copy
import weakref
from typing import Any

import numpy as np
import pytest

import torchlike as torch
from torchlike import optim


def leaf(*shape: int) -> Any:
    return torch.ones(*shape or (2,), requires_grad=True)


P, Q = leaf(2), leaf(3)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: optim.SGD(P), TypeError,
            "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
            "torch.FloatTensor",
        ),
        (lambda: optim.SGD([]), ValueError, "optimizer got an empty parameter list"),
        (lambda: optim.SGD([3]), TypeError, "optimizer can only optimize Tensors, but one of the params is int"),
        (lambda: optim.SGD([leaf() * 2]), ValueError, "can't optimize a non-leaf Tensor"),
        (
            lambda: optim.SGD([{"params": {P}}]), TypeError,
            "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in "
            "sets will change between runs. Please use a list instead.",
        ),
        (
            lambda: optim.SGD([{"params": P}, {"params": P}]), ValueError,
            "some parameters appear in more than one parameter group",
        ),
        (
            lambda: optim.SGD([("w", P), Q]), ValueError,
            "all optimizer params should be with/without names. Some param names are missing",
        ),
        (
            lambda: optim.SGD([{"params": [("w", P)]}, {"params": [Q]}]), ValueError,
            "all optimizer param groups should be with/without names. cannot add param group without names to the "
            "optimizer",
        ),
        (lambda: optim.SGD([P]).add_param_group(3), TypeError, "param_group must be a dict, but got <class 'int'>"),  # pyright: ignore[reportArgumentType]
        (lambda: optim.SGD([P], lr=-1), ValueError, "Invalid learning rate: -1"),
        (lambda: optim.SGD([P], lr=torch.tensor([0.1, 0.2])), ValueError, "Tensor lr must be 1-element"),
        (lambda: optim.SGD([P], momentum=-1), ValueError, "Invalid momentum value: -1"),
        (lambda: optim.SGD([P], weight_decay=-1), ValueError, "Invalid weight_decay value: -1"),
        (lambda: optim.SGD([P], nesterov=True), ValueError, "Nesterov momentum requires a momentum and zero dampening"),
        (
            lambda: optim.SGD([P], fused=True, foreach=True), RuntimeError,
            "`fused` and `foreach` cannot be `True` together.",
        ),
        (
            lambda: optim.SGD([P], differentiable=True, fused=True), RuntimeError,
            "`fused` does not support `differentiable`",
        ),
        (lambda: optim.Adam([P], betas=(1.0, 0.1)), ValueError, "Invalid beta parameter at index 0: 1.0"),
        (
            lambda: optim.Adam([P], betas=(0.9, torch.tensor(0.9))), ValueError,
            "betas must be either both floats or both Tensors",
        ),
        (lambda: optim.Adam([P], eps=-1), ValueError, "Invalid epsilon value: -1"),
        (lambda: optim.AdamW([P], weight_decay=-1), ValueError, "Invalid weight_decay value: -1"),
        (
            lambda: optim.SGD([P]).load_state_dict({"param_groups": [], "state": {}}), ValueError,
            "loaded state dict has a different number of parameter groups",
        ),
        (
            lambda: optim.SGD([P, Q]).load_state_dict({"param_groups": [{"params": [0]}], "state": {}}), ValueError,
            "loaded state dict contains a parameter group that doesn't match the size of optimizer's group",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(make: Any, error: type[Exception], message: str):
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value) == message


def test_duplicates_are_warned_of():
    with pytest.warns(UserWarning, match="optimizer contains a parameter group with duplicate parameters"):
        optim.SGD([P, P])


def test_the_state_dict_has_pytorchs_format():
    w, b = leaf(2), leaf(1)
    optimizer = optim.Adam([("w", w), ("b", b)], lr=0.5)
    w.grad = torch.ones(2)
    optimizer.step()
    state = optimizer.state_dict()
    assert list(state["state"]) == [0]
    assert list(state["state"][0]) == ["step", "exp_avg", "exp_avg_sq"]
    assert state["state"][0]["step"].item() == 1.0
    assert state["param_groups"] == [
        {
            "param_names": ["w", "b"], "lr": 0.5, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0, "amsgrad": False,
            "maximize": False, "foreach": None, "capturable": False, "differentiable": False, "fused": None,
            "decoupled_weight_decay": False, "params": [0, 1],
        }
    ]  # fmt: skip


def test_loading_casts_state_to_the_parameter_but_leaves_the_count():
    w = leaf(2)
    optimizer = optim.Adam([w])
    w.grad = torch.ones(2)
    optimizer.step()
    other = optim.Adam([torch.ones(2, dtype=torch.float64, requires_grad=True)])
    other.load_state_dict(optimizer.state_dict())
    (state,) = other.state.values()
    assert {k: v.dtype for k, v in state.items()} == {
        "step": torch.float32,
        "exp_avg": torch.float64,
        "exp_avg_sq": torch.float64,
    }


def test_what_a_file_holds_beyond_the_parameters_is_kept():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=0.1)
    group = {"lr": 0.5, "params": [0], "param_names": ["w"]}
    optimizer.load_state_dict({"state": {5: {"q": 1}}, "param_groups": [group]})
    assert optimizer.state_dict()["state"] == {5: {"q": 1}}
    assert optimizer.param_groups[0]["param_names"] == ["w"]


def test_a_closure_runs_with_gradients_on():
    w = leaf(1)
    optimizer = optim.SGD([w], lr=0.25)

    def closure():
        optimizer.zero_grad()
        loss = (w * 2).sum()
        loss.backward()
        return loss

    with torch.no_grad():
        assert optimizer.step(closure).item() == 2.0
    assert w.item() == 0.5


def test_the_rate_may_be_a_tensor():
    w = leaf(1)
    rate = torch.tensor(0.5)
    optimizer = optim.SGD([w], lr=rate)
    w.grad = torch.ones(1)
    optimizer.step()
    rate.fill_(0.25)
    optimizer.step()
    assert w.item() == 0.25


def test_zero_grad_drops_or_clears():
    w = leaf(1)
    optimizer = optim.SGD([w])
    w.grad = torch.ones(1)
    optimizer.zero_grad(set_to_none=False)
    assert w.grad.item() == 0.0
    optimizer.zero_grad()
    assert w.grad is None


def test_hooks_run_around_steps_and_states():
    w, calls = leaf(1), []
    optimizer = optim.SGD([w])
    optimizer.register_step_pre_hook(lambda o, args, kwargs: calls.append(("pre", o is optimizer, len(args))))
    optimizer.register_step_post_hook(lambda o, args, kwargs: calls.append(("post", o is optimizer, len(args))))
    optimizer.register_state_dict_pre_hook(lambda o: calls.append("saving"))
    optimizer.register_load_state_dict_post_hook(lambda o: calls.append("loaded"))
    assert optimizer.step(lambda: 5) == 5
    optimizer.load_state_dict(optimizer.state_dict())
    assert calls == [("pre", True, 2), ("post", True, 2), "saving", "loaded"]
    handle = optimizer.register_step_pre_hook(lambda *_: 3)
    with pytest.raises(RuntimeError, match=r"must return None or a tuple of \(new_args, new_kwargs\), but got 3."):
        optimizer.step()
    handle.remove()
    optimizer.step()


@pytest.mark.recorded
def test_an_optimizer_of_a_users_own_ends_the_step_too():
    class Halving(optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"factor": 0.5})

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    p.mul_(group["factor"])

    w = leaf(4)
    optimizer = Halving([w])

    def train(steps):
        for _ in range(steps):
            (w * w).sum().backward()
            optimizer.step()
            optimizer.zero_grad()

    train(3)
    torch.explain(reset=True)
    train(4)
    report = torch.explain()
    assert (report.compiles, report.cold) == (0, 0)
    assert w.tolist() == [0.5**7] * 4
    with pytest.raises(NotImplementedError):
        optim.Optimizer([w], {}).step()


def test_gradients_of_an_old_graph_notice_the_step():
    w = leaf(2)
    loss = (w * w).sum()
    w.grad = torch.ones(2)
    optim.SGD([w], lr=0.1).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_pickling_keeps_options_and_state():
    import pickle

    w = leaf(2)
    optimizer = optim.SGD([w], lr=0.1, momentum=0.9)
    w.grad = torch.ones(2)
    optimizer.step()
    again = pickle.loads(pickle.dumps(optimizer))
    assert again.param_groups[0]["lr"] == 0.1
    (state,) = again.state.values()
    assert state["momentum_buffer"].tolist() == [1.0, 1.0]
    again.step()


def test_what_is_refused_changes_nothing(tmp_path: Any):
    model = torch.nn.Linear(2, 1)
    optimizer = optim.Adam(model.parameters(), lr=0.1)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    good = tmp_path / "good.pt"
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, good)
    (tmp_path / "cut.pt").write_bytes(good.read_bytes()[:-100])
    before = repr((model.state_dict(), optimizer.state_dict()))
    other = optim.Adam([torch.nn.Parameter(torch.ones(1))])
    wrong_shape = {"weight": torch.ones(1, 3), "bias": torch.ones(2)}
    for refused in (
        lambda: torch.load(tmp_path / "cut.pt"),
        lambda: optimizer.load_state_dict(other.state_dict()),
        lambda: optimizer.load_state_dict({"state": {}, "param_groups": []}),
        lambda: optimizer.add_param_group({"params": [model.weight]}),
        lambda: optimizer.add_param_group({"params": torch.ones(1, requires_grad=True) * 2}),
        lambda: optim.Adam(model.parameters(), lr=-1),
        lambda: model.load_state_dict(wrong_shape),
        lambda: model.load_state_dict({"weights": torch.ones(1, 2)}),
    ):
        with pytest.raises((RuntimeError, ValueError)):
            refused()
        assert repr((model.state_dict(), optimizer.state_dict())) == before
    state = torch.load(good)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    assert repr((model.state_dict(), optimizer.state_dict())) == before


# ---- optimizers whose __init__ does not call that of Optimizer


def kind(base, **fields):
    """Makes a new class at each call, because changes to a class must not reach the next test."""

    class Bare(base):
        def __init__(self, params):
            self.__dict__.update({"param_groups": [{"params": list(params), "lr": 0.5}], **fields})

    if base is torch.optim.Optimizer:

        def step(self, closure=None):
            with torch.no_grad():
                for parameter in self.param_groups[0]["params"]:
                    if parameter.grad is None:  # a parameter of a copy
                        continue
                    parameter.add_(parameter.grad, alpha=-self.param_groups[0]["lr"])
            return "stepped"

        return type("Bare", (Bare,), {"step": step})
    return Bare


def with_gradient():
    w = torch.nn.Parameter(torch.ones(2))
    w.sum().backward()
    return w


def test_an_optimizer_that_was_not_set_up_steps():
    w = with_gradient()
    optimizer = kind(torch.optim.Optimizer)([w])
    assert [optimizer.step(), optimizer.step()] == ["stepped"] * 2
    assert w.tolist() == [0.0, 0.0]
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    optimizer.step()
    scheduler.step()
    assert scheduler.get_last_lr() == [0.05]


@pytest.mark.parametrize(
    ("call", "missing"),
    [
        (lambda o: o.zero_grad(), "defaults"), (lambda o: o.state_dict(), "_optimizer_state_dict_pre_hooks"),
        (lambda o: o.add_param_group({"params": [with_gradient()]}), "defaults"),
        (lambda o: o.register_step_pre_hook(print), "_optimizer_step_pre_hooks"),
        (lambda o: o.__getstate__(), "defaults"), (lambda o: o.state, "state"),
    ],
)  # fmt: skip
def test_what_an_optimizer_that_was_not_set_up_lacks(call, missing):
    with pytest.raises(AttributeError, match=f"^'Bare' object has no attribute '{missing}'$"):
        call(kind(torch.optim.Optimizer)([with_gradient()]))


def test_pytorchs_own_steps_want_the_defaults(monkeypatch):
    # As in a process that has not constructed an Rprop: earlier tests may have constructed one.
    monkeypatch.setattr("torchlike.optim.optimizer._set_up", weakref.WeakSet())
    with pytest.raises(AttributeError, match="^'Bare' object has no attribute 'defaults'$"):
        kind(torch.optim.Rprop)([with_gradient()]).step()


def test_once_one_of_its_class_was_set_up_an_optimizer_misses_its_hooks():
    cls = kind(torch.optim.Optimizer, state={}, defaults={})
    assert cls([with_gradient()]).step() == "stepped"
    assert copy.deepcopy(cls([with_gradient()])).step() == "stepped"  # __setstate__ gave this one hooks
    with pytest.raises(AttributeError, match="^'Bare' object has no attribute '_optimizer_step_pre_hooks'$"):
        cls([with_gradient()]).step()


@pytest.mark.parametrize("groups", [1, 2])
def test_parameters_that_are_one_memory_are_stepped_one_after_the_other(groups: int):
    w = torch.tensor([1.0, 2.0])
    params = [
        torch.nn.Parameter(w),
        torch.nn.Parameter(torch.zeros(2)),
        torch.nn.Parameter(w.detach()),
        torch.nn.Parameter(w.data),
    ]
    given = params if groups == 1 else [{"params": params[:2]}, {"params": params[2:]}]
    optimizer = optim.SGD(given, lr=0.5, weight_decay=0.1)  # pyright: ignore[reportArgumentType]
    for number, param in enumerate(params):
        param.grad = torch.full((2,), float(number))
    expected = np.array([1.0, 2.0])
    for _ in range(3):
        optimizer.step()
        for gradient in (0, 2, 3):
            expected = expected - 0.5 * (gradient + 0.1 * expected)
        for param in (params[0], params[2], params[3], w):
            np.testing.assert_allclose(param.detach().numpy(), expected, rtol=1e-5)


def test_parts_of_one_memory_are_stepped_together():
    flat = torch.zeros(6)
    params = [torch.nn.Parameter(flat[:2]), torch.nn.Parameter(flat[2:])]
    optimizer = optim.Adam(params, lr=0.5)
    for param in params:
        param.grad = torch.ones_like(param)
    optimizer.step()
    np.testing.assert_allclose(flat.numpy(), [-0.5] * 6, rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "change", "missing"),
    [
        ("RMSprop", {"momentum": 0.9}, "momentum_buffer"),
        ("RMSprop", {"centered": True}, "grad_avg"),
        ("Adam", {"amsgrad": True}, "max_exp_avg_sq"),
        ("AdamW", {"amsgrad": True}, "max_exp_avg_sq"),
        ("SGD", {"momentum": 0.9}, None),
    ],
)
def test_an_option_that_needs_more_state_comes_too_late_after_the_first_step(name, change, missing):
    params = [torch.ones(2, requires_grad=True) for _ in range(2)]
    optimizer = getattr(torch.optim, name)(params, lr=0.1)
    for param in params:
        param.grad = torch.ones(2)
    optimizer.step()
    optimizer.param_groups[0].update(change)
    before = [param.tolist() for param in params]
    if missing is None:  # it has no state before it needs some
        optimizer.step()
        assert [param.tolist() for param in params] != before
        return
    with pytest.raises(KeyError, match=f"^'{missing}'$"):
        optimizer.step()
    assert [param.tolist() for param in params] == before
    assert missing not in optimizer.state[params[0]]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {"momentum": 0.9, "dampening": 0.5}),
        ("RMSprop", {"momentum": 0.9, "centered": True}),
        ("Adam", {"amsgrad": True}),
    ],
)
def test_an_interrupted_first_step_leaves_no_state(name, options, monkeypatch):
    """With state of zeros the next step of SGD would not be its first one, which is not damped."""
    params = [torch.ones(2, requires_grad=True) for _ in range(2)]
    optimizer, undisturbed = (getattr(torch.optim, name)([param], lr=0.1, **options) for param in params)
    for param in params:
        param.grad = torch.tensor([1.0, 2.0])

    def interrupted():
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("torchlike.optim._update.recorder", interrupted)
        with pytest.raises(KeyboardInterrupt):
            optimizer.step()
    assert not optimizer.state[params[0]] and params[0].tolist() == [1.0, 1.0]
    for _ in range(2):
        optimizer.step()
        undisturbed.step()
        assert params[0].tolist() == params[1].tolist()
