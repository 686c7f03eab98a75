"""What floating-point numbers become as integers that cannot hold them: PyTorch's values on x86 processors."""

import math

import pytest

import torchlike as torch

pytestmark = pytest.mark.single

NUMBERS = [
    math.inf,
    -math.inf,
    math.nan,
    1e10,
    -1e10,
    3e9,
    300.0,
    -300.0,
    70000.0,
    1e20,
    255.9,
    -1.5,
    -129.0,
    2.0**31,
    2.0**32,
    9.3e18,
]
LEAST_32, LEAST = -(2**31), -(2**63)
EXPECTED = {
    torch.int8: [0, 0, 0, 0, 0, 0, 44, -44, 112, 0, -1, -1, 127, 0, 0, 0],
    torch.uint8: [0, 0, 0, 0, 0, 0, 44, 212, 112, 0, 255, 255, 127, 0, 0, 0],
    torch.int16: [0, 0, 0, 0, 0, 0, 300, -300, 4464, 0, 255, -1, -129, 0, 0, 0],
    torch.int32: [*[LEAST_32] * 6, 300, -300, 70000, LEAST_32, 255, -1, -129, LEAST_32, LEAST_32, LEAST_32],
    torch.int64: [
        LEAST,
        LEAST,
        LEAST,
        10**10,
        -(10**10),
        3 * 10**9,
        300,
        -300,
        70000,
        LEAST,
        255,
        -1,
        -129,
        2**31,
        2**32,
        LEAST,
    ],
}


@pytest.mark.parametrize("dtype", EXPECTED)
@pytest.mark.parametrize("source", [torch.float32, torch.float64])
def test_what_does_not_fit_becomes_the_smallest_number(source, dtype):
    numbers = torch.tensor(NUMBERS, dtype=source)
    assert numbers.to(dtype).tolist() == EXPECTED[dtype]
    assert torch.zeros(len(NUMBERS), dtype=dtype).copy_(numbers).tolist() == EXPECTED[dtype]
    assert (numbers[:1] * 1).to(dtype).tolist() == EXPECTED[dtype][:1]


@pytest.mark.parametrize("source", [torch.float16, torch.bfloat16])
def test_half_types(source):
    numbers = torch.tensor([math.inf, math.nan, -1.5, 300.0], dtype=source)
    assert numbers.to(torch.int32).tolist() == [LEAST_32, LEAST_32, -1, 300]
    assert numbers.to(torch.int8).tolist() == [0, 0, -1, 44]
