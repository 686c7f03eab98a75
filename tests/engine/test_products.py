"""Matrix products by NumPy: large ones are divided among threads, and the library's own threads stay as they were."""

import multiprocessing

import numpy as np
import pytest

import torchlike as torch
from torchlike.engine import compiling
from torchlike.engine.interpreter import products, sharing
from torchlike.engine.interpreter.sharing import one_thread
from torchlike.engine.recorder import forget

RNG = np.random.default_rng(0)
needs_elements = pytest.mark.skipif(products.elements is None, reason="the package was built without a compiler")
CASES = {
    "more rows": ((900, 300), (300, 200)),
    "more columns": ((150, 300), (300, 900)),
    "a stack": ((7, 200, 100), (7, 100, 300)),
    "a stack of stacks": ((3, 5, 160, 90), (3, 5, 90, 160)),
    "one of a stack": ((1, 500, 300), (1, 300, 500)),
}


@pytest.fixture
def threads():
    yield sharing.set_threads
    sharing.set_threads(2)


def threads_of_library():
    assert sharing._get is not None
    return sharing._get()


def matrices(shapes):
    random = np.random.default_rng(0)
    return [random.standard_normal(shape).astype(np.float32) for shape in shapes]


def assert_product(x, y, threads):
    """Every element within a rounding of each term, and of the same bits by any number of threads."""
    multiply = products._by_blas(x.dtype, products.MIN_DIVIDED)
    results = []
    for number in (1, 2, 3):
        threads(number)
        results.append(multiply(x, y))
    exact, size = np.matmul(x.astype(np.float64), y.astype(np.float64)), np.matmul(abs(x), abs(y))
    assert (abs(results[0] - exact) <= 2.0**-23 * (1 + np.sqrt(x.shape[-1])) * size).all()
    assert all(np.array_equal(results[0], other) for other in results[1:])


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


@needs_elements
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_matrices_lie_in_any_order(dtype):
    """What the library cannot read as it lies is left to NumPy."""
    x, y = (RNG.standard_normal((300, 300)).astype(dtype) for _ in range(2))
    wide = RNG.standard_normal((300, 700)).astype(dtype)
    odd = np.frombuffer(b"." + x.tobytes(), np.uint8)[1:].view(dtype).reshape(300, 300)
    ways = {
        "in order": x, "transposed": x.T, "part": wide[:, 50:350], "part of a transposed": wide[:, 50:350].T,
        "every second": wide[:, :600:2], "from the end": x[::-1], "columns from the end": x[:, ::-1],
        "one row": np.broadcast_to(x[0], (300, 300)), "one column": np.broadcast_to(x[:, :1], (300, 300)), "at an odd address": odd,
    }  # fmt: skip
    multiply = products._by_blas(np.dtype(dtype), 300.0**3)
    for name, a in ways.items():
        for b in (y, y.T, a):
            np.testing.assert_allclose(
                multiply(a, b),
                np.matmul(a.astype(np.float64), b.astype(np.float64)),
                rtol=1e-3,
                atol=1e-2,
                err_msg=name,
            )
    stack = RNG.standard_normal((4, 300, 300)).astype(dtype)
    for a in (
        stack,
        stack.swapaxes(1, 2),
        stack[::-1],
        np.broadcast_to(x, stack.shape),
        stack.transpose(1, 0, 2)[:4, :, :],
    ):
        b = RNG.standard_normal((len(a), a.shape[2], 50)).astype(dtype)
        np.testing.assert_allclose(
            multiply(a, b), np.matmul(a.astype(np.float64), b.astype(np.float64)), rtol=1e-3, atol=1e-2
        )


@needs_elements
@pytest.mark.parametrize("rows", range(1, 10))
@pytest.mark.parametrize("sizes", [(1, 3), (7, 50), (64, 64), (300, 203), (1000, 515), (515, 1030)], ids=str)
@pytest.mark.parametrize("transposed", [False, True], ids=["plain", "transposed"])
@pytest.mark.parametrize("space", [0, 5], ids=["dense", "with a space after each line"])
def test_a_few_rows_by_a_matrix(rows, sizes, transposed, space, threads):
    """Every element within a rounding of each term, by any number of threads, and what lies beside the matrices is not read."""
    inner, columns = sizes
    lines, length = (columns, inner) if transposed else (inner, columns)
    x, y = np.full((rows, inner + space), np.nan, np.float32), np.full((lines, length + space), np.nan, np.float32)
    x[:, :inner], y[:, :length] = matrices([(rows, inner), (lines, length)])
    x, y = x[:, :inner], y[:, :length].T if transposed else y[:, :length]
    assert_product(x, y, threads)


# Around the sizes of what is computed at once: 14 rows, 32 columns, sums over 16 and over 512 numbers. With the space of five numbers after
# each line, the last two have lines that lie multiples of 4 KB apart.
SIZES = [
    (9, 33, 65), (13, 16, 31), (14, 17, 32), (15, 1, 33), (27, 511, 1), (28, 512, 16), (29, 513, 257), (57, 100, 15),
    (113, 1040, 300), (225, 96, 40), (127, 1019, 40), (30, 2043, 70),
]  # fmt: skip


@needs_elements
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("stack", [(), (3,)], ids=["one", "a stack"])
@pytest.mark.parametrize("order", ["plain", "x transposed", "y transposed", "both transposed"])
def test_a_product_of_any_size(sizes, stack, order, threads):
    """Every element within a rounding of each term, by any number of threads, and what lies beside the matrices is not read."""
    rows, inner, columns = sizes

    def matrix(transposed, *shape):
        lines, length = shape[::-1] if transposed else shape
        wide = np.full((*stack, lines, length + 5), np.nan, np.float32)
        wide[..., :length] = RNG.standard_normal((*stack, lines, length))
        return wide[..., :length].swapaxes(-1, -2) if transposed else wide[..., :length]

    x = matrix(order in ("x transposed", "both transposed"), rows, inner)
    y = matrix(order in ("y transposed", "both transposed"), inner, columns)
    assert_product(x, y, threads)


@needs_elements
@pytest.mark.parametrize("rows", [2, 20])
@pytest.mark.parametrize("transposed", [False, True], ids=["plain", "transposed"])
def test_infinite_and_missing_numbers(rows, transposed):
    x, y = matrices([(rows, 600), (600, 600)])
    x[0, 3], x[1, 599], y[5, 7] = np.inf, np.nan, -np.inf
    y = np.asfortranarray(y) if transposed else y
    with np.errstate(all="ignore"):
        expected = np.matmul(x, y)
    result = products._by_blas(x.dtype, products.MIN_DIVIDED)(x, y)
    np.testing.assert_array_equal(np.isnan(result), np.isnan(expected))
    np.testing.assert_array_equal(result[np.isinf(expected)], expected[np.isinf(expected)])


@needs_elements
def test_a_product_is_divided_only_where_that_pays(monkeypatch):
    """In parts that follow from the sizes; without the file of C, NumPy does it all."""
    parts = []

    class Noted:
        @staticmethod
        def multiply(function, wide, count, *rest):
            parts.append(count)
            return False

    monkeypatch.setattr(products, "elements", Noted)
    x = RNG.standard_normal((64, 64)).astype(np.float32)
    for work in (1e3, 5e5, 2e6, 1e8, 1e12):
        products._by_blas(x.dtype, work)(x, x)
    assert parts == [1, 2, 3, products.MOST_PARTS]
    monkeypatch.setattr(products, "elements", None)
    assert products._by_blas(x.dtype, 1e12) is np.matmul


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


def product_of_child(shapes, queue):
    x, y = matrices(shapes)
    queue.put(products._by_blas(x.dtype, products.MIN_DIVIDED)(x, y))
    sharing.set_threads(2)
    queue.put(products._by_blas(x.dtype, products.MIN_DIVIDED)(x, y))


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
    assert np.array_equal(queue.get(), expected) and np.array_equal(queue.get(), expected)
    child.join()


@needs_elements
def test_a_product_over_nothing_is_left_to_numpy():
    library = sharing.product_of("s")
    if library is not None:
        empty = np.empty((20, 0), np.float32), np.empty((0, 20), np.float32)
        assert products.elements.multiply(*library, 2, 64, np.empty((20, 20), np.float32), *empty) is False


@needs_elements
def test_which_products_are_computed_as_the_matrix_lies(monkeypatch):
    """A few rows by a matrix of some size, in float32; larger ones of any rows."""
    asked: list[object] = []
    elements = products.elements

    class Noted:
        @staticmethod
        def multiply(*arguments):
            asked.append(arguments)
            return elements.multiply(*arguments)

    monkeypatch.setattr(products, "elements", Noted)
    for rows, inner, columns, dtype, ours in (
        (2, 128, 128, np.float32, True), (8, 64, 64, np.float32, True), (9, 64, 64, np.float32, False),
        (2, 64, 64, np.float32, False), (2, 128, 128, np.float64, False), (64, 64, 64, np.float64, True),
    ):  # fmt: skip
        x, y = (RNG.standard_normal(shape).astype(dtype) for shape in ((rows, inner), (columns, inner)))
        forget()  # an operation that was seen before runs on a tape, which asks nobody
        with compiling("never"):
            result = torch.nn.functional.linear(torch.from_numpy(x), torch.from_numpy(y)).numpy()
        np.testing.assert_allclose(result, x.astype(np.float64) @ y.astype(np.float64).T, rtol=1e-3, atol=1e-4)
        assert bool(asked) == ours, (rows, inner, columns, dtype)
        asked.clear()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.bfloat16])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 5), (5, 1), (40, 70)])
def test_a_column_times_a_row(dtype, rows, columns):
    """As the gradient of weights for one sample: one multiplication for each element, also of what is not finite."""
    x, y = torch.arange(rows).to(dtype)[:, None] - 1, torch.arange(columns).to(dtype)[None] - 2
    if dtype.is_floating_point:
        x[0, 0] = float("inf")
    with compiling("never"):
        result = x @ y
        back = torch.nn.functional.linear(y.t(), x)
    expected = (x * y).double().numpy()
    np.testing.assert_array_equal(result.double().numpy(), expected)
    np.testing.assert_array_equal(back.t().double().numpy(), expected)
    assert result.dtype is back.dtype is dtype
