"""Random words of accelerators: the published values, and what follows from an element's number alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from torchlike.numerics.philox import advanced, halves, inner, inner64, philox, unit, unit64, words

pytestmark = pytest.mark.recorded

ONES = 0xFFFFFFFF
# Counter, key and words of the authors' own test, https://github.com/DEShawResearch/random123 (kat_vectors).
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ONES,) * 4, (ONES, ONES), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
@pytest.mark.parametrize("x64", [False, True])
def test_words_are_the_published_ones(counter, key, expected, x64):
    with jax.enable_x64(x64):
        state = jnp.asarray([*key, *counter[2:]], np.uint32)
        found = philox(state, jnp.asarray([counter[0]], np.uint32), np.uint32(counter[1]))
    assert [int(word[0]) for word in found] == list(expected)


def test_an_element_depends_on_its_number_alone():
    state = jnp.asarray([1, 2, 3, 4], np.uint32)
    long, short = words(state, (6, 5)), words(state, (2, 5))
    for a, b in zip(long, short, strict=True):
        assert (a[:2] == b).all()
    assert words(state, (0, 3))[0].shape == (0, 3)


@pytest.mark.costly
@pytest.mark.parametrize("columns", [1, 8, 13])
def test_halves_are_all_random_bits_and_depend_on_their_place_alone(columns):
    state = jnp.asarray([1, 2, 3, 4], np.uint32)

    def block(rows: int, first: int, count: int, matrix: int = 0) -> np.ndarray:
        numbers = jnp.arange(rows)[:, None], jnp.arange(first, first + count)[None, :]
        return np.asarray(halves(state, jnp.full((1, 1), matrix, np.uint32), *numbers, columns))

    found = block(4000, 0, columns)
    assert found.shape == (4000, columns) and found.max() < 2**16
    for bit in range(16):
        share = (found >> bit & 1).mean(0)
        assert np.abs(share - 0.5).max() < 0.05
    assert len(np.unique(found)) > 0.95 * 2**16 * (1 - np.exp(-found.size / 2**16))
    assert np.abs(np.corrcoef(found.T) - np.eye(columns)).max() < 0.08
    assert (block(7, 0, columns) == found[:7]).all() and (block(7, 0, min(5, columns)) == found[:7, :5]).all()
    assert (block(7, 8, columns - 8) == found[:7, 8:]).all() if columns > 8 else True
    assert np.abs(np.corrcoef(block(4000, 0, columns, 1)[:, 0], found[:, 0])[0, 1]) < 0.08
    four = philox(state, jnp.arange(4000, dtype=np.uint32))
    assert (found[:, 0] == np.asarray(four[0]) & 0xFFFF).all()


def test_offsets_carry_into_the_upper_word():
    state = jnp.asarray([1, 2, ONES - 3, 4], np.uint32)
    assert advanced(state).tolist() == [1, 2, 0, 5]
    assert advanced(jnp.asarray([1, 2, 8, 4], np.uint32)).tolist() == [1, 2, 12, 4]


def test_uniform_numbers_stay_within_their_bounds():
    least, most = jnp.zeros(1, np.uint32), jnp.full(1, ONES, np.uint32)
    with jax.enable_x64(True):
        assert unit(least)[0] == 0 and unit(most)[0] < 1 and unit64(least, least)[0] == 0 and unit64(most, most)[0] < 1
        assert inner(least)[0] > 0 and inner(most)[0] < 1 and inner64(least, least)[0] > 0
        assert inner64(most, most)[0] < 1
