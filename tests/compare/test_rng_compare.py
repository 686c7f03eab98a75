"""Random numbers, compared with PyTorch's: every sample's values bit for bit, and the generator's state after it."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.random_streams.draws import COMPLEX, FLOATS, INTEGERS
from torchlike.random_streams.multinomial import multinomial
from torchlike.random_streams.rng import Generator
from torchlike.random_streams.sampling import bernoulli, cauchy, exponential, geometric, log_normal, normal, uniform
from torchlike.random_streams.sampling_integers import LEAST, randint, random, randperm

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.compare

SIZES = [0, 1, 2, 15, 16, 17, 31, 33, 1000, 40_000]
HALVES = ["float16", "bfloat16"]
UNSIGNED = ["uint16", "uint32", "uint64"]


def numpy_dtype(name):
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def to_numpy(tensor):
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def to_torch(array):
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def method(name, ours, *args):
    """Returns torchlike's and PyTorch's sampling by a tensor's method."""

    def sample(generator, size, dtype):
        return ours(generator, size, numpy_dtype(dtype), *args)

    def model(generator, size, dtype):
        return getattr(torch.empty(size, dtype=getattr(torch, dtype)), name)(*args, generator=generator)

    return sample, model


def with_probabilities(of):
    """Samples Bernoulli with a tensor of probabilities of dtype `of`."""

    def probabilities(size):
        return (np.arange(size) % 17 / 16).astype(numpy_dtype(of))

    def sample(generator, size, dtype):
        return bernoulli(generator, size, numpy_dtype(dtype), probabilities(size))

    def model(generator, size, dtype):
        return torch.empty(size, dtype=getattr(torch, dtype)).bernoulli_(
            to_torch(probabilities(size)), generator=generator
        )

    return sample, model


def permutation():
    def sample(generator, size, dtype):
        return randperm(generator, size, numpy_dtype(dtype))

    def model(generator, size, dtype):
        return torch.randperm(size, dtype=getattr(torch, dtype), generator=generator)

    return sample, model


# (name, (ours, PyTorch's), dtypes)
SAMPLES = [
    ("uniform", method("uniform_", uniform), FLOATS + COMPLEX),
    ("uniform bounds", method("uniform_", uniform, -0.3, 1.7), FLOATS + COMPLEX),
    ("uniform rounding up", method("uniform_", uniform, 1.0, 1.0 + 2.0**-22), FLOATS),
    ("uniform of one number", method("uniform_", uniform, 3.0, 3.0), FLOATS),
    ("normal", method("normal_", normal), FLOATS + COMPLEX),
    ("normal moved", method("normal_", normal, 0.3, 1.7), FLOATS + COMPLEX),
    ("normal std 0", method("normal_", normal, 2.0, 0.0), FLOATS),
    ("log_normal", method("log_normal_", log_normal), FLOATS),
    ("log_normal moved", method("log_normal_", log_normal, 0.3, 0.7), FLOATS),
    ("exponential", method("exponential_", exponential), FLOATS),
    ("exponential rate", method("exponential_", exponential, 0.7), FLOATS),
    ("cauchy", method("cauchy_", cauchy), FLOATS),
    ("cauchy moved", method("cauchy_", cauchy, 0.3, 1.7), FLOATS),
    ("geometric", method("geometric_", geometric, 0.3), FLOATS + INTEGERS),
    ("geometric rare", method("geometric_", geometric, 0.001), FLOATS + INTEGERS),
    ("bernoulli", method("bernoulli_", bernoulli, 0.3), [*FLOATS, *INTEGERS, "bool"]),
    ("bernoulli never", method("bernoulli_", bernoulli, 0.0), ["float32"]),
    ("bernoulli always", method("bernoulli_", bernoulli, 1.0), ["float32"]),
    *((f"bernoulli by {of}", with_probabilities(of), ["float32", "int64", "float16"]) for of in FLOATS),
    ("random", method("random_", random), [*FLOATS, *INTEGERS, "bool"]),
    ("randint bool", method("random_", randint, 0, 2), ["bool"]),
    ("randint", method("random_", randint, 3, 100), FLOATS + INTEGERS + UNSIGNED),
    ("randint up", method("random_", randint, 5, None), [*FLOATS, *INTEGERS, *UNSIGNED[:2]]),
    ("randint from below", method("random_", randint, -100, 28), [*FLOATS, "int8", "int16", "int32", "int64"]),
    ("randint below wide", method("random_", randint, 0, 2**28 - 1), ["int32", "int64"]),
    ("randint wide", method("random_", randint, 0, 2**28), ["int32", "int64"]),
    ("randint int64", method("random_", randint, -(2**63), 2**63 - 1), ["int64"]),
    ("randint all", method("random_", randint, LEAST, None), ["int64", "float64", "float32", "bfloat16"]),
    ("randperm", permutation(), ["int64"]),
]
CASES = [pytest.param(pair, dtype, id=f"{name}-{dtype}") for name, pair, dtypes in SAMPLES for dtype in dtypes]


def assert_same(ours, model, generator, theirs):
    expected = to_numpy(model)
    assert ours.dtype == expected.dtype
    assert ours.shape == expected.shape
    assert ours.tobytes() == expected.tobytes()
    assert np.array_equal(generator.get_state(), theirs.get_state().numpy())


@pytest.mark.parametrize("seed", [0, 5, 2**40 + 3])
@pytest.mark.parametrize(("pair", "dtype"), CASES)
def test_sample(pair, dtype, seed):
    generator, theirs = Generator().manual_seed(seed), torch.Generator().manual_seed(seed)
    for size in SIZES:
        assert_same(pair[0](generator, size, dtype), pair[1](theirs, size, dtype), generator, theirs)


@pytest.mark.parametrize("dtype", [*FLOATS, "uint8", "int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 128])
def test_randperm_dtypes(n, dtype):
    generator, theirs = Generator().manual_seed(n), torch.Generator().manual_seed(n)
    sample, model = permutation()
    assert_same(sample(generator, n, dtype), model(theirs, n, dtype), generator, theirs)


WEIGHTS = {
    "even": np.ones(10),
    "sloped": np.arange(50) + 0.5,
    "with zeros": np.array([0, 1, 0, 3, 2.0, 0]),
    "rows": np.arange(60).reshape(4, 15) + 1.0,
    "many": np.arange(3000) % 7 + 0.1,
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("count", "replacement"), [(1, False), (1, True), (3, False), (3, True), (200, True)])
@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_multinomial(weights, count, replacement, dtype):
    weights = weights.astype(numpy_dtype(dtype))
    for seed in range(5):
        generator, theirs = Generator().manual_seed(seed), torch.Generator().manual_seed(seed)
        model = torch.multinomial(to_torch(weights), count, replacement, generator=theirs)
        assert_same(multinomial(generator, weights, count, replacement), model, generator, theirs)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(-(2**63), 2**64 - 1),
    steps=st.lists(st.tuples(st.sampled_from([c.values for c in CASES]), st.integers(0, 700)), max_size=6),
)
def test_sequences_stay_in_step(seed, steps):
    generator, theirs = Generator().manual_seed(seed), torch.Generator().manual_seed(seed)
    for (pair, dtype), size in steps:
        assert_same(pair[0](generator, size, dtype), pair[1](theirs, size, dtype), generator, theirs)


@pytest.mark.parametrize("words", [0, 1, 623, 624, 625, 1248, 5000])
def test_states_are_interchangeable(words):
    generator, theirs = Generator().manual_seed(7), torch.Generator().manual_seed(7)
    uniform(generator, words, np.float32)
    normal(generator, 3, np.float32)
    torch.empty(words).uniform_(generator=theirs)
    torch.randn(3, generator=theirs)
    assert np.array_equal(generator.get_state(), theirs.get_state().numpy())
    crossed, back = Generator(), torch.Generator()
    crossed.set_state(theirs.get_state().numpy())
    back.set_state(torch.from_numpy(generator.get_state()))
    assert crossed.initial_seed() == back.initial_seed() == 7
    for _ in range(2):  # first the cached normal number, then the words
        assert_same(normal(crossed, 2, np.float64), torch.randn(2, dtype=torch.float64, generator=back), crossed, back)
    assert_same(uniform(crossed, 700, np.float32), torch.rand(700, generator=back), crossed, back)


INF, NAN = float("inf"), float("nan")

# The method, its arguments, and the dtypes for which PyTorch refuses or warns.
BAD = [
    ("uniform_", uniform, (2, 1), ["float32", "float64"]),
    ("uniform_", uniform, (NAN, 1), ["float32", "float16"]),
    ("uniform_", uniform, (0, INF), ["float32", "float64", "complex64"]),
    ("uniform_", uniform, (-3e38, 3e38), ["float32", "bfloat16"]),
    ("uniform_", uniform, (-60000, 60000), ["float16"]),
    ("uniform_", uniform, (0, 70000), ["float16"]),
    ("uniform_", uniform, (0, 1), [*INTEGERS, *UNSIGNED, "bool"]),
    ("normal_", normal, (0, -1), [*FLOATS, "complex64"]),
    ("normal_", normal, (0, NAN), ["float32"]),
    ("normal_", normal, (0, 1), [*INTEGERS, "bool"]),
    ("log_normal_", log_normal, (0, 0), ["float32"]),
    ("log_normal_", log_normal, (0, 1), ["int32", "complex64"]),
    ("exponential_", exponential, (0,), ["float32"]),
    ("exponential_", exponential, (NAN,), ["float32"]),
    ("exponential_", exponential, (1,), ["int32", "bool", "complex64"]),
    ("cauchy_", cauchy, (0, 0), ["float32"]),
    ("cauchy_", cauchy, (0, 1), ["int32", "int64", "uint8", "int8", "int16", "bool", "complex64", "complex128"]),
    ("geometric_", geometric, (0,), ["float32"]),
    ("geometric_", geometric, (1.5,), ["float32"]),
    ("geometric_", geometric, (0.5,), ["bool", "uint16", "complex64"]),
    ("bernoulli_", bernoulli, (1.5,), ["float32"]),
    ("bernoulli_", bernoulli, (NAN,), ["float32"]),
    ("bernoulli_", bernoulli, (0.5,), ["uint16", "complex64"]),
    ("random_", random, (), [*UNSIGNED, *COMPLEX]),
    ("random_", randint, (5, 3), ["float32", "int64", "complex64"]),
    ("random_", randint, (0, 0), ["int8"]),
    ("random_", randint, (0, 200), ["int8"]),
    ("random_", randint, (-1, 5), ["uint8", "bool", *UNSIGNED]),
    ("random_", randint, (0, 3), ["bool", "complex64"]),
    ("random_", randint, (-(2**40), 2**40), ["uint8", "int8", "int16", "int32", "uint16", "uint32", *FLOATS]),
    ("random_", randint, (0, 3000), HALVES),
    ("random_", randint, (-3000, 30), HALVES),
    ("random_", randint, (0, 70000), ["float16"]),
    ("random_", randint, (2**24 + 1, 2**24 + 2), ["float32"]),
    ("random_", randint, (2**24 + 1, 2**24 + 4), ["float32"]),
    ("random_", randint, (-(2**24) - 1, 5), ["float32"]),
    ("random_", randint, (0, 2**60), ["float64"]),
    ("random_", randint, (300, None), ["int8", "bool"]),
    ("random_", randint, (-3000, None), HALVES),
    ("random_", randint, (2**25, None), ["float16", "float32"]),
    ("random_", randint, (LEAST, None), ["int8", "int32", "bool", "float16"]),
]


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("size", [0, 3])
@pytest.mark.parametrize(
    ("pair", "dtype"),
    [
        pytest.param(method(name, ours, *args), dtype, id=f"{name}{args}-{dtype}")
        for name, ours, args, dtypes in BAD
        for dtype in dtypes
    ],
)
def test_refusals_and_warnings(pair, dtype, size, recwarn):
    generator, theirs = Generator().manual_seed(3), torch.Generator().manual_seed(3)
    outcomes = []
    for run, source in zip(pair, (generator, theirs), strict=True):
        recwarn.clear()
        try:
            result = run(source, size, dtype)
            outcome = result.tobytes() if isinstance(result, np.ndarray) else to_numpy(result).tobytes()
        except (RuntimeError, NotImplementedError) as error:
            outcome = type(error), str(error)
        # PyTorch appends the place in its source that warned.
        outcomes.append((outcome, [str(w.message).partition(" (Triggered internally")[0] for w in recwarn]))
    assert outcomes[0] == outcomes[1]
    assert np.array_equal(generator.get_state(), theirs.get_state().numpy())


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, *UNSIGNED, "bool", "complex64"])
@pytest.mark.parametrize("n", [-1, 3, 129, 257, 258, 2049, 2050])
def test_randperm_refusals(n, dtype):
    sample, model = permutation()
    outcomes = []
    for run, source in ((sample, Generator()), (model, torch.Generator())):
        try:
            outcomes.append(len(run(source, n, dtype)))
        except (RuntimeError, NotImplementedError) as error:
            outcomes.append((type(error), str(error)))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize(
    ("weights", "count", "replacement"),
    [
        (np.ones(3), 4, False), (np.ones(3), 0, False), (np.ones(3), -1, True), (np.ones(0), 1, False),
        (np.zeros(3), 1, False), (np.zeros(3), 2, False), (np.zeros(3), 2, True), (np.array(1.0), 1, False),
        (np.array([1.0, -1]), 1, False), (np.array([1.0, -1]), 2, True), (np.array([1.0, NAN]), 1, False),
        (np.array([1.0, NAN]), 2, True), (np.array([1.0, INF]), 1, True), (np.array([1.0, INF]), 3, True),
        (np.array([1, 2]), 1, False), (np.ones((2, 2, 2)), 1, False), (np.ones((3, 0)), 1, False),
        (np.array([[1.0, 0], [0, 0]]), 1, False), (np.array([[1.0, 0], [0, 0]]), 2, True),
        (np.ones((0, 3)), 1, False), (np.ones((0, 3)), 2, True), (np.array([1.0, 0, 0]), 2, False),
        (np.ones(2**24 + 1, np.float32), 1, False),
    ],
)  # fmt: skip
def test_multinomial_refusals(weights, count, replacement):
    outcomes = []
    for run, given_ in ((multinomial, (Generator(), weights)), (torch.multinomial, (torch.from_numpy(weights),))):
        try:
            result = np.asarray(run(*given_, count, replacement))
            outcomes.append(result.shape)
        except RuntimeError as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]
