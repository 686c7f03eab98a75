"""Records the results of torchvision's transforms: `python -m tests.golden.record_vision`, with torchvision installed."""

from pathlib import Path

import torch
import torchvision
from torchvision import ops, transforms, tv_tensors, utils
from torchvision.transforms import functional, v2

from tests.golden.packed import pack
from tests.vision.ops import op_cases
from tests.vision.transforms import transform_cases, v2_cases

HERE = Path(__file__).parent


if __name__ == "__main__":
    words = {"torchvision": torchvision.__version__, "transforms": transform_cases.words(transforms, torch)}
    pack(HERE / "vision.npz", transform_cases.arrays_of(transforms, functional, torch), words)
    pack(HERE / "vision_ops.npz", op_cases.arrays_of(ops, utils, torch), {"torchvision": torchvision.__version__})
    words = {"torchvision": torchvision.__version__, "words": v2_cases.words(v2)}
    pack(HERE / "vision_v2.npz", v2_cases.arrays_of(v2, tv_tensors, torch), words)
