"""Pictures are resized as torchvision resizes tensors: by PyTorch's interpolation of floats, rounded for bytes."""

import numpy as np
import pytest

import torchlike
from torchlike.vision.transforms import InterpolationMode, functional as F

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic"])
@pytest.mark.parametrize("antialias", [False, True])
def test_resize(mode, antialias):
    pixels = np.random.default_rng(0).integers(0, 256, (3, 37, 53), np.uint8)
    smooth = antialias and mode in ("bilinear", "bicubic")
    for size in ((16, 20), (50, 70), (37, 20)):
        wanted = torch.nn.functional.interpolate(
            torch.from_numpy(pixels).float()[None],
            size,
            mode=mode,
            align_corners=False if mode.startswith("bi") else None,
            antialias=smooth,
        )[0].numpy()
        floats, bytes_ = torchlike.tensor(pixels / np.float32(1)), torchlike.tensor(pixels)
        found = F.resize(floats, size, InterpolationMode(mode), antialias=antialias).numpy()
        np.testing.assert_allclose(found, wanted, atol=1e-3)
        rounded = F.resize(bytes_, size, InterpolationMode(mode), antialias=antialias).numpy()
        np.testing.assert_allclose(rounded, wanted.clip(0, 255), atol=0.501)
