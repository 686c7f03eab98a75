"""Outcomes are compared as text; numbers in them count as equal if they differ by one in the fifth digit."""

import pytest

from tests.ops.running import adopt_near


@pytest.mark.recorded
@pytest.mark.parametrize(
    ("recorded", "told", "near"),
    [
        ("[0.0, 0.0001672, 3]", "[0.0, 0.00016719, 3]", True),
        ("[nan, 1e-05]", "[nan, 1.0001e-05]", True),
        ("[-1.9999, inf]", "[-2.0, inf]", True),
        ("[0.0, 0.0001672, 3]", "[0.0, 0.00016717, 3]", False),
        ("[0.0]", "[1e-08]", False),
        ("[1.5]", "[-1.5]", False),
        ("[100000]", "[100001]", False),
        ("[1.0]", "[1.0, 1.0]", False),
        ("float32", "float64", False),
    ],
)
def test_numbers_may_differ_by_one_in_the_fifth_digit(recorded, told, near):
    recorded, told = {"result": [{"values": recorded}]}, {"result": [{"values": told}]}
    assert (adopt_near(recorded, told) == told) is near
