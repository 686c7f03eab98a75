"""The words of the Mersenne Twister, and what is made of many of them: the same by the compiled file and by NumPy."""

import numpy as np
import pytest

from torchlike.random_streams import mt19937
from torchlike.random_streams.box_muller import box_muller
from torchlike.random_streams.mt19937 import MT19937, WORDS
from torchlike.random_streams.rng import Generator
from torchlike.random_streams.sampling_integers import randperm

pytestmark = pytest.mark.recorded
needs_twister = pytest.mark.skipif(mt19937.twister is None, reason="built without a compiler")
COUNTS = (1, 5, WORDS - 1, WORDS, WORDS + 1, 0, 2 * WORDS, 2000, 13)


@pytest.fixture(params=["compiled", "by NumPy"])
def stream(request, monkeypatch):
    if request.param == "by NumPy":
        monkeypatch.setattr(mt19937, "twister", None)
    elif mt19937.twister is None:
        pytest.skip("built without a compiler")
    return MT19937


def reference(seed: int) -> np.random.MT19937:
    bits = np.random.MT19937(0)
    np.random.RandomState(bits).seed(seed & 0xFFFFFFFF)
    return bits


@pytest.mark.parametrize("seed", [0, 5489, 2**40 + 3])
def test_words_are_those_of_the_twister(stream, seed):
    words, expected = stream(seed), reference(seed)
    for count in COUNTS:
        assert words.words32(count).tolist() == expected.random_raw(count).tolist()
        halves = [int(word) for word in expected.random_raw(2 * count)]
        assert words.words64(count).tolist() == [a << 32 | b for a, b in zip(halves[::2], halves[1::2], strict=True)]


@pytest.mark.parametrize("share", [0.0, 2.0**-53, 0.3, 0.9, 1 - 2.0**-53, 1.0])
def test_a_share_is_chosen(stream, share):
    drawn, words = stream(1), stream(1)
    for count in COUNTS:
        units = (words.words64(count) & np.uint64(2**53 - 1)).astype(np.float64) * 2.0**-53
        result = drawn.below(share, count, 1.5)
        assert result.dtype == np.float32 and result.tolist() == np.where(units < share, 1.5, 0.0).tolist()
        assert drawn.save()[1] == words.save()[1]


def test_a_state_is_gone_back_to(stream):
    words = stream(7)
    for count in COUNTS:
        kept = words.save()
        first = words.words32(10).tolist()
        words.load(*kept)
        assert words.words32(10).tolist() == first
        words.words32(count)


def test_a_stream_just_seeded_is_told_from_one_at_the_end_of_a_block(stream):
    words = stream(3)
    assert words.save()[1] == 0
    words.words32(WORDS)
    assert words.save()[1] == WORDS


@needs_twister
@pytest.mark.parametrize(("mean", "std"), [(0.0, 1.0), (0.3, 1.7), (-1e4, 0.0)])
@pytest.mark.parametrize("count", [0, 16, 112, 128, 144, 2**18])
def test_normal_numbers_are_the_same_by_numpy(count, mean, std, monkeypatch):
    words = np.random.default_rng(count).integers(0, 2**32, count, np.uint32)
    words[:64:2], words[1:64:2] = 0, 0xFFFFFF  # the ends of what is uniform
    numbers = box_muller(words, mean, std)
    monkeypatch.setattr(mt19937, "twister", None)
    assert numbers.tobytes() == box_muller(words, mean, std).tobytes()


@needs_twister
@pytest.mark.parametrize("count", [0, 1, 2, 3, 1999, 2001, 30_000])
def test_orders_are_the_same_by_numpy(count, monkeypatch):
    order = randperm(Generator().manual_seed(count), count)
    monkeypatch.setattr(mt19937, "twister", None)
    assert order.tolist() == randperm(Generator().manual_seed(count), count).tolist()
    assert sorted(order) == list(range(count))


@needs_twister
def test_arrays_of_another_size_are_refused():
    state, words = np.zeros(WORDS, np.uint32), np.zeros(4, np.uint32)
    with pytest.raises(ValueError, match="no state and no words"):
        mt19937.twister.words(state, words)
    with pytest.raises(ValueError, match="no state and no words"):
        mt19937.twister.below(np.zeros(WORDS + 1, np.uint32), np.zeros(4), 1, 1.0)
    with pytest.raises(ValueError, match="no words for so many numbers"):
        mt19937.twister.normals(np.zeros(32, np.uint32), np.zeros(16, np.float32), 0.0, 1.0)
    with pytest.raises(ValueError, match="no places in the array"):
        mt19937.twister.exchange(np.array([4], np.int32), np.arange(4))
