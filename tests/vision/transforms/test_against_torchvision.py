"""With the same picture, seed and arguments, transforms give torchvision's results and draw as many random numbers."""

import numpy as np
import pytest

import torchlike as torch
from tests.conftest import GOLDEN
from tests.golden.packed import unpack
from tests.vision.transforms.transform_cases import (
    FUNCTIONS,
    ON_TENSORS,
    TRANSFORMS,
    run_function,
    run_transform,
    words,
)
from torchlike.vision import transforms
from torchlike.vision.transforms import functional

# Sums that are cut off to whole brightnesses: their last bits decide.
pytestmark = [pytest.mark.composed, pytest.mark.optimized]

pytest.importorskip("PIL.Image")
ARRAYS, WORDS = unpack(GOLDEN / "vision.npz")


def agree(found: np.ndarray, wanted: np.ndarray, name: str) -> None:
    assert found.dtype == wanted.dtype, name
    assert found.shape == wanted.shape, name
    if wanted.dtype == np.uint8:
        # A float between two integers may be rounded either way; PyTorch resizes bytes with weights of 16 bits. AugMix rounds many times.
        different = found != wanted
        assert different.mean() <= (
            0.02 if "esizedCrop" in name or "resized" in name else 0.01 if "AugMix" in name else 0.005
        )
        assert np.abs(found.astype(int) - wanted)[different].max(initial=0) <= 1, name
    else:
        np.testing.assert_allclose(found, wanted, atol=2e-5, rtol=2e-5, err_msg=name)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name):
    for kind, found in run_function(functional, torch, name).items():
        agree(found, ARRAYS[f"F.{name}/{kind}"], f"{name} {kind}")


@pytest.mark.costly
@pytest.mark.parametrize("name", [*TRANSFORMS, *ON_TENSORS])
def test_transform(name):
    for kind, found in run_transform(transforms, torch, name).items():
        agree(found, ARRAYS[f"T.{name}/{kind}"], f"{name} {kind}")


def test_transforms_print_themselves():
    assert words(transforms, torch) == WORDS["transforms"]
