"""torch-audiomentations: sounds changed at random, and filtered."""

import random
import warnings

import numpy as np
import torch

warnings.filterwarnings("ignore")
from torch_audiomentations import (
    AddColoredNoise,
    BandPassFilter,
    Compose,
    Gain,
    HighPassFilter,
    LowPassFilter,
    PeakNormalization,
    PolarityInversion,
    Shift,
    TimeInversion,
)  # fmt: skip

torch.manual_seed(0)
random.seed(0)
np.random.seed(0)
x = torch.randn(4, 2, 800) * 0.3
for change in (
    Gain(min_gain_in_db=-6.0, max_gain_in_db=6.0, p=1.0, output_type="dict"),
    PolarityInversion(p=0.5, output_type="dict"),
    PeakNormalization(p=1.0, output_type="dict"),
    Shift(p=1.0, min_shift=-0.3, max_shift=0.3, output_type="dict"),
    TimeInversion(p=0.5, output_type="dict"),
    LowPassFilter(p=1.0, min_cutoff_freq=500, max_cutoff_freq=2000, output_type="dict"),
    HighPassFilter(p=1.0, min_cutoff_freq=500, max_cutoff_freq=2000, output_type="dict"),
    BandPassFilter(p=1.0, min_center_frequency=500, max_center_frequency=2000, output_type="dict"),
    AddColoredNoise(p=1.0, output_type="dict"),
):
    y = change(samples=x, sample_rate=8000).samples
    print(type(change).__name__, tuple(y.shape), f"{y.abs().mean().item():.4f} {y[1, 0, 100].item():.4f}")
both = Compose([Gain(p=0.7, output_type="dict"), PolarityInversion(p=0.7, output_type="dict")], output_type="dict")
sound = x.clone().requires_grad_()
both(samples=sound, sample_rate=8000).samples.square().sum().backward()
print(f"{sound.grad.sum().item():.3f}")
