"""The printed text of tensors, compared with PyTorch's on random values, shapes, dtypes and options."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests._core.printed import COMPLEX, FLOATS, INTEGERS
from torchlike._core import printing

torch = pytest.importorskip("torch")
torch_printing = pytest.importorskip("torch._tensor_str")

pytestmark = pytest.mark.compare

DTYPES = [*FLOATS, *INTEGERS, "bool", *COMPLEX]
FLOATS8 = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"]

STORED_AS_BITS = {"bfloat16": np.int16} | dict.fromkeys(FLOATS8, np.uint8)


def as_torch(array: np.ndarray):
    """Returns the same values as a PyTorch tensor, bit for bit."""
    name = array.dtype.name
    if name in STORED_AS_BITS:
        return torch.from_numpy(array.view(STORED_AS_BITS[name]).copy()).view(getattr(torch, name))
    return torch.from_numpy(array.copy())


def both(array: np.ndarray, options: dict | None = None, *, requires_grad: bool = False, parameter: bool = False):
    """Returns torchlike's text and PyTorch's."""
    options = options or {}
    tensor = as_torch(array)
    if parameter:
        tensor = torch.nn.Parameter(tensor)
    elif requires_grad:
        tensor.requires_grad_()
    with torch_printing.printoptions(**options):
        expected = repr(tensor)
    facts = {"requires_grad": tensor.requires_grad, "parameter": parameter}
    with printing.printoptions(**options):
        text = printing.format_tensor(array, dtype_name=array.dtype.name, **facts)
    return text, expected


def numpy_dtype(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name) if name in STORED_AS_BITS else name)


def draw_reals(rng: np.random.Generator, count: int, kind: str) -> np.ndarray:
    """Draws numbers of one kind: size, ratio and integrality decide the notation, signs and special values the widths."""
    low, high = sorted(rng.uniform(-12, 12, 2))
    if rng.random() < 0.3:
        low, high = sorted(rng.uniform(-1, 4, 2))
    if kind == "extreme":
        low, high = -320, 307
    values = 10 ** rng.uniform(low, high, count) * rng.choice([1, -1], count, p=[0.8, 0.2])
    if kind == "whole":
        values = np.rint(values)
    if kind == "round":  # at the borders of the rules: powers of ten and their neighbours
        values = 10.0 ** rng.integers(-6, 10, count) * rng.choice([1, -1, 1.0001, 0.9999, 2], count)
    if kind == "positive":
        values = np.abs(values)
    if rng.random() < 0.3:
        values[rng.random(count) < rng.random()] = 0
    if rng.random() < 0.3:
        specials = [np.nan, np.inf, -np.inf, -0.0, 0.0]
        values = np.where(rng.random(count) < rng.random(), rng.choice(specials, count), values)
    return values


def draw_array(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    count = int(np.prod(shape))
    dtype = numpy_dtype(name)
    if name == "bool":
        return np.asarray(rng.random(shape) < rng.random())
    if name in INTEGERS:
        info = np.iinfo(dtype)
        bits = rng.integers(0, info.bits + 1)
        high = min(int(info.max), 2 ** int(bits))
        low = max(int(info.min), -(2 ** int(rng.integers(0, info.bits))))
        return np.asarray(rng.integers(low, high, shape, dtype=dtype, endpoint=True))
    kinds = ["any", "whole", "round", "positive", "extreme"]
    with np.errstate(all="ignore"):
        real = draw_reals(rng, count, rng.choice(kinds, p=[0.3, 0.25, 0.2, 0.15, 0.1])).reshape(shape)
        if dtype.kind != "c":
            return real.astype(dtype)
        array = np.empty(shape, dtype)
        array.real = real
        array.imag = draw_reals(rng, count, rng.choice(kinds)).reshape(shape)
        return array


shapes = st.one_of(
    st.just(()),
    st.tuples(st.integers(0, 60)),
    st.tuples(st.integers(0, 12), st.integers(0, 30)),
    st.lists(st.integers(0, 8), min_size=3, max_size=3).map(tuple),
    st.lists(st.integers(1, 4), min_size=4, max_size=5).map(tuple),
)
options = st.fixed_dictionaries(
    {},
    optional={
        "profile": st.sampled_from(["default", "short", "full", "unknown"]),
        "precision": st.integers(0, 9),
        "threshold": st.sampled_from([0, 1, 5, 10, 50, float("inf")]),
        "edgeitems": st.integers(0, 6),
        "linewidth": st.sampled_from([-1, 0, 1, 10, 20, 33, 50, 79, 80, 81, 120, 200, 60.5]),
        "sci_mode": st.sampled_from([None, True, False]),
    },
)
many = settings(max_examples=1500, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])


@many
@given(st.integers(0, 2**32 - 1), st.sampled_from(DTYPES), shapes, options, st.booleans())
def test_random_tensors(seed, name, shape, options, requires_grad):
    array = draw_array(np.random.default_rng(seed), name, shape)
    text, expected = both(array, options, requires_grad=requires_grad and name not in (*INTEGERS, "bool"))
    assert text == expected


@many
@given(st.integers(0, 2**32 - 1), st.sampled_from(DTYPES), shapes)
def test_random_tensors_with_default_options(seed, name, shape):
    text, expected = both(draw_array(np.random.default_rng(seed), name, shape))
    assert text == expected


@many
@given(st.lists(st.floats(width=32), max_size=20), st.sampled_from(["float32", "float64"]), options)
def test_adversarial_floats(values, name, options):
    text, expected = both(np.array(values, name), options)
    assert text == expected


@pytest.mark.parametrize("border", [1e-4, 1e8, 1000.0, 1e-1, 1.0])
@pytest.mark.parametrize("others", [[], [1.0], [0.5], [1e5], [0.1], [100.0, 0.0], [float("nan")]])
def test_borders_of_the_notations(border, others):
    for value in (border, np.nextafter(border, 0), np.nextafter(border, 1e9), border + 8, border * 1.5):
        text, expected = both(np.array([value, *others]))
        assert text == expected


@pytest.mark.parametrize("name", [*DTYPES, *FLOATS8])
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (3, 0), (2, 0, 1), (7,), (40,), (2, 3), (1001,), (2, 3, 4, 2, 2)])
def test_every_dtype_and_shape(name, shape):
    array = (np.arange(np.prod(shape, dtype=int)) % 5 / 2).reshape(shape).astype(numpy_dtype(name))
    text, expected = both(array)
    assert text == expected


@pytest.mark.parametrize("shape", [(5000,), (3, 5000), (5000, 3), (40, 40), (11, 12, 13), (7, 1, 7, 40), (2, 2000, 1)])
@pytest.mark.parametrize("name", ["float32", "int64", "bool", "complex64"])
def test_summaries(name, shape):
    # The middle is large: elements that a summary leaves out must not decide the notation.
    array = np.where(np.arange(np.prod(shape)) % 1000 == 500, 1e9, np.arange(np.prod(shape)) / 4)
    text, expected = both(array.reshape(shape).astype(name))
    assert text == expected


@pytest.mark.parametrize("shape", [(), (0, 2), *((n,) for n in range(1, 40)), (2, 20)])
def test_wrapping_of_keyword_arguments(shape):
    array = np.full(shape, 10.5)
    result = as_torch(array).requires_grad_() * 1
    for linewidth in (*range(20, 82, 3), 45, 46, 80):
        options = {"linewidth": linewidth}
        for facts in ({"requires_grad": True}, {"parameter": True}):
            text, expected = both(array, options, **facts)
            assert text == expected
        with torch_printing.printoptions(**options), printing.printoptions(**options):
            text = printing.format_tensor(array, dtype_name="float64", grad_fn="MulBackward0", requires_grad=True)
            assert text == repr(result)


@pytest.mark.parametrize("name", [*DTYPES, *FLOATS8])
@pytest.mark.parametrize("default", FLOATS)
def test_default_dtypes(default, name):
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, default))
    try:
        for length in (0, 2):
            array = np.ones(length, numpy_dtype(name))
            defaults = {
                "default_dtype_name": default,
                "default_complex_name": "complex128" if default == "float64" else "complex64",
            }
            assert printing.format_tensor(array, dtype_name=name, **defaults) == repr(as_torch(array))
    finally:
        torch.set_default_dtype(before)


class Named(torch.Tensor):
    """A subclass, whose name is printed instead of "tensor"."""


class NamedParameter(torch.nn.Parameter):
    """A subclass of Parameter, which PyTorch wraps twice."""


@pytest.mark.parametrize("length", [2, 30])
def test_subclasses(length):
    array = np.full(length, 1.5, np.float32)
    tensor = as_torch(array)
    named = printing.format_tensor(array, dtype_name="float32", prefix="Named(")
    assert named == repr(tensor.as_subclass(Named))
    facts = {"prefix": "NamedParameter(", "parameter": True, "requires_grad": True}
    assert printing.format_tensor(array, dtype_name="float32", **facts) == repr(NamedParameter(tensor))


@pytest.mark.parametrize(
    "calls",
    [
        [{"profile": "short"}],
        [{"profile": "full"}, {"profile": "unknown"}],
        [{"precision": 2, "sci_mode": True}, {"threshold": 5}],
        [{"profile": "short", "precision": 7, "linewidth": 30}],
        [{"edgeitems": 1}, {"profile": "default"}],
    ],
)
def test_options_in_sequence(calls):
    with torch_printing.printoptions(), printing.printoptions():
        for call in calls:
            torch.set_printoptions(**call)
            printing.set_printoptions(**call)
            assert printing.get_printoptions() == torch_printing.get_printoptions()
    assert printing.get_printoptions() == torch_printing.get_printoptions()


def outcome(run):
    """What a call gives, or its error's type and text."""
    try:
        return run()
    except (TypeError, ValueError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("spec", ["", ".3f", "d", "05d", "e", ">12", "x", ".2"])
@pytest.mark.parametrize("value", [1.5, -2.0, 3, True, 1 + 2j, float("nan"), [1.0], [1.0, 2.0], []])
def test_format_specification(value, spec):
    tensor = torch.tensor(value)
    ours = outcome(lambda: printing.format_item(tensor, spec))
    assert ours == outcome(lambda: format(tensor, spec))


@pytest.mark.parametrize("spec", ["", ".3f"])
@pytest.mark.parametrize("make", [torch.nn.Parameter, lambda tensor: tensor.as_subclass(Named)])
def test_format_specification_of_subclasses(make, spec):
    tensor = make(torch.tensor(1.5))
    ours = outcome(lambda: printing.format_item(tensor, spec, plain=False))
    assert ours == outcome(lambda: format(tensor, spec))
