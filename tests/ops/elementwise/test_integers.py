"""Common divisors and multiples at the ends of integer types, where C's arithmetic shows. The numbers are PyTorch's."""

import pytest

import torchlike as torch

pytestmark = pytest.mark.single

BITS = [8, 16, 32, 64]


def pairs(bits):
    """The smallest number of a type, which has no positive counterpart, and its neighbours."""
    m = -(2 ** (bits - 1))
    return m, [m, m, m, m, m, -1, 6, -6, 2, 0], [m, -1, 0, 6, m + 1, m, m, -m - 1, m // 2, m]


@pytest.mark.parametrize("bits", BITS)
def test_gcd_of_the_smallest_number_ends(bits):
    m, a, b = pairs(bits)
    dtype = getattr(torch, f"int{bits}")
    divisors = torch.gcd(torch.tensor(a, dtype=dtype), torch.tensor(b, dtype=dtype))
    assert divisors.tolist() == [m, 1, m, -2, -1, 1, -2, 1, 2, m]


@pytest.mark.parametrize("bits", BITS)
def test_lcm_of_the_smallest_number_ends(bits):
    m, a, b = pairs(bits)
    dtype = getattr(torch, f"int{bits}")
    expected = [m, m, 0, m, m, m, m, -6, -m // 2, 0]
    if bits > 16:  # the smallest number as the first one ends PyTorch's process
        a, b, expected = a[5:], b[5:], [m, m, 6, -m // 2, 0]
    multiples = torch.lcm(torch.tensor(a, dtype=dtype), torch.tensor(b, dtype=dtype))
    assert multiples.tolist() == expected
