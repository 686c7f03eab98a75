"""Plans of operations in a row, joined: the same bits, nothing kept longer than it is needed, and only where NumPy computes anyway."""

import gc
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import torchlike as torch
from torchlike.engine import program
from torchlike.engine.interpreter import JoinedPlan, products
from torchlike.engine.interpreter.shapes import Reshape
from torchlike.engine.places import at_places, places_of
from torchlike.engine.recorder import compiling, recorder

pytestmark = pytest.mark.recorded
ROUNDS = 5


@pytest.fixture
def joined(monkeypatch):
    """The plans that were joined, in order."""
    made: list[Any] = []

    class Noted(JoinedPlan):
        def __init__(self, steps, unread):
            super().__init__(steps, unread)
            made.append(self)

    monkeypatch.setattr(program, "_joined_steps", Noted)
    with compiling("never"):
        yield made


def bits(*tensors):
    return [tensor.numpy().tobytes() for tensor in tensors]


def several_results(x):
    values, places = torch.max(x * 2, 1)
    first, second = torch.chunk(values - x.mean(), 2)
    return torch.cat([second, first]), places, x.t() @ x


def constants(x):
    return (torch.arange(4) + x.sum(0).long()) * 3, torch.where(x > 0, x, 0.5), torch.zeros(()) / 0


def in_place(x):
    y = x.clone()
    z = y[1:]
    z += 1
    y.mul_(2)
    return y, z


def index_between(x):
    taken = (x * 3)[torch.tensor([0, 2]) + 1]
    return torch.softmax(taken, 1) + 1, taken


@pytest.mark.parametrize("function", [several_results, constants, in_place, index_between])
def test_results_are_those_of_the_first_run(function, joined):
    x = torch.tensor(np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32))
    rounds = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # NumPy's, of a division by zero
        for _ in range(ROUNDS):
            results = function(x)
            recorder().flush("a test")
            rounds.append(bits(*results))
    assert joined
    assert all(each == rounds[0] for each in rounds)


def heads(x):
    return x.view(4, 64, 4, 32).transpose(1, 2)  # [N, T, C] -> [N, H, T, D]


def attention(q, k, v):
    weights = torch.softmax(heads(q) @ heads(k).transpose(2, 3), -1)
    return (weights @ heads(v)).transpose(1, 2).reshape(4, 64, 128)


def attention_whose_stack_is_read(q, k, v):
    stack = heads(q).reshape(16, 64, 32)
    return stack @ heads(k).transpose(2, 3).reshape(16, 32, 64), stack * 2, heads(v).reshape(16, 64, 32).clone()


@pytest.mark.skipif(products.elements is None, reason="the package was built without a compiler")
@pytest.mark.parametrize(("function", "copies"), [(attention, 0), (attention_whose_stack_is_read, 2)])
def test_products_read_stacks_as_they_lie(function, copies, joined):
    """But for stacks that something else reads too."""
    random = np.random.default_rng(0)
    inputs = [torch.tensor(random.standard_normal((4, 64, 128)).astype(np.float32)) for _ in range(3)]
    rounds = []
    for _ in range(ROUNDS):
        results = function(*inputs)
        recorder().flush("a test")
        rounds.append(bits(*results) if isinstance(results, tuple) else bits(results))
    assert all(each == rounds[0] for each in rounds)
    merging = [call for call, *_ in joined[-1]._calls if isinstance(call, Reshape) and call.merges]
    assert len(merging) == copies


def test_a_result_that_is_an_input_or_a_constant_stays_itself(joined):
    x = torch.ones(3)
    for _ in range(ROUNDS):
        y = x.contiguous().clone()
        a, b = torch.atleast_1d(y, torch.ones(2) * 0)
        c = y + 1
        recorder().flush("a test")
        y += 5
        assert (a.tolist(), b.tolist(), c.tolist(), x.tolist()) == ([6] * 3, [0] * 2, [2] * 3, [1] * 3)


def test_results_in_between_are_dropped_after_their_last_use(joined):
    alive: list[Any] = []

    class Watched(np.ndarray):
        pass

    x = torch.ones(64)
    for _ in range(ROUNDS):
        (((x + 1) * 2 - 3).exp() / 7).sum().item()
    (plan,) = joined

    def watching(function):
        def call(*arrays):
            alive.append(sum(reference() is not None for reference in seen))
            result = np.asarray(function(*arrays)).view(Watched)
            seen.append(weakref.ref(result))
            return result

        return call

    seen: list[Any] = []
    plan._tape = None
    plan._made[:] = [tuple((watching(function), *others) for function, *others in plan._calls)]
    gc.collect()
    plan([np.ones(64, np.float32)])
    assert len(alive) > 4 and max(alive) <= 2


def test_an_index_that_is_wrong_is_found_between_joined_plans(joined):
    x = torch.ones(4, 3)
    for number in (0, 1, 2, 3, 1, 9):
        index = torch.tensor([number]) * 1
        try:
            assert ((x + 1)[index] * 2 + 1).sum().item() == 15
        except IndexError:
            assert number == 9
        else:
            assert number < 4


def test_an_observer_sees_each_operation(joined):
    from torchlike.engine.report import observers

    seen: list[str] = []

    def observe(kernel, start, results):
        seen.append(kernel.name)

    def run():
        return (torch.ones(3) * 2 + 1).sum().item()

    for _ in range(ROUNDS):
        run()
    observers.append(observe)
    try:
        assert run() == 9
    finally:
        observers.remove(observe)
    assert {"mul", "add", "sum"} <= set(seen)


@pytest.mark.parametrize("places", [(), (3,), (0,), (2, 0), (1, 1, 4)])
def test_the_places_that_a_function_picks(places):
    assert tuple(places_of(at_places(places))) == places


def test_batches_of_other_sizes_end_with_the_joined_plan_of_the_first(monkeypatch):
    def trained():
        torch.manual_seed(0)
        model = torch.nn.Linear(600, 600)  # large enough for the step to write over its inputs
        optimizer = torch.optim.AdamW(model.parameters())
        for size in range(2, 7):
            optimizer.zero_grad()
            model(torch.randn(size, 600)).square().mean().backward()
            optimizer.step()
        return bits(*[each.detach() for each in model.parameters()])

    with compiling("never"):
        before = program._joined_steps.cache_info()
        first = trained()
        after = program._joined_steps.cache_info()
        assert after.hits - before.hits >= 3 and after.misses - before.misses <= 2
        monkeypatch.setattr(program, "_joined_steps", JoinedPlan)
        assert trained() == first
