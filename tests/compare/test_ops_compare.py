"""The recorded results of operators are PyTorch's: `tests/ops/test_catalog.py` compares torchlike with these records."""

import numpy as np
import pytest

from tests.conftest import GOLDEN
from tests.golden.packed import unpack

pytest.importorskip("torch")

pytestmark = pytest.mark.compare


def test_recorded_calls_are_pytorchs():
    from tests.golden.ops import everything
    from tests.ops.test_catalog import TOLERANCE

    recorded, recorded_words = unpack(GOLDEN / "ops.npz")
    arrays, words, _ = everything()
    assert words == recorded_words
    assert arrays.keys() == recorded.keys()
    for key, array in arrays.items():
        dtype = key.split("/")[2]
        rtol, atol = TOLERANCE.get(dtype, (1e-7, 1e-7))  # which the tests of torchlike use too
        np.testing.assert_allclose(array, recorded[key], rtol=rtol, atol=atol, equal_nan=True, err_msg=key)
