"""The models whose training steps are timed, a file each: as PyTorch's users write them, and as one writes them in JAX."""

from . import gpt, lenet, lstm, mlp, resnet
from ._case import Case as Case

CASES = {
    "mlp": mlp.case((784, 512, 512, 10), batch=64, steps=60),
    "tiny": mlp.case((16, 16, 16, 10), batch=8, steps=600),
    "lenet": lenet.CASE,
    "lstm": lstm.case(length=32, steps=10),
    "gpt": gpt.case(length=128, steps=3),
    "resnet": resnet.CASE,
}
