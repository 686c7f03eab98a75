"""Matrix products by NumPy: large ones are divided among threads, and the library's own threads stay as they were."""

import multiprocessing
import threading
import time

import numpy as np
import pytest

from torchlike.engine.interpreter import products, sharing
from torchlike.engine.interpreter.sharing import one_thread

CASES = {
    "more rows": ((900, 300), (300, 200)),
    "more columns": ((150, 300), (300, 900)),
    "a stack": ((7, 200, 100), (7, 100, 300)),
    "a stack of stacks": ((3, 5, 160, 90), (3, 5, 90, 160)),
    "one of a stack": ((1, 500, 300), (1, 300, 500)),
}


@pytest.fixture
def threads():
    before = sharing._threads.wanted
    yield sharing.set_threads
    sharing.set_threads(before)


def threads_of_library():
    assert sharing._get is not None
    return sharing._get()


def matrices(shapes):
    random = np.random.default_rng(0)
    return [random.standard_normal(shape).astype(np.float32) for shape in shapes]


@pytest.mark.parametrize("shapes", CASES.values(), ids=CASES)
@pytest.mark.parametrize("transposed", [False, True], ids=["plain", "transposed"])
def test_parts_make_up_the_product_whatever_number_of_threads(shapes, transposed, threads):
    x, y = matrices(shapes)
    if transposed:
        x, y = (np.ascontiguousarray(each.swapaxes(-1, -2)).swapaxes(-1, -2) for each in (x, y))
    multiply = products._by_blas(x.dtype, products.MIN_DIVIDED)
    results = []
    for number in (1, 2, 3):
        threads(number)
        results.append(multiply(x, y))
    np.testing.assert_allclose(results[0], np.matmul(x.astype(np.float64), y.astype(np.float64)), rtol=1e-4, atol=1e-4)
    assert all(np.array_equal(results[0], other) for other in results[1:])


@pytest.mark.skipif(not sharing.known, reason="NumPy's library is not OpenBLAS")
def test_the_library_has_its_threads_again():
    before = threads_of_library()
    with one_thread:
        assert threads_of_library() == 1
        with one_thread:
            assert threads_of_library() == 1
    assert threads_of_library() == before
    with pytest.raises(ZeroDivisionError), one_thread:
        raise ZeroDivisionError
    assert threads_of_library() == before


def in_other_thread():
    return threading.current_thread() is not threading.main_thread()


def test_an_error_of_another_thread_is_raised(threads):
    threads(2)
    both = threading.Barrier(2)

    def compute(share):
        both.wait(10)
        if in_other_thread():
            raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room"):
        sharing.together(compute, [1, 2])


def test_nothing_is_left_running_where_this_thread_fails(threads):
    threads(2)
    both, failed, finished = threading.Barrier(2), threading.Event(), []

    def compute(share):
        both.wait(10)
        if not in_other_thread():
            failed.set()
            raise ZeroDivisionError
        assert failed.wait(10)
        time.sleep(0.1)
        finished.append(share)

    with pytest.raises(ZeroDivisionError):
        sharing.together(compute, [1, 2])
    assert len(finished) == 1


def product_of_child(shapes, queue):
    x, y = matrices(shapes)
    queue.put(products._by_blas(x.dtype, products.MIN_DIVIDED)(x, y))
    both, others = threading.Barrier(2), []

    def compute(share):
        both.wait(10)
        others.append(in_other_thread())

    sharing.state.by_numpy_alone = False  # here no XLA is asked for
    sharing.set_threads(2)
    try:
        sharing.together(compute, [1, 2])
    finally:
        queue.put(sorted(others))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_process_that_was_forked_has_threads_of_its_own(threads):
    threads(2)
    shapes = CASES["more rows"]
    x, y = matrices(shapes)
    expected = products._by_blas(x.dtype, products.MIN_DIVIDED)(x, y)  # our threads have started
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=product_of_child, args=(shapes, queue))
    child.start()
    assert np.array_equal(queue.get(), expected)
    assert queue.get() == [False, True]
    child.join()
