"""Makes the sample of FashionMNIST beside this file: `python make_sample.py ROOT`, from ROOT/FashionMNIST/raw.

The first images of each class are taken, in the order of the original: the sample is the same whenever it is made.
"""

import lzma
import shutil
import struct
import sys
from pathlib import Path

import numpy as np

PER_CLASS = {"train": 150, "t10k": 24}
HERE = Path(__file__).parent
# Four bits of the byte before choose the model of a byte: neighbouring pixels are alike, and there are no words to align to.
LONG = {"nice_len": 273, "mf": lzma.MF_BT3, "depth": 1000}  # looks for long matches among many
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "lp": 0, "pb": 0, **LONG}]


def first_of_each_class(labels: np.ndarray, count: int) -> np.ndarray:
    """The positions of the first ``count`` labels of each class, in ascending order."""
    return np.sort(np.concatenate([np.flatnonzero(labels == label)[:count] for label in np.unique(labels)]))


def idx_bytes(array: np.ndarray) -> bytes:
    """A uint8 array in the IDX format."""
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


def make(root: Path, target: Path) -> None:
    """Writes the sample of ``root/FashionMNIST`` to ``target/FashionMNIST``, with the licence beside it."""
    from torchlike.vision.datasets.idx import BY_COLUMNS_AND_LABELS, find_idx, read_idx

    source, raw = root / "FashionMNIST", target / "FashionMNIST" / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    for part, count in PER_CLASS.items():
        names = [f"{part}-images-idx3-ubyte", f"{part}-labels-idx1-ubyte"]
        paths = [find_idx(source / "raw", name) for name in names]
        images, labels = (read_idx(path) for path in paths if path is not None)
        positions = first_of_each_class(labels, count)
        images, labels = images[positions], labels[positions]
        columns = images[np.argsort(labels, kind="stable")].swapaxes(1, 2)
        for name, array, suffix in zip(names, (columns, labels), (BY_COLUMNS_AND_LABELS, ".xz"), strict=True):
            (raw / f"{name}{suffix}").write_bytes(lzma.compress(idx_bytes(array), filters=FILTERS))
    shutil.copyfile(source / "LICENSE", raw.parent / "LICENSE")


if __name__ == "__main__":
    make(Path(sys.argv[1]), HERE)
