"""Records what torchvision's transforms give: `python -m tests.golden.record_vision`, where torchvision is installed."""

from pathlib import Path

import torch
import torchvision
from torchvision import ops, transforms, utils
from torchvision.transforms import functional

from tests.golden.packed import pack
from tests.vision.ops import op_cases
from tests.vision.transforms import transform_cases

HERE = Path(__file__).parent


if __name__ == "__main__":
    words = {"torchvision": torchvision.__version__, "transforms": transform_cases.words(transforms, torch)}
    pack(HERE / "vision.npz", transform_cases.arrays_of(transforms, functional, torch), words)
    pack(HERE / "vision_ops.npz", op_cases.arrays_of(ops, utils, torch), {"torchvision": torchvision.__version__})
