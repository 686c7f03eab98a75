"""The models whose training steps are timed, a file each: as PyTorch's users write them, and as one writes them in JAX."""

from . import gpt, lenet, lstm, mlp, resnet, resnet50, transformer, unet
from ._case import Case as Case
from .transformer import BERT, GPT, VIT

CASES = {
    "mlp": mlp.case((784, 512, 512, 10), batch=64, steps=60),
    "tiny": mlp.case((16, 16, 16, 10), batch=8, steps=600),
    "lenet": lenet.CASE,
    "lstm": lstm.case(lstm.Sizes(length=32), steps=10),
    "gpt": gpt.case(length=128, steps=3),
    "resnet": resnet.CASE,
}

# Of the sizes that accelerators are bought for.
LARGE = {
    "gpt2": transformer.case(GPT, steps=8),
    "bert": transformer.case(BERT, steps=8),
    "vit": transformer.case(VIT, steps=8),
    "resnet50": resnet50.case(batch=32, size=224, steps=8),
    "lstm512": lstm.case(lstm.Sizes(length=128, batch=128, features=256, hidden=512), steps=8),
    "unet": unet.case(batch=4, size=256, steps=8),
}

# The same of sizes that a CPU runs in a moment, to see that all of it works.
SMALL = {
    "gpt2": transformer.case(GPT.smaller(), steps=2),
    "bert": transformer.case(BERT.smaller(), steps=2),
    "vit": transformer.case(VIT.smaller(), steps=2),
    "resnet50": resnet50.case(batch=2, size=32, steps=2, stages=((1, 8), (1, 16))),
    "lstm512": lstm.case(lstm.Sizes(length=8, batch=4, features=8, hidden=16), steps=2),
    "unet": unet.case(batch=1, size=32, steps=2, widths=(4, 8, 16)),
}
