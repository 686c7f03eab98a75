"""Random numbers: PyTorch's recorded samples and states, the generator's methods, and its errors."""

import copy
import hashlib
import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.random_streams import draws
from torchlike.random_streams import rng
from torchlike.random_streams.fma import fma
from torchlike.random_streams.multinomial import multinomial
from torchlike.random_streams.rng import Generator
from torchlike.random_streams.sampling import bernoulli, cauchy, exponential, geometric, log_normal, normal, uniform
from torchlike.random_streams.sampling_integers import randint, random, randperm

SAMPLES = {
    "uniform": uniform, "unit": uniform, "normal": normal, "standard normal": normal, "log_normal": log_normal,
    "exponential": exponential, "cauchy": cauchy, "geometric": geometric, "bernoulli": bernoulli, "random": random,
    "randint": randint, "randint wide": randint, "randint up": randint, "randint all": randint,
}  # fmt: skip


def numpy_dtype(name):
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def digest(arrays, generator):
    return draws.digest([a.tobytes() for a in [*arrays, generator.get_state()]])


def values(array):
    array = array.view(array.real.dtype).ravel() if array.dtype.kind == "c" else array
    return array[:3].tolist()


# --- PyTorch's numbers ---------------------------------------------------------------------------------------------


@pytest.fixture
def recorded(golden):
    return golden("rng")


@pytest.mark.parametrize(
    ("name", "arguments", "dtype"),
    [
        pytest.param(name, arguments, dtype, id=f"{name}-{dtype}")
        for name, _, arguments, dtypes in draws.METHODS
        for dtype in dtypes
    ],
)
@pytest.mark.parametrize("seed", draws.SEEDS)
def test_samples_are_pytorchs(recorded, name, arguments, dtype, seed):
    (case,) = (c for c in recorded["methods"] if (c["sample"], c["dtype"], c["seed"]) == (name, dtype, seed))
    generator = Generator().manual_seed(seed)
    arrays = [SAMPLES[name](generator, size, numpy_dtype(dtype), *arguments) for size in draws.SIZES]
    assert values(arrays[-1]) == case["first"]
    assert digest(arrays, generator) == case["digest"]


def test_mixed_sequences_stay_in_step(recorded):
    generator = Generator().manual_seed(draws.MIXED_SEED)
    arrays = [
        SAMPLES[name](generator, draws.mixed(number), numpy_dtype(dtypes[-1]), *arguments)
        for number, (name, _, arguments, dtypes) in enumerate([*draws.METHODS, *draws.METHODS[::-1]])
    ]
    assert digest(arrays, generator) == recorded["mixed"]["digest"]


def test_permutations_are_pytorchs(recorded):
    generator = Generator().manual_seed(draws.PERMUTATION_SEED)
    orders = [randperm(generator, size) for size in draws.SIZES]
    assert orders[-1][:3].tolist() == recorded["permutations"]["first"]
    assert digest(orders, generator) == recorded["permutations"]["digest"]


@pytest.mark.parametrize("n", [1999, 2001, 2002, 2003, 100_000])
def test_permutations_are_exchanges_one_by_one(n):
    words = Generator().manual_seed(n).stream.words32(n - 1).tolist()
    order = list(range(n))
    for place, word in enumerate(words):
        other = place + word % (n - place)
        order[place], order[other] = order[other], order[place]
    assert randperm(Generator().manual_seed(n), n).tolist() == order


@pytest.mark.parametrize("dtype", draws.FLOATS)
def test_multinomial_is_pytorchs(recorded, dtype):
    (case,) = (c for c in recorded["multinomial"]["samples"] if c["dtype"] == dtype)
    generator = Generator().manual_seed(draws.MULTINOMIAL_SEED)
    weights = np.array(draws.WEIGHTS).astype(numpy_dtype(dtype))
    indices = [multinomial(generator, weights, *how) for how in draws.MULTINOMIAL]
    assert indices[-1][:5].tolist() == case["last"]
    assert digest(indices, generator) == case["digest"]


@pytest.mark.parametrize("dtype", draws.FLOATS)
def test_bernoulli_by_array_is_pytorchs(recorded, dtype):
    (case,) = (c for c in recorded["bernoulli by array"]["samples"] if c["dtype"] == dtype)
    generator = Generator().manual_seed(draws.BERNOULLI_SEED)
    p = np.array(draws.PROBABILITIES).astype(numpy_dtype(dtype))
    assert digest([bernoulli(generator, len(p), p.dtype, p)], generator) == case["digest"]


def test_state_is_pytorchs(recorded):
    wanted = recorded["state"]
    generator = Generator().manual_seed(draws.STATE_SEED)
    normal(generator, 3, np.float32)
    uniform(generator, 1000, np.float32)
    state = generator.get_state()
    assert state.dtype == np.uint8
    assert state.shape == (5056,)
    assert {str(i): b for i, b in enumerate(state.tolist()) if b and not 24 <= i < 5016} == wanted["bytes"]
    assert hashlib.sha256(state[24:5016].tobytes()).hexdigest()[:16] == wanted["words"]
    other = Generator()
    other.set_state(state)
    assert other.initial_seed() == 2**64 + draws.STATE_SEED
    assert normal(other, 2, np.float64).tolist() == wanted["next normals"]
    assert uniform(other, 3, np.float32).tolist() == wanted["next uniforms"]


# --- the generator -------------------------------------------------------------------------------------------------

STEPS = st.lists(st.tuples(st.sampled_from(["words", "normal"]), st.integers(0, 1300)), max_size=5)


def take(generator, steps):
    return [
        generator.stream.words32(size).tolist() if what == "words" else normal(generator, size, np.float32).tolist()
        for what, size in steps
    ]


@given(seed=st.integers(-(2**63), 2**64 - 1), before=STEPS, after=STEPS)
def test_a_state_continues_anywhere(seed, before, after):
    generator = Generator().manual_seed(seed)
    take(generator, before)
    restored = Generator()
    restored.set_state(generator.get_state())
    copies = [restored, generator.clone_state(), copy.deepcopy(generator), pickle.loads(pickle.dumps(generator))]
    expected = take(generator, after)
    for other in copies:
        assert other.initial_seed() == seed % 2**64
        assert take(other, after) == expected
        assert np.array_equal(other.get_state(), generator.get_state())


@given(seed=st.integers(0, 2**32 - 1), sizes=st.lists(st.integers(0, 900), max_size=6))
def test_words_do_not_depend_on_the_pieces(seed, sizes):
    pieces, whole = Generator().manual_seed(seed), Generator().manual_seed(seed)
    words = [word for size in sizes for word in pieces.stream.words32(size).tolist()]
    assert words == whole.stream.words32(sum(sizes)).tolist()


def test_seeding():
    generator = Generator()
    assert generator.initial_seed() == 67280421310721
    assert generator.manual_seed(5) is generator
    first = normal(generator, 3, np.float32)
    assert np.array_equal(normal(generator.manual_seed(5 + 2**32), 3, np.float32), first)  # the lowest 32 bits count
    seeds = {generator.seed() for _ in range(3)}
    assert len(seeds) == 3
    assert generator.initial_seed() in seeds


def test_the_default_generator_starts_anywhere():
    assert rng.default_generator.initial_seed() != Generator().initial_seed()


@pytest.mark.parametrize(
    ("seed", "error", "message"),
    [
        (2**64, ValueError, "Overflow when unpacking long long"),
        (-(2**63) - 1, ValueError, "Overflow when unpacking long long"),
        (1.5, RuntimeError, "manual_seed expected a long, but got float"),
        (True, RuntimeError, "manual_seed expected a long, but got bool"),
        (None, RuntimeError, "manual_seed expected a long, but got NoneType"),
        (np.int64(3), TypeError, "an integer is required"),
    ],
)
def test_refused_seeds(seed, error, message):
    generator = Generator().manual_seed(1)
    with pytest.raises(error) as caught:
        generator.manual_seed(seed)
    assert str(caught.value) == message
    assert generator.initial_seed() == 1


def broken(position, value):
    """Returns a valid state with one byte changed."""
    state = Generator().get_state()
    state[position] = value
    return state


@pytest.mark.parametrize(
    ("state", "error", "message"),
    [
        ([1, 2], TypeError, "expected a torch.ByteTensor, but got list"),
        (np.zeros(5056, np.float32), TypeError, "RNG state must be a torch.ByteTensor"),
        (np.zeros(10112, np.uint8)[::2], RuntimeError, "RNG state must be contiguous"),
        (
            np.zeros(3, np.uint8),
            RuntimeError,
            "Expected a CPUGeneratorImplState of size 5056 but found the input RNG state size to be 3",
        ),
        (np.zeros(5056, np.uint8), RuntimeError, "Invalid mt19937 state"),
        (broken(12, 0), RuntimeError, "Invalid mt19937 state"),
        (broken(8, 7), RuntimeError, "Invalid mt19937 state"),
        (broken(18, 9), RuntimeError, "Invalid mt19937 state"),
    ],
)
def test_refused_states(state, error, message):
    generator = Generator().manual_seed(1)
    with pytest.raises(error) as caught:
        generator.set_state(state)
    assert str(caught.value) == message
    assert np.array_equal(generator.get_state(), Generator().manual_seed(1).get_state())


def test_state_arrays_are_copies():
    generator = Generator()
    generator.get_state()[:] = 0
    assert np.array_equal(generator.get_state(), Generator().get_state())


def test_device():
    assert Generator("cpu").device == "cpu"
    assert Generator("cpu:0").clone_state().device == "cpu:0"
    with pytest.raises(NotImplementedError, match=r"^Generator\(device='cuda'\): this is the CPU's"):
        Generator("cuda")


@pytest.mark.parametrize("call", [lambda g: g.get_offset(), lambda g: g.set_offset(1)])
def test_no_offset(call):
    with pytest.raises(RuntimeError, match=r"^CPU Generator does not use offset$"):
        call(Generator())


def test_threads_share_a_generator_sample_by_sample():
    shared = Generator().manual_seed(4)
    with ThreadPoolExecutor(4) as pool:
        drawn = list(pool.map(lambda _: normal(shared, 17, np.float32).tobytes(), range(200)))
    alone = Generator().manual_seed(4)
    assert sorted(drawn) == sorted(normal(alone, 17, np.float32).tobytes() for _ in range(200))


def test_draw_seed():
    generator = Generator().manual_seed(3)
    expected = random(Generator().manual_seed(3), (), np.int64)
    assert rng.draw_seed(generator) == expected
    rng.default_generator.manual_seed(3)
    assert rng.draw_seed() == expected


# --- samples -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), 0, (0, 3), 5, (2, 3, 4), (40, 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.complex64, ml_dtypes.bfloat16])
@pytest.mark.parametrize("sample", [uniform, normal])
def test_shapes(sample, dtype, shape):
    array = sample(Generator(), shape, dtype)
    assert array.shape == (shape if isinstance(shape, tuple) else (shape,))
    assert array.dtype == dtype
    assert array.flags.c_contiguous
    assert array.flags.writeable


REFUSED = [
    (
        uniform,
        np.float32,
        (2, 1),
        RuntimeError,
        "uniform_ expects to return a [from, to) range, but found from=2 > to=1",
    ),
    (uniform, np.float32, (math.nan, 1), RuntimeError, "from is out of bounds for float"),
    (uniform, np.float16, (0, 70000), RuntimeError, "to is out of bounds for c10::Half"),
    (
        uniform,
        np.float32,
        (-3e38, 3e38),
        RuntimeError,
        "uniform_ expects to-from <= std::numeric_limits<Float>::max(), but found to=3e+38 and from=-3e+38 which result"
        " in to-from to exceed the limit",
    ),
    (uniform, np.int32, (), NotImplementedError, "\"check_uniform_bounds\" not implemented for 'Int'"),
    (normal, np.float32, (0, -1), RuntimeError, "normal expects std >= 0.0, but found std -1"),
    (normal, np.int64, (), NotImplementedError, "\"normal_kernel_cpu\" not implemented for 'Long'"),
    (log_normal, np.float32, (0, 0), RuntimeError, "log_normal_ expects std > 0.0, but found std=0"),
    (log_normal, np.int32, (), NotImplementedError, "\"log_normal_cpu\" not implemented for 'Int'"),
    (exponential, np.float32, (0,), RuntimeError, "exponential_ expects lambda > 0.0, but found lambda=0"),
    (
        exponential,
        np.int32,
        (),
        RuntimeError,
        "Exponential distribution is a continuous probability distribution. dtype must be a floating point but you"
        " specified Int",
    ),
    (cauchy, np.float32, (0, 0), RuntimeError, "cauchy_ expects sigma > 0.0, but found sigma=0"),
    (
        cauchy,
        np.int64,
        (),
        RuntimeError,
        "Cauchy distribution is a continuous probability distribution. dtype must be a floating point but you specified"
        " long int",
    ),
    (geometric, np.float32, (1,), RuntimeError, "geometric_ expects p to be in (0, 1), but got p=1"),
    (geometric, np.bool_, (0.5,), NotImplementedError, "\"geometric_cpu\" not implemented for 'Bool'"),
    (bernoulli, np.float32, (1.5,), RuntimeError, "bernoulli_ expects p to be in [0, 1], but got p=1.5"),
    (bernoulli, np.uint16, (0.5,), NotImplementedError, "\"bernoulli_scalar_cpu_\" not implemented for 'UInt16'"),
    (
        bernoulli,
        np.float32,
        (np.ones(3, int),),
        NotImplementedError,
        "\"bernoulli_tensor_cpu_p_\" not implemented for 'Long'",
    ),
    (
        bernoulli,
        np.float32,
        (np.array([0.5, 1.5, 0]),),
        RuntimeError,
        "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  If so,"
        " please report an enhancement request to PyTorch.)",
    ),
    (random, np.uint16, (), NotImplementedError, "\"random_kernel_cpu\" not implemented for 'UInt16'"),
    (randint, np.int64, (5, 3), RuntimeError, "random_ expects 'from' to be less than 'to', but got from=5 >= to=3"),
    (randint, np.int8, (0, 129), RuntimeError, "to - 1 is out of bounds for signed char"),
    (randint, np.uint8, (-1, 5), RuntimeError, "from is out of bounds for unsigned char"),
    (randint, np.float16, (0, 70000), RuntimeError, "to - 1 is out of bounds for c10::Half"),
    (
        randint,
        np.float32,
        (2**25, None),
        RuntimeError,
        "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to dtype, but got"
        " from=33554432 > to_inc=16777216",
    ),
    (
        randint,
        np.complex64,
        (0, 3),
        RuntimeError,
        "check_random_bounds handles only integral, floating-point and boolean types",
    ),
]


@pytest.mark.parametrize(("sample", "dtype", "arguments", "error", "message"), REFUSED)
def test_refused_samples(sample, dtype, arguments, error, message):
    generator = Generator().manual_seed(1)
    with pytest.raises(error) as caught:
        sample(generator, 3, dtype, *arguments)
    assert str(caught.value) == message
    assert np.array_equal(generator.get_state(), Generator().manual_seed(1).get_state())


def test_bounds_that_a_float_cannot_hold_warn():
    with pytest.warns(UserWarning, match=r"^to - 1 is out of bounds \[-\(2\^24\), 2\^24\]\. Due to precision"):
        randint(Generator(), 3, np.float32, 0, 2**24 + 3)


@pytest.mark.parametrize(
    ("n", "dtype", "error", "message"),
    [
        (-1, np.int64, RuntimeError, "Trying to create tensor with negative dimension -1: [-1]"),
        (300, np.uint8, RuntimeError, "value cannot be converted to type uint8_t without overflow"),
        (2050, np.float16, RuntimeError, "n cannot be greater than 2049 for Half type."),
        (3, np.bool_, NotImplementedError, "\"randperm\" not implemented for 'Bool'"),
        (
            2**28,
            np.int64,
            NotImplementedError,
            "randperm(268435456): PyTorch orders 214748364 and more in another way, not there yet",
        ),
    ],
)
def test_refused_permutations(n, dtype, error, message):
    with pytest.raises(error) as caught:
        randperm(Generator(), n, dtype)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("weights", "count", "replacement", "message"),
    [
        (np.ones(3), 4, False, "cannot sample n_sample > prob_dist.size(-1) samples without replacement"),
        (np.ones(3), 0, True, "cannot sample n_sample <= 0 samples"),
        (np.ones((2, 2, 2)), 1, False, "prob_dist must be 1 or 2 dim"),
        (np.ones(3, int), 1, False, "multinomial only supports floating-point dtypes for input, got: Long"),
        (np.zeros(3), 2, False, "invalid multinomial distribution (sum of probabilities <= 0)"),
        (np.zeros(3), 2, True, "invalid multinomial distribution (sum of probabilities <= 0)"),
        (np.array([1, math.nan]), 1, False, "probability tensor contains either `inf`, `nan` or element < 0"),
        (np.array([1.0, -1]), 2, True, "invalid multinomial distribution (encountering probability entry < 0)"),
        (
            np.array([1, math.inf]),
            2,
            True,
            "invalid multinomial distribution (encountering probability entry = infinity or NaN)",
        ),
    ],
)
def test_refused_weights(weights, count, replacement, message):
    generator = Generator().manual_seed(1)
    with pytest.raises(RuntimeError) as caught:
        multinomial(generator, weights, count, replacement)
    assert str(caught.value) == message
    assert np.array_equal(generator.get_state(), Generator().manual_seed(1).get_state())


@given(st.lists(st.tuples(*[st.floats(-1e6, 1e6)] * 3), min_size=1))
def test_fma_rounds_once(rows):
    for a, b, c in rows:
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        if abs(exact) > 1e-200 or exact == 0:  # far from underflow, where the halves of a product are exact
            assert fma(np.array([a]), b, c)[0] == float(exact)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_infinite_parameters_give_infinities(dtype):
    generator = Generator()
    generator.manual_seed(0)
    wide = cauchy(generator, (6,), numpy_dtype(dtype), 0.0, math.inf)
    assert wide.tolist() == [math.inf, math.inf, -math.inf, math.inf, math.inf, math.inf]
    assert cauchy(generator, (2,), numpy_dtype(dtype), math.inf, 1.0).tolist() == [math.inf, math.inf]
