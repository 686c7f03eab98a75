"""torch.futures: values that other threads set."""

import threading

import pytest

import torchlike as torch

pytestmark = pytest.mark.recorded


def test_who_waits_gets_the_value_or_the_error():
    future = torch.futures.Future()
    threading.Timer(0.01, future.set_result, (3,)).start()
    assert future.wait() == 3 and future.done() and future.value() == 3
    with pytest.raises(RuntimeError, match="Future can only be marked completed once"):
        future.set_result(4)
    failed = torch.futures.Future()
    failed.set_exception(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        failed.wait()


def test_callbacks_run_when_a_future_completes():
    future, seen = torch.futures.Future(), []
    after = future.then(lambda done: done.wait() * 2).then(lambda done: done.wait() + 1)
    future.add_done_callback(lambda done: seen.append(done.value()))
    future.set_result(5)
    assert after.wait() == 11 and seen == [5]
    assert future.then(lambda done: 1 / 0).then(lambda done: "later").wait() == "later"


def test_several_are_waited_for():
    futures = [torch.futures.Future() for _ in range(3)]
    together = torch.futures.collect_all(futures)
    for number, future in enumerate(futures):
        assert not together.done()
        future.set_result(number)
    assert [f.value() for f in together.wait()] == torch.futures.wait_all(futures) == [0, 1, 2]
    assert torch.futures.wait_all([]) == []
