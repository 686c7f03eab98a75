"""Learning rate schedules have PyTorch's rates step by step, saved state, warnings and errors."""

from typing import Any, cast

import pytest

import torchlike as torch
from tests.optim.schedules import OPTIMIZERS, SCHEDULES, composed, run, trace, two_groups
from torchlike.optim import lr_scheduler as schedules

pytestmark = pytest.mark.recorded


def plain(value: Any) -> Any:
    return [plain(v) for v in value] if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("closed", [False, True], ids=["step", "epoch"])
def test_rates_are_pytorchs(golden, name: str, kind: str, closed: bool):
    assert plain(run(torch, name, kind, closed)) == golden("optim_words")["schedules"][f"{name}/{kind}/{closed}"]


def test_rates_of_composed_schedules_are_pytorchs(golden):
    for name, found in composed(torch).items():
        assert plain(found) == golden("optim_words")["schedules"][name], name


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_loaded_schedule_goes_on(name: str):
    kind, arguments = SCHEDULES[name]
    optimizer = two_groups(torch, "SGD")
    scheduler = getattr(schedules, kind)(optimizer, **arguments)
    trace(optimizer, scheduler, 3)
    state, options = scheduler.state_dict(), optimizer.state_dict()
    assert "optimizer" not in state
    expected = trace(optimizer, scheduler, 4)
    again = two_groups(torch, "SGD")
    loaded = getattr(schedules, kind)(again, **arguments)
    loaded.load_state_dict(state)
    again.load_state_dict(options)
    assert trace(again, loaded, 4) == expected


def test_the_order_of_steps_and_old_ways_are_warned_of():
    optimizer = two_groups(torch, "SGD")
    scheduler = schedules.StepLR(optimizer, 1)
    with pytest.warns(UserWarning, match="Detected call of `lr_scheduler.step\\(\\)` before `optimizer.step\\(\\)`"):
        scheduler.step()
    with pytest.warns(UserWarning, match="The epoch parameter in `scheduler.step\\(\\)` was not necessary"):
        scheduler.step(5)
    with pytest.warns(UserWarning, match="please use `get_last_lr\\(\\)`"):
        scheduler.get_lr()


def test_steps_before_a_second_schedule_count():
    optimizer = two_groups(torch, "SGD")
    optimizer.step()
    first = schedules.StepLR(optimizer, 1)
    with pytest.warns(UserWarning, match="Detected call of `lr_scheduler.step\\(\\)` before `optimizer.step\\(\\)`"):
        first.step()
    optimizer.step()
    schedules.StepLR(optimizer, 1).step()  # warns of nothing


def one() -> Any:
    return torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: schedules.StepLR(3, 1), TypeError, "int is not an Optimizer"),  # pyright: ignore[reportArgumentType]
        (lambda: schedules.LambdaLR(one(), [abs, abs]), ValueError, "Expected 1 lr_lambdas, but got 2"),
        (
            lambda: schedules.LinearLR(one(), start_factor=0), ValueError,
            "Starting multiplicative factor expected to be greater than 0 and less or equal to 1.",
        ),
        (
            lambda: schedules.ConstantLR(one(), factor=2), ValueError,
            "Constant multiplicative factor expected to be between 0 and 1.",
        ),
        (lambda: schedules.ReduceLROnPlateau(one(), factor=1.0), ValueError, "Factor should be < 1.0."),
        (lambda: schedules.ReduceLROnPlateau(one(), mode="x"), ValueError, "mode x is unknown!"),
        (
            lambda: schedules.OneCycleLR(one(), 0.1), ValueError,
            "You must define either total_steps OR (epochs AND steps_per_epoch)",
        ),
        (
            lambda: schedules.CosineAnnealingWarmRestarts(one(), 0), ValueError,
            "Expected positive integer T_0, but got 0",
        ),
        (
            lambda: schedules.CyclicLR(one(), [0.1, 0.1], 0.2), ValueError,
            "base_lr must have the same length as optimizer.param_groups. base_lr has 2 values, param_groups has "
            "1.",
        ),
        (
            lambda: schedules.SequentialLR(one(), [], []), ValueError,
            "SequentialLR expects at least one scheduler, but got no scheduler.",
        ),
        (
            lambda: schedules.ChainedScheduler([]), ValueError,
            "ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(make: Any, error: type[Exception], message: str):
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value) == message


def test_a_cycle_says_how_many_steps_it_has():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=2)
    optimizer.step()
    schedule.step()
    schedule.step()
    with pytest.raises(ValueError, match="^Tried to step 3 times. The specified number of total steps is 2$"):
        schedule.step()


@pytest.mark.parametrize("start", [-1, 0, 2, 5, 7])
def test_a_linear_schedule_that_goes_on_leaves_the_rates(start):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    optimizer.param_groups[0]["initial_lr"] = 1.0
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, 1.0, 5, last_epoch=start)
    assert schedule.get_last_lr() == [pytest.approx(0.01 if start == -1 else 0.1)]
    optimizer.step()
    schedule.step()
    expected = {-1: 0.028, 0: 0.1 * (1 + 0.9 / (0.5 + 0.9)), 2: 0.1 * (1 + 0.9 / (0.5 + 3 * 0.9))}
    assert schedule.get_last_lr() == [pytest.approx(expected.get(start, 0.1))]


def test_schedules_keep_their_own_copies_of_tensors():
    def sgd():
        return torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1, momentum=0.9)

    rate, high = torch.tensor(0.05), torch.tensor(0.95)
    averaged, cycle = sgd(), sgd()
    torch.optim.swa_utils.SWALR(averaged, swa_lr=rate)
    torch.optim.lr_scheduler.OneCycleLR(cycle, rate, total_steps=5, max_momentum=cast(Any, high))
    rate.mul_(2)
    high.mul_(2)
    assert averaged.param_groups[0]["swa_lr"].item() == pytest.approx(0.05)
    assert cycle.param_groups[0]["max_lr"].item() == pytest.approx(0.05)
    assert cycle.param_groups[0]["max_momentum"].item() == pytest.approx(0.95)


def test_a_cyclic_schedule_notes_both_momenta():
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1, momentum=0.9)
    torch.optim.lr_scheduler.CyclicLR(optimizer, 0.1, 1.0)
    assert {k: v for k, v in optimizer.param_groups[0].items() if k.endswith("_momentum")} == {
        "max_momentum": 0.9,
        "base_momentum": 0.8,
    }


@pytest.mark.filterwarnings("ignore:Detected call of")  # PyTorch gives it as well
def test_chains_and_sequences_begin_within_a_sequence_as_pytorchs_do():
    def chain(o):
        return schedules.ChainedScheduler([schedules.ConstantLR(o, 0.5, 2), schedules.ExponentialLR(o, 0.9)])

    def inner(o):
        return schedules.SequentialLR(o, [schedules.ConstantLR(o, 0.1, 2), schedules.ExponentialLR(o, 0.9)], [2])

    def rates(first):
        o = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
        s, seen = schedules.SequentialLR(o, [first(o), schedules.ExponentialLR(o, 0.5)], [3]), []
        for _ in range(6):
            seen.append(round(o.param_groups[0]["lr"], 5))
            o.step()
            s.step()
        return seen

    assert rates(chain) == [0.045, 0.0405, 0.0729, 0.1, 0.05, 0.025]
    assert rates(inner) == [0.01, 0.1, 0.09, 0.1, 0.05, 0.025]


def test_a_step_that_is_replaced_after_the_schedule_is_warned_of():
    o = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.5)
    s = torch.optim.lr_scheduler.StepLR(o, 3)
    before = o.step
    o.step = lambda: before()  # pyright: ignore[reportAttributeAccessIssue]
    o.step()
    with pytest.warns(
        UserWarning, match=r"Seems like `optimizer.step\(\)` has been overridden after learning rate scheduler"
    ):
        s.step()


def test_states_of_early_one_cycle_schedules_hold_their_function():
    o = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.5, momentum=0.9)
    s = torch.optim.lr_scheduler.OneCycleLR(o, 1.0, total_steps=10, anneal_strategy="linear")
    assert (s._annealing_cos(1.0, 0.0, 0.5), s._annealing_linear(1.0, 0.0, 0.25)) == (0.5, 0.75)
    state = s.state_dict()
    del state["_anneal_func_type"]
    old = torch.optim.lr_scheduler.OneCycleLR(o, 1.0, total_steps=10)
    del old._anneal_func_type
    old.load_state_dict(state | {"anneal_func": old._annealing_linear})
    assert old._anneal_func(0.0, 1.0, 0.25) == 0.25
